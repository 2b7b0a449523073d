//! Making tensors.

pub mod filled;
pub mod ranges;
pub mod windows;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([filled::ROWS, ranges::ROWS, windows::ROWS]);
