//! The blocks that are held, by address.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::block::Id;

/// The blocks that tensors hold.
pub(super) type LiveBlocks = HashMap<u64, Id, BuildHasherDefault<AddressHasher>>;

/// Hashes a block's address by one multiplication.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, address: u64) {
        // The product's upper bits depend on all of the address; the table picks its
        // slot by the lower ones.
        self.0 = (self.0 ^ (address >> 9)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(24);
    }
}
