//! Gradients: `backward`, `.grad`, grad mode.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, Map, Module, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::{Machine, Shared};
use crate::script::bind::note_line;
use crate::script::fault::raise;
use crate::script::syntax::ContextManager;
use crate::script::value::type_name;
use crate::tensor::Tensor;
use crate::tensor::autograd::{grad_enabled, set_grad_mode};
use crate::tensor::backward::Pass;

use super::RhaiResult;
use super::checkpoint::Again;

pub const NAMES: &[&str] = &["backward", "grad", "no_grad", "enable_grad", "is_grad_enabled", "autograd"];

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    engine.register_fn("no_grad", || ContextManager::new("no_grad", || Ok(set_grad_mode(false))));
    engine.register_fn("enable_grad", || ContextManager::new("enable_grad", || Ok(set_grad_mode(true))));
    engine.register_fn("is_grad_enabled", grad_enabled);
    grad_property(engine);
    backward(engine, &machine.shared);
    let mut module = Module::new();
    let shared = Arc::clone(&machine.shared);
    module.set_native_fn("grad", move |ctx: NativeCallContext, y: Dynamic, xs: Dynamic| {
        grads(&shared, &ctx, &y, &xs, &Map::new())
    });
    let shared = Arc::clone(&machine.shared);
    module.set_native_fn("grad", move |ctx: NativeCallContext, y: Dynamic, xs: Dynamic, options: Map| {
        grads(&shared, &ctx, &y, &xs, &options)
    });
    engine.register_static_module("autograd", module.into());
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
        let flag = value.as_bool().map_err(|_| {
            Error::type_error(format!("backward(): '{name}' must be true or false, not {}", type_name(value)))
        })?;
        match name.as_str() {
            "retain_graph" => pass.retain_graph = flag,
            "create_graph" => pass.create_graph = flag,
            _ => {
                return Err(Error::type_error(format!("backward() got an unknown option '{name}'"))
                    .with_hint("options are retain_graph and create_graph"));
            }
        }
    }
    Ok(pass)
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
        let (outputs, inputs): (Vec<&Tensor>, Vec<&Tensor>) =
            (outputs.iter().collect(), inputs.iter().collect());
        Tensor::grads_of_by(&outputs, &inputs, &[], pass(options)?, &again)
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
