//! Draws from the generator of a tensor's device.

use std::sync::Arc;

use crate::base::{DType, Result};
use crate::device::kernel::{Distribution, Random};
use crate::device::{Context, Kernel, Machine};
use crate::tensor::{Tensor, launch};

/// A new tensor of drawn values.
pub fn drawn(
    shape: &[usize],
    dtype: DType,
    context: &Arc<Context>,
    distribution: Distribution,
    op: &'static str,
) -> Result<Tensor> {
    let out = Tensor::empty(shape, dtype, context, op)?;
    draw_into(&out, distribution, op)?;
    Ok(out)
}

/// Fills a tensor with drawn values, without a trace in the graph and without a version.
pub fn draw_into(x: &Tensor, distribution: Distribution, op: &'static str) -> Result<()> {
    if x.numel() == 0 {
        return Ok(());
    }
    draw_from(x, distribution, &[], op)
}

/// [`draw_into`] where the distribution takes an input.
pub fn draw_from(x: &Tensor, distribution: Distribution, inputs: &[&Tensor], op: &'static str) -> Result<()> {
    let source = Machine::current().random_source(x.device(), x.numel(), distribution.per_call(x.dtype()));
    let inputs: Vec<_> = inputs.iter().map(|&t| t.into()).collect();
    launch(op, &Kernel::Random(Random { distribution, source }), &inputs, &[x])
}
