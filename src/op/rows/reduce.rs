//! Rows of reductions, running reductions and softmax.

use super::{ANY_DIM, ANY_DIMS, DIM, DTYPE, KEEPDIM, LAST_DIM, one, pair};
use crate::base::{Error, Result};
use crate::op::args::{Args, Value};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::{binary, extremum, reduce, scan};

const X: &[Draw] = &[Draw::of("x", &[3, 4, 2], Domain::Any)];
const APART: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Distinct)];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "sum",
        Family::Reduce,
        "The sum of all elements, or along dimensions.",
        &[SELF, ANY_DIMS, KEEPDIM, DTYPE],
        |a| one(reduce::sum_as(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?, a.dtype(3))),
    )
    .details("Integers and bools are summed as int64.")
    .example("tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0)", "tensor([4., 6.])")
    .gradient(Gradient::Vjp("SumBackward0"))
    .samples(&[Sample::of("x.sum()", X), Sample::of("x.sum([0, 2], true)", X)]),
    OpDef::call(
        "mean",
        Family::Reduce,
        "The mean of all elements, or along dimensions.",
        &[SELF, ANY_DIMS, KEEPDIM, DTYPE],
        |a| one(reduce::mean_as(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?, a.dtype(3))),
    )
    .example("tensor([[1.0, 2.0], [3.0, 4.0]]).mean()", "tensor(2.5000)")
    .gradient(Gradient::Vjp("MeanBackward0"))
    .samples(&[Sample::of("x.mean()", X), Sample::of("x.mean(1)", X)]),
    OpDef::call(
        "prod",
        Family::Reduce,
        "The product of all elements, or along a dimension.",
        &[SELF, ANY_DIM, KEEPDIM, DTYPE],
        |a| one(reduce::prod(a.tensor(0)?, a.optional_int(1), a.bool(2)?, a.dtype(3))),
    )
    .example("tensor([2.0, 3.0]).prod()", "tensor(6.)")
    .gradient(Gradient::Vjp("ProdBackward0"))
    .samples(&[Sample::of("x.prod(1)", &[Draw::of("x", &[3, 4], Domain::Positive)])]),
    OpDef::call(
        "amax",
        Family::Reduce,
        "The largest element along dimensions; equals share the gradient.",
        &[SELF, ANY_DIMS, KEEPDIM],
        |a| one(reduce::amax(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)),
    )
    .example("tensor([[1, 5], [7, 2]]).amax(1)", "tensor([5, 7])")
    .gradient(Gradient::Vjp("AmaxBackward0"))
    .samples(&[Sample::of("x.amax(1)", APART)]),
    OpDef::call(
        "amin",
        Family::Reduce,
        "The smallest element along dimensions; equals share the gradient.",
        &[SELF, ANY_DIMS, KEEPDIM],
        |a| one(reduce::amin(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)),
    )
    .example("tensor([[1, 5], [7, 2]]).amin(1)", "tensor([1, 2])")
    .gradient(Gradient::Vjp("AminBackward0"))
    .samples(&[Sample::of("x.amin(0)", APART)]),
    OpDef::call(
        "max",
        Family::Reduce,
        "The largest element, or with a dimension its values and indices.",
        EXTREMUM,
        |a| extremum_of(a, true),
    )
    .details("With another tensor: the larger of two elements, as `maximum`.")
    .example("tensor([[1, 5], [7, 2]]).max(1).indices", "tensor([1, 0])")
    .gradient(Gradient::Vjp("MaxBackward0"))
    .samples(&[Sample::of("x.max()", APART), Sample::of("x.max(1).values", APART)]),
    OpDef::call(
        "min",
        Family::Reduce,
        "The smallest element, or with a dimension its values and indices.",
        EXTREMUM,
        |a| extremum_of(a, false),
    )
    .details("With another tensor: the smaller of two elements, as `minimum`.")
    .example("tensor([[1, 5], [7, 2]]).min(1).values", "tensor([1, 2])")
    .gradient(Gradient::Vjp("MinBackward0"))
    .samples(&[Sample::of("x.min()", APART), Sample::of("x.min(0).values", APART)]),
    OpDef::call(
        "argmax",
        Family::Reduce,
        "Where the largest element is, in the flattened tensor or along a dimension.",
        &[SELF, ANY_DIM, KEEPDIM],
        |a| one(extremum::argmax(a.tensor(0)?, a.optional_int(1), a.bool(2)?)),
    )
    .example("tensor([3, 9, 4]).argmax()", "tensor(1)")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call(
        "argmin",
        Family::Reduce,
        "Where the smallest element is, in the flattened tensor or along a dimension.",
        &[SELF, ANY_DIM, KEEPDIM],
        |a| one(extremum::argmin(a.tensor(0)?, a.optional_int(1), a.bool(2)?)),
    )
    .example("tensor([3, 9, 4]).argmin()", "tensor(0)")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call("var", Family::Reduce, "The variance, with Bessel's correction.", SPREAD, |a| {
        one(reduce::var(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.float(2)?, a.bool(3)?))
    })
    .example("tensor([1.0, 3.0]).var()", "tensor(2.)")
    .gradient(Gradient::Vjp("VarBackward0"))
    .samples(&[Sample::of("x.var()", X), Sample::of("x.var(1)", X)]),
    OpDef::call("std", Family::Reduce, "The standard deviation, with Bessel's correction.", SPREAD, |a| {
        one(reduce::std(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.float(2)?, a.bool(3)?))
    })
    .example("tensor([1.0, 3.0]).std()", "tensor(1.4142)")
    .gradient(Gradient::Vjp("StdBackward0"))
    .samples(&[Sample::of("x.std(1)", X)]),
    OpDef::call("norm", Family::Reduce, "The p-norm of all elements, or along dimensions.", NORM, |a| {
        one(reduce::norm(a.tensor(0)?, a.float(1)?, a.optional_ints(2)?.as_deref(), a.bool(3)?))
    })
    .example("tensor([3.0, 4.0]).norm()", "tensor(5.)")
    .gradient(Gradient::Vjp("NormBackward0"))
    .samples(&[Sample::of("x.norm()", X)]),
    OpDef::call(
        "logsumexp",
        Family::Reduce,
        "`log(sum(exp(x)))` along dimensions, without overflow.",
        &[SELF, Param::required("dim", ParamKind::Ints), KEEPDIM],
        |a| one(reduce::logsumexp(a.tensor(0)?, &a.ints(1)?, a.bool(2)?)),
    )
    .example("tensor([0.0, 0.0]).logsumexp(0)", "tensor(0.6931)")
    .gradient(Gradient::Vjp("LogsumexpBackward0"))
    .samples(&[Sample::of("x.logsumexp(1)", X)]),
    OpDef::call(
        "all",
        Family::Reduce,
        "Whether every element is non-zero.",
        &[SELF, ANY_DIMS, KEEPDIM],
        |a| one(reduce::all(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)),
    )
    .example("tensor([1, 0]).all()", "tensor(False)")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call("any", Family::Reduce, "Whether any element is non-zero.", &[SELF, ANY_DIMS, KEEPDIM], |a| {
        one(reduce::any(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?))
    })
    .example("tensor([1, 0]).any()", "tensor(True)")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call("count_nonzero", Family::Reduce, "How many elements are non-zero.", &[SELF, ANY_DIMS], |a| {
        one(reduce::count_nonzero(a.tensor(0)?, a.optional_ints(1)?.as_deref()))
    })
    .example("tensor([1, 0, 5]).count_nonzero()", "tensor(2)")
    .gradient(Gradient::NoGrad("the result is a count")),
    OpDef::call("cumsum", Family::Reduce, "Running sums along a dimension.", &[SELF, DIM, DTYPE], |a| {
        one(scan::cumsum(a.tensor(0)?, a.int(1)?, a.dtype(2)))
    })
    .example("tensor([1, 2, 3]).cumsum(0)", "tensor([1, 3, 6])")
    .gradient(Gradient::Vjp("CumsumBackward0"))
    .samples(&[Sample::of("x.cumsum(1)", X)]),
    OpDef::call("cumprod", Family::Reduce, "Running products along a dimension.", &[SELF, DIM, DTYPE], |a| {
        one(scan::cumprod(a.tensor(0)?, a.int(1)?, a.dtype(2)))
    })
    .example("tensor([1, 2, 3]).cumprod(0)", "tensor([1, 2, 6])")
    .gradient(Gradient::Vjp("CumprodBackward0"))
    .samples(&[Sample::of("x.cumprod(1)", &[Draw::of("x", &[3, 4], Domain::Positive)])]),
    OpDef::call(
        "softmax",
        Family::Reduce,
        "Exponentials along a dimension, scaled to sum to 1.",
        &[SELF, LAST_DIM, DTYPE],
        |a| one(scan::softmax(a.tensor(0)?, a.int(1)?, a.dtype(2))),
    )
    .forms(&[Form::Method, Form::Function, Form::Functional])
    .example("tensor([0.0, 0.0]).softmax(0)", "tensor([0.5000, 0.5000])")
    .gradient(Gradient::Vjp("SoftmaxBackward0"))
    .samples(&[Sample::of("x.softmax(-1)", X), Sample::of("x.softmax(0)", X)]),
    OpDef::call(
        "log_softmax",
        Family::Reduce,
        "The logarithm of softmax, without overflow.",
        &[SELF, LAST_DIM, DTYPE],
        |a| one(scan::log_softmax(a.tensor(0)?, a.int(1)?, a.dtype(2))),
    )
    .forms(&[Form::Method, Form::Function, Form::Functional])
    .example("tensor([0.0, 0.0]).log_softmax(0)", "tensor([-0.6931, -0.6931])")
    .gradient(Gradient::Vjp("LogSoftmaxBackward0"))
    .samples(&[Sample::of("x.log_softmax(-1)", X)]),
];

const EXTREMUM: &[Param] = &[SELF, Param::optional("dim", ParamKind::Any, D::None), KEEPDIM];
const SPREAD: &[Param] =
    &[SELF, ANY_DIMS, Param::optional("correction", ParamKind::Scalar, D::Int(1)), KEEPDIM];
const NORM: &[Param] = &[SELF, Param::optional("p", ParamKind::Scalar, D::Int(2)), ANY_DIMS, KEEPDIM];

/// `max` and `min` in their three forms: of everything, along a dimension, of two tensors.
fn extremum_of(a: &Args, largest: bool) -> Result<Value> {
    let x = a.tensor(0)?;
    match a.get(1) {
        Value::None if largest => one(reduce::max_all(x)),
        Value::None => one(reduce::min_all(x)),
        Value::Tensor(other) if largest => one(binary::maximum(x, other)),
        Value::Tensor(other) => one(binary::minimum(x, other)),
        Value::Scalar(crate::base::Scalar::Int(dim)) if largest => {
            pair(extremum::max_dim(x, *dim, a.bool(2)?))
        }
        Value::Scalar(crate::base::Scalar::Int(dim)) => pair(extremum::min_dim(x, *dim, a.bool(2)?)),
        other => Err(Error::type_error(format!(
            "{}(): the second argument is a dimension or a tensor, not {}",
            a.def.name,
            other.describe()
        ))),
    }
}
