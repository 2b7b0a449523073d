//! Rows of order statistics and running extremes.

use super::{ANY_DIM, ANY_DIMS, DIM, DTYPE, KEEPDIM, LAST_DIM, list, one, pair};
use crate::base::Result;
use crate::op::args::{Args, Value};
use crate::op::autocast::whole;
use crate::op::def::DefaultValue as D;
use crate::op::def::{
    Domain, Draw, FUNCTION, Family, Gradient, OpDef, Operand, Param, ParamKind, SELF, Sample,
};
use crate::op::order::{self, Between};
use crate::op::reduce;

const X: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const APART: &[Draw] = &[Draw::of("x", &[3, 5], Domain::Distinct)];
const ALONG: &[Param] = &[SELF, ANY_DIM, KEEPDIM];
const QUANTILE: &[Param] = &[
    SELF,
    Param::required("q", ParamKind::Operand),
    ANY_DIM,
    KEEPDIM,
    Param::optional("interpolation", ParamKind::Str, D::Str("linear")),
];
const SPREAD: &[Param] =
    &[SELF, ANY_DIMS, Param::optional("correction", ParamKind::Scalar, D::Int(1)), KEEPDIM];

const POINTS: &[Param] = &[
    Param::required("y", ParamKind::Tensor),
    Param::optional("x", ParamKind::Tensor, D::None),
    Param::optional("dx", ParamKind::Float, D::Int(1)),
    LAST_DIM,
];

pub static ROWS: &[OpDef] = &[
    OpDef::call("median", Family::Reduce, "The middle element: of all, or along a dimension.", ALONG, |a| {
        middle(a, false)
    })
    .details("Of two middle elements the lower; NaN where there is one. With a dimension, values and indices.")
    .example("tensor([3, 1, 4, 2]).median()", "tensor(2)")
    .samples(&[Sample::of("x.median(1).values", APART), Sample::of("x.median()", APART)]),
    OpDef::call("nanmedian", Family::Reduce, "The middle of the elements that are no NaN.", ALONG, |a| {
        middle(a, true)
    })
    .example("tensor([3.0, 1.0, 0.0 / 0.0]).nanmedian()", "tensor(1.)")
    .samples(&[Sample::of("x.nanmedian(0).values", APART)]),
    OpDef::call(
        "mode",
        Family::Reduce,
        "The most frequent element along a dimension, and where it stands last.",
        &[SELF, LAST_DIM, KEEPDIM],
        |a| pair(order::mode(a.tensor(0)?, a.int(1)?, a.bool(2)?)),
    )
    .details("Of equally frequent elements the smallest.")
    .example("tensor([2, 7, 7, 2, 7]).mode().values", "tensor(7)")
    .samples(&[Sample::of("x.mode(1).values", APART)]),
    OpDef::call(
        "kthvalue",
        Family::Reduce,
        "The k-th smallest element along a dimension, counted from 1, and where it stands.",
        &[SELF, Param::required("k", ParamKind::Int), LAST_DIM, KEEPDIM],
        |a| pair(order::kthvalue(a.tensor(0)?, a.int(1)?, a.int(2)?, a.bool(3)?)),
    )
    .example("tensor([3, 9, 5]).kthvalue(2).values", "tensor(5)")
    .samples(&[Sample::of("x.kthvalue(2).values", APART)]),
    OpDef::call(
        "quantile",
        Family::Reduce,
        "The values below which the fractions `q` of the elements lie.",
        QUANTILE,
        |a| quantile(a, false),
    )
    .details(
        "`interpolation` between two elements is linear, lower, higher, midpoint or nearest. A vector `q` gives a new \
         first dimension.",
    )
    .example("tensor([1.0, 2.0, 3.0, 4.0]).quantile(0.5)", "tensor(2.5000)")
    .samples(&[Sample::of("x.quantile(0.4, 1)", APART), Sample::of("x.quantile(0.7, #{interpolation: \"midpoint\"})", APART)]),
    OpDef::call("nanquantile", Family::Reduce, "`quantile` of the elements that are no NaN.", QUANTILE, |a| {
        quantile(a, true)
    })
    .example("tensor([1.0, 3.0, 0.0 / 0.0]).nanquantile(0.5)", "tensor(2.)")
    .samples(&[Sample::of("x.nanquantile(0.3, 0)", APART)]),
    OpDef::call(
        "nansum",
        Family::Reduce,
        "The sum of the elements that are no NaN.",
        &[SELF, ANY_DIMS, KEEPDIM, DTYPE],
        |a| one(order::nansum(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?, a.dtype(3))),
    )
    .example("tensor([1.0, 0.0 / 0.0, 2.0]).nansum()", "tensor(3.)")
    .samples(&[Sample::of("x.nansum(1)", X)]),
    OpDef::call(
        "nanmean",
        Family::Reduce,
        "The mean of the elements that are no NaN.",
        &[SELF, ANY_DIMS, KEEPDIM, DTYPE],
        |a| one(order::nanmean(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?, a.dtype(3))),
    )
    .example("tensor([1.0, 0.0 / 0.0, 2.0]).nanmean()", "tensor(1.5000)")
    .samples(&[Sample::of("x.nanmean(1)", X)]),
    OpDef::call("var_mean", Family::Reduce, "The variance and the mean, as an array.", SPREAD, |a| {
        let (x, dims) = (a.tensor(0)?, a.optional_ints(1)?);
        let spread = reduce::var(x, dims.as_deref(), a.float(2)?, a.bool(3)?)?;
        list(Ok(vec![spread, reduce::mean(x, dims.as_deref(), a.bool(3)?)?]))
    })
    .forms(FUNCTION)
    .example("var_mean(tensor([1.0, 3.0]))", "[tensor(2.), tensor(2.)]")
    .samples(&[Sample::of("var_mean(x, 1)[0]", X)]),
    OpDef::call("std_mean", Family::Reduce, "The standard deviation and the mean, as an array.", SPREAD, |a| {
        let (x, dims) = (a.tensor(0)?, a.optional_ints(1)?);
        let spread = reduce::std(x, dims.as_deref(), a.float(2)?, a.bool(3)?)?;
        list(Ok(vec![spread, reduce::mean(x, dims.as_deref(), a.bool(3)?)?]))
    })
    .forms(FUNCTION)
    .example("std_mean(tensor([1.0, 3.0]))", "[tensor(1.4142), tensor(2.)]")
    .samples(&[Sample::of("std_mean(x, 0)[0]", X)]),
    OpDef::call(
        "aminmax",
        Family::Reduce,
        "The smallest and the largest element, of all or along a dimension.",
        ALONG,
        |a| {
            let (low, high) = order::aminmax(a.tensor(0)?, a.optional_int(1), a.bool(2)?)?;
            Ok(Value::Map(vec![("min", low.into()), ("max", high.into())]))
        },
    )
    .example("tensor([3, 1, 4]).aminmax().max", "tensor(4)")
    .samples(&[Sample::of("x.aminmax(1).max", APART)]),
    OpDef::call(
        "cummax",
        Family::Reduce,
        "The largest element so far along a dimension, and where it was last reached.",
        &[SELF, DIM],
        |a| pair(order::cummax(a.tensor(0)?, a.int(1)?)),
    )
    .example("tensor([1, 3, 2, 5]).cummax(0).values", "tensor([1, 3, 3, 5])")
    .samples(&[Sample::of("x.cummax(1).values", APART)]),
    OpDef::call(
        "cummin",
        Family::Reduce,
        "The smallest element so far along a dimension, and where it was last reached.",
        &[SELF, DIM],
        |a| pair(order::cummin(a.tensor(0)?, a.int(1)?)),
    )
    .example("tensor([4, 6, 2, 5]).cummin(0).values", "tensor([4, 4, 2, 2])")
    .samples(&[Sample::of("x.cummin(0).values", APART)]),
    OpDef::call(
        "logcumsumexp",
        Family::Reduce,
        "`log(cumsum(exp(x)))` along a dimension, without overflow.",
        &[SELF, DIM],
        |a| one(order::logcumsumexp(a.tensor(0)?, a.int(1)?)),
    )
    .example("tensor([0.0, 0.0]).logcumsumexp(0)", "tensor([0.0000, 0.6931])")
    .samples(&[Sample::of("x.logcumsumexp(1)", X)]),
    OpDef::call(
        "diff",
        Family::Reduce,
        "Differences of neighbours along a dimension, `n` times over.",
        &[
            SELF,
            Param::optional("n", ParamKind::Int, D::Int(1)),
            LAST_DIM,
            Param::optional("prepend", ParamKind::Tensor, D::None),
            Param::optional("append", ParamKind::Tensor, D::None),
        ],
        |a| {
            let (before, behind) = (a.optional_tensor(3), a.optional_tensor(4));
            one(order::diff(a.tensor(0)?, a.int(1)?, a.int(2)?, before, behind))
        },
    )
    .example("tensor([1, 4, 9]).diff()", "tensor([3, 5])")
    .samples(&[Sample::of("x.diff()", X), Sample::of("x.diff(2, 0)", X)]),
    OpDef::call(
        "cov",
        Family::Reduce,
        "The covariance matrix of variables in rows, observed in columns.",
        &[SELF, Param::optional("correction", ParamKind::Scalar, D::Int(1))],
        |a| one(order::cov(a.tensor(0)?, a.float(1)?)),
    )
    .example("tensor([[0.0, 2.0], [1.0, 5.0]]).cov()", "tensor([[2., 4.],\n        [4., 8.]])")
    .samples(&[Sample::of("x.cov()", X)]),
    OpDef::call(
        "corrcoef",
        Family::Reduce,
        "The correlation matrix of variables in rows, observed in columns.",
        &[SELF],
        |a| one(order::corrcoef(a.tensor(0)?)),
    )
    .example("tensor([[0.0, 2.0], [1.0, 5.0]]).corrcoef()", "tensor([[1., 1.],\n        [1., 1.]])"),
    OpDef::call(
        "cumulative_trapezoid",
        Family::Reduce,
        "The area under points up to each of them but the first; `x` gives their places, or `dx` their distance.",
        POINTS,
        |a| one(order::cumulative_trapezoid(a.tensor(0)?, a.optional_tensor(1), a.float(2)?, a.int(3)?)),
    )
    .forms(FUNCTION)
    .example("cumulative_trapezoid(tensor([1.0, 2.0, 4.0]))", "tensor([1.5000, 4.5000])")
    .samples(&[Sample::of("cumulative_trapezoid(x, #{dx: 0.5, dim: 0})", X)]),
    OpDef::call(
        "trapezoid",
        Family::Reduce,
        "The area under points along a dimension; `x` gives their places, or `dx` their distance.",
        POINTS,
        |a| one(order::trapezoid(a.tensor(0)?, a.optional_tensor(1), a.float(2)?, a.int(3)?)),
    )
    .forms(FUNCTION)
    .example("trapezoid(tensor([1.0, 2.0, 3.0]))", "tensor(4.)")
    .samples(&[Sample::of("trapezoid(x, #{dx: 0.5})", X)]),
    OpDef::call(
        "fmax",
        Family::Binary,
        "The larger of two elements; a number wins over NaN.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| one(order::fmax(a.tensor(0)?, a.tensor(1)?)),
    )
    .example("tensor([1.0, 0.0 / 0.0]).fmax(tensor([3.0, 2.0]))", "tensor([3., 2.])")
    .samples(&[Sample::of("a.fmax(b)", TWO)]),
    OpDef::call(
        "fmin",
        Family::Binary,
        "The smaller of two elements; a number wins over NaN.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| one(order::fmin(a.tensor(0)?, a.tensor(1)?)),
    )
    .example("tensor([1.0, 0.0 / 0.0]).fmin(tensor([3.0, 2.0]))", "tensor([1., 2.])")
    .samples(&[Sample::of("a.fmin(b)", TWO)]),
    OpDef::call(
        "cdist",
        Family::Matmul,
        "The distance of each row of one tensor from each row of another.",
        &[
            Param::required("x1", ParamKind::Tensor),
            Param::required("x2", ParamKind::Tensor),
            Param::optional("p", ParamKind::Scalar, D::Float(2.0)),
        ],
        |a| {
            let p = a.float(2)?;
            one(whole("cdist", [a.tensor(0)?, a.tensor(1)?], |[x, y]| order::cdist(x, y, p)))
        },
    )
    .forms(FUNCTION)
    .example("cdist(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]))", "tensor([[5.]])")
    .samples(&[Sample::of(
        "cdist(a, b)",
        &[Draw::of("a", &[3, 2], Domain::Any), Draw::of("b", &[4, 2], Domain::Positive)],
    )]),
];

const TWO: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Any)];

fn middle(a: &Args, skip_nan: bool) -> Result<Value> {
    let x = a.tensor(0)?;
    match a.optional_int(1) {
        None => one(order::median_all(x, skip_nan)),
        Some(dim) if skip_nan => pair(order::nanmedian(x, dim, a.bool(2)?)),
        Some(dim) => pair(order::median(x, dim, a.bool(2)?)),
    }
}

fn quantile(a: &Args, skip_nan: bool) -> Result<Value> {
    let q: Operand = a.operand(1)?;
    let between = Between::parse(a.str(4)?)?;
    one(order::quantile(a.tensor(0)?, q, a.optional_int(2), a.bool(3)?, between, skip_nan))
}

/// Why counts and places have no gradient.
pub const COUNTED: Gradient = Gradient::NoGrad("the result is a count or a place");
