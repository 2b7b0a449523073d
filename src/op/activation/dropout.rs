//! Dropout: elements, channels or features that are left out by chance.

use crate::base::{DType, Device, Error, Layout, Result, Scalar};
use crate::device::MapOp;
use crate::device::distribution::kept_scale;
use crate::device::kernel::Distribution;
use crate::op::core::args::to_value;
use crate::op::core::def::{BOTH, Family, OpDef};
use crate::op::core::fill::replaced_if;
use crate::op::core::launch::map;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{mul, scale};
use crate::op::random::generator;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor};

use super::functions::with_rule;
use super::variants::row;

/// Zeroes elements with probability `p` and scales the others by `1 / (1 - p)`; `x` itself outside training.
///
/// The mask is drawn as PyTorch's `bernoulli_(1 - p)` and kept as bools for the backward pass.
pub fn dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NativeDropoutBackward0", run: dropout_grad };
    check_probability(p)?;
    if !training || p == 0.0 || x.numel() == 0 {
        return Ok(x.clone());
    }
    if !x.dtype().is_float() {
        let text =
            format!("result type Float can't be cast to the desired output type {}", x.dtype().type_name());
        return Err(Error::runtime(text));
    }
    if p == 1.0 {
        return mul(x, 0.0);
    }
    let (mask, out) = dropped(x, p)?;
    Ok(recorded(out, &RULE, &[x], |s, _| {
        s.constant(Some(&mask));
        s.attribute(p);
    }))
}

/// A mask of bools for `x`, true with probability `1 - p`, drawn in the order in which `x` lies in memory, and what it
/// leaves of `x`.
fn dropped(x: &Tensor, p: f64) -> Result<(Tensor, Tensor)> {
    let keep = Distribution::Keep { p: 1.0 - p, wide: x.dtype() == DType::Float64, vector: vector(x) };
    if x.is_contiguous() {
        return generator::dropped(x, keep, "dropout");
    }
    let order = memory_order(x.layout());
    let (mask, out) = generator::dropped(&x.with_layout(x.layout().permute(&order)?), keep, "dropout")?;
    let back: Vec<usize> = (0..order.len()).filter_map(|d| order.iter().position(|&o| o == d)).collect();
    let turned = |t: Tensor| Ok::<_, Error>(t.with_layout(t.layout().permute(&back)?));
    Ok((turned(mask)?, turned(out)?))
}

/// How many neighbours a thread of PyTorch's kernel keeps or drops at a time: as many as 16 bytes hold, fewer where
/// the number of elements or the place of the first is no multiple of that, one where there are gaps.
fn vector(x: &Tensor) -> u64 {
    let layout = x.layout();
    if !layout.is_dense() {
        return 1;
    }
    let mut vector = (16 / x.dtype().size()).clamp(1, 8);
    while vector > 1 && !(x.numel().is_multiple_of(vector) && layout.offset().is_multiple_of(vector)) {
        vector /= 2;
    }
    vector as u64
}

/// The dimensions from the one with the widest strides to the narrowest, as PyTorch's `empty_like` lays them out.
/// Where strides do not tell (broadcast dimensions), the order of the dimensions stays.
fn memory_order(layout: &Layout) -> Vec<usize> {
    let (shape, strides) = (layout.shape(), layout.strides());
    let at = |d: usize| (strides.get(d).copied().unwrap_or(0), shape.get(d).copied().unwrap_or(1));
    // From the narrowest on.
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    for i in 1..order.len() {
        let mut moving = i;
        for before in (0..i).rev() {
            let (Some(&a), Some(&b)) = (order.get(before), order.get(moving)) else { break };
            let ((stride_a, size_a), (stride_b, size_b)) = (at(a), at(b));
            if stride_a == 0 || stride_b == 0 {
                continue;
            }
            if stride_a > stride_b || (stride_a == stride_b && size_a > size_b) {
                order.swap(before, moving);
                moving = before;
            } else if stride_a < stride_b {
                break;
            }
        }
    }
    order.reverse();
    order
}

/// Fails unless `p` is a probability.
pub(crate) fn check_probability(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    let text = format!("dropout probability has to be between 0 and 1, but got {p}");
    Err(Error::value(text).with_hint("`p` is the share of elements that become 0, such as 0.5"))
}

/// `x * mask / (1 - p)`
fn masked(x: &Tensor, mask: &Tensor, p: f64) -> Result<Tensor> {
    let factor = kept_scale(1.0 - p, x.dtype(), x.device() == Device::Cpu);
    let inputs = [In::Scalar(Scalar::Float(0.0)), In::Tensor(x), In::Tensor(mask)];
    map("dropout", MapOp::Addcmul, &inputs, x.shape(), x.dtype(), x.dtype(), [factor, 0.0], x)
}

fn dropout_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (mask, &p): (Tensor, &f64) = (s.tensor(0)?, s.attribute()?);
    if grad_enabled() {
        return one(scale(&mul(g, &mask)?, kept_scale(1.0 - p, g.dtype(), g.device() == Device::Cpu))?);
    }
    one(masked(g, &mask, p)?)
}

/// Zeroes whole channels of `[n, channels, …]` with probability `p` and scales the others by `1 / (1 - p)`.
pub(crate) fn feature_dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    check_probability(p)?;
    if !training || p == 0.0 {
        return Ok(x.clone());
    }
    let Some(&[n, channels]) = x.shape().get(..2) else {
        return Err(Error::runtime("Feature dropout requires at least 2 dimensions in the input"));
    };
    let mut shape = vec![1; x.rank()];
    for (slot, size) in shape.iter_mut().zip([n, channels]) {
        *slot = size;
    }
    let ones = Tensor::full(&shape, 1i64.into(), x.dtype(), &x.context(), "feature_dropout")?;
    mul(x, &dropout(&ones, p, true)?)
}

/// [`feature_dropout`] of signals; one without a batch is `[channels, length]`.
pub(crate) fn dropout1d(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    match x.rank() {
        2 => squeeze(&feature_dropout(&unsqueeze(x, 0)?, p, training)?, Some(&[0])),
        3 => feature_dropout(x, p, training),
        other => {
            let text = format!("dropout1d: Expected 2D or 3D input, but received a {other}D input.");
            Err(Error::runtime(text))
        }
    }
}

/// [`feature_dropout`] of volumes; one without a batch is `[channels, d, h, w]`.
fn dropout3d(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    match x.rank() {
        4 => squeeze(&feature_dropout(&unsqueeze(x, 0)?, p, training)?, Some(&[0])),
        _ => feature_dropout(x, p, training),
    }
}

params! {
    DropoutParams {
        input: kind::Tensor, "the tensor whose elements or channels are zeroed";
        p: kind::Float = 0.5, "how likely each is zeroed";
        training: kind::Bool = true, "whether any are; outside training the tensor stays as it is";
        inplace: kind::Bool = false, "writes to the tensor itself, and gives it";
    }
}

impl DropoutParams<'_> {
    fn run(self, drop: fn(&Tensor, f64, bool) -> Result<Tensor>) -> Result<Value> {
        let DropoutParams { input, p, training, inplace, .. } = self;
        to_value(replaced_if(inplace, input, |x| drop(x, p, training)))
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    with_rule(
        "dropout",
        "Zeroes elements with probability `p` and scales the others by `1 / (1 - p)`.",
        DropoutParams::LIST,
        by_name!(DropoutParams, |a| a.run(dropout)),
        "NativeDropoutBackward0",
    )
    .forms(BOTH)
    .details("Outside training the tensor stays as it is. The draw follows PyTorch's generator.")
    .shapes(shapes::SAME)
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: while training, the tensor holds integers or bools",
    ])
    .example("manual_seed(0); F::dropout(ones(5), 0.5)", "tensor([0., 0., 2., 0., 0.])"),
    row(
        "dropout1d",
        Family::Activation,
        "Zeroes whole channels of `[n, channels, length]` with probability `p` and scales the others.",
        DropoutParams::LIST,
        by_name!(DropoutParams, |a| a.run(dropout1d)),
    )
    .shapes("(N, C, L) or (C, L) -> the same")
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: the input has neither two nor three dimensions, or holds integers or bools while training",
    ])
    .example("manual_seed(0); F::dropout1d(ones([1, 3, 2]), 0.5)[0].sum(1)", "tensor([0., 0., 4.])"),
    row(
        "dropout2d",
        Family::Activation,
        "Zeroes whole channels of `[n, channels, h, w]` with probability `p` and scales the others.",
        DropoutParams::LIST,
        by_name!(DropoutParams, |a| a.run(feature_dropout)),
    )
    .shapes("(N, C, H, W) -> the same, as any with two dimensions or more")
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: the input has fewer than two dimensions, or holds integers or bools while training",
    ])
    .example("manual_seed(0); F::dropout2d(ones([1, 3, 2, 2]), 0.5)[0].sum([1, 2])", "tensor([0., 0., 8.])"),
    row(
        "dropout3d",
        Family::Activation,
        "Zeroes whole channels of `[n, channels, d, h, w]` with probability `p` and scales the others.",
        DropoutParams::LIST,
        by_name!(DropoutParams, |a| a.run(dropout3d)),
    )
    .shapes("(N, C, D, H, W) or (C, D, H, W) -> the same, as (N, C, …) of other dimensions")
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: the input has fewer than two dimensions, or holds integers or bools while training",
    ])
    .example("manual_seed(0); F::dropout3d(ones([1, 3, 1, 2, 2]), 0.5)[0].sum([1, 2, 3])", "tensor([0., 0., 8.])"),
];
