//! Normalisation.

pub mod batch_norm;
pub mod group_norm;
pub mod instance_norm;
pub mod layer_norm;
pub mod shared;
pub mod unit;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] =
    &documented([batch_norm::ROWS, layer_norm::ROWS, group_norm::ROWS, instance_norm::ROWS, unit::ROWS]);
