//! Optimisers that see a parameter as a matrix: Muon orthogonalises its step, Adafactor remembers a row and a column.

use crate::base::{DType, Error, Result, python};
use crate::op::core::convert::to_dtype;
use crate::op::core::shapes;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::{div, mul, scale, specs};
use crate::op::elementwise::clamp::clamp_;
use crate::op::elementwise::fused::{lerp, lerp_};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::rsqrt;
use crate::op::linalg::added::addmm;
use crate::op::linalg::matmul::matmul;
use crate::op::params::{kind, param_list};
use crate::op::reduce::norms::norm;
use crate::op::reduce::sums::mean;
use crate::op::shape::permute::transpose;
use crate::op::{OpDef, Operand, Value};
use crate::tensor::Tensor;

use super::adaptive::times;
use super::state::Moments;
use super::{DECAY, MAXIMIZE, Optimizer, Options, PARAMS, Rate, Rule, constructor};

/// From so many iterations on PyTorch refuses.
const MOST_ITERATIONS: i64 = 100;

struct Muon;

impl Rule for Muon {
    fn name(&self) -> &'static str {
        "Muon"
    }

    fn check(&self, options: &Options) -> Result<()> {
        for (name, said) in
            [("lr", "Learning rate"), ("momentum", "momentum"), ("weight_decay", "weight decay")]
        {
            at_least(options, name, 0.0, said)?;
        }
        let adjust = options.str("adjust_lr_fn");
        if !["", "original", "match_rms_adamw", "spectral_unclamped"].contains(&adjust) {
            let text = format!("Adjust learning rate function {adjust} is not supported");
            let hint = "it is \"original\", \"match_rms_adamw\" or \"spectral_unclamped\"";
            return Err(Error::value(text).with_hint(hint));
        }
        if coefficients(options).is_none() {
            return Err(Error::value("Coefficients must be a tuple of exactly 3 values"));
        }
        Ok(())
    }

    fn check_parameter(&self, parameter: &Tensor) -> Result<()> {
        if parameter.shape().len() == 2 {
            return Ok(());
        }
        let text = format!(
            "Muon only supports 2D parameters whereas we found a parameter with size: torch.Size({:?})",
            parameter.shape()
        );
        Err(Error::value(text).with_hint("biases and the like take another optimiser, such as AdamW"))
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let (lr, momentum) = (options.float("lr"), options.float("momentum"));
        let mean = state.zeros("momentum_buffer", parameter)?;
        lerp_(&mean, grad, (1.0 - momentum).into())?;
        let update = if options.bool("nesterov") { lerp(grad, &mean, momentum.into())? } else { mean };
        let update = orthogonal(&update, options)?;
        state.step += 1;
        times(parameter, 1.0 - lr * options.float("weight_decay"))?;
        let rate = lr * share(options.str("adjust_lr_fn"), parameter.shape());
        specs::Add.apply_in_place(parameter, Operand::Tensor(&update), [-rate, 0.0]).map(|_| ())
    }
}

/// A matrix near the orthogonal one of the same row and column spaces, by Newton and Schulz's iteration in bfloat16.
fn orthogonal(update: &Tensor, options: &Options) -> Result<Tensor> {
    let steps = options.int("ns_steps").unwrap_or_default();
    if steps >= MOST_ITERATIONS {
        let text = "Number of steps must be less than 100 for computational efficiency";
        return Err(Error::value(text));
    }
    let [a, b, c] = coefficients(options).unwrap_or_default();
    let tall = matches!(update.shape(), [rows, columns] if rows > columns);
    let turned = |x: &Tensor| if tall { transpose(x, 0, 1) } else { Ok(x.clone()) };
    let mut x = turned(&to_dtype(update, DType::BFloat16)?)?;
    let length = norm(&x, 2.0, None, false)?;
    clamp_(&length, Some(options.float("eps").into()), None)?;
    x = div(&x, &length)?;
    for _ in 0..steps {
        let gram = matmul(&x, &transpose(&x, 0, 1)?)?;
        let by = addmm(&gram, &gram, &gram, b, c)?;
        x = addmm(&x, &by, &x, a, 1.0)?;
    }
    to_dtype(&turned(&x)?, update.dtype())
}

/// How much longer the step of a matrix of this shape is.
fn share(adjust: &str, shape: &[usize]) -> f64 {
    let [rows, columns] = shape else { return 1.0 };
    let (rows, columns) = (*rows as f64, *columns as f64);
    match adjust {
        "match_rms_adamw" => 0.2 * rows.max(columns).sqrt(),
        "spectral_unclamped" => (rows / columns).sqrt(),
        _ => (rows / columns).max(1.0).sqrt(),
    }
}

fn coefficients(options: &Options) -> Option<[f64; 3]> {
    options.get("ns_coefficients")?.floats()?.try_into().ok()
}

struct Adafactor;

impl Rule for Adafactor {
    fn name(&self) -> &'static str {
        "Adafactor"
    }

    fn check(&self, options: &Options) -> Result<()> {
        at_least(options, "lr", 0.0, "Learning rate")?;
        let decay = options.float("beta2_decay");
        if decay.is_nan() || decay > 0.0 {
            return Err(Error::value(format!("beta2_decay should be <= 0 but is: {}", python::float(decay))));
        }
        let (first, second) = epsilons(options)?;
        for (name, value) in [("epsilon1", first.unwrap_or_default()), ("epsilon2", second)] {
            if value.is_nan() || value < 0.0 {
                return Err(Error::value(format!("{name} should be >= 0 but is: {}", python::float(value))));
            }
        }
        at_least(options, "d", 1.0, "Clipping threshold d")?;
        at_least(options, "weight_decay", 0.0, "weight_decay")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = if options.bool("maximize") { neg(grad)? } else { grad.clone() };
        let (first, least) = epsilons(options)?;
        let floor = first.unwrap_or_else(|| parameter.dtype().epsilon());
        let lr = options.float("lr");
        state.step += 1;
        let step = state.step as f64;
        let weight = step.powf(options.float("beta2_decay"));
        let root = |x: &Tensor| Ok::<f64, Error>(length(x)? / (x.numel() as f64).sqrt());
        let rate = root(parameter)?.max(least) * lr.min(1.0 / step.sqrt());
        if options.float("weight_decay") != 0.0 {
            times(parameter, 1.0 - lr * options.float("weight_decay"))?;
        }
        let square = if grad.shape().len() > 1 {
            let row = averaged(state, &grad, ("row_var", -1), weight)?;
            let column = averaged(state, &grad, ("col_var", -2), weight)?;
            let whole = mean(&row, Some(&[-2]), true)?;
            clamp_(&whole, Some(floor.into()), None)?;
            div(&matmul(&row, &column)?, &whole)?
        } else {
            let square = state.zeros("variance", parameter)?;
            lerp_(&square, &mul(&grad, &grad)?, weight.into())?;
            scale(&square, 1.0)?
        };
        clamp_(&square, Some((floor * floor).into()), None)?;
        let update = mul(&rsqrt(&square)?, &grad)?;
        let shrunk = (root(&update)? / options.float("d")).max(1.0);
        specs::Add.apply_in_place(parameter, Operand::Tensor(&update), [-rate / shrunk, 0.0]).map(|_| ())
    }
}

/// The running mean of the squares along a dimension.
fn averaged(
    state: &mut Moments,
    grad: &Tensor,
    (name, dim): (&'static str, i64),
    weight: f64,
) -> Result<Tensor> {
    let lengths = norm(grad, 2.0, Some(&[dim]), true)?;
    let count = grad.numel() as f64 / lengths.numel().max(1) as f64;
    let now = scale(&mul(&lengths, &lengths)?, 1.0 / count)?;
    let held = state.or_insert(name, || scale(&now, 0.0))?;
    lerp_(&held, &now, weight.into())?;
    Ok(held)
}

/// Its length, for which the host waits as in PyTorch.
fn length(x: &Tensor) -> Result<f64> {
    Ok(norm(x, 2.0, None, false)?.item()?.as_f64())
}

/// The two numbers of `eps`: the first is the dtype's own where it is absent.
fn epsilons(options: &Options) -> Result<(Option<f64>, f64)> {
    let wrong = || Err(Error::type_error("eps must be an array of two numbers such as [(), 0.001]"));
    match options.get("eps") {
        None | Some(Value::None) => Ok((None, 1e-3)),
        Some(Value::List(items)) => match items.as_slice() {
            [Value::None, Value::Scalar(second)] => Ok((None, second.as_f64())),
            [Value::Scalar(first), Value::Scalar(second)] => Ok((Some(first.as_f64()), second.as_f64())),
            _ => wrong(),
        },
        Some(_) => wrong(),
    }
}

fn at_least(options: &Options, name: &str, least: f64, said: &str) -> Result<()> {
    let value = options.float(name);
    if value.is_nan() || value < least {
        let least = least as i64;
        return Err(Error::value(format!("{said} should be >= {least} but is: {}", python::float(value))));
    }
    Ok(())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Muon",
        "Momentum whose step is made orthogonal, for the matrices inside of a network.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.001), "the learning rate: how long a step is";
            weight_decay: kind::Scalar => DefaultValue::Float(0.1), "how much smaller each step makes the parameter itself, times lr";
            momentum: kind::Scalar => DefaultValue::Float(0.95), "the share that the running mean of the gradients keeps";
            nesterov: kind::Bool = true, "whether the gradient counts once more beside the mean";
            ns_coefficients: kind::Any => DefaultValue::Floats(&[3.4445, -4.775, 2.0315]), "of Newton and Schulz's iteration";
            eps: kind::Scalar => DefaultValue::Float(1e-7), "the least length that a step is divided by";
            ns_steps: kind::Scalar => DefaultValue::Int(5), "how many iterations make a step orthogonal, less than 100";
            adjust_lr_fn: kind::Any => DefaultValue::None, "how lr depends on a matrix's shape: \"original\", \"match_rms_adamw\" or \"spectral_unclamped\"";
        },
        |a| Optimizer::new(&Muon, a).map(Optimizer::into_value),
    )
    .details("Takes parameters of two dimensions; biases, embeddings and the last layer take another optimiser.")
    .shapes(shapes::STEPS)
    .errors(&[
        "ValueError: a parameter has not two dimensions, or an option is outside its range",
        "ValueError: a parameter is no leaf, is given twice, or there is none",
    ])
    .example(
        "let w = eye(2).requires_grad_(true); let opt = optim::Muon([w], #{lr: 0.1}); (w * 2).sum().backward(); opt.step(); \
         w.shape",
        "[2, 2]",
    ),
    constructor(
        "Adafactor",
        "Adam's step with the squares of a matrix remembered as a row and a column.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.01), "the learning rate, relative to how large the parameter is";
            beta2_decay: kind::Scalar => DefaultValue::Float(-0.8), "the power of the step by which new squares count";
            eps: kind::Any => DefaultValue::None, "two numbers: the least square, () for the dtype's own, and the least size of a parameter; without it [(), 0.001]";
            d: kind::Scalar => DefaultValue::Float(1.0), "how large a step may be before it is shortened";
            ..DECAY;
            ..MAXIMIZE;
        },
        |a| Optimizer::new(&Adafactor, a).map(Optimizer::into_value),
    )
    .details("A matrix of n rows and m columns costs n + m numbers beside it, where Adam keeps 2nm. The host waits for the sizes of parameter and step.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::Adafactor([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
];
