//! What a tensor is, and whether two are the same.

pub mod asks;
pub mod compare;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([compare::ROWS, asks::ROWS]);
