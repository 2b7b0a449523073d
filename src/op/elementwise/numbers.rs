//! Functions of numbers that are made of others: whole divisors, logits, fractions, neighbours.

use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::convert::{cloned, to_dtype};
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Overlap, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::launch::map;
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, Maybe, by_name, kind, params};
use crate::op::core::promote::{only_floats, result_type, to_float};
use crate::op::core::record::{no_grad, one, recorded, two, wanted};
use crate::op::core::shapes;
use crate::op::core::spec::{Binary, Gives, Keep, Refusal};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor};

use super::arithmetic::{add, div, mul, scale, shift, sub};
use super::binary::{logaddexp, maximum, minimum, pow};
use super::choose::{masked_fill, where_};
use super::comparison::{gt, logical_or, lt, ne};
use super::declare::PairParams;
use super::declare::SPECIAL_TOO;
use super::predicates::{isfinite, isnan};
use super::rounding::{round, trunc};
use super::sign::neg;
use super::unary::log;

/// Numbers for NaN and the infinities; where none are named, the largest of the dtype.
pub(crate) fn nan_to_num(x: &Tensor, nan: f64, high: Option<f64>, low: Option<f64>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NanToNumBackward0", run: |s, g| one(mul(g, &isfinite(&s.tensor(0)?)?)?) };
    let most = match x.dtype() {
        DType::Float64 => f64::MAX,
        DType::Float32 => f32::MAX.into(),
        DType::Float16 => 65504.0,
        DType::BFloat16 => half::bf16::MAX.to_f64(),
        _ => return cloned(x),
    };
    let params = [high.unwrap_or(most), low.unwrap_or(-most)];
    let inputs = [In::Tensor(x), In::Scalar(nan.into())];
    let out = map("nan_to_num", MapOp::NanToNum, &inputs, x.shape(), x.dtype(), x.dtype(), params, x)?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.input(x)))
}

/// `log(x / (1 - x))`, of `x` between `eps` and `1 - eps` where that is given.
pub fn logit(x: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LogitBackward0", run: logit_grad };
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    let x = &to_dtype(x, to_float(x.dtype()))?;
    let out = {
        let _off = no_grad();
        let x = match eps {
            Some(eps) => {
                let below = where_(&gt(x, 1.0 - eps)?, (1.0 - eps).into(), x.into())?;
                where_(&lt(x, eps)?, eps.into(), (&below).into())?
            }
            None => x.clone(),
        };
        log(&div(&x, &shift(&neg(&x)?, 1.0)?)?)?
    };
    Ok(recorded(out, &RULE, &[x], |s, _| {
        s.input(x);
        s.attribute(eps);
    }))
}

/// `1 / (x * (1 - x))`; outside of what it is defined for NaN, and 0 where `eps` has moved it.
fn logit_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let &eps: &Option<f64> = s.attribute()?;
    let slope = div(g, &mul(&x, &shift(&neg(&x)?, 1.0)?)?)?;
    let outside = |low: f64| logical_or(&lt(&x, low)?, &gt(&x, 1.0 - low)?);
    one(masked_fill(&slope, &outside(eps.unwrap_or(0.0))?, eps.map_or(f64::NAN, |_| 0.0).into())?)
}

/// What `trunc` takes away.
pub(crate) fn frac(x: &Tensor) -> Result<Tensor> {
    crate::op::core::promote::only_floats(x.dtype(), "frac_cpu")?;
    sub(x, &trunc(x)?)
}

/// Times a factor, in floats.
pub fn scaled(x: &Tensor, factor: f64) -> Result<Tensor> {
    scale(&to_dtype(x, to_float(x.dtype()))?, factor)
}

/// `log2(2**a + 2**b)`.
pub(crate) fn logaddexp2(a: Operand, b: Operand) -> Result<Tensor> {
    let dtype = result_type(&[a, b]);
    only_floats(dtype, "logaddexp2_cpu")?;
    let ln2 = std::f64::consts::LN_2;
    let times = |of: Operand| match of {
        Operand::Tensor(t) => scale(&to_dtype(t, dtype)?, ln2),
        number => mul(number, ln2),
    };
    scale(&logaddexp(&times(a)?, &times(b)?)?, 1.0 / ln2)
}

/// `a * 2**b`; of a float and whole exponents, in the float's dtype.
pub(crate) fn ldexp(a: Operand, b: Operand) -> Result<Tensor> {
    let out = mul(a, &pow(2.0, b)?)?;
    match (a, b) {
        (Operand::Tensor(x), Operand::Tensor(n)) if x.dtype().is_float() && !n.dtype().is_float() => {
            to_dtype(&out, x.dtype())
        }
        _ => Ok(out),
    }
}

/// `a ** b` in float64.
pub(crate) fn float_power(a: Operand, b: Operand) -> Result<Tensor> {
    let wide = |o: Operand| -> Result<Tensor> {
        match o {
            Operand::Tensor(t) => to_dtype(t, DType::Float64),
            number => to_dtype(&add(number, 0i64)?, DType::Float64),
        }
    };
    match b {
        Operand::Scalar(_) if matches!(a, Operand::Scalar(_)) => {
            Err(Error::type_error("float_power() needs a Tensor for its base or its exponent"))
        }
        Operand::Scalar(_) => pow(&wide(a)?, b),
        Operand::Tensor(_) => pow(&wide(a)?, &wide(b)?),
    }
}

fn float_power_(x: &Tensor, exponent: Operand) -> Result<Tensor> {
    if x.dtype() != DType::Float64 {
        return Err(Error::runtime(format!(
            "the base given to float_power_ has dtype {} but the operation's result requires dtype Double",
            x.dtype().type_name()
        ))
        .with_hint("write the result to a new name: `y = x.float_power(…)`, or use `x.pow_(…)`"));
    }
    replaced(x, |x| float_power(x.into(), exponent))
}

static GCD: Binary = whole_numbers("gcd", MapOp::Gcd, "gcd_cpu");

static LCM: Binary = whole_numbers("lcm", MapOp::Lcm, "lcm_cpu");

/// The greatest common divisor of whole numbers.
pub(crate) fn gcd(a: Operand, b: Operand) -> Result<Tensor> {
    only_whole("gcd_cpu", a, b)?;
    GCD.apply(a, b, [0.0; 2])
}

/// The least common multiple of whole numbers.
pub(crate) fn lcm(a: Operand, b: Operand) -> Result<Tensor> {
    only_whole("lcm_cpu", a, b)?;
    LCM.apply(a, b, [0.0; 2])
}

/// [`gcd`] in place.
pub(crate) fn gcd_(a: &Tensor, b: Operand) -> Result<Tensor> {
    only_whole("gcd_cpu", Operand::Tensor(a), b)?;
    GCD.apply_in_place(a, b, [0.0; 2])
}

/// [`lcm`] in place.
pub(crate) fn lcm_(a: &Tensor, b: Operand) -> Result<Tensor> {
    only_whole("lcm_cpu", Operand::Tensor(a), b)?;
    LCM.apply_in_place(a, b, [0.0; 2])
}

/// A function of whole numbers; `kernel` is PyTorch's name for it.
const fn whole_numbers(name: &'static str, op: MapOp, kernel: &'static str) -> Binary {
    Binary {
        name,
        op,
        gives: Gives::Number,
        keep: Keep::Nothing,
        rule: None,
        refusal: Refusal::Kernel(kernel),
        params: [0.0; 2],
    }
}

/// Fails for floats, also where there are no elements to find it out.
fn only_whole(kernel: &str, a: Operand, b: Operand) -> Result<()> {
    let dtype = result_type(&[a, b]);
    if !dtype.is_float() {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for '{}'", dtype.type_name());
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert to integers first: `x.long()`"))
}

static NEXT_AFTER: Binary = Binary {
    name: "nextafter",
    op: MapOp::NextAfter,
    gives: Gives::Number,
    keep: Keep::Both,
    rule: Some(&NEXT_AFTER_RULE),
    refusal: Refusal::ByName,
    params: [0.0; 2],
};

/// A neighbour moves along with its number; where the two are equal PyTorch gives no gradient.
static NEXT_AFTER_RULE: Vjp = Vjp {
    name: "NextafterBackward0",
    run: |s, g| {
        let (a, b) = (s.tensor(0)?, s.tensor(1)?);
        two(
            wanted(s, 0, || mul(g, &ne(&a, &b)?))?,
            wanted(s, 1, || Tensor::full(b.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like"))?,
        )
    },
};

/// The number of the dtype next to each of `a` on the way to `b`; `into` `a` itself where that is asked for.
pub(crate) fn nextafter(a: &Tensor, b: &Tensor, in_place: bool) -> Result<Tensor> {
    let grid = match a.dtype().promote(b.dtype()) {
        DType::Float16 => 1.0,
        DType::BFloat16 => 2.0,
        dtype if dtype.is_float() => 0.0,
        dtype => {
            let text = format!("\"nextafter_cpu\" not implemented for '{}'", dtype.type_name());
            return Err(Error::new(Kind::NotImplementedError, text));
        }
    };
    match in_place {
        true => NEXT_AFTER.apply_in_place(a, Operand::Tensor(b), [grid, 0.0]),
        false => NEXT_AFTER.apply(Operand::Tensor(a), Operand::Tensor(b), [grid, 0.0]),
    }
}

/// The larger of two elements; a number wins over NaN.
pub(crate) fn fmax(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    keep_number(a, b, maximum(a, b)?)
}

/// The smaller of two elements; a number wins over NaN.
pub(crate) fn fmin(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    keep_number(a, b, minimum(a, b)?)
}

fn keep_number(a: &Tensor, b: &Tensor, both: Tensor) -> Result<Tensor> {
    let (first, second) = {
        let _off = no_grad();
        (isnan(a)?, isnan(b)?)
    };
    let one = where_(&first, b.into(), (&both).into())?;
    where_(&second, a.into(), (&one).into())
}

const NUMBERS: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Any)];
const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const INSIDE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Inside)];
const TWO: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];
const WHOLE: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Index(30)), Draw::of("b", &[4], Domain::Index(30))];
const NO_SLOPE: Gradient = Gradient::NoGrad("the result is a whole number");

params! {
    NanToNumParams {
        input: kind::Tensor, "the tensor it is computed of";
        nan: kind::Float = 0.0, "what stands for NaN";
        posinf: Maybe<kind::Float>, "what stands for infinity; without it the largest number of the dtype";
        neginf: Maybe<kind::Float>, "what stands for minus infinity; without it the smallest number of the dtype";
    }
}

params! {
    NextafterParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the number in whose direction it steps";
    }
}

params! {
    LogitParams {
        input: kind::Tensor, "the tensor it is computed of";
        eps: Maybe<kind::Float>, "how far elements are kept from 0 and 1";
    }
}

/// The nearest numbers of so many decimals; negative ones round before the point. As in PyTorch the product with a
/// power of ten is rounded, and divided again.
fn round_to(x: &Tensor, decimals: i64) -> Result<Tensor> {
    if decimals == 0 {
        return round(x);
    }
    only_floats(x.dtype(), "round_cpu")?;
    let power = 10f64.powi(decimals.unsigned_abs().min(400) as i32);
    if decimals > 0 { div(&round(&mul(x, power)?)?, power) } else { mul(&round(&div(x, power)?)?, power) }
}

params! {
    RoundParams {
        input: kind::Tensor, "the tensor it is computed of";
        decimals: kind::Int = 0, "how many digits are kept behind the point; negative ones round before it";
    }
}

/// A degree in radians, and a radian in degrees.
const RADIANS: f64 = std::f64::consts::PI / 180.0;
const DEGREES: f64 = 180.0 / std::f64::consts::PI;

params! {
    FloatPowerParams {
        input: kind::Operand, "what is raised to a power";
        exponent: kind::Operand, "the power that it is raised to";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "gcd",
        Family::Binary,
        "The greatest common divisor of whole numbers, element by element.",
        PairParams::LIST,
        by_name!(PairParams, |a| to_value(gcd(a.input.into(), a.other))),
    )
    .in_place(by_name!(PairParams, |a| to_value(gcd_(a.input, a.other))))
    .details("`gcd(0, n)` is `|n|`, and `gcd(0, 0)` is 0.")
    .shapes(shapes::BROADCAST)
    .errors(&["NotImplementedError: an operand is no integer"])
    .example("tensor([12, -18, 0]).gcd(tensor([8, 12, 5]))", "tensor([4, 6, 5])")
    .gradient(NO_SLOPE)
    .samples(&[Sample::of("a.gcd(b)", WHOLE)]),
    OpDef::call(
        "lcm",
        Family::Binary,
        "The least common multiple of whole numbers, element by element.",
        PairParams::LIST,
        by_name!(PairParams, |a| to_value(lcm(a.input.into(), a.other))),
    )
    .in_place(by_name!(PairParams, |a| to_value(lcm_(a.input, a.other))))
    .details("It is 0 beside a 0, and wraps where the dtype cannot hold it.")
    .shapes(shapes::BROADCAST)
    .errors(&["NotImplementedError: an operand is no integer"])
    .example("tensor([12, -18, 0]).lcm(tensor([8, 12, 5]))", "tensor([24, 36,  0])")
    .gradient(NO_SLOPE)
    .samples(&[Sample::of("a.lcm(b)", WHOLE)]),
    OpDef::call(
        "nextafter",
        Family::Binary,
        "The number of the dtype next to each element on the way to another.",
        NextafterParams::LIST,
        by_name!(NextafterParams, |a| to_value(nextafter(a.input, a.other, false))),
    )
    .in_place(by_name!(NextafterParams, |a| to_value(nextafter(a.input, a.other, true))))
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example(
        "tensor([1.0, 0.0]).nextafter(tensor(2.0)) - tensor([1.0, 0.0])",
        "tensor([1.1921e-07, 1.4013e-45])",
    )
    .gradient(Gradient::Vjp("NextafterBackward0"))
    .samples(&[Sample::of("a.nextafter(b)", TWO)]),
    OpDef::call(
        "nan_to_num",
        Family::Elementwise,
        "Numbers for NaN and the infinities: 0 and the largest of the dtype, or those named.",
        NanToNumParams::LIST,
        by_name!(NanToNumParams, |a| to_value(nan_to_num(a.input, a.nan, a.posinf, a.neginf))),
    )
    .in_place(by_name!(NanToNumParams, |a| {
        to_value(replaced(a.input, |x| nan_to_num(x, a.nan, a.posinf, a.neginf)))
    }))
    .shapes(shapes::SAME)
    .example("tensor([1.0, 0.0 / 0.0, 1.0 / 0.0]).nan_to_num(0.0, 9.0)", "tensor([1., 0., 9.])")
    .gradient(Gradient::Vjp("NanToNumBackward0"))
    .samples(&[Sample::of("x.nan_to_num()", MATRIX)]),
    OpDef::call(
        "round",
        Family::Elementwise,
        "The nearest integer, or number of so many decimals; halves go to the even one.",
        RoundParams::LIST,
        by_name!(RoundParams, |a| to_value(round_to(a.input, a.decimals))),
    )
    .forms(SPECIAL_TOO)
    .in_place(by_name!(RoundParams, |a| to_value(replaced(a.input, |x| round_to(x, a.decimals)))))
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("tensor([0.5, 1.5, 2.5]).round()", "tensor([0., 2., 2.])")
    .gradient(Gradient::Vjp("RoundBackward0"))
    .samples(&[Sample::of("x.round()", MATRIX)]),
    OpDef::call(
        "logit",
        Family::Elementwise,
        "`log(x / (1 - x))`, the inverse of `sigmoid`; with `eps` elements are kept that far from 0 and 1.",
        LogitParams::LIST,
        by_name!(LogitParams, |a| to_value(logit(a.input, a.eps))),
    )
    .forms(SPECIAL_TOO)
    .in_place(by_name!(LogitParams, |a| to_value(replaced(a.input, |x| logit(x, a.eps)))))
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("tensor([0.5, 0.9]).logit()", "tensor([0.0000, 2.1972])")
    .samples(&[Sample::of("(0.5 + 0.4 * x).logit()", INSIDE)]),
    OpDef::call(
        "frac",
        Family::Elementwise,
        "The fraction of each element, with its sign.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(frac(a.input))),
    )
    .in_place(by_name!(InputParams, |a| to_value(replaced(a.input, frac))))
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([1.5, -2.25]).frac()", "tensor([ 0.5000, -0.2500])")
    .samples(&[Sample::of("x.frac()", MATRIX)]),
    OpDef::call(
        "deg2rad",
        Family::Elementwise,
        "Degrees as radians.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(scaled(a.input, RADIANS))),
    )
    .in_place(by_name!(InputParams, |a| to_value(replaced(a.input, |x| scaled(x, RADIANS)))))
    .shapes(shapes::SAME)
    .example("tensor([180.0]).deg2rad()", "tensor([3.1416])")
    .samples(&[Sample::of("x.deg2rad()", MATRIX)]),
    OpDef::call(
        "rad2deg",
        Family::Elementwise,
        "Radians as degrees.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(scaled(a.input, DEGREES))),
    )
    .in_place(by_name!(InputParams, |a| to_value(replaced(a.input, |x| scaled(x, DEGREES)))))
    .shapes(shapes::SAME)
    .example("tensor([3.0]).rad2deg()", "tensor([171.8873])")
    .samples(&[Sample::of("x.rad2deg()", MATRIX)]),
    OpDef::call(
        "logaddexp2",
        Family::Binary,
        "`log2(2**input + 2**other)`, without overflow.",
        PairParams::LIST,
        by_name!(PairParams, |a| to_value(logaddexp2(a.input.into(), a.other))),
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("tensor([1.0]).logaddexp2(tensor([1.0]))", "tensor([2.])")
    .samples(&[Sample::of("a.logaddexp2(b)", TWO)]),
    OpDef::call(
        "ldexp",
        Family::Binary,
        "`input * 2**other`.",
        PairParams::LIST,
        by_name!(PairParams, |a| to_value(ldexp(a.input.into(), a.other))),
    )
    .overlap(Overlap::Any)
    .in_place(by_name!(PairParams, |a| to_value(replaced(a.input, |x| ldexp(x.into(), a.other)))))
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("tensor([1.0, 3.0]).ldexp(2)", "tensor([ 4., 12.])")
    .samples(&[Sample::of("a.ldexp(2)", TWO)]),
    OpDef::call(
        "float_power",
        Family::Binary,
        "The power in double precision.",
        FloatPowerParams::LIST,
        by_name!(FloatPowerParams, |a| to_value(float_power(a.input, a.exponent))),
    )
    .in_place(by_name!(FloatPowerParams, |a| match a.input {
        Operand::Tensor(x) => to_value(float_power_(x, a.exponent)),
        Operand::Scalar(_) =>
            Err(Error::type_error("float_power_() writes to a Tensor, and a number is none")),
    }))
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("tensor([2, 3]).float_power(2)", "tensor([4., 9.], dtype=torch.float64)")
    .samples(&[Sample::of("b.float_power(3)", TWO), Sample::of("float_power(2.0, b)", TWO)]),
    OpDef::call(
        "fmax",
        Family::Binary,
        "The larger of two elements; a number wins over NaN.",
        NextafterParams::LIST,
        by_name!(NextafterParams, |a| to_value(fmax(a.input, a.other))),
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("tensor([1.0, 0.0 / 0.0]).fmax(tensor([3.0, 2.0]))", "tensor([3., 2.])")
    .samples(&[Sample::of("a.fmax(b)", NUMBERS)]),
    OpDef::call(
        "fmin",
        Family::Binary,
        "The smaller of two elements; a number wins over NaN.",
        NextafterParams::LIST,
        by_name!(NextafterParams, |a| to_value(fmin(a.input, a.other))),
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("tensor([1.0, 0.0 / 0.0]).fmin(tensor([3.0, 2.0]))", "tensor([1., 2.])")
    .samples(&[Sample::of("a.fmin(b)", NUMBERS)]),
];
