//! Activations of neural networks, with their gradient rules.

use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::op::core::def::{Args, Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Param, Sample};
use crate::op::core::fill::replaced_if;
use crate::op::core::launch::fused;
use crate::op::core::operand::Operand;
use crate::op::core::params::{ActivationParams, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::one;
use crate::op::core::shapes;
use crate::op::core::spec::{Gives, Keep, MapAttribute, Params, Refusal, Unary};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, mul, scale, shift, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp_max;
use crate::op::elementwise::comparison::{ge, gt, le, logical_or};
use crate::op::elementwise::unary::{erf, exp, relu, relu_, sigmoid, square, tanh};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

/// The Gaussian error linear unit. `approximate` is `none` or `tanh`.
pub fn gelu(x: &Tensor, approximate: &str) -> Result<Tensor> {
    match approximate {
        "none" => float_only(x, "GeluKernelImpl", &specs::Gelu, [0.0; 2]),
        "tanh" => float_only(x, "GeluKernelImpl", &specs::GeluTanh, [0.0; 2]),
        _ => Err(Error::runtime("approximate argument must be either none or tanh.")),
    }
}

/// `x * sigmoid(x)`
pub fn silu(x: &Tensor) -> Result<Tensor> {
    float_only(x, "silu_cpu", &specs::Silu, [0.0; 2])
}

/// `log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x` is above `threshold`.
pub fn softplus(x: &Tensor, beta: f64, threshold: f64) -> Result<Tensor> {
    float_only(x, "softplus_cpu", &specs::Softplus, [beta, threshold])
}

/// `x` where positive, `alpha * (exp(x) - 1)` elsewhere.
pub(crate) fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    float_only(x, "elu_cpu", &specs::Elu, [alpha, 0.0])
}

/// `x` where positive, `slope * x` elsewhere.
pub fn leaky_relu(x: &Tensor, slope: f64) -> Result<Tensor> {
    float_only(x, "leaky_relu_cpu", &specs::LeakyRelu, [slope, 0.0])
}

/// `x * tanh(softplus(x))`
pub(crate) fn mish(x: &Tensor) -> Result<Tensor> {
    float_only(x, "mish_cpu", &specs::Mish, [0.0; 2])
}

/// `x` kept within `low..=high`; the gradient is 0 at the bounds.
pub(crate) fn hardtanh(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    if low > high {
        return Err(Error::value("min_val cannot be greater than max_val"));
    }
    if x.dtype() == DType::Bool {
        return Err(Error::new(Kind::NotImplementedError, "Bool inputs not supported for hardtanh"));
    }
    specs::Hardtanh.apply(x, [low, high])
}

fn float_only(x: &Tensor, kernel: &str, spec: &Unary, params: Params) -> Result<Tensor> {
    only_floats(x.dtype(), kernel).map_err(|e| e.in_op(spec.name, || vec![x.operand()]))?;
    spec.apply(x, params)
}

macro_rules! activations {
    ($($map:ident $name:literal $grad:ident $rule:literal $derivative:expr;)*) => {
        #[allow(non_upper_case_globals, reason = "named as the map they launch")]
        mod specs {
            use super::*;
            $(
                pub(crate) static $map: Unary = {
                    static RULE: Vjp =
                        Vjp { name: $rule, run: |s, g| from_input(MapOp::$grad, s, g, $derivative) };
                    Unary {
                        name: $name,
                        op: MapOp::$map,
                        gives: Gives::Same,
                        keep: Keep::Input,
                        rule: Some(&RULE),
                        refusal: Refusal::ByName,
                    }
                };
            )*
        }
    };
}

activations! {
    Gelu "gelu" GeluGrad "GeluBackward0" |x, _| {
        let density = scale(&exp(&scale(&square(x)?, -0.5)?)?, INV_SQRT_TAU)?;
        let share = scale(&shift(&erf(&scale(x, std::f64::consts::FRAC_1_SQRT_2)?)?, 1.0)?, 0.5)?;
        add(&share, &mul(x, &density)?)
    };
    GeluTanh "gelu" GeluTanhGrad "GeluBackward0" |x, _| {
        let squared = square(x)?;
        let inner = scale(&mul(x, &shift(&scale(&squared, CUBIC)?, 1.0)?)?, TANH_SCALE)?;
        let slope = scale(&shift(&scale(&squared, 3.0 * CUBIC)?, 1.0)?, TANH_SCALE)?;
        let t = tanh(&inner)?;
        let bend = mul(&mul(x, &slope)?, &one_minus(&square(&t)?)?)?;
        scale(&add(&shift(&t, 1.0)?, &bend)?, 0.5)
    };
    Silu "silu" SiluGrad "SiluBackward0" |x, _| {
        let s = sigmoid(x)?;
        mul(&s, &shift(&mul(x, &one_minus(&s)?)?, 1.0)?)
    };
    Mish "mish" MishGrad "MishBackward0" |x, _| {
        let t = tanh(&softplus(x, 1.0, 20.0)?)?;
        add(&t, &mul(&mul(x, &one_minus(&square(&t)?)?)?, &sigmoid(x)?)?)
    };
    Softplus "softplus" SoftplusGrad "SoftplusBackward0" |x, [beta, threshold]| {
        let scaled = scale(x, beta)?;
        // At the threshold itself there is no second derivative.
        let below = where_(&ge(&scaled, threshold)?, Operand::from(threshold), Operand::Tensor(&scaled))?;
        where_(&gt(&scaled, threshold)?, Operand::from(1.0), Operand::Tensor(&sigmoid(&below)?))
    };
    Elu "elu" EluGrad "EluBackward0" |x, [alpha, _]| {
        // What is above 0 would overflow there, and count in a second derivative.
        let below = clamp_max(x, 0.0.into())?;
        where_(&gt(x, 0.0)?, Operand::from(1.0), Operand::Tensor(&scale(&exp(&below)?, alpha)?))
    };
    LeakyRelu "leaky_relu" LeakyReluGrad "LeakyReluBackward0" |x, [slope, _]| {
        where_(&gt(x, 0.0)?, Operand::Tensor(&ones(x)?), Operand::from(slope))
    };
    Hardtanh "hardtanh" HardtanhGrad "HardtanhBackward0" |x, [low, high]| {
        let outside = logical_or(&le(x, low)?, &ge(x, high)?)?;
        where_(&outside, Operand::from(0.0), Operand::Tensor(&ones(x)?))
    };
}

/// The gradient from the saved input: one launch, or `g` times a recorded derivative.
fn from_input(
    op: MapOp,
    saved: &Saved,
    grad: &Tensor,
    derivative: fn(&Tensor, Params) -> Result<Tensor>,
) -> Result<Grads> {
    let x = saved.tensor(0)?;
    let params = saved.attribute::<MapAttribute>()?.params;
    one(fused(op, grad, &[&x], params, || mul(grad, &derivative(&x, params)?))?)
}

fn one_minus(x: &Tensor) -> Result<Tensor> {
    sub(1.0, x)
}

fn ones(like: &Tensor) -> Result<Tensor> {
    Tensor::full(like.shape(), 1i64.into(), like.dtype(), &like.context(), "ones_like")
}

pub(crate) const fn with_rule(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
    rule: &'static str,
) -> OpDef {
    OpDef::call(name, Family::Activation, summary, params, run)
        .forms(FUNCTIONAL)
        .gradient(Gradient::Vjp(rule))
}

/// `1 / sqrt(2 π)`
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// `sqrt(2 / π)`
const TANH_SCALE: f64 = 0.797_884_560_802_865_4;
const CUBIC: f64 = 0.044_715;
const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

params! {
    GeluParams {
        input: kind::Tensor, "the tensor it is computed of";
        approximate: kind::Str = "none", "\"none\" for the exact function, \"tanh\" for one that is near it";
    }
}

params! {
    SoftplusParams {
        input: kind::Tensor, "the tensor it is computed of";
        beta: kind::Float = 1.0, "how sharp the bend is";
        threshold: kind::Float = 20.0, "how large `beta * x` is where the result becomes `x` itself";
    }
}

params! {
    EluParams {
        input: kind::Tensor, "the tensor it is computed of";
        alpha: kind::Float = 1.0, "how far below 0 the result can come";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    LeakyReluParams {
        input: kind::Tensor, "the tensor it is computed of";
        negative_slope: kind::Float = 0.01, "the factor of negative elements";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    HardtanhParams {
        input: kind::Tensor, "the tensor it is computed of";
        min_val: kind::Float = -1.0, "the least that an element may be";
        max_val: kind::Float = 1.0, "the most that an element may be";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    with_rule(
        "gelu",
        "The Gaussian error linear unit: `x` times the normal distribution's share below it.",
        GeluParams::LIST,
        by_name!(GeluParams, |a| gelu(a.input, a.approximate).map(Value::from)),
        "GeluBackward0",
    )
    .details("`approximate: \"tanh\"` takes the usual approximation by a hyperbolic tangent.")
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `approximate` has another name", shapes::NO_FLOAT])
    .example("F::gelu(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.1587,  0.0000,  0.8413])")
    .samples(&[Sample::of("F::gelu(x)", &[X]), Sample::of("F::gelu(x, #{approximate: \"tanh\"})", &[X])]),
    with_rule(
        "silu",
        "`x * sigmoid(x)`, also called swish.",
        ActivationParams::LIST,
        by_name!(ActivationParams, |a| replaced_if(a.inplace, a.input, silu).map(Value::from)),
        "SiluBackward0",
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::silu(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.2689,  0.0000,  0.7311])")
    .samples(&[Sample::of("F::silu(x)", &[X])]),
    with_rule(
        "softplus",
        "A smooth relu: `log(1 + exp(beta * x)) / beta`.",
        SoftplusParams::LIST,
        by_name!(SoftplusParams, |a| softplus(a.input, a.beta, a.threshold).map(Value::from)),
        "SoftplusBackward0",
    )
    .details("Where `beta * x` is above `threshold` the result is `x` itself.")
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::softplus(tensor([-1.0, 0.0, 1.0]))", "tensor([0.3133, 0.6931, 1.3133])")
    .samples(&[Sample::of("F::softplus(x)", &[X]), Sample::of("F::softplus(x, #{beta: 2.0})", &[X])]),
    with_rule(
        "elu",
        "`x` where positive, `alpha * (exp(x) - 1)` elsewhere.",
        EluParams::LIST,
        by_name!(EluParams, |a| replaced_if(a.inplace, a.input, |x| elu(x, a.alpha)).map(Value::from)),
        "EluBackward0",
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::elu(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.6321,  0.0000,  1.0000])")
    .samples(&[Sample::of("F::elu(x, #{alpha: 0.5})", &[X])]),
    with_rule(
        "leaky_relu",
        "`x` where positive, `negative_slope * x` elsewhere.",
        LeakyReluParams::LIST,
        by_name!(LeakyReluParams, |a| replaced_if(a.inplace, a.input, |x| leaky_relu(x, a.negative_slope))
            .map(Value::from)),
        "LeakyReluBackward0",
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::leaky_relu(tensor([-1.0, 2.0]), 0.1)", "tensor([-0.1000,  2.0000])")
    .samples(&[Sample::of("F::leaky_relu(x)", &[X])]),
    with_rule(
        "mish",
        "`x * tanh(softplus(x))`.",
        ActivationParams::LIST,
        by_name!(ActivationParams, |a| replaced_if(a.inplace, a.input, mish).map(Value::from)),
        "MishBackward0",
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::mish(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.3034,  0.0000,  0.8651])")
    .samples(&[Sample::of("F::mish(x)", &[X])]),
    with_rule(
        "hardtanh",
        "Each element kept within `min_val..max_val`.",
        HardtanhParams::LIST,
        by_name!(HardtanhParams, |a| replaced_if(a.inplace, a.input, |x| hardtanh(x, a.min_val, a.max_val))
            .map(Value::from)),
        "HardtanhBackward0",
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("F::hardtanh(tensor([-3.0, 0.5, 3.0]))", "tensor([-1.0000,  0.5000,  1.0000])")
    .samples(&[Sample::of("F::hardtanh(x)", &[X])]),
    with_rule(
        "relu6",
        "Each element kept within `0..6`.",
        ActivationParams::LIST,
        by_name!(ActivationParams, |a| replaced_if(a.inplace, a.input, |x| hardtanh(x, 0.0, 6.0))
            .map(Value::from)),
        "HardtanhBackward0",
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("F::relu6(tensor([-3.0, 0.5, 8.0]))", "tensor([0.0000, 0.5000, 6.0000])")
    .samples(&[Sample::of("F::relu6(x * 4)", &[X])]),
];

/// Rows whose names other rows have too.
pub(crate) static HOMONYMS: &[OpDef] = &[with_rule(
    "relu",
    "Each element, or 0 where it is negative.",
    ActivationParams::LIST,
    by_name!(ActivationParams, |a| {
        let made = if a.inplace { relu_(a.input) } else { relu(a.input) };
        made.map(Value::from)
    }),
    "ReluBackward0",
)
.shapes(shapes::SAME)
.errors(&[shapes::BOOLS])
.example("F::relu(tensor([-1.0, 2.0]))", "tensor([0., 2.])")
.samples(&[Sample::of("F::relu(x)", &[X])])];
