//! `cudnn::`, `matmul::` and determinism: what PyTorch has under `torch.backends` and beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rhai::{Engine, Map, Module};

use crate::base::Error;
use crate::device::settings::{Determinism, Settings};
use crate::device::{Machine, Shared};
use crate::script::fault::raise;
use crate::script::value::type_name;

use super::super::unknown_option;
use super::RhaiResult;

type Switch = fn(&Settings) -> &AtomicBool;

pub(super) fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let shared = &machine.shared;
    let mut cudnn = Module::new();
    switch(&mut cudnn, shared, "enabled", |s| &s.cudnn_enabled);
    switch(&mut cudnn, shared, "benchmark", |s| &s.cudnn_benchmark);
    switch(&mut cudnn, shared, "deterministic", |s| &s.cudnn_deterministic);
    switch(&mut cudnn, shared, "allow_tf32", |s| &s.cudnn_tf32);
    engine.register_static_module("cudnn", cudnn.into());
    let mut matmul = Module::new();
    switch(&mut matmul, shared, "allow_tf32", |s| &s.matmul_tf32);
    engine.register_static_module("matmul", matmul.into());
    precision(engine, shared);
    determinism(engine, shared);
}

/// `name()` asks and `name(on)` sets; both give the state after it.
fn switch(module: &mut Module, shared: &Arc<Shared>, name: &str, of: Switch) {
    let here = Arc::clone(shared);
    module.set_native_fn(name, move || Ok(of(&here.settings).load(Ordering::Relaxed)));
    let here = Arc::clone(shared);
    module.set_native_fn(name, move |on: bool| {
        of(&here.settings).store(on, Ordering::Relaxed);
        Ok(on)
    });
}

fn precision(engine: &mut Engine, shared: &Arc<Shared>) {
    let here = Arc::clone(shared);
    engine.register_fn("set_float32_matmul_precision", move |name: &str| -> RhaiResult<()> {
        let tf32 = match name {
            "highest" => false,
            "high" | "medium" => true,
            _ => {
                let text = format!("float32 matmul precision can't be '{name}'");
                return Err(raise(Error::value(text).with_hint(
                    "\"highest\" computes in float32; \"high\" and \"medium\" let devices use TF32",
                )));
            }
        };
        here.settings.matmul_tf32.store(tf32, Ordering::Relaxed);
        Ok(())
    });
    let here = Arc::clone(shared);
    engine.register_fn("get_float32_matmul_precision", move || {
        let tf32 = here.settings.matmul_tf32.load(Ordering::Relaxed);
        if tf32 { "high" } else { "highest" }.to_string()
    });
}

fn determinism(engine: &mut Engine, shared: &Arc<Shared>) {
    let set = |shared: &Shared, on: bool, warn_only: bool| {
        shared.settings.set_determinism(match (on, warn_only) {
            (false, _) => Determinism::Any,
            (true, true) => Determinism::Warn,
            (true, false) => Determinism::Required,
        });
    };
    let here = Arc::clone(shared);
    engine.register_fn("use_deterministic_algorithms", move |on: bool| set(&here, on, false));
    let here = Arc::clone(shared);
    engine.register_fn("use_deterministic_algorithms", move |on: bool, options: Map| -> RhaiResult<()> {
        let mut warn_only = false;
        for (name, value) in &options {
            match (name.as_str(), value.as_bool()) {
                ("warn_only", Ok(warn)) => warn_only = warn,
                ("warn_only", Err(_)) => {
                    let text = format!("'warn_only' must be bool, not {}", type_name(value));
                    return Err(raise(Error::type_error(text)));
                }
                _ => return Err(raise(unknown_option("use_deterministic_algorithms", name, &["warn_only"]))),
            }
        }
        set(&here, on, warn_only);
        Ok(())
    });
    let here = Arc::clone(shared);
    engine.register_fn("are_deterministic_algorithms_enabled", move || {
        here.settings.determinism() != Determinism::Any
    });
    let here = Arc::clone(shared);
    engine.register_fn("is_deterministic_algorithms_warn_only_enabled", move || {
        here.settings.determinism() == Determinism::Warn
    });
}
