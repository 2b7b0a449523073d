//! Rows of reductions, and of operations along a dimension.

use crate::base::{Error, Kind, Result, Scalar};
use crate::op::args::{Args, Value};
use crate::op::binary::{maximum, minimum};
use crate::op::def::{
    DIM, DTYPE, Default, Domain, Draw, Family, Form, Gradient, KEEPDIM, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::extremum::{argmax, argmin, max_dim, min_dim};
use crate::op::reduce::{
    all, amax, amin, any, count_nonzero, logsumexp, max_all, mean_as, min_all, norm, prod, std, sum_as, var,
};
use crate::op::scan::{cumprod, cumsum, log_softmax, softmax};

use super::values_and_indices;

const DIMS: Param = Param::optional("dim", ParamKind::Ints, Default::None);
const ONE_DIM: Param = Param::optional("dim", ParamKind::Int, Default::None);
const X345: &[Draw] = &[Draw::of("x", &[3, 4, 5], Domain::Any)];
const X34: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const APART: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Distinct)];
const WHOLE: Gradient = Gradient::NoGrad("the result is an index, a count or a bool");
const FORMS: &[Form] = &[Form::Method, Form::Function, Form::Functional];

/// Reductions.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "sum",
        Family::Reduce,
        "Sum over dimensions, or over everything; integers and bools are summed in int64.",
        &[SELF, DIMS, KEEPDIM, DTYPE],
        |a| Ok(sum_as(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?, a.dtype(3))?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).sum(0)", "tensor([4, 6])")
    .gradient(Gradient::Vjp("SumBackward0"))
    .samples(&[Sample::of("x.sum()", X345), Sample::of("x.sum([0, 2], true)", X345)]),
    OpDef::call(
        "mean",
        Family::Reduce,
        "Mean over dimensions, or over everything, of floats.",
        &[SELF, DIMS, KEEPDIM, DTYPE],
        |a| Ok(mean_as(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?, a.dtype(3))?.into()),
    )
    .example("tensor([[1.0, 2.0], [3.0, 5.0]]).mean(1)", "tensor([1.5000, 4.0000])")
    .gradient(Gradient::Vjp("MeanBackward0"))
    .samples(&[Sample::of("x.mean()", X345), Sample::of("x.mean(-2, true)", X345)]),
    OpDef::call(
        "prod",
        Family::Reduce,
        "Product over one dimension, or over everything.",
        &[SELF, ONE_DIM, KEEPDIM, DTYPE],
        |a| Ok(prod(a.tensor(0)?, a.optional_int(1), a.bool(2)?, a.dtype(3))?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).prod(1)", "tensor([ 2, 12])")
    .gradient(Gradient::Vjp("ProdBackward0"))
    .samples(&[Sample::of("x.prod()", X34), Sample::of("x.prod(1, true)", X345)]),
    OpDef::call(
        "amax",
        Family::Reduce,
        "The largest element over dimensions; equals share the gradient.",
        &[SELF, DIMS, KEEPDIM],
        |a| Ok(amax(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)?.into()),
    )
    .example("tensor([[1, 7], [3, 4]]).amax(0)", "tensor([3, 7])")
    .gradient(Gradient::Vjp("AmaxBackward0"))
    .samples(&[Sample::of("x.amax(1)", APART)]),
    OpDef::call(
        "amin",
        Family::Reduce,
        "The smallest element over dimensions; equals share the gradient.",
        &[SELF, DIMS, KEEPDIM],
        |a| Ok(amin(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)?.into()),
    )
    .example("tensor([[1, 7], [3, 4]]).amin(0)", "tensor([1, 4])")
    .gradient(Gradient::Vjp("AminBackward0"))
    .samples(&[Sample::of("x.amin(1)", APART)]),
    OpDef::call(
        "max",
        Family::Reduce,
        "The largest element; along a dimension with its index; or of two tensors, element by element.",
        &[SELF, Param::optional("dim", ParamKind::Any, Default::None), KEEPDIM],
        |a| extreme(a, max_all, max_dim, |x, y| maximum(x, y)),
    )
    .details("Along a dimension the result is `#{values, indices}`; the first of equals wins.")
    .example("tensor([[1, 7], [3, 4]]).max(1).indices", "tensor([1, 1])")
    .gradient(Gradient::Vjp("MaxBackward0"))
    .samples(&[Sample::of("x.max()", APART), Sample::of("x.max(1).values", APART)]),
    OpDef::call(
        "min",
        Family::Reduce,
        "The smallest element; along a dimension with its index; or of two tensors, element by element.",
        &[SELF, Param::optional("dim", ParamKind::Any, Default::None), KEEPDIM],
        |a| extreme(a, min_all, min_dim, |x, y| minimum(x, y)),
    )
    .details("Along a dimension the result is `#{values, indices}`; the first of equals wins.")
    .example("tensor([[1, 7], [3, 4]]).min()", "tensor(1)")
    .gradient(Gradient::Vjp("MinBackward0"))
    .samples(&[Sample::of("x.min()", APART), Sample::of("x.min(0).values", APART)]),
    OpDef::call(
        "argmax",
        Family::Reduce,
        "The index of the largest element along a dimension, or of all elements.",
        &[SELF, ONE_DIM, KEEPDIM],
        |a| Ok(argmax(a.tensor(0)?, a.optional_int(1), a.bool(2)?)?.into()),
    )
    .example("tensor([1, 5, 3]).argmax()", "tensor(1)")
    .gradient(WHOLE),
    OpDef::call(
        "argmin",
        Family::Reduce,
        "The index of the smallest element along a dimension, or of all elements.",
        &[SELF, ONE_DIM, KEEPDIM],
        |a| Ok(argmin(a.tensor(0)?, a.optional_int(1), a.bool(2)?)?.into()),
    )
    .example("tensor([1, 5, 3]).argmin()", "tensor(0)")
    .gradient(WHOLE),
    OpDef::call("var", Family::Reduce, "Variance over dimensions.", SPREAD, |a| {
        Ok(var(a.tensor(0)?, a.optional_ints(1)?.as_deref(), correction(a)?, a.bool(3)?)?.into())
    })
    .details("The sum of squares is divided by `n - 1`, or by `n` where `unbiased` is false.")
    .example("tensor([1.0, 2.0, 3.0, 4.0]).var()", "tensor(1.6667)")
    .gradient(Gradient::Vjp("VarBackward0"))
    .samples(&[Sample::of("x.var()", X34), Sample::of("x.var(1, false)", X34)]),
    OpDef::call(
        "std",
        Family::Reduce,
        "Standard deviation over dimensions, the root of `var`.",
        SPREAD,
        |a| Ok(std(a.tensor(0)?, a.optional_ints(1)?.as_deref(), correction(a)?, a.bool(3)?)?.into()),
    )
    .example("tensor([1.0, 2.0, 3.0, 4.0]).std()", "tensor(1.2910)")
    .gradient(Gradient::Vjp("StdBackward0"))
    .samples(&[Sample::of("x.std(1)", X34)]),
    OpDef::call(
        "norm",
        Family::Reduce,
        "The vector norm of order `p`: `sum(|x| ** p) ** (1 / p)`.",
        &[SELF, Param::optional("p", ParamKind::Any, Default::Int(2)), DIMS, KEEPDIM],
        |a| Ok(norm(a.tensor(0)?, order(a)?, a.optional_ints(2)?.as_deref(), a.bool(3)?)?.into()),
    )
    .details("`\"inf\"` gives the largest size, 0 the count of non-zero elements.")
    .example("tensor([3.0, 4.0]).norm()", "tensor(5.)")
    .gradient(Gradient::Vjp("LinalgVectorNormBackward0"))
    .samples(&[Sample::of("x.norm()", X34), Sample::of("x.norm(3, 1)", X34)]),
    OpDef::call(
        "logsumexp",
        Family::Reduce,
        "`log(sum(exp(x)))` over dimensions, without overflow.",
        &[SELF, Param::required("dim", ParamKind::Ints), KEEPDIM],
        |a| Ok(logsumexp(a.tensor(0)?, &a.ints(1)?, a.bool(2)?)?.into()),
    )
    .example("tensor([1.0, 1.0]).logsumexp(0)", "tensor(1.6931)")
    .gradient(Gradient::Vjp("LogsumexpBackward0"))
    .samples(&[Sample::of("x.logsumexp(1, true)", X34)]),
    OpDef::call("all", Family::Reduce, "Whether all elements are non-zero.", &[SELF, DIMS, KEEPDIM], |a| {
        Ok(all(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)?.into())
    })
    .example("tensor([1, 0]).all()", "tensor(False)")
    .gradient(WHOLE),
    OpDef::call("any", Family::Reduce, "Whether any element is non-zero.", &[SELF, DIMS, KEEPDIM], |a| {
        Ok(any(a.tensor(0)?, a.optional_ints(1)?.as_deref(), a.bool(2)?)?.into())
    })
    .example("tensor([1, 0]).any()", "tensor(True)")
    .gradient(WHOLE),
    OpDef::call("count_nonzero", Family::Reduce, "How many elements are not zero.", &[SELF, DIMS], |a| {
        Ok(count_nonzero(a.tensor(0)?, a.optional_ints(1)?.as_deref())?.into())
    })
    .example("tensor([1, 0, 3]).count_nonzero()", "tensor(2)")
    .gradient(WHOLE),
];

/// Operations along one dimension.
pub static ALONG: &[OpDef] = &[
    OpDef::call("cumsum", Family::Reduce, "The running sum along a dimension.", &[SELF, DIM, DTYPE], |a| {
        Ok(cumsum(a.tensor(0)?, a.int(1)?, a.dtype(2))?.into())
    })
    .example("tensor([1, 2, 3]).cumsum(0)", "tensor([1, 3, 6])")
    .gradient(Gradient::Vjp("CumsumBackward0"))
    .samples(&[Sample::of("x.cumsum(1)", X34)]),
    OpDef::call(
        "cumprod",
        Family::Reduce,
        "The running product along a dimension.",
        &[SELF, DIM, DTYPE],
        |a| Ok(cumprod(a.tensor(0)?, a.int(1)?, a.dtype(2))?.into()),
    )
    .example("tensor([1, 2, 3]).cumprod(0)", "tensor([1, 2, 6])")
    .gradient(Gradient::Vjp("CumprodBackward0"))
    .samples(&[Sample::of("x.cumprod(1)", X34)]),
    OpDef::call(
        "softmax",
        Family::Activation,
        "`exp(x)` divided by its sum along a dimension.",
        &[SELF, DIM, DTYPE],
        |a| Ok(softmax(a.tensor(0)?, a.int(1)?, a.dtype(2))?.into()),
    )
    .forms(FORMS)
    .example("tensor([1.0, 2.0]).softmax(0)", "tensor([0.2689, 0.7311])")
    .gradient(Gradient::Vjp("SoftmaxBackward0"))
    .samples(&[Sample::of("x.softmax(-1)", X34), Sample::of("x.softmax(0)", X345)]),
    OpDef::call(
        "log_softmax",
        Family::Activation,
        "The logarithm of `softmax`, without overflow.",
        &[SELF, DIM, DTYPE],
        |a| Ok(log_softmax(a.tensor(0)?, a.int(1)?, a.dtype(2))?.into()),
    )
    .forms(FORMS)
    .example("tensor([1.0, 2.0]).log_softmax(0)", "tensor([-1.3133, -0.3133])")
    .gradient(Gradient::Vjp("LogSoftmaxBackward0"))
    .samples(&[Sample::of("x.log_softmax(-1)", X34), Sample::of("x.log_softmax(0)", X345)]),
];

const SPREAD: &[Param] = &[
    SELF,
    DIMS,
    Param::optional("unbiased", ParamKind::Bool, Default::Bool(true)),
    KEEPDIM,
    Param::optional("correction", ParamKind::Float, Default::None),
];

/// What is taken from the count of `var` and `std`.
fn correction(a: &Args) -> Result<f64> {
    Ok(a.optional_float(4).unwrap_or(if a.bool(2)? { 1.0 } else { 0.0 }))
}

/// The order of a norm: a number, `"fro"` or `"inf"`.
fn order(a: &Args) -> Result<f64> {
    match a.get(1) {
        Value::Scalar(s) => Ok(s.as_f64()),
        Value::Str(s) if s == "fro" => Ok(2.0),
        Value::Str(s) if s == "inf" => Ok(f64::INFINITY),
        Value::Str(s) if s == "-inf" => Ok(f64::NEG_INFINITY),
        other => Err(Error::type_error(format!(
            "norm(): argument 'p' must be a number, \"fro\" or \"inf\", not {}",
            other.describe()
        ))),
    }
}

type Whole = fn(&crate::tensor::Tensor) -> Result<crate::tensor::Tensor>;
type Along = fn(&crate::tensor::Tensor, i64, bool) -> Result<(crate::tensor::Tensor, crate::tensor::Tensor)>;
type Pair = fn(&crate::tensor::Tensor, &crate::tensor::Tensor) -> Result<crate::tensor::Tensor>;

/// The three forms of `max` and `min`.
fn extreme(a: &Args, whole: Whole, along: Along, pair: Pair) -> Result<Value> {
    let x = a.tensor(0)?;
    match a.get(1) {
        Value::None => Ok(whole(x)?.into()),
        Value::Scalar(Scalar::Int(dim)) => along(x, *dim, a.bool(2)?).map(values_and_indices),
        Value::Tensor(other) => Ok(pair(x, other)?.into()),
        other => {
            let name = a.def.name;
            let text = format!("{name}() takes a dimension or another tensor, not {}", other.describe());
            let hint = format!(
                "`x.{name}()`, `x.{name}(dim)` and `x.{name}(other)`; `a{name}` takes several dimensions"
            );
            Err(Error::new(Kind::TypeError, text).with_hint(hint))
        }
    }
}
