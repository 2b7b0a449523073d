//! Elements chosen and written by index tensors along one dimension.

pub mod along_dim;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([along_dim::ROWS]);
