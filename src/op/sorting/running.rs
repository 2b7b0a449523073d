//! Running extremes.

use crate::base::{DType, Error, Result};
use crate::device::Kernel;
use crate::device::class::KernelClass;
use crate::device::kernel::ScanOp;
use crate::op::core::args::to_pair;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{one, recorded};
use crate::op::core::value::Value;
use crate::op::core::whole::plain;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{ge, le, logical_and, logical_or};
use crate::op::elementwise::predicates::{isnan, logical_not};
use crate::op::gather::along_dim::{gather, scatter_add};
use crate::op::reduce::scan::along;
use crate::op::reduce::sums::{amax, amin, max_all, min_all};
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

/// Values and where they were.
pub(crate) type ValuesIndices = (Tensor, Tensor);

/// The running maximum along `dim` and where it was last reached; NaN stays.
pub(crate) fn cummax(x: &Tensor, dim: i64) -> Result<ValuesIndices> {
    running(x, dim, ScanOp::Largest)
}

/// The running minimum along `dim` and where it was last reached; NaN stays.
pub(crate) fn cummin(x: &Tensor, dim: i64) -> Result<ValuesIndices> {
    running(x, dim, ScanOp::Smallest)
}

/// The smallest and the largest element, of everything or along `dim`.
pub(crate) fn aminmax(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<(Tensor, Tensor)> {
    match dim {
        None => Ok((min_all(x)?, max_all(x)?)),
        Some(dim) => Ok((amin(x, Some(&[dim]), keepdim)?, amax(x, Some(&[dim]), keepdim)?)),
    }
}

fn running(x: &Tensor, dim: i64, op: ScanOp) -> Result<ValuesIndices> {
    let (line, dim) = (if x.rank() == 0 { reshape_to(x, &[1])? } else { x.clone() }, x.dim(dim)?);
    let (name, rule): (_, &'static Vjp) = match op {
        ScanOp::Largest => ("cummax", &LARGEST),
        _ => ("cummin", &SMALLEST),
    };
    let both = || {
        let indices = match line.device().is_cuda() {
            true => doubling(&line, dim, op)?,
            false => along(name, Kernel::Scan { op, dim }, &line, DType::Int64)?,
        };
        let values = gather(&line, dim as i64, &indices)?;
        Ok(vec![reshape_to(&values, x.shape())?, reshape_to(&indices, x.shape())?])
    };
    let made: [Tensor; 2] = plain(name, KernelClass::Reduction, &[&line], &both)?
        .try_into()
        .map_err(|_| Error::runtime("a running extreme has values and places"))?;
    let [values, indices] = made;
    let values = recorded(values, rule, &[x], |s, _| {
        s.constant(Some(&indices));
        s.attribute(dim as i64);
    });
    Ok((values, indices))
}

static LARGEST: Vjp = Vjp { name: "CummaxBackward0", run: running_grad };
static SMALLEST: Vjp = Vjp { name: "CumminBackward0", run: running_grad };

fn running_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &dim: &i64 = s.attribute()?;
    let zeros = Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "cummaxmin_backward")?;
    if g.rank() == 0 { one(g.clone()) } else { one(scatter_add(&zeros, dim, &s.tensor(0)?, g)?) }
}

/// Doubling steps: after the step of width `w` each place knows the best of the `2w` places up to it.
fn doubling(x: &Tensor, dim: usize, op: ScanOp) -> Result<Tensor> {
    let along = dim as i64;
    let size = x.size(along)?;
    let (mut best, mut at) = (x.detach(), places_along(x, along)?);
    let mut width = 1;
    while width < size {
        let later = |t: &Tensor| slice(t, dim, width, size - width, 1);
        let earlier = |t: &Tensor| slice(t, dim, 0, size - width, 1);
        let (new, old) = (later(&best)?, earlier(&best)?);
        let mut keep = if op == ScanOp::Largest { ge(&new, &old)? } else { le(&new, &old)? };
        if x.dtype().is_float() {
            let (nan, before) = (isnan(&new)?, isnan(&old)?);
            keep = logical_or(&nan, &logical_and(&logical_not(&before)?, &keep)?)?;
        }
        let pick = |all: &Tensor| -> Result<Tensor> {
            let rest = where_(&keep, (&later(all)?).into(), (&earlier(all)?).into())?;
            cat(&[&slice(all, dim, 0, width, 1)?, &rest], along)
        };
        (best, at) = (pick(&best)?, pick(&at)?);
        width *= 2;
    }
    Ok(at)
}

/// 0, 1, 2, … along `dim`, in the shape of `x`.
pub(crate) fn places_along(x: &Tensor, dim: i64) -> Result<Tensor> {
    let mut shape: crate::base::Dims = x.shape().iter().map(|_| 1).collect();
    let size = x.size(dim)?;
    if let Some(slot) = shape.get_mut(x.dim(dim)?) {
        *slot = size;
    }
    let row = Tensor::empty(&shape, DType::Int64, &x.context(), "arange")?;
    let kernel = Kernel::Arange { start: 0i64.into(), step: 1i64.into() };
    crate::tensor::launch("arange", &kernel, &[], &[&row])?;
    crate::tensor::accumulate::expand(&row, x.shape())
}

const APART: &[Draw] = &[Draw::of("x", &[3, 5], Domain::Distinct)];

params! {
    AlongParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    CummaxParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "aminmax",
        Family::Reduce,
        "The smallest and the largest element, of all or along a dimension.",
        AlongParams::LIST,
        by_name!(AlongParams, |a| {
            let (low, high) = aminmax(a.input, a.dim, a.keepdim)?;
            Ok(Value::Map(vec![("min", low.into()), ("max", high.into())]))
        }),
    )
    .shapes("any -> `min` and `max` of (), or with `dim` without it (1 with keepdim)")
    .errors(&["RuntimeError: the input is empty and no `dim` is given"])
    .example("tensor([3, 1, 4]).aminmax().max", "tensor(4)")
    .samples(&[Sample::of("x.aminmax(1).max", APART)]),
    OpDef::call(
        "cummax",
        Family::Reduce,
        "The largest element so far along a dimension, and where it was last reached.",
        CummaxParams::LIST,
        by_name!(CummaxParams, |a| to_pair(cummax(a.input, a.dim))),
    )
    .shapes("any -> `values` and `indices` of the same")
    .example("tensor([1, 3, 2, 5]).cummax(0).values", "tensor([1, 3, 3, 5])")
    .samples(&[Sample::of("x.cummax(1).values", APART)]),
    OpDef::call(
        "cummin",
        Family::Reduce,
        "The smallest element so far along a dimension, and where it was last reached.",
        CummaxParams::LIST,
        by_name!(CummaxParams, |a| to_pair(cummin(a.input, a.dim))),
    )
    .shapes("any -> `values` and `indices` of the same")
    .example("tensor([4, 6, 2, 5]).cummin(0).values", "tensor([4, 4, 2, 2])")
    .samples(&[Sample::of("x.cummin(0).values", APART)]),
];
