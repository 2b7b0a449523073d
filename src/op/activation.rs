//! Activations of neural networks, with their gradient rules, and dropout.

use crate::base::{DType, Error, Layout, Result, Scalar};
use crate::device::MapOp;
use crate::device::kernel::Distribution;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor};

use super::args::{Args, Value};
use super::binary::{add, ge, gt, le, logical_or, mul, sub};
use super::def::{
    DefaultValue, Domain, Draw, Family, Form, Gradient, OpDef, Operand, Param, ParamKind, SELF, Sample,
};
use super::elementwise::{Gives, Keep, MapAttribute, Params, Unary, fused, map};
use super::record::{one, recorded};
use super::select::{only_floats, where_};
use super::unary::{erf, exp, scale, shift, sigmoid, square, tanh};

/// `F::name(…)` alone.
pub const FUNCTIONAL: &[Form] = &[Form::Functional];
/// `F::name(…)` and `name(…)`.
pub const BOTH: &[Form] = &[Form::Functional, Form::Function];

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
pub fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    float_only(x, "elu_cpu", &specs::Elu, [alpha, 0.0])
}

/// `x` where positive, `slope * x` elsewhere.
pub fn leaky_relu(x: &Tensor, slope: f64) -> Result<Tensor> {
    float_only(x, "leaky_relu_cpu", &specs::LeakyRelu, [slope, 0.0])
}

/// `x * tanh(softplus(x))`
pub fn mish(x: &Tensor) -> Result<Tensor> {
    float_only(x, "mish_cpu", &specs::Mish, [0.0; 2])
}

/// `x` kept within `low..=high`; the gradient is 0 at the bounds.
pub fn hardtanh(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    specs::Hardtanh.apply(x, [low, high])
}

/// Zeroes elements with probability `p` and scales the others by `1 / (1 - p)`; `x` itself outside training.
///
/// The mask is drawn as PyTorch's `bernoulli_(1 - p)` and kept as bools for the backward pass.
pub fn dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NativeDropoutBackward0", run: dropout_grad };
    check_probability(p)?;
    if !training || p == 0.0 || x.numel() == 0 {
        return Ok(x.clone());
    }
    if !x.dtype().is_float() {
        let text =
            format!("result type Float can't be cast to the desired output type {}", x.dtype().type_name());
        return Err(Error::runtime(text));
    }
    if p == 1.0 {
        return mul(x, 0.0);
    }
    let mask = mask_like(x, p)?;
    let out = masked(x, &mask, p)?;
    Ok(recorded(out, &RULE, &[x], |s, _| {
        s.constant(Some(&mask));
        s.attribute(p);
    }))
}

/// A mask of bools for `x`, true with probability `1 - p`, drawn in the order in which `x` lies in memory.
fn mask_like(x: &Tensor, p: f64) -> Result<Tensor> {
    let keep = Distribution::Keep { p: 1.0 - p, wide: x.dtype() == DType::Float64, vector: vector(x) };
    let draw = |shape: &[usize]| super::draw::drawn(shape, DType::Bool, &x.context(), keep, "dropout");
    if x.is_contiguous() {
        return draw(x.shape());
    }
    let order = memory_order(x.layout());
    let shape: Vec<usize> = order.iter().filter_map(|&d| x.shape().get(d).copied()).collect();
    let mask = draw(&shape)?;
    let back: Vec<usize> = (0..order.len()).filter_map(|d| order.iter().position(|&o| o == d)).collect();
    Ok(mask.with_layout(mask.layout().permute(&back)?))
}

/// How many neighbours a thread of PyTorch's kernel keeps or drops at a time: as many as 16 bytes hold, fewer where
/// the number of elements or the place of the first is no multiple of that, one where there are gaps.
fn vector(x: &Tensor) -> u64 {
    let layout = x.layout();
    if !layout.is_dense() {
        return 1;
    }
    let mut vector = (16 / x.dtype().size()).clamp(1, 8);
    while vector > 1 && !(x.numel().is_multiple_of(vector) && layout.offset().is_multiple_of(vector)) {
        vector /= 2;
    }
    vector as u64
}

/// The dimensions from the one with the widest strides to the narrowest, as PyTorch's `empty_like` lays them out.
/// Where strides do not tell (broadcast dimensions), the order of the dimensions stays.
fn memory_order(layout: &Layout) -> Vec<usize> {
    let (shape, strides) = (layout.shape(), layout.strides());
    let at = |d: usize| (strides.get(d).copied().unwrap_or(0), shape.get(d).copied().unwrap_or(1));
    // From the narrowest on.
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    for i in 1..order.len() {
        let mut moving = i;
        for before in (0..i).rev() {
            let (Some(&a), Some(&b)) = (order.get(before), order.get(moving)) else { break };
            let ((stride_a, size_a), (stride_b, size_b)) = (at(a), at(b));
            if stride_a == 0 || stride_b == 0 {
                continue;
            }
            if stride_a > stride_b || (stride_a == stride_b && size_a > size_b) {
                order.swap(before, moving);
                moving = before;
            } else if stride_a < stride_b {
                break;
            }
        }
    }
    order.reverse();
    order
}

/// Fails unless `p` is a probability.
pub fn check_probability(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    let text = format!("dropout probability has to be between 0 and 1, but got {p}");
    Err(Error::value(text).with_hint("`p` is the share of elements that become 0, such as 0.5"))
}

/// `x * mask / (1 - p)`
fn masked(x: &Tensor, mask: &Tensor, p: f64) -> Result<Tensor> {
    let factor = match x.dtype() {
        DType::Float64 => 1.0 / (1.0 - p),
        _ => f64::from(1.0 / (1.0 - p) as f32),
    };
    let inputs = [In::Scalar(Scalar::Float(0.0)), In::Tensor(x), In::Tensor(mask)];
    map("dropout", MapOp::Addcmul, &inputs, x.shape(), x.dtype(), x.dtype(), [factor, 0.0], x)
}

fn dropout_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (mask, &p): (Tensor, &f64) = (s.tensor(0)?, s.attribute()?);
    if grad_enabled() {
        return one(scale(&mul(g, &mask)?, 1.0 / (1.0 - p))?);
    }
    one(masked(g, &mask, p)?)
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
                pub static $map: Unary = {
                    static RULE: Vjp =
                        Vjp { name: $rule, run: |s, g| from_input(MapOp::$grad, s, g, $derivative) };
                    Unary {
                        name: $name,
                        op: MapOp::$map,
                        gives: Gives::Same,
                        keep: Keep::Input,
                        rule: Some(&RULE),
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
        where_(&gt(&scaled, threshold)?, Operand::from(1.0), Operand::Tensor(&sigmoid(&scaled)?))
    };
    Elu "elu" EluGrad "EluBackward0" |x, [alpha, _]| {
        where_(&gt(x, 0.0)?, Operand::from(1.0), Operand::Tensor(&scale(&exp(x)?, alpha)?))
    };
    LeakyRelu "leaky_relu" LeakyReluGrad "LeakyReluBackward0" |x, [slope, _]| {
        where_(&gt(x, 0.0)?, Operand::Tensor(&ones(x)?), Operand::from(slope))
    };
    Hardtanh "hardtanh" HardtanhGrad "HardtanhBackward0" |x, [low, high]| {
        let outside = logical_or(&le(x, low)?, &ge(x, high)?)?;
        where_(&outside, Operand::from(0.0), Operand::Tensor(&ones(x)?))
    };
}

/// `1 / sqrt(2 π)`
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
/// `sqrt(2 / π)`
const TANH_SCALE: f64 = 0.797_884_560_802_865_4;
const CUBIC: f64 = 0.044_715;

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

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

const fn row(
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

const fn number(name: &'static str, default: f64) -> Param {
    Param::optional(name, ParamKind::Float, DefaultValue::Float(default))
}

/// The rows of this family.
pub static ROWS: &[OpDef] = &[
    row(
        "gelu",
        "The Gaussian error linear unit: `x` times the normal distribution's share below it.",
        &[SELF, Param::optional("approximate", ParamKind::Str, DefaultValue::Str("none"))],
        |a| gelu(a.tensor(0)?, a.str(1)?).map(Value::from),
        "GeluBackward0",
    )
    .details("`approximate: \"tanh\"` takes the usual approximation by a hyperbolic tangent.")
    .example("F::gelu(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.1587,  0.0000,  0.8413])")
    .samples(&[Sample::of("F::gelu(x)", &[X]), Sample::of("F::gelu(x, #{approximate: \"tanh\"})", &[X])]),
    row(
        "silu",
        "`x * sigmoid(x)`, also called swish.",
        &[SELF],
        |a| silu(a.tensor(0)?).map(Value::from),
        "SiluBackward0",
    )
    .example("F::silu(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.2689,  0.0000,  0.7311])")
    .samples(&[Sample::of("F::silu(x)", &[X])]),
    row(
        "softplus",
        "A smooth relu: `log(1 + exp(beta * x)) / beta`.",
        &[SELF, number("beta", 1.0), number("threshold", 20.0)],
        |a| softplus(a.tensor(0)?, a.float(1)?, a.float(2)?).map(Value::from),
        "SoftplusBackward0",
    )
    .details("Where `beta * x` is above `threshold` the result is `x` itself.")
    .example("F::softplus(tensor([-1.0, 0.0, 1.0]))", "tensor([0.3133, 0.6931, 1.3133])")
    .samples(&[Sample::of("F::softplus(x)", &[X]), Sample::of("F::softplus(x, #{beta: 2.0})", &[X])]),
    row(
        "elu",
        "`x` where positive, `alpha * (exp(x) - 1)` elsewhere.",
        &[SELF, number("alpha", 1.0)],
        |a| elu(a.tensor(0)?, a.float(1)?).map(Value::from),
        "EluBackward0",
    )
    .example("F::elu(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.6321,  0.0000,  1.0000])")
    .samples(&[Sample::of("F::elu(x, #{alpha: 0.5})", &[X])]),
    row(
        "leaky_relu",
        "`x` where positive, `negative_slope * x` elsewhere.",
        &[SELF, number("negative_slope", 0.01)],
        |a| leaky_relu(a.tensor(0)?, a.float(1)?).map(Value::from),
        "LeakyReluBackward0",
    )
    .example("F::leaky_relu(tensor([-1.0, 2.0]), 0.1)", "tensor([-0.1000,  2.0000])")
    .samples(&[Sample::of("F::leaky_relu(x)", &[X])]),
    row(
        "mish",
        "`x * tanh(softplus(x))`.",
        &[SELF],
        |a| mish(a.tensor(0)?).map(Value::from),
        "MishBackward0",
    )
    .example("F::mish(tensor([-1.0, 0.0, 1.0]))", "tensor([-0.3034,  0.0000,  0.8651])")
    .samples(&[Sample::of("F::mish(x)", &[X])]),
    row(
        "hardtanh",
        "Each element kept within `min_val..max_val`.",
        &[SELF, number("min_val", -1.0), number("max_val", 1.0)],
        |a| hardtanh(a.tensor(0)?, a.float(1)?, a.float(2)?).map(Value::from),
        "HardtanhBackward0",
    )
    .example("F::hardtanh(tensor([-3.0, 0.5, 3.0]))", "tensor([-1.0000,  0.5000,  1.0000])")
    .samples(&[Sample::of("F::hardtanh(x)", &[X])]),
    row(
        "relu6",
        "Each element kept within `0..6`.",
        &[SELF],
        |a| hardtanh(a.tensor(0)?, 0.0, 6.0).map(Value::from),
        "HardtanhBackward0",
    )
    .example("F::relu6(tensor([-3.0, 0.5, 8.0]))", "tensor([0.0000, 0.5000, 6.0000])")
    .samples(&[Sample::of("F::relu6(x * 4)", &[X])]),
    row(
        "dropout",
        "Zeroes elements with probability `p` and scales the others by `1 / (1 - p)`.",
        &[SELF, number("p", 0.5), Param::optional("training", ParamKind::Bool, DefaultValue::Bool(true))],
        |a| dropout(a.tensor(0)?, a.float(1)?, a.bool(2)?).map(Value::from),
        "NativeDropoutBackward0",
    )
    .forms(BOTH)
    .details("Outside training the tensor stays as it is. The draw follows PyTorch's generator.")
    .example("manual_seed(0); F::dropout(ones(5), 0.5)", "tensor([0., 0., 2., 0., 0.])"),
];
