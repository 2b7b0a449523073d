//! Spans in named rows, a line a row.

use std::collections::HashSet;

use super::chart::{axis_ticks, x_axis};
use super::grid::{Area, Cell, Grid, fit, width_of};
use super::legend::legend;
use crate::plot::figure::Figure;
use crate::plot::label::{clean, count};
use crate::plot::rows::{RowSpan, RowsScene};
use crate::plot::text::style::{Style, fill, plain};

/// Gives the rows used.
pub(super) fn draw(
    grid: &mut Grid,
    mut area: Area,
    figure: &Figure,
    scene: &RowsScene<'_>,
    style: Style,
) -> usize {
    let height = area.height;
    if area.height >= 4 && scene.named().next().is_some() {
        let named = scene.named().map(|kind| (fill(kind.index, style), kind.color, kind.label));
        legend(grid, area.take_top(), named, style);
    }
    let label = plain(&clean(&figure.x_label, 300), style);
    let below = usize::from(!label.is_empty()) + 2;
    let room = area.height.saturating_sub(if area.height > below + 1 { below } else { 0 });
    let shown = if scene.rows.len() > room { room.saturating_sub(1) } else { scene.rows.len() };
    let names: Vec<String> = scene.rows.iter().map(|name| plain(&clean(name, 200), style)).collect();
    let widest = names.iter().map(|name| width_of(name)).max().unwrap_or(0).min(area.width / 3);
    let inner = Area { left: area.left + widest + 2, width: area.width.saturating_sub(widest + 2), ..area };
    for (row, name) in names.iter().enumerate().take(shown) {
        grid.right(area.row(row).narrow(widest), &fit(name, widest), None);
        grid.put((inner.left - 1, inner.top + row), if style == Style::Ascii { '|' } else { '│' }, None);
    }
    let spans = || scene.spans.iter().filter(|span| span.row < shown);
    let begins: HashSet<(usize, usize)> =
        spans().map(|span| (span.row, columns(span, inner.width).0)).collect();
    // A line for what has no room is worth it where there are few.
    let tight: Vec<&RowSpan<'_>> = spans().filter(|span| has_no_room(span, inner.width, style)).collect();
    let mut letters = if tight.len() <= LETTERS.len() { LETTERS.chars() } else { "".chars() };
    let mut below_them = Vec::new();
    for span in spans() {
        let next = begins.contains(&(span.row, columns(span, inner.width).1));
        let mut text = plain(&clean(span.text, 80), style);
        if has_no_room(span, inner.width, style) {
            let letter = letters.next().map(String::from);
            letter.iter().for_each(|letter| below_them.push(format!("{letter} {text}")));
            text = letter.unwrap_or_default();
        }
        draw_span(grid, inner.row(span.row), scene, (span, next, &text), style);
    }
    let mut used = shown;
    if shown < scene.rows.len() {
        let more = format!("… {} more rows", count((scene.rows.len() - shown) as u64));
        grid.write(area.row(used), &plain(&more, style), None);
        used += 1;
    }
    if room < area.height {
        let (rule, labels) = (area.row(used), area.row(used + 1));
        let ticks = axis_ticks(&scene.x, inner.width);
        x_axis(grid, (rule, labels), inner, &ticks.0, style);
        let words = [label, ticks.1].map(|word| word.trim().to_string()).join("  ");
        grid.center(Area { height: 1, top: area.top + used + 2, ..inner }, words.trim());
        used += below;
    }
    used += put_below(
        grid,
        Area { top: area.top + used, height: area.height.saturating_sub(used), ..area },
        below_them,
    );
    height - area.height + used
}

/// They stand for texts that find no room in their spans.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

fn has_no_room(span: &RowSpan<'_>, width: usize, style: Style) -> bool {
    let (from, to) = columns(span, width);
    let text = plain(&clean(span.text, 80), style);
    !text.is_empty() && width_of(&text) + 2 > to - from
}

/// What letters stand for, in as many lines as there are. Gives how many.
fn put_below(grid: &mut Grid, area: Area, told: Vec<String>) -> usize {
    let mut lines: Vec<String> = Vec::new();
    for one in told {
        match lines.last_mut().filter(|line| width_of(line) + 3 + width_of(&one) <= area.width) {
            Some(line) => *line = format!("{line}   {one}"),
            None => lines.push(fit(&one, area.width)),
        }
    }
    let shown = lines.len().min(area.height);
    for (row, line) in lines.iter().take(shown).enumerate() {
        grid.write(area.row(row), line, None);
    }
    shown
}

/// The first column of a span, and the one behind its last.
fn columns(span: &RowSpan<'_>, width: usize) -> (usize, usize) {
    let column = |unit: f64| (unit.clamp(0.0, 1.0) * width as f64).round() as usize;
    let (from, to) = (column(span.from.min(span.to)), column(span.from.max(span.to)));
    let from = from.min(width.saturating_sub(1));
    (from, to.max(from + 1).min(width))
}

/// Where another span is `next`, this one ends with an edge. A text of a letter stands alone.
fn draw_span(
    grid: &mut Grid,
    line: Area,
    scene: &RowsScene<'_>,
    (span, next, text): (&RowSpan<'_>, bool, &str),
    style: Style,
) {
    let Some(kind) = scene.kinds.get(span.kind) else { return };
    let (from, to) = columns(span, line.width);
    let edge = if style == Style::Ascii { '|' } else { '▊' };
    let is_plain = width_of(text) <= to - from && width_of(text) == text.chars().count();
    let text = if is_plain { text } else { "" };
    let before = (to - from - width_of(text)) / 2;
    let mut letters = text.chars();
    for place in 0..to - from {
        let letter = if place >= before { letters.next() } else { None };
        let cell = match (letter, style) {
            (Some(symbol), Style::Color) => Cell { symbol, fg: Some(over(kind.color)), bg: Some(kind.color) },
            (Some(symbol), _) => Cell { symbol, fg: None, bg: None },
            (None, _) if next && place > 0 && place + 1 == to - from => {
                Cell { symbol: edge, fg: Some(kind.color), bg: None }
            }
            (None, _) => Cell { symbol: fill(kind.index, style), fg: Some(kind.color), bg: None },
        };
        grid.set((line.left + from + place, line.top), cell);
    }
}

/// The colour of letters on a coloured ground.
fn over(ground: crate::plot::Rgb) -> crate::plot::Rgb {
    if crate::plot::color::is_dark(ground) { [0xff; 3] } else { [0; 3] }
}
