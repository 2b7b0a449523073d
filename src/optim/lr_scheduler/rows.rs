//! The schedulers' constructors: their options, checked in PyTorch's words.

use crate::base::{Error, Result, python};
use crate::op::def::DefaultValue;
use crate::op::params::{Maybe, kind, param_list};
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, Value};

use super::formula::{self, Formula, set_momentum};
use super::{Function, Scheduler, SchedulerKind, plateau};
use crate::optim::{Optimizer, Options};

/// What every scheduler of an optimizer takes first.
const OPTIMIZER: &[Param] = param_list! {
    optimizer: kind::Any, "the optimizer whose learning rate changes";
};
/// What most take last.
const LAST_EPOCH: &[Param] = param_list! {
    last_epoch: kind::Int = -1, "the epoch to go on from; -1 begins anew";
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

/// The arguments of a constructor: its optimizer, and the options under their names.
struct SchedulerArgs<'a> {
    args: &'a Args<'a>,
    optimizer: Optimizer,
    options: Options,
}

impl<'a> SchedulerArgs<'a> {
    fn of(args: &'a Args) -> Result<SchedulerArgs<'a>> {
        let mut options = Options::of(args);
        let given = options.take("optimizer");
        let found = match &given {
            Value::Object(o) => o.get::<Optimizer>().cloned(),
            _ => None,
        };
        let optimizer = found.ok_or_else(|| {
            let name = args.def.name;
            Error::type_error(format!("{} is not an Optimizer", given.describe()))
                .with_hint(format!("`optim::lr_scheduler::{name}(opt, …)` takes the optimizer first"))
        })?;
        Ok(SchedulerArgs { args, optimizer, options })
    }

    fn last_epoch(&self) -> i64 {
        self.options.int("last_epoch").unwrap_or(-1)
    }

    /// A whole number above 0, or PyTorch's error for another.
    fn positive(&self, name: &str) -> Result<i64> {
        match self.options.int(name).unwrap_or(0) {
            n if n > 0 => Ok(n),
            n => Err(Error::value(format!("Expected positive integer {name}, but got {n}"))),
        }
    }

    /// One number for each group, from one number or an array of them.
    fn per_group(&self, name: &str) -> Result<Vec<f64>> {
        let groups = self.optimizer.group_count();
        let number = |v: &Value| match v {
            Value::Scalar(s) => Ok(s.as_f64()),
            other => Err(self.args.wrong_for(name, other)),
        };
        match self.options.get(name).unwrap_or(&Value::None) {
            Value::List(items) if items.len() == groups => items.iter().map(number).collect(),
            Value::List(items) => Err(Error::value(format!(
                "{name} must have the same length as optimizer.param_groups. {name} has {} values, param_groups has \
                 {groups}.",
                items.len()
            ))),
            one => Ok(vec![number(one)?; groups]),
        }
    }

    /// Fails where the momentum is to change and the optimizer has none; else whether it is to.
    fn cycles(&self) -> Result<bool> {
        let (cycles, names) = (self.options.bool("cycle_momentum"), self.optimizer.option_names());
        if cycles && !names.contains(&"momentum") && !names.contains(&"betas") {
            let text = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled";
            return Err(Error::value(text).with_hint("#{cycle_momentum: false} leaves the momentum out"));
        }
        Ok(cycles)
    }

    fn by(self, formula: &'static Formula) -> Result<Value> {
        self.scheduler(SchedulerKind::Formula(formula))
    }

    fn scheduler(self, kind: SchedulerKind) -> Result<Value> {
        let last_epoch = self.last_epoch();
        Ok(Scheduler::new(kind, self.optimizer, self.options, last_epoch).into_value())
    }
}

fn by_formula(args: &Args, formula: &'static Formula) -> Result<Value> {
    SchedulerArgs::of(args)?.by(formula)
}

/// A formula over a whole number above 0.
fn over(args: &Args, name: &str, formula: &'static Formula) -> Result<Value> {
    let a = SchedulerArgs::of(args)?;
    a.positive(name)?;
    a.by(formula)
}

fn make_constant(args: &Args) -> Result<Value> {
    let a = SchedulerArgs::of(args)?;
    if !(0.0..=1.0).contains(&a.options.float("factor")) {
        return Err(Error::value("Constant multiplicative factor expected to be between 0 and 1."));
    }
    a.by(&formula::CONSTANT)
}

fn make_linear(args: &Args) -> Result<Value> {
    let a = SchedulerArgs::of(args)?;
    let (start, end) = (a.options.float("start_factor"), a.options.float("end_factor"));
    if start.is_nan() || start <= 0.0 || start > 1.0 {
        let text = "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.";
        return Err(Error::value(text));
    }
    if !(0.0..=1.0).contains(&end) {
        return Err(Error::value("Ending multiplicative factor expected to be between 0 and 1."));
    }
    a.by(&formula::LINEAR)
}

fn make_restarts(args: &Args) -> Result<Value> {
    let mut a = SchedulerArgs::of(args)?;
    let first = a.positive("T_0")?;
    let factor = a.options.int("T_mult").unwrap_or(1);
    if factor < 1 {
        return Err(Error::value(format!("Expected integer T_mult >= 1, but got {factor}")));
    }
    a.options.note("T_cur", Value::Scalar(0i64.into()));
    a.options.note("T_i", Value::Scalar(first.into()));
    a.by(&formula::WARM_RESTARTS)
}

fn total_steps(a: &SchedulerArgs) -> Result<i64> {
    if a.options.int("total_steps").is_some() {
        return a.positive("total_steps");
    }
    if a.options.int("epochs").is_none() || a.options.int("steps_per_epoch").is_none() {
        let text = "You must define either total_steps OR (epochs AND steps_per_epoch)";
        return Err(Error::value(text)
            .with_hint("the scheduler steps once per batch: #{epochs: 10, steps_per_epoch: loader.len()}"));
    }
    Ok(a.positive("epochs")?.saturating_mul(a.positive("steps_per_epoch")?))
}

fn make_one_cycle(args: &Args) -> Result<Value> {
    let mut a = SchedulerArgs::of(args)?;
    let total = total_steps(&a)?;
    if let Some(Value::Scalar(share)) = a.options.get("pct_start")
        && !(0.0..=1.0).contains(&share.as_f64())
    {
        let given = python::scalar(*share);
        return Err(Error::value(format!("Expected float between 0 and 1 pct_start, but got {given}")));
    }
    let strategy = a.options.str("anneal_strategy");
    if !matches!(strategy, "cos" | "linear") {
        let text = format!("anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}");
        return Err(Error::value(text));
    }
    let (highest, low, high) =
        (a.per_group("max_lr")?, a.per_group("base_momentum")?, a.per_group("max_momentum")?);
    let (division, last_division) = (a.options.float("div_factor"), a.options.float("final_div_factor"));
    let cycles = a.cycles()?;
    if a.last_epoch() == -1 {
        for (group, ((&top, &low), &high)) in highest.iter().zip(&low).zip(&high).enumerate() {
            let note = |name, value: f64| a.optimizer.note(group, name, Value::Scalar(value.into()));
            note("initial_lr", top / division);
            note("max_lr", top);
            note("min_lr", top / division / last_division);
            if cycles {
                set_momentum(&a.optimizer, group, high);
                note("max_momentum", high);
                note("base_momentum", low);
            }
        }
    }
    a.options.note("total_steps", Value::Scalar(total.into()));
    a.by(&formula::ONE_CYCLE)
}

fn make_cyclic(args: &Args) -> Result<Value> {
    let mut a = SchedulerArgs::of(args)?;
    let (low, high) = (a.per_group("base_lr")?, a.per_group("max_lr")?);
    let up = a.options.float("step_size_up");
    let down = a.options.int("step_size_down").map_or(up, |n| n as f64);
    if up <= 0.0 || down <= 0.0 {
        let text = format!("step_size_up and step_size_down must be positive, but are {up} and {down}");
        return Err(Error::value(text));
    }
    if !matches!(a.options.str("mode"), "triangular" | "triangular2" | "exp_range") {
        return Err(Error::value("mode is invalid and scale_fn is None")
            .with_hint("modes are triangular, triangular2 and exp_range"));
    }
    let cycles = a.cycles()?;
    let (least, most) = (a.per_group("base_momentum")?, a.per_group("max_momentum")?);
    for (group, (&bottom, &top)) in low.iter().zip(&high).enumerate() {
        let note = |name, value: f64| a.optimizer.note(group, name, Value::Scalar(value.into()));
        note("max_lr", top);
        if a.last_epoch() == -1 {
            note("lr", bottom);
            note("initial_lr", bottom);
            if let (true, Some(&least), Some(&most)) = (cycles, least.get(group), most.get(group)) {
                set_momentum(&a.optimizer, group, most);
                note("max_momentum", most);
                note("base_momentum", least);
            }
        }
    }
    a.options.note("total_size", Value::Scalar((up + down).into()));
    a.options.note("step_ratio", Value::Scalar((up / (up + down)).into()));
    a.by(&formula::CYCLIC)
}

fn make_plateau(args: &Args) -> Result<Value> {
    let SchedulerArgs { optimizer, mut options, .. } = SchedulerArgs::of(args)?;
    plateau::prepare(&mut options, optimizer.group_count())?;
    Ok(Scheduler::new(SchedulerKind::Plateau, optimizer, options, 0).into_value())
}

/// A function for all groups, or one for each.
fn make_lambda(args: &Args, running: bool) -> Result<Value> {
    let mut a = SchedulerArgs::of(args)?;
    let (given, groups) = (a.options.take("lr_lambda"), a.optimizer.group_count());
    let one = |v: &Value| match v {
        Value::Object(o) => o.get::<Function>().cloned(),
        _ => None,
    };
    let functions = match &given {
        Value::List(items) if items.len() != groups => {
            return Err(Error::value(format!("Expected {groups} lr_lambdas, but got {}", items.len())));
        }
        Value::List(items) => items.iter().map(one).collect::<Option<Vec<_>>>(),
        single => one(single).map(|f| vec![f]),
    };
    let functions = functions.ok_or_else(|| {
        Error::type_error(format!("lr_lambda should be a function, but got {}", given.describe()))
            .with_hint("`|epoch| 0.95 ** epoch` is one")
    })?;
    a.scheduler(SchedulerKind::Lambda { functions, running })
}

/// Schedulers of one optimizer, none of which wants a value; taken out of the options.
fn parts(a: &Args, options: &mut Options, opt: Option<&Optimizer>) -> Result<Vec<Scheduler>> {
    let name = a.def.name;
    let given = options.take("schedulers");
    let Value::List(items) = &given else { return Err(a.wrong_for("schedulers", &given)) };
    let mut all: Vec<Scheduler> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let part = Scheduler::from_value(item).ok_or_else(|| {
            let text = format!("{name} at index {at} should be a scheduler, not {}", item.describe());
            Error::type_error(text)
        })?;
        if part.name() == "ReduceLROnPlateau" {
            return Err(Error::value(format!(
                "{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be \
                 specified when calling `step`, but got one at index {at} in the given schedulers sequence."
            )));
        }
        let own = opt.or(all.first().map(Scheduler::optimizer)).unwrap_or(part.optimizer());
        if !own.is(part.optimizer()) {
            return Err(Error::value(format!(
                "{name} expects all schedulers to belong to the same optimizer, but got scheduler {} at index {at} \
                 of another one.",
                part.name()
            )));
        }
        all.push(part.clone());
    }
    Ok(all)
}

fn make_sequential(args: &Args) -> Result<Value> {
    let mut a = SchedulerArgs::of(args)?;
    let parts = parts(args, &mut a.options, Some(&a.optimizer))?;
    let milestones = a.options.ints("milestones");
    if parts.is_empty() {
        return Err(Error::value("SequentialLR expects at least one scheduler, but got no scheduler."));
    }
    if milestones.len() + 1 != parts.len() {
        return Err(Error::value(format!(
            "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone \
             points, but got number of schedulers {} and the number of milestones to be equal to {}",
            parts.len(),
            milestones.len()
        )));
    }
    a.scheduler(SchedulerKind::Sequential { parts, milestones })
}

fn make_chained(args: &Args) -> Result<Value> {
    let mut options = Options::of(args);
    let parts = parts(args, &mut options, None)?;
    let Some(opt) = parts.first().map(|p| p.optimizer().clone()) else {
        let text = "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.";
        return Err(Error::value(text));
    };
    Ok(Scheduler::new(SchedulerKind::Chained(parts), opt, options, 0).into_value())
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
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::ChainedScheduler([\
         optim::lr_scheduler::ExponentialLR(opt, 0.5), optim::lr_scheduler::ExponentialLR(opt, 0.5)]); s.step(); \
         s.get_last_lr()",
        "[0.25]",
    ),
];
