//! Zip archives as far as `.npz` files need them: stored and deflated entries, with the 64-bit extensions.
//!
//! After PKWARE's APPNOTE 6.3.10. Sizes and places come from the central directory; every one is checked against
//! the file before anything is read or reserved.

pub(super) mod read;
pub(super) mod write;

pub(crate) use read::Archive;
pub(crate) use write::ZipWriter;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;

/// The identifier of the 64-bit extra field.
const EXTRA_64: u16 = 1;
/// A 32-bit field whose value stands in the 64-bit extra field.
const ESCAPE: u32 = u32::MAX;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Bit 11 of an entry's flags: its name is UTF-8.
const UTF_8: u16 = 1 << 11;
/// Bit 0: it is encrypted.
const ENCRYPTED: u16 = 1;
