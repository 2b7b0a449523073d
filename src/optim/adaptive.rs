//! Optimisers that divide by the size of past gradients, from element-wise operations.

use crate::base::Result;
use crate::device::{Kernel, MapOp};
use crate::op::core::shapes;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::{add, scale, shift, specs};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::sqrt;
use crate::op::params::{kind, param_list};
use crate::op::{OpDef, Operand};
use crate::tensor::{In, Tensor, launch};

use super::state::{Moments, filled};
use super::{
    DECAY, FOREACH, FUSED, MAXIMIZE, Operations, Optimizer, Options, PARAMS, Rate, Rule, StepWay, constructor,
};

struct RmsProp;

impl Rule for RmsProp {
    fn copies_at_once(&self, options: &Options) -> usize {
        1 + usize::from(options.copies_gradients())
    }

    fn operations(&self, options: &Options, _: StepWay, _: u64) -> Operations {
        let mut all = options.prepared(false);
        all.push("_foreach_mul_/1 _foreach_addcmul_/3");
        all.push(match options.bool("centered") {
            true => "_foreach_lerp_/2 _foreach_addcmul/4 _foreach_sqrt_/1 _foreach_add_/1",
            false => "_foreach_sqrt/2 _foreach_add_/1",
        });
        all.push(match options.float("momentum") > 0.0 {
            true => "_foreach_mul_/1 _foreach_addcdiv_/3 _foreach_add_/2",
            false => "_foreach_addcdiv_/3",
        });
        all
    }

    fn name(&self) -> &'static str {
        "RMSprop"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        options.not_negative("eps", "epsilon value")?;
        options.not_negative("momentum", "momentum value")?;
        options.not_negative("weight_decay", "weight_decay value")?;
        options.not_negative("alpha", "alpha value")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = direction(options, parameter, grad)?;
        let (alpha, momentum, lr) = (options.float("alpha"), options.float("momentum"), options.float("lr"));
        let square = state.zeros("square_avg", parameter)?;
        times(&square, alpha)?;
        update(MapOp::Addcmul, &square, [&grad, &grad], 1.0 - alpha)?;
        let spread = if options.bool("centered") {
            let mean = state.zeros("grad_avg", parameter)?;
            times(&mean, alpha)?;
            specs::Add.apply_in_place(&mean, Operand::Tensor(&grad), [1.0 - alpha, 0.0])?;
            let centred = square.copied(square.dtype(), "rmsprop")?;
            update(MapOp::Addcmul, &centred, [&mean, &mean], -1.0)?;
            centred
        } else {
            square
        };
        let divisor = shift(&sqrt(&spread)?, options.float("eps"))?;
        if momentum > 0.0 {
            let buffer = state.zeros("momentum_buffer", parameter)?;
            times(&buffer, momentum)?;
            update(MapOp::Addcdiv, &buffer, [&grad, &divisor], 1.0)?;
            specs::Add.apply_in_place(parameter, Operand::Tensor(&buffer), [-lr, 0.0])?;
        } else {
            update(MapOp::Addcdiv, parameter, [&grad, &divisor], -lr)?;
        }
        state.step += 1;
        Ok(())
    }
}

struct Adagrad;

impl Rule for Adagrad {
    fn copies_at_once(&self, _: &Options) -> usize {
        2
    }

    fn operations(&self, options: &Options, way: StepWay, _: u64) -> Operations {
        let mut all = options.prepared(false);
        all.push("_foreach_addcmul_/3 _foreach_sqrt/2 _foreach_add_/1");
        if way == StepWay::Lists {
            // Of gradients that were copied before in place.
            all.push(if options.copies_gradients() { "_foreach_mul_/1n" } else { "_foreach_mul/2n" });
        }
        all.push("_foreach_addcdiv_/3");
        all
    }

    fn name(&self) -> &'static str {
        "Adagrad"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        options.not_negative("lr_decay", "lr_decay value")?;
        options.not_negative("weight_decay", "weight_decay value")?;
        options.not_negative("initial_accumulator_value", "initial_accumulator_value value")?;
        options.not_negative("eps", "epsilon value")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let grad = direction(options, parameter, grad)?;
        let first = options.float("initial_accumulator_value");
        let sum = state.or_insert("sum", || filled(parameter, first))?;
        let rate = options.float("lr") / (1.0 + state.step as f64 * options.float("lr_decay"));
        update(MapOp::Addcmul, &sum, [&grad, &grad], 1.0)?;
        let divisor = shift(&sqrt(&sum)?, options.float("eps"))?;
        update(MapOp::Addcdiv, parameter, [&grad, &divisor], -rate)?;
        state.step += 1;
        Ok(())
    }
}

/// The gradient with its sign and weight decay.
pub(super) fn direction(options: &Options, parameter: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let grad = if options.bool("maximize") { neg(grad)? } else { grad.clone() };
    let decay = options.float("weight_decay");
    if decay == 0.0 { Ok(grad) } else { add(&grad, &scale(parameter, decay)?) }
}

pub(super) fn times(x: &Tensor, factor: f64) -> Result<()> {
    specs::Mul.apply_in_place(x, Operand::from(factor), [0.0; 2]).map(|_| ())
}

/// `x += value * a * b`, or `value * a / b`, in place.
pub(super) fn update(op: MapOp, x: &Tensor, [a, b]: [&Tensor; 2], value: f64) -> Result<()> {
    let kernel = Kernel::Map { op, params: [value, 0.0], compute: x.dtype() };
    launch(op.kernel_name(), &kernel, &[In::Tensor(x), In::Tensor(a), In::Tensor(b)], &[x])?;
    x.bump_version();
    Ok(())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "RMSprop",
        "Divides each element's step by the root of a running mean of squared gradients.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.01), "the learning rate: how long a step is";
            alpha: kind::Scalar => DefaultValue::Float(0.99), "the share that the running mean of squares keeps";
            eps: kind::Scalar => DefaultValue::Float(1e-8), "a small number added to what is divided by, which is then never 0";
            ..DECAY;
            momentum: kind::Scalar = 0, "the share of the last direction that the next step keeps";
            centered: kind::Bool = false, "whether steps are divided by the deviation, and not the mean square";
            ..MAXIMIZE;
            ..FOREACH;
        },
        |a| Optimizer::new(&RmsProp, a).map(Optimizer::into_value),
    )
    .details("`alpha` is the share that the running mean keeps; `centered` takes the variance instead.")
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::RMSprop([w], #{lr: 0.05}); w.sum().backward(); \
         opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
    constructor(
        "Adagrad",
        "Divides each element's step by the root of the sum of its squared gradients.",
        param_list! {
            ..PARAMS;
            lr: Rate => DefaultValue::Float(0.01), "the learning rate: how long a step is";
            lr_decay: kind::Scalar = 0, "how fast the learning rate shrinks with the steps";
            ..DECAY;
            initial_accumulator_value: kind::Scalar = 0, "where the sum of squared gradients begins";
            eps: kind::Scalar => DefaultValue::Float(1e-10), "a small number added to what is divided by, which is then never 0";
            ..MAXIMIZE;
            ..FUSED;
        },
        |a| Optimizer::new(&Adagrad, a).map(Optimizer::into_value),
    )
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::Adagrad([w], #{lr: 0.5}); w.sum().backward(); \
         opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
];
