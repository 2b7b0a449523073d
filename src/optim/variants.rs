//! Optimisers beside the common ones, from element-wise operations in the order of PyTorch's steps.

use crate::base::{Error, Result, python};
use crate::device::MapOp;
use crate::op::core::shapes;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::{mul, scale, shift, specs, sub};
use crate::op::elementwise::binary::maximum;
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::clamp::clamp_;
use crate::op::elementwise::comparison::{eq, gt, lt};
use crate::op::elementwise::fused::lerp_;
use crate::op::elementwise::sign::{neg, sign};
use crate::op::elementwise::unary::{abs, sqrt};
use crate::op::params::{kind, param_list};
use crate::op::{OpDef, Operand, Param};
use crate::tensor::Tensor;

use super::adam::check_betas;
use super::adaptive::{direction, times, update};
use super::state::{Moments, filled};
use super::{
    DECAY, FOREACH, MAXIMIZE, Operations, Optimizer, Options, PARAMS, Rate, Rule, StepWay, constructor,
};

/// `x += factor * y` in place.
fn add_scaled(x: &Tensor, y: &Tensor, factor: f64) -> Result<()> {
    specs::Add.apply_in_place(x, Operand::Tensor(y), [factor, 0.0]).map(|_| ())
}

fn exponent(state: &Moments) -> i32 {
    state.step.min(i32::MAX as u64) as i32
}

struct Adadelta;

impl Rule for Adadelta {
    fn copies_at_once(&self, options: &Options) -> usize {
        2 + usize::from(options.copies_gradients())
    }

    fn operations(&self, options: &Options, _: StepWay, _: u64) -> Operations {
        let mut all = options.prepared(false);
        all.push(
            "_foreach_mul_/1 _foreach_addcmul_/3 _foreach_add/2 _foreach_sqrt_/1 _foreach_add/2 _foreach_sqrt_/1 \
             _foreach_div_/2 _foreach_mul_/2 _foreach_mul_/1 _foreach_addcmul_/3 _foreach_add_/2",
        );
        all
    }

    fn name(&self) -> &'static str {
        "Adadelta"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        let rho = options.float("rho");
        if !(0.0..=1.0).contains(&rho) {
            return Err(Error::value(format!("Invalid rho value: {}", python::float(rho))));
        }
        options.not_negative("eps", "epsilon value")?;
        options.not_negative("weight_decay", "weight_decay value")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = direction(options, parameter, grad)?;
        let (rho, eps) = (options.float("rho"), options.float("eps"));
        let (square, moved) = (state.zeros("square_avg", parameter)?, state.zeros("acc_delta", parameter)?);
        times(&square, rho)?;
        update(MapOp::Addcmul, &square, [&grad, &grad], 1.0 - rho)?;
        let root = |x: &Tensor| sqrt(&shift(x, eps)?);
        let delta = mul(&crate::op::elementwise::arithmetic::div(&root(&moved)?, &root(&square)?)?, &grad)?;
        times(&moved, rho)?;
        update(MapOp::Addcmul, &moved, [&delta, &delta], 1.0 - rho)?;
        add_scaled(parameter, &delta, -options.float("lr"))?;
        state.step += 1;
        Ok(())
    }
}

struct Adamax;

impl Rule for Adamax {
    fn copies_at_once(&self, _: &Options) -> usize {
        1
    }

    fn operations(&self, options: &Options, _: StepWay, _: u64) -> Operations {
        let mut all = options.prepared(false);
        all.push("_foreach_lerp_/2 _foreach_mul_/1");
        all.push(if options.copies_gradients() { "_foreach_abs_/1" } else { "_foreach_abs/2" });
        all.push("_foreach_add_/1 _foreach_maximum_/2 _foreach_addcdiv_/3n");
        all
    }

    fn name(&self) -> &'static str {
        "Adamax"
    }

    fn check(&self, options: &Options) -> Result<()> {
        check_moments(options)
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = direction(options, parameter, grad)?;
        let [beta1, beta2] = options.pair("betas").unwrap_or([0.9, 0.999]);
        let (mean, largest) = (state.zeros("exp_avg", parameter)?, state.zeros("exp_inf", parameter)?);
        lerp_(&mean, &grad, (1.0 - beta1).into())?;
        let next = maximum(&scale(&largest, beta2)?, &shift(&abs(&grad)?, options.float("eps"))?)?;
        largest.copy_values(&next, false)?;
        state.step += 1;
        let rate = options.float("lr") / (1.0 - beta1.powi(exponent(state)));
        update(MapOp::Addcdiv, parameter, [&mean, &largest], -rate)
    }
}

struct NAdam;

impl Rule for NAdam {
    fn copies_at_once(&self, options: &Options) -> usize {
        1 + usize::from(options.copies_gradients())
    }

    fn operations(&self, options: &Options, _: StepWay, _: u64) -> Operations {
        let mut all = options.prepared(options.bool("decoupled_weight_decay"));
        all.push(
            "_foreach_lerp_/2 _foreach_mul_/1 _foreach_addcmul_/3 _foreach_sqrt/2 _foreach_div_/1n _foreach_add_/1 \
             _foreach_addcdiv_/3n _foreach_addcdiv_/3n",
        );
        all
    }

    fn name(&self) -> &'static str {
        "NAdam"
    }

    fn check(&self, options: &Options) -> Result<()> {
        check_moments(options)?;
        options.not_negative("momentum_decay", "momentum_decay value")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = decayed(options, parameter, grad)?;
        let [beta1, beta2] = options.pair("betas").unwrap_or([0.9, 0.999]);
        // The momentum grows from half of it up to `beta1`; its product over all steps corrects the mean.
        let decay = options.float("momentum_decay");
        let momentum = |t: u64| beta1 * (1.0 - 0.5 * 0.96f64.powf(t as f64 * decay));
        let steps = state.step;
        // A state that was written without the product has had the momentum of today, as far as anyone knows.
        let before = state.number_or("mu_product", || (1..=steps).map(momentum).product())?;
        let (mean, square) = moments(state, parameter, &grad, [beta1, beta2])?;
        state.step += 1;
        let (now, next) = (momentum(state.step), momentum(state.step + 1));
        state.set_number("mu_product", before * now)?;
        let product = state.number("mu_product", 1.0)?;
        let spread = scale(&square, 1.0 / (1.0 - beta2.powi(exponent(state))))?;
        let divisor = shift(&sqrt(&spread)?, options.float("eps"))?;
        let lr = options.float("lr");
        update(MapOp::Addcdiv, parameter, [&grad, &divisor], -lr * (1.0 - now) / (1.0 - product))?;
        update(MapOp::Addcdiv, parameter, [&mean, &divisor], -lr * next / (1.0 - product * next))
    }
}

struct RAdam;

impl Rule for RAdam {
    fn copies_at_once(&self, _: &Options) -> usize {
        1
    }

    fn operations(&self, options: &Options, way: StepWay, step: u64) -> Operations {
        let mut all = options.prepared(options.bool("decoupled_weight_decay"));
        all.push("_foreach_lerp_/2 _foreach_mul_/1 _foreach_addcmul_/3");
        all.push(match way {
            StepWay::OneByOne if step <= 5 => "div/2 mul/2 add_/2",
            StepWay::OneByOne => "div/2 mul/2 sqrt/2 add_/1 reciprocal/2 mul/2 mul/3 mul/2 add_/2",
            _ => {
                "_foreach_sqrt/2 _foreach_add_/1 _foreach_div_/1n _foreach_reciprocal_/1 _foreach_add_/1n \
                 _foreach_addcmul_/3"
            }
        });
        all
    }

    fn name(&self) -> &'static str {
        "RAdam"
    }

    fn check(&self, options: &Options) -> Result<()> {
        check_moments(options)
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = decayed(options, parameter, grad)?;
        let [beta1, beta2] = options.pair("betas").unwrap_or([0.9, 0.999]);
        let (mean, square) = moments(state, parameter, &grad, [beta1, beta2])?;
        state.step += 1;
        let t = exponent(state);
        let (first, second) = (1.0 - beta1.powi(t), 1.0 - beta2.powi(t));
        let rate = options.float("lr") / first;
        // How many samples the mean square stands for: while they are few, its variance is not to be trusted.
        let most = 2.0 / (1.0 - beta2) - 1.0;
        let length = most - 2.0 * f64::from(t) * beta2.powi(t) / second;
        if length <= 5.0 {
            return add_scaled(parameter, &mean, -rate);
        }
        let above = |n: f64| (n - 4.0) * (n - 2.0);
        let rectified = (above(length) * most / (above(most) * length)).sqrt();
        let divisor = shift(&sqrt(&square)?, options.float("eps"))?;
        update(MapOp::Addcdiv, parameter, [&mean, &divisor], -rate * rectified * second.sqrt())
    }
}

struct Asgd;

impl Rule for Asgd {
    fn copies_at_once(&self, options: &Options) -> usize {
        1 + usize::from(options.bool("maximize"))
    }

    fn operations(&self, options: &Options, way: StepWay, _: u64) -> Operations {
        if way == StepWay::OneByOne {
            let mut all = options.prepared(false);
            all.push("mul_/1 add_/2 copy_/2:2");
            return all;
        }
        let mut all = Operations::new();
        if options.bool("maximize") {
            all.push("_foreach_neg/2");
        }
        if options.float("weight_decay") != 0.0 {
            all.push(if options.bool("maximize") { "_foreach_add_/2" } else { "_foreach_add/3" });
            all.push("_foreach_add_/2");
        } else {
            all.push("_foreach_add/3");
        }
        all.push("_foreach_addcmul_/3 _foreach_sub/3 _foreach_addcmul_/3");
        all
    }

    fn name(&self) -> &'static str {
        "ASGD"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        options.not_negative("lambd", "lambd value")?;
        options.not_negative("alpha", "alpha value")?;
        options.not_negative("weight_decay", "weight_decay value")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = direction(options, parameter, grad)?;
        let (lr, decay) = (options.float("lr"), options.float("lambd"));
        let average = state.zeros("ax", parameter)?;
        let (rate, share) = (state.number("eta", lr)?, state.number("mu", 1.0)?);
        state.step += 1;
        times(parameter, 1.0 - decay * rate)?;
        add_scaled(parameter, &grad, -rate)?;
        if share == 1.0 {
            average.copy_values(parameter, false)?;
        } else {
            add_scaled(&average, &sub(parameter, &average)?, share)?;
        }
        let step = state.step as f64;
        state.set_number("eta", lr / (1.0 + decay * lr * step).powf(options.float("alpha")))?;
        state.set_number("mu", 1.0 / (step - options.float("t0")).max(1.0))
    }
}

struct Rprop;

impl Rule for Rprop {
    fn copies_at_once(&self, _: &Options) -> usize {
        1
    }

    fn operations(&self, options: &Options, way: StepWay, _: u64) -> Operations {
        let turned = options.bool("maximize");
        let mut all = Operations::new();
        if way == StepWay::OneByOne {
            all.extend(turned.then_some("neg/2"));
            all.push(
                "mul/3 sign/2 gt/2 masked_fill_/2 lt/2 masked_fill_/2 eq/2 masked_fill_/2 mul_/2 clamp_/1 clone/2 eq/2 \
                 masked_fill_/2 sign/2 addcmul_/3 copy_/2:2",
            );
            return all;
        }
        all.push("_foreach_mul/3");
        all.extend(turned.then_some("_foreach_neg_/1"));
        all.push("_foreach_copy_/2:2");
        all.extend(turned.then_some("_foreach_neg_/1"));
        all.push(
            "_foreach_sign_/1 *gt/2 *masked_fill_/2 *lt/2 *masked_fill_/2 *eq/2 *masked_fill_/2 _foreach_mul_/2 *clamp_/1 \
             *eq/2 *where/3 *copy_/2:2 *sign/2 _foreach_addcmul_/3",
        );
        all
    }

    fn name(&self) -> &'static str {
        "Rprop"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        let Some([less, more]) = options.pair("etas") else {
            return Err(Error::type_error("etas must be an array of two numbers such as [0.5, 1.2]"));
        };
        if options.pair("step_sizes").is_none() {
            let text = "step_sizes must be an array of two numbers such as [1e-6, 50]";
            return Err(Error::type_error(text));
        }
        if !(0.0 < less && less < 1.0 && 1.0 < more) {
            let text = format!("Invalid eta values: {}, {}", python::float(less), python::float(more));
            return Err(Error::value(text).with_hint("the first shrinks steps, the second lets them grow"));
        }
        Ok(())
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = if options.bool("maximize") { neg(grad)? } else { grad.clone() };
        let [less, more] = options.pair("etas").unwrap_or([0.5, 1.2]);
        let [shortest, longest] = options.pair("step_sizes").unwrap_or([1e-6, 50.0]);
        let first = options.float("lr");
        let (before, sizes) =
            (state.zeros("prev", parameter)?, state.or_insert("step_size", || filled(parameter, first))?);
        // Steps grow while the sign stays; where it changes they shrink, and the gradient counts as zero.
        let agreed = sign(&mul(&grad, &before)?)?;
        let turned = lt(&agreed, 0.0)?;
        let factor = where_(&gt(&agreed, 0.0)?, Operand::from(more), Operand::from(less))?;
        let factor = masked_fill(&factor, &eq(&agreed, 0.0)?, 1.0.into())?;
        specs::Mul.apply_in_place(&sizes, Operand::Tensor(&factor), [0.0; 2])?;
        clamp_(&sizes, Some(shortest.into()), Some(longest.into()))?;
        let grad = masked_fill(&grad, &turned, 0.0.into())?;
        update(MapOp::Addcmul, parameter, [&sign(&grad)?, &sizes], -1.0)?;
        before.copy_values(&grad, false)?;
        state.step += 1;
        Ok(())
    }
}

/// What the optimisers with two running means ask of their options.
fn check_moments(options: &Options) -> Result<()> {
    options.not_negative("lr", "learning rate")?;
    options.not_negative("eps", "epsilon value")?;
    check_betas(options)?;
    options.not_negative("weight_decay", "weight_decay value")
}

/// The gradient with its sign, and weight decay in it or already in the parameter.
fn decayed(options: &Options, parameter: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let (decay, lr) = (options.float("weight_decay"), options.float("lr"));
    if decay == 0.0 || !options.bool("decoupled_weight_decay") {
        return direction(options, parameter, grad);
    }
    times(parameter, 1.0 - lr * decay)?;
    if options.bool("maximize") { neg(grad) } else { Ok(grad.clone()) }
}

/// The running means of the gradient and of its square.
fn moments(
    state: &mut Moments,
    parameter: &Tensor,
    grad: &Tensor,
    [beta1, beta2]: [f64; 2],
) -> Result<(Tensor, Tensor)> {
    let (mean, square) = (state.zeros("exp_avg", parameter)?, state.zeros("exp_avg_sq", parameter)?);
    lerp_(&mean, grad, (1.0 - beta1).into())?;
    times(&square, beta2)?;
    update(MapOp::Addcmul, &square, [grad, grad], 1.0 - beta2)?;
    Ok((mean, square))
}

/// Those of Adam's variants.
const SHARED: &[Param] = param_list! {
    betas: kind::Any => DefaultValue::Floats(&[0.9, 0.999]), "the shares that the running means of the gradient and of its size keep";
    eps: kind::Scalar => DefaultValue::Float(1e-8), "a small number added to what is divided by, which is then never 0";
    ..DECAY;
};
const DECOUPLED: &[Param] = param_list! {
    decoupled_weight_decay: kind::Bool = false, "whether the decay makes the parameter itself smaller";
};

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Adadelta",
        "Steps as large as the last ones were, over the size of the gradients.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(1.0), "the learning rate: how long a step is";
            rho: kind::Scalar => DefaultValue::Float(0.9), "the share that both running means keep at each step";
            eps: kind::Scalar => DefaultValue::Float(1e-6), "a small number added to what is divided by, which is then never 0";
            ..DECAY;
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&Adadelta, a).map(Optimizer::into_value),
    )
    .details("`rho` is the share that both running means keep at each step.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::Adadelta([w], #{lr: 100}); w.sum().backward(); opt.step(); w",
        "tensor([0.6838, 0.6838], requires_grad=True)",
    ),
    constructor(
        "Adamax",
        "Adam with the largest gradient, fading, instead of the mean square.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.002), "the learning rate: how long a step is";
            ..SHARED;
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&Adamax, a).map(Optimizer::into_value),
    )
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::Adamax([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
    constructor(
        "NAdam",
        "Adam with Nesterov's momentum.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.002), "the learning rate: how long a step is";
            ..SHARED;
            momentum_decay: kind::Scalar => DefaultValue::Float(0.004), "how fast the momentum comes to its full size";
            ..DECOUPLED;
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&NAdam, a).map(Optimizer::into_value),
    )
    .details("`decoupled_weight_decay` lets the decay act on the parameter itself, as in AdamW.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::NAdam([w], #{lr: 0.5}); w.sum().backward(); opt.step(); \
         w.requires_grad",
        "true",
    ),
    constructor(
        "RAdam",
        "Adam that begins without dividing, until the mean square is to be trusted.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.001), "the learning rate: how long a step is";
            ..SHARED;
            ..DECOUPLED;
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&RAdam, a).map(Optimizer::into_value),
    )
    .details("`decoupled_weight_decay` lets the decay act on the parameter itself, as in AdamW.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::RAdam([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
    constructor(
        "ASGD",
        "Steps that become smaller, and from step `t0` on the mean of the parameters, `ax` in the state.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.01), "the learning rate: how long a step is";
            lambd: kind::Scalar => DefaultValue::Float(1e-4), "how fast the parameters decay";
            alpha: kind::Scalar => DefaultValue::Float(0.75), "how fast the steps shrink: a power";
            t0: kind::Scalar => DefaultValue::Float(1e6), "the step from which on the mean is taken";
            ..DECAY;
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&Asgd, a).map(Optimizer::into_value),
    )
    .details("`lambd` lets the parameters decay, `alpha` says how fast the steps shrink.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::ASGD([w], #{lr: 0.5, lambd: 0}); w.sum().backward(); \
         opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
    constructor(
        "Rprop",
        "Steps that grow while a gradient keeps its sign, and shrink where it changes.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.01), "how long the first step is";
            etas: kind::Any => DefaultValue::Floats(&[0.5, 1.2]), "what steps are multiplied by to shrink, and to grow";
            step_sizes: kind::Any => DefaultValue::Floats(&[1e-6, 50.0]), "the least and the greatest length of a step";
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&Rprop, a).map(Optimizer::into_value),
    )
    .details("`etas` are the factors of both, `step_sizes` the bounds. For whole batches: their noise changes signs.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::Rprop([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
];
