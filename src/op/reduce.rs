//! Reductions over dimensions, with PyTorch's result types and gradient rules.

use crate::base::{DType, Error, Kind, Layout, Result};
use crate::device::Kernel;
use crate::device::kernel::ReduceOp;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::autocast;
use super::binary::{div, eq, mul, ne, pow, sub};
use super::movement::{reshape_to, unique_dims};
use super::promote::to_float;
use super::record::{in_mask, kept_shape, no_grad, one, recorded, restore_dims, spread};
use super::scan::exclusive_products;
use super::select::masked_fill;
use super::unary::{abs, exp, scale};

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
pub fn sum_as(x: &Tensor, dims: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
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

/// Product over one dimension, or over everything.
pub fn prod(x: &Tensor, dim: Option<i64>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("prod", &[x])? {
        return prod(&casts.cast(x)?, dim, keepdim, casts.dtype(dtype));
    }
    static ALL: Vjp = Vjp { name: "ProdBackward0", run: prod_grad };
    static ONE: Vjp = Vjp { name: "ProdBackward1", run: prod_grad };
    let dims = dim.map(|d| [d]);
    let over = Over::of(x, dims.as_ref().map(|d| d.as_slice()), keepdim)?;
    let dtype = dtype.unwrap_or_else(|| widened(x.dtype()));
    let out = reduce("prod", ReduceOp::Prod, x, over, dtype)?;
    Ok(recorded(out, if over.all { &ALL } else { &ONE }, &[x], |s, _| {
        s.input(x);
        s.attribute(over);
    }))
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
    static RULE: Vjp = Vjp { name: "MaxBackward1", run: extreme_grad };
    extreme("max", ReduceOp::Max, x, Over::of(x, None, false)?, &RULE)
}

/// The smallest element of all, `x.min()`.
pub fn min_all(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "MinBackward1", run: extreme_grad };
    extreme("min", ReduceOp::Min, x, Over::of(x, None, false)?, &RULE)
}

/// Whether all elements over `dims` are non-zero.
pub fn all(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    reduce("all", ReduceOp::All, x, Over::of(x, dims, keepdim)?, truth(x.dtype()))
}

/// Whether any element over `dims` is non-zero.
pub fn any(x: &Tensor, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    reduce("any", ReduceOp::Any, x, Over::of(x, dims, keepdim)?, truth(x.dtype()))
}

/// How many elements over `dims` are not zero.
pub fn count_nonzero(x: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    sum(&ne(x, 0i64)?, dims, false)
}

/// Variance over `dims`, divided by `n - correction`.
pub fn var(x: &Tensor, dims: Option<&[i64]>, correction: f64, keepdim: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "VarBackward0", run: var_grad };
    spread_of("var", x, Over::of(x, dims, keepdim)?, correction, false, &RULE)
}

/// Standard deviation over `dims`, the root of [`var`].
pub fn std(x: &Tensor, dims: Option<&[i64]>, correction: f64, keepdim: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "StdBackward0", run: std_grad };
    spread_of("std", x, Over::of(x, dims, keepdim)?, correction, true, &RULE)
}

/// The vector norm of order `p` over `dims`: `sum(|x|^p)^(1/p)`, the largest for infinity, the count for 0.
pub fn norm(x: &Tensor, p: f64, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("norm", &[x])? {
        return norm(&casts.cast(x)?, p, dims, keepdim);
    }
    static RULE: Vjp = Vjp { name: "LinalgVectorNormBackward0", run: norm_grad };
    if !x.dtype().is_float() {
        let text = format!(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
            x.dtype().type_name()
        );
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats with `.float()`")
        );
    }
    if p == 2.0 {
        let over = Over::of(x, dims, keepdim)?;
        let out = reduce("norm", ReduceOp::Norm2, x, over, x.dtype())?;
        return Ok(recorded(out, &RULE, &[x], |s, y| {
            s.input(x);
            s.output(y);
            s.attribute(over);
        }));
    }
    if p == 0.0 {
        return sum_as(&ne(x, 0i64)?, dims, keepdim, Some(x.dtype()));
    }
    let size = abs(x)?;
    if p == 1.0 {
        sum(&size, dims, keepdim)
    } else if p == f64::INFINITY {
        amax(&size, dims, keepdim)
    } else if p == f64::NEG_INFINITY {
        amin(&size, dims, keepdim)
    } else {
        pow(&sum(&pow(&size, p)?, dims, keepdim)?, 1.0 / p)
    }
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

fn spread_of(
    name: &'static str,
    x: &Tensor,
    over: Over,
    correction: f64,
    root: bool,
    rule: &'static Vjp,
) -> Result<Tensor> {
    if !x.dtype().is_float() {
        let text = "std and var only support floating point and complex dtypes";
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats with `.float()`")
        );
    }
    if x.numel() > 0 && over.count(x) as f64 <= correction {
        x.context().shared.warn(&format!(
            "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input \
             numel divided by output numel)."
        ));
    }
    let out = reduce(name, ReduceOp::Var { correction, root }, x, over, x.dtype())?;
    Ok(recorded(out, rule, &[x], |s, y| {
        s.input(x);
        if root {
            s.output(y);
        }
        s.attribute((over, correction));
    }))
}

fn sum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let over: &Over = s.attribute()?;
    one(spread(g, s.shape(0), over.mask)?)
}

fn mean_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (over, factor): &(Over, f64) = s.attribute()?;
    one(spread(&scale(g, *factor)?, s.shape(0), over.mask)?)
}

/// The product of all the others, by running products from both ends: zeros need no case of their own.
fn prod_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let over: &Over = s.attribute()?;
    if x.rank() == 0 {
        return one(g.clone());
    }
    let wide = spread(g, x.shape(), over.mask)?;
    if over.mask.count_ones() == 1 {
        return one(mul(&wide, &exclusive_products(&x, over.mask.trailing_zeros() as usize)?)?);
    }
    let flat = exclusive_products(&reshape_to(&x, &[x.numel()])?, 0)?;
    one(mul(&wide, &reshape_to(&flat, x.shape())?)?)
}

fn extreme_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let over: &Over = s.attribute()?;
    let (hit, share) = {
        let _off = no_grad();
        let hit = eq(&x, &restore_dims(&y, x.shape(), over.mask)?)?;
        let kept = Over { keepdim: true, ..*over };
        let count = reduce("sum", ReduceOp::Sum { scale: 1.0 }, &hit, kept, DType::Int64)?;
        (hit, count)
    };
    let part = div(&restore_dims(g, x.shape(), over.mask)?, &share)?;
    one(mul(&part, &hit)?)
}

fn var_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    one(var_part(s, g)?)
}

/// `2 / (n - correction) * g * (x - mean)`.
fn var_part(s: &Saved, g: &Tensor) -> Result<Tensor> {
    let x = s.tensor(0)?;
    let &(over, correction): &(Over, f64) = s.attribute()?;
    let dims: Vec<i64> = (0..x.rank()).filter(|i| in_mask(over.mask, *i)).map(|i| i as i64).collect();
    let centred = sub(&x, &mean(&x, Some(&dims), true)?)?;
    let factor = 2.0 / (over.count(&x) as f64 - correction).max(0.0);
    mul(&restore_dims(&scale(g, factor)?, x.shape(), over.mask)?, &centred)
}

fn std_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let y = s.tensor(1)?;
    let half = div(g, &scale(&y, 2.0)?)?;
    one(var_part(s, &masked_fill(&half, &eq(&y, 0i64)?, 0i64.into())?)?)
}

fn norm_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let over: &Over = s.attribute()?;
    let part = masked_fill(&div(g, &y)?, &eq(&y, 0i64)?, 0i64.into())?;
    one(mul(&x, &restore_dims(&part, x.shape(), over.mask)?)?)
}

fn logsumexp_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let over: &Over = s.attribute()?;
    let weights = exp(&sub(&x, &restore_dims(&y, x.shape(), over.mask)?)?)?;
    one(mul(&restore_dims(g, x.shape(), over.mask)?, &weights)?)
}
