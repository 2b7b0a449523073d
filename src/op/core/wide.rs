//! Halves in float32: what is made of several operations rounds once, at its end, as a kernel of its own would.

use crate::base::{DType, Result};
use crate::tensor::Tensor;
use crate::tensor::autocast::pause;

use super::convert::to_dtype;

/// Runs on tensors of one dtype, halves as float32; the result has their dtype again. Others are left as they are.
pub(crate) fn in_single<const N: usize>(
    tensors: [&Tensor; N],
    run: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
) -> Result<Tensor> {
    let halves = |dtype: &DType| matches!(dtype, DType::Float16 | DType::BFloat16);
    let Some(to) = tensors.first().map(|t| t.dtype()).filter(halves) else { return run(tensors) };
    if tensors.iter().any(|t| t.dtype() != to) {
        return run(tensors);
    }
    let _paused = pause();
    let mut wide = tensors.map(Tensor::clone);
    for t in &mut wide {
        *t = to_dtype(t, DType::Float32)?;
    }
    to_dtype(&run(wide.each_ref())?, to)
}

/// [`in_single`] on the CPU. A GPU's matrix units read halves, and round between products and what is added to them.
pub(crate) fn in_single_on_cpu<const N: usize>(
    tensors: [&Tensor; N],
    run: impl FnOnce([&Tensor; N]) -> Result<Tensor>,
) -> Result<Tensor> {
    if tensors.iter().any(|t| t.device().is_cuda()) { run(tensors) } else { in_single(tensors, run) }
}
