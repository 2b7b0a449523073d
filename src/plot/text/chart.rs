//! Axes, lines and upright bars in characters.

use super::grid::{Area, Grid, width_of};
use crate::base::sorted;
use crate::plot::axis::Axis;
use crate::plot::bar::Bars;
use crate::plot::color::Rgb;
use crate::plot::decimate::{self, Points};
use crate::plot::figure::Figure;
use crate::plot::label::clean;
use crate::plot::scene::{Chart, Layer, Shape};
use crate::plot::text::style::{Style, fill, plain, sign};
use crate::plot::ticks::Ticks;

/// Lines of up to so many points show each of them, as pictures do.
const FEW: usize = 25;

pub(super) fn draw(grid: &mut Grid, area: Area, figure: &Figure, chart: &Chart<'_>, style: Style) {
    let inner =
        if area.height >= 4 && area.width >= 16 { axes(grid, area, figure, chart, style) } else { area };
    upright_bars(grid, inner, chart, style);
    for layer in &chart.layers {
        match &layer.shape {
            Shape::Bars(_) => {}
            Shape::Line(points) => line(grid, inner, chart, layer, *points, style),
            Shape::Scatter(points) => scatter(grid, inner, chart, layer, *points, style),
        }
    }
}

/// Draws the axes and gives the area between them.
fn axes(grid: &mut Grid, mut area: Area, figure: &Figure, chart: &Chart<'_>, style: Style) -> Area {
    let x_label = plain(&clean(&figure.x_label, 300), style);
    let y_label = plain(&clean(&figure.y_label, 300), style);
    let y_ticks = Ticks::new(&chart.y, (area.height / 3).clamp(2, 8));
    let y_words = [y_label, y_ticks.offset()].map(|word| word.trim().to_string());
    let y_words = y_words.join("  ").trim().to_string();
    if !y_words.is_empty() && area.height >= 7 {
        grid.write(area.take_top(), &y_words, None);
    }
    let widths = y_ticks.major.iter().map(|tick| tick.label.len());
    let margin = widths.max().unwrap_or(0).min(area.width / 2) + 2;
    let x_ticks = x_ticks(chart, area.width - margin);
    let x_words = [x_label, x_ticks.1].map(|word| word.trim().to_string());
    let x_words = x_words.join("  ").trim().to_string();
    if !x_words.is_empty() && area.height >= 8 {
        let mut row = area.take_bottom();
        row.skip(margin);
        grid.center(row, &x_words);
    }
    let labels = area.take_bottom();
    let rule = area.take_bottom();
    let inner = Area { left: area.left + margin, width: area.width - margin, ..area };
    y_axis(grid, inner, margin, &y_ticks, style);
    x_axis(grid, (rule, labels), inner, &x_ticks.0, style);
    inner
}

fn y_axis(grid: &mut Grid, inner: Area, margin: usize, ticks: &Ticks, style: Style) {
    let (bar, mark) = match style {
        Style::Ascii => ('|', '+'),
        _ => ('│', '┤'),
    };
    for row in 0..inner.height {
        grid.put((inner.left - 1, inner.top + row), bar, None);
    }
    let mut last = None;
    for tick in &ticks.major {
        let row = cell(1.0 - tick.unit, inner.height);
        // Two ticks in one row cannot both be read.
        if last == Some(row) || !(0.0..=1.0).contains(&tick.unit) {
            continue;
        }
        last = Some(row);
        grid.put((inner.left - 1, inner.top + row), mark, None);
        let label = Area { left: inner.left - margin, top: inner.top + row, width: margin - 2, height: 1 };
        grid.right(label, &tick.label, None);
    }
}

/// Places (columns) and texts below the x axis, and what applies to all of them.
fn x_ticks(chart: &Chart<'_>, columns: usize) -> (Vec<(usize, String)>, String) {
    if let Some(names) = &chart.categories {
        let first = chart.x.unit(0.0);
        let slot = chart.x.unit(1.0) - first;
        let stride = (3.0 / (slot * columns as f64)).ceil().max(1.0) as usize;
        let shown = names.iter().enumerate().step_by(stride);
        let shown = shown.map(|(place, name)| {
            let unit = first + place as f64 * slot;
            (cell(unit, columns), clean(name, 40))
        });
        return (shown.collect(), String::new());
    }
    axis_ticks(&chart.x, columns)
}

/// The same of an axis of numbers.
pub(super) fn axis_ticks(axis: &Axis, columns: usize) -> (Vec<(usize, String)>, String) {
    for most in (2..=10).rev() {
        let ticks = Ticks::new(axis, most);
        let placed: Vec<(usize, String)> = ticks
            .major
            .iter()
            .filter(|tick| (0.0..=1.0).contains(&tick.unit))
            .map(|tick| (cell(tick.unit, columns), tick.label.clone()))
            .collect();
        let apart = placed.iter().zip(placed.iter().skip(1));
        if most == 2 || apart.into_iter().all(|(a, b)| b.0 > a.0 + (a.1.len() + b.1.len()).div_ceil(2) + 1) {
            return (placed, ticks.offset());
        }
    }
    (Vec::new(), String::new())
}

pub(super) fn x_axis(
    grid: &mut Grid,
    (rule, labels): (Area, Area),
    inner: Area,
    ticks: &[(usize, String)],
    style: Style,
) {
    let (corner, bar, mark) = match style {
        Style::Ascii => ('+', '-', '+'),
        _ => ('└', '─', '┬'),
    };
    grid.put((inner.left - 1, rule.top), corner, None);
    for column in 0..inner.width {
        grid.put((inner.left + column, rule.top), bar, None);
    }
    let mut free = labels.left;
    let end = inner.left + inner.width;
    for (column, text) in ticks {
        let text = plain(text, style);
        let at = inner.left + column;
        let wide = width_of(&text);
        let begin = at.saturating_sub(wide / 2).min(end.saturating_sub(wide));
        if begin < free {
            continue;
        }
        grid.put((at, rule.top), mark, None);
        let place = Area { left: begin, width: wide, ..labels };
        grid.write(place, &text, None);
        free = begin + wide + 1;
    }
}

/// Which of `cells` cells a unit coordinate falls into.
fn cell(unit: f64, cells: usize) -> usize {
    ((unit * cells as f64) as usize).min(cells.saturating_sub(1))
}

/// Dots finer than cells: 2 x 4 in braille, 1 x 1 in ASCII.
struct Dots {
    area: Area,
    fine: (usize, usize),
    bits: Vec<u8>,
}

impl Dots {
    fn new(area: Area, style: Style) -> Self {
        Self {
            area,
            fine: match style {
                Style::Ascii => (1, 1),
                _ => (2, 4),
            },
            bits: vec![0; area.width * area.height],
        }
    }

    fn columns(&self) -> usize {
        self.area.width * self.fine.0
    }

    fn rows(&self) -> usize {
        self.area.height * self.fine.1
    }

    /// The dot at unit coordinates.
    fn dot(&self, (x, y): (f64, f64)) -> (i64, i64) {
        (cell(x, self.columns()) as i64, cell(1.0 - y, self.rows()) as i64)
    }

    fn set(&mut self, (x, y): (i64, i64)) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        // The order in which Unicode numbers braille dots.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let bit = BITS.get(x % self.fine.0).and_then(|column| column.get(y % self.fine.1));
        let (column, row) = (x / self.fine.0, y / self.fine.1);
        if column < self.area.width
            && let Some(bits) = self.bits.get_mut(row * self.area.width + column)
        {
            *bits |= bit.copied().unwrap_or(0);
        }
    }

    /// Bresenham's line.
    fn connect(&mut self, from: (i64, i64), to: (i64, i64)) {
        let (dx, dy) = ((to.0 - from.0).abs(), -(to.1 - from.1).abs());
        let step = ((to.0 - from.0).signum(), (to.1 - from.1).signum());
        let (mut at, mut error) = (from, dx + dy);
        loop {
            self.set(at);
            if at == to {
                return;
            }
            let twice = 2 * error;
            if twice >= dy {
                error += dy;
                at.0 += step.0;
            }
            if twice <= dx {
                error += dx;
                at.1 += step.1;
            }
        }
    }

    fn draw(&self, grid: &mut Grid, symbol: Option<char>, color: Rgb) {
        for (index, &bits) in self.bits.iter().enumerate() {
            if bits == 0 {
                continue;
            }
            let at = (self.area.left + index % self.area.width, self.area.top + index / self.area.width);
            let braille = char::from_u32(0x2800 + u32::from(bits)).unwrap_or('*');
            grid.put(at, symbol.unwrap_or(braille), Some(color));
        }
    }
}

fn line(
    grid: &mut Grid,
    inner: Area,
    chart: &Chart<'_>,
    layer: &Layer<'_>,
    points: Points<'_>,
    style: Style,
) {
    let mut dots = Dots::new(inner, style);
    let kept = decimate::line(points, dots.columns(), |x, y| chart.place(x, y));
    let mut previous = None;
    let mut signs: Vec<(i64, i64)> = Vec::new();
    // Of few points each has a sign; along many there is one every so often, at each series' own distance.
    let each = points.len() <= FEW.min(inner.width / 2);
    let apart = (dots.columns() / 6).max(1) as i64;
    let mut next = apart * (layer.index as i64 % 4 + 1) / 4;
    for index in kept {
        let place = points.get(index).and_then(|(x, y)| chart.place(x, y));
        let dot = place.map(|place| dots.dot(place));
        if let Some(dot) = dot {
            dots.connect(previous.unwrap_or(dot), dot);
            if each || dot.0 >= next {
                signs.push(dot);
                next = dot.0 + apart;
            }
        }
        previous = dot;
    }
    let symbol = (style == Style::Ascii).then(|| sign(layer.index, style));
    dots.draw(grid, symbol, layer.color);
    if chart.layers.len() > 1 {
        for (x, y) in signs {
            let at = (inner.left + x as usize / dots.fine.0, inner.top + y as usize / dots.fine.1);
            grid.put(at, sign(layer.index, style), Some(layer.color));
        }
    }
}

fn scatter(
    grid: &mut Grid,
    inner: Area,
    chart: &Chart<'_>,
    layer: &Layer<'_>,
    points: Points<'_>,
    style: Style,
) {
    let mut dots = Dots::new(inner, style);
    let cells = (dots.columns(), dots.rows());
    // A terminal has few cells: there is memory for them.
    let kept = decimate::scatter(points, cells, |x, y| chart.place(x, y)).unwrap_or_default();
    // Points with room between them are seen one by one.
    let sparse = kept.len() <= inner.width * inner.height / 8;
    for index in kept {
        if let Some(place) = points.get(index).and_then(|(x, y)| chart.place(x, y)) {
            let dot = dots.dot(place);
            dots.set(dot);
        }
    }
    // Without colour, dots of several series cannot be told apart.
    let signs = sparse || style == Style::Ascii || (style == Style::Unicode && chart.layers.len() > 1);
    dots.draw(grid, signs.then(|| sign(layer.index, style)), layer.color);
}

/// Histograms, and bars that share their axes with lines.
fn upright_bars(grid: &mut Grid, inner: Area, chart: &Chart<'_>, style: Style) {
    let ground = (chart.ground() * inner.height as f64).round() as i64;
    let mut columns: Vec<Vec<(i64, &Layer<'_>)>> = vec![Vec::new(); inner.width];
    for layer in &chart.layers {
        let Shape::Bars(bars) = &layer.shape else {
            continue;
        };
        let tops = tops(bars, chart, inner);
        for (column, top) in columns.iter_mut().zip(tops) {
            column.extend(top.map(|top| (top, layer)));
        }
    }
    for (x, mut column) in columns.into_iter().enumerate() {
        // The shortest in front.
        sorted::sort_by_key(&mut column, |(top, _)| std::cmp::Reverse((top - 8 * ground).abs()));
        for (top, layer) in column {
            for row in 0..inner.height {
                let from_bottom = (inner.height - 1 - row) as i64;
                if let Some(symbol) = block(from_bottom, top, ground, layer.index, style) {
                    let at = (inner.left + x, inner.top + row);
                    grid.put(at, symbol, Some(layer.color));
                }
            }
        }
    }
}

/// For each column the end of its tallest bar, in eighths of cells from the bottom.
fn tops(bars: &Bars, chart: &Chart<'_>, inner: Area) -> Vec<Option<i64>> {
    let mut tops: Vec<Option<i64>> = vec![None; inner.width];
    let ground = chart.ground();
    let eighths = 8.0 * inner.height as f64;
    let base = ((ground * inner.height as f64).round() * 8.0) as i64;
    for bar in &bars.bars {
        let value = chart.y.unit(bar.value);
        let mut top = base + ((value - ground) * eighths).round() as i64;
        // What is not zero is seen.
        if value > ground {
            top = top.max(base + 1);
        } else if value < ground {
            top = top.min(base - 4);
        }
        let width = inner.width as f64;
        let first = (chart.x.unit(bar.left).max(0.0) * width).round() as usize;
        let last = (chart.x.unit(bar.right).max(0.0) * width).round() as usize;
        let covered = last.saturating_sub(first).max(1);
        for old in tops.iter_mut().skip(first).take(covered) {
            if old.is_none_or(|old| (old - base).abs() < (top - base).abs()) {
                *old = Some(top);
            }
        }
    }
    tops
}

/// The character of the cell `row` (counted from the bottom) of a bar from `ground` (in cells) to `top` (in eighths).
fn block(row: i64, top: i64, ground: i64, index: usize, style: Style) -> Option<char> {
    const EIGHTHS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    let full = fill(index, style);
    if row >= ground {
        let filled = (top - 8 * row).clamp(0, 8);
        match (style, filled) {
            (_, 0) => None,
            (_, 8) => Some(full),
            (Style::Ascii, _) => (filled >= 4 || row == ground).then_some(full),
            (Style::Unicode, _) if index > 0 => (filled >= 4 || row == ground).then_some(full),
            _ => EIGHTHS.get(filled as usize - 1).copied(),
        }
    } else {
        let filled = (8 * (row + 1) - top).clamp(0, 8);
        match (style, filled) {
            (Style::Ascii, 4..) | (_, 6..) => Some(full),
            (Style::Ascii, _) => None,
            (_, 2..) => Some('▀'),
            _ => None,
        }
    }
}
