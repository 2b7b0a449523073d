//! `autocast(…)` and `amp::`: mixed precision.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, INT, Map, Module, NativeCallContext};

use crate::amp::scaler::Snapshot;
use crate::amp::{Autocast, GradScaler, Steps, autocast, find, scaler};
use crate::base::near::nearest;
use crate::base::{DType, Error, Result};
use crate::device::{Machine, Shared};
use crate::optim::Optimizer;
use crate::script::bind::{FnCallArgs, arguments, note_line, register_raw, signatures};
use crate::script::engine::Host;
use crate::script::fault::raise;
use crate::script::syntax::ContextManager;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::RhaiResult;

pub const NAMES: &[&str] = &[
    "amp",
    "scale",
    "unscale_",
    "update",
    "get_scale",
    "get_growth_factor",
    "set_growth_factor",
    "get_backoff_factor",
    "set_backoff_factor",
    "get_growth_interval",
    "set_growth_interval",
    "is_enabled",
    "is_autocast_enabled",
    "get_autocast_dtype",
];

pub fn register(engine: &mut Engine, machine: &Arc<Machine>, host: &Arc<dyn Host>) {
    region(engine, host);
    let mut module = Module::new();
    if let Some(def) = find("GradScaler") {
        for types in signatures(def) {
            let host = Arc::clone(host);
            register_raw(&mut module, def.name, types, move |_, args: &mut FnCallArgs| {
                let (made, warning) = arguments(def, args).and_then(|a| scaler(&a)).map_err(raise)?;
                warning.into_iter().for_each(|text| host.warn(text));
                Ok(Dynamic::from(made))
            });
        }
    }
    engine.register_static_module("amp", module.into());
    engine.register_type_with_name::<GradScaler>("GradScaler");
    engine.register_fn("to_string", |_: &mut GradScaler| "GradScaler()");
    engine.register_fn("to_debug", |_: &mut GradScaler| "GradScaler()");
    engine.register_fn("is", |a: &mut GradScaler, b: GradScaler| a.is(&b));
    iteration(engine, &machine.shared);
    settings(engine);
    state(engine);
}

fn region(engine: &mut Engine, host: &Arc<dyn Host>) {
    if let Some(def) = find("autocast") {
        for types in signatures(def) {
            let host = Arc::clone(host);
            engine.register_raw_fn(def.name, types, move |_: NativeCallContext, args: &mut FnCallArgs| {
                let (region, warning) = arguments(def, args).and_then(|a| Autocast::of(&a)).map_err(raise)?;
                warning.into_iter().for_each(|text| host.warn(&text));
                Ok(ContextManager::new("autocast", move || Ok(region.enter())))
            });
        }
    }
    engine.register_fn("is_autocast_enabled", |device: &str| autocast::is_enabled(device).map_err(raise));
    engine.register_fn("get_autocast_dtype", |device: &str| -> RhaiResult<DType> {
        autocast::dtype(device).map_err(raise)
    });
}

impl Steps for Optimizer {
    fn id(&self) -> usize {
        Optimizer::id(self)
    }

    fn parameters(&self) -> Vec<Tensor> {
        (0..self.group_count()).flat_map(|group| Optimizer::parameters(self, group)).collect()
    }

    fn step(&self) -> Result<()> {
        Optimizer::step(self)
    }
}

/// `scale`, `unscale_`, `step`, `update`.
fn iteration(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_fn("scale", move |ctx: NativeCallContext, s: &mut GradScaler, outputs: Dynamic| {
        note_line(&here, &ctx);
        scaled(s, &outputs).map_err(raise)
    });
    let here = Arc::clone(shared);
    engine.register_fn("unscale_", move |ctx: NativeCallContext, s: &mut GradScaler, o: Optimizer| {
        note_line(&here, &ctx);
        s.unscale_(&o).map_err(raise)
    });
    let here = Arc::clone(shared);
    engine.register_fn("step", move |ctx: NativeCallContext, s: &mut GradScaler, o: Optimizer| {
        note_line(&here, &ctx);
        s.step(&o).map_err(raise)
    });
    let here = Arc::clone(shared);
    engine.register_fn("update", move |ctx: NativeCallContext, s: &mut GradScaler| {
        note_line(&here, &ctx);
        s.update(None).map_err(raise)
    });
    engine.register_fn("update", |s: &mut GradScaler, scale: f64| s.update(Some(scale)).map_err(raise));
}

/// A tensor, or an array of what can be scaled.
fn scaled(scaler: &GradScaler, outputs: &Dynamic) -> Result<Dynamic> {
    if let Some(t) = outputs.read_lock::<Tensor>() {
        return scaler.scale(&t).map(Dynamic::from);
    }
    match outputs.read_lock::<Array>() {
        Some(items) => {
            items.iter().map(|item| scaled(scaler, item)).collect::<Result<Array>>().map(Into::into)
        }
        None => Err(Error::value("outputs must be a Tensor or an iterable of Tensors")
            .with_hint(format!("a {} cannot be scaled", type_name(outputs)))),
    }
}

fn settings(engine: &mut Engine) {
    engine.register_fn("get_scale", |s: &mut GradScaler| s.get_scale().map_err(raise));
    engine.register_fn("is_enabled", |s: &mut GradScaler| s.options().enabled);
    engine.register_fn("get_growth_factor", |s: &mut GradScaler| s.options().growth_factor);
    engine.register_fn("get_backoff_factor", |s: &mut GradScaler| s.options().backoff_factor);
    engine.register_fn("get_growth_interval", |s: &mut GradScaler| s.options().growth_interval);
    engine.register_fn("set_growth_factor", |s: &mut GradScaler, to: f64| s.set(|o| o.growth_factor = to));
    engine.register_fn("set_backoff_factor", |s: &mut GradScaler, to: f64| s.set(|o| o.backoff_factor = to));
    engine
        .register_fn("set_growth_interval", |s: &mut GradScaler, to: INT| s.set(|o| o.growth_interval = to));
}

/// The keys of a scaler's state, in PyTorch's order.
const KEYS: [&str; 5] = ["scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"];

fn state(engine: &mut Engine) {
    engine.register_fn("state_dict", |s: &mut GradScaler| -> RhaiResult<Map> {
        let mut map = Map::new();
        if let Some(state) = s.state_dict().map_err(raise)? {
            let values: [Dynamic; 5] = [
                state.scale.into(),
                state.growth_factor.into(),
                state.backoff_factor.into(),
                state.growth_interval.into(),
                state.growth_tracker.into(),
            ];
            map.extend(KEYS.into_iter().map(Into::into).zip(values));
        }
        Ok(map)
    });
    engine.register_fn("load_state_dict", |s: &mut GradScaler, given: Map| -> RhaiResult<()> {
        let state = if given.is_empty() { None } else { Some(snapshot(&given).map_err(raise)?) };
        s.load_state_dict(state.as_ref()).map_err(raise)
    });
}

fn snapshot(given: &Map) -> Result<Snapshot> {
    if let Some(key) = given.keys().find(|k| !KEYS.contains(&k.as_str())) {
        let error = Error::type_error(format!("load_state_dict(): a scaler's state has no '{key}'"));
        return Err(match nearest(key, KEYS) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None => error.with_hint(format!("it holds {}", KEYS.join(", "))),
        });
    }
    let number = |key: &str| -> Result<f64> {
        let value = given.get(key).ok_or_else(|| {
            Error::value(format!("load_state_dict(): '{key}' is missing"))
                .with_hint("it takes what state_dict() gave")
        })?;
        let number = value.as_float().or_else(|_| value.as_int().map(|n| n as f64));
        number.map_err(|_| {
            Error::type_error(format!(
                "load_state_dict(): '{key}' must be a number, not a {}",
                type_name(value)
            ))
        })
    };
    Ok(Snapshot {
        scale: number("scale")?,
        growth_factor: number("growth_factor")?,
        backoff_factor: number("backoff_factor")?,
        growth_interval: number("growth_interval")? as i64,
        growth_tracker: number("_growth_tracker")? as i64,
    })
}
