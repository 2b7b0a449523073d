//! Reductions over dimensions, running ones, softmax and norms.

pub mod differences;
pub mod gamma;
pub mod gradient;
pub mod nans;
pub mod norms;
pub mod products;
pub mod scan;
pub mod softmax;
pub mod spread;
pub mod sums;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([
    sums::ROWS,
    spread::ROWS,
    scan::ROWS,
    products::ROWS,
    softmax::ROWS,
    norms::ROWS,
    nans::ROWS,
    differences::ROWS,
    gamma::ROWS,
    gradient::ROWS,
]);
