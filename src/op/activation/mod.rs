//! Activations and dropout.

pub mod dropout;
pub mod functions;
pub mod rrelu;
pub mod shrink;
pub mod variants;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] =
    &documented([functions::ROWS, variants::ROWS, rrelu::ROWS, shrink::ROWS, dropout::ROWS]);

/// Rows whose names other rows of the table have too.
pub(crate) static HOMONYMS: &[&[OpDef]] = &documented([functions::HOMONYMS, variants::HOMONYMS]);
