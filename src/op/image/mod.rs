//! Images and signals in other sizes and places.

pub mod grid;
pub mod resize;

use crate::op::core::def::OpDef;

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &[resize::ROWS, grid::ROWS];
