//! Activations and dropout.

pub mod composed;
pub mod dropout;
pub mod functions;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([functions::ROWS, composed::ROWS, dropout::ROWS]);
