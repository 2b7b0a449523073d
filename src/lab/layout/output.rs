//! What a cell printed as rows: streams, its value, the report of an error.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::figures;
use crate::lab::layout::{numbers, report};
use crate::lab::model::actions::{Action, CellAction};
use crate::lab::model::item::CellState;
use crate::lab::model::keys::Keymap;
use crate::lab::model::laid::Layout;
use crate::lab::model::output::{Ink, LONG, OutLine, SHORT_END, SHORT_OUTPUT};
use crate::lab::model::text::{self, Break};
use crate::lab::model::theme::Theme;

/// Lays out what a cell printed, behind the columns of its line numbers.
pub(super) fn output(
    layout: &mut Layout,
    cell: &CellState,
    width: usize,
    gutter: usize,
    (theme, keymap): (&Theme, &Keymap),
) {
    if cell.output.is_empty() {
        return;
    }
    let short = cell.output.total() <= SHORT_OUTPUT;
    let ends = match cell.expanded {
        // With each line that comes it is laid out anew.
        true if cell.is_busy() => LONG / 4,
        true => usize::MAX / 2,
        false if short => usize::MAX / 2,
        false => SHORT_END,
    };
    let excerpt = cell.output.excerpt(ends, ends);
    let mut before = None;
    let columns = width.saturating_sub(gutter);
    let mut show = |layout: &mut Layout, mut lines: &[&OutLine]| {
        while let Some((line, below)) = lines.split_first() {
            let first = before != Some(line.ink);
            let quoted = below.first().and_then(|below| report::quoted(line, below, columns, theme));
            let (rows, taken) = match (quoted, numbers::row(line, below, columns)) {
                (Some(rows), _) => (rows.into_iter().map(|row| indented(row, gutter)).collect(), 1),
                (None, Some((rows, taken))) => {
                    (out_rows((line, rows), first, (columns, gutter), theme), taken)
                }
                (None, None) => (out_line(line, first, width, gutter, theme), 0),
            };
            layout.plain(rows);
            lines = below.get(taken..).unwrap_or_default();
            before = Some(line.ink);
        }
    };
    show(layout, &excerpt.head);
    if excerpt.hidden > 0 {
        let left = excerpt.hidden - excerpt.dropped;
        let key = keymap.name_of(Action::Cell(CellAction::WholeOutput));
        let how = match (cell.expanded, excerpt.dropped) {
            (true, _) if cell.is_busy() => "hidden while it runs".to_owned(),
            (true, _) => "not kept".to_owned(),
            (false, 0) => format!("hidden, {key} shows them"),
            (false, _) => format!("hidden, {key} shows {} of them", figures::count(left as u64)),
        };
        let text = format!("⋯ {} {how}", figures::plural(excerpt.hidden as u64, "line", "lines"));
        layout.plain([indented(Line::styled(text, theme.dim), gutter)]);
    }
    show(layout, &excerpt.tail);
}

fn out_line(line: &OutLine, first: bool, width: usize, gutter: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut spans = vec![Span::styled(line.text.clone(), ink_style(line, first, theme))];
    if line.cut > 0 {
        spans.push(Span::styled(format!("… {} more", figures::count(line.cut as u64)), theme.dim));
    }
    let at = if line.ink == Ink::Table { Break::Anywhere } else { Break::Words };
    let room = width.saturating_sub(gutter);
    // Most lines fit: there may be very many of them.
    let fits = line.cut == 0 && text::width(&line.text) <= room;
    let lines = if fits { vec![Line::from(spans)] } else { text::wrap(&spans, room, at) };
    led(lines, line.ink == Ink::Value && first, gutter, theme)
}

/// A line in rows of its own.
fn out_rows(
    (line, rows): (&OutLine, Vec<String>),
    first: bool,
    (columns, gutter): (usize, usize),
    theme: &Theme,
) -> Vec<Line<'static>> {
    let style = ink_style(line, first, theme);
    let fitted = |row: String| text::wrap(&[Span::styled(row, style)], columns, Break::Words);
    let rows = rows.into_iter().flat_map(fitted).collect();
    led(rows, line.ink == Ink::Value && first, gutter, theme)
}

fn ink_style(line: &OutLine, first: bool, theme: &Theme) -> Style {
    match line.ink {
        Ink::Out | Ink::Value | Ink::Table => theme.text,
        Ink::Err => theme.warn,
        Ink::Report if first => theme.error,
        Ink::Report if line.text.trim_start().starts_with("hint") => theme.accent,
        Ink::Report => theme.text,
    }
}

/// Rows behind the columns of line numbers; the first of a value is marked there.
fn led(mut rows: Vec<Line<'static>>, is_value: bool, gutter: usize, theme: &Theme) -> Vec<Line<'static>> {
    for (i, row) in rows.iter_mut().enumerate() {
        let mark = if is_value && i == 0 { "=" } else { "" };
        row.spans.insert(0, Span::styled(format!("{mark:>w$} ", w = gutter - 1), theme.dim));
    }
    rows
}

/// A line behind columns that are empty.
pub(super) fn indented(mut line: Line<'static>, columns: usize) -> Line<'static> {
    line.spans.insert(0, Span::raw(" ".repeat(columns)));
    line
}
