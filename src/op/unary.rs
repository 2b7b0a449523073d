//! Functions of one tensor, element by element, with their gradient rules.

use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::binary::{add, div, eq, gt, mul, sub};
use super::def::{
    Domain, Draw, Family, Form, Forward, Gradient, InPlace, OpDef, Receiver, SELF, Sample, Torch,
};
use super::elementwise::{Gives, Keep, MapAttribute, Unary, fused};
use super::record::one;
use super::select::masked_fill;

macro_rules! unary {
    ($(
        $(#[doc = $doc:literal])*
        $fn:ident $map:ident $gives:ident, $grad:tt, $domain:ident,
        $summary:literal, $code:literal => $shown:literal;
    )*) => {
        $(
            #[doc = $summary]
            pub fn $fn(x: &Tensor) -> Result<Tensor> {
                specs::$map.apply(x, [0.0; 2])
            }
        )*

        #[allow(non_upper_case_globals, reason = "named as the map they launch")]
        mod specs {
            use super::*;
            $(
                pub static $map: Unary = Unary {
                    name: stringify!($fn),
                    op: MapOp::$map,
                    gives: Gives::$gives,
                    keep: unary!(@keep $grad),
                    rule: unary!(@rule $map $grad),
                };
            )*
        }

        /// The rows of this family.
        pub static ROWS: &[OpDef] = &[$(
            OpDef {
                name: stringify!($fn),
                family: Family::Elementwise,
                receiver: Receiver::None,
                forms: unary!(@forms $fn),
                params: &[SELF],
                summary: $summary,
                details: "",
                shapes: "",
                errors: &[],
                torch: Torch::Same,
                example: ($code, $shown),
                forward: Forward::Unary(&specs::$map),
                in_place: unary!(@in_place $gives),
                gradient: unary!(@gradient $map $grad),
                samples: &[Sample {
                    call: concat!("x.", stringify!($fn), "()"),
                    inputs: &[Draw { name: "x", shape: &[3, 4], domain: Domain::$domain }],
                }],
            },
        )*];
    };
    (@forms neg) => { &[Form::Method, Form::Function, Form::Operator("-")] };
    (@forms relu) => { &[Form::Method, Form::Function, Form::Functional] };
    (@forms sigmoid) => { &[Form::Method, Form::Function, Form::Functional] };
    (@forms tanh) => { &[Form::Method, Form::Function, Form::Functional] };
    (@forms $fn:ident) => { &[Form::Method, Form::Function] };
    (@keep (none)) => { Keep::Nothing };
    (@keep (zero)) => { Keep::Nothing };
    (@keep ($keep:ident $rule:expr)) => { Keep::$keep };
    (@rule $map:ident (none)) => { None };
    (@rule $map:ident (zero)) => {{
        static RULE: Vjp = Vjp { name: concat!(stringify!($map), "Backward0"), run: zero_grad };
        Some(&RULE)
    }};
    (@rule $map:ident ($keep:ident $rule:expr)) => {{
        static RULE: Vjp = Vjp { name: concat!(stringify!($map), "Backward0"), run: |s, g| one($rule(s, g)?) };
        Some(&RULE)
    }};
    (@in_place Bool) => { InPlace::None };
    (@in_place $gives:ident) => { InPlace::Map };
    (@gradient $map:ident (none)) => { Gradient::NoGrad("the result is bool") };
    (@gradient $map:ident $grad:tt) => { Gradient::Vjp(concat!(stringify!($map), "Backward0")) };
}

type Rule = fn(&Saved, &Tensor) -> Result<Tensor>;

/// `g` times a derivative written with recorded operations.
const fn rule(f: Rule) -> Rule {
    f
}

unary! {
    neg Neg Number, (Nothing rule(|_, g| neg(g))), Any,
        "The negative of each element.", "tensor([1.0, -2.0]).neg()" => "tensor([-1.,  2.])";
    abs Abs Same, (Input rule(|s, g| with_input(MapOp::AbsGrad, s, g, |g, x| mul(g, &sign(x)?)))), Any,
        "The absolute value of each element.", "tensor([-1, 2]).abs()" => "tensor([1, 2])";
    sign Sign Same, (zero), Any,
        "-1, 0 or 1 by the sign of each element.", "tensor([-3.0, 0.0, 5.0]).sign()" => "tensor([-1.,  0.,  1.])";
    square Square Same, (Input rule(|s, g| mul(g, &scale(&s.tensor(0)?, 2.0)?))), Any,
        "Each element times itself.", "tensor([1.0, -3.0]).square()" => "tensor([1., 9.])";
    exp Exp Float, (Output rule(|s, g| mul(g, &s.tensor(0)?))), Any,
        "e to the power of each element.", "tensor([0.0, 1.0]).exp()" => "tensor([1.0000, 2.7183])";
    expm1 Expm1 Float, (Output rule(|s, g| mul(g, &shift(&s.tensor(0)?, 1.0)?))), Any,
        "`exp(x) - 1`, accurate near zero.", "tensor([0.0, 1.0]).expm1()" => "tensor([0.0000, 1.7183])";
    log Log Float, (Input rule(|s, g| div(g, &s.tensor(0)?))), Positive,
        "The natural logarithm of each element.", "tensor([1.0, 10.0]).log()" => "tensor([0.0000, 2.3026])";
    log1p Log1p Float, (Input rule(|s, g| div(g, &shift(&s.tensor(0)?, 1.0)?))), Positive,
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
    tanh Tanh Float, (Output rule(|s, g| with_input(MapOp::TanhGrad, s, g, |g, y| mul(g, &one_minus_square(y)?)))), Any,
        "The hyperbolic tangent of each element.", "tensor([0.0, 1.0]).tanh()" => "tensor([0.0000, 0.7616])";
    sigmoid Sigmoid Float, (Output rule(|s, g| with_input(MapOp::SigmoidGrad, s, g, |g, y| {
            mul(g, &sub(y, &square(y)?)?)
        }))), Any,
        "`1 / (1 + exp(-x))` of each element.", "tensor([0.0, 1.0]).sigmoid()" => "tensor([0.5000, 0.7311])";
    erf Erf Float, (Input rule(|s, g| with_input(MapOp::ErfGrad, s, g, |g, x| {
            mul(g, &scale(&exp(&neg(&square(x)?)?)?, std::f64::consts::FRAC_2_SQRT_PI)?)
        }))), Any,
        "The error function of each element.", "tensor([0.0, 1.0]).erf()" => "tensor([0.0000, 0.8427])";
    erfc Erfc Float, (Input rule(|s, g| {
            mul(g, &scale(&exp(&neg(&square(&s.tensor(0)?)?)?)?, -std::f64::consts::FRAC_2_SQRT_PI)?)
        })), Any,
        "`1 - erf(x)`, accurate where that is small.", "tensor([0.0, 3.0]).erfc()" => "tensor([1.0000e+00, 2.2090e-05])";
    erfinv Erfinv Float, (Output rule(|s, g| {
            mul(g, &scale(&exp(&square(&s.tensor(0)?)?)?, 1.0 / std::f64::consts::FRAC_2_SQRT_PI)?)
        })), Inside,
        "The number whose error function each element is.", "tensor([0.0, 0.5]).erfinv()" => "tensor([0.0000, 0.4769])";
    lgamma Lgamma Float, (Input rule(|s, g| mul(g, &digamma(&s.tensor(0)?)?))), Positive,
        "The logarithm of the absolute value of the gamma function.", "tensor([1.0, 5.0]).lgamma()" => "tensor([0.0000, 3.1781])";
    digamma Digamma Float, (Input rule(|s, g| mul(g, &polygamma(&s.tensor(0)?, 1.0)?))), Positive,
        "The derivative of the logarithm of the gamma function.", "tensor([1.0]).digamma()" => "tensor([-0.5772])";
    exp2 Exp2 Float, (Output rule(|s, g| mul(g, &scale(&s.tensor(0)?, std::f64::consts::LN_2)?))), Any,
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
        })), Any,
        "`sin(pi x) / (pi x)`, and 1 at 0.", "tensor([0.0, 0.5]).sinc()" => "tensor([1.0000, 0.6366])";
    floor Floor Same, (zero), Any,
        "The largest integer not above each element.", "tensor([1.5, -1.5]).floor()" => "tensor([ 1., -2.])";
    ceil Ceil Same, (zero), Any,
        "The smallest integer not below each element.", "tensor([1.5, -1.5]).ceil()" => "tensor([ 2., -1.])";
    round Round Same, (zero), Any,
        "The nearest integer; halves go to the even one.", "tensor([0.5, 1.5, 2.5]).round()" => "tensor([0., 2., 2.])";
    trunc Trunc Same, (zero), Any,
        "Each element without its fraction.", "tensor([1.7, -1.7]).trunc()" => "tensor([ 1., -1.])";
    relu Relu Number, (Output rule(|s, g| with_input(MapOp::ReluGrad, s, g, |g, y| {
            mul(g, &gt(y, 0.0)?)
        }))), Any,
        "Each element, or 0 where it is negative.", "tensor([-1.0, 2.0]).relu()" => "tensor([0., 2.])";
    logical_not LogicalNot Bool, (none), Any,
        "Whether each element is zero.", "tensor([0, 2]).logical_not()" => "tensor([ True, False])";
    isnan IsNan Bool, (none), Any,
        "Whether each element is not a number.", "tensor([1.0, 0.0]).log().isnan()" => "tensor([False, False])";
    isinf IsInf Bool, (none), Any,
        "Whether each element is infinite.", "tensor([1.0, 0.0]).log().isinf()" => "tensor([False,  True])";
    signbit SignBit Bool, (none), Any,
        "Whether each element has a minus sign, -0 and NaN included.", "tensor([-1.0, -0.0, 2.0]).signbit()" => "tensor([ True,  True, False])";
    isfinite IsFinite Bool, (none), Any,
        "Whether each element is a finite number.", "tensor([1.0, 0.0]).log().isfinite()" => "tensor([ True, False])";
}

/// Each bit turned over; what is false becomes true.
pub fn bitwise_not(x: &Tensor) -> Result<Tensor> {
    static SPEC: Unary =
        Unary { name: "bitwise_not", op: MapOp::BitNot, gives: Gives::Same, keep: Keep::Nothing, rule: None };
    match x.dtype() {
        DType::Bool => logical_not(x),
        float if float.is_float() => {
            let text = format!("\"bitwise_not_cpu\" not implemented for '{}'", float.type_name());
            Err(Error::new(Kind::NotImplementedError, text))
        }
        _ => SPEC.apply(x, [0.0; 2]),
    }
}

/// The `order`-th derivative of [`digamma`].
pub fn polygamma(x: &Tensor, order: f64) -> Result<Tensor> {
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
    };
    SPEC.apply(x, [order, 0.0])
}

/// [`relu`] in place.
pub fn relu_(x: &Tensor) -> Result<Tensor> {
    specs::Relu.apply_in_place(x, [0.0; 2])
}

/// `x * factor`
pub fn scale(x: &Tensor, factor: f64) -> Result<Tensor> {
    mul(x, factor)
}

/// `x + by`
pub fn shift(x: &Tensor, by: f64) -> Result<Tensor> {
    add(x, by)
}

fn one_minus_square(x: &Tensor) -> Result<Tensor> {
    shift(&neg(&square(x)?)?, 1.0)
}

/// The gradient from the first saved tensor: one launch, or `composite` while the pass is recorded.
fn with_input(
    op: MapOp,
    saved: &Saved,
    grad: &Tensor,
    composite: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let x = saved.tensor(0)?;
    let params = saved.attribute::<MapAttribute>()?.params;
    fused(op, grad, &[&x], params, || composite(grad, &x))
}

fn zero_grad(_: &Saved, grad: &Tensor) -> Result<Grads> {
    one(Tensor::full(grad.shape(), 0i64.into(), grad.dtype(), &grad.context(), "zeros_like")?)
}
