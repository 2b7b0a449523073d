//! A lesson's text, block by block, as rows.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::lab::document::{Block, Inline, Kind};
use crate::lab::highlight;
use crate::lab::text::{self, Break};
use crate::lab::theme::{Colour, Theme};

/// Lists and quotes within each other are followed this far.
const MAX_DEPTH: usize = 8;
const MIN_COLUMNS: usize = 8;

/// Rows of some blocks for a width in columns, with an empty row between two blocks.
pub fn lay(blocks: &[Block], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    lay_blocks(&mut lines, blocks, columns, theme, 0);
    lines
}

fn lay_blocks(lines: &mut Vec<Line<'static>>, blocks: &[Block], columns: usize, theme: &Theme, depth: usize) {
    for (i, block) in blocks.iter().enumerate() {
        if i > 0 {
            lines.push(Line::default());
        }
        lay_block(lines, block, columns.max(MIN_COLUMNS), theme, depth);
    }
}

fn lay_block(lines: &mut Vec<Line<'static>>, block: &Block, columns: usize, theme: &Theme, depth: usize) {
    match block {
        Block::Heading { level, text } => {
            let style = if *level <= 2 { theme.accent } else { theme.strong };
            lines.extend(text::wrap(&spans(text, style, theme), columns, Break::Words));
        }
        Block::Paragraph(text) => {
            lines.extend(text::wrap(&spans(text, theme.text, theme), columns, Break::Words));
        }
        Block::List { .. } | Block::Quote(_) if depth >= MAX_DEPTH => {
            lines.push(Line::styled("…", theme.dim));
        }
        Block::List { start, items } => list(lines, *start, items, columns, theme, depth),
        Block::Quote(blocks) => {
            let mut inner = Vec::new();
            lay_blocks(&mut inner, blocks, columns.saturating_sub(2), theme, depth + 1);
            lines.extend(inner.into_iter().map(|line| lead("│ ".into(), theme.accent, line)));
        }
        Block::Code { language, text } => code(lines, language, text, columns, theme),
        Block::Table { header, rows } => table(lines, header, rows, columns, theme),
        Block::Rule => lines.push(Line::styled("─".repeat(columns), theme.border)),
    }
}

fn list(
    lines: &mut Vec<Line<'static>>,
    start: Option<u64>,
    items: &[Vec<Block>],
    columns: usize,
    theme: &Theme,
    depth: usize,
) {
    let last = start.map(|n| n.saturating_add(items.len() as u64));
    let width = last.map_or(2, |n| n.to_string().len() + 2);
    for (i, item) in items.iter().enumerate() {
        let mark = start.map_or("•".to_owned(), |n| format!("{}.", n.saturating_add(i as u64)));
        let mut inner = Vec::new();
        lay_blocks(&mut inner, item, columns.saturating_sub(width), theme, depth + 1);
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
        for piece in text::break_anywhere(&row, columns.saturating_sub(2)) {
            lines.push(lead("  ".into(), Style::new(), text::line(piece)));
        }
    }
}

fn table(
    lines: &mut Vec<Line<'static>>,
    header: &[Vec<Inline>],
    rows: &[Vec<Vec<Inline>>],
    columns: usize,
    theme: &Theme,
) {
    let count = rows.iter().map(Vec::len).chain([header.len()]).max().unwrap_or(0);
    if count == 0 {
        return;
    }
    let widths = table_widths(header, rows, count, columns);
    table_row(lines, header, &widths, theme.strong, theme);
    let rule = widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("──");
    lines.push(Line::styled(rule, theme.border));
    for row in rows {
        table_row(lines, row, &widths, theme.text, theme);
    }
}

/// Widths as wide as the content asks, the widest giving way until all fit.
fn table_widths(
    header: &[Vec<Inline>],
    rows: &[Vec<Vec<Inline>>],
    count: usize,
    columns: usize,
) -> Vec<usize> {
    let width = |cell: &[Inline]| cell.iter().map(|run| text::width(&run.text)).sum::<usize>();
    let mut widths: Vec<usize> = (0..count)
        .map(|i| {
            let all = rows.iter().map(Vec::as_slice).chain([header]);
            all.filter_map(|row| row.get(i)).map(|cell| width(cell)).max().unwrap_or(0).clamp(1, columns)
        })
        .collect();
    let room = columns.saturating_sub(2 * (count - 1)).max(count);
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > 1 => *widest -= 1,
            _ => break,
        }
    }
    widths
}

fn table_row(
    lines: &mut Vec<Line<'static>>,
    row: &[Vec<Inline>],
    widths: &[usize],
    style: Style,
    theme: &Theme,
) {
    let cells: Vec<Vec<Line<'static>>> = widths
        .iter()
        .enumerate()
        .map(|(i, width)| {
            let inlines = row.get(i).map(Vec::as_slice).unwrap_or_default();
            text::wrap(&spans(inlines, style, theme), *width, Break::Words)
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for y in 0..height {
        let mut joined: Vec<Span<'static>> = Vec::new();
        for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let line = cell.get(y).cloned().unwrap_or_default();
            let fill = width.saturating_sub(line.width()) + if i + 1 < widths.len() { 2 } else { 0 };
            joined.extend(line.spans);
            joined.push(Span::raw(" ".repeat(fill)));
        }
        lines.push(Line::from(joined));
    }
}

/// Runs of text with the style of their kind upon `base`.
fn spans(text: &[Inline], base: Style, theme: &Theme) -> Vec<Span<'static>> {
    let plain = theme.look.colour == Colour::None;
    text.iter()
        .map(|run| {
            let content = text::clean_line(&run.text);
            match run.kind {
                Kind::Plain => Span::styled(content, base),
                Kind::Strong => Span::styled(content, base.add_modifier(Modifier::BOLD)),
                Kind::Emphasis => Span::styled(content, base.add_modifier(Modifier::ITALIC)),
                Kind::Code if plain => Span::styled(format!("`{content}`"), base),
                Kind::Code => Span::styled(content, base.patch(theme.function)),
                Kind::Link => {
                    Span::styled(content, base.patch(theme.accent).add_modifier(Modifier::UNDERLINED))
                }
            }
        })
        .collect()
}

fn lead(mark: String, style: Style, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::styled(mark, style));
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::theme::Look;

    fn shown(blocks: &[Block], columns: usize) -> Vec<String> {
        let theme = Theme::new(Look { colour: Colour::True, light: false, ascii: false });
        let text = |line: &Line<'_>| line.spans.iter().map(|s| s.content.as_ref()).collect::<String>();
        lay(blocks, columns, &theme).iter().map(|line| text(line).trim_end().to_owned()).collect()
    }

    #[test]
    fn lists_hang_and_quotes_are_marked() {
        let blocks = [
            Block::List {
                start: Some(9),
                items: vec![vec![Block::paragraph("one two three")], vec![Block::paragraph("four")]],
            },
            Block::Quote(vec![Block::paragraph("a b")]),
        ];
        assert_eq!(shown(&blocks, 12), ["9.  one two", "    three", "10. four", "", "│ a b"]);
    }

    #[test]
    fn a_table_fits_by_wrapping_its_widest_column() {
        let cell = |t: &str| vec![Inline::plain(t)];
        let block = Block::Table {
            header: vec![cell("k"), cell("what it does")],
            rows: vec![vec![cell("a"), cell("moves it")]],
        };
        assert_eq!(shown(&[block], 12), ["k  what it", "   does", "────────────", "a  moves it"]);
    }

    #[test]
    fn nesting_without_end_is_cut() {
        let mut block = Block::paragraph("deep");
        for _ in 0..1000 {
            block = Block::Quote(vec![block]);
        }
        assert!(shown(std::slice::from_ref(&block), 40).iter().any(|line| line.ends_with('…')));
        // Dropped level by level, as a recursive drop of this depth is not what is tested.
        while let Block::Quote(mut inner) = block {
            block = inner.remove(0);
        }
    }
}
