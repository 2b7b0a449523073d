//! Normalisation: the rows, normalisation over groups of channels, and what its kinds share.

use crate::base::{DType, Dims, Error, Result};
use crate::tensor::Tensor;
use crate::tensor::accumulate::sum_to;

use super::activation::BOTH;
use super::args::{Args, Value};
use super::autocast;
use super::batch_norm::{BatchNorm, batch_norm};
use super::binary::{add, mul, sub};
use super::def::{DefaultValue, Domain, Draw, Family, Form, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use super::layer_norm::{layer_norm, rows_norm};
use super::movement::reshape_to;
use super::scatter::same_place;
use super::unary::{rsqrt, scale, shift, square};

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

/// What errors say of the operands that are there.
pub fn operands(all: &[Option<&Tensor>]) -> Vec<crate::base::error::Operand> {
    all.iter().flatten().map(|t| t.operand()).collect()
}

/// Parameters have the input's dtype; float32 ones also go with half types.
pub fn check_dtype(x: &Tensor, parameter: &Tensor) -> Result<()> {
    let half = matches!(x.dtype(), DType::Float16 | DType::BFloat16);
    if parameter.dtype() == x.dtype() || (half && parameter.dtype() == DType::Float32) {
        return Ok(());
    }
    Err(Error::runtime("mixed dtype (CPU): expect parameter to have scalar type of Float")
        .with_hint(format!("the input is {} and the parameter {}", x.dtype(), parameter.dtype())))
}

/// The dtype that statistics are kept in.
pub fn statistics_dtype(x: DType) -> DType {
    if x == DType::Float64 { x } else { DType::Float32 }
}

/// Gradient of the plain normalisation over the dimensions that `kept` has as 1, and the normalised values, as
/// recorded operations.
pub fn standard_grad(x: &Tensor, g: &Tensor, kept: &[usize], eps: f64) -> Result<(Tensor, Tensor)> {
    let count = (x.numel() / kept.iter().product::<usize>().max(1)).max(1) as f64;
    let mean = |t: &Tensor| scale(&sum_to(t, kept)?, 1.0 / count);
    let centred = sub(x, &mean(x)?)?;
    let rstd = rsqrt(&shift(&mean(&square(&centred)?)?, eps)?)?;
    let normal = mul(&centred, &rstd)?;
    let along = mul(&normal, &mean(&mul(g, &normal)?)?)?;
    let dx = mul(&sub(&sub(g, &mean(g)?)?, &along)?, &rstd)?;
    Ok((dx, normal))
}

/// The size of dimension 1.
pub fn channels(x: &Tensor) -> usize {
    x.shape().get(1).copied().unwrap_or(1)
}

/// `[1, channels, 1, …]`
pub fn kept_channels(shape: &[usize]) -> Dims {
    shape.iter().enumerate().map(|(i, &d)| if i == 1 { d } else { 1 }).collect()
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
    if x.rank() < 2 || !channels.is_multiple_of(count) {
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
    let batch = x.shape().first().copied().unwrap_or(0);
    let inner = x.numel() / (batch * count).max(1);
    let mut out = rows_norm(x, inner.max(1), None, None, eps)?;
    let kept = kept_channels(x.shape());
    if let Some(w) = weight {
        out = mul(&out, &reshape_to(w, &kept)?)?;
    }
    if let Some(b) = bias {
        out = add(&out, &reshape_to(b, &kept)?)?;
    }
    Ok(out)
}

const EPS: Param = Param::optional("eps", ParamKind::Float, DefaultValue::Float(1e-5));
const WEIGHT: Param = Param::optional("weight", ParamKind::Tensor, DefaultValue::None);
const BIAS: Param = Param::optional("bias", ParamKind::Tensor, DefaultValue::None);
const RUNNING_MEAN: Param = Param::optional("running_mean", ParamKind::Tensor, DefaultValue::None);
const RUNNING_VAR: Param = Param::optional("running_var", ParamKind::Tensor, DefaultValue::None);

fn call_batch_norm(a: &Args) -> Result<Value> {
    let norm = BatchNorm {
        running_mean: a.optional_tensor(1),
        running_var: a.optional_tensor(2),
        weight: a.optional_tensor(3),
        bias: a.optional_tensor(4),
        training: a.bool(5)?,
        momentum: a.float(6)?,
        eps: a.float(7)?,
    };
    batch_norm(a.tensor(0)?, &norm).map(Value::from)
}

/// The rows of this family.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "layer_norm",
        Family::Normalise,
        "Normalises over the trailing dimensions, then scales and shifts.",
        &[SELF, Param::required("normalized_shape", ParamKind::Ints), WEIGHT, BIAS, EPS],
        |a| {
            layer_norm(a.tensor(0)?, &a.ints(1)?, a.optional_tensor(2), a.optional_tensor(3), a.float(4)?)
                .map(Value::from)
        },
    )
    .forms(BOTH)
    .gradient(Gradient::Vjp("NativeLayerNormBackward0"))
    .details("`normalized_shape` names the trailing sizes; `eps` is added to the variance.")
    .example("F::layer_norm(tensor([[1.0, 2.0, 3.0]]), [3])", "tensor([[-1.2247,  0.0000,  1.2247]])")
    .samples(&[Sample::of(
        "F::layer_norm(x, [4], w, b)",
        &[
            Draw::of("x", &[3, 4], Domain::Any),
            Draw::of("w", &[4], Domain::Any),
            Draw::of("b", &[4], Domain::Any),
        ],
    )]),
    OpDef::call(
        "batch_norm",
        Family::Normalise,
        "Normalises each channel over the batch, or by running statistics.",
        &[
            SELF,
            RUNNING_MEAN,
            RUNNING_VAR,
            WEIGHT,
            BIAS,
            Param::optional("training", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("momentum", ParamKind::Float, DefaultValue::Float(0.1)),
            EPS,
        ],
        call_batch_norm,
    )
    .forms(&[Form::Functional])
    .gradient(Gradient::Vjp("NativeBatchNormBackward0"))
    .details(
        "Channels are dimension 1. While training the batch's own mean and variance are used, and the running ones \
         follow them in place; otherwise the running ones are used.",
    )
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
    OpDef::call(
        "group_norm",
        Family::Normalise,
        "Normalises groups of channels per example, then scales and shifts per channel.",
        &[SELF, Param::required("num_groups", ParamKind::Int), WEIGHT, BIAS, EPS],
        |a| {
            group_norm(a.tensor(0)?, a.int(1)?, a.optional_tensor(2), a.optional_tensor(3), a.float(4)?)
                .map(Value::from)
        },
    )
    .forms(BOTH)
    .details("Channels are dimension 1 and must divide evenly into `num_groups`.")
    .example("F::group_norm(tensor([[1.0, 3.0, 2.0, 6.0]]), 2)", "tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])")
    .samples(&[Sample::of(
        "F::group_norm(x, 2, w, b)",
        &[
            Draw::of("x", &[2, 4, 3], Domain::Any),
            Draw::of("w", &[4], Domain::Any),
            Draw::of("b", &[4], Domain::Any),
        ],
    )]),
];
