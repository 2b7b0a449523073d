//! Text made safe and fitted: control sequences removed, widths measured, lines wrapped.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Removes control sequences from text that arrives in pieces; a sequence may be split between two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stripper(Within);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Within {
    #[default]
    Text,
    Escape,
    /// `ESC [ … final`.
    Sequence,
    /// `ESC ] … BEL`, `ESC P … ESC \` and their kin.
    Payload,
    PayloadEscape,
}

impl Stripper {
    /// Appends what may be shown of `text`: its printable characters, line feeds, tabs and carriage returns.
    pub fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            self.0 = match (self.0, c) {
                // A line feed ends whatever was begun, so that a stray escape can't hide the rest.
                (_, '\n') => {
                    out.push('\n');
                    Within::Text
                }
                (Within::Payload, '\u{1b}') => Within::PayloadEscape,
                (_, '\u{1b}') => Within::Escape,
                (Within::Escape, '[') => Within::Sequence,
                (Within::Escape, ']' | 'P' | 'X' | '^' | '_') => Within::Payload,
                (Within::Escape, ' '..='/') => Within::Escape,
                (Within::Escape, _) => Within::Text,
                (Within::Sequence, '@'..='~') => Within::Text,
                (Within::Sequence, _) => Within::Sequence,
                (Within::Payload, '\u{7}' | '\u{9c}') => Within::Text,
                (Within::Payload, _) => Within::Payload,
                (Within::PayloadEscape, '\\') => Within::Text,
                (Within::PayloadEscape, _) => Within::Payload,
                (Within::Text, '\u{9b}') => Within::Sequence,
                (Within::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => Within::Payload,
                (Within::Text, c) => {
                    if c == '\t' || c == '\r' || printable(c) {
                        out.push(c);
                    }
                    Within::Text
                }
            };
        }
    }
}

/// False for control characters and for those that reorder or hide what is around them.
pub fn printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Text of several lines, stripped, with tabs as four spaces.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Stripper::default().push(text, &mut out);
    out.retain(|c| c != '\r');
    if out.contains('\t') { out.replace('\t', "    ") } else { out }
}

/// Text for one line: stripped, line feeds and tabs as spaces.
pub fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// Columns that text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Columns that a character takes.
pub fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// At most `columns` of `text`; what is cut is marked with `…`.
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += char_width(c);
        if used + 1 > columns {
            break;
        }
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// `text` clipped or filled to exactly `columns`, at the left.
pub fn left(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    let fill = columns.saturating_sub(width(&text));
    text + &" ".repeat(fill)
}

/// `text` clipped or filled to exactly `columns`, at the right.
pub fn right(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    " ".repeat(columns.saturating_sub(width(&text))) + &text
}

/// Where lines may break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Break {
    /// Between words; words longer than a line break anywhere.
    Words,
    /// Anywhere, keeping every space, as code and output need.
    Anywhere,
}

/// Breaks styled text into lines of at most `columns`. There is always at least one line.
pub fn wrap(spans: &[Span<'_>], columns: usize, at: Break) -> Vec<Line<'static>> {
    let chars: Vec<(char, Style)> =
        spans.iter().flat_map(|span| span.content.chars().map(move |c| (c, span.style))).collect();
    let columns = columns.max(1);
    let rows = match at {
        Break::Anywhere => break_anywhere(&chars, columns),
        Break::Words => break_words(&chars, columns),
    };
    rows.into_iter().map(|row| line(row)).collect()
}

/// Joins characters of one style into spans.
pub fn line(chars: &[(char, Style)]) -> Line<'static> {
    let spans: Vec<Span<'static>> = chars
        .chunk_by(|a, b| a.1 == b.1)
        .filter_map(|run| {
            run.first()
                .map(|(_, style)| Span::styled(run.iter().map(|(c, _)| *c).collect::<String>(), *style))
        })
        .collect();
    Line::from(spans)
}

/// Rows of at most `columns`, broken anywhere.
pub fn break_anywhere(chars: &[(char, Style)], columns: usize) -> Vec<&[(char, Style)]> {
    let mut rows = Vec::new();
    let mut rest = chars;
    loop {
        let at = fitting(rest, columns);
        let (row, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        rows.push(row);
        if after.is_empty() {
            return rows;
        }
        rest = after;
    }
}

/// How many characters fit `columns`; at least one where there is one.
fn fitting(chars: &[(char, Style)], columns: usize) -> usize {
    let mut used = 0;
    for (i, (c, _)) in chars.iter().enumerate() {
        used += char_width(*c);
        if used > columns {
            return i.max(1);
        }
    }
    chars.len()
}

fn break_words(chars: &[(char, Style)], columns: usize) -> Vec<&[(char, Style)]> {
    let mut rows = Vec::new();
    let mut rest = chars;
    loop {
        let fits = fitting(rest, columns);
        if fits == rest.len() {
            rows.push(rest);
            return rows;
        }
        // The break is at the last space that fits or just does not; the space itself is dropped. An indent
        // is no place to break.
        let indent = rest.iter().take_while(|(c, _)| *c == ' ').count();
        let space = rest.iter().take(fits + 1).rposition(|(c, _)| *c == ' ').filter(|&at| at > indent);
        let (row, after) = rest.split_at_checked(space.unwrap_or(fits)).unwrap_or((rest, &[]));
        rows.push(trim_end(row));
        let skip = after.iter().take_while(|(c, _)| *c == ' ').count();
        rest = after.get(skip..).unwrap_or(&[]);
        if rest.is_empty() {
            return rows;
        }
    }
}

fn trim_end(row: &[(char, Style)]) -> &[(char, Style)] {
    let keep = row.iter().rposition(|(c, _)| *c != ' ').map_or(0, |i| i + 1);
    row.get(..keep).unwrap_or(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(|l| l.spans.iter().map(|s| s.content.as_ref()).collect()).collect()
    }

    #[test]
    fn control_sequences_vanish_even_when_split() {
        let mut stripper = Stripper::default();
        let mut out = String::new();
        for piece in
            ["a\u{1b}[3", "1mb\u{1b}]0;title", "\u{7}c\u{1b}P1;2|x\u{1b}", "\\d\u{9b}2Je\u{202e}f\u{8}"]
        {
            stripper.push(piece, &mut out);
        }
        assert_eq!(out, "abcdef");
    }

    #[test]
    fn an_open_sequence_hides_no_later_line() {
        assert_eq!(clean("x\u{1b}]52;c;\nseen\u{1b}("), "x\nseen");
    }

    #[test]
    fn words_wrap_and_long_ones_break() {
        let lines = wrap(&[Span::raw("one two  threefour")], 7, Break::Words);
        assert_eq!(shown(&lines), ["one two", "threefo", "ur"]);
        assert_eq!(shown(&wrap(&[Span::raw("")], 7, Break::Words)), [""]);
        assert_eq!(shown(&wrap(&[Span::raw("   abcdefgh i")], 7, Break::Words)), ["   abcd", "efgh i"]);
    }

    #[test]
    fn code_keeps_every_space_and_wide_characters_fit() {
        let lines = wrap(&[Span::raw("  a 日本")], 5, Break::Anywhere);
        assert_eq!(shown(&lines), ["  a ", "日本"]);
        assert_eq!(shown(&wrap(&[Span::raw("日")], 1, Break::Anywhere)), ["日"]);
    }

    #[test]
    fn clipping_keeps_the_width() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(left("日本語", 5), "日本…");
        assert_eq!(right("7", 3), "  7");
        assert_eq!(clip("ab", 0), "");
    }
}
