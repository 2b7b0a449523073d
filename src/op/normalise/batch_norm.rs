//! Normalisation per channel over a batch, from reductions and maps.

use crate::base::{DType, Error, Layout, Result, Scalar, ShapeCause, python};
use crate::device::kernel::ReduceOp;
use crate::device::{Kernel, MapOp};
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::launch::map;
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, recorded, wanted};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{mul, scale, shift, specs, sub};
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
fn affine(x: &Tensor, factor: &Tensor, shift: &Tensor, name: &'static str) -> Result<Tensor> {
    let (a, b) = (over(factor, x.shape())?, over(shift, x.shape())?);
    let inputs = [In::Laid(shift, &b), In::Tensor(x), In::Laid(factor, &a)];
    let compute = statistics_dtype(x.dtype());
    map(name, MapOp::Addcmul, &inputs, x.shape(), x.dtype(), compute, [1.0, 0.0], x)
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
}

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
        let (mean, variance) = statistics(x, norm)?;
        let rstd = rsqrt(&shift(&variance, norm.eps)?)?;
        let factor = norm.weight.map_or_else(|| Ok(rstd.clone()), |w| mul(&rstd, w))?;
        let moved = mul(&mean, &factor)?;
        let by = norm.bias.map_or_else(|| scale(&moved, -1.0), |b| sub(b, &moved))?;
        (affine(x, &factor, &by, "batch_norm")?, mean, rstd)
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
        s.attribute(Batch { eps: norm.eps, training: norm.training, weight, bias });
    }))
}

/// Mean and biased variance per channel; the running ones are updated while training.
fn statistics(x: &Tensor, norm: &BatchNorm) -> Result<(Tensor, Tensor)> {
    let kept = statistics_dtype(x.dtype());
    if let (false, Some(mean), Some(variance)) = (norm.training, norm.running_mean, norm.running_var) {
        // A copy: later training steps write to the running statistics, and the graph keeps these.
        return Ok((mean.copied(kept, "batch_norm")?, variance.copied(kept, "batch_norm")?));
    }
    let count = (x.numel() / channels(x).max(1)) as f64;
    let mean = reduce_channels(x, ReduceOp::Sum { scale: 1.0 / count }, kept, "batch_norm")?;
    let variance = reduce_channels(x, ReduceOp::Var { correction: 0.0, root: false }, kept, "batch_norm")?;
    let m = norm.momentum;
    let follow = |running: Option<&Tensor>, now: &Tensor, share: f64| -> Result<()> {
        if let Some(running) = running {
            specs::Mul.apply_in_place(running, Operand::Scalar(Scalar::Float(1.0 - m)), [0.0; 2])?;
            specs::Add.apply_in_place(running, Operand::Tensor(now), [share, 0.0])?;
        }
        Ok(())
    };
    follow(norm.running_mean, &mean, m)?;
    follow(norm.running_var, &variance, m * count / (count - 1.0))?;
    Ok((mean, variance))
}

fn batch_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let (mean, rstd) = (s.tensor(1)?, s.tensor(2)?);
    let weight = s.optional(3)?;
    let about: &Batch = s.attribute()?;
    if grad_enabled() {
        return batch_grad_recorded(s, &x, g, &mean, &rstd, weight.as_ref(), about);
    }
    let factor = weight.as_ref().map_or_else(|| Ok(rstd.clone()), |w| mul(&rstd, w))?;
    let kept = statistics_dtype(x.dtype());
    let total = reduce_channels(g, ReduceOp::Sum { scale: 1.0 }, kept, "batch_norm_backward")?;
    let at = over(&mean, x.shape())?;
    let inputs = [In::Tensor(&x), In::Laid(&mean, &at)];
    let name = "batch_norm_backward";
    let centred = map(name, MapOp::Sub, &inputs, x.shape(), kept, kept, [1.0, 0.0], &x)?;
    let product = mul(g, &centred)?;
    let dot = reduce_channels(&product, ReduceOp::Sum { scale: 1.0 }, kept, name)?;
    drop(product);
    let dx = match (s.needs(0), about.training) {
        (false, _) => None,
        (true, false) => Some(affine(g, &factor, &scale(&mean, 0.0)?, name)?),
        (true, true) => Some(batch_dx(g, &centred, &rstd, &factor, &total, &dot)?),
    };
    let mut grads: Grads = [dx].into_iter().collect();
    if about.weight {
        grads.push(wanted(s, 1, || mul(&dot, &rstd))?);
    }
    if about.bias {
        grads.push(Some(total));
    }
    Ok(grads)
}

/// `factor * (g - mean(g) - centred * rstd² * mean(g * centred))`
fn batch_dx(
    g: &Tensor,
    centred: &Tensor,
    rstd: &Tensor,
    factor: &Tensor,
    total: &Tensor,
    dot: &Tensor,
) -> Result<Tensor> {
    let count = (g.numel() / channels(g).max(1)) as f64;
    let offset = scale(&mul(total, factor)?, -1.0 / count)?;
    let slope = scale(&mul(&mul(dot, factor)?, &mul(rstd, rstd)?)?, -1.0 / count)?;
    let dx = affine(g, factor, &offset, "batch_norm_backward")?;
    let laid = over(&slope, g.shape())?;
    let inputs = [In::Tensor(&dx), In::Tensor(centred), In::Laid(&slope, &laid)];
    let kernel = Kernel::Map { op: MapOp::Addcmul, params: [1.0, 0.0], compute: statistics_dtype(g.dtype()) };
    launch("batch_norm_backward", &kernel, &inputs, &[&dx])?;
    Ok(dx)
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
