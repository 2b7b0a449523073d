//! What is wrong with a lesson file, and where.

use std::fmt;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text;

/// Columns of the source line that a rendering shows at most.
const WINDOW: usize = 96;

/// At most this many errors of one file are listed; a last one counts the rest.
pub(super) const MAX_ERRORS: usize = 100;

/// One fault of a lesson file with its place. `line` and `column` count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LessonError {
    /// The file as it was named to the parser.
    pub file: String,
    /// Line in the file, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line's text, free of control characters.
    pub source_line: String,
}

impl LessonError {
    /// The error with its source line and a caret, as several lines without a trailing line break.
    ///
    /// ```text
    /// error: the exercise `once` has no check
    ///   --> 03-moving.md:57:1
    ///    |
    /// 57 | ```rhai exercise id="once" points=2
    ///    | ^
    ///    = put a ```rhai check block directly after it
    /// ```
    pub fn render(&self) -> String {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let (shown, caret) = window(&self.source_line, self.column);
        let mut out = format!(
            "error: {}\n{margin}--> {}:{}:{}\n{margin} |\n{number} | {shown}\n{margin} | {}^",
            self.message,
            self.file,
            self.line,
            self.column,
            " ".repeat(caret),
        );
        if let Some(hint) = &self.hint {
            out.push_str(&format!("\n{margin} = {hint}"));
        }
        out
    }
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for LessonError {}

/// The part of `line` around `column` that fits a terminal, and how many columns stand before the caret.
fn window(line: &str, column: usize) -> (String, usize) {
    let line: String = text::strip(line).chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let before_caret = column.saturating_sub(1);
    let mut skipped = 0;
    let mut left: usize = line.chars().take(before_caret).map(|c| c.width().unwrap_or(0)).sum();
    let mut rest = line.chars();
    while left > WINDOW * 2 / 3 {
        let Some(first) = rest.next() else { break };
        left -= first.width().unwrap_or(0);
        skipped += 1;
    }
    let mut shown = String::new();
    if skipped > 0 {
        shown.push('…');
        left += 1;
    }
    let mut width = shown.width();
    for c in rest {
        width += c.width().unwrap_or(0);
        if width > WINDOW {
            shown.push('…');
            break;
        }
        shown.push(c);
    }
    (shown, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(source_line: &str, column: usize) -> LessonError {
        LessonError {
            file: "a.md".to_owned(),
            line: 12,
            column,
            message: "it is wrong".to_owned(),
            hint: Some("mend it".to_owned()),
            source_line: source_line.to_owned(),
        }
    }

    #[test]
    fn the_caret_stands_under_the_column() {
        let rendered = error("id = \"x\"", 6).render();
        assert_eq!(
            rendered,
            "error: it is wrong\n  --> a.md:12:6\n   |\n12 | id = \"x\"\n   |      ^\n   = mend it"
        );
    }

    #[test]
    fn wide_characters_and_tabs_do_not_move_the_caret() {
        let caret = |line: &str, column| window(line, column).1;
        assert_eq!(caret("日本 x", 4), 5);
        assert_eq!(caret("\t\tx", 3), 2);
        assert_eq!(caret("e\u{301}x", 3), 1);
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let line = format!("{}!{}", "a".repeat(5000), "b".repeat(5000));
        let (shown, caret) = window(&line, 5001);
        assert!(shown.width() <= WINDOW + 1, "{}", shown.width());
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(shown.chars().nth(caret), Some('!'));
    }

    #[test]
    fn an_escape_in_the_line_never_reaches_the_rendering() {
        assert!(!error("\u{1b}[31mred", 1).render().contains('\u{1b}'));
    }
}
