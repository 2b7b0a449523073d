//! Functions of networks that are composed of other operations, gradients and all.

use crate::base::{DType, Error, Result, shape};
use crate::tensor::Tensor;

use super::activation::{FUNCTIONAL, check_probability, dropout, elu, softplus};
use super::args::{Args, Value};
use super::binary::{div, gt, mul};
use super::convert::to_dtype;
use super::def::{DefaultValue, Domain, Draw, Family, OpDef, Operand, Param, ParamKind, SELF, Sample};
use super::joins::chunk;
use super::movement::{reshape, squeeze, unsqueeze};
use super::pooling::{Pool, adaptive_avg_pool2d, avg_pool2d, max_pool2d};
use super::reduce::{mean, norm};
use super::scan::softmax;
use super::select::{clamp, clamp_min, where_};
use super::unary::{abs, neg, rsqrt, scale, shift, sigmoid, square};

/// `x / (1 + |x|)`
pub fn softsign(x: &Tensor) -> Result<Tensor> {
    div(x, &shift(&abs(x)?, 1.0)?)
}

/// `clamp(x + 3, 0, 6) / 6`
pub fn hardsigmoid(x: &Tensor) -> Result<Tensor> {
    scale(&clamp(&shift(x, 3.0)?, Some(0i64.into()), Some(6i64.into()))?, 1.0 / 6.0)
}

/// `x * hardsigmoid(x)`
pub fn hardswish(x: &Tensor) -> Result<Tensor> {
    mul(x, &hardsigmoid(x)?)
}

/// `log(sigmoid(x))`, without overflow.
pub fn logsigmoid(x: &Tensor) -> Result<Tensor> {
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    neg(&softplus(&neg(x)?, 1.0, 20.0)?)
}

/// The self-normalising unit (Klambauer et al., 2017): a scaled `elu`.
pub fn selu(x: &Tensor) -> Result<Tensor> {
    scale(&elu(x, 1.673_263_242_354_377_2)?, 1.050_700_987_355_480_5)
}

/// `elu` that is smooth for every `alpha`: `alpha * (exp(x / alpha) - 1)` below 0.
pub fn celu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    if alpha == 0.0 {
        return Err(Error::runtime("ZeroDivisionError: alpha cannot be 0 for CELU"));
    }
    scale(&elu(&scale(x, 1.0 / alpha)?, 1.0)?, alpha)
}

/// The first half along a dimension times the sigmoid of the second.
pub fn glu(x: &Tensor, dim: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::runtime("glu does not support 0-dimensional tensors"));
    }
    let at = shape::wrap_dim(dim, x.rank())?;
    let size = x.size(dim)?;
    if !size.is_multiple_of(2) {
        let text = format!("Halving dimension must be even, but dimension {at} is size {size}");
        return Err(Error::runtime(text));
    }
    match chunk(x, 2, dim)?.as_slice() {
        [value, gate] => mul(value, &sigmoid(gate)?),
        _ => Ok(x.clone()),
    }
}

/// `x` where positive, `weight * x` elsewhere; one weight, or one for each channel (dimension 1).
pub fn prelu(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if let Some(casts) = super::autocast::enter("prelu", &[x, weight])? {
        return prelu(&casts.cast(x)?, &casts.cast(weight)?);
    }
    let count = weight.numel();
    let weight = if count == 1 {
        reshape(weight, &[1])?
    } else {
        let channels = x.shape().get(1).copied().unwrap_or(1);
        if channels != count {
            let text = format!(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel \
                 size = {channels}."
            );
            return Err(Error::runtime(text));
        }
        let mut wide = vec![1; x.rank()];
        if let Some(slot) = wide.get_mut(1) {
            *slot = count as i64;
        }
        reshape(weight, &wide)?
    };
    where_(&gt(x, 0.0)?, Operand::Tensor(x), Operand::Tensor(&mul(x, &weight)?))
}

/// `x` divided by its `p`-norm along a dimension, but never by less than `eps`.
pub fn normalize(x: &Tensor, p: f64, dim: i64, eps: f64) -> Result<Tensor> {
    div(x, &clamp_min(&norm(x, p, Some(&[dim]), true)?, eps.into())?)
}

/// `x` divided by the root of its mean square over trailing dimensions, times `weight`.
///
/// `eps` is the dtype's own where it is absent. Half types are computed in float32.
pub fn rms_norm(x: &Tensor, over: &[i64], weight: Option<&Tensor>, eps: Option<f64>) -> Result<Tensor> {
    if let Some(casts) = super::autocast::enter("rms_norm", &[x])? {
        return rms_norm(&casts.cast(x)?, over, casts.cast_option(weight)?.as_ref(), eps);
    }
    let _paused = crate::tensor::autocast::pause();
    let tail = x.rank().checked_sub(over.len()).and_then(|at| x.shape().get(at..)).unwrap_or(&[]);
    if over.is_empty() || tail.len() != over.len() || tail.iter().zip(over).any(|(&a, &b)| a as i64 != b) {
        let sizes: Vec<String> = over.iter().map(i64::to_string).collect();
        return Err(Error::runtime(format!(
            "Given normalized_shape={over:?}, expected input with shape [*{}], but got input of size{:?}",
            sizes.join(", "),
            x.shape()
        )));
    }
    let eps = eps.unwrap_or(match x.dtype() {
        DType::Float64 => f64::EPSILON,
        DType::Float16 => 0.000_976_562_5,
        DType::BFloat16 => 0.007_812_5,
        _ => f64::from(f32::EPSILON),
    });
    let wide = if matches!(x.dtype(), DType::Float16 | DType::BFloat16) {
        to_dtype(x, DType::Float32)?
    } else {
        x.clone()
    };
    let dims: Vec<i64> = (1..=over.len() as i64).map(|d| -d).collect();
    let root = rsqrt(&shift(&mean(&square(&wide)?, Some(&dims), true)?, eps)?)?;
    let out = mul(&wide, &root)?;
    let out = match weight {
        Some(weight) => mul(&out, weight)?,
        None => out,
    };
    if out.dtype() == x.dtype() { Ok(out) } else { to_dtype(&out, x.dtype()) }
}

/// Runs a pool of two dimensions on `[channels, length]` or `[n, channels, length]`.
fn flat(x: &Tensor, name: &str, run: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if !matches!(x.rank(), 2 | 3) {
        let (rank, shape) = (x.rank(), x.shape());
        return Err(Error::runtime(if name == "max_pool1d" {
            format!(
                "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but \
                 got:{shape:?}"
            )
        } else {
            format!(
                "Expected 2 to 3 dimensions, but got {rank}-dimensional tensor for argument #1 'self' (while checking \
                 arguments for {name})"
            )
        }));
    }
    squeeze(&run(&unsqueeze(x, -2)?)?, Some(&[-2]))
}

/// A window over one dimension as one over two, the first of size 1.
fn flattened(pool: &Pool) -> Pool {
    let two = |all: &[i64], before: i64| match all {
        [one] => vec![before, *one],
        other => other.to_vec(),
    };
    Pool {
        size: two(&pool.size, 1),
        stride: pool.stride.as_ref().map(|s| two(s, 1)),
        padding: two(&pool.padding, 0),
        dilation: two(&pool.dilation, 1),
        ..pool.clone()
    }
}

/// The largest element of each window along the last dimension.
pub fn max_pool1d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    flat(x, "max_pool1d", |x| Ok(max_pool2d(x, &flattened(pool))?.0))
}

/// The mean of each window along the last dimension.
pub fn avg_pool1d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    flat(x, "avg_pool1d", |x| avg_pool2d(x, &flattened(pool)))
}

/// The means of `size` nearly equal parts of the last dimension.
pub fn adaptive_avg_pool1d(x: &Tensor, size: usize) -> Result<Tensor> {
    flat(x, "adaptive_avg_pool1d", |x| adaptive_avg_pool2d(x, [Some(1), Some(size)]))
}

/// Zeroes whole channels of `[n, channels, …]` with probability `p` and scales the others by `1 / (1 - p)`.
pub fn feature_dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
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
pub fn dropout1d(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    match x.rank() {
        2 => squeeze(&feature_dropout(&unsqueeze(x, 0)?, p, training)?, Some(&[0])),
        3 => feature_dropout(x, p, training),
        other => {
            let text = format!("dropout1d: Expected 2D or 3D input, but received a {other}D input.");
            Err(Error::runtime(text))
        }
    }
}

/// The dimension that softmax takes where none was named, as PyTorch's `_get_softmax_dim`.
pub fn usual_dim(x: &Tensor, dim: Option<i64>) -> i64 {
    dim.unwrap_or(if matches!(x.rank(), 0 | 1 | 3) { 0 } else { 1 })
}

/// A window's options from the arguments that begin at `at`.
pub fn pool(a: &Args, at: usize, dilation: Option<usize>, ceil: usize, count: Option<usize>) -> Result<Pool> {
    Ok(Pool {
        size: a.ints(at)?,
        stride: Some(a.ints(at + 1)?),
        padding: a.ints(at + 2)?,
        dilation: dilation.map_or(Ok(vec![1]), |i| a.ints(i))?,
        ceil_mode: a.bool(ceil)?,
        count_include_pad: count.map_or(Ok(true), |i| a.bool(i))?,
    })
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);
const SIGNAL: Draw = Draw::of("x", &[2, 3, 6], Domain::Distinct);
const SIZE: Param = Param::required("kernel_size", ParamKind::Ints);
const STRIDE: Param = Param::optional("stride", ParamKind::Ints, DefaultValue::Ints(&[]));
const PADDING: Param = Param::optional("padding", ParamKind::Ints, DefaultValue::Int(0));
const CEIL: Param = Param::optional("ceil_mode", ParamKind::Bool, DefaultValue::Bool(false));
const SHARE: Param = Param::optional("p", ParamKind::Float, DefaultValue::Float(0.5));
const TRAINING: Param = Param::optional("training", ParamKind::Bool, DefaultValue::Bool(true));

const fn row(
    name: &'static str,
    family: Family,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, family, summary, params, run).forms(FUNCTIONAL)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row("softsign", Family::Activation, "`x / (1 + |x|)`.", &[SELF], |a| {
        softsign(a.tensor(0)?).map(Value::from)
    })
    .example("F::softsign(tensor([-1.0, 0.0, 2.0]))", "tensor([-0.5000,  0.0000,  0.6667])")
    .samples(&[Sample::of("F::softsign(x)", &[X])]),
    row("hardsigmoid", Family::Activation, "`clamp(x + 3, 0, 6) / 6`.", &[SELF], |a| {
        hardsigmoid(a.tensor(0)?).map(Value::from)
    })
    .example("F::hardsigmoid(tensor([-1.0, 0.0, 2.0]))", "tensor([0.3333, 0.5000, 0.8333])")
    .samples(&[Sample::of("F::hardsigmoid(x * 2)", &[X])]),
    row("hardswish", Family::Activation, "`x * hardsigmoid(x)`.", &[SELF], |a| {
        hardswish(a.tensor(0)?).map(Value::from)
    })
    .example("F::hardswish(tensor([-1.0, 0.0, 2.0]))", "tensor([-0.3333,  0.0000,  1.6667])")
    .samples(&[Sample::of("F::hardswish(x * 2)", &[X])]),
    row("logsigmoid", Family::Activation, "The logarithm of the sigmoid.", &[SELF], |a| {
        logsigmoid(a.tensor(0)?).map(Value::from)
    })
    .example("F::logsigmoid(tensor([-1.0, 0.0, 2.0]))", "tensor([-1.3133, -0.6931, -0.1269])")
    .samples(&[Sample::of("F::logsigmoid(x)", &[X])]),
    row(
        "selu",
        Family::Activation,
        "A scaled elu that keeps mean and deviation of a signal.",
        &[SELF],
        |a| selu(a.tensor(0)?).map(Value::from),
    )
    .example("F::selu(tensor([-1.0, 0.0, 2.0]))", "tensor([-1.1113,  0.0000,  2.1014])")
    .samples(&[Sample::of("F::selu(x)", &[X])]),
    row(
        "celu",
        Family::Activation,
        "`x` where positive, `alpha * (exp(x / alpha) - 1)` elsewhere.",
        &[SELF, Param::optional("alpha", ParamKind::Float, DefaultValue::Float(1.0))],
        |a| celu(a.tensor(0)?, a.float(1)?).map(Value::from),
    )
    .example("F::celu(tensor([-1.0, 0.0, 2.0]))", "tensor([-0.6321,  0.0000,  2.0000])")
    .samples(&[Sample::of("F::celu(x, 0.5)", &[X])]),
    row(
        "glu",
        Family::Activation,
        "The first half along a dimension times the sigmoid of the second.",
        &[SELF, Param::optional("dim", ParamKind::Int, DefaultValue::Int(-1))],
        |a| glu(a.tensor(0)?, a.int(1)?).map(Value::from),
    )
    .example("F::glu(tensor([1.0, 2.0, 3.0, 4.0]))", "tensor([0.9526, 1.9640])")
    .samples(&[Sample::of("F::glu(x)", &[X])]),
    row(
        "softmin",
        Family::Activation,
        "Softmax of `-x`.",
        &[SELF, Param::optional("dim", ParamKind::Int, DefaultValue::None)],
        |a| {
            let x = a.tensor(0)?;
            softmax(&neg(x)?, usual_dim(x, a.optional_int(1)), None).map(Value::from)
        },
    )
    .example("F::softmin(tensor([1.0, 2.0, 3.0]), 0)", "tensor([0.6652, 0.2447, 0.0900])")
    .samples(&[Sample::of("F::softmin(x, 1)", &[X])]),
    row(
        "prelu",
        Family::Activation,
        "`x` where positive, `weight * x` elsewhere.",
        &[SELF, Param::required("weight", ParamKind::Tensor)],
        |a| prelu(a.tensor(0)?, a.tensor(1)?).map(Value::from),
    )
    .details("`weight` holds one number, or one for each channel (dimension 1).")
    .example("F::prelu(tensor([-1.0, 0.0, 2.0]), tensor([0.1]))", "tensor([-0.1000,  0.0000,  2.0000])")
    .samples(&[Sample::of("F::prelu(x, w)", &[X, Draw::of("w", &[4], Domain::Any)])]),
    row(
        "dropout1d",
        Family::Activation,
        "Zeroes whole channels of `[n, channels, length]` with probability `p` and scales the others.",
        &[SELF, SHARE, TRAINING],
        |a| dropout1d(a.tensor(0)?, a.float(1)?, a.bool(2)?).map(Value::from),
    )
    .example("manual_seed(0); F::dropout1d(ones([1, 3, 2]), 0.5)[0].sum(1)", "tensor([0., 0., 4.])"),
    row(
        "dropout2d",
        Family::Activation,
        "Zeroes whole channels of `[n, channels, h, w]` with probability `p` and scales the others.",
        &[SELF, SHARE, TRAINING],
        |a| feature_dropout(a.tensor(0)?, a.float(1)?, a.bool(2)?).map(Value::from),
    )
    .example("manual_seed(0); F::dropout2d(ones([1, 3, 2, 2]), 0.5)[0].sum([1, 2])", "tensor([0., 0., 8.])"),
    row(
        "normalize",
        Family::Normalise,
        "Divides by the norm along a dimension.",
        &[
            SELF,
            Param::optional("p", ParamKind::Float, DefaultValue::Float(2.0)),
            Param::optional("dim", ParamKind::Int, DefaultValue::Int(1)),
            Param::optional("eps", ParamKind::Float, DefaultValue::Float(1e-12)),
        ],
        |a| normalize(a.tensor(0)?, a.float(1)?, a.int(2)?, a.float(3)?).map(Value::from),
    )
    .details("The norm counts as `eps` where it is smaller.")
    .example("F::normalize(tensor([3.0, 4.0]), #{dim: 0})", "tensor([0.6000, 0.8000])")
    .samples(&[Sample::of("F::normalize(x)", &[X]), Sample::of("F::normalize(x, 3.0, 0)", &[X])]),
    row(
        "rms_norm",
        Family::Normalise,
        "Divides by the root of the mean square over the trailing dimensions.",
        &[
            SELF,
            Param::required("normalized_shape", ParamKind::Ints),
            Param::optional("weight", ParamKind::Tensor, DefaultValue::None),
            Param::optional("eps", ParamKind::Float, DefaultValue::None),
        ],
        |a| rms_norm(a.tensor(0)?, &a.ints(1)?, a.optional_tensor(2), a.optional_float(3)).map(Value::from),
    )
    .example("F::rms_norm(tensor([1.0, 2.0, 3.0, 4.0]), [4])", "tensor([0.3651, 0.7303, 1.0954, 1.4606])")
    .samples(&[Sample::of("F::rms_norm(x, [4], w)", &[X, Draw::of("w", &[4], Domain::Any)])]),
    row(
        "max_pool1d",
        Family::Convolution,
        "The largest element of each window along the last dimension.",
        &[
            SELF,
            SIZE,
            STRIDE,
            PADDING,
            Param::optional("dilation", ParamKind::Ints, DefaultValue::Int(1)),
            CEIL,
        ],
        |a| max_pool1d(a.tensor(0)?, &pool(a, 1, Some(4), 5, None)?).map(Value::from),
    )
    .example("F::max_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[3., 2.]])")
    .samples(&[Sample::of("F::max_pool1d(x, 3, #{stride: 2, padding: 1})", &[SIGNAL])]),
    row(
        "avg_pool1d",
        Family::Convolution,
        "The mean of each window along the last dimension.",
        &[
            SELF,
            SIZE,
            STRIDE,
            PADDING,
            CEIL,
            Param::optional("count_include_pad", ParamKind::Bool, DefaultValue::Bool(true)),
        ],
        |a| avg_pool1d(a.tensor(0)?, &pool(a, 1, None, 4, Some(5))?).map(Value::from),
    )
    .example("F::avg_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[2., 1.]])")
    .samples(&[Sample::of("F::avg_pool1d(x, 3, #{stride: 2, padding: 1})", &[SIGNAL])]),
    row(
        "adaptive_avg_pool1d",
        Family::Convolution,
        "The means of nearly equal parts of the last dimension, as many as asked for.",
        &[SELF, Param::required("output_size", ParamKind::Int)],
        |a| {
            let size = a.int(1)?;
            let size = usize::try_from(size)
                .map_err(|_| Error::runtime(format!("output_size must not be negative, but is {size}")))?;
            adaptive_avg_pool1d(a.tensor(0)?, size).map(Value::from)
        },
    )
    .example("F::adaptive_avg_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[2., 1.]])")
    .samples(&[Sample::of("F::adaptive_avg_pool1d(x, 4)", &[SIGNAL])]),
];
