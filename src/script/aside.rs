//! Script functions that run beside the script: on a loader's worker threads, after the call that took them.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use rhai::{Dynamic, Engine, EvalAltResult, FnPtr, GlobalRuntimeState, NativeCallContext, Position};

use crate::base::chain::Link;
use crate::base::{Error, Result};
use crate::data::dataset::{Function, Run};
use crate::op::{Copies, Value};

use super::value::{Callback, Held, from_dynamic, given, to_dynamic};

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
        Function(Link::new(Arc::new(AsideFunction { engine, global, function })))
    }
}

/// A script's function with where it runs and what it sees.
pub(super) struct AsideFunction {
    engine: Arc<Engine>,
    global: GlobalRuntimeState,
    function: Callback,
}

impl AsideFunction {
    /// A copy of what it has captured, which sees copies of the constants.
    pub(super) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Function> {
        let mut global = self.global.clone();
        if let Some(constants) = &self.global.constants {
            let all = rhai::Locked::read(constants).map(|all| all.clone()).unwrap_or_default();
            let one = |(name, value)| Ok((name, given(&copies.value(&Held(value).into_value())?)));
            let all = all.into_iter().map(one).collect::<Result<_>>()?;
            global.constants = Some(rhai::Shared::new(rhai::Locked::new(all)));
        }
        let function = self.function.copied_with(copies)?;
        let engine = Arc::clone(&self.engine);
        Ok(Function(Link::new(Arc::new(AsideFunction { engine, global, function }))))
    }
}

impl Run for AsideFunction {
    fn run(&self, args: Vec<Value>) -> Result<Value> {
        let context: NativeCallContext =
            (&*self.engine, self.function.function().fn_name(), None, &self.global, Position::NONE).into();
        let args: Vec<Dynamic> = args.into_iter().map(to_dynamic).collect();
        let result = self.function.call(&context, args);
        result.map_err(|e| flat(&e)).and_then(|value| from_dynamic(&value))
    }

    fn as_any(&self) -> &dyn Any {
        self
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
