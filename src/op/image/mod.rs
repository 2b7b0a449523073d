//! Images and signals in other sizes and places.

pub mod grid;
mod kernels;
mod resample;
pub mod resize;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([resize::ROWS, grid::ROWS]);
