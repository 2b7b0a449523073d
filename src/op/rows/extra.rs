//! Rows of elementwise functions with options, and of PyTorch's second names.

use super::one;
use crate::base::{Error, Result};
use crate::op::args::{Args, Value};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::params::{by_name, kind, params};
use crate::op::record::replaced;
use crate::op::{binary, extra, unary};

const X: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const INSIDE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Inside)];
const POSITIVE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Positive)];
const TWO: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];
const OTHER: Param = Param::required("other", ParamKind::Operand);
const PAIR: &[Param] = &[SELF, OTHER];

const WHOLE: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Index(30)), Draw::of("b", &[4], Domain::Index(30))];
const NO_SLOPE: Gradient = Gradient::NoGrad("the result is a whole number");

params! {
    RenormParams {
        input: kind::Tensor, "the tensor whose slices are scaled";
        p: kind::Float, "which norm is taken: 1, 2, …";
        dim: kind::Int, "the dimension along which the slices are counted";
        maxnorm: kind::Float, "the largest norm that a slice may keep";
    }
}

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "gcd",
        Family::Binary,
        "The greatest common divisor of whole numbers, element by element.",
        PAIR,
        |a| one(extra::gcd(a.operand(0)?, a.operand(1)?)),
    )
    .in_place(|a| one(extra::gcd_(a.tensor(0)?, a.operand(1)?)))
    .details("`gcd(0, n)` is `|n|`, and `gcd(0, 0)` is 0.")
    .example("tensor([12, -18, 0]).gcd(tensor([8, 12, 5]))", "tensor([4, 6, 5])")
    .gradient(NO_SLOPE)
    .samples(&[Sample::of("a.gcd(b)", WHOLE)]),
    OpDef::call(
        "lcm",
        Family::Binary,
        "The least common multiple of whole numbers, element by element.",
        PAIR,
        |a| one(extra::lcm(a.operand(0)?, a.operand(1)?)),
    )
    .in_place(|a| one(extra::lcm_(a.tensor(0)?, a.operand(1)?)))
    .details("It is 0 beside a 0, and wraps where the dtype cannot hold it.")
    .example("tensor([12, -18, 0]).lcm(tensor([8, 12, 5]))", "tensor([24, 36,  0])")
    .gradient(NO_SLOPE)
    .samples(&[Sample::of("a.lcm(b)", WHOLE)]),
    OpDef::call(
        "nextafter",
        Family::Binary,
        "The number of the dtype next to each element on the way to another.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| one(extra::nextafter(a.tensor(0)?, a.tensor(1)?, false)),
    )
    .in_place(|a| one(extra::nextafter(a.tensor(0)?, a.tensor(1)?, true)))
    .example(
        "tensor([1.0, 0.0]).nextafter(tensor(2.0)) - tensor([1.0, 0.0])",
        "tensor([1.1921e-07, 1.4013e-45])",
    )
    .gradient(Gradient::Vjp("NextafterBackward0"))
    .samples(&[Sample::of("a.nextafter(b)", TWO)]),
    OpDef::call(
        "renorm",
        Family::Normalise,
        "The slices along a dimension whose `p`-norm is more than `maxnorm`, scaled down to it.",
        RenormParams::LIST,
        by_name!(RenormParams, |a| one(extra::renorm(a.input, a.p, a.dim, a.maxnorm))),
    )
    .in_place(by_name!(RenormParams, |a| {
        one(replaced(a.input, |x| extra::renorm(x, a.p, a.dim, a.maxnorm)))
    }))
    .example(
        "tensor([[1.0, 2.0, 2.0], [3.0, 4.0, 0.0]]).renorm(2, 0, 4)",
        "tensor([[1.0000, 2.0000, 2.0000],\n        [2.4000, 3.2000, 0.0000]])",
    )
    .samples(&[Sample::of("x.renorm(2, 0, 1.5)", X), Sample::of("x.renorm(1, 1, 2.0)", X)]),
    OpDef::call(
        "nan_to_num",
        Family::Elementwise,
        "Numbers for NaN and the infinities: 0 and the largest of the dtype, or those named.",
        &[
            SELF,
            Param::optional("nan", ParamKind::Float, D::Float(0.0)),
            Param::optional("posinf", ParamKind::Float, D::None),
            Param::optional("neginf", ParamKind::Float, D::None),
        ],
        |a| one(nan_to_num(a, a.tensor(0)?)),
    )
    .in_place(|a| one(replaced(a.tensor(0)?, |x| nan_to_num(a, x))))
    .example("tensor([1.0, 0.0 / 0.0, 1.0 / 0.0]).nan_to_num(0.0, 9.0)", "tensor([1., 0., 9.])")
    .gradient(Gradient::Vjp("NanToNumBackward0"))
    .samples(&[Sample::of("x.nan_to_num()", X)]),
    OpDef::call(
        "polygamma",
        Family::Elementwise,
        "The n-th derivative of `digamma`.",
        &[Param::required("n", ParamKind::Int), Param::required("input", ParamKind::Tensor)],
        |a| match a.int(0)? {
            n if n < 0 => Err(Error::runtime("polygamma(n, x) does not support negative n.")),
            0 => one(unary::digamma(a.tensor(1)?)),
            n => one(unary::polygamma(a.tensor(1)?, n as f64)),
        },
    )
    .forms(crate::op::def::FUNCTION)
    .example("polygamma(1, tensor([1.0]))", "tensor([1.6449])")
    .gradient(Gradient::Vjp("PolygammaBackward0"))
    .samples(&[Sample::of("polygamma(1, x)", POSITIVE)]),
    OpDef::call(
        "logit",
        Family::Elementwise,
        "`log(x / (1 - x))`, the inverse of `sigmoid`; with `eps` elements are kept that far from 0 and 1.",
        &[SELF, Param::optional("eps", ParamKind::Float, D::None)],
        |a| one(extra::logit(a.tensor(0)?, a.optional_float(1))),
    )
    .example("tensor([0.5, 0.9]).logit()", "tensor([0.0000, 2.1972])")
    .samples(&[Sample::of("(0.5 + 0.4 * x).logit()", INSIDE)]),
    OpDef::call("frac", Family::Elementwise, "The fraction of each element, with its sign.", &[SELF], |a| {
        one(extra::frac(a.tensor(0)?))
    })
    .in_place(|a| one(replaced(a.tensor(0)?, extra::frac)))
    .example("tensor([1.5, -2.25]).frac()", "tensor([ 0.5000, -0.2500])")
    .samples(&[Sample::of("x.frac()", X)]),
    OpDef::call("deg2rad", Family::Elementwise, "Degrees as radians.", &[SELF], |a| {
        one(extra::scaled(a.tensor(0)?, std::f64::consts::PI / 180.0))
    })
    .example("tensor([180.0]).deg2rad()", "tensor([3.1416])")
    .samples(&[Sample::of("x.deg2rad()", X)]),
    OpDef::call("rad2deg", Family::Elementwise, "Radians as degrees.", &[SELF], |a| {
        one(extra::scaled(a.tensor(0)?, 180.0 / std::f64::consts::PI))
    })
    .example("tensor([3.0]).rad2deg()", "tensor([171.8873])")
    .samples(&[Sample::of("x.rad2deg()", X)]),
    OpDef::call(
        "isposinf",
        Family::Elementwise,
        "Whether each element is positive infinity.",
        &[SELF],
        |a| one(extra::is_infinity(a.tensor(0)?, f64::INFINITY)),
    )
    .example("tensor([1.0, 1.0 / 0.0]).isposinf()", "tensor([False,  True])")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call(
        "isneginf",
        Family::Elementwise,
        "Whether each element is negative infinity.",
        &[SELF],
        |a| one(extra::is_infinity(a.tensor(0)?, f64::NEG_INFINITY)),
    )
    .example("tensor([1.0, -1.0 / 0.0]).isneginf()", "tensor([False,  True])")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call(
        "bitwise_not",
        Family::Elementwise,
        "Each bit turned over; for masks, what is false becomes true.",
        &[SELF],
        |a| one(unary::bitwise_not(a.tensor(0)?)),
    )
    .forms(&[Form::Method, Form::Function, Form::Operator("!")])
    .in_place(|a| one(replaced(a.tensor(0)?, unary::bitwise_not)))
    .example("tensor([true, false]).bitwise_not()", "tensor([False,  True])")
    .gradient(Gradient::NoGrad("bits have no gradient")),
    OpDef::call(
        "isin",
        Family::Compare,
        "Whether each element is one of some others.",
        &[
            Param::required("elements", ParamKind::Tensor),
            Param::required("test_elements", ParamKind::Operand),
            Param::optional("invert", ParamKind::Bool, D::Bool(false)),
        ],
        |a| one(extra::isin(a.tensor(0)?, a.operand(1)?, a.bool(2)?)),
    )
    .forms(crate::op::def::FUNCTION)
    .example("isin(tensor([1, 2, 3]), tensor([3, 1]))", "tensor([ True, False,  True])")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call("logaddexp2", Family::Binary, "`log2(2**input + 2**other)`, without overflow.", PAIR, |a| {
        one(extra::logaddexp2(a.operand(0)?, a.operand(1)?))
    })
    .example("tensor([1.0]).logaddexp2(tensor([1.0]))", "tensor([2.])")
    .samples(&[Sample::of("a.logaddexp2(b)", TWO)]),
    OpDef::call("ldexp", Family::Binary, "`input * 2**other`.", PAIR, |a| {
        one(extra::ldexp(a.operand(0)?, a.operand(1)?))
    })
    .example("tensor([1.0, 3.0]).ldexp(2)", "tensor([ 4., 12.])")
    .samples(&[Sample::of("a.ldexp(2)", TWO)]),
    OpDef::call("float_power", Family::Binary, "The power in double precision.", PAIR, |a| {
        one(extra::float_power(a.operand(0)?, a.operand(1)?))
    })
    .example("tensor([2, 3]).float_power(2)", "tensor([4., 9.], dtype=torch.float64)")
    .samples(&[Sample::of("b.float_power(3)", TWO)]),
    named(
        "absolute",
        "Another name of `abs`.",
        |a| one(unary::abs(a.tensor(0)?)),
        &[SELF],
        "tensor([-1.0]).absolute()",
        "tensor([1.])",
    ),
    named(
        "negative",
        "Another name of `neg`.",
        |a| one(unary::neg(a.tensor(0)?)),
        &[SELF],
        "tensor([1.0]).negative()",
        "tensor([-1.])",
    ),
    named(
        "fix",
        "Another name of `trunc`.",
        |a| one(unary::trunc(a.tensor(0)?)),
        &[SELF],
        "tensor([-1.5]).fix()",
        "tensor([-1.])",
    ),
    named(
        "arcsin",
        "Another name of `asin`.",
        |a| one(unary::asin(a.tensor(0)?)),
        &[SELF],
        "tensor([0.0]).arcsin()",
        "tensor([0.])",
    ),
    named(
        "arccos",
        "Another name of `acos`.",
        |a| one(unary::acos(a.tensor(0)?)),
        &[SELF],
        "tensor([1.0]).arccos()",
        "tensor([0.])",
    ),
    named(
        "arctan",
        "Another name of `atan`.",
        |a| one(unary::atan(a.tensor(0)?)),
        &[SELF],
        "tensor([0.0]).arctan()",
        "tensor([0.])",
    ),
    named(
        "arctan2",
        "Another name of `atan2`.",
        |a| one(binary::atan2(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([0.0]).arctan2(tensor([1.0]))",
        "tensor([0.])",
    ),
    named(
        "subtract",
        "Another name of `sub`.",
        |a| one(binary::sub(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).subtract(1)",
        "tensor([2])",
    ),
    named(
        "multiply",
        "Another name of `mul`.",
        |a| one(binary::mul(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).multiply(2)",
        "tensor([6])",
    ),
    named(
        "divide",
        "Another name of `div`.",
        |a| one(binary::div(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).divide(2)",
        "tensor([1.5000])",
    ),
    named(
        "true_divide",
        "Another name of `div`.",
        |a| one(binary::div(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).true_divide(2)",
        "tensor([1.5000])",
    ),
    named(
        "greater",
        "Another name of `gt`.",
        |a| one(binary::gt(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).greater(2)",
        "tensor([True])",
    ),
    named(
        "greater_equal",
        "Another name of `ge`.",
        |a| one(binary::ge(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).greater_equal(3)",
        "tensor([True])",
    ),
    named(
        "less",
        "Another name of `lt`.",
        |a| one(binary::lt(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).less(2)",
        "tensor([False])",
    ),
    named(
        "less_equal",
        "Another name of `le`.",
        |a| one(binary::le(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).less_equal(3)",
        "tensor([True])",
    ),
    named(
        "not_equal",
        "Another name of `ne`.",
        |a| one(binary::ne(a.operand(0)?, a.operand(1)?)),
        PAIR,
        "tensor([3]).not_equal(3)",
        "tensor([False])",
    ),
];

/// A second name of a row.
const fn named(
    name: &'static str,
    of: &'static str,
    run: fn(&Args) -> Result<Value>,
    params: &'static [Param],
    code: &'static str,
    shown: &'static str,
) -> OpDef {
    OpDef::call(name, Family::Elementwise, of, params, run).example(code, shown)
}

fn nan_to_num(a: &Args, x: &crate::tensor::Tensor) -> Result<crate::tensor::Tensor> {
    extra::nan_to_num(x, a.float(1)?, a.optional_float(2), a.optional_float(3))
}
