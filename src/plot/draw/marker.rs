//! Signs that tell series apart without colour.

use crate::plot::PlotError;
use crate::plot::canvas::shape::{Canvas, Point, Rect};
use crate::plot::color::Rgb;
use crate::plot::draw::style::WHITE;

/// Draws the sign of the series at `index`: a disc, square, triangle or diamond of about `radius` pixels.
pub(super) fn draw(
    canvas: &mut dyn Canvas,
    index: usize,
    (x, y): Point,
    radius: f64,
    color: Rgb,
) -> Result<(), PlotError> {
    // Shapes of the same weight for the eye.
    match index % 4 {
        0 => canvas.disc((x, y), radius, color),
        1 => {
            let half = radius * 0.88;
            let square = Rect { left: x - half, top: y - half, right: x + half, bottom: y + half };
            canvas.rect(square, color, 1.0)
        }
        2 => {
            let (wide, up, down) = (radius * 1.2, radius * 1.25, radius * 0.85);
            canvas.polygon(&[(x, y - up), (x + wide, y + down), (x - wide, y + down)], color)
        }
        _ => {
            let r = radius * 1.25;
            canvas.polygon(&[(x, y - r), (x + r, y), (x, y + r), (x - r, y)], color)
        }
    }
}

/// The same with a white rim, which lifts it off a line.
pub(super) fn draw_rimmed(
    canvas: &mut dyn Canvas,
    index: usize,
    at: Point,
    radius: f64,
    color: Rgb,
) -> Result<(), PlotError> {
    draw(canvas, index, at, radius * 1.25, WHITE)?;
    draw(canvas, index, at, radius, color)
}
