//! What goes to standard output, on a terminal or a pipe: a script's output and the answers of subcommands.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::base::text::strip_control;
use crate::plot::Figure;
use crate::script::Host;

use super::exit;

/// Writes an answer to standard output.
pub fn put(text: fmt::Arguments) {
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
fn end(error: &io::Error) -> ! {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(i32::from(exit::FINE));
    }
    eprintln!("error: cannot write to standard output: {error}");
    std::process::exit(i32::from(exit::SCRIPT))
}

/// A bar is drawn at most this often.
const EVERY: Duration = Duration::from_millis(100);
const BAR: usize = 24;

/// Prints to standard output; progress goes to standard error, as a bar on a terminal and a line at each end
/// elsewhere.
pub struct Console {
    terminal: bool,
    out_is_terminal: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    drawn: Option<Instant>,
    showing: bool,
    started: Option<(String, Instant)>,
}

impl Console {
    pub fn new() -> Console {
        Console {
            terminal: std::io::stderr().is_terminal(),
            out_is_terminal: std::io::stdout().is_terminal(),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn clear_bar(&self, state: &mut State) {
        if std::mem::take(&mut state.showing) {
            eprint!("\r\x1b[K");
        }
    }
}

impl Host for Console {
    fn print(&self, text: &str) {
        self.clear_bar(&mut self.lock());
        let mut out = std::io::stdout().lock();
        // On a terminal, control characters of the script stay where they are.
        let result = match self.out_is_terminal {
            true => writeln!(out, "{}", strip_control(text)),
            false => writeln!(out, "{text}"),
        };
        result.unwrap_or_else(|error| end(&error));
    }

    fn warn(&self, text: &str) {
        self.clear_bar(&mut self.lock());
        eprintln!("warning: {}", strip_control(text));
    }

    fn figure(&self, figure: &Figure) {
        let lines = figure.to_text(78, 20, true);
        for line in lines {
            self.print(&line);
        }
    }

    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str) {
        let mut state = self.lock();
        let now = Instant::now();
        if state.started.as_ref().is_none_or(|(l, _)| l != label) || done == 0 {
            state.started = Some((label.to_string(), now));
            state.drawn = None;
        }
        let end = total.is_some_and(|t| done >= t);
        if !end && state.drawn.is_some_and(|at| now.duration_since(at) < EVERY) {
            return;
        }
        state.drawn = Some(now);
        let seconds = state.started.as_ref().map_or(0.0, |(_, at)| now.duration_since(*at).as_secs_f64());
        let label = strip_control(label);
        if !self.terminal {
            if end {
                eprintln!("{label}: {done} done in {seconds:.1} s");
            }
            return;
        }
        let note = strip_control(note);
        match total {
            Some(total) if total > 0 => {
                let filled = (BAR as u64 * done.min(total) / total) as usize;
                let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
                eprint!("\r\x1b[K{label} {bar} {done}/{total} {seconds:.1} s {note}");
            }
            _ => eprint!("\r\x1b[K{label} {done} {seconds:.1} s {note}"),
        }
        state.showing = true;
        if end {
            eprintln!();
            state.showing = false;
        }
        // The bar is a courtesy; a closed standard error is no reason to stop.
        let _ = std::io::stderr().flush();
    }
}
