//! What the surroundings say of the terminal.

use std::borrow::Cow;
use std::io::IsTerminal;

use textwrap::{Options, WordSplitter, wrap};

use crate::repl::screen;

/// Whether there is a terminal that can show the lab.
pub(crate) fn shows_lab() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb()
}

/// Whether the terminal can only take one line after the other.
pub(super) fn is_dumb() -> bool {
    std::env::var("TERM").is_ok_and(|term| term == "dumb")
}

/// A line for who reads it: broken between words where `out` is a terminal that is too narrow for it, what goes on
/// below behind `hang` spaces. As it is elsewhere.
pub(super) fn fitted<'t>(line: &'t str, hang: usize, out: &impl IsTerminal) -> Cow<'t, str> {
    if out.is_terminal() { broken(line, hang, screen().0) } else { line.into() }
}

fn broken(line: &str, hang: usize, columns: usize) -> Cow<'_, str> {
    let hang = " ".repeat(hang.min(columns / 2));
    let options = Options::new(columns).subsequent_indent(&hang);
    let options = options.word_splitter(WordSplitter::NoHyphenation).break_words(false);
    match wrap(line, options) {
        rows if rows.len() < 2 => line.into(),
        rows => rows.join("\n").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_go_on_behind_spaces() {
        assert_eq!(broken("a line that fits", 4, 16), "a line that fits");
        assert_eq!(broken("note: no GPU to use here", 6, 16), "note: no GPU to\n      use here");
        assert_eq!(broken("     what it is about", 5, 14), "     what it\n     is about");
        // Narrow as it is, there is room for words.
        assert_eq!(broken("name and words", 40, 10), "name and\n     words");
        assert_eq!(
            broken("two  spaces /a/path/without/any x", 2, 12),
            "two  spaces\n  /a/path/without/any\n  x"
        );
    }
}
