//! Ctrl-C and the signals that end the program, depending on what the front end waits for.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::session::exchange::Bell;

/// The session works, or nothing is waited for.
const WORK: u8 = 0;
/// A line from a terminal or a pipe.
const LINE: u8 = 1;
/// The line editor, which sees Ctrl-C as a key.
const EDITOR: u8 = 2;

/// What the front end waits for.
#[derive(Default)]
pub(super) struct Waiting {
    what: AtomicU8,
    cleared: AtomicBool,
    /// What asks for a line again whose beginning Ctrl-C has dropped.
    again: Mutex<String>,
}

impl Waiting {
    /// Reads a line. Ctrl-C drops what was typed of it and shows `again`; what is read was typed after it.
    pub(super) fn during<T>(&self, again: &str, read: impl FnOnce() -> T) -> T {
        again.clone_into(&mut self.again.lock().unwrap_or_else(PoisonError::into_inner));
        self.as_(LINE, read)
    }

    pub(crate) fn in_editor<T>(&self, read: impl FnOnce() -> T) -> T {
        self.as_(EDITOR, read)
    }

    fn as_<T>(&self, what: u8, run: impl FnOnce() -> T) -> T {
        self.what.store(what, Ordering::SeqCst);
        let result = run();
        self.what.store(WORK, Ordering::SeqCst);
        result
    }

    /// Whether Ctrl-C came while a line was read, since this was asked last.
    pub(crate) fn was_cleared(&self) -> bool {
        self.cleared.swap(false, Ordering::SeqCst)
    }
}

/// Watches signals from now on: Ctrl-C rings while the session works.
///
/// # Errors
/// The signals or a thread can't be had.
#[cfg(unix)]
pub(super) fn watch(bell: Bell) -> io::Result<Arc<Waiting>> {
    use std::io::{IsTerminal, Write};

    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let waiting = Arc::new(Waiting::default());
    let seen = Arc::clone(&waiting);
    // The line editor has its own modes; who is ended while it reads gives back those of before.
    let modes = tcgetattr(io::stdin()).ok();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let what = seen.what.load(Ordering::SeqCst);
            match (signal, what) {
                (SIGINT, WORK) => bell.ring(),
                (SIGINT, EDITOR) => {}
                (SIGINT, _) if io::stdin().is_terminal() => {
                    seen.cleared.store(true, Ordering::SeqCst);
                    // The terminal has dropped its line.
                    let again = seen.again.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let mut out = io::stdout().lock();
                    let _ = write!(out, "\n{again}").and_then(|()| out.flush());
                }
                (number, _) => {
                    if let Some(modes) = &modes {
                        let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
                    }
                    std::process::exit(128 + number);
                }
            }
        }
    })?;
    Ok(waiting)
}

/// Without such signals, Ctrl-C ends the program.
#[cfg(not(unix))]
pub fn watch(_: Bell) -> io::Result<Arc<Waiting>> {
    Ok(Arc::default())
}
