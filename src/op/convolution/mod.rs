//! Convolutions, pooling and sliding windows.

pub mod adaptive;
pub mod adaptive_size;
pub mod conv;
mod integers;
pub mod norms;
pub mod pooling;
pub mod response;
pub mod sliding;
pub mod transposed;
pub mod transposed_volumes;
pub mod unpool;
pub mod volumes;
pub mod windows;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([
    conv::ROWS,
    transposed::ROWS,
    transposed_volumes::ROWS,
    pooling::ROWS,
    adaptive::ROWS,
    norms::ROWS,
    unpool::ROWS,
    response::ROWS,
    volumes::ROWS,
    sliding::ROWS,
]);

/// Rows whose names other rows of the table have too.
pub(crate) static HOMONYMS: &[&[OpDef]] = &documented([sliding::HOMONYMS]);
