//! Convolutions, pooling and sliding windows.

pub mod conv;
pub mod pooling;
pub mod sliding;
pub mod transposed;
pub mod volumes;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] =
    &documented([conv::ROWS, transposed::ROWS, pooling::ROWS, volumes::ROWS, sliding::ROWS]);

/// Rows whose names other rows of the table have too.
pub(crate) static HOMONYMS: &[&[OpDef]] = &documented([sliding::HOMONYMS]);
