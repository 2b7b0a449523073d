//! A lesson's text, block by block, as rows.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::lab::layout::highlight;
use crate::lab::layout::inline::spans;
use crate::lab::layout::table::{self, Table};
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::model::theme::Theme;
use crate::lesson::markdown::Block;

const MIN_COLUMNS: usize = 8;

/// Rows of some blocks for a width in columns, with an empty row between two blocks.
pub(crate) fn lay(blocks: &[Block], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        if i > 0 {
            lines.push(Line::default());
        }
        lay_block(&mut lines, block, columns.max(MIN_COLUMNS), theme);
    }
    lines
}

fn lay_block(lines: &mut Vec<Line<'static>>, block: &Block, columns: usize, theme: &Theme) {
    match block {
        Block::Heading { level, text } => {
            let style = if *level <= 2 { theme.accent } else { theme.strong };
            lines.extend(text::wrap(&spans(text, style, theme), columns, Break::Words));
        }
        Block::Paragraph(text) => {
            lines.extend(text::wrap(&spans(text, theme.text, theme), columns, Break::Words));
        }
        Block::List { start, items } => list(lines, *start, items, columns, theme),
        Block::Quote(blocks) => {
            let inner = lay(blocks, columns.saturating_sub(2), theme);
            lines.extend(inner.into_iter().map(|line| lead("│ ".into(), theme.accent, line)));
        }
        Block::Code { language, text } => code(lines, language, text, columns, theme),
        Block::Table { align, head, rows } => table::lay(lines, &Table { align, head, rows }, columns, theme),
        Block::Rule => lines.push(Line::styled("─".repeat(columns), theme.border)),
    }
}

fn list(
    lines: &mut Vec<Line<'static>>,
    start: Option<u64>,
    items: &[Vec<Block>],
    columns: usize,
    theme: &Theme,
) {
    let last = start.map(|n| n.saturating_add(items.len() as u64));
    let width = last.map_or(2, |n| n.to_string().len() + 2);
    for (i, item) in items.iter().enumerate() {
        let mark = start.map_or("•".to_owned(), |n| format!("{}.", n.saturating_add(i as u64)));
        let inner = lay(item, columns.saturating_sub(width), theme);
        for (row, line) in inner.into_iter().enumerate() {
            let mark = if row == 0 { mark.as_str() } else { "" };
            lines.push(lead(text::left(mark, width), theme.accent, line));
        }
    }
}

fn code(lines: &mut Vec<Line<'static>>, language: &str, code: &str, columns: usize, theme: &Theme) {
    let code = text::clean(code);
    let rows: Vec<String> = code.trim_end().split('\n').map(str::to_owned).collect();
    let styled = if language.starts_with("rhai") {
        highlight::styled(&rows, theme)
    } else {
        rows.iter().map(|row| row.chars().map(|c| (c, theme.text)).collect()).collect()
    };
    for row in styled {
        for (i, piece) in text::break_code(&row, columns.saturating_sub(2)).into_iter().enumerate() {
            let mark = if i == 0 { "  " } else { "↪ " };
            lines.push(lead(mark.into(), theme.border, text::line(piece)));
        }
    }
}

fn lead(mark: String, style: Style, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::styled(mark, style));
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::theme::{Colour, Look};
    use crate::lesson::markdown::parse;

    fn shown(markdown: &str, columns: usize) -> Vec<String> {
        let theme = Theme::new(Look { colour: Colour::True, light: false, ascii: false });
        let text = |line: &Line<'_>| line.spans.iter().map(|s| s.content.as_ref()).collect::<String>();
        lay(&parse(markdown), columns, &theme).iter().map(|line| text(line).trim_end().to_owned()).collect()
    }

    #[test]
    fn lists_hang_and_quotes_are_marked() {
        let lines = shown("9. one two three\n10. *four*\n\n> a **b**\n", 12);
        assert_eq!(lines, ["9.  one two", "    three", "10. four", "", "│ a b"]);
    }

    #[test]
    fn a_table_fits_by_wrapping_its_widest_column() {
        let lines = shown("| k | what it does |\n|--:|---|\n| aa | moves `it` |\n", 13);
        assert_eq!(lines, [" k  what it", "    does", "─────────────", "aa  moves it"]);
        let shared = "| a | b |\n|---|---|\n| one two three | moving |\n";
        let lines = shown(shared, 13);
        assert_eq!(
            lines,
            ["a      b", "─────────────", "one    moving", "two", "three"],
            "whole words first"
        );
    }

    #[test]
    fn a_table_whose_words_would_break_is_told_row_by_row() {
        let table = "| in PyTorch | here | costs |\n|---|---|---|\n| `a.item()` | the same | a wait for it |\n| `b` |  | none |\n";
        let rule = "─".repeat(18);
        let told = ["in PyTorch", &rule, "a.item()", "  here: the same", "  costs: a wait", "    for it"];
        let told = [told.as_slice(), &["", "b", "  costs: none"]].concat();
        assert_eq!(shown(table, 18), told);
        assert_eq!(shown(table, 40)[2], "a.item()    the same  a wait for it");
    }

    #[test]
    fn line_breaks_code_and_nesting_stay() {
        let lines = shown("one\\\ntwo\n\n```rhai\nlet  x = 1;\n```\n\n- a\n  - b\n", 40);
        assert_eq!(lines, ["one", "two", "", "  let  x = 1;", "", "• a", "", "  • b"]);
    }

    #[test]
    fn quotes_within_quotes_without_end_are_drawn() {
        assert!(shown(&">".repeat(5000), 40).len() < 100);
        assert!(shown(&("> ".repeat(100) + "deep"), 40).iter().any(|line| line.contains("deep")));
    }
}
