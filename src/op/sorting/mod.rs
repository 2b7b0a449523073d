//! Extremes, sorting and order statistics.

pub mod extremum;
pub mod quantile;
pub mod running;
pub mod sort;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([extremum::ROWS, sort::ROWS, quantile::ROWS, running::ROWS]);
