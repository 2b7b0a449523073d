//! `optim::lr_scheduler::`: schedules of learning rates as a script makes and steps them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, INT, ImmutableString, Map, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::Shared;
use crate::op::{Forward, OpDef};
use crate::optim::lr_scheduler::{Function, Functions, ROWS};
use crate::optim::{Optimizer, Scheduler};
use crate::script::bind::{FnCallArgs, arguments, note_line, register_raw, signatures};
use crate::script::engine::Host;
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::script::value::{Callback, options, to_dynamic, type_name};
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] = &["lr_scheduler", "step", "get_last_lr", "last_epoch", "base_lrs", "optimizer"];

pub const PAGES: &[Page] = &[
    Page {
        name: "lr_scheduler",
        call: "let sched = optim::lr_scheduler::StepLR(opt, 30, 0.1)",
        text: "A schedule of learning rates. sched.step() after each epoch (ReduceLROnPlateau: sched.step(loss); \
               OneCycleLR: after each batch), sched.get_last_lr() gives the rates of all groups, sched.last_epoch the \
               epoch they are for. state_dict() and load_state_dict() carry a schedule on. Schedules are StepLR \
               MultiStepLR ExponentialLR ConstantLR LinearLR PolynomialLR CosineAnnealingLR \
               CosineAnnealingWarmRestarts OneCycleLR ReduceLROnPlateau LambdaLR MultiplicativeLR SequentialLR \
               ChainedScheduler.",
    },
    Page {
        name: "get_last_lr",
        call: "sched.get_last_lr()",
        text: "The learning rates that a schedule set last, one for each group of its optimizer.",
    },
];

/// Registers the type and puts the constructors in `optim`.
pub fn register(engine: &mut Engine, optim: &mut rhai::Module, shared: &Arc<Shared>, host: &Arc<dyn Host>) {
    let mut module = rhai::Module::new();
    for def in ROWS {
        constructor(&mut module, def, shared, host);
    }
    optim.set_sub_module("lr_scheduler", module);
    engine.register_type_with_name::<Scheduler>("LRScheduler");
    engine.register_fn("to_string", |s: &mut Scheduler| s.to_string());
    engine.register_fn("to_debug", |s: &mut Scheduler| s.to_string());
    engine.register_fn("is", |a: &mut Scheduler, b: Scheduler| a.is(&b));
    let here = Arc::clone(host);
    engine.register_fn("step", move |ctx: NativeCallContext, s: &mut Scheduler| {
        running(&ctx, &here, |functions| s.step(None, functions))
    });
    let here = Arc::clone(host);
    engine.register_fn("step", move |ctx: NativeCallContext, s: &mut Scheduler, value: Dynamic| {
        let value = metric(&value).map_err(raise)?;
        running(&ctx, &here, |functions| s.step(Some(value), functions))
    });
    engine.register_fn("get_last_lr", |s: &mut Scheduler| -> Array {
        s.last_rates().into_iter().map(Dynamic::from).collect()
    });
    engine.register_get("last_epoch", |s: &mut Scheduler| s.last_epoch());
    engine.register_get("optimizer", |s: &mut Scheduler| -> Optimizer { s.optimizer().clone() });
    engine.register_indexer_get(|s: &mut Scheduler, name: ImmutableString| option(s, &name).map_err(raise));
    engine.register_fn("state_dict", |s: &mut Scheduler| state_map(s));
    engine.register_fn("load_state_dict", |s: &mut Scheduler, state: Map| load(s, &state).map_err(raise));
}

fn constructor(module: &mut rhai::Module, def: &'static OpDef, shared: &Arc<Shared>, host: &Arc<dyn Host>) {
    let Forward::Call(run) = def.forward else { return };
    for types in signatures(def) {
        let (shared, host) = (Arc::clone(shared), Arc::clone(host));
        register_raw(module, def.name, types, move |ctx, args: &mut FnCallArgs| {
            note_line(&shared, &ctx);
            let made = arguments(def, args).and_then(|args| run(&args)).map_err(raise)?;
            if let Some(scheduler) = Scheduler::from_value(&made) {
                running(&ctx, &host, |functions| scheduler.begin(functions))?;
            }
            Ok(to_dynamic(made))
        });
    }
}

/// Calls a script's functions. An error of theirs keeps its place: it is taken out again at the end.
struct Running<'a, 'b> {
    context: &'a NativeCallContext<'b>,
    host: &'a dyn Host,
    /// Said once, however many parts a schedule has.
    warned: Cell<bool>,
    failed: RefCell<Option<Box<EvalAltResult>>>,
}

impl Functions for Running<'_, '_> {
    fn call(&self, function: &Function, epoch: i64) -> Result<f64> {
        let Some(function) = function.downcast_ref::<Callback>() else {
            return Err(Error::type_error("lr_lambda should be a function"));
        };
        let out: Dynamic = function.call_within_context(self.context, (epoch as INT,)).map_err(|error| {
            let text = error.to_string();
            self.failed.replace(Some(error));
            Error::runtime(text)
        })?;
        metric(&out).map_err(|_| {
            Error::type_error(format!("lr_lambda must give a number, not a {}", type_name(&out)))
        })
    }

    fn warn(&self, text: &str) {
        if !self.warned.replace(true) {
            self.host.warn(text);
        }
    }
}

fn running<T>(
    ctx: &NativeCallContext,
    host: &Arc<dyn Host>,
    run: impl FnOnce(&Running) -> Result<T>,
) -> RhaiResult<T> {
    let functions =
        Running { context: ctx, host: host.as_ref(), warned: Cell::default(), failed: RefCell::default() };
    run(&functions).map_err(|e| functions.failed.take().unwrap_or_else(|| raise(e)))
}

/// A number, or the only element of a tensor.
fn metric(value: &Dynamic) -> Result<f64> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return t.item().map(|s| s.as_f64());
    }
    value.as_float().or_else(|_| value.as_int().map(|i| i as f64)).map_err(|_| {
        Error::type_error(format!("a scheduler watches a number, not a {}", type_name(value)))
            .with_hint("`sched.step(loss)` takes a number or a tensor of one element")
    })
}

fn option(s: &Scheduler, name: &str) -> Result<Dynamic> {
    let (entries, _) = s.state_dict();
    let found = entries.iter().find(|(n, _)| n == name).map(|(_, v)| to_dynamic(v.clone()));
    found.ok_or_else(|| {
        let error = Error::type_error(format!("'{}' object has no attribute '{name}'", s.name()));
        let known = entries.iter().map(|(n, _)| n.as_str()).chain(NAMES.iter().copied());
        match crate::base::near::nearest(name, known) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}

fn state_map(s: &Scheduler) -> Map {
    let (entries, parts) = s.state_dict();
    let mut map: Map = entries.into_iter().map(|(n, v)| (n.into(), to_dynamic(v))).collect();
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
