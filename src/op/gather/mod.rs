//! Elements chosen and written by index tensors along one dimension.

pub mod along_dim;

use crate::op::core::def::OpDef;

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &[along_dim::ROWS];
