//! Zip archives as far as `.npz` files need them: stored and deflated entries, with the 64-bit extensions.
//!
//! After PKWARE's APPNOTE 6.3.10. Sizes and places come from the central directory; every one is checked against
//! the file before anything is read or reserved.

mod format;
pub(super) mod read;
pub(super) mod write;

pub(crate) use read::Archive;
pub(crate) use write::ZipWriter;
