//! How large a figure is in a cell.

use crate::lab::model::picture::graphics::{Canvas, Graphics};
use crate::plot::Figure;

/// Rows of a figure made of characters.
pub(crate) const TEXT_ROWS: std::ops::RangeInclusive<u16> = 6..=16;

/// Rows of a figure made of pixels; kitty's rows are named by marks, of which [`encode`] knows this many.
pub(crate) const ART_ROWS: std::ops::RangeInclusive<u16> = 6..=24;

/// Columns of a figure.
pub(crate) const MOST_COLUMNS: u16 = 120;

/// Columns and rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// The size of a figure in a cell that has so many columns for it.
pub(crate) fn size(figure: &Figure, columns: u16, canvas: Canvas) -> Size {
    let columns = columns.clamp(1, MOST_COLUMNS);
    if canvas.graphics == Graphics::Blocks {
        return Size { columns, rows: (columns / 3).clamp(*TEXT_ROWS.start(), *TEXT_ROWS.end()) };
    }
    let aspect = f64::from(figure.height.max(1)) / f64::from(figure.width.max(1));
    let (across, down) = (f64::from(canvas.cell.0), f64::from(canvas.cell.1));
    let rows = (f64::from(columns) * across * aspect / down).round();
    let rows = rows.clamp(f64::from(*ART_ROWS.start()), f64::from(*ART_ROWS.end()));
    let fitting = (rows * down / aspect / across).round();
    Size { columns: columns.min(fitting.max(1.0) as u16), rows: rows as u16 }
}
