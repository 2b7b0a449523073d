//! Script functions that run beside the script: on a loader's worker threads, after the call that took them.

use std::any::Any;
use std::sync::{Arc, OnceLock, RwLock};

use rhai::{
    Dynamic, Engine, EvalAltResult, FnPtr, GlobalRuntimeState, Module, NativeCallContext, Position, Shared,
};

use crate::base::chain::Link;
use crate::base::error::FunctionPlace;
use crate::base::{Cause, Error, Result};
use crate::data::dataset::{Function, Run};
use crate::op::{Copies, Value};

use super::arity::Takes;
use super::caught;
use super::fault::{Traced, Vocabulary, innermost, shown};
use super::modules::exits;
use super::value::{Callback, Held, from_dynamic, given, to_dynamic};

/// An engine for such functions, made when the first one is taken.
#[derive(Clone)]
pub struct Aside(Arc<AsideInner>);

struct AsideInner {
    make: Box<dyn Fn() -> Engine + Send + Sync>,
    engine: OnceLock<Arc<Engine>>,
    words: Vocabulary,
    latest: Latest,
    fork: Fork,
}

/// What begins the copies of all that one worker has.
pub(super) type Fork = fn() -> Box<dyn Copies>;

/// The functions of everything that a session has evaluated: a variable that a function of an earlier cell has captured
/// may hold one of a later cell.
#[derive(Clone, Default)]
pub(super) struct Latest(Arc<RwLock<Option<Shared<Module>>>>);

impl Latest {
    pub(super) fn set(&self, functions: &Shared<Module>) {
        *self.0.write().unwrap_or_else(|e| e.into_inner()) = Some(Shared::clone(functions));
    }

    /// What a call of then sees now, where that is more.
    fn seen_by(&self, global: &GlobalRuntimeState) -> Option<GlobalRuntimeState> {
        let latest = self.0.read().unwrap_or_else(|e| e.into_inner());
        let latest = latest.as_ref()?;
        if global.lib.first().is_some_and(|own| Arc::ptr_eq(own, latest)) {
            return None;
        }
        let mut global = global.clone();
        global.lib.clear();
        global.lib.push(Shared::clone(latest));
        Some(global)
    }
}

impl Aside {
    /// Engines for what runs beside the script, made when they are needed.
    pub(super) fn new(
        make: impl Fn() -> Engine + Send + Sync + 'static,
        words: Vocabulary,
        latest: &Latest,
        fork: Fork,
    ) -> Aside {
        let latest = latest.clone();
        Aside(Arc::new(AsideInner { make: Box::new(make), engine: OnceLock::new(), words, latest, fork }))
    }

    /// A script's function as a value that any thread can call. It sees the functions and constants that the call of
    /// `context` sees.
    pub fn function(&self, context: &NativeCallContext, function: FnPtr) -> Function {
        let engine = Arc::clone(self.0.engine.get_or_init(|| Arc::new((self.0.make)())));
        let global: GlobalRuntimeState = context.global_runtime_state().clone();
        let (function, words, latest) = (Callback::new(function), self.0.words, self.0.latest.clone());
        let fork = self.0.fork;
        Function(Link::new(Arc::new(AsideFunction { engine, global, function, words, latest, fork })))
    }
}

/// A script's function with where it runs and what it sees.
pub(super) struct AsideFunction {
    engine: Arc<Engine>,
    global: GlobalRuntimeState,
    function: Callback,
    words: Vocabulary,
    latest: Latest,
    fork: Fork,
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
        let (engine, words, latest) = (Arc::clone(&self.engine), self.words, self.latest.clone());
        Ok(AsideFunction { engine, global, function, words, latest, fork: self.fork })
    }

    /// What it gives, or its error with the line of its code where that is known.
    pub(super) fn called(&self, args: Vec<Dynamic>) -> std::result::Result<Dynamic, (Error, Option<usize>)> {
        let latest = self.latest.seen_by(&self.global);
        let global = latest.as_ref().unwrap_or(&self.global);
        let context: NativeCallContext =
            (&*self.engine, self.function.function().fn_name(), None, global, Position::NONE).into();
        self.function.call(&context, args).map_err(|e| self.apart(&e))
    }

    /// What the function takes that is called, if it is the one of a name.
    fn takes(&self, name: &str) -> Option<Takes> {
        /// Parameters of a function.
        const MOST: usize = 32;
        let function = self.function.function();
        let all = self.global.lib.iter().filter(|_| function.fn_name() == name);
        let mut found = all.filter_map(|lib| (0..MOST).find_map(|count| lib.get_script_fn(name, count)));
        let params = found.next()?.params.iter().map(|param| param.to_string()).collect();
        Some(Takes { params, captured: function.curry().len() })
    }

    /// A script's error as a value with the place where it happened, and the line of that.
    fn apart(&self, error: &EvalAltResult) -> (Error, Option<usize>) {
        let Traced { inner, calls } = innermost(error);
        let error = match inner {
            EvalAltResult::ErrorTerminated(..) => return (Cause::Interrupted.into(), None),
            EvalAltResult::ErrorRuntime(value, _) => match value.read_lock::<Error>() {
                Some(thrown) => thrown.clone(),
                None => Error::runtime(shown(value)),
            },
            EvalAltResult::Exit(value, _) => Cause::Exit(exits::given(value)).into(),
            other => caught::of_rhai(other, &[], self.words, &|name| self.takes(name)),
        };
        let Some(call) = calls.last() else { return (error, None) };
        let line = call.position.line();
        let place = line.and_then(|line| {
            Some(FunctionPlace {
                function: call.function.unwrap_or(self.function.function().fn_name()).to_owned(),
                line: u16::try_from(line).ok()?,
                column: u16::try_from(call.position.position().unwrap_or_default()).ok()?,
            })
        });
        match place {
            Some(place) => (error.in_function(place), line),
            None => (error, line),
        }
    }
}

impl Run for AsideFunction {
    fn run(&self, args: Vec<Value>) -> Result<Value> {
        let result = self.called(args.into_iter().map(to_dynamic).collect());
        result.map_err(|(error, _)| error).and_then(|value| from_dynamic(&value))
    }

    fn copies(&self) -> Option<Box<dyn Copies>> {
        Some((self.fork)())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
