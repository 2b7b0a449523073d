//! What goes to standard output, on a terminal or a pipe: a script's output and the answers of subcommands.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard};

use rhai::Dynamic;

use crate::base::error::Exit;
use crate::base::stderr::tell;
use crate::base::text::{strip_but_returns, strip_control};
use crate::plot::Figure;
use crate::repl::bar::Bar;
use crate::repl::live::Live;
use crate::script::Host;
use crate::script::modules::exits::given;

use super::{exit, terminal};

/// Writes an answer to standard output.
pub(super) fn put(text: fmt::Arguments) {
    let mut out = io::stdout().lock();
    out.write_fmt(text).and_then(|()| out.flush()).unwrap_or_else(|error| end(&error));
}

/// `println!` through [`put`].
macro_rules! say {
    ($($text:tt)*) => {
        $crate::cli::output::put(format_args!("{}\n", format_args!($($text)*)))
    };
}

pub(super) use say;

/// Ends the program that can't write: quietly where nobody reads any more, as with `| head`, with the reason where it
/// is another, such as a full disk.
pub(super) fn end(error: &io::Error) -> ! {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(i32::from(exit::FINE));
    }
    tell!("error: cannot write to standard output: {error}");
    std::process::exit(i32::from(exit::SCRIPT))
}

/// Prints to standard output; progress goes to standard error, as a bar on a terminal and a line at each end
/// elsewhere.
pub(crate) struct Console {
    out_is_terminal: bool,
    bar: Mutex<Bar>,
    live: Mutex<Live>,
    end: Mutex<Option<Exit>>,
}

impl Console {
    pub(super) fn new() -> Console {
        Console {
            out_is_terminal: std::io::stdout().is_terminal(),
            live: Mutex::new(Live::new(screen_rows())),
            end: Mutex::new(None),
            bar: Mutex::new(Bar::new(std::io::stderr().is_terminal())),
        }
    }

    /// The exit status that a script has chosen, where it has ended with this value, and what it tells of a failure: what
    /// stopped less than the script did not choose.
    pub(super) fn status_of(&self, value: &Dynamic) -> (u8, Option<String>) {
        let chosen = self.end.lock().unwrap_or_else(|e| e.into_inner()).take();
        match chosen.filter(|chosen| *chosen == given(value)) {
            // As the system has it.
            Some(Exit::Status(status)) => (status.rem_euclid(256) as u8, None),
            Some(Exit::Text(text)) => (exit::SCRIPT, Some(text)),
            Some(Exit::Fine) | None => (exit::FINE, None),
        }
    }

    fn write(&self, text: &str, behind: &str) {
        self.bar().clear();
        self.live().other();
        let mut out = std::io::stdout().lock();
        // On a terminal, control characters of the script stay where they are, but for what goes back in its line.
        let result = match self.out_is_terminal {
            true => write!(out, "{}{behind}", strip_but_returns(text)),
            false => write!(out, "{text}{behind}"),
        };
        // Who waits for a line that grows sees what it has.
        let result = result.and_then(|()| if behind.is_empty() { out.flush() } else { Ok(()) });
        result.unwrap_or_else(|error| end(&error));
    }

    fn show(&self, id: &str, text: String) {
        self.bar().clear();
        let shown = self.live().show(id, text);
        put(format_args!("{shown}"));
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn bar(&self) -> MutexGuard<'_, Bar> {
        self.bar.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What was shown under names and could not be redrawn is shown at the end.
impl Drop for Console {
    fn drop(&mut self) {
        let rest = self.live().rest();
        if !rest.is_empty() {
            put(format_args!("{rest}"));
        }
    }
}

/// Rows of the terminal, where standard output and standard error are one that may be redrawn.
fn screen_rows() -> Option<usize> {
    let both = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    let redrawn = both && !terminal::is_dumb();
    redrawn.then(|| crossterm::terminal::size().map_or(24, |(_, rows)| usize::from(rows)))
}

impl Host for Console {
    fn ends_with(&self, end: Exit) {
        *self.end.lock().unwrap_or_else(|e| e.into_inner()) = Some(end);
    }

    fn print(&self, text: &str) {
        self.write(text, "\n");
    }

    fn part(&self, text: &str) {
        self.write(text, "");
    }

    fn warn(&self, text: &str) {
        self.bar().clear();
        self.live().other();
        tell!("warning: {}", strip_control(text));
    }

    fn figure(&self, figure: &Figure, id: Option<&str>) {
        let lines = figure.to_text(78, 20, true);
        match id {
            Some(id) => self.show(id, lines.iter().map(|line| format!("{line}\n")).collect()),
            None => lines.iter().for_each(|line| self.print(line)),
        }
    }

    fn text(&self, text: &str, id: Option<&str>) {
        match id {
            Some(id) => self.show(id, format!("{}\n", strip_control(text).trim_end())),
            None => self.print(text),
        }
    }

    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str) {
        self.live().other();
        self.bar().progress(label, done, total, note);
    }
}
