//! `optim::lr_scheduler::`: schedules of learning rates as a script makes and steps them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, INT, ImmutableString, Map, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::Machine;
use crate::op::def::PROPERTY;
use crate::op::params::params;
use crate::op::{Family, Forward, OpDef, Param, Receiver};
use crate::optim::Scheduler;
use crate::optim::lr_scheduler::{Function, Functions};
use crate::script::bind::{FnCallArgs, arguments, note_line, register_raw, signatures};
use crate::script::call::kind::{Entries, Given};
use crate::script::call::{Here, ScriptRow, Spaces};
use crate::script::fault::{RhaiResult, raise};
use crate::script::maps::map_of;
use crate::script::value::{Callback, options, to_dynamic, type_name};
use crate::tensor::Tensor;

params! {
    SchedulerStepParams {
        value: Given = (), "what ReduceLROnPlateau watches: a number or a tensor of one; other schedules: the epoch to go to";
    }
}

params! {
    SchedulerStateParams {
        state_dict: Entries, "what `state_dict()` of a schedule of the same kind gave";
    }
}

/// A method of schedules.
const fn method(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Optimise, summary, params).on(Receiver::Scheduler)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        method("step", "Goes on by an epoch, or by a batch for OneCycleLR, and sets the learning rates.", SchedulerStepParams::LIST).changing()
            .torch("torch.optim.lr_scheduler.LRScheduler.step")
            .details(
                "Comes after the optimiser's own step. What a plateau is told is the loss: `sched.step(loss)`. \
                 CosineAnnealingWarmRestarts goes on within an epoch: `sched.step(epoch + i / batches)` with numbers that are \
                 no integers.",
            )
            .errors(&[
                "TypeError: ReduceLROnPlateau is told nothing, or what is told is no number",
                "ValueError: an epoch is no whole number, or negative",
            ])
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); let sched = optim::lr_scheduler::StepLR(opt, 1, 0.5); \
                 opt.step(); sched.step(); opt.param_groups[0].lr",
                "0.25",
            ),
        |call| {
            let given = SchedulerStepParams::of(&call.args)?.value;
            let value = if given.is_unit() { None } else { Some(metric(&given)?) };
            let sched = call.on::<Scheduler>()?;
            running(call.context, |functions| sched.step(value, functions))?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method("get_last_lr", "The learning rates that a schedule set last, one for each group of its optimiser.", &[])
            .torch("torch.optim.lr_scheduler.LRScheduler.get_last_lr")
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); optim::lr_scheduler::StepLR(opt, 1, 0.5).get_last_lr()",
                "[0.5]",
            ),
        |call| {
            let rates = call.on::<Scheduler>()?.last_rates();
            Ok(rates.into_iter().map(Dynamic::from).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        method("last_epoch", "The epoch that the learning rates are for; 0 at first.", &[])
            .forms(PROPERTY)
            .torch("torch.optim.lr_scheduler.LRScheduler.last_epoch")
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); optim::lr_scheduler::StepLR(opt, 1, 0.5).last_epoch",
                "0",
            ),
        |call| Ok(call.on::<Scheduler>()?.last_epoch().into()),
    ),
    ScriptRow::of(
        method("base_lrs", "The learning rates that a schedule begins with, one for each group of its optimiser.", &[])
            .forms(PROPERTY)
            .torch("torch.optim.lr_scheduler.LRScheduler.base_lrs")
            .errors(&["TypeError: ReduceLROnPlateau has none"])
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); optim::lr_scheduler::StepLR(opt, 1, 0.5).base_lrs",
                "[0.5]",
            ),
        |call| Ok(option(&call.on()?, "base_lrs")?),
    ),
    ScriptRow::of(
        method("optimizer", "The optimiser whose learning rates a schedule sets.", &[])
            .forms(PROPERTY)
            .torch("torch.optim.lr_scheduler.LRScheduler.optimizer")
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); let sched = optim::lr_scheduler::StepLR(opt, 1, 0.5); \
                 sched.optimizer is opt",
                "true",
            ),
        |call| Ok(Dynamic::from(call.on::<Scheduler>()?.optimizer().clone())),
    ),
    ScriptRow::of(
        method("state_dict", "Where a schedule stands, to carry it on later.", &[])
            .torch("torch.optim.lr_scheduler.LRScheduler.state_dict")
            .details("`save` keeps it. Functions of the script's own, as LambdaLR has them, are not in it.")
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); optim::lr_scheduler::StepLR(opt, 3, 0.5).state_dict().step_size",
                "3",
            ),
        |call| Ok(state_map(&call.on()?).into()),
    ),
    ScriptRow::of(
        method("load_state_dict", "Goes on where another schedule stood.", SchedulerStateParams::LIST).changing()
            .torch("torch.optim.lr_scheduler.LRScheduler.load_state_dict")
            .errors(&["ValueError: the state is that of another number of schedules", "TypeError: it is no schedule's"])
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.5); let sched = optim::lr_scheduler::StepLR(opt, 1, 0.5); \
                 let later = sched.state_dict(); later.last_epoch = 4; sched.load_state_dict(later); sched.last_epoch",
                "4",
            ),
        |call| {
            let state = SchedulerStateParams::of(&call.args)?.state_dict;
            load(&call.on()?, &state)?;
            Ok(Dynamic::UNIT)
        },
    ),
];

/// Registers the type and the constructors.
pub(crate) fn register(engine: &mut Engine, here: &Arc<Here>, spaces: &mut Spaces) {
    for def in crate::optim::lr_scheduler::ROWS {
        constructor(spaces.of("optim::lr_scheduler"), def, here);
    }
    engine.register_type_with_name::<Scheduler>("LRScheduler");
    engine.register_fn("to_string", |s: &mut Scheduler| s.to_string());
    engine.register_fn("to_debug", |s: &mut Scheduler| s.to_string());
    engine.register_fn("is", |a: &mut Scheduler, b: Scheduler| a.is(&b));
    engine.register_indexer_get(|s: &mut Scheduler, name: ImmutableString| option(s, &name).map_err(raise));
}

fn constructor(module: &mut rhai::Module, def: &'static OpDef, here: &Arc<Here>) {
    let Forward::Call(run) = def.forward else { return };
    for types in signatures(def) {
        let here = Arc::clone(here);
        register_raw(module, def.name, types, move |ctx, args: &mut FnCallArgs| {
            note_line(&here.machine.shared, &ctx);
            let made = arguments(def, args).and_then(|args| run(&args)).map_err(raise)?;
            if let Some(scheduler) = Scheduler::from_value(&made) {
                running(&ctx, |functions| scheduler.begin(functions))?;
            }
            Ok(to_dynamic(made))
        });
    }
}

/// Calls a script's functions. An error of theirs keeps its place: it is taken out again at the end.
struct Running<'a, 'b> {
    context: &'a NativeCallContext<'b>,
    /// Said once, however many parts a schedule has.
    warned: Cell<bool>,
    failed: RefCell<Option<Box<EvalAltResult>>>,
}

impl Functions for Running<'_, '_> {
    fn call(&self, function: &Function, epoch: i64) -> Result<f64> {
        let Some(function) = function.downcast_ref::<Callback>() else {
            return Err(Error::type_error("lr_lambda should be a function"));
        };
        let out: Dynamic = function.call(self.context, (epoch as INT,)).map_err(|error| {
            let text = error.to_string();
            self.failed.replace(Some(error));
            Error::runtime(text)
        })?;
        metric(&out)
            .map_err(|_| Error::type_error(format!("lr_lambda must give a number, not {}", type_name(&out))))
    }

    fn warn(&self, text: &str) {
        if !self.warned.replace(true) {
            Machine::current().shared.warn(text);
        }
    }
}

fn running<T>(ctx: &NativeCallContext, run: impl FnOnce(&Running) -> Result<T>) -> RhaiResult<T> {
    let functions = Running { context: ctx, warned: Cell::default(), failed: RefCell::default() };
    run(&functions).map_err(|e| functions.failed.take().unwrap_or_else(|| raise(e)))
}

/// A number, or the only element of a tensor.
fn metric(value: &Dynamic) -> Result<f64> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return t.item().map(|s| s.as_f64());
    }
    value.as_float().or_else(|_| value.as_int().map(|i| i as f64)).map_err(|_| {
        Error::type_error(format!("a scheduler watches a number, not {}", type_name(value)))
            .with_hint("`sched.step(loss)` takes a number or a tensor of one element")
    })
}

fn option(s: &Scheduler, name: &str) -> Result<Dynamic> {
    let (entries, _) = s.state_dict();
    let found = entries.iter().find(|(n, _)| n == name).map(|(_, v)| to_dynamic(v.clone()));
    found.ok_or_else(|| {
        let error = Error::type_error(format!("'{}' object has no attribute '{name}'", s.name()));
        let known = entries.iter().map(|(n, _)| n.as_str()).chain(ROWS.iter().map(|row| row.def.name));
        error.with_near(name, known)
    })
}

fn state_map(s: &Scheduler) -> Map {
    let (entries, parts) = s.state_dict();
    let mut map = map_of(entries.into_iter().map(|(n, v)| (n.into(), to_dynamic(v))));
    if let Some(parts) = parts {
        let parts = parts.iter().map(|p| Dynamic::from_map(state_map(p))).collect();
        map.insert("_schedulers".into(), Dynamic::from_array(parts));
    }
    map
}

fn load(s: &Scheduler, state: &Map) -> Result<()> {
    let mut own = state.clone();
    let given = own.remove("_schedulers").and_then(|d| d.try_cast::<Array>()).unwrap_or_default();
    if given.len() != s.parts().len() {
        let text = format!(
            "load_state_dict(): {} has {} schedulers, the state {}",
            s.name(),
            s.parts().len(),
            given.len()
        );
        return Err(Error::value(text));
    }
    for (part, state) in s.parts().iter().zip(&given) {
        let Some(state) = state.read_lock::<Map>() else {
            return Err(Error::type_error("load_state_dict(): the state of a scheduler is a map"));
        };
        load(part, &state)?;
    }
    s.load_state_dict(options(&own)?)
}
