//! Attention.

pub mod scaled;

use crate::op::core::def::OpDef;

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &[scaled::ROWS];
