//! How maps are launched: operands laid out over a shape, and memory for the result.

use smallvec::SmallVec;

use crate::base::shape::broadcast;
use crate::base::{DType, Dims, Layout, Result, Scalar, dense};
use crate::device::{Kernel, MapOp};
use crate::tensor::autograd::grad_enabled;
use crate::tensor::{In, Tensor, launch};

use super::operand::Operand;
use super::spec::Params;

/// Launches a map into new memory of `shape` on the device of `model`; no graph.
#[allow(clippy::too_many_arguments, reason = "the launch's own list, spelled once")]
pub fn map(
    name: &'static str,
    op: MapOp,
    inputs: &[In],
    shape: &[usize],
    out: DType,
    compute: DType,
    params: Params,
    model: &Tensor,
) -> Result<Tensor> {
    if !inputs.iter().all(|input| input.tensor().is_none_or(|(t, _)| t.is_contiguous())) {
        return map_in_order(name, op, inputs, shape, out, compute, params, model);
    }
    let place = model.storage().place();
    let y = Tensor::empty(shape, out, &place.context, name)?;
    drop(place);
    launch(name, &Kernel::Map { op, params, compute }, inputs, &[&y])?;
    Ok(y)
}

/// As [`map`], where some input is not row-major: the result lies in memory as the inputs do, and the kernel walks
/// it in that order.
#[allow(clippy::too_many_arguments, reason = "the launch's own list, spelled once")]
#[cold]
fn map_in_order(
    name: &'static str,
    op: MapOp,
    inputs: &[In],
    shape: &[usize],
    out: DType,
    compute: DType,
    params: Params,
    model: &Tensor,
) -> Result<Tensor> {
    let layouts: SmallVec<[&Layout; 4]> = inputs.iter().filter_map(|i| i.tensor().map(|(_, l)| l)).collect();
    let strides: SmallVec<[&[isize]; 4]> = layouts.iter().map(|layout| layout.strides()).collect();
    let order = dense::order(shape, &strides);
    let same = strides.windows(2).all(|pair| pair.first() == pair.last());
    let layout = match layouts.first() {
        Some(first) if same && first.is_dense() => first.dense_like()?,
        _ => dense::dense_in(shape, &order)?,
    };
    let turned = layouts.iter().map(|layout| layout.permute(&order)).collect::<Result<SmallVec<[_; 4]>>>()?;
    let mut turned = turned.iter();
    let mut laid: SmallVec<[In; 4]> = SmallVec::new();
    for input in inputs {
        laid.push(match (input, input.tensor().and_then(|(t, _)| Some((t, turned.next()?)))) {
            (_, Some((t, layout))) => In::Laid(t, layout),
            (In::Scalar(s), None) => In::Scalar(*s),
            (_, None) => continue,
        });
    }
    let y = Tensor::empty_in(layout.permute(&order)?, out, &model.context(), name)?;
    launch(name, &Kernel::Map { op, params, compute }, &laid, &[&y])?;
    Ok(y.with_layout(layout))
}

/// A gradient in one launch, or from recorded operations while the backward pass is itself recorded.
pub fn fused(
    op: MapOp,
    grad: &Tensor,
    others: &[&Tensor],
    params: Params,
    composite: impl FnOnce() -> Result<Tensor>,
) -> Result<Tensor> {
    if grad_enabled() {
        return composite();
    }
    let inputs: SmallVec<[In; 3]> =
        std::iter::once(In::Tensor(grad)).chain(others.iter().map(|t| In::Tensor(t))).collect();
    map(op.kernel_name(), op, &inputs, grad.shape(), grad.dtype(), grad.dtype(), params, grad)
}

/// An operand laid out over a shape.
pub enum Laid<'a> {
    Plain(&'a Tensor),
    Wide(&'a Tensor, Layout),
    /// One of its own, as the result's dtype holds it.
    Held(Tensor, Layout),
    Number(Scalar),
}

/// What errors say of operands.
pub fn operands(all: &[Operand]) -> Vec<crate::base::error::Operand> {
    all.iter()
        .filter_map(|o| match o {
            Operand::Tensor(t) => Some(t.operand()),
            Operand::Scalar(_) => None,
        })
        .collect()
}

pub(crate) fn common_shape(all: &[Operand]) -> Result<Dims> {
    all.iter().filter_map(|o| tensor(*o)).try_fold(Dims::new(), |shape, t| broadcast(&shape, t.shape()))
}

pub(crate) fn tensor(operand: Operand<'_>) -> Option<&Tensor> {
    match operand {
        Operand::Tensor(t) => Some(t),
        Operand::Scalar(_) => None,
    }
}
