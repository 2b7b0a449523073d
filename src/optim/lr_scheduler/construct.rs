//! How schedulers are constructed: their options, checked in PyTorch's words.

use crate::base::{Error, Result, python};
use crate::op::{Args, Value};
use crate::optim::{Optimizer, Options};

use super::formula::{self, Formula, set_momentum};
use super::plateau;
use super::scheduler::{Function, Scheduler, SchedulerKind};

/// The arguments of a constructor: its optimizer, and the options under their names.
struct SchedulerArgs<'a> {
    args: &'a Args<'a>,
    optimizer: Optimizer,
    options: Options,
}

impl<'a> SchedulerArgs<'a> {
    fn of(args: &'a Args) -> Result<SchedulerArgs<'a>> {
        let mut options = Options::of(args)?;
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
        let (cycles, names) = (self.options.bool("cycle_momentum"), self.optimizer.option_names(0));
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

pub(super) fn by_formula(args: &Args, formula: &'static Formula) -> Result<Value> {
    SchedulerArgs::of(args)?.by(formula)
}

/// A formula over a whole number above 0.
pub(super) fn over(args: &Args, name: &str, formula: &'static Formula) -> Result<Value> {
    let a = SchedulerArgs::of(args)?;
    a.positive(name)?;
    a.by(formula)
}

pub(super) fn make_constant(args: &Args) -> Result<Value> {
    let a = SchedulerArgs::of(args)?;
    if !(0.0..=1.0).contains(&a.options.float("factor")) {
        return Err(Error::value("Constant multiplicative factor expected to be between 0 and 1."));
    }
    a.by(&formula::CONSTANT)
}

pub(super) fn make_linear(args: &Args) -> Result<Value> {
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

pub(super) fn make_restarts(args: &Args) -> Result<Value> {
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

pub(super) fn make_one_cycle(args: &Args) -> Result<Value> {
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

pub(super) fn make_cyclic(args: &Args) -> Result<Value> {
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

pub(super) fn make_plateau(args: &Args) -> Result<Value> {
    let SchedulerArgs { optimizer, mut options, .. } = SchedulerArgs::of(args)?;
    plateau::prepare(&mut options, optimizer.group_count())?;
    Ok(Scheduler::new(SchedulerKind::Plateau, optimizer, options, 0).into_value())
}

/// A function for all groups, or one for each.
pub(super) fn make_lambda(args: &Args, running: bool) -> Result<Value> {
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

pub(super) fn make_sequential(args: &Args) -> Result<Value> {
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

pub(super) fn make_chained(args: &Args) -> Result<Value> {
    let mut options = Options::of(args)?;
    let parts = parts(args, &mut options, None)?;
    let Some(opt) = parts.first().map(|p| p.optimizer().clone()) else {
        let text = "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.";
        return Err(Error::value(text));
    };
    Ok(Scheduler::new(SchedulerKind::Chained(parts), opt, options, 0).into_value())
}
