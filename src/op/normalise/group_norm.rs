//! Normalisation over groups of channels.

use crate::base::{Error, Result};
use crate::device::class::KernelClass;
use crate::op::core::autocast;
use crate::op::core::def::{BOTH, Domain, Draw, Family, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::core::wide::in_single;
use crate::op::elementwise::arithmetic::{add, mul};
use crate::op::gather::along_dim::same_place;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

use super::layer_norm::rows_norm;
use super::shared::{channels, check_dtype, kept_channels, operands, statistics_dtype};

/// Normalises each of `groups` groups of channels (dimension 1) per example, then scales and shifts per channel.
pub fn group_norm(
    x: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("group_norm", &[x])? {
        let (weight, bias) = (casts.cast_option(weight)?, casts.cast_option(bias)?);
        return group_norm(&casts.cast(x)?, groups, weight.as_ref(), bias.as_ref(), eps);
    }
    run_group_norm(x, groups, weight, bias, eps)
        .map_err(|e| e.in_op("group_norm", || operands(&[Some(x), weight, bias])))
}

fn run_group_norm(
    x: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let channels = channels(x);
    let Some(count) = usize::try_from(groups).ok().filter(|g| *g > 0) else {
        return Err(Error::runtime(format!("Expected num groups to be greater than 0, got {groups}")));
    };
    if channels == 0 && x.rank() >= 2 {
        return Err(Error::runtime("Expected number of channels to be greater than 0, got 0"));
    }
    if x.rank() < 2 {
        let text = format!("Expected at least 2 dimensions for input tensor but received {}", x.rank());
        return Err(Error::runtime(text));
    }
    if !channels.is_multiple_of(count) {
        return Err(Error::runtime(format!(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape {:?} and \
             num_groups={groups}",
            x.shape()
        )));
    }
    for (argument, t) in [("weight", weight), ("bias", bias)] {
        let Some(t) = t else { continue };
        same_place(x, argument, t, "wrapper_CUDA__native_group_norm")?;
        check_dtype(x, t)?;
        if t.shape() != [channels] {
            return Err(Error::runtime(format!(
                "Expected {argument} to be a vector of size equal to the number of channels in input, but got \
                 {argument} of shape {:?} and input of shape {:?}",
                t.shape(),
                x.shape()
            )));
        }
    }
    if x.shape().iter().skip(2).any(|&size| size == 0) {
        return Err(Error::runtime("Expected HxW to be greater than 0, got 0"));
    }
    let batch = x.shape().first().copied().unwrap_or(0);
    let inner = x.numel() / (batch * count).max(1);
    static KERNEL: Whole =
        Whole::new("native_group_norm", "native_group_norm_backward", "NativeGroupNormBackward0")
            .class(KernelClass::Normalise);
    let weighted = weight.is_some();
    let run = move |all: &[Tensor]| match all {
        [x, weight, bias] => by_groups(x, inner, Some(weight), Some(bias), eps),
        [x, only] if weighted => by_groups(x, inner, Some(only), None, eps),
        [x, bias @ ..] => by_groups(x, inner, None, bias.first(), eps),
        [] => first(all).cloned(),
    };
    let inputs: Vec<&Tensor> = [Some(x), weight, bias].into_iter().flatten().collect();
    let (groups, kept) = ([batch * count], statistics_dtype(x.dtype()));
    KERNEL.run(&inputs, &[(&groups, kept), (&groups, kept)], Box::new(run))
}

fn by_groups(
    x: &Tensor,
    inner: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let kept = kept_channels(x.shape());
    in_single([x], |[x]| {
        let mut out = rows_norm(x, inner.max(1), None, None, eps)?;
        if let Some(w) = weight {
            out = mul(&out, &reshape_to(w, &kept)?)?;
        }
        if let Some(b) = bias {
            out = add(&out, &reshape_to(b, &kept)?)?;
        }
        MemoryFormat::suggested(x).applied(&out)
    })
}

params! {
    GroupNormParams {
        input: kind::Tensor, "a batch, its second dimension the channels";
        num_groups: kind::Int, "how many groups the channels are divided into";
        weight: Maybe<kind::Tensor>, "factors of the channels, or none";
        bias: Maybe<kind::Tensor>, "what is added to each channel, or none";
        eps: kind::Float = 1e-5, "what is added against division by zero";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "group_norm",
    Family::Normalise,
    "Normalises groups of channels per example, then scales and shifts per channel.",
    GroupNormParams::LIST,
    by_name!(GroupNormParams, |a| {
        group_norm(a.input, a.num_groups, a.weight, a.bias, a.eps).map(Value::from)
    }),
)
.forms(BOTH)
.details("Channels are dimension 1 and must divide evenly into `num_groups`.")
.shapes("(N, C, …) -> the same; weight and bias (C)")
.errors(&["RuntimeError: the channels do not divide into `num_groups`"])
.example("F::group_norm(tensor([[1.0, 3.0, 2.0, 6.0]]), 2)", "tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])")
.samples(&[Sample::of(
    "F::group_norm(x, 2, w, b)",
    &[
        Draw::of("x", &[2, 4, 3], Domain::Any),
        Draw::of("w", &[4], Domain::Any),
        Draw::of("b", &[4], Domain::Any),
    ],
)])];
