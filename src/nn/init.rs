//! Initialisers, drawing from the generator of the tensor's device as PyTorch's do.

use std::sync::Arc;

use crate::base::{DType, Error, Layout, Result};
use crate::device::kernel::Distribution;
use crate::device::{Context, Machine};
use crate::op::core::record::no_grad;
use crate::op::create::filled::Make;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::{mul, scale, shift};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{gt, logical_and, logical_or, lt};
use crate::op::elementwise::sign::sign;
use crate::op::elementwise::unary::{erf, log, square};
use crate::op::linalg::qr::qr;
use crate::op::params::{Maybe, by_name, kind, kinds, params};
use crate::op::random::generator::draw_into;
use crate::op::reduce::sums::any;
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::view::reshape_to;
use crate::op::{Args, Family, Form, Gradient, OpDef, Operand, Param, Value, shapes};
use crate::tensor::Tensor;

/// An uninitialised tensor on the default device, where parameters are drawn.
pub fn empty(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::empty(shape, dtype, &default_context()?, "init")
}

/// A tensor of one value on the default device.
pub fn full(shape: &[usize], value: f64, dtype: DType) -> Result<Tensor> {
    Tensor::full(shape, value.into(), dtype, &default_context()?, "init")
}

fn default_context() -> Result<Arc<Context>> {
    Make::default().context(&Machine::current())
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
pub(crate) fn kaiming_uniform_(x: &Tensor, a: f64, fan_in: bool, nonlinearity: &str) -> Result<()> {
    let bound = 3f64.sqrt() * kaiming_deviation(x, a, fan_in, nonlinearity)?;
    draw_into(x, Distribution::Uniform { low: -bound, high: bound }, "uniform_")
}

/// Normal with the deviation `gain / sqrt(fan)` (He et al., 2015).
pub(crate) fn kaiming_normal_(x: &Tensor, a: f64, fan_in: bool, nonlinearity: &str) -> Result<()> {
    let std = kaiming_deviation(x, a, fan_in, nonlinearity)?;
    draw_into(x, Distribution::Normal { mean: 0.0, std }, "normal_")
}

fn kaiming_deviation(x: &Tensor, a: f64, fan_in: bool, nonlinearity: &str) -> Result<f64> {
    let (inputs, outputs) = fans(x)?;
    Ok(gain(nonlinearity, a)? / if fan_in { inputs } else { outputs }.sqrt())
}

/// A matrix with orthogonal rows or columns, whichever are fewer, times `gain` (Saxe et al., 2013). What is behind the
/// first dimension counts as one.
pub(crate) fn orthogonal_(x: &Tensor, gain: f64) -> Result<()> {
    let Some((&rows, rest)) = x.shape().split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Err(Error::value("Only tensors with 2 or more dimensions are supported"));
    };
    if x.numel() == 0 {
        return Ok(());
    }
    let columns = rest.iter().product::<usize>();
    let _quiet = no_grad();
    let drawn = Tensor::empty(&[rows, columns], x.dtype(), &x.context(), "orthogonal_")?;
    draw_into(&drawn, Distribution::Normal { mean: 0.0, std: 1.0 }, "normal_")?;
    let wide = rows < columns;
    let (q, r) = qr(&if wide { matrix_transpose(&drawn)? } else { drawn }, "reduced")?;
    // Signs make the draw uniform over all such matrices.
    let q = mul(&q, &sign(&diagonal(&r, 0, -2, -1)?)?)?;
    let q = if wide { matrix_transpose(&q)? } else { q };
    x.copy_values(&scale(&reshape_to(&q, x.shape())?, gain)?, false)?;
    x.bump_version();
    Ok(())
}

/// Draws from the normal distribution, those outside of `low..=high` drawn again: over the whole tensor where many are
/// kept, else by rejection from the uniform distribution. The host waits to see whether all are inside.
pub fn trunc_normal_(x: &Tensor, mean: f64, std: f64, [low, high]: [f64; 2]) -> Result<()> {
    if std == 0.0 || low > high || low.is_nan() || high.is_nan() {
        let text =
            format!("trunc_normal_ needs a positive std and a <= b, but got std={std}, a={low} and b={high}");
        return Err(Error::value(text));
    }
    let _quiet = no_grad();
    let below = |v: f64| -> Result<f64> {
        let z = Tensor::full(&[], (v / 2f64.sqrt()).into(), DType::Float64, Machine::current().cpu(), "erf")?;
        Ok((1.0 + erf(&z)?.item()?.as_f64()) / 2.0)
    };
    if below((high - mean) / std)? - below((low - mean) / std)? > 0.3 {
        redrawn(x, mean, std, [low, high])
    } else {
        rejected(x, mean, std, [low, high])
    }
}

fn redrawn(x: &Tensor, mean: f64, std: f64, bounds: [f64; 2]) -> Result<()> {
    // Bounds as the dtype holds them, so that a number on one is inside.
    let [low, high] = bounds.map(|v| match x.dtype() {
        DType::Float32 => f64::from(v as f32),
        DType::Float16 => half::f16::from_f64(v).to_f64(),
        DType::BFloat16 => half::bf16::from_f64(v).to_f64(),
        _ => v,
    });
    let normal = Distribution::Normal { mean, std };
    draw_into(x, normal, "normal_")?;
    let mut kept = x.detach();
    loop {
        let outside = logical_or(&lt(&kept, low)?, &gt(&kept, high)?)?;
        if outside.numel() == 0 || any(&outside, None, false)?.item()?.as_i64() == 0 {
            break;
        }
        let again = Tensor::empty(x.shape(), x.dtype(), &x.context(), "trunc_normal_")?;
        draw_into(&again, normal, "normal_")?;
        kept = where_(&outside, Operand::Tensor(&again), Operand::Tensor(&kept))?;
    }
    x.copy_values(&kept, false)?;
    x.bump_version();
    Ok(())
}

fn rejected(x: &Tensor, mean: f64, std: f64, [low, high]: [f64; 2]) -> Result<()> {
    let mode = mean.clamp(low, high);
    let peak = -0.5 * ((mode - mean) / std).powi(2);
    let uniform = |low: f64, high: f64| -> Result<Tensor> {
        let t = Tensor::empty(x.shape(), x.dtype(), &x.context(), "trunc_normal_")?;
        draw_into(&t, Distribution::Uniform { low, high }, "uniform_")?;
        Ok(t)
    };
    // Where a second draw is above the density at the first, the first is drawn again.
    let refused = |candidates: &Tensor| -> Result<Tensor> {
        let away = scale(&shift(candidates, -mean)?, 1.0 / std)?;
        let density = shift(&scale(&square(&away)?, -0.5)?, -peak)?;
        gt(&log(&uniform(0.0, 1.0)?)?, &density)
    };
    let mut kept = uniform(low, high)?;
    let mut pending = refused(&kept)?;
    while pending.numel() > 0 && any(&pending, None, false)?.item()?.as_i64() != 0 {
        let candidates = uniform(low, high)?;
        kept = where_(&pending, Operand::Tensor(&candidates), Operand::Tensor(&kept))?;
        pending = logical_and(&pending, &refused(&candidates)?)?;
    }
    x.copy_values(&kept, false)?;
    x.bump_version();
    Ok(())
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
    // Of a weight without elements the sizes may be of any kind.
    let field: f64 = window.iter().map(|&size| size as f64).product();
    Ok((*inputs as f64 * field, *out as f64 * field))
}

kinds! {
    /// Whether the fan is the inputs.
    FanIn(Str) => bool, |args: &Args, at| match args.str(at)? {
        "fan_in" => Ok(true),
        "fan_out" => Ok(false),
        other => {
            let text = format!("Mode {other} not supported, please use one of ['fan_in', 'fan_out']");
            Err(Error::value(text))
        }
    };
}

params! {
    InitParams {
        tensor: kind::Tensor, "what is filled, in place";
    }
}

params! {
    UniformParams {
        tensor: kind::Tensor, "what is filled, in place";
        a: kind::Float = 0.0, "the least value that is drawn";
        b: kind::Float = 1.0, "the bound that what is drawn stays below";
    }
}

params! {
    NormalParams {
        tensor: kind::Tensor, "what is filled, in place";
        mean: kind::Float = 0.0, "the middle of the distribution";
        std: kind::Float = 1.0, "the standard deviation: how far from the middle draws are";
    }
}

params! {
    ConstantParams {
        tensor: kind::Tensor, "what is filled, in place";
        val: kind::Float, "what every element becomes";
    }
}

params! {
    GainParams {
        tensor: kind::Tensor, "what is filled, in place";
        gain: kind::Float = 1.0, "what the values are multiplied by";
    }
}

params! {
    TruncNormalParams {
        ..normal: NormalParams;
        a: kind::Float = -2.0, "the least value that is drawn";
        b: kind::Float = 2.0, "the greatest value that is drawn";
    }
}

params! {
    KaimingParams {
        tensor: kind::Tensor, "what is filled, in place";
        a: kind::Float = 0.0, "the slope below 0 of the leaky rectifier that follows";
        mode: FanIn => DefaultValue::Str("fan_in"), "what keeps its size: \"fan_in\" signals, \"fan_out\" gradients";
        nonlinearity: kind::Str = "leaky_relu", "what follows the layer, by its name";
    }
}

params! {
    CalculateGainParams {
        nonlinearity: kind::Str, "what follows the layer, by its name";
        param: Maybe<kind::Float>, "the slope below 0 of a leaky rectifier; 0.01 where it is not given";
    }
}

params! {
    DiracParams {
        tensor: kind::Tensor, "what is filled, in place";
        groups: kind::Size = 1, "how many groups of filters there are, each with channels of its own";
    }
}

/// Ones where a convolution gives a channel on as it is.
fn dirac_(x: &Tensor, groups: usize) -> Result<()> {
    if !(3..=5).contains(&x.rank()) {
        return Err(Error::value("Only tensors with 3, 4, or 5 dimensions are supported"));
    }
    let [filters, channels, window @ ..] = x.shape() else { return Ok(()) };
    if groups == 0 || !filters.is_multiple_of(groups) {
        return Err(Error::value("dim 0 must be divisible by groups"));
    }
    if x.numel() == 0 {
        return Ok(());
    }
    x.fill(0i64.into(), "fill_")?;
    let each = filters / groups;
    for filter in (0..*filters).filter(|filter| filter % each < *channels) {
        let mut layout = x.layout().select(0, filter)?.select(0, filter % each)?;
        for size in window {
            layout = layout.select(0, size / 2)?;
        }
        x.with_layout(layout).fill(1i64.into(), "fill_")?;
    }
    x.bump_version();
    Ok(())
}

/// Ones on the diagonal of a matrix.
fn eye_(x: &Tensor) -> Result<()> {
    let &[rows, columns] = x.shape() else {
        return Err(Error::value("Only tensors with 2 dimensions are supported"));
    };
    x.fill(0i64.into(), "fill_")?;
    let step = x.layout().strides().iter().sum();
    let diagonal = Layout::new([rows.min(columns)][..].into(), [step][..].into(), x.layout().offset())?;
    x.with_layout(diagonal).fill(1i64.into(), "fill_")?;
    x.bump_version();
    Ok(())
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

/// Runs an initialiser on a tensor and gives it back.
fn written(x: &Tensor, write: impl FnOnce(&Tensor) -> Result<()>) -> Result<Value> {
    x.check_writable()?;
    write(x)?;
    Ok(x.clone().into())
}

fn filled(x: &Tensor, value: f64) -> Result<Value> {
    written(x, |x| {
        x.fill(value.into(), "fill_")?;
        x.bump_version();
        Ok(())
    })
}

/// Uniform with the deviation `gain * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010).
pub(crate) fn xavier_uniform_(x: &Tensor, gain: f64) -> Result<()> {
    let bound = 3f64.sqrt() * xavier_deviation(x, gain)?;
    draw_into(x, Distribution::Uniform { low: -bound, high: bound }, "uniform_")
}

/// Normal with the deviation `gain * sqrt(2 / (fan_in + fan_out))` (Glorot and Bengio, 2010).
pub(crate) fn xavier_normal_(x: &Tensor, gain: f64) -> Result<()> {
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
        UniformParams::LIST,
        by_name!(UniformParams, |a| {
            let distribution = Distribution::Uniform { low: a.a, high: a.b };
            written(a.tensor, |x| draw_into(x, distribution, "uniform_"))
        }),
    )
    .shapes(shapes::SAME)
    .example("manual_seed(0); nn::init::uniform_(empty([2]))", "tensor([0.4963, 0.7682])"),
    row(
        "normal_",
        "Fills with draws from the normal distribution.",
        NormalParams::LIST,
        by_name!(NormalParams, |a| {
            let distribution = Distribution::Normal { mean: a.mean, std: a.std };
            written(a.tensor, |x| draw_into(x, distribution, "normal_"))
        }),
    )
    .shapes(shapes::SAME)
    .example("manual_seed(0); nn::init::normal_(empty([2]))", "tensor([ 1.5410, -0.2934])"),
    row(
        "constant_",
        "Fills with one value.",
        ConstantParams::LIST,
        by_name!(ConstantParams, |a| filled(a.tensor, a.val)),
    )
    .shapes(shapes::SAME)
    .example("nn::init::constant_(empty([2]), 0.5)", "tensor([0.5000, 0.5000])"),
    row("zeros_", "Fills with zeros.", InitParams::LIST, by_name!(InitParams, |a| filled(a.tensor, 0.0)))
    .shapes(shapes::SAME)
        .example("nn::init::zeros_(ones(2))", "tensor([0., 0.])"),
    row("ones_", "Fills with ones.", InitParams::LIST, by_name!(InitParams, |a| filled(a.tensor, 1.0)))
    .shapes(shapes::SAME)
        .example("nn::init::ones_(zeros(2))", "tensor([1., 1.])"),
    row("eye_", "Fills a matrix with ones on its diagonal and zeros elsewhere.", InitParams::LIST, by_name!(InitParams, |a| written(a.tensor, eye_)))
        .shapes("(n, m) -> the same")
        .errors(&["ValueError: the tensor has not two dimensions"])
        .example("nn::init::eye_(empty([2, 3]))", "tensor([[1., 0., 0.],\n        [0., 1., 0.]])"),
    row(
        "dirac_",
        "Fills the weight of a convolution so that it gives as many channels on as they are as it can.",
        DiracParams::LIST,
        by_name!(DiracParams, |a| written(a.tensor, |x| dirac_(x, a.groups))),
    )
    .shapes("(filters, channels / groups, window…) -> the same, three to five dimensions")
    .errors(&[
        "ValueError: the tensor has fewer than three dimensions, or more than five",
        "ValueError: the filters do not divide by `groups`",
    ])
    .example("nn::init::dirac_(empty([2, 2, 1])).flatten()", "tensor([1., 0., 0., 1.])"),
    OpDef::call(
        "calculate_gain",
        Family::Initialise,
        "By how much weights are larger where an activation follows, so that a signal keeps its size.",
        CalculateGainParams::LIST,
        by_name!(CalculateGainParams, |a| {
            gain(a.nonlinearity, a.param.unwrap_or(0.01)).map(|gain| Value::Scalar(gain.into()))
        }),
    )
    .forms(&[Form::Of("nn::init")])
    .gradient(Gradient::NoGrad("it gives a number"))
    .shapes("none: it gives a number")
    .errors(&["ValueError: `nonlinearity` has another name"])
    .example("nn::init::calculate_gain(\"tanh\")", "1.6666666666666667"),
    row(
        "orthogonal_",
        "Fills with a matrix whose rows or columns, whichever are fewer, are orthogonal and of length `gain`.",
        GainParams::LIST,
        by_name!(GainParams, |a| written(a.tensor, |x| orthogonal_(x, a.gain))),
    )
    .details("What is behind the first dimension counts as one.")
    .shapes("(n, …) -> the same, two dimensions or more")
    .errors(&["ValueError: the tensor has fewer than two dimensions"])
    .example(
        "manual_seed(0); let w = nn::init::orthogonal_(empty([2, 3])); (w @ w.t()).allclose(eye(2), #{atol: 1e-6})",
        "true",
    ),
    row(
        "trunc_normal_",
        "Fills with draws from the normal distribution, those outside of `a` to `b` drawn again.",
        TruncNormalParams::LIST,
        by_name!(TruncNormalParams, |TruncNormalParams { normal, a, b, .. }| {
            written(normal.tensor, |x| trunc_normal_(x, normal.mean, normal.std, [a, b]))
        }),
    )
    .details("The bounds are numbers, not multiples of `std`. The host waits for the device.")
    .shapes(shapes::SAME)
    .errors(&["ValueError: `std` is not above 0, or `a` is above `b`"])
    .example(
        "manual_seed(0); nn::init::trunc_normal_(empty([3]), #{std: 2.0, a: -1.0, b: 1.0}).abs().max() <= 1.0",
        "tensor(True)",
    ),
    row(
        "kaiming_uniform_",
        "Fills with uniform draws whose spread keeps a signal's size through layers with a rectifier.",
        KaimingParams::LIST,
        by_name!(KaimingParams, |a| written(a.tensor, |x| kaiming_uniform_(x, a.a, a.mode, a.nonlinearity))),
    )
    .details("`mode` is \"fan_in\" (forward signals keep their size) or \"fan_out\" (gradients do).")
    .shapes(shapes::SAME)
    .errors(&[
        "ValueError: the tensor has fewer than two dimensions",
        "ValueError: `mode` or `nonlinearity` has another name",
    ])
    .example(
        "manual_seed(0); nn::init::kaiming_uniform_(empty([1, 3]))",
        "tensor([[-0.0106,  0.7586, -1.1640]])",
    ),
    row(
        "kaiming_normal_",
        "Fills with normal draws whose spread keeps a signal's size through layers with a rectifier.",
        KaimingParams::LIST,
        by_name!(KaimingParams, |a| written(a.tensor, |x| kaiming_normal_(x, a.a, a.mode, a.nonlinearity))),
    )
    .details("`mode` is \"fan_in\" (forward signals keep their size) or \"fan_out\" (gradients do).")
    .shapes(shapes::SAME)
    .errors(&[
        "ValueError: the tensor has fewer than two dimensions",
        "ValueError: `mode` or `nonlinearity` has another name",
    ])
    .example("manual_seed(0); nn::init::kaiming_normal_(empty([1, 2]))", "tensor([[ 1.5410, -0.2934]])"),
    row(
        "xavier_uniform_",
        "Fills with uniform draws whose spread suits layers with a symmetric activation.",
        GainParams::LIST,
        by_name!(GainParams, |a| written(a.tensor, |x| xavier_uniform_(x, a.gain))),
    )
    .shapes(shapes::SAME)
    .errors(&["ValueError: the tensor has fewer than two dimensions"])
    .example(
        "manual_seed(0); nn::init::xavier_uniform_(empty([3, 3]))[0]",
        "tensor([-0.0075,  0.5364, -0.8230])",
    ),
    row(
        "xavier_normal_",
        "Fills with normal draws whose spread suits layers with a symmetric activation.",
        GainParams::LIST,
        by_name!(GainParams, |a| written(a.tensor, |x| xavier_normal_(x, a.gain))),
    )
    .shapes(shapes::SAME)
    .errors(&["ValueError: the tensor has fewer than two dimensions"])
    .example(
        "manual_seed(0); nn::init::xavier_normal_(empty([1, 3]))",
        "tensor([[ 1.0896, -0.2075, -1.5406]])",
    ),
];
