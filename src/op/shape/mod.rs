//! Movement: views of the same memory, and what joins, splits and repeats.

pub mod join;
pub mod part;
pub mod permute;
pub mod repeat;
pub mod split;
pub mod triangle;
pub mod view;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([
    view::ROWS,
    permute::ROWS,
    part::ROWS,
    join::ROWS,
    split::ROWS,
    repeat::ROWS,
    triangle::ROWS,
]);
