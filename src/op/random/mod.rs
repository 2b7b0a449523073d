//! Random numbers.

pub mod distributions;
pub mod generator;
pub mod uniform_normal;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([uniform_normal::ROWS, distributions::ROWS]);
