//! How what became of a pack is told.

use crate::base::figures::plural;
use crate::lesson::pack::PackError;

/// What a subcommand comes to: an exit status, or an error in whole lines.
pub(crate) type Done = Result<u8, String>;

pub(crate) fn told(error: PackError) -> String {
    error.to_string()
}

/// `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => plural(bytes, "byte", "bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
