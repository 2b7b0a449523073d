//! The legend, in the corner where it hides least.

use super::layout::FigureSizes;
use crate::plot::PlotError;
use crate::plot::canvas::shape::{Anchor, Canvas, Point, Rect};
use crate::plot::canvas::{ellipsis, width_of};
use crate::plot::color::Rgb;
use crate::plot::draw::style::{DARK, GRID, WHITE, ink};
use crate::plot::label::{clean, count};
use crate::plot::scene::{Chart, Layer, Shape};

use super::marker;

/// Where ink has been put, sampled.
#[derive(Default)]
pub(super) struct Covered {
    pub points: Vec<Point>,
    pub rects: Vec<Rect>,
}

impl Covered {
    /// How much of `rect` is taken, in no unit.
    fn within(&self, rect: Rect) -> f64 {
        let points = self.points.iter().filter(|&&point| rect.contains(point));
        let overlaps = self.rects.iter().map(|other| {
            let width = rect.right.min(other.right) - rect.left.max(other.left);
            let height = rect.bottom.min(other.bottom) - rect.top.max(other.top);
            width.max(0.0) * height.max(0.0) / 100.0
        });
        points.count() as f64 + overlaps.sum::<f64>()
    }
}

/// Draws a legend of the named series of `chart` into `inner`, if there are any.
pub(super) fn draw(
    canvas: &mut dyn Canvas,
    chart: &Chart<'_>,
    inner: Rect,
    sizes: FigureSizes,
    covered: &Covered,
) -> Result<(), PlotError> {
    let em = sizes.tick;
    let row = em * 1.55;
    let named: Vec<&Layer<'_>> = chart.named().collect();
    let fitting = ((inner.height() * 0.9 / row) as usize).saturating_sub(1);
    if named.is_empty() || fitting == 0 {
        return Ok(());
    }
    let shown = if named.len() > fitting { fitting - 1 } else { named.len() };
    let widest = inner.width() * 0.5 - em * 4.0;
    let mut texts: Vec<String> =
        named.iter().take(shown).map(|layer| ellipsis(&clean(layer.label, 200), em, widest)).collect();
    if shown < named.len() {
        texts.push(format!("… {} more", count((named.len() - shown) as u64)));
    }
    let width = texts.iter().map(|text| width_of(text, em));
    let width = width.fold(0.0, f64::max) + em * 3.8;
    let height = row * texts.len() as f64 + em * 0.5;
    let area = place(inner, (width, height), em * 0.7, covered);
    frame(canvas, area, sizes.hairline)?;
    for (line, text) in texts.iter().enumerate() {
        let y = area.top + em * 0.25 + row * (line as f64 + 0.5);
        if let Some(layer) = named.get(line).filter(|_| line < shown) {
            swatch(canvas, layer, (area.left + em * 1.6, y), sizes)?;
        }
        let at = (area.left + em * 3.1, y + em * 0.36);
        canvas.text(text, at, ink(em, DARK, Anchor::Start))?;
    }
    Ok(())
}

/// The emptiest of eight places, the upper right first among equals.
fn place(inner: Rect, (width, height): (f64, f64), gap: f64, covered: &Covered) -> Rect {
    let (left, right) = (inner.left + gap, inner.right - gap - width);
    let (top, bottom) = (inner.top + gap, inner.bottom - gap - height);
    let (middle, center) = ((left + right) / 2.0, (top + bottom) / 2.0);
    let corners = [
        (right, top),
        (left, top),
        (left, bottom),
        (right, bottom),
        (right, center),
        (left, center),
        (middle, top),
        (middle, bottom),
    ];
    let rects = corners.map(|(left, top)| Rect {
        left: left.round(),
        top: top.round(),
        right: (left + width).round(),
        bottom: (top + height).round(),
    });
    let [first, ..] = rects;
    rects
        .into_iter()
        .map(|rect| (covered.within(rect), rect))
        .reduce(|best, next| if next.0 < best.0 { next } else { best })
        .map_or(first, |(_, rect)| rect)
}

fn frame(canvas: &mut dyn Canvas, area: Rect, line: f64) -> Result<(), PlotError> {
    canvas.rect(area, GRID, 1.0)?;
    let inside = Rect {
        left: area.left + line,
        top: area.top + line,
        right: area.right - line,
        bottom: area.bottom - line,
    };
    canvas.rect(inside, WHITE, 1.0)
}

fn swatch(
    canvas: &mut dyn Canvas,
    layer: &Layer<'_>,
    (x, y): Point,
    sizes: FigureSizes,
) -> Result<(), PlotError> {
    let half = sizes.tick * 0.95;
    let color: Rgb = layer.color;
    match &layer.shape {
        Shape::Line(_) => {
            canvas.path(&[(x - half, y), (x + half, y)], 2.0 * sizes.unit, color)?;
            marker::draw_rimmed(canvas, layer.index, (x, y), 3.2 * sizes.unit, color)
        }
        Shape::Scatter(_) => marker::draw(canvas, layer.index, (x, y), 4.0 * sizes.unit, color),
        Shape::Bars(bars) => {
            let area =
                Rect { left: x - half, top: y - half * 0.45, right: x + half, bottom: y + half * 0.45 };
            canvas.rect(area, color, if bars.see_through { 0.6 } else { 1.0 })
        }
    }
}
