//! The schedulers' rows.

use crate::base::Result;
use crate::op::def::DefaultValue;
use crate::op::params::{Maybe, kind, kinds, param_list};
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, Value};

use super::construct::{
    by_formula, make_chained, make_constant, make_cyclic, make_lambda, make_linear, make_one_cycle,
    make_plateau, make_restarts, make_sequential, over,
};
use super::formula;

kinds! {
    /// An epoch to go on from.
    Epoch(Int) => i64, Args::int,
        "ValueError: `last_epoch` is not -1, and the optimizer was in no schedule before";
}

/// What every scheduler of an optimizer takes first.
const OPTIMIZER: &[Param] = param_list! {
    optimizer: kind::Any, "the optimizer whose learning rate changes";
};
/// What most take last.
const LAST_EPOCH: &[Param] = param_list! {
    last_epoch: Epoch => DefaultValue::Int(-1), "the epoch to go on from; -1 begins anew";
};
const LAMBDA: &[Param] = param_list! {
    ..OPTIMIZER;
    lr_lambda: kind::Any, "a function of the epoch, or one for each parameter group";
    ..LAST_EPOCH;
};
const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Optimise, summary, params, run)
        .forms(&[Form::Of("optim::lr_scheduler")])
        .gradient(Gradient::NoGrad("it makes a scheduler"))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "StepLR",
        "Multiplies the learning rate by `gamma` every `step_size` epochs.",
        param_list! {
            ..OPTIMIZER;
            step_size: kind::Int, "after how many epochs the rate changes";
            gamma: kind::Scalar => DefaultValue::Float(0.1), "what the rate is multiplied by";
            ..LAST_EPOCH;
        },
        |a| over(a, "step_size", &formula::STEP),
    )
    .details("`sched.step()` after each epoch; `sched.get_last_lr()` gives the rates.")
    .errors(&["ValueError: `step_size` is not above 0"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.5}); let s = optim::lr_scheduler::StepLR(opt, 2, 0.5); s.step(); \
         s.step(); s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "MultiStepLR",
        "Multiplies the learning rate by `gamma` at each of some epochs.",
        param_list! {
            ..OPTIMIZER;
            milestones: kind::Ints, "the epochs at which the rate changes";
            gamma: kind::Scalar => DefaultValue::Float(0.1), "what the rate is multiplied by";
            ..LAST_EPOCH;
        },
        |a| by_formula(a, &formula::MULTI_STEP),
    )
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.5}); let s = optim::lr_scheduler::MultiStepLR(opt, [1, 5], 0.5); \
         s.step(); s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "ExponentialLR",
        "Multiplies the learning rate by `gamma` every epoch.",
        param_list! {
            ..OPTIMIZER;
            gamma: kind::Scalar, "what the rate is multiplied by";
            ..LAST_EPOCH;
        },
        |a| by_formula(a, &formula::EXPONENTIAL),
    )
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.5}); let s = optim::lr_scheduler::ExponentialLR(opt, 0.5); s.step(); \
         s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "ConstantLR",
        "Keeps the learning rate at `factor` of its value for `total_iters` epochs.",
        param_list! {
            ..OPTIMIZER;
            factor: kind::Scalar => DefaultValue::Float(1.0 / 3.0), "the share of the rate that is kept";
            total_iters: kind::Int = 5, "after how many epochs the rate is whole again";
            ..LAST_EPOCH;
        },
        make_constant,
    )
    .errors(&["ValueError: `factor` is not in 0 to 1"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.5}); optim::lr_scheduler::ConstantLR(opt, 0.5).get_last_lr()",
        "[0.25]",
    ),
    row(
        "LinearLR",
        "Leads the learning rate from `start_factor` of its value to `end_factor` in `total_iters` epochs.",
        param_list! {
            ..OPTIMIZER;
            start_factor: kind::Scalar => DefaultValue::Float(1.0 / 3.0), "the share of the rate in the first epoch";
            end_factor: kind::Scalar => DefaultValue::Float(1.0), "the share of the rate in the end";
            total_iters: kind::Int = 5, "how many epochs it takes";
            ..LAST_EPOCH;
        },
        make_linear,
    )
    .details("A warm-up; `SequentialLR` lets another schedule follow.")
    .errors(&["ValueError: `start_factor` is not above 0 and up to 1, or `end_factor` not in 0 to 1"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::LinearLR(opt, 0.5, 1.0, 2); \
         s.step(); s.get_last_lr()",
        "[0.75]",
    ),
    row(
        "PolynomialLR",
        "Leads the learning rate to 0 in `total_iters` epochs.",
        param_list! {
            ..OPTIMIZER;
            total_iters: kind::Int = 5, "how many epochs it takes";
            power: kind::Scalar => DefaultValue::Float(1.0), "the shape of the way down: 1 is straight";
            ..LAST_EPOCH;
        },
        |a| over(a, "total_iters", &formula::POLYNOMIAL),
    )
    .errors(&["ValueError: `total_iters` is not above 0"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::PolynomialLR(opt, 4); s.step(); \
         s.get_last_lr()",
        "[0.75]",
    ),
    row(
        "CosineAnnealingLR",
        "Leads the learning rate down half a cosine to `eta_min` in `T_max` epochs.",
        param_list! {
            ..OPTIMIZER;
            T_max: kind::Int, "how many epochs the way down takes";
            eta_min: kind::Scalar => DefaultValue::Float(0.0), "the least rate";
            ..LAST_EPOCH;
        },
        |a| over(a, "T_max", &formula::COSINE),
    )
    .errors(&["ValueError: `T_max` is not above 0"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::CosineAnnealingLR(opt, 2); \
         s.step(); s.get_last_lr()",
        "[0.5]",
    ),
    row(
        "CosineAnnealingWarmRestarts",
        "Half a cosine down in `T_0` epochs, again and again, each `T_mult` times as long as the one before.",
        param_list! {
            ..OPTIMIZER;
            T_0: kind::Int, "how many epochs the first way down takes";
            T_mult: kind::Int = 1, "how many times as long each way down is as the one before";
            eta_min: kind::Scalar => DefaultValue::Float(0.0), "the least rate";
            ..LAST_EPOCH;
        },
        make_restarts,
    )
    .errors(&["ValueError: `T_0` is not above 0"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::CosineAnnealingWarmRestarts(opt, \
         2); s.step(); s.step(); s.get_last_lr()",
        "[1.0]",
    ),
    row(
        "OneCycleLR",
        "Up to `max_lr` and down again within one training, the momentum the other way.",
        param_list! {
            ..OPTIMIZER;
            max_lr: kind::Any, "the greatest rate, or one for each parameter group";
            total_steps: Maybe<kind::Int>, "how many steps the training has";
            epochs: Maybe<kind::Int>, "how many epochs the training has, where `total_steps` is left out";
            steps_per_epoch: Maybe<kind::Int>, "how many steps an epoch has, where `total_steps` is left out";
            pct_start: kind::Scalar => DefaultValue::Float(0.3), "the share of all steps on the way up";
            anneal_strategy: kind::Str = "cos", "the shape of the ways: \"cos\" or \"linear\"";
            cycle_momentum: kind::Bool = true, "whether the momentum goes down and up meanwhile";
            base_momentum: kind::Any => DefaultValue::Float(0.85), "the least momentum, or one for each parameter group";
            max_momentum: kind::Any => DefaultValue::Float(0.95), "the greatest momentum, or one for each parameter group";
            div_factor: kind::Scalar => DefaultValue::Float(25.0), "how many times less than `max_lr` the first rate is";
            final_div_factor: kind::Scalar => DefaultValue::Float(1e4), "how many times less than the first the last rate is";
            three_phase: kind::Bool = false, "whether the way down first leads to the first rate, and then to the last";
            ..LAST_EPOCH;
        },
        make_one_cycle,
    )
    .details("`sched.step()` after each batch, `total_steps` (or `epochs * steps_per_epoch`) in all.")
    .errors(&["ValueError: neither `total_steps` nor both `epochs` and `steps_per_epoch` are given"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.1, momentum: 0.9}); optim::lr_scheduler::OneCycleLR(opt, 1.0, \
         100).get_last_lr()",
        "[0.040000000000000036]",
    ),
    row(
        "CyclicLR",
        "Up from `base_lr` to `max_lr` and down again, over and over, the momentum the other way.",
        param_list! {
            ..OPTIMIZER;
            base_lr: kind::Any, "the least rate, or one for each parameter group";
            max_lr: kind::Any, "the greatest rate, or one for each parameter group";
            step_size_up: kind::Int = 2000, "how many steps the way up takes";
            step_size_down: Maybe<kind::Int>, "how many steps the way down takes; without it as many as up";
            mode: kind::Str = "triangular", "how high each cycle is: \"triangular\", \"triangular2\" or \"exp_range\"";
            gamma: kind::Scalar => DefaultValue::Float(1.0), "what \"exp_range\" multiplies the height by every step";
            cycle_momentum: kind::Bool = true, "whether the momentum goes down and up meanwhile";
            base_momentum: kind::Any => DefaultValue::Float(0.8), "the least momentum, or one for each parameter group";
            max_momentum: kind::Any => DefaultValue::Float(0.9), "the greatest momentum, or one for each parameter group";
            ..LAST_EPOCH;
        },
        make_cyclic,
    )
    .details(
        "`sched.step()` after each batch. With the mode \"triangular2\" each cycle is half as high as the one before, \
         with \"exp_range\" the height is multiplied by `gamma` every step.",
    )
    .errors(&["ValueError: `step_size_up` or `step_size_down` is not above 0, or `mode` has another name"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0, momentum: 0.9}); let s = optim::lr_scheduler::CyclicLR(opt, 0.5, \
         1.0, 2); s.step(); s.get_last_lr()",
        "[0.75]",
    ),
    row(
        "ReduceLROnPlateau",
        "Multiplies the learning rate by `factor` where a measured value has not got better for `patience` epochs.",
        param_list! {
            ..OPTIMIZER;
            mode: kind::Str = "min", "whether the value is to become less, \"min\", or greater, \"max\"";
            factor: kind::Scalar => DefaultValue::Float(0.1), "what the rate is multiplied by";
            patience: kind::Int = 10, "how many epochs without a better value are waited for";
            threshold: kind::Scalar => DefaultValue::Float(1e-4), "how much better a value must be to count";
            threshold_mode: kind::Str = "rel", "whether `threshold` is a share of the best value, \"rel\", or a difference, \"abs\"";
            cooldown: kind::Int = 0, "how many epochs after a change are not counted";
            min_lr: kind::Any => DefaultValue::Int(0), "the least rate, or one for each parameter group";
            eps: kind::Scalar => DefaultValue::Float(1e-8), "a change of the rate that is not more is left out";
        },
        make_plateau,
    )
    .details("`sched.step(loss)` after each epoch, with a number or a tensor of one element.")
    .errors(&["ValueError: `mode` has another name, or `factor` is not below 1"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.5}); let s = optim::lr_scheduler::ReduceLROnPlateau(opt, #{factor: \
         0.5, patience: 0}); s.step(1.0); s.step(2.0); s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "LambdaLR",
        "The first learning rate times what a function gives for the epoch.",
        LAMBDA,
        |a| make_lambda(a, false),
    )
    .errors(&["ValueError: there are not as many functions as groups of parameters"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::LambdaLR(opt, |epoch| 0.5 ** epoch); \
         s.step(); s.step(); s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "MultiplicativeLR",
        "Multiplies the learning rate by what a function gives for the epoch.",
        LAMBDA,
        |a| make_lambda(a, true),
    )
    .errors(&["ValueError: there are not as many functions as groups of parameters"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::MultiplicativeLR(opt, |epoch| 0.5); \
         s.step(); s.step(); s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "SequentialLR",
        "One scheduler after the other: the next from each of the `milestones` on.",
        param_list! {
            ..OPTIMIZER;
            schedulers: kind::Any, "the schedulers, in the order of their turns";
            milestones: kind::Ints, "the epochs at which the next scheduler takes over";
            ..LAST_EPOCH;
        },
        make_sequential,
    )
    .errors(&["ValueError: there are no schedulers"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::SequentialLR(opt, \
         [optim::lr_scheduler::ConstantLR(opt, 0.5), optim::lr_scheduler::ExponentialLR(opt, 0.25)], [1]); s.step(); \
         s.step(); s.get_last_lr()",
        "[0.25]",
    ),
    row(
        "ChainedScheduler",
        "Several schedulers at once: each changes what the one before it left.",
        param_list! { schedulers: kind::Any, "the schedulers, in the order in which they change the rate"; },
        make_chained,
    )
    .errors(&["ValueError: there are no schedulers"])
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::ChainedScheduler([\
         optim::lr_scheduler::ExponentialLR(opt, 0.5), optim::lr_scheduler::ExponentialLR(opt, 0.5)]); s.step(); \
         s.get_last_lr()",
        "[0.25]",
    ),
];
