//! Bars of categories, lying, with their numbers: a bar a row.

use super::grid::{Area, Grid, fit, width_of};
use crate::base::sorted;
use crate::plot::axis::{Axis, Bounds, Room, Scale};
use crate::plot::figure::Figure;
use crate::plot::label::{clean, count};
use crate::plot::scene::{Chart, Layer, Shape};
use crate::plot::text::style::{Style, fill, plain};
use crate::plot::ticks::short;

/// Whether all there is are bars of categories.
pub(super) fn suits(chart: &Chart<'_>) -> bool {
    chart.categories.is_some()
        && chart.layers.iter().all(|layer| matches!(&layer.shape, Shape::Bars(bars) if !bars.joined))
}

struct BarRow<'a> {
    place: usize,
    /// The first row of its category.
    first: bool,
    bar: Option<(f64, &'a Layer<'a>)>,
}

/// Gives the rows used.
pub(super) fn draw(
    grid: &mut Grid,
    mut area: Area,
    figure: &Figure,
    chart: &Chart<'_>,
    style: Style,
) -> usize {
    let height = area.height;
    let words = [&figure.x_label, &figure.y_label].map(|word| plain(&clean(word, 300), style));
    let words: Vec<&str> = words.iter().map(|word| &word[..]).filter(|w| !w.is_empty()).collect();
    if !words.is_empty() && area.height >= 6 {
        let between = if style == Style::Ascii { " | " } else { " │ " };
        grid.write(area.take_top(), &words.join(between), None);
    }
    let rows = rows(chart);
    let shown = if rows.len() > area.height { area.height.saturating_sub(1) } else { rows.len() };
    let hidden = rows.len() - shown;
    if hidden > 0 && area.height > 0 {
        let more = format!("… {} more", count(hidden as u64));
        grid.write(area.take_bottom(), &plain(&more, style), None);
    }
    let rows = rows.get(..shown).unwrap_or_default();
    let name = |place: usize| {
        let name = chart.categories.as_ref().and_then(|names| names.get(place));
        plain(&clean(name.map_or("", |name| name), 200), style)
    };
    let widths = rows.iter().map(|row| width_of(&name(row.place)));
    let names = widths.max().unwrap_or(0).min(area.width / 3);
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.first) {
        grid.right(area.row(index).narrow(names), &fit(&name(row.place), names), None);
    }
    area.skip(names + 1);
    draw_bars(grid, area, rows, chart, style);
    height - area.height + rows.len()
}

fn draw_bars(grid: &mut Grid, area: Area, rows: &[BarRow<'_>], chart: &Chart<'_>, style: Style) {
    let values = rows.iter().filter_map(|row| row.bar).map(|bar| short(bar.0, 4).len());
    let room = area.width.saturating_sub(values.max().unwrap_or(0) + 3);
    let scale = Lengths::new(chart, room);
    for (index, row) in rows.iter().enumerate() {
        let mut line = area.row(index);
        if line.width > 0 {
            grid.put((line.left, line.top), if style == Style::Ascii { '|' } else { '│' }, None);
        }
        line.skip(1);
        if let Some((value, layer)) = row.bar {
            let end = scale.draw(grid, line, value, layer, style);
            line.skip(end + 1);
            grid.write(line, &short(value, 4), None);
        }
    }
}

fn rows<'a>(chart: &'a Chart<'a>) -> Vec<BarRow<'a>> {
    let mut bars: Vec<(usize, usize, f64, &Layer<'_>)> = Vec::new();
    for layer in &chart.layers {
        if let Shape::Bars(shape) = &layer.shape {
            let of_layer = shape.bars.iter();
            bars.extend(of_layer.map(|bar| (bar.place, layer.index, bar.value, layer)));
        }
    }
    sorted::sort_by_key(&mut bars, |&(place, index, _, _)| (place, index));
    let mut bars = bars.into_iter().peekable();
    let mut rows = Vec::new();
    for place in 0..chart.categories.as_ref().map_or(0, Vec::len) {
        let mut first = true;
        while let Some((_, _, value, layer)) = bars.next_if(|bar| bar.0 == place) {
            let bar = Some((value, layer));
            rows.push(BarRow { place, first, bar });
            first = false;
        }
        if first {
            // Its number could not be drawn.
            let bar = None;
            rows.push(BarRow { place, first, bar });
        }
    }
    rows
}

/// Lengths of bars.
struct Lengths {
    axis: Axis,
    cells: usize,
    /// Where bars begin, in units of the axis, and the cell there.
    origin: f64,
    ground: usize,
}

impl Lengths {
    fn new(chart: &Chart<'_>, cells: usize) -> Self {
        let mut bounds = Bounds::EMPTY;
        for layer in &chart.layers {
            if let Shape::Bars(bars) = &layer.shape {
                bars.bars.iter().for_each(|bar| bounds.add(bar.value));
            }
        }
        if chart.y.scale == Scale::Linear {
            bounds.add(0.0);
        } else if bounds.low < bounds.high {
            bounds.low = (bounds.low / 2.0).max(f64::MIN_POSITIVE);
        }
        let axis = Axis::fit(chart.y.scale, bounds, Room::NONE);
        let origin = match axis.scale {
            Scale::Linear => axis.unit(0.0).clamp(0.0, 1.0),
            Scale::Log => 0.0,
        };
        Self { axis, cells, origin, ground: (origin * cells as f64).round() as usize }
    }

    /// Draws a bar and gives the column after it.
    fn draw(&self, grid: &mut Grid, line: Area, value: f64, layer: &Layer<'_>, style: Style) -> usize {
        const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
        let full = fill(layer.index, style);
        let fine = style == Style::Color || (style == Style::Unicode && layer.index == 0);
        // Counted from the cell where bars begin, so that equal numbers are equally long.
        let length = (self.axis.unit(value) - self.origin) * self.cells as f64 * 8.0;
        let ground = self.ground * 8;
        let end = (ground as f64 + length).round().clamp(0.0, self.cells as f64 * 8.0) as usize;
        let mut put = |column: usize, symbol| {
            grid.put((line.left + column, line.top), symbol, Some(layer.color));
        };
        if end >= ground {
            let (whole, part) = ((end - ground) / 8, (end - ground) % 8);
            for column in 0..whole {
                put(self.ground + column, full);
            }
            let after = self.ground + whole;
            match (fine, part.checked_sub(1).and_then(|part| EIGHTHS.get(part))) {
                (true, Some(&symbol)) => put(after, symbol),
                (false, Some(_)) if part >= 4 => put(after, full),
                _ => return after,
            }
            return after + 1;
        }
        let (whole, part) = ((ground - end) / 8, (ground - end) % 8);
        for column in 0..whole {
            put(self.ground - 1 - column, full);
        }
        if part >= 4
            && let Some(column) = self.ground.checked_sub(whole + 1)
        {
            put(column, if fine { '▐' } else { full });
        }
        self.ground
    }
}
