//! Functions of mathematical physics and statistics, as `special::` has them.

use crate::base::Result;
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::OpDef;
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::record::one;
use crate::op::core::shapes;
use crate::op::core::spec::{Binary, Gives, Keep, Refusal, Unary};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::arithmetic::{HeldOperand, div, mul, scale, shift, sides, sub};
use super::binary::xlogy;
use super::choose::masked_fill;
use super::comparison::{eq, le, logical_and};
use super::declare::names::*;
use super::declare::{PairParams, no_derivative, rule, twin};
use super::sign::{neg, sign};
use super::unary::{erfc, exp, lgamma, log, log1p, square};

/// The rows of functions of one tensor.
pub mod of_one {
    use super::*;

    unary! {
        i0 BesselI0 Float, (Input rule(|s, g| mul(g, &i1(&s.tensor(0)?)?))), Any in SPECIAL_TOO,
            "The modified Bessel function of the first kind of order 0.", "tensor([0.0, 1.0]).i0()" => "tensor([1.0000, 1.2661])";
        i0e BesselI0e Float, (Input rule(|s, g| {
                let x = s.tensor(0)?;
                mul(g, &sub(&i1e(&x)?, &mul(&sign(&x)?, &i0e(&x)?)?)?)
            })), Any in SPECIAL,
            "`exp(-|x|) * i0(x)`, which does not overflow.", "special::i0e(tensor([0.0, 100.0]))" => "tensor([1.0000, 0.0399])";
        i1 BesselI1 Float, (Input rule(|s, g| {
                let x = s.tensor(0)?;
                mul(g, &at_zero(&sub(&i0(&x)?, &div(&i1(&x)?, &apart_from_zero(&x)?)?)?, &x)?)
            })), Any in SPECIAL,
            "The modified Bessel function of the first kind of order 1.", "special::i1(tensor([0.0, 1.0]))" => "tensor([0.0000, 0.5652])";
        i1e BesselI1e Float, (Input rule(|s, g| {
                let x = s.tensor(0)?;
                let y = i1e(&x)?;
                let slope = sub(&sub(&i0e(&x)?, &mul(&sign(&x)?, &y)?)?, &div(&y, &apart_from_zero(&x)?)?)?;
                mul(g, &at_zero(&slope, &x)?)
            })), Any in SPECIAL,
            "`exp(-|x|) * i1(x)`, which does not overflow.", "special::i1e(tensor([0.0, 100.0]))" => "tensor([0.0000, 0.0397])";
        entr Entr Float, (Input rule(|s, g| neg(&mul(g, &shift(&log(&s.tensor(0)?)?, 1.0)?)?))), Positive in SPECIAL,
            "`-x * log(x)`: 0 at 0, and minus infinity below.", "special::entr(tensor([0.0, 0.5]))" => "tensor([0.0000, 0.3466])";
        erfcx Erfcx Float, (Input rule(|s, g| {
                let x = s.tensor(0)?;
                let slope = shift(&scale(&mul(&x, &erfcx(&x)?)?, 2.0)?, -std::f64::consts::FRAC_2_SQRT_PI)?;
                mul(g, &slope)
            })), Any in SPECIAL,
            "`exp(x²) * erfc(x)`, which does not vanish where x is large.", "special::erfcx(tensor([0.0, 10.0]))" => "tensor([1.0000, 0.0561])";
        log_ndtr LogNdtr Float, (Input rule(|s, g| {
                let tail = erfcx(&scale(&s.tensor(0)?, -std::f64::consts::FRAC_1_SQRT_2)?)?;
                scale(&div(g, &tail)?, std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2)
            })), Any in SPECIAL,
            "The logarithm of the normal distribution's share below each element.", "special::log_ndtr(tensor([0.0, -20.0]))" => "tensor([  -0.6931, -203.9172])";
    }
}

/// The rows of functions of two.
pub mod of_two {
    use super::*;

    binary! {
        xlog1py Xlog1py Binary Float, (Both xlog1py_grad), (in SPECIAL), (Any, Positive),
            "`input * log1p(other)`, 0 where `input` is.", "special::xlog1py(tensor([0.0, 2.0]), tensor([-1.0, 1.0]))" => "tensor([0.0000, 1.3863])";
    }
}

/// The share of the normal distribution below each element.
pub fn ndtr(x: &Tensor) -> Result<Tensor> {
    scale(&erfc(&scale(x, -std::f64::consts::FRAC_1_SQRT_2)?)?, 0.5)
}

/// What is divided by: 1 in place of 0, where the quotient counts in no derivative.
fn apart_from_zero(x: &Tensor) -> Result<Tensor> {
    masked_fill(x, &eq(x, 0i64)?, 1i64.into())
}

/// One half where `x` is 0, which a quotient by it leaves open.
fn at_zero(slope: &Tensor, x: &Tensor) -> Result<Tensor> {
    masked_fill(slope, &eq(x, 0i64)?, 0.5.into())
}

/// An operand as a tensor beside the gradient.
fn of(held: &HeldOperand, beside: &Tensor) -> Result<Tensor> {
    match held {
        HeldOperand::Tensor(tensor) => Ok(tensor.clone()),
        HeldOperand::Scalar(number) => Tensor::full(&[], *number, beside.dtype(), &beside.context(), "full"),
    }
}

/// PyTorch has a derivative in the second operand alone.
fn gamma_grad(s: &Saved, g: &Tensor, upper: bool) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || Err(no_derivative(if upper { "igammac: input" } else { "igamma: input" })),
        || {
            let (a, x) = (of(&at.operand(at.left, s)?, g)?, of(&at.operand(at.right, s)?, g)?);
            let power = sub(&xlogy(&shift(&a, -1.0)?, &x)?, &x)?;
            let slope = mul(g, &exp(&sub(&power, &lgamma(&a)?)?)?)?;
            if upper { neg(&slope) } else { Ok(slope) }
        },
    )
}

fn xlog1py_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || {
            let (a, b) = (of(&at.operand(at.left, s)?, g)?, of(&at.operand(at.right, s)?, g)?);
            let flat = logical_and(&eq(&a, 0i64)?, &le(&b, -1i64)?)?;
            masked_fill(&mul(g, &log1p(&b)?)?, &flat, 0i64.into())
        },
        || {
            let (a, b) = (of(&at.operand(at.left, s)?, g)?, of(&at.operand(at.right, s)?, g)?);
            div(&mul(g, &a)?, &shift(&b, 1.0)?)
        },
    )
}

/// The specification of one of the two.
const fn share(name: &'static str, op: MapOp, rule: &'static Vjp) -> Binary {
    let (gives, keep, refusal) = (Gives::Float, Keep::Both, Refusal::ByName);
    Binary { name, op, gives, keep, rule: Some(rule), refusal, params: PairParams::NONE }
}

static BELOW: Binary = {
    static RULE: Vjp = Vjp { name: "GammaBelowBackward0", run: |s, g| gamma_grad(s, g, false) };
    share("igamma", MapOp::GammaBelow, &RULE)
};
static ABOVE: Binary = {
    static RULE: Vjp = Vjp { name: "GammaAboveBackward0", run: |s, g| gamma_grad(s, g, true) };
    share("igammac", MapOp::GammaAbove, &RULE)
};

static ZETA: Binary = {
    static RULE: Vjp = Vjp { name: "SpecialZetaBackward0", run: zeta_grad };
    share("zeta", MapOp::Zeta, &RULE)
};

/// PyTorch has a derivative in the second operand alone.
fn zeta_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || Err(no_derivative("special_zeta: self")),
        || {
            let (a, q) = (of(&at.operand(at.left, s)?, g)?, of(&at.operand(at.right, s)?, g)?);
            let next = ZETA.apply((&shift(&a, 1.0)?).into(), (&q).into(), PairParams::NONE)?;
            neg(&mul(g, &mul(&a, &next)?)?)
        },
    )
}

static QUANTILE: Unary = {
    static RULE: Vjp = Vjp {
        name: "SpecialNdtriBackward0",
        run: |s, g| {
            let grown = exp(&scale(&square(&s.tensor(0)?)?, 0.5)?)?;
            one(mul(g, &scale(&grown, 2.506_628_274_631_000_7)?)?)
        },
    };
    let (gives, keep, refusal) = (Gives::Float, Keep::Output, Refusal::ByName);
    Unary { name: "ndtri", op: MapOp::Ndtri, gives, keep, rule: Some(&RULE), refusal }
};

const POSITIVE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Positive)];
const DRAWN: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    OpDef::call(
        "ndtr",
        Family::Elementwise,
        "The normal distribution's share below each element.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(ndtr(a.input))),
    )
    .forms(SPECIAL)
    .shapes(shapes::SAME)
    .example("special::ndtr(tensor([0.0, 1.96]))", "tensor([0.5000, 0.9750])")
    .gradient(Gradient::Composite)
    .samples(&[Sample::of("special::ndtr(x)", DRAWN)]),
    OpDef::call(
        "ndtri",
        Family::Elementwise,
        "The place below which the normal distribution has the share that each element is.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(QUANTILE.apply(a.input, [0.0; 2]))),
    )
    .shapes(shapes::SAME)
    .example("special::ndtri(tensor([0.5, 0.975]))", "tensor([0.0000, 1.9600])")
    .special()
    .gradient(Gradient::Vjp("SpecialNdtriBackward0"))
    .samples(&[Sample::of("special::ndtri(x.sigmoid())", DRAWN)]),
    twin(
        "zeta",
        "Hurwitz's zeta function: the sum of `(k + other) ** -input` over all k from 0 on.",
        &ZETA,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&ZETA, how)),
        ("special::zeta(tensor([2.0]), tensor([1.0]))", "tensor([1.6449])"),
    )
    .special()
    .gradient(Gradient::Vjp("SpecialZetaBackward0"))
    .samples(&[Sample::of("special::zeta(full_like(x, 2.5), x)", POSITIVE)]),
    twin(
        "igamma",
        "The regularised lower incomplete gamma function: the share of the gamma distribution of shape `input` below `other`.",
        &BELOW,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&BELOW, how)),
        ("tensor([1.0]).igamma(tensor([1.0]))", "tensor([0.6321])"),
    )
    .errors(&[shapes::NO_BROADCAST, shapes::NO_FLOAT])
    .gradient(Gradient::Vjp("GammaBelowBackward0"))
    .samples(&[Sample::of("full_like(x, 1.5).igamma(x)", POSITIVE)]),
    twin(
        "igammac",
        "The regularised upper incomplete gamma function, `1 - igamma`.",
        &ABOVE,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&ABOVE, how)),
        ("tensor([1.0]).igammac(tensor([1.0]))", "tensor([0.3679])"),
    )
    .errors(&[shapes::NO_BROADCAST, shapes::NO_FLOAT])
    .gradient(Gradient::Vjp("GammaAboveBackward0"))
    .samples(&[Sample::of("full_like(x, 1.5).igammac(x)", POSITIVE)]),
    twin(
        "gammainc",
        "Another name of `igamma`.",
        &BELOW,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&BELOW, how)),
        ("special::gammainc(tensor([1.0]), tensor([1.0]))", "tensor([0.6321])"),
    )
    .errors(&[shapes::NO_BROADCAST, shapes::NO_FLOAT])
    .special(),
    twin(
        "gammaincc",
        "Another name of `igammac`.",
        &ABOVE,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&ABOVE, how)),
        ("special::gammaincc(tensor([1.0]), tensor([1.0]))", "tensor([0.3679])"),
    )
    .errors(&[shapes::NO_BROADCAST, shapes::NO_FLOAT])
    .special(),
];
