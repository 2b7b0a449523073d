//! Pictures and matrices in characters.

use super::grid::{Area, Cell, Grid, fit, width_of};
use crate::plot::axis::Axis;
use crate::plot::color::{ColorMap, Rgb, is_dark};
use crate::plot::figure::Figure;
use crate::plot::label::clean;
use crate::plot::picture::Picture;
use crate::plot::scene::PictureScene;
use crate::plot::text::style::{Style, plain};
use crate::plot::ticks::short;

/// Gives the rows used.
pub(super) fn draw(
    grid: &mut Grid,
    mut area: Area,
    figure: &Figure,
    scene: &PictureScene<'_>,
    style: Style,
) -> usize {
    let height = area.height;
    let words = [&figure.y_label, &figure.x_label].map(|word| plain(&clean(word, 300), style));
    let words: Vec<&str> = words.iter().map(|word| &word[..]).filter(|w| !w.is_empty()).collect();
    if !words.is_empty() && area.height >= 6 {
        let between = if style == Style::Ascii { " x " } else { " × " };
        grid.write(area.take_top(), &words.join(between), None);
    }
    let above = height - area.height;
    if let Some(values) = scene.values
        && table(grid, area, scene, values, style)
    {
        return above + scene.picture.height + 1;
    }
    let bar = scene.bar.filter(|_| area.height >= 4);
    if bar.is_some() {
        area.height -= 1;
    }
    let used = match style {
        Style::Color => half_blocks(grid, area, &scene.picture),
        _ => shades(grid, area, &scene.picture, style),
    };
    if let Some((map, axis)) = bar {
        color_bar(grid, area.row(used), map, axis, style);
    }
    above + used + usize::from(bar.is_some())
}

/// The numbers of a matrix in its colours; nothing if they do not fit.
fn table(grid: &mut Grid, area: Area, scene: &PictureScene<'_>, values: &[f32], style: Style) -> bool {
    let (width, height) = (scene.picture.width, scene.picture.height);
    if height + 1 > area.height || width.saturating_mul(2) > area.width {
        return false;
    }
    let name = |labels: &[String], place: usize| match labels.get(place) {
        Some(label) => plain(&clean(label, 80), style),
        None => place.to_string(),
    };
    let texts: Vec<String> = values.iter().map(|&v| short(f64::from(v), 3)).collect();
    let names = (0..height).map(|place| width_of(&name(scene.row_labels, place)));
    let names = names.max().unwrap_or(0).min(area.width / 3);
    let widest = texts.iter().map(String::len).max().unwrap_or(0);
    let room = area.width.saturating_sub(names + 1) / width.max(1);
    if room < widest + 2 {
        return false;
    }
    let heads = (0..width).map(|place| width_of(&name(scene.column_labels, place)));
    let cell = (heads.max().unwrap_or(0).max(widest) + 2).min(room);
    for column in 0..width {
        let mut head = area.narrow(area.width);
        head.skip(names + 1 + column * cell);
        let head = head.narrow(cell);
        let text = fit(&name(scene.column_labels, column), cell - 1);
        grid.right(head.narrow(cell - 1), &text, None);
    }
    let pixels: Vec<&[u8]> = scene.picture.rgb.chunks_exact(3).collect();
    for (index, text) in texts.iter().enumerate() {
        let (row, column) = (index / width.max(1), index % width.max(1));
        let mut line = area.row(row + 1);
        if column == 0 {
            let text = fit(&name(scene.row_labels, row), names);
            grid.right(line.narrow(names), &text, None);
        }
        line.skip(names + 1 + column * cell);
        let color = pixels.get(index).and_then(|&pixel| pixel.try_into().ok());
        boxed(grid, line.narrow(cell), text, color.filter(|_| style == Style::Color));
    }
    true
}

/// A number on its colour.
fn boxed(grid: &mut Grid, area: Area, text: &str, color: Option<Rgb>) {
    let Some(color) = color else {
        grid.right(area.narrow(area.width.saturating_sub(1)), text, None);
        return;
    };
    let ink = if is_dark(color) { [0xff; 3] } else { [0; 3] };
    let before = area.width.saturating_sub(1 + text.len());
    let symbols = std::iter::repeat_n(' ', before).chain(text.chars());
    let symbols = symbols.chain(std::iter::repeat(' ')).take(area.width);
    for (offset, symbol) in symbols.enumerate() {
        let cell = Cell { symbol, fg: Some(ink), bg: Some(color) };
        grid.set((area.left + offset, area.top), cell);
    }
}

/// Two pixels a cell. Gives the rows used.
fn half_blocks(grid: &mut Grid, area: Area, picture: &Picture) -> usize {
    let (width, height) = scaled(picture, area.width, 2 * area.height);
    let pixels = picture.resample(width, height).unwrap_or_default();
    let mut rows = pixels.chunks_exact(3 * width.max(1));
    let mut row = 0;
    while let Some(upper) = rows.next() {
        let lower = rows.next().unwrap_or_default();
        let mut lower = lower.chunks_exact(3);
        for (column, pixel) in upper.chunks_exact(3).enumerate() {
            let cell = Cell {
                symbol: '▀',
                fg: pixel.try_into().ok(),
                bg: lower.next().and_then(|pixel| pixel.try_into().ok()),
            };
            grid.set((area.left + column, area.top + row), cell);
        }
        row += 1;
    }
    row
}

/// A pixel is two columns wide, so that it is about square. Gives the rows used.
fn shades(grid: &mut Grid, area: Area, picture: &Picture, style: Style) -> usize {
    let (width, height) = scaled(picture, area.width / 2, area.height);
    let pixels = picture.resample(width, height).unwrap_or_default();
    for (index, pixel) in pixels.chunks_exact(3).enumerate() {
        let luma = match pixel {
            [r, g, b] => 2126 * u32::from(*r) + 7152 * u32::from(*g) + 722 * u32::from(*b),
            _ => 0,
        };
        let symbol = shade(f64::from(luma) / 2_550_000.0, style);
        let at = (area.left + 2 * (index % width.max(1)), area.top + index / width.max(1));
        grid.put(at, symbol, None);
        grid.put((at.0 + 1, at.1), symbol, None);
    }
    height
}

/// The brighter, the fuller.
fn shade(unit: f64, style: Style) -> char {
    let ramp: &[char] = match style {
        Style::Ascii => &[' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'],
        _ => &[' ', '░', '▒', '▓', '█'],
    };
    let index = (unit * ramp.len() as f64) as usize;
    ramp.get(index.min(ramp.len() - 1)).copied().unwrap_or(' ')
}

/// The size in which a picture fits: a whole multiple if there is room, else in proportion.
fn scaled(picture: &Picture, columns: usize, rows: usize) -> (usize, usize) {
    let (width, height) = (picture.width, picture.height);
    if width == 0 || height == 0 || columns == 0 || rows == 0 {
        return (0, 0);
    }
    let factor = (columns / width).min(rows / height);
    if factor >= 1 {
        return (width * factor, height * factor);
    }
    let shrink = (columns as f64 / width as f64).min(rows as f64 / height as f64);
    let side = |pixels: usize| ((pixels as f64 * shrink).round() as usize).max(1);
    (side(width).min(columns), side(height).min(rows))
}

/// The lowest number, all shades, the highest.
fn color_bar(grid: &mut Grid, mut area: Area, map: ColorMap, axis: Axis, style: Style) {
    const STEPS: usize = 20;
    let (low, high) = axis.ends();
    let (low, high) = (short(low, 4), short(high, 4));
    if area.width < low.len() + high.len() + STEPS + 2 {
        return;
    }
    let used = grid.write(area, &low, None);
    area.skip(used + 1);
    for step in 0..STEPS {
        let unit = step as f64 / (STEPS - 1) as f64;
        let color = map.color(unit);
        let at = (area.left + step, area.top);
        if style == Style::Color {
            grid.put(at, '█', Some(color));
        } else {
            let [r, g, b] = color.map(f64::from);
            let luma = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255.0;
            grid.put(at, shade(luma, style), None);
        }
    }
    area.skip(STEPS + 1);
    grid.write(area, &high, None);
}
