//! The few differentiable operations that the graph itself is made of: adding gradients, and summing or
//! expanding between broadcast shapes.

use crate::base::{DType, Layout, Result};
use crate::device::kernel::ReduceOp;
use crate::device::{Kernel, MapOp};

use super::autograd::{Grads, Saved, Vjp, needs_graph};
use super::{In, Tensor, launch};

/// `a + b` of one shape and dtype.
pub fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "AddBackward0", run: add_backward };
    let out = Tensor::empty(a.shape(), a.dtype(), &a.context(), "add")?;
    launch("add", &add_kernel(a), &[In::Tensor(a), In::Tensor(b)], &[&out])?;
    if needs_graph(&[a, b]) {
        return Ok(out.record(&RULE, &[a, b], |_, _| ()));
    }
    Ok(out)
}

/// `a += b` without a trace in the graph.
pub(crate) fn add_into(a: &Tensor, b: &Tensor) -> Result<()> {
    launch("add_", &add_kernel(a), &[In::Tensor(a), In::Tensor(b)], &[a])?;
    a.bump_version();
    Ok(())
}

/// Sums a broadcast tensor back to `shape`; the tensor itself where it has that shape.
pub(crate) fn sum_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "SumBackward1", run: sum_to_backward };
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let extra = x.rank().saturating_sub(shape.len());
    let stays = |i: usize, size: usize| i >= extra && shape.get(i - extra) == Some(&size);
    let kept: Vec<bool> = x.shape().iter().enumerate().map(|(i, &d)| stays(i, d)).collect();
    let dims = kept.iter().enumerate().filter(|(_, k)| !**k).fold(0u64, |mask, (i, _)| mask | (1 << i));
    let keepdim: Vec<usize> =
        x.shape().iter().zip(&kept).map(|(&d, &keep)| if keep { d } else { 1 }).collect();
    let out = Tensor::empty(shape, x.dtype(), &x.context(), "sum")?;
    let target = out.with_layout(Layout::contiguous(&keepdim)?);
    let kernel = Kernel::Reduce { op: ReduceOp::Sum { scale: 1.0 }, dims };
    launch("sum", &kernel, &[In::Tensor(x)], &[&target])?;
    if needs_graph(&[x]) {
        return Ok(out.record(&RULE, &[x], |_, _| ()));
    }
    Ok(out)
}

/// `x` in another dtype; the tensor itself where it has that one. The gradient goes back in the first.
pub(crate) fn cast_to(x: &Tensor, dtype: DType) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ToCopyBackward0", run: expand_backward };
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    let out = x.copied(dtype, "to")?;
    if needs_graph(&[x]) {
        return Ok(out.record(&RULE, &[x], |_, _| ()));
    }
    Ok(out)
}

/// A view of `x` with size-1 dimensions stretched to `shape`.
pub fn expand(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ExpandBackward0", run: expand_backward };
    let out = x.with_layout(x.layout().expand(shape)?).view_of(x);
    if needs_graph(&[x]) {
        return Ok(out.record(&RULE, &[x], |_, _| ()));
    }
    Ok(out)
}

/// Whether any element is NaN; the host waits for the answer.
pub(crate) fn has_nan(x: &Tensor) -> Result<bool> {
    let context = x.context();
    let nan = Tensor::empty(x.shape(), DType::Bool, &context, "isnan")?;
    let kernel = Kernel::Map { op: MapOp::IsNan, params: [0.0; 2], compute: x.dtype() };
    launch("isnan", &kernel, &[In::Tensor(x)], &[&nan])?;
    let flat = nan.with_layout(Layout::contiguous(&[x.numel()])?);
    let any = Tensor::empty(&[1], DType::Bool, &context, "any")?;
    launch("any", &Kernel::Reduce { op: ReduceOp::Any, dims: 1 }, &[In::Tensor(&flat)], &[&any])?;
    Ok(any.item()?.as_f64() != 0.0)
}

fn add_kernel(a: &Tensor) -> Kernel {
    Kernel::Map { op: MapOp::Add, params: [1.0, 0.0], compute: a.dtype() }
}

fn add_backward(_: &Saved, grad: &Tensor) -> Result<Grads> {
    Ok([Some(grad.clone()), Some(grad.clone())].into_iter().collect())
}

fn sum_to_backward(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    Ok([Some(expand(grad, saved.shape(0))?)].into_iter().collect())
}

/// The engine sums the gradient back to the input's shape, and casts it to its dtype.
fn expand_backward(_: &Saved, grad: &Tensor) -> Result<Grads> {
    Ok([Some(grad.clone())].into_iter().collect())
}
