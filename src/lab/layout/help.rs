//! The help: which keys it lists, and its rows.

use ratatui::layout::Rect;

use crate::lab::layout::{centred, inner};
use crate::lab::model::bindings::{BINDINGS, listed};

pub(crate) const HELP_WIDTH: u16 = 76;

/// Rows of the help, and how many of them are seen at once on a screen of this size.
pub(crate) fn help_extent(area: Rect) -> (usize, usize) {
    let inside = inner(centred(area, HELP_WIDTH, area.height.saturating_sub(2)));
    (help_rows(), usize::from(inside.height))
}

pub(crate) fn help_rows() -> usize {
    let bindings = BINDINGS.iter().filter(|binding| listed().any(|context| context == binding.context));
    bindings.count() + 2 * listed().count() - 1
}
