//! Script functions that run beside the script: on a loader's worker threads, after the call that took them.

use std::sync::{Arc, OnceLock};

use rhai::{Dynamic, Engine, EvalAltResult, FnPtr, GlobalRuntimeState, NativeCallContext, Position};

use crate::base::Error;
use crate::base::chain::Link;
use crate::data::dataset::Function;

use super::value::{Callback, from_dynamic, to_dynamic};

/// An engine for such functions, made when the first one is taken.
#[derive(Clone)]
pub struct Aside(Arc<AsideInner>);

struct AsideInner {
    make: Box<dyn Fn() -> Engine + Send + Sync>,
    engine: OnceLock<Arc<Engine>>,
}

impl Aside {
    /// Engines for what runs beside the script, made when they are needed.
    pub fn new(make: impl Fn() -> Engine + Send + Sync + 'static) -> Aside {
        Aside(Arc::new(AsideInner { make: Box::new(make), engine: OnceLock::new() }))
    }

    /// A script's function as a value that any thread can call. It sees the functions and constants that the call of
    /// `context` sees.
    pub fn function(&self, context: &NativeCallContext, function: FnPtr) -> Function {
        let engine = Arc::clone(self.0.engine.get_or_init(|| Arc::new((self.0.make)())));
        let global: GlobalRuntimeState = context.global_runtime_state().clone();
        let function = Callback::new(function);
        Function(Link::new(Arc::new(move |args| {
            let context: NativeCallContext =
                (&*engine, function.function().fn_name(), None, &global, Position::NONE).into();
            let args: Vec<Dynamic> = args.into_iter().map(to_dynamic).collect();
            let result = function.call(&context, args);
            result.map_err(|e| flat(&e)).and_then(|value| from_dynamic(&value))
        })))
    }
}

/// A script's error as a value, with the line where it happened.
fn flat(error: &EvalAltResult) -> Error {
    let mut at = error;
    let mut position = error.position();
    while let EvalAltResult::ErrorInFunctionCall(_, _, inner, _) | EvalAltResult::ErrorInModule(_, inner, _) =
        at
    {
        at = inner;
        if !at.position().is_none() {
            position = at.position();
        }
    }
    let place = position.line().map(|line| format!("\nin line {line}")).unwrap_or_default();
    match at {
        EvalAltResult::ErrorTerminated(..) => crate::base::Cause::Interrupted.into(),
        EvalAltResult::ErrorRuntime(value, _) => match value.read_lock::<Error>() {
            Some(thrown) => crate::data::dataset::noted(thrown.clone(), place.trim_start()),
            None => Error::runtime(format!("{value}{place}")),
        },
        other => {
            let mut text = other.to_string();
            if let Some(end) = text.rfind(" (line ") {
                text.truncate(end);
            }
            Error::runtime(format!("{text}{place}"))
        }
    }
}
