//! Notebooks: cells with their outputs, and the files that hold them.
//!
//! [`percent`] is the native format, a Rhai script with a line `// %%` before each cell.

pub mod cell;
pub mod document;
pub mod hash;
pub mod names;
pub mod output;
pub mod percent;
pub mod stale;

pub use cell::{Cell, Kind};
pub use document::{Change, Notebook};
pub use output::Output;

/// The cells of a file, in order; text before the first marker is the first cell.
pub fn split(text: &str) -> Vec<String> {
    percent::parse(text).cells.into_iter().map(|cell| cell.source).filter(|s| !s.is_empty()).collect()
}

/// A file of these cells, which [`split`] reads back.
pub fn join<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    percent::write(&Notebook::new(cells.into_iter().map(Cell::code)))
}
