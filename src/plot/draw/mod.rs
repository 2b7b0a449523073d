//! Scenes on a canvas.

mod chart;
mod layout;
mod legend;
mod marker;
mod picture;
mod rows;
pub(crate) mod style;

use super::PlotError;
use super::figure::Figure;
use super::scene::Scene;
use crate::plot::canvas::shape::Canvas;

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
        Scene::Rows(rows) => rows::draw(canvas, figure, rows, size),
    }
}
