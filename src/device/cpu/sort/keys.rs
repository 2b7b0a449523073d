//! What values are sorted by.

use crate::device::cpu::convert::Compute;

/// What is sorted: the key, then the place, so that equal values keep their order.
pub(in crate::device::cpu) type SortEntry = (u64, usize);

/// A type with a key that orders its values as unsigned numbers.
pub(super) trait Sortable: Compute {
    type Key: Ord + Copy + Into<u64> + TryFrom<u64> + std::ops::Not<Output = Self::Key>;

    /// No key comes after it.
    const AFTER_ALL: Self::Key;

    /// Several keys fit into a vector register, so that code of its own for each instruction set is worth its room.
    const IN_VECTORS: bool = false;

    fn key(self) -> Self::Key;
}

/// The key by which a value is sorted, one way or the other.
#[inline(always)]
pub(super) fn ordered<C: Sortable>(value: C, descending: bool) -> C::Key {
    let key = value.key();
    if descending { !key } else { key }
}

impl Sortable for f64 {
    type Key = u64;

    const AFTER_ALL: u64 = u64::MAX;

    #[inline(always)]
    fn key(self) -> u64 {
        if self.is_nan() {
            return u64::MAX;
        }
        // -0 becomes 0: they are equal.
        let bits = (self + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    }
}

impl Sortable for f32 {
    type Key = u32;

    const AFTER_ALL: u32 = u32::MAX;

    const IN_VECTORS: bool = true;

    #[inline(always)]
    fn key(self) -> u32 {
        if self.is_nan() {
            return u32::MAX;
        }
        let bits = (self + 0.0).to_bits();
        if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
    }
}

impl Sortable for i64 {
    type Key = u64;

    const AFTER_ALL: u64 = u64::MAX;

    #[inline(always)]
    fn key(self) -> u64 {
        (self as u64) ^ (1 << 63)
    }
}
