//! Attention as one kernel, where the device has it: the scores never lie in memory.

use crate::base::{DType, Result};
use crate::device::Kernel;
use crate::op::core::record::recorded;
use crate::op::elementwise::arithmetic::{mul, scale, sub};
use crate::op::linalg::matmul::matmul;
use crate::op::reduce::softmax::softmax;
use crate::op::reduce::sums::sum;
use crate::op::shape::permute::transpose;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor, launch};

use super::hidden::{after, hide};

/// What the gradient must know of the scores.
struct Fused {
    factor: f64,
    causal: bool,
}

/// `softmax(q @ kᵀ * factor) @ v` by the device's kernel; `None` where there is none for such tensors.
pub(super) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    factor: f64,
    causal: bool,
) -> Result<Option<Tensor>> {
    static RULE: Vjp = Vjp { name: "ScaledDotProductFlashAttentionBackward0", run: attention_grad };
    if !(fits(q, k, v) && factor > 0.0 && factor.is_finite()) {
        return Ok(None);
    }
    let context = q.context();
    let (queries, keys, values) = (in_chunks(q)?, in_chunks(k)?, in_chunks(v)?);
    let rows = q.shape().split_last().map_or(q.shape(), |(_, rows)| rows);
    let out = Tensor::empty(q.shape(), q.dtype(), &context, NAME)?;
    let lse = Tensor::empty(rows, DType::Float32, &context, NAME)?;
    let kernel = Kernel::Attention { scale: factor, causal };
    launch(NAME, &kernel, &[&queries, &keys, &values].map(In::Tensor), &[&out, &lse])?;
    Ok(Some(recorded(out, &RULE, &[q, k, v], |s, y| {
        s.input(q);
        s.input(k);
        s.input(v);
        s.output(y);
        s.constant(Some(&lse));
        s.attribute(Fused { factor, causal });
    })))
}

const NAME: &str = "scaled_dot_product_attention";

/// The same dtype, device and leading dimensions, and rows that the device's kernel takes.
fn fits(q: &Tensor, k: &Tensor, v: &Tensor) -> bool {
    let ([others @ .., queries, width], [k_others @ .., keys, k_width]) = (q.shape(), k.shape()) else {
        return false;
    };
    let alike = others == k_others && width == k_width && k.shape() == v.shape();
    alike
        && [k, v].iter().all(|t| t.dtype() == q.dtype() && t.device() == q.device())
        && q.numel() > 0
        && *queries > 0
        && *keys > 0
        && width.is_multiple_of(8)
        && q.context().backend.attends(q.dtype(), *width)
}

/// A tensor whose rows lie in a row and 16 bytes aligned, or a copy of it.
fn in_chunks(t: &Tensor) -> Result<Tensor> {
    let layout = t.layout();
    let (last, others) = layout.strides().split_last().unwrap_or((&0, &[]));
    let whole = others.iter().zip(layout.shape()).all(|(step, &n)| n == 1 || step % 8 == 0);
    if *last == 1 && whole && layout.offset().is_multiple_of(8) {
        return Ok(t.clone());
    }
    t.copied(t.dtype(), "contiguous")
}

fn attention_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (q, k, v) = (s.tensor(0)?, s.tensor(1)?, s.tensor(2)?);
    let &Fused { factor, causal } = s.attribute()?;
    if grad_enabled() {
        return recorded_grad(&q, &k, &v, g, factor, causal);
    }
    let (y, lse, context) = (s.tensor(3)?, s.tensor(4)?, q.context());
    let inputs =
        [in_chunks(g)?, in_chunks(&q)?, in_chunks(&k)?, in_chunks(&v)?, y.contiguous_detached()?, lse];
    let empty = |t: &Tensor| Tensor::empty(t.shape(), t.dtype(), &context, BACKWARD);
    let grads = [empty(&q)?, empty(&k)?, empty(&v)?];
    let kernel = Kernel::AttentionGrad { scale: factor, causal };
    launch(BACKWARD, &kernel, &inputs.each_ref().map(In::Tensor), &grads.each_ref())?;
    Ok(grads.into_iter().map(Some).collect())
}

const BACKWARD: &str = "scaled_dot_product_attention_backward";

/// The gradient made of functions that have gradients themselves.
fn recorded_grad(q: &Tensor, k: &Tensor, v: &Tensor, g: &Tensor, factor: f64, causal: bool) -> Result<Grads> {
    let turned = |t: &Tensor| transpose(t, -2, -1);
    let scores = scale(&matmul(q, &turned(k)?)?, factor)?;
    let weights = softmax(&if causal { hide(&scores, &after(&scores)?)? } else { scores }, -1, None)?;
    let by_weights = matmul(g, &turned(v)?)?;
    let mean = sum(&mul(&by_weights, &weights)?, Some(&[-1]), true)?;
    let by_scores = scale(&mul(&weights, &sub(&by_weights, &mean)?)?, factor)?;
    let grads = [matmul(&by_scores, k)?, matmul(&turned(&by_scores)?, q)?, matmul(&turned(&weights)?, g)?];
    Ok(grads.into_iter().map(Some).collect())
}
