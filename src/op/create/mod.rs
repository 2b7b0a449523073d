//! Making tensors.

pub mod filled;
pub mod ranges;

use crate::op::core::def::OpDef;

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &[filled::ROWS, ranges::ROWS];
