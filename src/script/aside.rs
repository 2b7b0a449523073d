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
        Ok(Function(Link::new(Arc::new(self.copy(copies)?))))
    }

    /// The same, as what it is.
    pub(super) fn copy(&self, copies: &mut dyn Copies) -> Result<AsideFunction> {
        let mut global = self.global.clone();
        if let Some(constants) = &self.global.constants {
            let all = rhai::Locked::read(constants).map(|all| all.clone()).unwrap_or_default();
            let one = |(name, value)| Ok((name, given(&copies.value(&Held(value).into_value())?)));
            let all = all.into_iter().map(one).collect::<Result<_>>()?;
            global.constants = Some(rhai::Shared::new(rhai::Locked::new(all)));
        }
        let function = self.function.copied_with(copies)?;
        let engine = Arc::clone(&self.engine);
        Ok(AsideFunction { engine, global, function })
    }

    /// What it gives, or its error with the line of its code where that is known.
    pub(super) fn called(&self, args: Vec<Dynamic>) -> std::result::Result<Dynamic, (Error, Option<usize>)> {
        let context: NativeCallContext =
            (&*self.engine, self.function.function().fn_name(), None, &self.global, Position::NONE).into();
        self.function.call(&context, args).map_err(|e| apart(&e))
    }
}

impl Run for AsideFunction {
    fn run(&self, args: Vec<Value>) -> Result<Value> {
        let result = self.called(args.into_iter().map(to_dynamic).collect());
        result.map_err(flat).and_then(|value| from_dynamic(&value))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A script's error as a value, with the line where it happened.
fn flat((error, line): (Error, Option<usize>)) -> Error {
    match line {
        Some(line) => crate::data::dataset::noted(error, &format!("in line {line}")),
        None => error,
    }
}

/// A script's error as a value, and the line where it happened.
fn apart(error: &EvalAltResult) -> (Error, Option<usize>) {
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
    let error = match at {
        EvalAltResult::ErrorTerminated(..) => crate::base::Cause::Interrupted.into(),
        EvalAltResult::ErrorRuntime(value, _) => match value.read_lock::<Error>() {
            Some(thrown) => thrown.clone(),
            None => Error::runtime(value.to_string()),
        },
        other => {
            let mut text = other.to_string();
            if let Some(end) = text.rfind(" (line ") {
                text.truncate(end);
            }
            Error::runtime(text)
        }
    };
    (error, position.line())
}
