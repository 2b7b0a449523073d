//! Gradients: `backward`, `.grad`, grad mode.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, FnPtr, Map, Module, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::{Machine, Shared};
use crate::script::bind::note_line;
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::script::syntax::ContextManager;
use crate::script::value::{Callback, type_name};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Watch, grad_enabled, set_grad_mode, set_watch};
use crate::tensor::backward::Pass;
use crate::tensor::hooks::Handle;

use super::checkpoint::Again;
use super::{RhaiResult, unknown_option};

pub const NAMES: &[&str] = &[
    "backward",
    "grad",
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "is_grad_enabled",
    "detect_anomaly",
    "autograd",
    "register_hook",
    "remove",
];

pub const PAGES: &[Page] = &[
    Page {
        name: "register_hook",
        call: "x.register_hook(|g| g * 2)",
        text: "Has every backward pass call the closure with the gradient of `x`, once and whole. A tensor that it gives \
               goes on in the gradient's place, with the same shape and dtype; `()` leaves the gradient as it is. Hooks \
               run in the order in which they were registered, and before `.grad` is written. Gives a handle: \
               `handle.remove()` takes the hook away. A closure that captures `x` itself keeps it alive.",
    },
    Page {
        name: "remove",
        call: "handle.remove()",
        text: "Takes away the hook that `register_hook` gave the handle for; a second time does nothing.",
    },
];

/// A closure that sees gradients.
pub struct Hook(pub Callback);

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    engine.register_fn("no_grad", || ContextManager::new("no_grad", || Ok(set_grad_mode(false))));
    engine.register_fn("enable_grad", || ContextManager::new("enable_grad", || Ok(set_grad_mode(true))));
    engine.register_fn("set_grad_enabled", |on: bool| {
        ContextManager::new("set_grad_enabled", move || Ok(set_grad_mode(on)))
    });
    engine.register_fn("is_grad_enabled", grad_enabled);
    engine.register_fn("detect_anomaly", || watching(&Map::new()));
    engine.register_fn("detect_anomaly", |options: Map| watching(&options));
    grad_property(engine);
    backward(engine, &machine.shared);
    hooks(engine);
    let mut module = Module::new();
    let shared = Arc::clone(&machine.shared);
    module.set_native_fn("grad", move |ctx: NativeCallContext, y: Dynamic, xs: Dynamic| {
        grads(&shared, &ctx, &y, &xs, &Map::new())
    });
    let shared = Arc::clone(&machine.shared);
    module.set_native_fn("grad", move |ctx: NativeCallContext, y: Dynamic, xs: Dynamic, options: Map| {
        grads(&shared, &ctx, &y, &xs, &options)
    });
    module.set_native_fn("detect_anomaly", || watching(&Map::new()));
    module.set_native_fn("detect_anomaly", |options: Map| watching(&options));
    engine.register_static_module("autograd", module.into());
}

/// `with detect_anomaly() { … }`: NaN in a gradient is an error there, and errors of the backward pass name the
/// line of the operation. `#{check_nan: false}` lets NaN through.
fn watching(options: &Map) -> RhaiResult<ContextManager> {
    let mut how = Watch::Nan;
    for (name, value) in options {
        match (name.as_str(), value.as_bool()) {
            ("check_nan", Ok(true)) => how = Watch::Nan,
            ("check_nan", Ok(false)) => how = Watch::Lines,
            _ => return Err(raise(unknown("detect_anomaly", name, value, &["check_nan"]))),
        }
    }
    Ok(ContextManager::new("detect_anomaly", move || Ok(set_watch(how))))
}

fn grad_property(engine: &mut Engine) {
    engine.register_get("grad", |x: &mut Tensor| x.grad().map_or(Dynamic::UNIT, Dynamic::from));
    engine.register_set("grad", |x: &mut Tensor, value: Dynamic| -> RhaiResult<()> {
        let grad = match value.read_lock::<Tensor>() {
            Some(g) if g.shape() != x.shape() => {
                let (got, want) = (g.shape().to_vec(), x.shape());
                let text = format!("assigned grad has data of a different size: {got:?} against {want:?}");
                return Err(raise(Error::runtime(text)));
            }
            Some(g) => Some(g.clone()),
            None if value.is_unit() => None,
            None => {
                let text = format!("a gradient is a Tensor or (), not a {}", type_name(&value));
                return Err(raise(Error::type_error(text)));
            }
        };
        x.set_grad(grad);
        Ok(())
    });
    engine.register_set("requires_grad", |x: &mut Tensor, on: bool| x.set_requires_grad(on).map_err(raise));
}

fn hooks(engine: &mut Engine) {
    engine.register_type_with_name::<Handle>("RemovableHandle");
    engine.register_fn("register_hook", |x: &mut Tensor, function: FnPtr| {
        x.register_hook(Arc::new(Hook(Callback::new(function)))).map_err(raise)
    });
    engine.register_fn("remove", |handle: &mut Handle| handle.remove());
}

fn backward(engine: &mut Engine, shared: &Arc<Shared>) {
    fn run(
        shared: &Shared,
        ctx: &NativeCallContext,
        y: &Tensor,
        g: Option<&Tensor>,
        options: &Map,
    ) -> RhaiResult<()> {
        note_line(shared, ctx);
        let again = Again::new(ctx);
        pass(options).and_then(|p| y.backward_by(g, p, &again)).map_err(|e| again.raised(e))
    }
    let here = Arc::clone(shared);
    engine.register_fn("backward", move |ctx: NativeCallContext, y: &mut Tensor| {
        run(&here, &ctx, y, None, &Map::new())
    });
    let here = Arc::clone(shared);
    engine.register_fn("backward", move |ctx: NativeCallContext, y: &mut Tensor, g: Tensor| {
        run(&here, &ctx, y, Some(&g), &Map::new())
    });
    let here = Arc::clone(shared);
    engine.register_fn("backward", move |ctx: NativeCallContext, y: &mut Tensor, options: Map| {
        run(&here, &ctx, y, None, &options)
    });
    let here = Arc::clone(shared);
    engine.register_fn("backward", move |ctx: NativeCallContext, y: &mut Tensor, g: Tensor, options: Map| {
        run(&here, &ctx, y, Some(&g), &options)
    });
}

fn pass(options: &Map) -> Result<Pass> {
    let mut pass = Pass::default();
    for (name, value) in options {
        match (name.as_str(), value.as_bool()) {
            ("retain_graph", Ok(flag)) => pass.retain_graph = flag,
            ("create_graph", Ok(flag)) => pass.create_graph = flag,
            _ => return Err(unknown("backward", name, value, &["retain_graph", "create_graph"])),
        }
    }
    Ok(pass)
}

/// An option that is not there, or one whose value is no bool.
fn unknown(function: &str, name: &str, value: &Dynamic, known: &[&str]) -> Error {
    if known.contains(&name) {
        let got = type_name(value);
        return Error::type_error(format!("{function}(): '{name}' must be true or false, not {got}"));
    }
    unknown_option(function, name, known)
}

fn grads(
    shared: &Shared,
    ctx: &NativeCallContext,
    y: &Dynamic,
    xs: &Dynamic,
    options: &Map,
) -> RhaiResult<Array> {
    note_line(shared, ctx);
    let again = Again::new(ctx);
    let run = || {
        let (outputs, inputs) = (tensors(y)?, tensors(xs)?);
        let mut how = Pass::default();
        let (mut allow_unused, mut seeds) = (false, Vec::new());
        for (name, value) in options {
            match (name.as_str(), value.as_bool()) {
                ("retain_graph", Ok(flag)) => how.retain_graph = flag,
                ("create_graph", Ok(flag)) => how.create_graph = flag,
                ("allow_unused", Ok(flag)) => allow_unused = flag,
                ("grad_outputs", _) if value.is_unit() => {}
                ("grad_outputs", _) => seeds = tensors(value)?,
                _ => {
                    let known = ["retain_graph", "create_graph", "allow_unused", "grad_outputs"];
                    return Err(unknown("grad", name, value, &known));
                }
            }
        }
        let (outputs, inputs): (Vec<&Tensor>, Vec<&Tensor>) =
            (outputs.iter().collect(), inputs.iter().collect());
        let seeds: Vec<Option<&Tensor>> = seeds.iter().map(Some).collect();
        let found = Tensor::grads_of_by(&outputs, &inputs, &seeds, how, &again)?;
        match found.iter().position(Option::is_none) {
            Some(i) if !allow_unused => Err(Error::runtime(format!(
                "The differentiated Tensor at index {i} appears to not have been used in the graph. Set \
                 allow_unused=True if this is the desired behavior."
            ))
            .with_hint("with `#{allow_unused: true}` its gradient is `()`")),
            _ => Ok(found),
        }
    };
    let found = run().map_err(|e| again.raised(e))?;
    Ok(found.into_iter().map(|g| g.map_or(Dynamic::UNIT, Dynamic::from)).collect())
}

fn tensors(value: &Dynamic) -> Result<Vec<Tensor>> {
    let one = |v: &Dynamic| {
        v.read_lock::<Tensor>()
            .map(|t| t.clone())
            .ok_or_else(|| Error::type_error(format!("a Tensor is expected, not a {}", type_name(v))))
    };
    match value.read_lock::<Array>() {
        Some(items) => items.iter().map(one).collect(),
        None => Ok(vec![one(value)?]),
    }
}
