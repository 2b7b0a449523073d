//! Losses.

pub mod classes;
pub mod classes_margin;
pub mod ctc;
pub mod elements;
pub mod margins;
mod pointwise;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] =
    &documented([elements::ROWS, classes::ROWS, margins::ROWS, classes_margin::ROWS, ctc::ROWS]);
