//! The line of code in an error's report, with its caret below the right column however narrow the cell is.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::lab::model::output::{Ink, OutLine};
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// Columns of code below which wrapping it does not help any more.
const LEAST: usize = 8;

/// Columns of the mark where a line is cut.
const CUT: usize = 2;

/// A quoted line: what stands before the code, the code, and how many of its characters stand before the caret.
struct Quoted<'a> {
    lead: &'a str,
    code: &'a str,
    caret: usize,
}

/// A quoted line and the caret below it in rows of at most `columns`; `None` where the two lines are not that.
pub(super) fn quoted(
    line: &OutLine,
    below: &OutLine,
    columns: usize,
    theme: &Theme,
) -> Option<Vec<Line<'static>>> {
    let is_report = |line: &OutLine| line.ink == Ink::Report && line.cut == 0;
    let Quoted { lead, code, caret } = read(line, below).filter(|_| is_report(line) && is_report(below))?;
    let room = columns.checked_sub(text::width(lead)).filter(|room| *room >= LEAST)?;
    // The caret may stand behind the last character.
    let mut chars: Vec<(char, Style)> = code.chars().map(|c| (c, theme.text)).collect();
    if caret == chars.len() {
        chars.push((' ', theme.text));
    }
    let (shown, column) = around(&chars, caret, room, theme.dim);
    let mut first = Line::from(Span::styled(lead.to_owned(), theme.text));
    first.spans.extend(text::line(&shown).spans);
    let rule = text::right("| ", text::width(lead));
    let below = Line::styled(format!("{rule}{}^", " ".repeat(column)), theme.text);
    Some(vec![first, below])
}

/// The piece of the code with the caret, marked where it is cut, and the caret's column in it: a line in two rows would
/// have the caret between them.
fn around(chars: &[(char, Style)], caret: usize, room: usize, cut: Style) -> (Vec<(char, Style)>, usize) {
    let wide = |chars: &[(char, Style)]| -> usize { chars.iter().map(|(c, _)| text::char_width(*c)).sum() };
    if wide(chars) <= room {
        return (chars.to_vec(), wide(chars.get(..caret).unwrap_or_default()));
    }
    let mut from = 0;
    let rows = text::break_code(chars, room.saturating_sub(2 * CUT));
    let row = rows.into_iter().find(|row| {
        from += row.len();
        caret < from
    });
    let row = row.unwrap_or_default();
    let begin = from - row.len();
    let [before, after] = [("… ", begin > 0), (" …", from < chars.len())]
        .map(|(mark, is_cut)| mark.chars().filter(move |_| is_cut).map(move |c| (c, cut)));
    let before: Vec<(char, Style)> = before.collect();
    let column = wide(&before) + wide(row.get(..caret - begin).unwrap_or_default());
    (before.into_iter().chain(row.iter().copied()).chain(after).collect(), column)
}

/// ` 2 | let z = x + y;` and `   |           ^`.
fn read<'a>(line: &'a OutLine, below: &OutLine) -> Option<Quoted<'a>> {
    let (number, code) = line.text.split_once(" | ")?;
    if !number.chars().all(|c| c.is_ascii_digit() || c == ' ') {
        return None;
    }
    let (blank, pointer) = below.text.split_once('|')?;
    if blank.len() != number.len() + 1 || !blank.trim().is_empty() || pointer.trim() != "^" {
        return None;
    }
    let caret = pointer.find('^')?.checked_sub(1)?;
    let lead = line.text.get(..number.len() + 3)?;
    (caret <= code.chars().count()).then_some(Quoted { lead, code, caret })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::theme::{Colour, Look};

    fn shown(line: &str, below: &str, columns: usize) -> Option<Vec<String>> {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let [line, below] = [line, below].map(|text| OutLine { text: text.into(), ink: Ink::Report, cut: 0 });
        let lines = quoted(&line, &below, columns, &theme)?;
        Some(lines.iter().map(|l| l.spans.iter().map(|s| s.content.as_ref()).collect()).collect())
    }

    #[test]
    fn the_caret_stays_below_its_character() {
        let code = "12 | let total = first + second_one;";
        let below = "   |                        ^";
        assert_eq!(shown(code, below, 60).unwrap(), [code, below]);
        let cut = |columns| shown(code, below, columns).unwrap();
        assert_eq!(cut(24), ["12 | … second_one;", "   |      ^"]);
        // Wide characters, and the place behind the last one.
        assert_eq!(shown("1 | 日本x", "  |   ^", 12).unwrap(), ["1 | 日本x", "  |     ^"]);
        assert_eq!(shown("1 | let a = (", "  |          ^", 13).unwrap(), ["1 | … ( ", "  |    ^"]);
    }

    #[test]
    fn what_is_no_quotation_is_left_alone() {
        assert!(shown("a | b", "  | ^", 60).is_none());
        assert!(shown("1 | b", "  |     ^", 60).is_none());
        assert!(shown("1 | b", "hint: c", 60).is_none());
        assert!(shown("1 | b", "  | ^", 11).is_none());
    }
}
