//! The numbers of the format.

pub(super) const LOCAL: u32 = 0x0403_4b50;
pub(super) const CENTRAL: u32 = 0x0201_4b50;
pub(super) const END: u32 = 0x0605_4b50;
pub(super) const END_64: u32 = 0x0606_4b50;
pub(super) const LOCATOR_64: u32 = 0x0706_4b50;

/// The identifier of the 64-bit extra field.
pub(super) const EXTRA_64: u16 = 1;
/// A 32-bit field whose value stands in the 64-bit extra field.
pub(super) const ESCAPE: u32 = u32::MAX;

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;

/// Bit 11 of an entry's flags: its name is UTF-8.
pub(super) const UTF_8: u16 = 1 << 11;
/// Bit 0: it is encrypted.
pub(super) const ENCRYPTED: u16 = 1;
