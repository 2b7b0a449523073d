//! Maps by the addresses of memory, which are looked up at every tensor that comes or goes.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::Device;

/// By address, or by device and address.
pub(crate) type AddressMap<K, V> = HashMap<K, V, BuildHasherDefault<AddressHasher>>;
/// Devices and addresses.
pub(crate) type AddressSet = HashSet<(Device, u64), BuildHasherDefault<AddressHasher>>;

/// Hashes by one multiplication: addresses are spread already, but for the last bits.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        // The product's upper bits depend on all of the address; a table picks its slot by the lower ones.
        self.0 = (self.0 ^ n).wrapping_mul(FACTOR).rotate_left(24);
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.write_u64(u64::from(n));
    }

    #[inline]
    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hash;

    use super::*;

    #[test]
    fn blocks_one_behind_the_other_are_spread_over_a_table() {
        for step in [64u64, 512, 1 << 16, 2 << 20] {
            let slot = |n: u64| {
                let mut hasher = AddressHasher::default();
                (Device::Cuda(1), 0x7f00_0000_0000 + n * step).hash(&mut hasher);
                hasher.finish() & 1023
            };
            let slots: HashSet<u64> = (0..1024).map(slot).collect();
            // Thrown at random, 647 of 1,024 would be hit.
            assert!(slots.len() > 500, "{} for steps of {step}", slots.len());
        }
    }
}
