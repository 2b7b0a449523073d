//! Running sums, and what works along one dimension and keeps its length.

use crate::base::{DType, Result};
use crate::device::Kernel;
use crate::device::class::KernelClass;
use crate::device::kernel::ScanOp;
use crate::op::core::args::to_value;
use crate::op::core::convert::{apart, cloned};
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{one, recorded};
use crate::op::core::whole::{Keeps, Whole, first};
use crate::op::core::{autocast, shapes};
use crate::op::elementwise::binary::logaddexp;
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::repeat::flip;
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor, launch};

use super::sums::widened;

/// The running sum along `dim`; integers and bools in int64.
pub fn cumsum(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("cumsum", &[x])? {
        return cumsum(x, dim, casts.dtype(dtype));
    }
    static RULE: Vjp = Vjp {
        name: "CumsumBackward0",
        run: |s, g| {
            let &dim: &usize = s.attribute()?;
            one(from_the_end(g, dim)?)
        },
    };
    let dim = x.dim(dim)?;
    let out = along("cumsum", Kernel::Scan { op: ScanOp::Sum, dim }, x, dtype.unwrap_or(widened(x.dtype())))?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute(dim)))
}

/// A kernel that works along one dimension; a scalar is a vector of one. No graph.
pub fn along(name: &'static str, kernel: Kernel, x: &Tensor, dtype: DType) -> Result<Tensor> {
    let out = Tensor::empty(x.shape(), dtype, &x.context(), name)?;
    if x.rank() == 0 {
        let (from, to) = (x.layout().unsqueeze(0)?, out.with_layout(out.layout().unsqueeze(0)?));
        launch(name, &kernel, &[In::Laid(x, &from)], &[&to])?;
    } else {
        launch(name, &kernel, &[x.into()], &[&out])?;
    }
    Ok(out)
}

/// The running sum from the end towards the beginning.
pub(crate) fn from_the_end(x: &Tensor, dim: usize) -> Result<Tensor> {
    let dim = dim as i64;
    if x.rank() == 0 {
        return Ok(x.clone());
    }
    flip(&cumsum(&flip(x, &[dim])?, dim, None)?, &[dim])
}

/// `log(cumsum(exp(x)))` along `dim`, without overflow.
pub(crate) fn logcumsumexp(x: &Tensor, dim: i64) -> Result<Tensor> {
    only_floats(x.dtype(), "logcumsumexp_out_cpu")?;
    if x.rank() == 0 || x.numel() == 0 {
        x.dim(dim)?;
        return cloned(x);
    }
    static KERNEL: Whole = Whole::new("logcumsumexp", "logcumsumexp_backward", "LogcumsumexpBackward0")
        .class(KernelClass::Reduction)
        .keeps(Keeps::InputsAndOutput);
    KERNEL.run(&[x], &[], Box::new(move |all| doubling(first(all)?, dim)))
}

fn doubling(x: &Tensor, dim: i64) -> Result<Tensor> {
    let at = x.dim(dim)?;
    let size = x.size(dim)?;
    let (mut out, mut width) = (x.clone(), 1);
    // Doubling steps; `logaddexp` keeps the exponentials in range.
    while width < size {
        let (new, old) = (slice(&out, at, width, size - width, 1)?, slice(&out, at, 0, size - width, 1)?);
        out = cat(&[&slice(&out, at, 0, width, 1)?, &logaddexp(&new, &old)?], dim)?;
        width *= 2;
    }
    apart(out, x)
}

const X: &[Draw] = &[Draw::of("x", &[3, 4, 2], Domain::Any)];
const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    CumsumParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

params! {
    LogcumsumexpParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cumsum",
        Family::Reduce,
        "Running sums along a dimension.",
        CumsumParams::LIST,
        by_name!(CumsumParams, |a| to_value(cumsum(a.input, a.dim, a.dtype))),
    )
    .in_place(by_name!(CumsumParams, |a| to_value(replaced(a.input, |x| cumsum(x, a.dim, a.dtype)))))
    .shapes(shapes::SAME)
    .example("tensor([1, 2, 3]).cumsum(0)", "tensor([1, 3, 6])")
    .gradient(Gradient::Vjp("CumsumBackward0"))
    .samples(&[Sample::of("x.cumsum(1)", X)]),
    OpDef::call(
        "logcumsumexp",
        Family::Reduce,
        "`log(cumsum(exp(x)))` along a dimension, without overflow.",
        LogcumsumexpParams::LIST,
        by_name!(LogcumsumexpParams, |a| to_value(logcumsumexp(a.input, a.dim))),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([0.0, 0.0]).logcumsumexp(0)", "tensor([0.0000, 0.6931])")
    .samples(&[Sample::of("x.logcumsumexp(1)", MATRIX)]),
];
