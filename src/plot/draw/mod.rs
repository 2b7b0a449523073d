//! Scenes on a canvas.

mod chart;
mod layout;
mod legend;
mod marker;
mod picture;

use super::PlotError;
use super::canvas::{Anchor, Canvas, Ink, Rect};
use super::color::Rgb;
use super::figure::Figure;
use super::scene::Scene;

/// Text and the lines of the axes.
const DARK: Rgb = [0x2b, 0x2b, 0x2b];
/// Notes.
const DIM: Rgb = [0x6e, 0x6e, 0x6e];
const GRID: Rgb = [0xe3, 0xe5, 0xe8];
const WHITE: Rgb = [0xff; 3];

/// Draws `scene` with the words of `figure` on `width x height` pixels.
///
/// # Errors
/// Failures of the canvas.
pub(super) fn draw(
    canvas: &mut dyn Canvas,
    figure: &Figure,
    scene: &Scene<'_>,
    (width, height): (u32, u32),
) -> Result<(), PlotError> {
    let size = (f64::from(width), f64::from(height));
    match scene {
        Scene::Chart(chart) => chart::draw(canvas, figure, chart, size),
        Scene::Picture(picture) => picture::draw(canvas, figure, picture, size),
    }
}

fn ink(em: f64, color: Rgb, anchor: Anchor) -> Ink {
    Ink { em, color, anchor, upright: false }
}

/// A sharp vertical line of `width` pixels.
fn vertical(x: f64, top: f64, bottom: f64, width: f64) -> Rect {
    let left = (x - width / 2.0).round();
    Rect { left, top, right: left + width, bottom }
}

/// A sharp horizontal line of `width` pixels.
fn horizontal(y: f64, left: f64, right: f64, width: f64) -> Rect {
    let top = (y - width / 2.0).round();
    Rect { left, top, right, bottom: top + width }
}
