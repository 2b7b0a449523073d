//! Normalisation over trailing dimensions, on its own kernels.

use crate::base::{DType, Dims, Error, Layout, Result, ShapeCause};
use crate::device::Kernel;
use crate::device::class::KernelClass;
use crate::op::activation::variants::row;
use crate::op::core::autocast;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{BOTH, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{beside, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::elementwise::arithmetic::{mul, shift};
use crate::op::elementwise::unary::{rsqrt, square};
use crate::op::gather::along_dim::same_place;
use crate::op::reduce::sums::mean;
use crate::op::shape::view::reshape_to;
use crate::tensor::accumulate::sum_to;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor, launch};

use super::shared::{check_dtype, operands, standard_grad, statistics_dtype};

/// Normalises over the trailing dimensions `normalized_shape`, then scales by `weight` and shifts by `bias`.
pub fn layer_norm(
    x: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("layer_norm", &[x])? {
        let (weight, bias) = (casts.cast_option(weight)?, casts.cast_option(bias)?);
        return layer_norm(&casts.cast(x)?, normalized_shape, weight.as_ref(), bias.as_ref(), eps);
    }
    let run = || {
        let inner = check_layer_norm(x, normalized_shape, weight, bias)?;
        rows_norm(x, inner, weight, bias, eps)
    };
    run().map_err(|e| e.in_op("layer_norm", || operands(&[Some(x), weight, bias])))
}

/// Checks shapes, dtypes and devices; gives the number of elements normalised together.
fn check_layer_norm(
    x: &Tensor,
    shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
) -> Result<usize> {
    not_empty(shape)?;
    let tail = x.rank().checked_sub(shape.len()).and_then(|at| x.shape().get(at..)).unwrap_or(&[]);
    if tail.len() != shape.len() || tail.iter().zip(shape).any(|(&a, &b)| a as i64 != b) {
        let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
        return Err(Error::runtime(format!(
            "Given normalized_shape={shape:?}, expected input with shape [*, {}], but got input of size{:?}",
            sizes.join(", "),
            x.shape()
        )));
    }
    for (argument, t) in [("weight", weight), ("bias", bias)] {
        let Some(t) = t else { continue };
        same_place(x, argument, t, "wrapper_CUDA__native_layer_norm")?;
        if t.shape() != tail {
            return Err(Error::runtime(format!(
                "Expected {argument} to be of same shape as normalized_shape, but got {argument} of shape {:?} and \
                 normalized_shape = {shape:?}",
                t.shape()
            )));
        }
        check_dtype(x, t)?;
    }
    Ok(tail.iter().product())
}

/// What the backward pass of a normalisation over rows needs.
struct RowsNorm {
    inner: usize,
    /// The parameters' shape.
    tail: Dims,
    eps: f64,
    weight: bool,
    bias: bool,
}

/// Normalises runs of `inner` elements; `weight` and `bias` have the runs' shape.
pub(crate) fn rows_norm(
    x: &Tensor,
    inner: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NativeLayerNormBackward0", run: rows_grad };
    let context = x.context();
    let out = Tensor::empty(x.shape(), x.dtype(), &context, "layer_norm")?;
    if x.numel() == 0 {
        return Ok([Some(x), weight, bias].into_iter().flatten().fold(out, beside));
    }
    let rows = x.numel() / inner;
    let kept = statistics_dtype(x.dtype());
    let mean = Tensor::empty(&[rows], kept, &context, "layer_norm")?;
    let rstd = Tensor::empty(&[rows], kept, &context, "layer_norm")?;
    let packed = as_rows(x, rows, inner)?;
    let affine = weight.is_some() || bias.is_some();
    let parameters = if affine { Some(affine_pair(x, inner, weight, bias)?) } else { None };
    let mut inputs = vec![In::Tensor(&packed)];
    if let Some((w, b)) = &parameters {
        inputs.extend([In::Tensor(w), In::Tensor(b)]);
    }
    let target = out.with_layout(Layout::contiguous(&[rows, inner])?);
    launch("layer_norm", &Kernel::LayerNorm { eps, affine }, &inputs, &[&target, &mean, &rstd])?;
    let tracked: Vec<&Tensor> = [Some(x), weight, bias].into_iter().flatten().collect();
    Ok(recorded(out, &RULE, &tracked, |s, _| {
        s.input(x);
        s.constant(Some(&mean));
        s.constant(Some(&rstd));
        if let Some(w) = weight {
            s.input(w);
        }
        let tail = weight.or(bias).map_or_else(Dims::new, |t| t.shape().into());
        s.attribute(RowsNorm { inner, tail, eps, weight: weight.is_some(), bias: bias.is_some() });
    }))
}

/// A tensor as a matrix, outside the graph; packed first where its strides need it.
fn as_rows(x: &Tensor, rows: usize, inner: usize) -> Result<Tensor> {
    match x.layout().view(&[rows, inner]) {
        Some(layout) => Ok(x.with_layout(layout)),
        None => Ok(x.contiguous_detached()?.with_layout(Layout::contiguous(&[rows, inner])?)),
    }
}

/// Weight and bias as vectors; an absent one is all ones or zeros.
fn affine_pair(
    x: &Tensor,
    inner: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
) -> Result<(Tensor, Tensor)> {
    let flat = |t: Option<&Tensor>, absent: i64| match t {
        Some(t) => {
            let t = t.contiguous_detached()?;
            let layout = t.layout().view(&[inner]).ok_or(ShapeCause::ViewNotContiguous)?;
            Ok(t.with_layout(layout))
        }
        None => Tensor::full(&[inner], absent.into(), x.dtype(), &x.context(), "layer_norm"),
    };
    Ok((flat(weight, 1)?, flat(bias, 0)?))
}

fn rows_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let (mean, rstd) = (s.tensor(1)?, s.tensor(2)?);
    let weight = s.optional(3)?;
    let about: &RowsNorm = s.attribute()?;
    let rows = x.numel() / about.inner.max(1);
    if grad_enabled() {
        return rows_grad_recorded(&x, g, weight.as_ref(), about);
    }
    let affine = about.weight || about.bias;
    let (packed, upstream) = (as_rows(&x, rows, about.inner)?, as_rows(g, rows, about.inner)?);
    let context = x.context();
    let dx = Tensor::empty(x.shape(), x.dtype(), &context, "layer_norm_backward")?;
    let target = dx.with_layout(Layout::contiguous(&[rows, about.inner])?);
    if !affine {
        let kernel = Kernel::LayerNormGrad { affine };
        let inputs = [&upstream, &packed, &mean, &rstd].map(In::Tensor);
        launch("layer_norm_backward", &kernel, &inputs, &[&target])?;
        return crate::op::core::record::one(dx);
    }
    let (w, _) = affine_pair(&x, about.inner, weight.as_ref(), None)?;
    let dw = Tensor::empty(&about.tail, w.dtype(), &context, "layer_norm_backward")?;
    let db = Tensor::empty(&about.tail, w.dtype(), &context, "layer_norm_backward")?;
    let flat = Layout::contiguous(&[about.inner])?;
    let inputs = [&upstream, &packed, &mean, &rstd, &w].map(In::Tensor);
    let outputs = [&target, &dw.with_layout(flat.clone()), &db.with_layout(flat)];
    launch("layer_norm_backward", &Kernel::LayerNormGrad { affine }, &inputs, &outputs)?;
    let mut grads: Grads = [Some(dx)].into_iter().collect();
    if about.weight {
        grads.push(Some(dw));
    }
    if about.bias {
        grads.push(Some(db));
    }
    Ok(grads)
}

fn rows_grad_recorded(x: &Tensor, g: &Tensor, weight: Option<&Tensor>, about: &RowsNorm) -> Result<Grads> {
    let rows = x.numel() / about.inner.max(1);
    let shape = [rows, about.inner];
    let (x2, g2) = (reshape_to(x, &shape)?, reshape_to(g, &shape)?);
    let scaled = match weight {
        Some(w) => mul(&g2, &reshape_to(w, &[about.inner])?)?,
        None => g2.clone(),
    };
    let (dx, normal) = standard_grad(&x2, &scaled, &[rows, 1], about.eps)?;
    let mut grads: Grads = [Some(reshape_to(&dx, x.shape())?)].into_iter().collect();
    let folded = |t: &Tensor| reshape_to(&sum_to(t, &[about.inner])?, &about.tail);
    if about.weight {
        grads.push(Some(folded(&mul(&g2, &normal)?)?));
    }
    if about.bias {
        grads.push(Some(folded(&g2)?));
    }
    Ok(grads)
}

fn not_empty(shape: &[i64]) -> Result<()> {
    match shape {
        [] => Err(Error::runtime(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got \
             normalized_shape = []",
        )),
        _ => Ok(()),
    }
}

/// `x` divided by the root of its mean square over trailing dimensions, times `weight`.
///
/// `eps` is the dtype's own where it is absent. Half types are computed in float32.
pub(crate) fn rms_norm(
    x: &Tensor,
    over: &[i64],
    weight: Option<&Tensor>,
    eps: Option<f64>,
) -> Result<Tensor> {
    if let Some(casts) = crate::op::core::autocast::enter("rms_norm", &[x])? {
        return rms_norm(&casts.cast(x)?, over, casts.cast_option(weight)?.as_ref(), eps);
    }
    let _paused = crate::tensor::autocast::pause();
    not_empty(over)?;
    let given = |w: &&Tensor| w.shape().iter().map(|&size| size as i64).ne(over.iter().copied());
    if let Some(weight) = weight.filter(given) {
        return Err(Error::runtime(format!(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape {:?} and \
             normalized_shape = {over:?}",
            weight.shape()
        )));
    }
    let tail = x.rank().checked_sub(over.len()).and_then(|at| x.shape().get(at..)).unwrap_or(&[]);
    if tail.len() != over.len() || tail.iter().zip(over).any(|(&a, &b)| a as i64 != b) {
        let sizes: Vec<String> = over.iter().map(i64::to_string).collect();
        return Err(Error::runtime(format!(
            "Given normalized_shape={over:?}, expected input with shape [*{}], but got input of size{:?}",
            sizes.join(", "),
            x.shape()
        )));
    }
    let eps = eps.unwrap_or_else(|| x.dtype().epsilon());
    static KERNEL: Whole = Whole::new("_fused_rms_norm", "_fused_rms_norm_backward", "FusedRmsNormBackward0")
        .class(KernelClass::Normalise);
    let count = over.len();
    let run = move |all: &[Tensor]| match all {
        [x, weight @ ..] => by_root(x, count, weight.first(), eps),
        _ => first(all).cloned(),
    };
    let rows = [x.numel() / tail.iter().product::<usize>().max(1)];
    let inputs: Vec<&Tensor> = [Some(x), weight].into_iter().flatten().collect();
    KERNEL.run(&inputs, &[(&rows, statistics_dtype(x.dtype()))], Box::new(run))
}

fn by_root(x: &Tensor, over: usize, weight: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let wide = if matches!(x.dtype(), DType::Float16 | DType::BFloat16) {
        to_dtype(x, DType::Float32)?
    } else {
        x.clone()
    };
    let dims: Vec<i64> = (1..=over as i64).map(|d| -d).collect();
    let root = rsqrt(&shift(&mean(&square(&wide)?, Some(&dims), true)?, eps)?)?;
    let out = mul(&wide, &root)?;
    let out = match weight {
        Some(weight) => mul(&out, weight)?,
        None => out,
    };
    if out.dtype() == x.dtype() { Ok(out) } else { to_dtype(&out, x.dtype()) }
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

params! {
    LayerNormParams {
        input: kind::Tensor, "the batch; its last dimensions are normalised";
        normalized_shape: kind::Ints, "the sizes of the last dimensions that are normalised together";
        weight: Maybe<kind::Tensor>, "factors of the normalised elements, or none";
        bias: Maybe<kind::Tensor>, "what is added to each normalised element, or none";
        eps: kind::Float = 1e-5, "what is added against division by zero";
    }
}

params! {
    RmsNormParams {
        input: kind::Tensor, "the batch; its last dimensions are normalised";
        normalized_shape: kind::Ints, "the sizes of the last dimensions that are normalised together";
        weight: Maybe<kind::Tensor>, "factors of the normalised elements, or none";
        eps: Maybe<kind::Float>, "what is added against division by zero; without it the dtype's eps";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "rms_norm",
        Family::Normalise,
        "Divides by the root of the mean square over the trailing dimensions.",
        RmsNormParams::LIST,
        by_name!(RmsNormParams, |a| rms_norm(a.input, &a.normalized_shape, a.weight, a.eps).map(Value::from)),
    )
    .shapes("(…, normalized_shape) -> the same; weight and bias of normalized_shape")
    .errors(&["RuntimeError: the input does not end with `normalized_shape`"])
    .example("F::rms_norm(tensor([1.0, 2.0, 3.0, 4.0]), [4])", "tensor([0.3651, 0.7303, 1.0954, 1.4606])")
    .samples(&[Sample::of("F::rms_norm(x, [4], w)", &[X, Draw::of("w", &[4], Domain::Any)])]),
    OpDef::call(
        "layer_norm",
        Family::Normalise,
        "Normalises over the trailing dimensions, then scales and shifts.",
        LayerNormParams::LIST,
        by_name!(LayerNormParams, |a| {
            layer_norm(a.input, &a.normalized_shape, a.weight, a.bias, a.eps).map(Value::from)
        }),
    )
    .forms(BOTH)
    .gradient(Gradient::Vjp("NativeLayerNormBackward0"))
    .details("`normalized_shape` names the trailing sizes; `eps` is added to the variance.")
    .shapes("(…, normalized_shape) -> the same; weight and bias of normalized_shape")
    .errors(&["RuntimeError: the input does not end with `normalized_shape`", shapes::NO_FLOAT])
    .example("F::layer_norm(tensor([[1.0, 2.0, 3.0]]), [3])", "tensor([[-1.2247,  0.0000,  1.2247]])")
    .samples(&[Sample::of(
        "F::layer_norm(x, [4], w, b)",
        &[
            Draw::of("x", &[3, 4], Domain::Any),
            Draw::of("w", &[4], Domain::Any),
            Draw::of("b", &[4], Domain::Any),
        ],
    )]),
];
