//! Elements chosen and written by index tensors along one dimension.

pub mod along_dim;
pub mod interleave;
pub mod select;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([select::ROWS, along_dim::ROWS, interleave::ROWS]);
