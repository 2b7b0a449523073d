//! Rearrangements made of the basic ones: diagonals, windows, grids, borders.

pub mod diagonal;
pub mod grids;
pub mod pad;
pub mod windows;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([diagonal::ROWS, windows::ROWS, grids::ROWS, pad::ROWS]);
