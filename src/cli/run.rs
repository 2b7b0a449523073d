//! `tensorlab run`: a script, headless.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::Builder;
use std::time::Duration;

use rhai::{Array, Dynamic};

use crate::base::event::Event;
use crate::base::stderr::{self, tell};
use crate::base::{Cause, Error, Kind, file, is_of_device};
use crate::device::Machine;
use crate::device::open::Use;
use crate::distributed;
use crate::script::engine::Stopped;
use crate::script::modules::telemetry;
use crate::script::parse::Parser;
use crate::script::{Host, Interpreter, Limits, Origin, json, lines, snapshot, trace};
use crate::session::host::STACK;

use super::output::{Console, say};
use super::{Script, as_code, exit, machine, read_code};

#[derive(clap::Args, Default)]
pub(super) struct RunOptions {
    /// The script; `-` reads standard input
    file: PathBuf,
    /// Print the script's last value as one JSON document on the last line
    #[arg(long)]
    json: bool,
    /// Write a Chrome trace of everything that happened
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write everything that happened as JSON lines: a header, then one event a line
    #[arg(long, value_name = "FILE")]
    telemetry_lines: Option<PathBuf>,
    /// Write what the GPUs' allocators did and hold at the end, for PyTorch's memory viewer
    #[arg(long, value_name = "FILE")]
    memory_snapshot: Option<PathBuf>,
    /// Print a summary of what happened to standard error
    #[arg(long)]
    telemetry: bool,
    /// Seed of every generator, and of the order in which a simulated GPU's atomics add
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Whether simulated devices compute values; with `none` shapes, memory, copies and times alone are there
    #[arg(long, value_enum, default_value_t)]
    values: Values,
    /// End the script after so many seconds
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,
    /// Arguments for the script, as ARGS
    #[arg(last = true)]
    args: Vec<String>,
}

/// Whether there are values on simulated devices.
#[derive(clap::ValueEnum, Clone, Copy, Default, PartialEq, Eq)]
enum Values {
    #[default]
    All,
    None,
}

/// The script that the program runs where it has no terminal.
static DIGITS: &str = include_str!("../../scripts/digits.rhai");

/// Runs a script and gives the exit status.
pub(super) fn run(options: &RunOptions, devices: &str) -> u8 {
    if let Some(path) = options.written_twice() {
        tell!(
            "error: {} would be written over: the script and what is told of its run are files of their own",
            path.display()
        );
        return exit::USAGE;
    }
    // What a long run leads to is not lost at its end.
    if let Err(text) = options.check_files() {
        tell!("error: {text}");
        return exit::USAGE;
    }
    match load(&options.file, options.timeout) {
        Ok(script) => on_large_stack(|| execute(&script, options, devices)),
        Err(text) => {
            tell!("error: {text}");
            exit::USAGE
        }
    }
}

/// Trains on the shipped digits.
pub(super) fn digits(devices: &str) -> u8 {
    let script = Script { name: "digits.rhai".into(), code: DIGITS.into() };
    on_large_stack(|| execute(&script, &RunOptions::default(), devices))
}

/// Runs with the stack that a session's evaluator has; only what is used takes memory. Where there is none to be had,
/// the usual one does.
pub(super) fn on_large_stack(run: impl Fn() -> u8 + Sync) -> u8 {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("script".into()).stack_size(STACK);
        match builder.spawn_scoped(scope, &run) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => run(),
        }
    })
}

pub(super) fn load(file: &Path, timeout: Option<f64>) -> Result<Script, String> {
    if timeout.is_some_and(|s| !(s.is_finite() && s > 0.0)) {
        return Err("--timeout takes a number of seconds above 0".into());
    }
    if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|e| format!("cannot read standard input: {e}"))?;
        let code = with_ended_cells(as_code(bytes, "standard input")?);
        return Ok(Script { name: "standard input".into(), code });
    }
    if file.extension().is_some_and(|end| end == "ipynb") {
        let shown = file.display();
        return Err(format!(
            "{shown} is a notebook, not a script\nhint: `tensorlab notebook run {shown}` runs its cells"
        ));
    }
    Ok(Script { name: file.display().to_string(), code: with_ended_cells(read_code(file)?) })
}

/// A cell may end in an expression, and a script may not go on after one: such cells are ended on the line of the next
/// mark, so that nothing else moves.
fn with_ended_cells(code: String) -> String {
    const MARK: &str = "// %%";
    if !code.lines().any(|line| line.starts_with(MARK)) {
        return code;
    }
    let parser = Parser::default();
    if parser.tree(&code).is_ok() {
        return code;
    }
    let ended: String = code
        .split_inclusive('\n')
        .map(|line| if line.starts_with(MARK) { format!(";{line}") } else { line.to_string() })
        .collect();
    // What is wrong in another way is told as it was written.
    if parser.tree(&ended).is_ok() { ended } else { code }
}

/// Whether all devices of a machine could be told to compute no values.
pub(super) fn leave_out_values(machine: &Machine) -> bool {
    let simulated = machine.gpus().iter().all(|gpu| gpu.backend.properties().simulated);
    let can = simulated && !machine.gpus().is_empty() && machine.shared.host_time().is_some();
    if can {
        machine.shared.leave_out_values();
    }
    can
}

fn execute(script: &Script, options: &RunOptions, devices: &str) -> u8 {
    let machine = match machine(devices, Use::Headless) {
        Ok(machine) => machine,
        Err(code) => return code,
    };
    if options.values == Values::None && !leave_out_values(&machine) {
        tell!(
            "error: --values none is for simulated devices on a modelled host: name some, such as `--devices sim:t4`"
        );
        return exit::USAGE;
    }
    match options.seed {
        Some(seed) => {
            machine.manual_seed(seed);
            machine.fix_chance(seed);
        }
        None => machine.leave_to_chance(),
    }
    let watch = Watch::start(&machine, options.timeout);
    let console = Arc::new(Console::new());
    let host: Arc<dyn Host> = console.clone();
    let mut interpreter = Interpreter::new(Arc::clone(&machine), host, &Limits::default());
    let arguments: Array = options.args.iter().map(|a| Dynamic::from(a.clone())).collect();
    interpreter.set_constant("ARGS", arguments.into());
    let wanted = options.telemetry || options.files().iter().any(|file| file.is_some());
    let listening = wanted.then(|| telemetry::collect(&machine));
    let origin = Origin { name: &script.name, code: &script.code, first_line: 1 };
    let result = interpreter.evaluate(0, &origin);
    tell_ranks(&interpreter, &result);
    drop(watch);
    let (status, told) = result.as_ref().map_or((exit::FINE, None), |value| console.status_of(value));
    let mut code = match report(&interpreter, result, options.json) {
        exit::FINE => {
            told.iter().for_each(|text| tell!("{}", crate::base::text::strip_control(text)));
            status
        }
        failed => failed,
    };
    if machine.shared.has_bare_modelled_time() {
        tell!("note: {}", bare_time(&machine));
    }
    if let Some((events, subscription)) = listening {
        drop(subscription);
        let events = events.events();
        if options.telemetry {
            stderr::put(format_args!("{}", telemetry::report(&events)));
        }
        if let Err(text) = export(options, &machine, &events, &script.name) {
            tell!("error: {text}");
            code = code.max(exit::SCRIPT);
        }
    }
    code
}

/// What is said of a run that has read a modelled time, which is a plain number where the script prints it.
fn bare_time(machine: &Machine) -> &'static str {
    if machine.shared.has_both_clocks() {
        "times of simulated devices are modelled, those of this computer measured"
    } else {
        "the times of this run are modelled, not measured"
    }
}

/// Where this process is a rank among others, they are told how it ended; rank 0 waits for their end.
fn tell_ranks(interpreter: &Interpreter, result: &Result<Dynamic, Stopped>) {
    let _here = interpreter.machine().enter();
    distributed::end(match result {
        Ok(_) => None,
        Err(Stopped::Fault(fault)) => {
            let kind = Kind::named(&fault.kind).unwrap_or(Kind::RuntimeError);
            Some((Error::new(kind, fault.message.clone()), fault.line))
        }
        Err(Stopped::Cancelled(error)) => Some((error.clone(), None)),
    });
}

impl RunOptions {
    /// What is written of a run.
    fn files(&self) -> [Option<&Path>; 3] {
        [&self.trace, &self.telemetry_lines, &self.memory_snapshot].map(|file| file.as_deref())
    }

    /// Refuses files that could not be written.
    fn check_files(&self) -> Result<(), String> {
        let check = |path: &Path| file::check_export(path).map_err(|error| unwritten(path, &error));
        self.files().into_iter().flatten().try_for_each(check)
    }

    /// What two of a run's files would write over: each other, or the script.
    fn written_twice(&self) -> Option<&Path> {
        let beside = |path: &Path| {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        };
        let place = |path: &Path| {
            path.canonicalize().ok().or_else(|| beside(path)).unwrap_or_else(|| path.to_path_buf())
        };
        let mut taken = vec![place(&self.file)];
        self.files().into_iter().flatten().find(|path| {
            let place = place(path);
            let is_taken = taken.contains(&place);
            taken.push(place);
            is_taken
        })
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Writes the files that were asked for; all are tried.
fn export(options: &RunOptions, machine: &Machine, events: &[Event], script: &str) -> Result<(), String> {
    let written = |path: &Option<PathBuf>, write: &dyn Fn(&Path) -> std::io::Result<()>| match path {
        Some(path) => write(path).map_err(|error| unwritten(path, &error)),
        None => Ok(()),
    };
    let results = [
        written(&options.trace, &|path| trace::write(path, events)),
        written(&options.telemetry_lines, &|path| {
            lines::write(path, &lines::Header::of(machine, script), events)
        }),
        written(&options.memory_snapshot, &|path| snapshot::write(path, machine, events, script)),
    ];
    results.into_iter().collect()
}

/// Prints what there is to print and gives the exit status.
fn report(interpreter: &Interpreter, result: Result<Dynamic, Stopped>, as_json: bool) -> u8 {
    let fault = match result {
        Ok(value) if !as_json => {
            drop(value);
            return exit::FINE;
        }
        Ok(value) => {
            let _here = interpreter.machine().enter();
            let show = |value: &Dynamic| interpreter.show(value).unwrap_or_else(|_| value.to_string());
            match json::document(&value, &show) {
                Ok(document) => {
                    say!("{document}");
                    return exit::FINE;
                }
                Err(error) => crate::script::Fault::from_error(&error),
            }
        }
        Err(Stopped::Fault(fault)) => *fault,
        Err(Stopped::Cancelled(error)) => {
            tell!("{}", error.message());
            return match error.cause() {
                Cause::Timeout { .. } => exit::TIMEOUT,
                _ => asked(),
            };
        }
    };
    stderr::put(format_args!("{}", crate::base::text::strip_control(&fault.report)));
    if fault.kind == Kind::OutOfMemoryError.to_string() {
        return exit::OUT_OF_MEMORY;
    }
    if is_of_device(&fault.kind, &fault.message) { exit::NO_DEVICE } else { exit::SCRIPT }
}

/// The signal that asked for an end.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The status of what a signal asked to end.
pub(super) fn asked() -> u8 {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => exit::INTERRUPTED,
        signal => exit::of_signal(signal),
    }
}

/// How long a script that was told to end may take to write what it was asked for.
const GRACE: Duration = Duration::from_secs(2);

/// Ends a script on time, on Ctrl-C and on `kill`: the first signal asks, the second one does not, and who sends SIGTERM
/// waits for no native loop.
pub(super) struct Watch {
    done: Arc<AtomicBool>,
}

impl Watch {
    pub(super) fn start(machine: &Arc<Machine>, timeout: Option<f64>) -> Watch {
        let done = Arc::new(AtomicBool::new(false));
        if let Err(error) = interrupts(machine, &done) {
            tell!("note: Ctrl-C ends the program at once, without a report: {error}");
        }
        if let Some(seconds) = timeout {
            let (machine, done) = (Arc::clone(machine), Arc::clone(&done));
            let ends = Builder::new().name("timeout".into()).spawn(move || {
                std::thread::park_timeout(Duration::from_secs_f64(seconds));
                if !done.load(Ordering::Relaxed) {
                    machine.shared.cancel.time_out(seconds);
                    // A native loop that does not poll is left behind by ending the process.
                    std::thread::sleep(GRACE);
                    if !done.load(Ordering::Relaxed) {
                        tell!("timed out after {seconds} s");
                        std::process::exit(i32::from(exit::TIMEOUT));
                    }
                }
            });
            if let Err(error) = ends {
                tell!("note: nothing ends the script on time: {error}");
            }
        }
        Watch { done }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

fn interrupts(machine: &Arc<Machine>, done: &Arc<AtomicBool>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let (machine, done) = (Arc::clone(machine), Arc::clone(done));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let answering = Builder::new().name("interrupts".into()).spawn(move || {
        let end = |signal: i32| std::process::exit(i32::from(exit::of_signal(signal)));
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                end(signal);
            }
            SIGNAL.store(signal, Ordering::Relaxed);
            machine.shared.cancel.interrupt();
            if signal == SIGTERM {
                std::thread::sleep(GRACE);
                if !done.load(Ordering::Relaxed) {
                    end(signal);
                }
            }
        }
    });
    answering.map(drop)
}
