//! Normalisation of each channel of each example.

use crate::base::{Error, Result};
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::no_grad;
use crate::op::core::value::Value;
use crate::op::reduce::sums::mean;
use crate::op::shape::repeat::repeat;
use crate::op::shape::view::{reshape, reshape_to};
use crate::tensor::Tensor;

use super::batch_norm::{BatchNorm, ChannelParams, batch_norm};
use super::shared::operands;

/// Normalises each channel (dimension 1) of each example over its places: by its own statistics while `training` is
/// set, by the running ones otherwise. Running statistics follow the mean over the batch.
pub fn instance_norm(x: &Tensor, norm: &BatchNorm) -> Result<Tensor> {
    run(x, norm).map_err(|e| {
        e.in_op("instance_norm", || operands(&[Some(x), norm.weight, norm.bias, norm.running_mean]))
    })
}

fn run(x: &Tensor, norm: &BatchNorm) -> Result<Tensor> {
    let places: usize = x.shape().iter().skip(2).product();
    if norm.training && places == 1 {
        let text = format!(
            "Expected more than 1 spatial element when training, got input size torch.Size({:?})",
            x.shape()
        );
        return Err(Error::value(text));
    }
    let (&[batch, channels, ..], true) = (x.shape(), x.rank() > 2) else {
        return Err(Error::value(format!("expected 3D or 4D input (got {}D input)", x.rank())));
    };
    if !norm.training && (norm.running_mean.is_none() || norm.running_var.is_none()) {
        let text = "Expected running_mean and running_var to be defined when use_input_stats is false";
        return Err(Error::runtime(text));
    }
    let all = [
        ("weight", norm.weight),
        ("bias", norm.bias),
        ("running_mean", norm.running_mean),
        ("running_var", norm.running_var),
    ];
    if let Some((name, t)) =
        all.into_iter().find_map(|(n, t)| t.filter(|t| t.numel() != channels).map(|t| (n, t)))
    {
        return Err(Error::runtime(format!("{name} should contain {channels} elements not {}", t.numel())));
    }
    let each = |t: Option<&Tensor>| t.map(|t| repeat(t, &[batch as i64])).transpose();
    let (weight, bias) = (each(norm.weight)?, each(norm.bias)?);
    let (running_mean, running_var) = (each(norm.running_mean)?, each(norm.running_var)?);
    let mut flat: Vec<usize> = vec![1, batch * channels];
    flat.extend(x.shape().iter().skip(2));
    let out = batch_norm(
        &reshape_to(x, &flat)?,
        &BatchNorm {
            running_mean: running_mean.as_ref(),
            running_var: running_var.as_ref(),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            ..*norm
        },
    )?;
    if norm.training {
        follow(norm.running_mean, running_mean.as_ref(), batch)?;
        follow(norm.running_var, running_var.as_ref(), batch)?;
    }
    reshape_to(&out, x.shape())
}

/// A running statistic becomes the mean of those of the examples.
fn follow(kept: Option<&Tensor>, each: Option<&Tensor>, batch: usize) -> Result<()> {
    let (Some(kept), Some(each)) = (kept, each) else { return Ok(()) };
    let _quiet = no_grad();
    let now = mean(&reshape(each, &[batch as i64, -1])?, Some(&[0]), false)?;
    kept.copy_values(&now, false)?;
    kept.bump_version();
    Ok(())
}

params! {
    InstanceNormParams {
        ..of: ChannelParams;
        use_input_stats: kind::Bool = true, "whether each example's own mean and variance are used, and not the running ones";
        momentum: kind::Float = 0.1, "the share that a batch has in the running statistics";
        eps: kind::Float = 1e-5, "what is added against division by zero";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "instance_norm",
    Family::Normalise,
    "Normalises each channel (dimension 1) of each example over its places.",
    InstanceNormParams::LIST,
    by_name!(InstanceNormParams, |InstanceNormParams {
                                      of,
                                      use_input_stats: training,
                                      momentum,
                                      eps,
                                      ..
                                  }| {
        let ChannelParams { input, running_mean, running_var, weight, bias, .. } = of;
        let norm = BatchNorm { running_mean, running_var, weight, bias, training, momentum, eps };
        instance_norm(input, &norm).map(Value::from)
    }),
)
.forms(&[Form::Functional])
.gradient(Gradient::Composite)
.details(
    "With `use_input_stats` off it normalises by the running statistics, which otherwise follow the batch.",
)
.shapes("(N, C, …) -> the same; statistics, weight and bias (C)")
.errors(&["ValueError: a channel of an example has a single place"])
.example(
    "F::instance_norm(tensor([[[1.0, 3.0], [0.0, 8.0]]]))",
    "tensor([[[-1.0000,  1.0000],\n         [-1.0000,  1.0000]]])",
)
.samples(&[Sample::of(
    "F::instance_norm(x, (), (), w, b)",
    &[
        Draw::of("x", &[2, 3, 4], Domain::Any),
        Draw::of("w", &[3], Domain::Any),
        Draw::of("b", &[3], Domain::Any),
    ],
)])];
