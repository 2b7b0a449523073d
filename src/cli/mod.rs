//! Arguments, modes, exit codes.

mod answers;
mod bench;
mod class;
mod config;
mod devices;
mod docs;
mod doctor;
pub mod exit;
mod exported;
pub(crate) mod folders;
mod kept;
mod lab;
mod lesson;
mod library;
mod notebook;
mod output;
mod pack;
mod packs;
mod pager;
mod plan;
mod progress;
mod recorded;
mod repl;
mod run;
mod session;
pub(crate) mod setup;
mod terminal;
mod usage;

use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::base::Kind;
use crate::base::stderr::{self, tell};
use crate::base::text::strip_control;
use crate::device::Machine;
use crate::device::open::Use;
use crate::device::sim::Selection;
use crate::device::sim::host_choice::{split_host, with_host};

/// Learn what a GPU does to your tensors.
#[derive(Parser)]
#[command(name = "tensorlab", version, about, long_about = None, disable_help_subcommand = true)]
#[command(after_help = exit::help())]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    devices: DeviceOptions,
    #[command(flatten)]
    look: lab::LookOptions,
}

#[derive(clap::Args, Clone)]
struct DeviceOptions {
    /// Devices to work with: auto, cpu, cuda, or sim:PROFILE[xN] such as sim:t4x2
    #[arg(long, global = true, env = "TENSORLAB_DEVICES", default_value = "auto", value_name = "DEVICES")]
    devices: String,
    /// The computer around simulated GPUs: notebook, workstation, h100-server, a .toml file, or measured for this one [default: notebook]
    #[arg(long, global = true, value_name = "HOST")]
    host: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a script; `-` reads it from standard input
    #[command(after_help = exit::help())]
    Run(run::RunOptions),
    /// Say whether a script fits on simulated devices and what it takes there, without computing values
    #[command(after_help = plan::help())]
    Plan(plan::PlanOptions),
    /// Open the lab on a lesson or a notebook
    Lab(lab::LabOptions),
    /// Evaluate code line by line, on a terminal or from a pipe
    Repl(repl::ReplOptions),
    /// List, verify and open lessons
    Lesson(lesson::LessonOptions),
    /// Make, check, build, install and remove packs of lessons
    Pack(pack::PackOptions),
    /// Show and export what was done in lessons
    Progress(progress::ProgressOptions),
    /// Make, run, verify, convert and export notebooks
    Notebook(notebook::NotebookOptions),
    /// List the devices
    #[command(after_help = devices::help())]
    Devices {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say what was found on this machine, what is missing, and how to get it
    Doctor {
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Time a few operations and copies on every device
    Bench(bench::BenchOptions),
    /// Print the reference, or one page of it
    Docs {
        /// A name: of an operation, a module, a method, a word of the language
        name: Option<String>,
    },
    /// Speak the session protocol on standard input and output
    Session(session::SessionArguments),
    /// Show the settings, where they are kept and where each one comes from
    Config(config::ConfigOptions),
    /// Print completions for a shell
    Completions { shell: clap_complete::Shell },
}

/// Parses the command line and runs its mode.
pub fn main() -> ExitCode {
    outlive_limits();
    let parsed = usage::command(Cli::command()).try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(text) = usage::file_without_command(&error) {
                tell!("{}", strip_control(&text));
                return ExitCode::from(exit::USAGE);
            }
            let told = error.print().and_then(|()| io::stdout().flush());
            match told {
                _ if error.use_stderr() => return ExitCode::from(exit::USAGE),
                Ok(()) => return ExitCode::from(exit::FINE),
                Err(error) => output::end(&error),
            }
        }
    };
    ExitCode::from(dispatch(cli))
}

/// A limit on the size of files is an error of what is written, and not the end of the program.
fn outlive_limits() {
    #[cfg(unix)]
    {
        let unread = Arc::new(std::sync::atomic::AtomicBool::new(false));
        // Without it the signal ends the program, as it does by default.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, unread);
    }
}

impl Command {
    /// How the lab looks that it opens; none where it opens none.
    fn look_mut(&mut self) -> Option<&mut lab::LookOptions> {
        match self {
            Command::Lab(options) => Some(options.look_mut()),
            Command::Lesson(options) => options.look_mut(),
            Command::Pack(options) => options.look_mut(),
            Command::Notebook(options) => options.look_mut(),
            _ => None,
        }
    }
}

fn dispatch(cli: Cli) -> u8 {
    if let (Some(host), (_, Some(own))) = (&cli.devices.host, split_host(&cli.devices.devices)) {
        let [host, own] = [host, own].map(strip_control);
        tell!("error: --host {host} and @{own} behind the devices name two hosts; give one of them");
        return exit::USAGE;
    }
    let devices = with_host(&cli.devices.devices, cli.devices.host.as_deref());
    let mut command = cli.command;
    match command.as_mut().map(Command::look_mut) {
        Some(Some(look)) => look.add(&cli.look),
        Some(None) if cli.look.is_set() => {
            tell!(
                "error: --ascii and --light are for commands that open the lab: `tensorlab --light`, `tensorlab lab --light`, `tensorlab lesson start NAME --ascii`"
            );
            return exit::USAGE;
        }
        _ => {}
    }
    match command {
        Some(Command::Run(options)) => run::run(&options, &devices),
        Some(Command::Plan(options)) => plan::run(&options, &devices),
        Some(Command::Lab(options)) => lab::open(&options, &devices),
        Some(Command::Repl(options)) => repl::run(&options, &devices),
        Some(Command::Lesson(options)) => lesson::run(&options, &devices),
        Some(Command::Pack(options)) => pack::run(&options, &devices),
        Some(Command::Progress(options)) => progress::run(&options),
        Some(Command::Notebook(options)) => notebook::run(&options, &devices),
        Some(Command::Devices { json }) => devices::run(&devices, json),
        Some(Command::Doctor { json }) => doctor::run(json),
        Some(Command::Bench(options)) => bench::run(&options, &devices),
        Some(Command::Docs { name }) => docs::run(name.as_deref()),
        Some(Command::Session(options)) => session::run(&devices, &options),
        Some(Command::Config(options)) => config::run(&options),
        Some(Command::Completions { shell }) => {
            // It panics where it can't write; memory takes all of it.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut usage::command(Cli::command()), "tensorlab", &mut script);
            output::put(format_args!("{}", String::from_utf8_lossy(&script)));
            exit::FINE
        }
        None if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => {
            lab::open(&lab::LabOptions::at_home(cli.look), &devices)
        }
        None => run::digits(&devices),
    }
}

/// What stands before something to know.
const NOTE: &str = "note: ";

/// Opens the machine that `--devices` names and says on standard error what there is to know of it.
fn machine(devices: &str, purpose: Use) -> Result<Arc<Machine>, u8> {
    let selection: Selection = devices.parse().map_err(|error| {
        tell!("error: {error}");
        exit::USAGE
    })?;
    match Machine::open(&selection, purpose) {
        Ok(opened) => {
            for note in &opened.notes {
                let note = format!("{NOTE}{note}");
                tell!("{}", terminal::fitted(&note, NOTE.len(), &io::stderr()));
            }
            Ok(opened.machine)
        }
        Err(error) => {
            stderr::put(format_args!("{}", crate::script::Fault::from_error(&error).report));
            // A profile that can't be read is no missing device.
            Err(if error.kind() == Kind::ValueError { exit::USAGE } else { exit::NO_DEVICE })
        }
    }
}

/// Reads a file of code: UTF-8 text, or an error that says what it is instead.
fn read_code(path: &std::path::Path) -> Result<String, String> {
    const LARGEST: u64 = 16 << 20;
    let shown = path.display();
    let unread = |e: std::io::Error| format!("cannot read {shown}: {e}");
    if std::fs::metadata(path).map_err(unread)?.is_dir() {
        return Err(format!("{shown} is a folder, not a script"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|f| f.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(unread)?;
    let long = bytes.len() as u64 > LARGEST;
    // What a file is says more than how long it is.
    let code = as_code(bytes, &shown.to_string())?;
    if long {
        Err(format!("{shown} has more than {LARGEST} bytes; no script is that long"))
    } else {
        Ok(code)
    }
}

/// Bytes as code, or an error that names the first byte that is no text.
fn as_code(bytes: Vec<u8>, name: &str) -> Result<String, String> {
    if let Some(at) = bytes.iter().position(|&b| b == 0) {
        return Err(format!("{name} is a binary file, not a script: byte {at} is zero"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text);
            // A first line that tells the system what runs the script.
            Ok(text.strip_prefix("#!").map(|rest| format!("//{rest}")).unwrap_or(text))
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes().iter().take(at).filter(|&&b| b == b'\n').count();
            Err(format!("{name} is not UTF-8 text: line {line} has a byte that belongs to no character"))
        }
    }
}

/// The program's folder below the one that a variable names, or below one in the home folder.
fn folder(variable: &str, default: &str) -> Option<std::path::PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(std::path::PathBuf::from);
    let base = set(variable).or_else(|| set("HOME").map(|home| home.join(default)));
    base.map(|folder| folder.join("tensorlab"))
}

/// Code and the name that reports give it.
struct Script {
    name: String,
    code: String,
}
