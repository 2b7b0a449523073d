//! The line that tells which sign stands for which series.

use super::grid::{Area, Grid};
use crate::plot::color::Rgb;
use crate::plot::label::clean;
use crate::plot::text::style::{Style, plain};

/// Writes each sign with its name, left to right, until the line is full.
pub(super) fn legend<'a>(
    grid: &mut Grid,
    mut area: Area,
    named: impl Iterator<Item = (char, Rgb, &'a str)>,
    style: Style,
) {
    for (symbol, color, label) in named {
        if area.width < 4 {
            return;
        }
        grid.put((area.left, area.top), symbol, Some(color));
        area.skip(2);
        let used = grid.write(area, &plain(&clean(label, 200), style), None);
        area.skip(used + 3);
    }
}
