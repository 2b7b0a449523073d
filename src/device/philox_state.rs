//! Where an accelerator's generator stands.

use std::sync::{Mutex, MutexGuard};

use crate::base::DType;
use crate::device::distribution::Distribution;
use crate::device::kernel::RandomSource;
use crate::device::philox;

/// The seed and offset of an accelerator's Philox generator: draws take disjoint parts of one stream.
#[derive(Debug)]
pub(crate) struct PhiloxState {
    state: Mutex<(u64, u64)>,
    /// Threads that the device runs at a time in blocks of PyTorch's size.
    most: u64,
}

impl PhiloxState {
    /// A generator of a device with so many multiprocessors, each with room for so many threads.
    pub(crate) fn new(seed: u64, multiprocessors: u32, threads_each: u32) -> PhiloxState {
        PhiloxState { state: Mutex::new((seed, 0)), most: philox::resident(multiprocessors, threads_each) }
    }

    /// Starts again from a seed.
    pub(crate) fn seed(&self, seed: u64) {
        *self.state() = (seed, 0);
    }

    /// The start of a draw of `n` elements of `dtype`. The next draw starts behind the numbers that each thread of
    /// PyTorch's kernel would take.
    pub(crate) fn draw(&self, n: u64, distribution: &Distribution, dtype: DType) -> RandomSource {
        let mut state = self.state();
        let (seed, offset) = *state;
        state.1 = offset.wrapping_add(distribution.taken(n, dtype, self.most));
        RandomSource::Philox { seed, offset, most: self.most }
    }

    /// The seed and the offset of the next draw.
    pub(crate) fn get(&self) -> (u64, u64) {
        *self.state()
    }

    /// Goes on from a seed and offset.
    pub(crate) fn set(&self, state: (u64, u64)) {
        *self.state() = state;
    }

    fn state(&self) -> MutexGuard<'_, (u64, u64)> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}
