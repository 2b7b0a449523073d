//! The line of code in an error's report, with its caret below the right column however narrow the cell is.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::lab::model::output::{Ink, OutLine};
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// Columns of code below which wrapping it does not help any more.
const LEAST: usize = 8;

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
    let rule = text::right("| ", text::width(lead));
    let mut out = Vec::new();
    let mut from = 0;
    for row in text::break_code(&chars, room) {
        let before = if from == 0 { lead.to_owned() } else { rule.clone() };
        let mut line = Line::from(Span::styled(before, theme.text));
        line.spans.extend(text::line(row).spans);
        out.push(line);
        if let Some(here) = caret.checked_sub(from).filter(|here| *here < row.len()) {
            let indent: usize = row.iter().take(here).map(|(c, _)| text::char_width(*c)).sum();
            out.push(Line::styled(format!("{rule}{}^", " ".repeat(indent)), theme.text));
        }
        from += row.len();
    }
    Some(out)
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
        let narrow = ["12 | let total = ", "   | first + ", "   | second_one;", "   |    ^"];
        assert_eq!(shown(code, below, 19).unwrap(), narrow);
        // Wide characters, and the place behind the last one.
        assert_eq!(shown("1 | 日本x", "  |   ^", 12).unwrap(), ["1 | 日本x", "  |     ^"]);
        assert_eq!(
            shown("1 | let a = (", "  |          ^", 13).unwrap(),
            ["1 | let a = ", "  | ( ", "  |  ^"]
        );
    }

    #[test]
    fn what_is_no_quotation_is_left_alone() {
        assert!(shown("a | b", "  | ^", 60).is_none());
        assert!(shown("1 | b", "  |     ^", 60).is_none());
        assert!(shown("1 | b", "hint: c", 60).is_none());
        assert!(shown("1 | b", "  | ^", 11).is_none());
    }
}
