//! Initialisers, drawing from the CPU generator as PyTorch's do.

use crate::base::{DType, Error, Result};
use crate::device::Machine;
use crate::device::kernel::Distribution;
use crate::op::draw::draw_into;
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, ParamKind, Value, def::Default};
use crate::tensor::Tensor;

/// An uninitialised tensor on the CPU, where parameters are drawn.
pub fn empty(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::empty(shape, dtype, Machine::current().cpu(), "init")
}

/// A tensor of one value on the CPU.
pub fn full(shape: &[usize], value: f64, dtype: DType) -> Result<Tensor> {
    Tensor::full(shape, value.into(), dtype, Machine::current().cpu(), "init")
}

/// Uniform in `low..high`.
pub fn uniform(shape: &[usize], low: f64, high: f64, dtype: DType) -> Result<Tensor> {
    let x = empty(shape, dtype)?;
    draw_into(&x, Distribution::Uniform { low, high }, "uniform_")?;
    Ok(x)
}

/// Normal with mean 0 and deviation 1.
pub fn normal(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let x = empty(shape, dtype)?;
    draw_into(&x, Distribution::Normal { mean: 0.0, std: 1.0 }, "normal_")?;
    Ok(x)
}

/// Weight and bias as `torch.nn.Linear` and the convolutions draw them: the weight by [`kaiming_uniform_`] with
/// `a = sqrt(5)`, then the bias uniform within `1 / sqrt(fan_in)`.
pub fn layer(shape: &[usize], bias: bool, dtype: DType) -> Result<(Tensor, Option<Tensor>)> {
    let weight = empty(shape, dtype)?;
    let (fan_in, _) = fans(&weight)?;
    if weight.numel() > 0 {
        kaiming_uniform_(&weight, 5f64.sqrt(), true, "leaky_relu")?;
    }
    let bound = if fan_in > 0.0 { 1.0 / fan_in.sqrt() } else { 0.0 };
    let outputs = shape.first().copied().unwrap_or(0);
    let bias = if bias { Some(uniform(&[outputs], -bound, bound, dtype)?) } else { None };
    Ok((weight, bias))
}

/// Uniform with the deviation `gain / sqrt(fan)` (He et al., 2015).
pub fn kaiming_uniform_(x: &Tensor, a: f64, fan_in: bool, nonlinearity: &str) -> Result<()> {
    let bound = 3f64.sqrt() * kaiming_deviation(x, a, fan_in, nonlinearity)?;
    draw_into(x, Distribution::Uniform { low: -bound, high: bound }, "uniform_")
}

/// Normal with the deviation `gain / sqrt(fan)` (He et al., 2015).
pub fn kaiming_normal_(x: &Tensor, a: f64, fan_in: bool, nonlinearity: &str) -> Result<()> {
    let std = kaiming_deviation(x, a, fan_in, nonlinearity)?;
    draw_into(x, Distribution::Normal { mean: 0.0, std }, "normal_")
}

fn kaiming_deviation(x: &Tensor, a: f64, fan_in: bool, nonlinearity: &str) -> Result<f64> {
    let (inputs, outputs) = fans(x)?;
    Ok(gain(nonlinearity, a)? / if fan_in { inputs } else { outputs }.sqrt())
}

/// The factor that a nonlinearity's spread asks for, as `torch.nn.init.calculate_gain`.
fn gain(nonlinearity: &str, slope: f64) -> Result<f64> {
    match nonlinearity {
        "linear" | "conv1d" | "conv2d" | "sigmoid" => Ok(1.0),
        "tanh" => Ok(5.0 / 3.0),
        "relu" => Ok(2f64.sqrt()),
        "leaky_relu" => Ok((2.0 / (1.0 + slope * slope)).sqrt()),
        "selu" => Ok(0.75),
        other => Err(Error::value(format!("Unsupported nonlinearity {other}"))
            .with_hint("nonlinearities are linear conv1d conv2d sigmoid tanh relu leaky_relu selu")),
    }
}

/// Inputs and outputs of one unit of a weight `[out, in, …]`.
fn fans(x: &Tensor) -> Result<(f64, f64)> {
    let [out, inputs, window @ ..] = x.shape() else {
        let text = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions";
        return Err(Error::value(text));
    };
    let field = window.iter().product::<usize>() as f64;
    Ok((*inputs as f64 * field, *out as f64 * field))
}

const TENSOR: Param = Param::required("tensor", ParamKind::Tensor);
const MODE: Param = Param::optional("mode", ParamKind::Str, Default::Str("fan_in"));
const NONLINEARITY: Param = Param::optional("nonlinearity", ParamKind::Str, Default::Str("leaky_relu"));

const fn number(name: &'static str, default: f64) -> Param {
    Param::optional(name, ParamKind::Float, Default::Float(default))
}

const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Initialise, summary, params, run)
        .forms(&[Form::Of("nn::init")])
        .gradient(Gradient::NoGrad("it writes values in place, outside the graph"))
}

/// Runs an initialiser on the first argument and gives it back.
fn written(a: &Args, write: impl FnOnce(&Tensor) -> Result<()>) -> Result<Value> {
    let x = a.tensor(0)?;
    x.check_writable()?;
    write(x)?;
    Ok(x.clone().into())
}

fn filled(a: &Args, value: f64) -> Result<Value> {
    written(a, |x| {
        x.fill(value.into(), "fill_")?;
        x.bump_version();
        Ok(())
    })
}

fn fan_in(a: &Args, i: usize) -> Result<bool> {
    match a.str(i)? {
        "fan_in" => Ok(true),
        "fan_out" => Ok(false),
        other => {
            Err(Error::value(format!("Mode {other} not supported, please use one of ['fan_in', 'fan_out']")))
        }
    }
}

/// Uniform with the deviation `gain * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010).
pub fn xavier_uniform_(x: &Tensor, gain: f64) -> Result<()> {
    let bound = 3f64.sqrt() * xavier_deviation(x, gain)?;
    draw_into(x, Distribution::Uniform { low: -bound, high: bound }, "uniform_")
}

/// Normal with the deviation `gain * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010).
pub fn xavier_normal_(x: &Tensor, gain: f64) -> Result<()> {
    let std = xavier_deviation(x, gain)?;
    draw_into(x, Distribution::Normal { mean: 0.0, std }, "normal_")
}

fn xavier_deviation(x: &Tensor, gain: f64) -> Result<f64> {
    let (inputs, outputs) = fans(x)?;
    Ok(gain * (2.0 / (inputs + outputs)).sqrt())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "uniform_",
        "Fills with draws between `a` and `b`.",
        &[TENSOR, number("a", 0.0), number("b", 1.0)],
        |a| {
            let distribution = Distribution::Uniform { low: a.float(1)?, high: a.float(2)? };
            written(a, |x| draw_into(x, distribution, "uniform_"))
        },
    )
    .example("manual_seed(0); nn::init::uniform_(empty([2]))", "tensor([0.4963, 0.7682])"),
    row(
        "normal_",
        "Fills with draws from the normal distribution.",
        &[TENSOR, number("mean", 0.0), number("std", 1.0)],
        |a| {
            let distribution = Distribution::Normal { mean: a.float(1)?, std: a.float(2)? };
            written(a, |x| draw_into(x, distribution, "normal_"))
        },
    )
    .example("manual_seed(0); nn::init::normal_(empty([2]))", "tensor([ 1.5410, -0.2934])"),
    row("constant_", "Fills with one value.", &[TENSOR, Param::required("val", ParamKind::Float)], |a| {
        filled(a, a.float(1)?)
    })
    .example("nn::init::constant_(empty([2]), 0.5)", "tensor([0.5000, 0.5000])"),
    row("zeros_", "Fills with zeros.", &[TENSOR], |a| filled(a, 0.0))
        .example("nn::init::zeros_(ones(2))", "tensor([0., 0.])"),
    row("ones_", "Fills with ones.", &[TENSOR], |a| filled(a, 1.0))
        .example("nn::init::ones_(zeros(2))", "tensor([1., 1.])"),
    row(
        "kaiming_uniform_",
        "Fills with uniform draws whose spread keeps a signal's size through layers with a rectifier.",
        &[TENSOR, number("a", 0.0), MODE, NONLINEARITY],
        |a| {
            let (slope, inputs) = (a.float(1)?, fan_in(a, 2)?);
            written(a, |x| kaiming_uniform_(x, slope, inputs, a.str(3)?))
        },
    )
    .details("`mode` is \"fan_in\" (forward signals keep their size) or \"fan_out\" (gradients do).")
    .example(
        "manual_seed(0); nn::init::kaiming_uniform_(empty([1, 3]))",
        "tensor([[-0.0106,  0.7586, -1.1640]])",
    ),
    row(
        "kaiming_normal_",
        "Fills with normal draws whose spread keeps a signal's size through layers with a rectifier.",
        &[TENSOR, number("a", 0.0), MODE, NONLINEARITY],
        |a| {
            let (slope, inputs) = (a.float(1)?, fan_in(a, 2)?);
            written(a, |x| kaiming_normal_(x, slope, inputs, a.str(3)?))
        },
    )
    .details("`mode` is \"fan_in\" (forward signals keep their size) or \"fan_out\" (gradients do).")
    .example("manual_seed(0); nn::init::kaiming_normal_(empty([1, 2]))", "tensor([[ 1.5410, -0.2934]])"),
    row(
        "xavier_uniform_",
        "Fills with uniform draws whose spread suits layers with a symmetric activation.",
        &[TENSOR, number("gain", 1.0)],
        |a| {
            let gain = a.float(1)?;
            written(a, |x| xavier_uniform_(x, gain))
        },
    )
    .example(
        "manual_seed(0); nn::init::xavier_uniform_(empty([3, 3]))[0]",
        "tensor([-0.0075,  0.5364, -0.8230])",
    ),
    row(
        "xavier_normal_",
        "Fills with normal draws whose spread suits layers with a symmetric activation.",
        &[TENSOR, number("gain", 1.0)],
        |a| {
            let gain = a.float(1)?;
            written(a, |x| xavier_normal_(x, gain))
        },
    )
    .example(
        "manual_seed(0); nn::init::xavier_normal_(empty([1, 3]))",
        "tensor([[ 1.0896, -0.2075, -1.5406]])",
    ),
];
