//! Functions of one tensor, element by element, with their gradient rules.

use crate::base::{Error, Result};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, METHOD, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::check_cast;
use crate::op::core::record::one;
use crate::op::core::shapes;
use crate::op::core::spec::{Gives, Keep, MapAttribute, Refusal, Unary};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::arithmetic::{div, mul, scale, shift, sub};
use super::choose::masked_fill;
use super::comparison::{eq, le};
use super::declare::{rule, twin_of_one, unary, with_input};
use super::sign::{neg, sign};

unary! {
    abs Abs Number or Refusal::Kernel("abs_cpu"), (Input rule(|s, g| with_input(MapOp::AbsGrad, s, g, |g, x| mul(g, &sign(x)?)))), Any,
        "The absolute value of each element.", "tensor([-1, 2]).abs()" => "tensor([1, 2])";
    square Square Count, (Input rule(|s, g| mul(g, &scale(&s.tensor(0)?, 2.0)?))), Any,
        "Each element times itself.", "tensor([1.0, -3.0]).square()" => "tensor([1., 9.])";
    exp Exp Float, (Output rule(|s, g| mul(g, &s.tensor(0)?))), Any,
        "e to the power of each element.", "tensor([0.0, 1.0]).exp()" => "tensor([1.0000, 2.7183])";
    expm1 Expm1 Float, (Output rule(|s, g| mul(g, &shift(&s.tensor(0)?, 1.0)?))), Any in SPECIAL_TOO,
        "`exp(x) - 1`, accurate near zero.", "tensor([0.0, 1.0]).expm1()" => "tensor([0.0000, 1.7183])";
    log Log Float, (Input rule(|s, g| div(g, &s.tensor(0)?))), Positive,
        "The natural logarithm of each element.", "tensor([1.0, 10.0]).log()" => "tensor([0.0000, 2.3026])";
    log1p Log1p Float, (Input rule(|s, g| div(g, &shift(&s.tensor(0)?, 1.0)?))), Positive in SPECIAL_TOO,
        "`log(1 + x)`, accurate near zero.", "tensor([0.0, 1.0]).log1p()" => "tensor([0.0000, 0.6931])";
    log2 Log2 Float, (Input rule(|s, g| div(g, &scale(&s.tensor(0)?, std::f64::consts::LN_2)?))), Positive,
        "The logarithm to base 2 of each element.", "tensor([1.0, 8.0]).log2()" => "tensor([0., 3.])";
    log10 Log10 Float, (Input rule(|s, g| div(g, &scale(&s.tensor(0)?, std::f64::consts::LN_10)?))), Positive,
        "The logarithm to base 10 of each element.", "tensor([1.0, 100.0]).log10()" => "tensor([0., 2.])";
    sqrt Sqrt Float, (Output rule(|s, g| with_input(MapOp::SqrtGrad, s, g, |g, y| div(g, &scale(y, 2.0)?)))), Positive,
        "The square root of each element.", "tensor([1.0, 9.0]).sqrt()" => "tensor([1., 3.])";
    rsqrt Rsqrt Float, (Output rule(|s, g| with_input(MapOp::RsqrtGrad, s, g, |g, y| {
            scale(&mul(g, &mul(y, &mul(y, y)?)?)?, -0.5)
        }))), Positive,
        "1 over the square root of each element.", "tensor([1.0, 4.0]).rsqrt()" => "tensor([1.0000, 0.5000])";
    reciprocal Reciprocal Float, (Output rule(|s, g| with_input(MapOp::ReciprocalGrad, s, g, |g, y| {
            neg(&mul(g, &mul(y, y)?)?)
        }))), Positive,
        "1 over each element.", "tensor([1.0, 4.0]).reciprocal()" => "tensor([1.0000, 0.2500])";
    sin Sin Float, (Input rule(|s, g| with_input(MapOp::SinGrad, s, g, |g, x| mul(g, &cos(x)?)))), Any,
        "The sine of each element, in radians.", "tensor([0.0, 1.0]).sin()" => "tensor([0.0000, 0.8415])";
    cos Cos Float, (Input rule(|s, g| with_input(MapOp::CosGrad, s, g, |g, x| neg(&mul(g, &sin(x)?)?)))), Any,
        "The cosine of each element, in radians.", "tensor([0.0, 1.0]).cos()" => "tensor([1.0000, 0.5403])";
    tan Tan Float, (Output rule(|s, g| mul(g, &shift(&square(&s.tensor(0)?)?, 1.0)?))), Inside,
        "The tangent of each element, in radians.", "tensor([0.0, 1.0]).tan()" => "tensor([0.0000, 1.5574])";
    asin Asin Float, (Input rule(|s, g| mul(g, &rsqrt(&one_minus_square(&s.tensor(0)?)?)?))), Inside,
        "The arcsine of each element.", "tensor([0.0, 1.0]).asin()" => "tensor([0.0000, 1.5708])";
    acos Acos Float, (Input rule(|s, g| neg(&mul(g, &rsqrt(&one_minus_square(&s.tensor(0)?)?)?)?))), Inside,
        "The arccosine of each element.", "tensor([1.0, 0.0]).acos()" => "tensor([0.0000, 1.5708])";
    atan Atan Float, (Input rule(|s, g| div(g, &shift(&square(&s.tensor(0)?)?, 1.0)?))), Any,
        "The arctangent of each element.", "tensor([0.0, 1.0]).atan()" => "tensor([0.0000, 0.7854])";
    sinh Sinh Float, (Input rule(|s, g| mul(g, &cosh(&s.tensor(0)?)?))), Any,
        "The hyperbolic sine of each element.", "tensor([0.0, 1.0]).sinh()" => "tensor([0.0000, 1.1752])";
    cosh Cosh Float, (Input rule(|s, g| mul(g, &sinh(&s.tensor(0)?)?))), Any,
        "The hyperbolic cosine of each element.", "tensor([0.0, 1.0]).cosh()" => "tensor([1.0000, 1.5431])";
    tanh Tanh Float, (Output rule(|s, g| with_input(MapOp::TanhGrad, s, g, |g, y| mul(g, &one_minus_square(y)?)))), Any in FUNCTIONAL_TOO,
        "The hyperbolic tangent of each element.", "tensor([0.0, 1.0]).tanh()" => "tensor([0.0000, 0.7616])";
    sigmoid Sigmoid Float, (Output rule(|s, g| with_input(MapOp::SigmoidGrad, s, g, |g, y| {
            mul(g, &sub(y, &square(y)?)?)
        }))), Any in FUNCTIONAL_TOO,
        "`1 / (1 + exp(-x))` of each element.", "tensor([0.0, 1.0]).sigmoid()" => "tensor([0.5000, 0.7311])";
    erf Erf Float, (Input rule(|s, g| with_input(MapOp::ErfGrad, s, g, |g, x| {
            mul(g, &scale(&exp(&neg(&square(x)?)?)?, std::f64::consts::FRAC_2_SQRT_PI)?)
        }))), Any in SPECIAL_TOO,
        "The error function of each element.", "tensor([0.0, 1.0]).erf()" => "tensor([0.0000, 0.8427])";
    erfc Erfc Float, (Input rule(|s, g| {
            mul(g, &scale(&exp(&neg(&square(&s.tensor(0)?)?)?)?, -std::f64::consts::FRAC_2_SQRT_PI)?)
        })), Any in SPECIAL_TOO,
        "`1 - erf(x)`, accurate where that is small.", "tensor([0.0, 3.0]).erfc()" => "tensor([1.0000e+00, 2.2090e-05])";
    erfinv Erfinv Float, (Output rule(|s, g| {
            mul(g, &scale(&exp(&square(&s.tensor(0)?)?)?, 1.0 / std::f64::consts::FRAC_2_SQRT_PI)?)
        })), Inside in SPECIAL_TOO,
        "The number whose error function each element is.", "tensor([0.0, 0.5]).erfinv()" => "tensor([0.0000, 0.4769])";
    lgamma Lgamma Float, (Input rule(|s, g| mul(g, &digamma(&s.tensor(0)?)?))), Positive,
        "The logarithm of the absolute value of the gamma function.", "tensor([1.0, 5.0]).lgamma()" => "tensor([0.0000, 3.1781])";
    digamma Digamma Float, (Input rule(|s, g| mul(g, &polygamma(&s.tensor(0)?, 1.0)?))), Positive in SPECIAL_TOO,
        "The derivative of the logarithm of the gamma function.", "tensor([1.0]).digamma()" => "tensor([-0.5772])";
    exp2 Exp2 Float, (Output rule(|s, g| mul(g, &scale(&s.tensor(0)?, std::f64::consts::LN_2)?))), Any in SPECIAL_TOO,
        "2 to the power of each element.", "tensor([0.0, 3.0]).exp2()" => "tensor([1., 8.])";
    asinh Asinh Float, (Input rule(|s, g| mul(g, &rsqrt(&shift(&square(&s.tensor(0)?)?, 1.0)?)?))), Any,
        "The inverse hyperbolic sine of each element.", "tensor([0.0, 1.0]).asinh()" => "tensor([0.0000, 0.8814])";
    acosh Acosh Float, (Input rule(|s, g| mul(g, &rsqrt(&shift(&square(&s.tensor(0)?)?, -1.0)?)?))), Above,
        "The inverse hyperbolic cosine of each element.", "tensor([1.0, 2.0]).acosh()" => "tensor([0.0000, 1.3170])";
    atanh Atanh Float, (Input rule(|s, g| div(g, &one_minus_square(&s.tensor(0)?)?))), Inside,
        "The inverse hyperbolic tangent of each element.", "tensor([0.0, 0.5]).atanh()" => "tensor([0.0000, 0.5493])";
    sinc Sinc Float, (Input rule(|s, g| {
            let x = s.tensor(0)?;
            let angle = scale(&x, std::f64::consts::PI)?;
            let slope = div(&sub(&mul(&angle, &cos(&angle)?)?, &sin(&angle)?)?, &mul(&angle, &x)?)?;
            masked_fill(&mul(g, &slope)?, &eq(&x, 0i64)?, 0i64.into())
        })), Any in SPECIAL_TOO,
        "`sin(pi x) / (pi x)`, and 1 at 0.", "tensor([0.0, 0.5]).sinc()" => "tensor([1.0000, 0.6366])";
    relu Relu Number or Refusal::Text("Boolean inputs not supported for relu"), (Output rule(|s, g| with_input(MapOp::ReluGrad, s, g, |g, y| {
            masked_fill(g, &le(y, 0.0)?, 0i64.into())
        }))), Any,
        "Each element, or 0 where it is negative.", "tensor([-1.0, 2.0]).relu()" => "tensor([0., 2.])";
}

/// The `order`-th derivative of [`digamma`].
pub(crate) fn polygamma(x: &Tensor, order: f64) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "PolygammaBackward0",
        run: |s, g| {
            let [order, _] = s.attribute::<MapAttribute>()?.params;
            one(mul(g, &polygamma(&s.tensor(0)?, order + 1.0)?)?)
        },
    };
    static SPEC: Unary = Unary {
        name: "polygamma",
        op: MapOp::Polygamma,
        gives: Gives::Float,
        keep: Keep::Input,
        rule: Some(&RULE),
        refusal: Refusal::ByName,
    };
    SPEC.apply(x, [order, 0.0])
}

/// [`relu`] in place.
pub(crate) fn relu_(x: &Tensor) -> Result<Tensor> {
    specs::Relu.apply_in_place(x, [0.0; 2])
}

fn one_minus_square(x: &Tensor) -> Result<Tensor> {
    shift(&neg(&square(x)?)?, 1.0)
}

const POSITIVE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Positive)];

params! {
    PolygammaParams {
        n: kind::Int, "which derivative, from 0";
        input: kind::Tensor, "where the derivative is evaluated";
    }
}

params! {
    PolygammaInPlaceParams {
        input: kind::Tensor, "where the derivative is evaluated, and what is written to";
        n: kind::Int, "which derivative, from 0";
    }
}

/// The `n`-th derivative of the digamma function, `digamma` itself for 0.
fn derived(n: i64, x: &Tensor) -> Result<Tensor> {
    match n {
        n if n < 0 => Err(Error::runtime("polygamma(n, x) does not support negative n.")),
        0 => digamma(x),
        n => polygamma(x, n as f64),
    }
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    OpDef::call(
        "polygamma",
        Family::Elementwise,
        "The n-th derivative of `digamma`.",
        PolygammaParams::LIST,
        by_name!(PolygammaParams, |a| to_value(derived(a.n, a.input))),
    )
    .forms(&[Form::Function, Form::Of("special")])
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `n` is negative"])
    .example("polygamma(1, tensor([1.0]))", "tensor([1.6449])")
    .gradient(Gradient::Vjp("PolygammaBackward0"))
    .samples(&[Sample::of("polygamma(1, x)", POSITIVE)]),
    OpDef::call(
        "polygamma_",
        Family::Elementwise,
        "The n-th derivative of `digamma`, in the place of its input.",
        PolygammaInPlaceParams::LIST,
        by_name!(PolygammaInPlaceParams, |a| to_value(replaced(a.input, |x| {
            let made = derived(a.n, x)?;
            check_cast(made.dtype(), x.dtype())?;
            Ok(made)
        }))),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&[
        "RuntimeError: `n` is negative",
        "RuntimeError: the input holds integers, which the result is none of",
    ])
    .example("tensor([1.0]).polygamma_(1)", "tensor([1.6449])")
    .samples(&[Sample::of("x.clone().polygamma_(1)", POSITIVE)]),
    twin_of_one(
        "absolute",
        "Another name of `abs`.",
        &specs::Abs,
        ("tensor([-1.0]).absolute()", "tensor([1.])"),
    )
    .errors(&[shapes::BOOLS]),
    twin_of_one(
        "expit",
        "Another name of `sigmoid`.",
        &specs::Sigmoid,
        ("special::expit(tensor([0.0]))", "tensor([0.5000])"),
    )
    .special(),
    twin_of_one(
        "psi",
        "Another name of `digamma`.",
        &specs::Digamma,
        ("special::psi(tensor([1.0]))", "tensor([-0.5772])"),
    )
    .special(),
    twin_of_one(
        "gammaln",
        "Another name of `lgamma`.",
        &specs::Lgamma,
        ("special::gammaln(tensor([5.0]))", "tensor([3.1781])"),
    )
    .special(),
    twin_of_one(
        "arcsin",
        "Another name of `asin`.",
        &specs::Asin,
        ("tensor([0.0]).arcsin()", "tensor([0.])"),
    ),
    twin_of_one(
        "arccos",
        "Another name of `acos`.",
        &specs::Acos,
        ("tensor([1.0]).arccos()", "tensor([0.])"),
    ),
    twin_of_one(
        "arctan",
        "Another name of `atan`.",
        &specs::Atan,
        ("tensor([0.0]).arctan()", "tensor([0.])"),
    ),
    twin_of_one(
        "arcsinh",
        "Another name of `asinh`.",
        &specs::Asinh,
        ("tensor([0.0]).arcsinh()", "tensor([0.])"),
    ),
    twin_of_one(
        "arccosh",
        "Another name of `acosh`.",
        &specs::Acosh,
        ("tensor([1.0]).arccosh()", "tensor([0.])"),
    ),
    twin_of_one(
        "arctanh",
        "Another name of `atanh`.",
        &specs::Atanh,
        ("tensor([0.0]).arctanh()", "tensor([0.])"),
    ),
];
