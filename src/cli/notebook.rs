//! `tensorlab notebook`: make, run, verify, convert and export notebooks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::base::Kind as ErrorKind;
use crate::base::figures::{plural, word};
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::device::sim::Selection;
use crate::notebook::run::{End, Ran, RunOptions, run_all};
use crate::notebook::store::{self, Format, Loaded, SaveError};
use crate::notebook::verify::{Difference, Line, compare};
use crate::notebook::{Cell, Kind, Notebook, NotebookFile, html};
use crate::session::options::SessionOptions;

use super::output::{self, say};
use super::setup::notebook_session;
use super::{exit, lab};

/// Lines of one cell's difference that are shown.
const SHOWN: usize = 40;

#[derive(clap::Args)]
pub(crate) struct NotebookOptions {
    #[command(subcommand)]
    command: NotebookAction,
}

impl NotebookOptions {
    /// How the lab looks that it opens; none where it opens none.
    pub(super) fn look_mut(&mut self) -> Option<&mut lab::LookOptions> {
        match &mut self.command {
            NotebookAction::Open { look, .. } => Some(look),
            _ => None,
        }
    }
}

#[derive(clap::Subcommand)]
enum NotebookAction {
    /// Make a notebook
    ///
    /// A notebook is a Rhai script with a line `// %%` before each cell and `// %% [markdown]` before text, or an
    /// .ipynb file. Outputs of a script are kept beside it, in NAME.rhai.outputs.json.
    New {
        /// Its file: .rhai where no extension is given, or .ipynb
        name: PathBuf,
    },
    /// Open a notebook in the lab
    Open {
        file: PathBuf,
        #[command(flatten)]
        look: lab::LookOptions,
        /// Arguments for the notebook, as ARGS
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Write a notebook in the other format, .rhai or .ipynb
    ///
    /// Outputs go along: into the .ipynb, or beside the .rhai in OUT.outputs.json. The cells of a notebook in another
    /// language are kept as they are.
    Convert {
        #[arg(value_name = "IN")]
        from: PathBuf,
        #[arg(value_name = "OUT")]
        to: PathBuf,
        /// Replace OUT where there is such a file
        #[arg(long)]
        force: bool,
    },
    /// Run all cells in a new session and keep their outputs
    ///
    /// Outputs of a .rhai notebook are kept beside it, in FILE.outputs.json, by the content of their cells; those of an
    /// .ipynb in it.
    Run {
        file: PathBuf,
        /// Write the notebook with its outputs there, and leave FILE as it is
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Go on after a cell with an error
        #[arg(long)]
        allow_errors: bool,
        /// End the run after so many seconds
        #[arg(long, value_name = "S")]
        timeout: Option<f64>,
        /// Arguments for the notebook, as ARGS
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Run all cells in a new session and compare with the outputs that are kept; the file stays as it is
    ///
    /// Durations, rates, addresses and what is marked as modelled may differ.
    Verify {
        file: PathBuf,
        /// End the run after so many seconds
        #[arg(long, value_name = "S")]
        timeout: Option<f64>,
        /// Arguments for the notebook, as ARGS
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Write a page that needs nothing else, with its figures inside
    #[command(override_usage = "tensorlab notebook export [OPTIONS] <FILE> --html [OUT]")]
    Export {
        file: Option<PathBuf>,
        /// As HTML, to OUT, `-` for standard output, or FILE.html
        #[arg(long, required = true, num_args = 0..=1, value_name = "OUT")]
        html: Option<Option<PathBuf>>,
    },
}

/// Runs a subcommand and gives the exit status.
pub(super) fn run(options: &NotebookOptions, devices: &str) -> u8 {
    let result = match &options.command {
        NotebookAction::New { name } => new(name),
        NotebookAction::Open { file, look, args } => Selection::check(devices)
            .map_err(usage)
            .map(|()| lab::open_notebook_file(file, look, devices, args)),
        NotebookAction::Convert { from, to, force } => convert(from, to, *force),
        NotebookAction::Run { file, output, allow_errors, timeout, args } => {
            run_file(file, output.as_deref(), *allow_errors, *timeout, (devices, args))
        }
        NotebookAction::Verify { file, timeout, args } => verify(file, *timeout, (devices, args)),
        NotebookAction::Export { file, html } => export(file.clone(), html.clone().flatten()),
    };
    result.unwrap_or_else(|(code, text)| {
        tell!("error: {}", strip_control(&text));
        code
    })
}

/// An exit status and what went wrong.
type Failure = (u8, String);

fn usage(text: impl ToString) -> Failure {
    (exit::USAGE, text.to_string())
}

fn failed(text: impl ToString) -> Failure {
    (exit::SCRIPT, text.to_string())
}

fn note(text: &str) {
    tell!("note: {}", strip_control(text));
}

fn load(path: &Path) -> Result<Loaded, Failure> {
    let loaded = store::load(path).map_err(usage)?;
    loaded.notes.iter().for_each(|text| note(text));
    Ok(loaded)
}

fn new(name: &Path) -> Result<u8, Failure> {
    let path = if name.extension().is_none() { name.with_extension("rhai") } else { name.to_path_buf() };
    check_name(&path)?;
    if path.symlink_metadata().is_ok() {
        return Err(usage(format!("{} exists already", path.display())));
    }
    let title = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let notebook = Notebook::new([Cell::markdown(format!("# {title}")), Cell::code("")]);
    write(&path, &notebook)?;
    say!("made {}", path.display());
    Ok(exit::FINE)
}

/// Refuses a file whose name is none of a notebook's.
fn check_name(path: &Path) -> Result<(), Failure> {
    if path.extension().is_some_and(|e| e == "rhai" || e.eq_ignore_ascii_case("ipynb")) {
        return Ok(());
    }
    Err(usage(format!("{}: a notebook is written as .rhai or .ipynb", path.display())))
}

/// Writes a notebook to a file that nobody has open.
fn write(path: &Path, notebook: &Notebook) -> Result<(), Failure> {
    let mut file = NotebookFile::make(path).map_err(|error| match error {
        SaveError::ReadOnly(why) => failed(format!("{why}\nhint: another name writes somewhere else")),
        other => failed(other),
    })?;
    let notes = file.save_over(notebook).map_err(failed)?;
    notes.iter().for_each(|text| note(text));
    Ok(())
}

fn convert(from: &Path, to: &Path, force: bool) -> Result<u8, Failure> {
    let same = to.canonicalize().is_ok_and(|to| from.canonicalize().is_ok_and(|from| from == to));
    if same {
        return Err(usage(format!("{} would be written over itself", from.display())));
    }
    check_name(to)?;
    let loaded = load(from)?;
    if !force && to.symlink_metadata().is_ok() {
        return Err(usage(format!("{} exists already\nhint: --force replaces it", to.display())));
    }
    write(to, &loaded.notebook)?;
    let count = loaded.notebook.cells.len();
    say!("wrote {} ({count} {})", to.display(), if count == 1 { "cell" } else { "cells" });
    Ok(exit::FINE)
}

/// How long a run may take. What is wrong with the devices is said here, as by every other command.
fn limit(devices: &str, timeout: Option<f64>) -> Result<Option<Duration>, Failure> {
    Selection::check(devices).map_err(usage)?;
    match timeout {
        Some(s) if !(s.is_finite() && s > 0.0) => Err(usage("--timeout takes a number of seconds above 0")),
        other => Ok(other.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX))),
    }
}

/// The command that serves a notebook's session.
fn session(notebook: &Notebook, (devices, args): (&str, &[String])) -> Result<Command, Failure> {
    let own = notebook_session(&notebook.wants(), devices).map_err(usage)?;
    // What is written down is to come again.
    SessionOptions { chance: false, args: args.to_vec(), ..own }.command().map_err(failed)
}

/// What the first Ctrl-C sets, so that the outputs so far are kept; the second one ends the program.
fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGINT;
        use signal_hook::flag;
        let again = flag::register_conditional_shutdown(SIGINT, exit::INTERRUPTED.into(), Arc::clone(&stop));
        again.and_then(|_| flag::register(SIGINT, Arc::clone(&stop))).map_err(failed)?;
    }
    Ok(stop)
}

/// Refuses to run code of another language.
fn check_language(path: &Path, notebook: &Notebook) -> Result<(), Failure> {
    match notebook.language() {
        "rhai" => Ok(()),
        other => {
            let shown = path.display();
            let can = format!("`tensorlab lab {shown}` opens it to be read, with Rhai in cells beside it");
            Err(usage(format!("the code of {shown} is {other}, and tensorlab runs Rhai\nhint: {can}")))
        }
    }
}

fn run_file(
    path: &Path,
    output: Option<&Path>,
    allow_errors: bool,
    timeout: Option<f64>,
    session_of: (&str, &[String]),
) -> Result<u8, Failure> {
    let limit = limit(session_of.0, timeout)?;
    if let Some(output) = output {
        check_name(output)?;
        let written = crate::base::file::check_replace(output);
        written.map_err(|error| usage(format!("cannot write {}: {error}", output.display())))?;
    }
    let options = RunOptions { allow_errors, limit, stop: interrupts()? };
    if let Some(output) = output {
        let mut notebook = load(path)?.notebook;
        check_language(path, &notebook)?;
        let command = session(&notebook, session_of)?;
        let ran = execute(&mut notebook, command, &options)?;
        write(output, &notebook)?;
        return Ok(report(&ran, &kept(output)));
    }
    // There must be something to run.
    path.metadata().map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    check_name(path)?;
    let opened = NotebookFile::open(path).map_err(usage)?;
    let (mut file, mut notebook) = (opened.file, opened.notebook);
    if let Some(why) = file.read_only() {
        return Err(failed(format!("{why}\nhint: --output FILE writes somewhere else")));
    }
    opened.notes.iter().for_each(|text| note(text));
    if opened.recovered.is_some() {
        note(
            "there are changes that were not saved; the file runs without them, and the lab offers them again",
        );
    }
    check_language(path, &notebook)?;
    let command = session(&notebook, session_of)?;
    let ran = execute(&mut notebook, command, &options)?;
    let notes = file.save(&notebook).map_err(|error| match error {
        SaveError::Conflict { .. } => failed(format!("{error}\nhint: run it again")),
        other => failed(other),
    })?;
    notes.iter().for_each(|text| note(text));
    Ok(report(&ran, &kept(path)))
}

/// Where the outputs of a notebook are.
fn kept(path: &Path) -> String {
    match Format::of(path) {
        Format::Ipynb => path.display().to_string(),
        Format::Rhai => crate::notebook::sidecar::path_of(path).display().to_string(),
    }
}

/// Runs a notebook; errors of its cells go to standard error as they come.
fn execute(notebook: &mut Notebook, command: Command, options: &RunOptions) -> Result<Ran, Failure> {
    let mut tell = |_: usize, cell: &Cell| {
        for error in cell.outputs.iter().filter(|output| output.is_error()) {
            tell!("{}", strip_control(error.text().trim_end()));
        }
    };
    run_all(notebook, command, options, &mut tell).map_err(|error| {
        if error.kind() == std::io::ErrorKind::Interrupted {
            return (exit::INTERRUPTED, "interrupted".into());
        }
        // The session's own words say which device is missing.
        (exit::NO_DEVICE, format!("the session did not start: {error}"))
    })
}

/// Says what came of a run and gives its exit status.
fn report(ran: &Ran, outputs: &str) -> u8 {
    let failed = if ran.failed.is_empty() { String::new() } else { format!(", {} failed", ran.failed.len()) };
    say!(
        "ran {}{failed} in {:.1} s; outputs are in {outputs}",
        plural(ran.cells as u64, "cell", "cells"),
        ran.took.as_secs_f64()
    );
    match &ran.end {
        End::Done => exit::FINE,
        End::TimedOut => exit::TIMEOUT,
        End::Interrupted => exit::INTERRUPTED,
        End::Died(_) => exit::SCRIPT,
        End::Failed => {
            let kind = ran.failed.last().map_or("", |(_, kind)| kind.as_str());
            let is = |known: ErrorKind| kind == known.to_string();
            match kind {
                _ if is(ErrorKind::OutOfMemoryError) => exit::OUT_OF_MEMORY,
                _ if ran.of_device => exit::NO_DEVICE,
                _ => exit::SCRIPT,
            }
        }
    }
}

fn verify(path: &Path, timeout: Option<f64>, session_of: (&str, &[String])) -> Result<u8, Failure> {
    let limit = limit(session_of.0, timeout)?;
    let stored = load(path)?.notebook;
    check_language(path, &stored)?;
    let command = session(&stored, session_of)?;
    let code =
        || stored.cells.iter().filter(|cell| cell.kind == Kind::Code && !cell.source.trim().is_empty());
    if code().next().is_some() && !code().any(|cell| cell.ran.is_some()) {
        let text = format!("{} has no outputs to compare with", path.display());
        return Err(failed(format!("{text}\nhint: `tensorlab notebook run` makes them")));
    }
    let mut now = stored.clone();
    // A stored error is an output like any other.
    let options = RunOptions { allow_errors: true, limit, ..RunOptions::default() };
    let ran = run_all(&mut now, command, &options, &mut |_, _| {})
        .map_err(|error| (exit::NO_DEVICE, format!("the session did not start: {error}")))?;
    match &ran.end {
        End::TimedOut => return Err((exit::TIMEOUT, "the notebook ran past --timeout".into())),
        End::Interrupted => return Err((exit::INTERRUPTED, "interrupted".into())),
        End::Died(reason) => return Err(failed(format!("the session ended: {reason}"))),
        End::Done | End::Failed => {}
    }
    let differences = compare(&stored, &now);
    for difference in &differences {
        show(difference);
    }
    let count = ran.cells;
    if differences.is_empty() {
        say!("{} the same outputs", plural(count as u64, "cell gives", "cells give"));
        return Ok(exit::FINE);
    }
    let (wrong, cells) = (differences.len(), plural(count as u64, "cell", "cells"));
    say!("{wrong} of {cells} {} other outputs", word(wrong as u64, "gives", "give"));
    Ok(exit::SCRIPT)
}

fn show(difference: &Difference) {
    let title = difference.title.as_ref().map_or(String::new(), |title| format!(" {title}"));
    let edited = if difference.edited { ", edited since it ran" } else { "" };
    say!("cell {}{}{edited}", difference.place + 1, strip_control(&title).replace('\n', " "));
    for line in difference.lines.iter().take(SHOWN) {
        match line {
            Line::Gone(text) => say!("  - {}", strip_control(text)),
            Line::New(text) => say!("  + {}", strip_control(text)),
            Line::Same(text) => say!("    {}", strip_control(text)),
        }
    }
    if let Some(more) = difference.lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        say!("  … {more} more {}", word(more as u64, "line", "lines"));
    }
}

fn export(file: Option<PathBuf>, out: Option<PathBuf>) -> Result<u8, Failure> {
    // With one path it is the notebook's, on whichever side of the option it stands.
    let (path, out) = match file {
        Some(file) => (file, out),
        None => (out.ok_or_else(|| usage("which notebook? `tensorlab notebook export FILE --html`"))?, None),
    };
    let loaded = load(&path)?;
    let out = out.unwrap_or_else(|| path.with_extension("html"));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let page = html::export(&loaded.notebook, &name);
    if out.as_os_str() == "-" {
        output::put(format_args!("{page}"));
        return Ok(exit::FINE);
    }
    use std::io::Write;
    let written = crate::base::file::replace(&out, |file| file.write_all(page.as_bytes()));
    written.map_err(|error: std::io::Error| failed(format!("cannot write {}: {error}", out.display())))?;
    say!("wrote {}", out.display());
    Ok(exit::FINE)
}
