//! The arguments of a launch, packed as a kernel takes them.

use std::ffi::c_void;

use smallvec::SmallVec;

use crate::base::{DType, Scalar};

use super::compute::Compute;
use super::tensor_map::{EncodedMap, TensorMap};
use super::walk::Walk;

/// A kernel's arguments in order, each aligned to 8 bytes.
#[derive(Clone, Debug, Default)]
pub struct Args {
    words: SmallVec<[u64; 64]>,
    /// The word that each argument starts at.
    starts: SmallVec<[u16; 20]>,
    /// Indices and steps are 64 bits wide.
    wide: bool,
    /// The last word has room in its upper half.
    half: bool,
    /// Tensor maps, and the word that each starts at.
    maps: Vec<(u16, TensorMap)>,
}

impl Args {
    pub(crate) fn new(wide: bool) -> Args {
        Args { wide, ..Args::default() }
    }

    /// One pointer per argument, for `cuLaunchKernel`.
    pub(crate) fn pointers(&mut self) -> SmallVec<[*mut c_void; 16]> {
        let base = self.words.as_mut_ptr();
        self.starts.iter().map(|&start| base.wrapping_add(usize::from(start)).cast()).collect()
    }

    /// An address, a double or an integer of 64 bits.
    pub fn word(&mut self, value: u64) -> &mut Args {
        self.starts.push(self.words.len() as u16);
        self.words.push(value);
        self.half = false;
        self
    }

    pub(crate) fn long(&mut self, value: i64) -> &mut Args {
        self.word(value as u64)
    }

    pub(crate) fn double(&mut self, value: f64) -> &mut Args {
        self.word(value.to_bits())
    }

    pub(crate) fn int(&mut self, value: i32) -> &mut Args {
        self.word(u64::from(value as u32))
    }

    /// A number of the compute type.
    pub fn number(&mut self, compute: Compute, value: Scalar) -> &mut Args {
        self.word(match (compute, value) {
            (Compute::F32, Scalar::Float(v)) => u64::from((v as f32).to_bits()),
            (Compute::F32, v) => u64::from((v.as_i64() as f32).to_bits()),
            (Compute::F64, v) => v.as_f64().to_bits(),
            (Compute::I64, v) => v.as_i64() as u64,
        })
    }

    /// A parameter, given as a float.
    pub fn parameter(&mut self, compute: Compute, value: f64) -> &mut Args {
        self.number(compute, Scalar::Float(value))
    }

    /// A count of elements.
    pub fn index(&mut self, value: usize) -> &mut Args {
        self.word(value as u64)
    }

    /// A distance in elements.
    pub fn step(&mut self, value: isize) -> &mut Args {
        self.word(value as u64)
    }

    pub(crate) fn walk<const N: usize>(&mut self, walk: &Walk<N>) -> &mut Args {
        self.structure();
        self.member(walk.count() as u64).member(walk.rank() as u64);
        for d in 0..8 {
            self.member(walk.size(d) as u64);
        }
        for k in 0..N {
            for d in 0..8 {
                self.member(walk.step(d, k) as u64);
            }
        }
        self
    }

    /// A tensor map, which [`Args::encode`] puts in its place.
    pub(super) fn tensor_map(&mut self, map: TensorMap) -> &mut Args {
        self.structure();
        self.maps.push((self.words.len() as u16, map));
        self.words.extend(EncodedMap::default());
        self
    }

    pub(crate) fn has_maps(&self) -> bool {
        !self.maps.is_empty()
    }

    /// Encodes the tensor maps; whether all of them could be.
    pub(crate) fn encode(&mut self, encoded: impl Fn(&TensorMap) -> Option<EncodedMap>) -> bool {
        self.maps.iter().all(|(start, map)| {
            let words = self.words.iter_mut().skip(usize::from(*start));
            let map = encoded(map);
            map.iter().flatten().zip(words).for_each(|(from, to)| *to = *from);
            map.is_some()
        })
    }

    /// Starts a struct, whose members follow.
    pub fn structure(&mut self) -> &mut Args {
        self.starts.push(self.words.len() as u16);
        self.half = false;
        self
    }

    /// A member that is as wide as indices are.
    pub(crate) fn member(&mut self, value: u64) -> &mut Args {
        if self.wide {
            self.words.push(value);
            return self;
        }
        self.member_int(value as i32)
    }

    /// A member of 32 bits.
    pub(crate) fn member_int(&mut self, value: i32) -> &mut Args {
        let value = u64::from(value as u32);
        match self.words.last_mut() {
            Some(last) if self.half => *last |= value << 32,
            _ => self.words.push(value),
        }
        self.half = !self.half;
        self
    }
}

/// The bytes of one element of the compute type.
pub(crate) fn compute_size(compute: Compute) -> usize {
    match compute {
        Compute::F32 => DType::Float32.size(),
        Compute::F64 | Compute::I64 => DType::Float64.size(),
    }
}

#[cfg(test)]
impl Args {
    /// Argument `i` as bytes, up to the next one.
    pub fn bytes(&self, i: usize) -> Vec<u8> {
        let start = usize::from(self.starts[i]);
        let end = self.starts.get(i + 1).map_or(self.words.len(), |&s| usize::from(s));
        self.words[start..end].iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    pub(crate) fn get(&self, i: usize) -> u64 {
        self.words[usize::from(self.starts[i])]
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }
}
