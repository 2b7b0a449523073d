//! A cell's content as a number: outputs belong to the content that gave them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// FNV-1a of 128 bits: the same on every machine and in every version. It tells contents apart; it protects nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(u128);

impl Hash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d).and(bytes)
    }

    /// The hash of what came before and these bytes.
    pub fn and(self, bytes: &[u8]) -> Hash {
        const PRIME: u128 = (1 << 88) + 0x13b;
        Hash(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME)))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Hash, Self::Err> {
        u128::from_str_radix(text, 16).map(Hash)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fnv_1a_and_reads_itself_back() {
        // The values of the algorithm's authors.
        assert_eq!(Hash::of(b"").to_string(), "6c62272e07bb014262b821756295c58d");
        assert_eq!(Hash::of(b"a").to_string(), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(Hash::of(b"ab"), Hash::of(b"a").and(b"b"));
        assert_eq!(Hash::of(b"a").to_string().parse(), Ok(Hash::of(b"a")));
    }
}
