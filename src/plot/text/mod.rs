//! Figures as characters: for terminals without graphics, logs, and readers of text.

mod bars;
mod chart;
mod grid;
mod legend;
mod picture;
mod rows;
pub(crate) mod style;

use crate::plot::text::style::{Style, fill, plain, sign};

use super::figure::Figure;
use super::label::clean;
use super::scene::{Chart, Scene, Shape};

use grid::{Area, Grid};

pub use grid::Cell;

/// Beyond this many columns and rows a larger screen shows no more.
const MOST: (usize, usize) = (2_000, 1_000);

impl Figure {
    /// The figure as at most `height` lines of at most `width` columns, without colour: braille and blocks, or ASCII only.
    ///
    /// Series are told apart by signs. A figure that cannot be drawn reads as its error (see [`Figure::check`]).
    pub fn to_text(&self, width: usize, height: usize, unicode: bool) -> Vec<String> {
        let style = if unicode { Style::Unicode } else { Style::Ascii };
        render(self, width, height, style).lines()
    }

    /// The figure as at most `height` rows of `width` terminal cells with colours: words are characters, lines are braille,
    /// bars are blocks, and pictures are half blocks with two pixels a cell. Colours that are not set are the terminal's
    /// own.
    pub fn to_cells(&self, width: usize, height: usize) -> Vec<Vec<Cell>> {
        render(self, width, height, Style::Color).rows()
    }
}

fn render(figure: &Figure, width: usize, height: usize, style: Style) -> Grid {
    let mut grid = Grid::new(width.min(MOST.0), height.min(MOST.1));
    let mut area = grid.area();
    let scene = match Scene::new(figure) {
        Ok(scene) => scene,
        Err(error) => {
            grid.paragraph(area, &clean(&error.to_string(), 1_000));
            return grid;
        }
    };
    let title = clean(&figure.title, 400);
    if !title.is_empty() && area.height >= 6 {
        grid.center(area.take_top(), &title);
    }
    let notes = scene.notes().join(" · ");
    let mut notes_row = None;
    if !notes.is_empty() && area.height >= 5 {
        notes_row = Some(area.take_bottom());
    }
    let used = match &scene {
        Scene::Chart(chart) if bars::suits(chart) => {
            if area.height >= 4 && chart.named().next().is_some() {
                chart_legend(&mut grid, area.take_top(), chart, style);
            }
            bars::draw(&mut grid, area, figure, chart, style)
        }
        Scene::Chart(chart) => {
            if area.height >= 7 && chart.named().next().is_some() {
                chart_legend(&mut grid, area.take_bottom(), chart, style);
            }
            chart::draw(&mut grid, area, figure, chart, style);
            area.height + 1
        }
        Scene::Picture(scene) => picture::draw(&mut grid, area, figure, scene, style),
        Scene::Rows(scene) => rows::draw(&mut grid, area, figure, scene, style),
    };
    if let Some(mut row) = notes_row {
        // Right under what is shorter than its area.
        row.top = row.top.min(area.top + used);
        grid.write(row, &plain(&notes, style), None);
    }
    grid
}

fn chart_legend(grid: &mut Grid, area: Area, chart: &Chart<'_>, style: Style) {
    let named = chart.named().map(|layer| {
        let symbol = match layer.shape {
            Shape::Bars(_) => fill(layer.index, style),
            _ => sign(layer.index, style),
        };
        (symbol, layer.color, layer.label)
    });
    legend::legend(grid, area, named, style);
}
