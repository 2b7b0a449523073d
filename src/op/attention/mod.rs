//! Attention.

mod chosen;
mod composed;
mod fused;
mod hidden;
pub mod scaled;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([scaled::ROWS]);
