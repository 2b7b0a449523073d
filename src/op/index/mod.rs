//! Indexing by brackets, masks and places; searching and counting.

pub mod brackets;
pub(crate) mod combined;
pub mod distinct;
pub mod histogram;
pub mod indices;
pub mod masks;
pub mod places;
pub mod puts;
pub mod reduced;
pub mod scattered;
pub mod search;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([
    masks::ROWS,
    brackets::ROWS,
    places::ROWS,
    reduced::ROWS,
    distinct::ROWS,
    histogram::ROWS,
    search::ROWS,
    scattered::ROWS,
    puts::ROWS,
]);
