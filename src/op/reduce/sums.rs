//! Sums, means, extremes and counts over dimensions, with PyTorch's result types and gradient rules.

use crate::base::{DType, Error, Kind, Layout, Result};
use crate::device::Kernel;
use crate::device::kernel::ReduceOp;
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::to_float;
use crate::op::core::record::{in_mask, kept_shape, no_grad, one, recorded};
use crate::op::core::{autocast, shapes};
use crate::op::elementwise::arithmetic::{div, mul, scale, sub};
use crate::op::elementwise::comparison::{eq, logical_or, ne};
use crate::op::elementwise::declare::SPECIAL_TOO;
use crate::op::elementwise::unary::exp;
use crate::op::shape::view::{restore_dims, spread, unique_dims};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

/// Which dimensions a reduction takes: a bit each, and whether they stay with size 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Over {
    pub mask: u64,
    pub keepdim: bool,
    /// No dimension was named.
    pub all: bool,
}

impl Over {
    /// The dimensions `dims` of `x`; no dimensions mean all of them.
    pub fn of(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Over> {
        if x.rank() > 64 {
            return Err(Error::runtime("only tensors with up to 64 dims are supported"));
        }
        let all = u64::MAX >> (64 - x.rank().max(1));
        match dims {
            None | Some([]) => Ok(Over { mask: all, keepdim, all: dims.is_none() }),
            Some(list) => {
                let mask = unique_dims(x, list)?.into_iter().fold(0, |mask, d| mask | (1u64 << d));
                Ok(Over { mask, keepdim, all: false })
            }
        }
    }

    /// How many elements of `x` make one of the result.
    pub fn count(self, x: &Tensor) -> usize {
        x.shape().iter().enumerate().filter(|(i, _)| in_mask(self.mask, *i)).map(|(_, &d)| d).product()
    }
}

/// Sum over `dims`, or over everything. Integers and bools are summed in int64.
pub fn sum(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    sum_as(x, dims, keepdim, None)
}

/// [`sum`] in a dtype.
pub(crate) fn sum_as(
    x: &Tensor,
    dims: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("sum", &[x])? {
        return sum_as(x, dims, keepdim, casts.dtype(dtype));
    }
    static ALL: Vjp = Vjp { name: "SumBackward0", run: sum_grad };
    static SOME: Vjp = Vjp { name: "SumBackward1", run: sum_grad };
    let over = Over::of(x, dims, keepdim)?;
    let dtype = dtype.unwrap_or_else(|| widened(x.dtype()));
    let out = reduce("sum", ReduceOp::Sum { scale: 1.0 }, x, over, dtype)?;
    Ok(recorded(out, if over.all { &ALL } else { &SOME }, &[x], |s, _| s.attribute(over)))
}

/// Mean over `dims`, or over everything; of floats, or in a float `dtype`.
pub fn mean_as(x: &Tensor, dims: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    static ALL: Vjp = Vjp { name: "MeanBackward0", run: mean_grad };
    static SOME: Vjp = Vjp { name: "MeanBackward1", run: mean_grad };
    let dtype = dtype.unwrap_or(x.dtype());
    if !dtype.is_float() {
        let (what, subject) =
            if dtype == x.dtype() { ("infer", "Input dtype") } else { ("use", "Optional dtype") };
        let text = format!(
            "mean(): could not {what} output dtype. {subject} must be either a floating point or complex dtype. \
             Got: {}",
            dtype.type_name()
        );
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats: `x.float().mean()`")
        );
    }
    let over = Over::of(x, dims, keepdim)?;
    let factor = 1.0 / over.count(x) as f64;
    let out = reduce("mean", ReduceOp::Sum { scale: factor }, x, over, dtype)?;
    Ok(recorded(out, if over.all { &ALL } else { &SOME }, &[x], |s, _| s.attribute((over, factor))))
}

/// [`mean_as`] in the tensor's own dtype.
pub fn mean(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    mean_as(x, dims, keepdim, None)
}

/// The largest element over `dims`; equals share the gradient.
pub fn amax(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "AmaxBackward0", run: extreme_grad };
    extreme("amax", ReduceOp::Max, x, Over::of(x, dims, keepdim)?, &RULE)
}

/// The smallest element over `dims`; equals share the gradient.
pub fn amin(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "AminBackward0", run: extreme_grad };
    extreme("amin", ReduceOp::Min, x, Over::of(x, dims, keepdim)?, &RULE)
}

/// The largest element of all, `x.max()`.
pub fn max_all(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "MaxBackward1", run: of_all_grad };
    extreme("max", ReduceOp::Max, x, Over::of(x, None, false)?, &RULE)
}

/// The smallest element of all, `x.min()`.
pub fn min_all(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "MinBackward1", run: of_all_grad };
    extreme("min", ReduceOp::Min, x, Over::of(x, None, false)?, &RULE)
}

/// Whether all elements over `dims` are non-zero.
pub fn all(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    truths("all", ReduceOp::All, x, dims, keepdim)
}

/// Whether any element over `dims` is non-zero.
pub fn any(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    truths("any", ReduceOp::Any, x, dims, keepdim)
}

/// How many elements over `dims` are not zero.
pub(crate) fn count_nonzero(x: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    sum(&ne(x, 0i64)?, dims, false)
}

/// `log(sum(exp(x)))` over `dims`, without overflow.
pub fn logsumexp(x: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("logsumexp", &[x])? {
        return logsumexp(&casts.cast(x)?, dims, keepdim);
    }
    static RULE: Vjp = Vjp { name: "LogsumexpBackward0", run: logsumexp_grad };
    let over = Over::of(x, Some(dims), keepdim)?;
    let out = reduce("logsumexp", ReduceOp::LogSumExp, x, over, to_float(x.dtype()))?;
    Ok(recorded(out, &RULE, &[x], |s, y| {
        s.input(x);
        s.output(y);
        s.attribute(over);
    }))
}

/// Launches a reduction into new memory; no graph.
pub fn reduce(name: &'static str, op: ReduceOp, x: &Tensor, over: Over, dtype: DType) -> Result<Tensor> {
    let kept = kept_shape(x.shape(), over.mask);
    let dropped = x.shape().iter().enumerate().filter(|(i, _)| !in_mask(over.mask, *i)).map(|(_, &d)| d);
    let shape = if over.keepdim { kept.clone() } else { dropped.collect() };
    let out = Tensor::empty(&shape, dtype, &x.context(), name)?;
    let kernel = Kernel::Reduce { op, dims: over.mask };
    if x.rank() == 0 {
        // A scalar is reduced as a vector of one.
        let (from, to) = (x.layout().unsqueeze(0)?, out.with_layout(out.layout().unsqueeze(0)?));
        launch(name, &kernel, &[In::Laid(x, &from)], &[&to])?;
    } else {
        launch(name, &kernel, &[x.into()], &[&out.with_layout(Layout::contiguous(&kept)?)])?;
    }
    Ok(out)
}

/// Sums and products of integers and bools are int64.
pub fn widened(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::Int64 }
}

fn truths(
    name: &'static str,
    op: ReduceOp,
    x: &Tensor,
    dims: Option<&[i64]>,
    keepdim: bool,
) -> Result<Tensor> {
    if dims == Some(&[]) {
        // As in PyTorch, unlike sums: none are none.
        return to_dtype(&ne(x, 0i64)?, truth(x.dtype()));
    }
    reduce(name, op, x, Over::of(x, dims, keepdim)?, truth(x.dtype()))
}

fn truth(dtype: DType) -> DType {
    if dtype == DType::UInt8 { DType::UInt8 } else { DType::Bool }
}

fn extreme(name: &'static str, op: ReduceOp, x: &Tensor, over: Over, rule: &'static Vjp) -> Result<Tensor> {
    if x.numel() == 0 {
        check_not_empty(name, x, over)?;
    }
    let out = reduce(name, op, x, over, x.dtype())?;
    Ok(recorded(out, rule, &[x], |s, y| {
        s.input(x);
        s.output(y);
        s.attribute(over);
    }))
}

/// An empty set has no largest element.
fn check_not_empty(name: &str, x: &Tensor, over: Over) -> Result<()> {
    let empty = |i: &usize| in_mask(over.mask, *i) && x.shape().get(*i) == Some(&0);
    match (0..x.rank()).find(empty) {
        None => Ok(()),
        Some(_) if over.all => Err(Error::runtime(format!(
            "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with \
             the 'dim' argument."
        ))),
        Some(i) => Err(Error::new(
            Kind::IndexError,
            format!("{name}(): Expected reduction dim {i} to have non-zero size."),
        )),
    }
}

fn sum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let over: &Over = s.attribute()?;
    one(spread(g, s.shape(0), over.mask)?)
}

fn mean_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (over, factor): &(Over, f64) = s.attribute()?;
    one(spread(&scale(g, *factor)?, s.shape(0), over.mask)?)
}

fn extreme_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    shared(s, g, |x, y| eq(x, y))
}

/// Of all elements NaN wins where there is one.
fn of_all_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    shared(s, g, |x, y| logical_or(&eq(x, y)?, &ne(x, x)?))
}

/// Those that are the result share its gradient.
fn shared(s: &Saved, g: &Tensor, hits: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let over: &Over = s.attribute()?;
    let (hit, share) = {
        let _off = no_grad();
        let hit = hits(&x, &restore_dims(&y, x.shape(), over.mask)?)?;
        let kept = Over { keepdim: true, ..*over };
        let count = reduce("sum", ReduceOp::Sum { scale: 1.0 }, &hit, kept, DType::Int64)?;
        (hit, count)
    };
    let part = div(&restore_dims(g, x.shape(), over.mask)?, &share)?;
    one(mul(&part, &hit)?)
}

fn logsumexp_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let over: &Over = s.attribute()?;
    let weights = exp(&sub(&x, &restore_dims(&y, x.shape(), over.mask)?)?)?;
    one(mul(&restore_dims(g, x.shape(), over.mask)?, &weights)?)
}

const X: &[Draw] = &[Draw::of("x", &[3, 4, 2], Domain::Any)];
const APART: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Distinct)];

params! {
    SumParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

params! {
    AmaxParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    LogsumexpParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dims, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    CountNonzeroParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "sum",
        Family::Reduce,
        "The sum of all elements, or along dimensions.",
        SumParams::LIST,
        by_name!(SumParams, |a| to_value(sum_as(a.input, a.dim.as_deref(), a.keepdim, a.dtype))),
    )
    .details("Integers and bools are summed as int64.")
    .shapes(shapes::REDUCED)
    .example("tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0)", "tensor([4., 6.])")
    .gradient(Gradient::Vjp("SumBackward0"))
    .samples(&[Sample::of("x.sum()", X), Sample::of("x.sum([0, 2], true)", X)]),
    OpDef::call(
        "mean",
        Family::Reduce,
        "The mean of all elements, or along dimensions.",
        SumParams::LIST,
        by_name!(SumParams, |a| to_value(mean_as(a.input, a.dim.as_deref(), a.keepdim, a.dtype))),
    )
    .shapes(shapes::REDUCED)
    .errors(&["NotImplementedError: the tensor holds integers or bools"])
    .example("tensor([[1.0, 2.0], [3.0, 4.0]]).mean()", "tensor(2.5000)")
    .gradient(Gradient::Vjp("MeanBackward0"))
    .samples(&[Sample::of("x.mean()", X), Sample::of("x.mean(1)", X)]),
    OpDef::call(
        "amax",
        Family::Reduce,
        "The largest element along dimensions; equals share the gradient.",
        AmaxParams::LIST,
        by_name!(AmaxParams, |a| to_value(amax(a.input, a.dim.as_deref(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&["RuntimeError: the input is empty and no `dim` is given"])
    .example("tensor([[1, 5], [7, 2]]).amax(1)", "tensor([5, 7])")
    .gradient(Gradient::Vjp("AmaxBackward0"))
    .samples(&[Sample::of("x.amax(1)", APART)]),
    OpDef::call(
        "amin",
        Family::Reduce,
        "The smallest element along dimensions; equals share the gradient.",
        AmaxParams::LIST,
        by_name!(AmaxParams, |a| to_value(amin(a.input, a.dim.as_deref(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&["RuntimeError: the input is empty and no `dim` is given"])
    .example("tensor([[1, 5], [7, 2]]).amin(1)", "tensor([1, 2])")
    .gradient(Gradient::Vjp("AminBackward0"))
    .samples(&[Sample::of("x.amin(0)", APART)]),
    OpDef::call(
        "logsumexp",
        Family::Reduce,
        "`log(sum(exp(x)))` along dimensions, without overflow.",
        LogsumexpParams::LIST,
        by_name!(LogsumexpParams, |a| to_value(logsumexp(a.input, &a.dim, a.keepdim))),
    )
    .forms(SPECIAL_TOO)
    .shapes("any -> without dim (1 with keepdim)")
    .example("tensor([0.0, 0.0]).logsumexp(0)", "tensor(0.6931)")
    .gradient(Gradient::Vjp("LogsumexpBackward0"))
    .samples(&[Sample::of("x.logsumexp(1)", X)]),
    OpDef::call(
        "all",
        Family::Reduce,
        "Whether every element is non-zero.",
        AmaxParams::LIST,
        by_name!(AmaxParams, |a| to_value(all(a.input, a.dim.as_deref(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .example("tensor([1, 0]).all()", "tensor(False)")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call(
        "any",
        Family::Reduce,
        "Whether any element is non-zero.",
        AmaxParams::LIST,
        by_name!(AmaxParams, |a| to_value(any(a.input, a.dim.as_deref(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .example("tensor([1, 0]).any()", "tensor(True)")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call(
        "count_nonzero",
        Family::Reduce,
        "How many elements are non-zero.",
        CountNonzeroParams::LIST,
        by_name!(CountNonzeroParams, |a| to_value(count_nonzero(a.input, a.dim.as_deref()))),
    )
    .shapes("any -> (), or with `dim` without it")
    .example("tensor([1, 0, 5]).count_nonzero()", "tensor(2)")
    .gradient(Gradient::NoGrad("the result is a count")),
];
