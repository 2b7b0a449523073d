//! `tensorlab repl`: code line by line.

use std::io;
use std::path::PathBuf;

use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::device::sim::Selection;
use crate::repl::{self, End, Options, Paint};
use crate::session::options::SessionOptions;

use super::{exit, terminal};

#[derive(clap::Args)]
pub(crate) struct ReplOptions {
    /// No line editor, no colours and nothing redrawn: for screen readers
    #[arg(long)]
    plain: bool,
    /// Colours for a light terminal
    #[arg(long)]
    light: bool,
}

/// The prompt where the terminal can show nothing else.
pub(super) fn plain(light: bool, devices: &str) -> u8 {
    run(&ReplOptions { plain: true, light }, devices)
}

/// Serves the terminal or the pipe and gives the exit status.
pub(super) fn run(options: &ReplOptions, devices: &str) -> u8 {
    if let Err(error) = Selection::check(devices) {
        tell!("error: {}", strip_control(&error));
        return exit::USAGE;
    }
    match serve(options, devices) {
        Ok(End::Fine) => exit::FINE,
        Ok(End::Failed) => exit::SCRIPT,
        Ok(End::Interrupted) => exit::INTERRUPTED,
        Ok(End::NoMemory) => exit::OUT_OF_MEMORY,
        Ok(End::NoDevice | End::NoSession) => exit::NO_DEVICE,
        // Nobody reads any more, as with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::FINE,
        Err(error) => {
            tell!("error: {}", strip_control(&error.to_string()));
            exit::SCRIPT
        }
    }
}

fn serve(options: &ReplOptions, devices: &str) -> io::Result<End> {
    let options = Options {
        plain: options.plain || terminal::is_dumb(),
        paint: Paint::from_env(options.light),
        history: state_folder().map(|folder| folder.join("history")),
    };
    let session = SessionOptions { keep_figure: true, ..SessionOptions::plain(devices) };
    repl::run(options, session)
}

/// `$XDG_STATE_HOME/tensorlab`, by default `~/.local/state/tensorlab`.
fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    base.map(|folder| folder.join("tensorlab"))
}
