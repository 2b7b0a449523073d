//! What the surroundings say of the terminal.

use std::io::IsTerminal;

/// Whether there is a terminal that can show the lab.
pub(crate) fn shows_lab() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb()
}

/// Whether the terminal can only take one line after the other.
pub(super) fn is_dumb() -> bool {
    std::env::var("TERM").is_ok_and(|term| term == "dumb")
}
