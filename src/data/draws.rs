//! What samplers and splits draw.

use crate::base::Result;
use crate::device::kernel::{Distribution, Random, RandomSource};
use crate::device::random::Shared;
use crate::device::{Kernel, Machine};
use crate::tensor::{Tensor, launch};

/// A seed as `torch.empty((), dtype=int64).random_()` draws it.
pub(crate) fn draw_seed(generator: &Shared) -> u64 {
    generator.lock().next_u64() & (i64::MAX as u64)
}

/// A permutation of `0..n` as `torch.randperm` draws it from a CPU generator.
pub(crate) fn permutation(n: usize, generator: Shared) -> Result<Vec<i64>> {
    let machine = Machine::current();
    let out = Tensor::empty(&[n], crate::base::DType::Int64, machine.cpu(), "randperm")?;
    let random = Random { distribution: Distribution::Permutation, source: RandomSource::Host(generator) };
    launch("randperm", &Kernel::Random(random), &[], &[&out])?;
    out.to_i64s("randperm")
}
