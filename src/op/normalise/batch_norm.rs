//! Normalisation per channel over a batch.

use smallvec::SmallVec;

use crate::base::{DType, Error, Layout, Result, Scalar, ShapeCause, python};
use crate::device::kernel::ReduceOp;
use crate::device::{Kernel, MapOp};
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::launch::map;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, recorded, wanted};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{mul, scale, shift, sub};
use crate::op::elementwise::unary::rsqrt;
use crate::op::gather::along_dim::same_place;
use crate::op::shape::view::reshape_to;
use crate::tensor::accumulate::sum_to;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor, launch};

use super::shared::{channels, check_dtype, kept_channels, operands, standard_grad, statistics_dtype};

/// What [`batch_norm`] takes beside its input.
#[derive(Clone, Copy)]
pub struct BatchNorm<'a> {
    /// Updated in place while training.
    pub running_mean: Option<&'a Tensor>,
    pub running_var: Option<&'a Tensor>,
    pub weight: Option<&'a Tensor>,
    pub bias: Option<&'a Tensor>,
    pub training: bool,
    /// The share of the batch in the running statistics.
    pub momentum: f64,
    pub eps: f64,
}

/// Normalises each channel (dimension 1) over all other dimensions: by the batch's own statistics while
/// training, by the running ones otherwise. The running variance takes the unbiased estimate, as PyTorch's.
pub fn batch_norm(x: &Tensor, norm: &BatchNorm) -> Result<Tensor> {
    run_batch_norm(x, norm).map_err(|e| {
        e.in_op("batch_norm", || operands(&[Some(x), norm.weight, norm.bias, norm.running_mean]))
    })
}

/// The sum over all dimensions but the second, `[channels]`.
pub(crate) fn channel_sum(x: &Tensor) -> Result<Tensor> {
    if grad_enabled() {
        let kept = kept_channels(x.shape());
        return reshape_to(&sum_to(x, &kept)?, &[channels(x)]);
    }
    reduce_channels(x, ReduceOp::Sum { scale: 1.0 }, x.dtype(), "sum")
}

fn reduce_channels(x: &Tensor, op: ReduceOp, dtype: DType, name: &'static str) -> Result<Tensor> {
    let out = Tensor::empty(&[channels(x)], dtype, &x.context(), name)?;
    let target = out.with_layout(Layout::contiguous(&kept_channels(x.shape()))?);
    let dims = (0..x.rank().min(64)).filter(|&d| d != 1).fold(0u64, |mask, d| mask | (1 << d));
    launch(name, &Kernel::Reduce { op, dims }, &[In::Tensor(x)], &[&target])?;
    Ok(out)
}

/// A per-channel vector laid out over a whole input.
fn over(vector: &Tensor, shape: &[usize]) -> Result<Layout> {
    let kept = vector.layout().view(&kept_channels(shape)).ok_or(ShapeCause::ViewNotContiguous)?;
    kept.expand(shape)
}

/// `shift + factor * x` per channel.
fn affine(x: &Tensor, factor: &Tensor, shift: &Tensor) -> Result<Tensor> {
    let (a, b) = (over(factor, x.shape())?, over(shift, x.shape())?);
    let inputs = [In::Laid(shift, &b), In::Tensor(x), In::Laid(factor, &a)];
    let compute = statistics_dtype(x.dtype());
    map(NAME, MapOp::Addcmul, &inputs, x.shape(), x.dtype(), compute, [1.0, 0.0], x)
}

fn check_batch_norm(x: &Tensor, norm: &BatchNorm) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::value(format!("expected 2D or 3D input (got {}D input)", x.rank())));
    }
    if !x.dtype().is_float() {
        let text = format!("\"batch_norm\" not implemented for '{}'", x.dtype().type_name());
        return Err(Error::runtime(text));
    }
    let channels = channels(x);
    if norm.training && x.numel() == channels {
        let text = format!(
            "Expected more than 1 value per channel when training, got input size torch.Size({:?})",
            x.shape()
        );
        return Err(Error::value(text).with_hint("use a batch of at least 2, or `net.eval()`"));
    }
    let all = [
        ("running_mean", norm.running_mean),
        ("running_var", norm.running_var),
        ("weight", norm.weight),
        ("bias", norm.bias),
    ];
    for (name, t) in all {
        match t {
            Some(t) if t.numel() != channels => {
                let text = format!("{name} should contain {channels} elements not {}", t.numel());
                return Err(Error::runtime(text));
            }
            None if !norm.training && name.starts_with("running") => {
                return Err(Error::runtime(format!("{name} must be defined in evaluation mode")));
            }
            _ => {}
        }
    }
    let order = [("weight", norm.weight), ("bias", norm.bias), ("running_mean", norm.running_mean)];
    for (argument, t) in order.into_iter().chain([("running_var", norm.running_var)]) {
        if let Some(t) = t {
            same_place(x, argument, t, "wrapper_CUDA__native_batch_norm")?;
            check_dtype(x, t)?;
        }
    }
    Ok(())
}

/// What the backward pass of a batch normalisation needs.
struct Batch {
    eps: f64,
    training: bool,
    weight: bool,
    bias: bool,
    /// The dtype of their gradients.
    parameters: DType,
}

const NAME: &str = "batch_norm";

fn run_batch_norm(x: &Tensor, norm: &BatchNorm) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NativeBatchNormBackward0", run: batch_grad };
    check_batch_norm(x, norm)?;
    if norm.training && norm.eps <= 0.0 {
        let text =
            format!("batch_norm eps must be positive during training, but got {}", python::float(norm.eps));
        return Err(Error::value(text));
    }
    if x.numel() == 0 {
        return crate::op::core::convert::cloned(x);
    }
    let (out, mean, rstd) = {
        let _quiet = no_grad();
        match (norm.training, norm.running_mean, norm.running_var) {
            (false, Some(mean), Some(variance)) => by_running(x, norm, mean, variance)?,
            _ => by_batch(x, norm)?,
        }
    };
    let tracked: Vec<&Tensor> = [Some(x), norm.weight, norm.bias].into_iter().flatten().collect();
    Ok(recorded(out, &RULE, &tracked, |s, _| {
        s.input(x);
        s.constant(Some(&mean));
        s.constant(Some(&rstd));
        if let Some(w) = norm.weight {
            s.input(w);
        }
        let (weight, bias) = (norm.weight.is_some(), norm.bias.is_some());
        let parameters = norm.weight.or(norm.bias).map_or(x.dtype(), Tensor::dtype);
        s.attribute(Batch { eps: norm.eps, training: norm.training, weight, bias, parameters });
    }))
}

/// The result by the running statistics, with the means and the inverse deviations that it took.
fn by_running(
    x: &Tensor,
    norm: &BatchNorm,
    mean: &Tensor,
    variance: &Tensor,
) -> Result<(Tensor, Tensor, Tensor)> {
    // Copies: later training steps write to the running statistics, and the graph keeps these.
    let kept = statistics_dtype(x.dtype());
    let (mean, variance) = (mean.copied(kept, NAME)?, variance.copied(kept, NAME)?);
    let rstd = rsqrt(&shift(&variance, norm.eps)?)?;
    let factor = norm.weight.map_or_else(|| Ok(rstd.clone()), |w| mul(&rstd, w))?;
    let moved = mul(&mean, &factor)?;
    let by = norm.bias.map_or_else(|| scale(&moved, -1.0), |b| sub(b, &moved))?;
    Ok((affine(x, &factor, &by)?, mean, rstd))
}

/// The result by the batch's own statistics, with their means and inverse deviations; the running ones follow.
fn by_batch(x: &Tensor, norm: &BatchNorm) -> Result<(Tensor, Tensor, Tensor)> {
    let (packed, out, target) = as_planes(x, NAME)?;
    let context = x.context();
    let statistic = |value: f64| {
        let scalar = Scalar::Float(value);
        Tensor::full(&[channels(x)], scalar, statistics_dtype(x.dtype()), &context, NAME)
    };
    let empty = || Tensor::empty(&[channels(x)], statistics_dtype(x.dtype()), &context, NAME);
    let (mean, rstd) = (empty()?, empty()?);
    let (weight, bias) = (flat(norm.weight)?, flat(norm.bias)?);
    let inputs = [In::Tensor(&packed), or_number(weight.as_ref(), 1.0), or_number(bias.as_ref(), 0.0)];
    // Where one of them alone is kept, the other is not looked at again.
    let running = match (flat(norm.running_mean)?, flat(norm.running_var)?) {
        (None, None) => None,
        (mean, variance) => {
            Some((mean.map_or_else(|| statistic(0.0), Ok)?, variance.map_or_else(|| statistic(1.0), Ok)?))
        }
    };
    let kernel = Kernel::BatchNorm { eps: norm.eps, momentum: norm.momentum };
    match &running {
        Some((to_mean, to_variance)) => {
            launch(NAME, &kernel, &inputs, &[&target, &mean, &rstd, to_mean, to_variance])?;
        }
        None => launch(NAME, &kernel, &inputs, &[&target, &mean, &rstd])?,
    }
    [norm.running_mean, norm.running_var].into_iter().flatten().for_each(Tensor::bump_version);
    Ok((out, mean, rstd))
}

/// A batch as `[n, channels, plane]`, packed first where its strides need it; new memory that lies as it does, and that as
/// `[n, channels, plane]`.
fn as_planes(x: &Tensor, name: &'static str) -> Result<(Tensor, Tensor, Tensor)> {
    let shape = planes_shape(x);
    let dense = x.layout().dense_like()?;
    let (packed, layout) = match (x.layout().view(&shape), dense.view(&shape)) {
        (Some(view), Some(_)) => (x.with_layout(view), dense),
        _ => (packed_planes(x)?, Layout::contiguous(x.shape())?),
    };
    let out = Tensor::empty_in(layout, x.dtype(), &x.context(), name)?;
    let view = out.layout().view(&shape).ok_or(ShapeCause::ViewNotContiguous)?;
    let target = out.with_layout(view);
    Ok((packed, out, target))
}

/// A batch as `[n, channels, plane]`, packed first where its strides need it.
fn packed_planes(x: &Tensor) -> Result<Tensor> {
    let shape = planes_shape(x);
    match x.layout().view(&shape) {
        Some(view) => Ok(x.with_layout(view)),
        None => Ok(x.contiguous_detached()?.with_layout(Layout::contiguous(&shape)?)),
    }
}

fn planes_shape(x: &Tensor) -> [usize; 3] {
    let n = x.shape().first().copied().unwrap_or(1);
    [n, channels(x), x.shape().iter().skip(2).product()]
}

/// One number for each channel as a vector.
fn flat(parameter: Option<&Tensor>) -> Result<Option<Tensor>> {
    let flatten = |t: &Tensor| -> Result<Tensor> {
        let layout = t.layout().view(&[t.numel()]).ok_or(ShapeCause::ViewNotContiguous)?;
        Ok(t.with_layout(layout))
    };
    parameter.map(flatten).transpose()
}

fn or_number(parameter: Option<&Tensor>, number: f64) -> In<'_> {
    parameter.map_or(In::Scalar(Scalar::Float(number)), In::Tensor)
}

fn batch_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let (mean, rstd) = (s.tensor(1)?, s.tensor(2)?);
    let weight = s.optional(3)?;
    let about: &Batch = s.attribute()?;
    if grad_enabled() {
        return batch_grad_recorded(s, &x, g, &mean, &rstd, weight.as_ref(), about);
    }
    let name = "batch_norm_backward";
    let (packed, dx, target) = as_planes(&x, name)?;
    let upstream = packed_planes(g)?;
    let w = flat(weight.as_ref())?;
    let inputs = [&upstream, &packed, &mean, &rstd].map(In::Tensor);
    let inputs: SmallVec<[In; 5]> = inputs.into_iter().chain([or_number(w.as_ref(), 1.0)]).collect();
    let kernel = Kernel::BatchNormGrad { training: about.training };
    let mut grads: Grads = [Some(dx)].into_iter().collect();
    if !about.weight && !about.bias {
        launch(name, &kernel, &inputs, &[&target])?;
        return Ok(grads);
    }
    let parameter = || Tensor::empty(&[channels(&x)], about.parameters, &x.context(), name);
    let (dweight, dbias) = (parameter()?, parameter()?);
    launch(name, &kernel, &inputs, &[&target, &dweight, &dbias])?;
    if about.weight {
        grads.push(Some(dweight));
    }
    if about.bias {
        grads.push(Some(dbias));
    }
    Ok(grads)
}

fn batch_grad_recorded(
    s: &Saved,
    x: &Tensor,
    g: &Tensor,
    mean: &Tensor,
    rstd: &Tensor,
    weight: Option<&Tensor>,
    about: &Batch,
) -> Result<Grads> {
    let kept = kept_channels(x.shape());
    let wide = |t: &Tensor| reshape_to(t, &kept);
    let scaled = weight.map_or_else(|| Ok(g.clone()), |w| mul(g, &wide(w)?))?;
    let (dx, normal) = if about.training {
        standard_grad(x, &scaled, &kept, about.eps)?
    } else {
        (mul(&scaled, &wide(rstd)?)?, mul(&sub(x, &wide(mean)?)?, &wide(rstd)?)?)
    };
    let mut grads: Grads = [Some(dx)].into_iter().collect();
    if about.weight {
        grads.push(wanted(s, 1, || channel_sum(&mul(g, &normal)?))?);
    }
    if about.bias {
        grads.push(Some(channel_sum(g)?));
    }
    Ok(grads)
}

params! {
    /// What is normalised, and by what.
    pub(super) group ChannelParams {
        input: kind::Tensor, "the batch; dimension 1 holds its channels";
        running_mean: Maybe<kind::Tensor>, "the mean of each channel so far, which follows the batch in place";
        running_var: Maybe<kind::Tensor>, "the variance of each channel so far, which follows the batch in place";
        weight: Maybe<kind::Tensor>, "a factor for each normalised channel, or none";
        bias: Maybe<kind::Tensor>, "what is added to each normalised channel, or none";
    }
}

params! {
    BatchNormParams {
        ..of: ChannelParams;
        training: kind::Bool = false, "whether the batch's own mean and variance are used, and not the running ones";
        momentum: kind::Float = 0.1, "the share that a batch has in the running statistics";
        eps: kind::Float = 1e-5, "what is added against division by zero";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "batch_norm",
        Family::Normalise,
        "Normalises each channel over the batch, or by running statistics.",
        BatchNormParams::LIST, by_name!(BatchNormParams, |BatchNormParams { of, training, momentum, eps, .. }| {
    let ChannelParams { input, running_mean, running_var, weight, bias, .. } = of;
    let norm = BatchNorm { running_mean, running_var, weight, bias, training, momentum, eps };
    batch_norm(input, &norm).map(Value::from)
}),
    )
    .forms(&[Form::Functional])
    .gradient(Gradient::Vjp("NativeBatchNormBackward0"))
    .details(
        "Channels are dimension 1. While training the batch's own mean and variance are used, and the running ones \
         follow them in place; otherwise the running ones are used.",
    )
    .shapes("(N, C) or (N, C, …) -> the same; statistics, weight and bias (C)")
    .errors(&[
        "ValueError: a channel has a single value while training",
        "ValueError: `eps` is not above 0 while training",
        "RuntimeError: statistics or weights are not (C), or there are no statistics outside of training",
    ])
    .example(
        "F::batch_norm(tensor([[1.0], [3.0]]), (), (), #{training: true})",
        "tensor([[-1.0000],\n        [ 1.0000]])",
    )
    .samples(&[
        Sample::of(
            "F::batch_norm(x, (), (), w, b, true)",
            &[
                Draw::of("x", &[3, 2, 2, 2], Domain::Any),
                Draw::of("w", &[2], Domain::Any),
                Draw::of("b", &[2], Domain::Any),
            ],
        ),
        Sample::of(
            "F::batch_norm(x, tensor([0.5, -0.5]).to(x), tensor([1.5, 0.5]).to(x), w)",
            &[Draw::of("x", &[3, 2], Domain::Any), Draw::of("w", &[2], Domain::Any)],
        ),
    ]),
];
