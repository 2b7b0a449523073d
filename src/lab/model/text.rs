//! Text made safe and fitted: control sequences removed, widths measured, lines wrapped.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::base::text::strip_control;

/// False for what must not be typed into a text: control characters, and those that reorder what is around them.
pub(crate) fn printable(c: char) -> bool {
    strip_control(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() && c != '\n' && c != '\t'
}

/// Text of several lines, stripped of control sequences, with tabs as four spaces.
pub(crate) fn clean(text: &str) -> String {
    let text = strip_control(text);
    if text.contains('\t') { text.replace('\t', "    ") } else { text.into_owned() }
}

/// Text for one line: stripped, line feeds and tabs as spaces.
pub(crate) fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// Columns that text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Columns that a character takes.
pub(crate) fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// At most `columns` of `text`; what is cut is marked with `…`.
pub(crate) fn clip(text: &str, columns: usize) -> String {
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
pub(crate) fn left(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    let fill = columns.saturating_sub(width(&text));
    format!("{text}{}", " ".repeat(fill))
}

/// `text` clipped or filled to exactly `columns`, at the right.
pub(crate) fn right(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(&text))))
}

/// Where lines may break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Break {
    /// Between words; words longer than a line break between parts of a path or a call where there are any.
    Words,
    /// Anywhere, keeping every space, as code and output need.
    Anywhere,
}

/// Breaks styled text into lines of at most `columns`, and at its line feeds. There is always at least one line.
pub(crate) fn wrap(spans: &[Span<'_>], columns: usize, at: Break) -> Vec<Line<'static>> {
    let chars: Vec<(char, Style)> =
        spans.iter().flat_map(|span| span.content.chars().map(move |c| (c, span.style))).collect();
    let columns = columns.max(1);
    let rows = chars.split(|(c, _)| *c == '\n').flat_map(|chars| match at {
        Break::Anywhere => break_anywhere(chars, columns),
        Break::Words => break_words(chars, columns),
    });
    rows.map(line).collect()
}

/// Joins characters of one style into spans.
pub(crate) fn line(chars: &[(char, Style)]) -> Line<'static> {
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
pub(crate) fn break_anywhere(chars: &[(char, Style)], columns: usize) -> Vec<&[(char, Style)]> {
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

/// Rows of at most `columns` that keep every character of a line of code, broken behind a space where one comes late
/// enough, else at a joint of a path or a call.
pub(crate) fn break_code(chars: &[(char, Style)], columns: usize) -> Vec<&[(char, Style)]> {
    let mut rows = Vec::new();
    let mut rest = chars;
    loop {
        let fits = fitting(rest, columns);
        let indent = rest.iter().take_while(|(c, _)| *c == ' ').count();
        let space = rest.iter().take(fits).rposition(|(c, _)| *c == ' ').map(|at| at + 1);
        let space = space.filter(|&at| at > indent);
        let late = space.filter(|&at| at * 2 > fits);
        // A word that fits a row of its own is not cut.
        let early = space.filter(|&at| {
            let word = rest.iter().skip(at).take_while(|(c, _)| *c != ' ');
            word.map(|(c, _)| char_width(*c)).sum::<usize>() <= columns
        });
        let at = match fits < rest.len() {
            true => late.or_else(|| joint_before(rest, fits, indent)).or(early).unwrap_or(fits),
            false => fits,
        };
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
        let at = space.or_else(|| joint_before(rest, fits, indent)).unwrap_or(fits);
        let (row, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        rows.push(trim_end(row));
        let skip = after.iter().take_while(|(c, _)| *c == ' ').count();
        rest = after.get(skip..).unwrap_or(&[]);
        if rest.is_empty() {
            return rows;
        }
    }
}

/// Columns of the longest piece of a text that breaks at no width that is as wide.
pub(crate) fn longest_piece(chars: &[char]) -> usize {
    let (mut longest, mut piece) = (0, 0);
    for (at, c) in chars.iter().enumerate() {
        if c.is_whitespace() || is_joint(chars.get(at.wrapping_sub(1)).copied(), *c) {
            piece = 0;
        }
        piece += if c.is_whitespace() { 0 } else { char_width(*c) };
        longest = longest.max(piece);
    }
    longest
}

/// The last place up to `fits` at which a long word has a joint.
fn joint_before(chars: &[(char, Style)], fits: usize, indent: usize) -> Option<usize> {
    let at = |at: usize| chars.get(at).map(|(c, _)| *c);
    let is_joint = |&place: &usize| at(place).is_some_and(|c| is_joint(at(place - 1), c));
    (indent + 1..=fits).rev().find(is_joint)
}

/// Whether a path or a call has a joint before `c`: `torch|.cuda|.current_stream()`, `f(|a,|b)`, `size=|3`.
fn is_joint(before: Option<char>, c: char) -> bool {
    match before {
        Some('(') => c != ')',
        Some('=') => c != '=',
        Some(',' | '/') => true,
        Some(before) => c == '.' && (before.is_alphabetic() || matches!(before, ')' | ']' | '_')),
        None => false,
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
    fn what_is_typed_is_printable() {
        assert!(['a', 'é', '日', ' '].into_iter().all(printable));
        assert!(!['\n', '\t', '\u{1b}', '\u{9b}', '\u{202e}'].into_iter().any(printable));
        assert_eq!(clean("a\tb\u{1b}[31m\r\nc"), "a    b\nc");
    }

    #[test]
    fn words_wrap_and_long_ones_break() {
        let lines = wrap(&[Span::raw("one two  threefour")], 7, Break::Words);
        assert_eq!(shown(&lines), ["one two", "threefo", "ur"]);
        assert_eq!(shown(&wrap(&[Span::raw("")], 7, Break::Words)), [""]);
        assert_eq!(shown(&wrap(&[Span::raw("   abcdefgh i")], 7, Break::Words)), ["   abcd", "efgh i"]);
    }

    #[test]
    fn a_path_or_a_call_breaks_between_its_parts() {
        let shown_in = |text: &str, columns: usize| shown(&wrap(&[Span::raw(text)], columns, Break::Words));
        let long = "torch.cuda.current_stream().synchronize()";
        assert_eq!(shown_in(long, 28), ["torch.cuda.current_stream()", ".synchronize()"]);
        assert_eq!(shown_in("x.to(dev,non_blocking=True)", 14), ["x.to(dev,", "non_blocking=", "True)"]);
        assert_eq!(shown_in("0.123456", 5), ["0.123", "456"]);
        let piece = |text: &str| longest_piece(&text.chars().collect::<Vec<_>>());
        assert_eq!([long, "a bcd e", "", "f()"].map(piece), [17, 3, 0, 3]);
    }

    #[test]
    fn code_keeps_every_space_and_wide_characters_fit() {
        let lines = wrap(&[Span::raw("  a 日本")], 5, Break::Anywhere);
        assert_eq!(shown(&lines), ["  a ", "日本"]);
        assert_eq!(shown(&wrap(&[Span::raw("日")], 1, Break::Anywhere)), ["日"]);
    }

    #[test]
    fn code_breaks_behind_a_space_that_comes_late_enough() {
        let broken = |code: &str, columns: usize| -> Vec<String> {
            let chars: Vec<(char, Style)> = code.chars().map(|c| (c, Style::new())).collect();
            break_code(&chars, columns).iter().map(|row| row.iter().map(|(c, _)| c).collect()).collect()
        };
        assert_eq!(broken("let y = net.forward(x);", 12), ["let y = ", "net.forward(", "x);"]);
        assert_eq!(broken("a bcdefghij", 8), ["a bcdefg", "hij"]);
        assert_eq!(broken("a bcdefghi", 8), ["a ", "bcdefghi"]);
        assert_eq!(
            broken("for i in range(torch.cuda.device_count()):", 35),
            ["for i in range(torch.cuda", ".device_count()):"]
        );
        assert_eq!(broken("f(use_deterministic(True))", 20), ["f(use_deterministic(", "True))"]);
        assert_eq!(broken("    abcdefghi", 6), ["    ab", "cdefgh", "i"]);
        assert_eq!(broken("ab cd ", 6), ["ab cd "]);
        assert_eq!(broken("", 6), [""]);
    }

    #[test]
    fn clipping_keeps_the_width() {
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(left("日本語", 5), "日本…");
        assert_eq!(right("7", 3), "  7");
        assert_eq!(clip("ab", 0), "");
    }
}
