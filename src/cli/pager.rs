//! Long answers on a terminal: through a pager where there is one.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::base::locale;

use super::output::put;
use super::terminal;

/// Whether a person reads it who can turn pages.
pub(super) fn is_wanted() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !terminal::is_dumb()
}

/// Shows a text: through `PAGER`, or `less` where that is not set; printed where nobody turns pages or there is no
/// pager. A terminal of a C locale gets ASCII.
pub(super) fn show(text: &str) {
    let plain = if std::io::stdout().is_terminal() && locale::is_ascii() {
        locale::in_ascii(text)
    } else {
        text.into()
    };
    let text: &str = &plain;
    let pager = chosen().filter(|_| is_wanted());
    if !pager.is_some_and(|pager| paged(&pager, text)) {
        put(format_args!("{text}"));
    }
}

/// The pager's command line; `None` where a plain print is wanted, or there is none.
fn chosen() -> Option<String> {
    match std::env::var("PAGER") {
        Ok(set) => Some(set).filter(|set| !matches!(set.trim(), "" | "cat")),
        Err(_) => {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path).any(|folder| folder.join("less").is_file()).then(|| "less".into())
        }
    }
}

/// False where the pager could not be started.
fn paged(pager: &str, text: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // It ends by itself where everything is in sight, and leaves it there.
        command.env("LESS", "FRX");
    }
    // Ctrl-C is the pager's while it runs.
    #[cfg(unix)]
    let ignored = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)));
    let status = command.spawn().and_then(|mut child| {
        if let Some(mut input) = child.stdin.take() {
            // Whoever has seen enough reads no further.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait()
    });
    #[cfg(unix)]
    if let Ok(id) = ignored {
        signal_hook::low_level::unregister(id);
    }
    // What a shell ends with that does not find the command, or may not run it.
    status.is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}
