//! How a cell stands in its file.

use serde::{Deserialize, Serialize};

/// A cell's piece of the file. The three parts in a row are the piece.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Blank lines and the marker; without a marker, blank lines alone.
    pub(super) head: String,
    pub(super) body: String,
    /// The end of the last line, and blank lines.
    pub(super) tail: String,
}
