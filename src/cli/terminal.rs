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

/// Whether the locale has ASCII characters alone. One that is not set says nothing: most such terminals know UTF-8.
pub(super) fn is_ascii() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_some_and(|locale| matches!(locale.as_str(), "C" | "POSIX"))
}
