//! Tables of a lesson's text: in columns, or row by row where columns would break words.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::lab::layout::inline::spans;
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::model::theme::Theme;
use crate::lesson::markdown::{Align, Inline};

/// Between two columns.
const GAP: usize = 2;

/// Columns in which a sentence can still be read.
const READABLE: usize = 14;

/// A table as it is written.
pub(super) struct Table<'a> {
    pub align: &'a [Align],
    pub head: &'a [Vec<Inline>],
    pub rows: &'a [Vec<Vec<Inline>>],
}

/// Rows of a table for a width in columns.
pub(super) fn lay(lines: &mut Vec<Line<'static>>, table: &Table<'_>, columns: usize, theme: &Theme) {
    let count = table.rows.iter().map(Vec::len).chain([table.head.len()]).max().unwrap_or(0);
    if count == 0 {
        return;
    }
    let Some(widths) = widths(table, count, columns, theme) else {
        return row_by_row(lines, table, columns, theme);
    };
    let shape: Vec<(usize, Align)> = widths
        .iter()
        .enumerate()
        .map(|(i, width)| (*width, table.align.get(i).copied().unwrap_or(Align::Left)))
        .collect();
    table_row(lines, table.head, &shape, theme.strong, theme);
    let rule = widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("──");
    lines.push(Line::styled(rule, theme.border));
    for row in table.rows {
        table_row(lines, row, &shape, theme.text, theme);
    }
}

/// Widths as wide as the content asks, the widest giving way until all fit; none where a word would
/// break for it, or a sentence become a thread.
fn widths(table: &Table<'_>, count: usize, columns: usize, theme: &Theme) -> Option<Vec<usize>> {
    let widest = |measure: &dyn Fn(&[Span<'_>]) -> usize| -> Vec<usize> {
        let column = |i: usize| {
            let all = table.rows.iter().map(Vec::as_slice).chain([table.head]);
            let cells = all.filter_map(|row| row.get(i)).map(|cell| spans(cell, theme.text, theme));
            cells.map(|cell| measure(&cell)).max().unwrap_or(0).clamp(1, columns)
        };
        (0..count).map(column).collect()
    };
    let least = widest(&|cell| {
        let chars: Vec<char> = cell.iter().flat_map(|span| span.content.chars()).collect();
        text::longest_piece(&chars)
    });
    let mut widths = widest(&|cell| cell.iter().map(Span::width).sum());
    // Two columns can be narrow and still be read side by side.
    let readable = if count > 2 { READABLE } else { 1 };
    let least: Vec<usize> =
        widths.iter().zip(least).map(|(asked, least)| least.max(readable.min(*asked))).collect();
    let room = columns.saturating_sub(GAP * (count - 1)).max(count);
    while widths.iter().sum::<usize>() > room {
        let can_give = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
        *can_give.map(|(width, _)| width).max()? -= 1;
    }
    Some(widths)
}

/// The first column's heading, then each row as its first cell, and below it what the other columns say of it.
fn row_by_row(lines: &mut Vec<Line<'static>>, table: &Table<'_>, columns: usize, theme: &Theme) {
    let first = table.head.first().map(|head| spans(head, theme.dim, theme)).unwrap_or_default();
    if first.iter().any(|span| !span.content.trim().is_empty()) {
        lines.extend(text::wrap(&first, columns, Break::Words));
        lines.push(Line::styled("─".repeat(columns), theme.border));
    }
    for (i, row) in table.rows.iter().enumerate() {
        if i > 0 {
            lines.push(Line::default());
        }
        for (at, cell) in row.iter().enumerate() {
            let mut said = spans(cell, if at == 0 { theme.strong } else { theme.text }, theme);
            if at == 0 {
                lines.extend(text::wrap(&said, columns, Break::Words));
                continue;
            }
            if said.iter().all(|span| span.content.trim().is_empty()) {
                continue;
            }
            if let Some(head) = table.head.get(at).filter(|head| !head.is_empty()) {
                let mut named = spans(head, theme.dim, theme);
                named.push(Span::styled(": ", theme.dim));
                said.splice(0..0, named);
            }
            let rows = text::wrap(&said, columns.saturating_sub(2 * GAP), Break::Words);
            for (row, mut line) in rows.into_iter().enumerate() {
                line.spans.insert(0, Span::raw(" ".repeat(if row == 0 { GAP } else { 2 * GAP })));
                lines.push(line);
            }
        }
    }
}

fn table_row(
    lines: &mut Vec<Line<'static>>,
    row: &[Vec<Inline>],
    shape: &[(usize, Align)],
    style: Style,
    theme: &Theme,
) {
    let cells: Vec<Vec<Line<'static>>> = shape
        .iter()
        .enumerate()
        .map(|(i, (width, _))| {
            let inlines = row.get(i).map(Vec::as_slice).unwrap_or_default();
            text::wrap(&spans(inlines, style, theme), *width, Break::Words)
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for y in 0..height {
        let mut joined: Vec<Span<'static>> = Vec::new();
        for (i, (cell, (width, align))) in cells.iter().zip(shape).enumerate() {
            let line = cell.get(y).cloned().unwrap_or_default();
            let fill = width.saturating_sub(line.width());
            let before = match align {
                Align::Left => 0,
                Align::Center => fill / 2,
                Align::Right => fill,
            };
            let after = fill - before + if i + 1 < shape.len() { 2 } else { 0 };
            joined.push(Span::raw(" ".repeat(before)));
            joined.extend(line.spans);
            joined.push(Span::raw(" ".repeat(after)));
        }
        lines.push(Line::from(joined));
    }
}
