//! Rows of a table by index.

pub mod bag;
pub mod table;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([table::ROWS, bag::ROWS]);
