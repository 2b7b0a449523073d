//! A schedule, and what its steps do.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Error, Result, python};
use crate::op::args::FUNCTION;
use crate::op::{Copies, Object, Value};

use super::super::{Optimizer, Options};
use super::formula::{Formula, Now, float};

/// A function written in a script, such as the `lr_lambda` of a `LambdaLR`.
pub type Function = Arc<dyn Any + Send + Sync>;

/// Runs functions that were written in a script, while a script's call is on the stack.
pub trait Functions {
    /// The number that a function gives for an epoch.
    fn call(&self, function: &Function, epoch: i64) -> Result<f64>;

    /// Says what may be a mistake.
    fn warn(&self, text: &str);
}

/// What PyTorch says of a schedule that steps before its optimizer.
const TOO_EARLY: &str = "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, \
                         you should call them in the opposite order: `optimizer.step()` before \
                         `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value \
                         of the learning rate schedule. See more details at \
                         https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate";

/// What PyTorch says where a step names its epoch.
const DEPRECATED: &str = "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where \
                          possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch \
                          is different from None, the closed form is used instead of the new chainable form, where \
                          available.";

/// A scheduler. Cloning gives the same one.
#[derive(Clone)]
pub struct Scheduler(pub(super) Arc<SchedulerInner>);

pub(super) struct SchedulerInner {
    pub(super) kind: SchedulerKind,
    pub(super) optimizer: Optimizer,
    pub(super) state: Mutex<SchedulerState>,
}

/// How a scheduler comes to its rates.
pub(super) enum SchedulerKind {
    Formula(&'static Formula),
    /// A factor for each group; with `running` of its present rate, else of its first.
    Lambda {
        functions: Vec<Function>,
        running: bool,
    },
    Plateau,
    /// One scheduler after the other, from the epochs of `milestones` on.
    Sequential {
        parts: Vec<Scheduler>,
        milestones: Vec<i64>,
    },
    Chained(Vec<Scheduler>),
}

impl SchedulerKind {
    fn copied_with(&self, copies: &mut dyn Copies) -> Result<SchedulerKind> {
        let mut all = |parts: &[Scheduler]| {
            let one = |part: &Scheduler| {
                let copy = copies.value(&part.clone().into_value())?;
                Scheduler::from_value(&copy).cloned().ok_or_else(|| Error::runtime("a schedule has no copy"))
            };
            parts.iter().map(one).collect::<Result<Vec<_>>>()
        };
        Ok(match self {
            SchedulerKind::Formula(formula) => SchedulerKind::Formula(formula),
            SchedulerKind::Plateau => SchedulerKind::Plateau,
            SchedulerKind::Chained(parts) => SchedulerKind::Chained(all(parts)?),
            SchedulerKind::Sequential { parts, milestones } => {
                SchedulerKind::Sequential { parts: all(parts)?, milestones: milestones.clone() }
            }
            SchedulerKind::Lambda { functions, running } => {
                let one = |function: &Function| {
                    let value = Value::Object(Object::new(FUNCTION, Arc::clone(function)));
                    match copies.value(&value)? {
                        Value::Object(copy) => Ok(copy.get::<Function>().unwrap_or(function).clone()),
                        _ => Ok(Arc::clone(function)),
                    }
                };
                let functions = functions.iter().map(one).collect::<Result<_>>()?;
                SchedulerKind::Lambda { functions, running: *running }
            }
        })
    }
}

#[derive(Clone)]
pub(super) struct SchedulerState {
    pub(super) options: Options,
    pub(super) base: Vec<f64>,
    pub(super) last_epoch: i64,
    pub(super) step_count: u64,
    pub(super) last: Vec<f64>,
}

impl Scheduler {
    pub(super) fn new(
        kind: SchedulerKind,
        optimizer: Optimizer,
        options: Options,
        last_epoch: i64,
    ) -> Scheduler {
        let state = SchedulerState { options, base: Vec::new(), last_epoch, step_count: 0, last: Vec::new() };
        Scheduler(Arc::new(SchedulerInner { kind, optimizer, state: Mutex::new(state) }))
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("LRScheduler", self))
    }

    /// A number that tells schedulers apart while they live.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// A copy that sets the rates of the optimiser's copy.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Scheduler> {
        let optimizer = match copies.value(&self.0.optimizer.clone().into_value())? {
            Value::Object(copy) => copy.get::<Optimizer>().cloned(),
            _ => None,
        };
        let optimizer = optimizer.ok_or_else(|| Error::runtime("an optimizer has no copy"))?;
        let state = self.state().clone();
        let kind = self.0.kind.copied_with(copies)?;
        Ok(Scheduler(Arc::new(SchedulerInner { kind, optimizer, state: Mutex::new(state) })))
    }

    /// The scheduler that a value holds.
    pub(crate) fn from_value(value: &Value) -> Option<&Scheduler> {
        match value {
            Value::Object(o) => o.get(),
            _ => None,
        }
    }

    /// PyTorch's name of the class, such as `StepLR`.
    pub fn name(&self) -> &'static str {
        match &self.0.kind {
            SchedulerKind::Formula(formula) => formula.name,
            SchedulerKind::Lambda { running: false, .. } => "LambdaLR",
            SchedulerKind::Lambda { running: true, .. } => "MultiplicativeLR",
            SchedulerKind::Plateau => "ReduceLROnPlateau",
            SchedulerKind::Sequential { .. } => "SequentialLR",
            SchedulerKind::Chained(_) => "ChainedScheduler",
        }
    }

    /// Whether both are the same schedule.
    pub fn is(&self, other: &Scheduler) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The optimiser whose rates it sets.
    pub fn optimizer(&self) -> &Optimizer {
        &self.0.optimizer
    }

    /// What follows a constructor: the first rates, those of epoch 0.
    pub fn begin(&self, functions: &dyn Functions) -> Result<()> {
        match &self.0.kind {
            SchedulerKind::Plateau | SchedulerKind::Chained(_) => {
                self.note_rates();
                Ok(())
            }
            SchedulerKind::Sequential { parts, .. } => {
                self.state().last_epoch += 1;
                for group in 0..self.0.optimizer.group_count() {
                    let first = self.0.optimizer.option(group, "initial_lr");
                    self.0.optimizer.note(group, "lr", first.unwrap_or(Value::Scalar(0.0.into())));
                }
                parts.iter().for_each(Scheduler::undo);
                let Some(first) = parts.get(self.part_at(0)) else { return Ok(()) };
                first.state().step_count = 0;
                first.advance(None, true, functions)?;
                self.note_rates();
                Ok(())
            }
            SchedulerKind::Formula(_) | SchedulerKind::Lambda { .. } => {
                self.remember_base()?;
                self.0.optimizer.watch();
                self.advance(None, true, functions)
            }
        }
    }

    /// One step on: a new epoch, or the one that is named, or another measured value for a `ReduceLROnPlateau`.
    ///
    /// # Errors
    /// A plateau is told nothing, or an epoch is named that there can't be.
    pub fn step(&self, value: Option<f64>, functions: &dyn Functions) -> Result<()> {
        match (&self.0.kind, value) {
            (SchedulerKind::Plateau, Some(metric)) => {
                self.watch(metric);
                Ok(())
            }
            (SchedulerKind::Plateau, None) => {
                let text = "ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'";
                Err(Error::type_error(text).with_hint("`sched.step(loss)` tells it what to watch"))
            }
            (SchedulerKind::Sequential { .. } | SchedulerKind::Chained(_), Some(_)) => {
                let text = format!("{}.step() takes 1 positional argument but 2 were given", self.name());
                Err(Error::type_error(text).with_hint("it counts its own epochs: `sched.step()`"))
            }
            (SchedulerKind::Formula(Formula { at: Some(at), .. }), Some(epoch)) => {
                if !epoch.is_finite() || epoch < 0.0 {
                    return Err(Error::value(format!("Expected non-negative epoch, but got {epoch}")));
                }
                at(&mut self.state().options, epoch);
                self.advance(Some(epoch.floor() as i64), false, functions)
            }
            (_, Some(epoch)) => self.step_to(epoch, functions),
            (_, None) => self.advance(None, false, functions),
        }
    }

    /// To an epoch by its number, which PyTorch advises against.
    fn step_to(&self, epoch: f64, functions: &dyn Functions) -> Result<()> {
        if epoch.fract() != 0.0 || !epoch.is_finite() {
            let text = format!("{}.step() takes the whole number of an epoch, and got {epoch}", self.name());
            return Err(Error::value(text).with_hint(
                "a ReduceLROnPlateau is told the loss, and CosineAnnealingWarmRestarts may be told a part of an epoch",
            ));
        }
        self.advance(Some(epoch as i64), false, functions)?;
        functions.warn(DEPRECATED);
        self.state().step_count += 1;
        Ok(())
    }

    /// The rates of all groups after the last step.
    pub(crate) fn last_rates(&self) -> Vec<f64> {
        self.state().last.clone()
    }

    /// The epoch that the present rates are for.
    pub fn last_epoch(&self) -> i64 {
        self.state().last_epoch
    }

    /// An option such as `gamma`, or what the schedule counts.
    pub fn option(&self, name: &str) -> Option<Value> {
        self.state().options.get(name).cloned()
    }

    /// To the next epoch, or to `epoch` itself by the closed form where there is one.
    pub(super) fn advance(&self, epoch: Option<i64>, initial: bool, functions: &dyn Functions) -> Result<()> {
        match &self.0.kind {
            SchedulerKind::Plateau => return Ok(()),
            SchedulerKind::Chained(parts) => {
                parts.iter().try_for_each(|part| part.advance(None, false, functions))?;
                self.note_rates();
                return Ok(());
            }
            SchedulerKind::Sequential { parts, milestones } => {
                let now = self.next_epoch(epoch);
                let at = self.part_at(now);
                let Some(part) = parts.get(at) else { return Ok(()) };
                let starts = at.checked_sub(1).and_then(|i| milestones.get(i)) == Some(&now);
                part.advance(starts.then_some(0), false, functions)?;
                self.note_rates();
                return Ok(());
            }
            SchedulerKind::Formula(_) | SchedulerKind::Lambda { .. } => {}
        }
        // Warm restarts have a step of their own, which does not look.
        let looks = !matches!(&self.0.kind, SchedulerKind::Formula(Formula { at: Some(_), .. }));
        if looks && !initial && self.state().step_count == 1 && !self.0.optimizer.has_stepped() {
            functions.warn(TOO_EARLY);
        }
        if epoch.is_none() {
            self.state().step_count += 1;
        }
        let now = self.next_epoch(epoch);
        let rates = self.rates(now, epoch.is_some(), initial, functions)?;
        for (group, rate) in rates.into_iter().enumerate() {
            if rate != self.rate(group) {
                self.0.optimizer.note(group, "lr", Value::Scalar(rate.into()));
            }
        }
        self.note_rates();
        Ok(())
    }

    pub(super) fn rates(
        &self,
        epoch: i64,
        closed: bool,
        initial: bool,
        functions: &dyn Functions,
    ) -> Result<Vec<f64>> {
        let count = self.0.optimizer.group_count();
        match &self.0.kind {
            SchedulerKind::Formula(formula) => {
                let mut state = self.state();
                if let Some(before) = formula.before
                    && !closed
                {
                    before(&mut state.options, initial);
                }
                let run = match formula.closed.filter(|_| closed) {
                    Some(run) => run,
                    None => formula.rate,
                };
                let of = |group: usize| {
                    let now = Now {
                        options: &state.options,
                        optimizer: &self.0.optimizer,
                        group,
                        lr: self.rate(group),
                        base: state.base.get(group).copied().unwrap_or(0.0),
                        epoch,
                        initial,
                        first: state.step_count == 1,
                    };
                    run(&now)
                };
                (0..count).map(of).collect()
            }
            SchedulerKind::Lambda { functions: own, running } => {
                if *running && initial {
                    return Ok((0..count).map(|group| self.rate(group)).collect());
                }
                let base = self.state().base.clone();
                let of = |group: usize| {
                    // One function serves all groups, or each has its own.
                    let function = own.get(group).or(own.first());
                    let function = function.ok_or_else(|| Error::value("there is no lr_lambda"))?;
                    let factor = functions.call(function, epoch)?;
                    let from =
                        if *running { self.rate(group) } else { base.get(group).copied().unwrap_or(0.0) };
                    Ok(from * factor)
                };
                (0..count).map(of).collect()
            }
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn next_epoch(&self, epoch: Option<i64>) -> i64 {
        let mut state = self.state();
        state.last_epoch = epoch.unwrap_or(state.last_epoch.saturating_add(1));
        state.last_epoch
    }

    /// Which part of a `SequentialLR` an epoch belongs to.
    pub(super) fn part_at(&self, epoch: i64) -> usize {
        match &self.0.kind {
            SchedulerKind::Sequential { milestones, .. } => milestones.partition_point(|m| *m <= epoch),
            _ => 0,
        }
    }

    /// Takes back the epoch that a constructor counted, here and in parts.
    pub(super) fn undo(&self) {
        match &self.0.kind {
            SchedulerKind::Sequential { parts, .. } | SchedulerKind::Chained(parts) => {
                parts.iter().for_each(Scheduler::undo)
            }
            _ => self.state().last_epoch -= 1,
        }
    }

    /// Keeps each group's first rate in the group, where later schedulers find it.
    pub(super) fn remember_base(&self) -> Result<()> {
        let optimizer = &self.0.optimizer;
        let resumes = self.state().last_epoch != -1;
        let mut base = Vec::new();
        for group in 0..optimizer.group_count() {
            if optimizer.option(group, "initial_lr").is_none() {
                if resumes {
                    let text = format!(
                        "param 'initial_lr' is not specified in param_groups[{group}] when resuming scheduler with \
                         last_epoch >= 0."
                    );
                    return Err(Error::value(text).with_hint(
                        "load the optimizer's state first, or leave last_epoch out to start anew",
                    ));
                }
                let lr = optimizer.option(group, "lr").unwrap_or(Value::Scalar(0.0.into()));
                optimizer.note(group, "initial_lr", lr);
            }
            base.push(float(optimizer.option(group, "initial_lr")));
        }
        self.state().base = base;
        Ok(())
    }

    pub(super) fn rate(&self, group: usize) -> f64 {
        float(self.0.optimizer.option(group, "lr"))
    }

    pub(super) fn note_rates(&self) {
        let rates = (0..self.0.optimizer.group_count()).map(|group| self.rate(group)).collect();
        self.state().last = rates;
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SchedulerState> {
        self.0.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl std::fmt::Display for Scheduler {
    /// `StepLR(step_size=30, gamma=0.1, last_epoch=2)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        write!(f, "{}(", self.name())?;
        for (name, value) in state.options.iter().filter(|(name, _)| *name != "last_epoch") {
            write!(f, "{name}={}, ", shown(value))?;
        }
        write!(f, "last_epoch={})", state.last_epoch)
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::None => "None".into(),
        Value::Scalar(s) => python::scalar(*s),
        Value::Str(s) => format!("'{s}'"),
        Value::List(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        other => other.describe(),
    }
}
