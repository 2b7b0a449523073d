//! What every family stands on: rows and their arguments, recording, precision, copies, and the launch of maps.

pub mod args;
pub mod autocast;
pub mod convert;
pub mod copies;
pub mod def;
mod errors;
pub mod fill;
pub mod format;
pub mod launch;
pub mod many;
pub mod map;
pub mod operand;
pub mod params;
pub mod promote;
pub mod record;
pub mod shapes;
pub mod spec;
pub mod value;
pub mod whole;
pub mod wide;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([convert::ROWS, convert::MORE_ROWS, fill::ROWS]);
