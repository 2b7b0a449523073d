//! The schedulers' constructors: their options, checked in PyTorch's words.

use crate::base::{Error, Result, python};
use crate::op::def::DefaultValue;
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, ParamKind, Value};

use super::formula::{self, Formula, set_momentum};
use super::{Function, Scheduler, SchedulerKind, plateau};
use crate::optim::{Optimizer, Options, number};

const OPTIMIZER: Param = Param::required("optimizer", ParamKind::Any);
const LAST_EPOCH: Param = Param::optional("last_epoch", ParamKind::Int, DefaultValue::Int(-1));
const GAMMA: Param = number("gamma", DefaultValue::Float(0.1));

const fn int(name: &'static str, default: i64) -> Param {
    Param::optional(name, ParamKind::Int, DefaultValue::Int(default))
}

const fn needed(name: &'static str) -> Param {
    Param::required(name, ParamKind::Int)
}

const fn flag(name: &'static str, default: bool) -> Param {
    Param::optional(name, ParamKind::Bool, DefaultValue::Bool(default))
}

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

fn optimizer(a: &Args) -> Result<Optimizer> {
    let found = match a.get(0) {
        Value::Object(o) => o.get::<Optimizer>().cloned(),
        _ => None,
    };
    found.ok_or_else(|| {
        Error::type_error(format!("{} is not an Optimizer", a.get(0).describe()))
            .with_hint(format!("`optim::lr_scheduler::{}(opt, …)` takes the optimizer first", a.def.name))
    })
}

fn last_epoch(a: &Args) -> i64 {
    let at = a.def.params.iter().position(|p| p.name == "last_epoch");
    at.and_then(|i| a.optional_int(i)).unwrap_or(-1)
}

fn by_formula(a: &Args, formula: &'static Formula) -> Result<Value> {
    made(a, formula, Options::of(a))
}

fn made(a: &Args, formula: &'static Formula, options: Options) -> Result<Value> {
    Ok(Scheduler::new(SchedulerKind::Formula(formula), optimizer(a)?, options, last_epoch(a)).into_value())
}

/// A whole number above 0, or PyTorch's error for another.
fn positive(a: &Args, i: usize) -> Result<()> {
    let (name, n) = (a.def.params.get(i).map_or("", |p| p.name), a.int(i)?);
    if n > 0 {
        return Ok(());
    }
    Err(Error::value(format!("Expected positive integer {name}, but got {n}")))
}

fn make_constant(a: &Args) -> Result<Value> {
    if !(0.0..=1.0).contains(&a.float(1)?) {
        return Err(Error::value("Constant multiplicative factor expected to be between 0 and 1."));
    }
    by_formula(a, &formula::CONSTANT)
}

fn make_linear(a: &Args) -> Result<Value> {
    let (start, end) = (a.float(1)?, a.float(2)?);
    if start.is_nan() || start <= 0.0 || start > 1.0 {
        let text = "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.";
        return Err(Error::value(text));
    }
    if !(0.0..=1.0).contains(&end) {
        return Err(Error::value("Ending multiplicative factor expected to be between 0 and 1."));
    }
    by_formula(a, &formula::LINEAR)
}

fn make_restarts(a: &Args) -> Result<Value> {
    positive(a, 1)?;
    if a.int(2)? < 1 {
        return Err(Error::value(format!("Expected integer T_mult >= 1, but got {}", a.int(2)?)));
    }
    let mut options = Options::of(a);
    options.note("T_cur", Value::Scalar(0i64.into()));
    options.note("T_i", a.get(1).clone());
    made(a, &formula::WARM_RESTARTS, options)
}

/// One number for each group, from one number or an array of them.
fn per_group(a: &Args, i: usize, groups: usize) -> Result<Vec<f64>> {
    let name = a.def.params.get(i).map_or("", |p| p.name);
    match a.get(i) {
        Value::Scalar(s) => Ok(vec![s.as_f64(); groups]),
        Value::List(items) if items.len() == groups => items
            .iter()
            .map(|v| match v {
                Value::Scalar(s) => Ok(s.as_f64()),
                other => Err(a.wrong(i, other)),
            })
            .collect(),
        Value::List(items) => Err(Error::value(format!(
            "{name} must have the same length as optimizer.param_groups. {name} has {} values, param_groups has \
             {groups}.",
            items.len()
        ))),
        other => Err(a.wrong(i, other)),
    }
}

fn total_steps(a: &Args) -> Result<i64> {
    if !a.is_none(2) {
        positive(a, 2)?;
        return a.int(2);
    }
    if a.is_none(3) || a.is_none(4) {
        let text = "You must define either total_steps OR (epochs AND steps_per_epoch)";
        return Err(Error::value(text)
            .with_hint("the scheduler steps once per batch: #{epochs: 10, steps_per_epoch: loader.len()}"));
    }
    positive(a, 3)?;
    positive(a, 4)?;
    Ok(a.int(3)?.saturating_mul(a.int(4)?))
}

fn make_one_cycle(a: &Args) -> Result<Value> {
    let (opt, total) = (optimizer(a)?, total_steps(a)?);
    if !(0.0..=1.0).contains(&a.float(5)?) {
        let given = python::scalar(a.scalar(5)?);
        return Err(Error::value(format!("Expected float between 0 and 1 pct_start, but got {given}")));
    }
    if !matches!(a.str(6)?, "cos" | "linear") {
        let text = format!("anneal_strategy must be one of 'cos' or 'linear', instead got {}", a.str(6)?);
        return Err(Error::value(text));
    }
    let groups = opt.group_count();
    let (highest, cycles) = (per_group(a, 1, groups)?, a.bool(7)?);
    let (low, high) = (per_group(a, 8, groups)?, per_group(a, 9, groups)?);
    let (division, last_division) = (a.float(10)?, a.float(11)?);
    let has = |name: &str| opt.option_names().contains(&name);
    if cycles && !has("momentum") && !has("betas") {
        let text = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled";
        return Err(Error::value(text).with_hint("#{cycle_momentum: false} leaves the momentum out"));
    }
    if last_epoch(a) == -1 {
        for (group, ((&top, &low), &high)) in highest.iter().zip(&low).zip(&high).enumerate() {
            let note = |name, value: f64| opt.note(group, name, Value::Scalar(value.into()));
            note("initial_lr", top / division);
            note("max_lr", top);
            note("min_lr", top / division / last_division);
            if cycles {
                set_momentum(&opt, group, high);
                note("max_momentum", high);
                note("base_momentum", low);
            }
        }
    }
    let mut options = Options::of(a);
    options.note("total_steps", Value::Scalar(total.into()));
    made(a, &formula::ONE_CYCLE, options)
}

fn make_cyclic(a: &Args) -> Result<Value> {
    let opt = optimizer(a)?;
    let groups = opt.group_count();
    let (low, high) = (per_group(a, 1, groups)?, per_group(a, 2, groups)?);
    let up = a.float(3)?;
    let down = a.optional_float(4).unwrap_or(up);
    if up <= 0.0 || down <= 0.0 {
        let text = format!("step_size_up and step_size_down must be positive, but are {up} and {down}");
        return Err(Error::value(text));
    }
    if !matches!(a.str(5)?, "triangular" | "triangular2" | "exp_range") {
        return Err(Error::value("mode is invalid and scale_fn is None")
            .with_hint("modes are triangular, triangular2 and exp_range"));
    }
    let cycles = a.bool(7)?;
    let has = |name: &str| opt.option_names().contains(&name);
    if cycles && !has("momentum") && !has("betas") {
        let text = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled";
        return Err(Error::value(text).with_hint("#{cycle_momentum: false} leaves the momentum out"));
    }
    let (least, most) = (per_group(a, 8, groups)?, per_group(a, 9, groups)?);
    for (group, (&bottom, &top)) in low.iter().zip(&high).enumerate() {
        let note = |name, value: f64| opt.note(group, name, Value::Scalar(value.into()));
        note("max_lr", top);
        if last_epoch(a) == -1 {
            note("lr", bottom);
            note("initial_lr", bottom);
            if let (true, Some(&least), Some(&most)) = (cycles, least.get(group), most.get(group)) {
                set_momentum(&opt, group, most);
                note("max_momentum", most);
                note("base_momentum", least);
            }
        }
    }
    let mut options = Options::of(a);
    options.note("total_size", Value::Scalar((up + down).into()));
    options.note("step_ratio", Value::Scalar((up / (up + down)).into()));
    made(a, &formula::CYCLIC, options)
}

fn make_plateau(a: &Args) -> Result<Value> {
    let opt = optimizer(a)?;
    let mut options = Options::of(a);
    plateau::prepare(&mut options, opt.group_count())?;
    Ok(Scheduler::new(SchedulerKind::Plateau, opt, options, 0).into_value())
}

/// A function for all groups, or one for each.
fn make_lambda(a: &Args, running: bool) -> Result<Value> {
    let opt = optimizer(a)?;
    let one = |v: &Value| match v {
        Value::Object(o) => o.get::<Function>().cloned(),
        _ => None,
    };
    let functions = match a.get(1) {
        Value::List(items) if items.len() != opt.group_count() => {
            let (groups, given) = (opt.group_count(), items.len());
            return Err(Error::value(format!("Expected {groups} lr_lambdas, but got {given}")));
        }
        Value::List(items) => items.iter().map(one).collect::<Option<Vec<_>>>(),
        single => one(single).map(|f| vec![f]),
    };
    let functions = functions.ok_or_else(|| {
        Error::type_error(format!("lr_lambda should be a function, but got {}", a.get(1).describe()))
            .with_hint("`|epoch| 0.95 ** epoch` is one")
    })?;
    let options = Options::of(a).without("lr_lambda");
    Ok(Scheduler::new(SchedulerKind::Lambda { functions, running }, opt, options, last_epoch(a)).into_value())
}

/// Schedulers of one optimizer, none of which wants a value.
fn parts(a: &Args, i: usize, opt: Option<&Optimizer>) -> Result<Vec<Scheduler>> {
    let name = a.def.name;
    let Value::List(items) = a.get(i) else { return Err(a.wrong(i, a.get(i))) };
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

fn make_sequential(a: &Args) -> Result<Value> {
    let opt = optimizer(a)?;
    let (parts, milestones) = (parts(a, 1, Some(&opt))?, a.ints(2)?);
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
    let options = Options::of(a).without("schedulers");
    Ok(Scheduler::new(SchedulerKind::Sequential { parts, milestones }, opt, options, last_epoch(a))
        .into_value())
}

fn make_chained(a: &Args) -> Result<Value> {
    let parts = parts(a, 0, None)?;
    let Some(opt) = parts.first().map(|p| p.optimizer().clone()) else {
        let text = "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.";
        return Err(Error::value(text));
    };
    Ok(Scheduler::new(SchedulerKind::Chained(parts), opt, Options::of(a), 0).into_value())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "StepLR",
        "Multiplies the learning rate by `gamma` every `step_size` epochs.",
        &[OPTIMIZER, needed("step_size"), GAMMA, LAST_EPOCH],
        |a| {
            positive(a, 1)?;
            by_formula(a, &formula::STEP)
        },
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
        &[OPTIMIZER, Param::required("milestones", ParamKind::Ints), GAMMA, LAST_EPOCH],
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
        &[OPTIMIZER, Param::required("gamma", ParamKind::Scalar), LAST_EPOCH],
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
        &[OPTIMIZER, number("factor", DefaultValue::Float(1.0 / 3.0)), int("total_iters", 5), LAST_EPOCH],
        make_constant,
    )
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 0.5}); optim::lr_scheduler::ConstantLR(opt, 0.5).get_last_lr()",
        "[0.25]",
    ),
    row(
        "LinearLR",
        "Leads the learning rate from `start_factor` of its value to `end_factor` in `total_iters` epochs.",
        &[
            OPTIMIZER,
            number("start_factor", DefaultValue::Float(1.0 / 3.0)),
            number("end_factor", DefaultValue::Float(1.0)),
            int("total_iters", 5),
            LAST_EPOCH,
        ],
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
        &[OPTIMIZER, int("total_iters", 5), number("power", DefaultValue::Float(1.0)), LAST_EPOCH],
        |a| {
            positive(a, 1)?;
            by_formula(a, &formula::POLYNOMIAL)
        },
    )
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::PolynomialLR(opt, 4); s.step(); \
         s.get_last_lr()",
        "[0.75]",
    ),
    row(
        "CosineAnnealingLR",
        "Leads the learning rate down half a cosine to `eta_min` in `T_max` epochs.",
        &[OPTIMIZER, needed("T_max"), number("eta_min", DefaultValue::Float(0.0)), LAST_EPOCH],
        |a| {
            positive(a, 1)?;
            by_formula(a, &formula::COSINE)
        },
    )
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::CosineAnnealingLR(opt, 2); \
         s.step(); s.get_last_lr()",
        "[0.5]",
    ),
    row(
        "CosineAnnealingWarmRestarts",
        "Half a cosine down in `T_0` epochs, again and again, each `T_mult` times as long as the one before.",
        &[OPTIMIZER, needed("T_0"), int("T_mult", 1), number("eta_min", DefaultValue::Float(0.0)), LAST_EPOCH],
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
        &[
            OPTIMIZER,
            Param::required("max_lr", ParamKind::Any),
            Param::optional("total_steps", ParamKind::Int, DefaultValue::None),
            Param::optional("epochs", ParamKind::Int, DefaultValue::None),
            Param::optional("steps_per_epoch", ParamKind::Int, DefaultValue::None),
            number("pct_start", DefaultValue::Float(0.3)),
            Param::optional("anneal_strategy", ParamKind::Str, DefaultValue::Str("cos")),
            flag("cycle_momentum", true),
            Param::optional("base_momentum", ParamKind::Any, DefaultValue::Float(0.85)),
            Param::optional("max_momentum", ParamKind::Any, DefaultValue::Float(0.95)),
            number("div_factor", DefaultValue::Float(25.0)),
            number("final_div_factor", DefaultValue::Float(1e4)),
            flag("three_phase", false),
            LAST_EPOCH,
        ],
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
        &[
            OPTIMIZER,
            Param::required("base_lr", ParamKind::Any),
            Param::required("max_lr", ParamKind::Any),
            int("step_size_up", 2000),
            Param::optional("step_size_down", ParamKind::Int, DefaultValue::None),
            Param::optional("mode", ParamKind::Str, DefaultValue::Str("triangular")),
            number("gamma", DefaultValue::Float(1.0)),
            flag("cycle_momentum", true),
            Param::optional("base_momentum", ParamKind::Any, DefaultValue::Float(0.8)),
            Param::optional("max_momentum", ParamKind::Any, DefaultValue::Float(0.9)),
            LAST_EPOCH,
        ],
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
        &[
            OPTIMIZER,
            Param::optional("mode", ParamKind::Str, DefaultValue::Str("min")),
            number("factor", DefaultValue::Float(0.1)),
            int("patience", 10),
            number("threshold", DefaultValue::Float(1e-4)),
            Param::optional("threshold_mode", ParamKind::Str, DefaultValue::Str("rel")),
            int("cooldown", 0),
            Param::optional("min_lr", ParamKind::Any, DefaultValue::Int(0)),
            number("eps", DefaultValue::Float(1e-8)),
        ],
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
        &[OPTIMIZER, Param::required("lr_lambda", ParamKind::Any), LAST_EPOCH],
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
        &[OPTIMIZER, Param::required("lr_lambda", ParamKind::Any), LAST_EPOCH],
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
        &[
            OPTIMIZER,
            Param::required("schedulers", ParamKind::Any),
            Param::required("milestones", ParamKind::Ints),
            LAST_EPOCH,
        ],
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
        &[Param::required("schedulers", ParamKind::Any)],
        make_chained,
    )
    .example(
        "let opt = optim::SGD([ones(1)], #{lr: 1.0}); let s = optim::lr_scheduler::ChainedScheduler([\
         optim::lr_scheduler::ExponentialLR(opt, 0.5), optim::lr_scheduler::ExponentialLR(opt, 0.5)]); s.step(); \
         s.get_last_lr()",
        "[0.25]",
    ),
];
