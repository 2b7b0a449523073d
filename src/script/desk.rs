//! What lies between a check's engine and the learner's: values as a check gets them, and calls of what the learner wrote.

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{AST, Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, Map, Scope};

use crate::base::figures::plural;
use crate::base::{self, DType, Device, Error, Kind};
use crate::device::Machine;
use crate::device::examine::{Examination, NO_CHANGE};
use crate::nn::{Module, Role};
use crate::script::maps::map_of;
use crate::tensor::Tensor;

use super::arity::Takes;
use super::calling::Calling;
use super::engine::Interpreter;
use super::fault::{Fault, KnownNames, Origin, RhaiResult, raise};
use super::lender::{HandedFunction, Lender};
use super::lent::{Learners, Lent};
use super::sources::Sources;
use super::value::type_name;
use super::{constants, culprit, help, phrases, syntax};

/// What lies between the two engines while a check runs.
pub(super) struct Desk {
    pub machine: Arc<Machine>,
    /// The learner's code runs for the check.
    pub calling: Arc<AtomicBool>,
    pub state: Mutex<DeskState>,
}

#[derive(Default)]
pub(super) struct DeskState {
    pub learner: Option<Learner>,
    /// Copies of the learner's modules, by the numbers of what they are copies of.
    pub modules: HashMap<usize, Module>,
    /// Those that there are copies of: what a call gave would be gone, and its number another's.
    pub held: Vec<Module>,
    /// Modes of modules that the lesson gave, as they were.
    pub given: HashMap<usize, bool>,
    /// Leaves of its that had no gradient.
    pub bare: HashSet<usize>,
    /// Where its tensors lay.
    pub places: HashMap<usize, Device>,
    /// Closures and modules that lie in the learner's variables.
    pub named: HashMap<String, Dynamic>,
    /// Those of them that the lesson gave: no function of the learner's stands in their place.
    pub fixed: HashSet<String>,
    /// What the learner's other variables hold, which no check can call.
    pub values: HashMap<String, String>,
    /// One of the learner's variables holds a dtype.
    pub has_dtypes: bool,
    pub failed: Option<Box<Fault>>,
    pub missing: Option<String>,
}

/// What calls of the learner's code need.
#[derive(Clone)]
pub(super) struct Learner {
    engine: Arc<Engine>,
    library: AST,
    constants: Vec<(String, Dynamic)>,
    sources: Sources,
}

impl Desk {
    pub(super) fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A value of the learner's as a check gets it.
    pub(super) fn hand(&self, value: &Dynamic) -> Dynamic {
        let value = value.flatten_clone();
        if let Some(items) = value.read_lock::<Array>() {
            return Dynamic::from_array(items.iter().map(|item| self.hand(item)).collect());
        }
        if let Some(entries) = value.read_lock::<Map>() {
            let handed = entries.iter().map(|(name, item)| (name.clone(), self.hand(item)));
            return Dynamic::from_map(map_of(handed));
        }
        if let Some(function) = value.read_lock::<FnPtr>() {
            return Dynamic::from(HandedFunction::new(function.clone()));
        }
        if let Some(module) = value.read_lock::<Module>() {
            let mut state = self.lock();
            state.held.push(module.clone());
            // What runs it in training mode writes into its buffers.
            let buffers: HashSet<usize> =
                module.named(Role::Buffer).into_iter().map(|(_, t)| t.id()).collect();
            let own = |t: &Tensor| match buffers.contains(&t.id()) {
                true => t.copied(t.dtype(), "clone").unwrap_or_else(|_| t.clone()),
                false => t.clone(),
            };
            return Dynamic::from(module.copied(&mut { own }, &mut state.modules));
        }
        value
    }

    /// Calls what the learner wrote, or a module, with the check's arguments.
    pub(super) fn call(&self, f: &Dynamic, args: &Dynamic) -> RhaiResult<Dynamic> {
        let args = match args.read_lock::<Array>() {
            Some(items) => items.clone(),
            None => Array::from([args.clone()]),
        };
        if let Some(dtype) = f.read_lock::<DType>().filter(|_| !self.lock().has_dtypes) {
            return Err(raise(
                Error::type_error(format!("{} {}", culprit::NO_CALL, *dtype)).with_hint(IN_QUOTES),
            ));
        }
        self.check_defined(f)?;
        self.or_put_back(|puts_back| self.call_lent(f, &args, puts_back))
    }

    /// Runs something; where it fails and meets what was moved since the lesson gave it, once more with that where it
    /// was. What runs tells whether it met such a thing.
    fn or_put_back(&self, run: impl Fn(bool) -> (RhaiResult<Dynamic>, bool)) -> RhaiResult<Dynamic> {
        let (result, met_moved) = run(false);
        if result.is_ok() || !met_moved || self.machine.shared.cancel.is_set() {
            return result;
        }
        let failed = self.lock().failed.take();
        let (again, _) = run(true);
        if again.is_err() {
            self.lock().failed = failed;
            return result;
        }
        again
    }

    /// Fails where a name is no function of the learner's or the lesson's: the language's own are none.
    fn check_defined(&self, f: &Dynamic) -> RhaiResult<()> {
        let Some(name) = f.read_lock::<ImmutableString>().filter(|name| is_name(name)) else { return Ok(()) };
        let mut state = self.lock();
        let is_known = state.learner.as_ref().is_some_and(|learner| learner.takes(&name).is_some());
        if is_known || state.named.contains_key(name.as_str()) {
            return Ok(());
        }
        if let Some(kind) = state.values.get(name.as_str()) {
            let text = format!("the check calls `{}`, which is no function but {kind}", *name);
            drop(state);
            return Err(self.fail(Error::type_error(text)));
        }
        state.missing = Some(format!("{}()", *name));
        Err(raise(Error::runtime(format!("there is no function '{}'", *name))))
    }

    /// The same with copies of all.
    fn call_lent(&self, f: &Dynamic, args: &Array, puts_back: bool) -> (RhaiResult<Dynamic>, bool) {
        let mut lender = self.lender(Lent::Copies, puts_back);
        let mut lent = || {
            // What the learner's code gets is its own.
            let _paused = Examination::pause();
            let args = args.iter().map(|value| lender.of_check(value)).collect::<base::Result<Array>>()?;
            let function = lender.of_check(&self.named(f))?;
            Ok((args, function, self.constants(&mut lender)?))
        };
        let result = lent().map_err(raise);
        let result =
            result.and_then(|(args, function, scope)| self.run(&function, args, scope, Lent::Copies));
        (result, lender.met_moved())
    }

    /// Runs a function that the learner's values hold.
    fn run_lent(
        &self,
        function: &FnPtr,
        args: &[Dynamic],
        (lent, puts_back): (Lent, bool),
    ) -> (RhaiResult<Dynamic>, bool) {
        let mut lender = self.lender(lent, puts_back);
        let mut copies = || {
            let _paused = (lent == Lent::Copies).then(Examination::pause);
            let args = args.iter().map(|value| lender.of_learner(value)).collect::<base::Result<Array>>()?;
            let function = Dynamic::from(lender.function(function)?);
            Ok((args, function, self.constants(&mut lender)?))
        };
        let result = copies().map_err(raise);
        let result = result.and_then(|(args, function, scope)| self.run(&function, args, scope, lent));
        (result, lender.met_moved())
    }

    fn lender(&self, lent: Lent, puts_back: bool) -> Lender {
        let state = self.lock();
        let originals = state.modules.iter().map(|(id, handed)| (handed.id(), *id)).collect();
        Lender::new(lent, &self.machine.generator, originals)
            .with_given(state.given.clone(), state.bare.clone())
            .with_places(state.places.clone(), puts_back)
    }

    /// Copies of the learner's constants, which functions know as `global::NAME`.
    fn constants(&self, lender: &mut Lender) -> base::Result<Scope<'static>> {
        let all = self.lock().learner.as_ref().map(|learner| learner.constants.clone());
        let mut scope = Scope::new();
        for (name, value) in all.unwrap_or_default() {
            scope.push_constant_dynamic(name, lender.of_learner(&value)?.flatten());
        }
        Ok(scope)
    }

    /// What a name stands for where it is that of a variable, and no function has it.
    fn named(&self, f: &Dynamic) -> Dynamic {
        let Some(name) = f.read_lock::<ImmutableString>() else { return f.clone() };
        let state = self.lock();
        let is_function = state.learner.as_ref().is_some_and(|learner| learner.takes(&name).is_some());
        let is_function = is_function && !state.fixed.contains(name.as_str());
        let held = state.named.get(name.as_str()).filter(|_| !is_function);
        held.unwrap_or(f).clone()
    }

    fn run(&self, function: &Dynamic, args: Array, scope: Scope<'static>, lent: Lent) -> RhaiResult<Dynamic> {
        let Some(learner) = self.lock().learner.clone() else {
            return Err(raise(Error::runtime("call() stands in a check alone")));
        };
        self.lock().missing = None;
        self.calling.store(true, Ordering::Relaxed);
        let result = {
            let _here = self.machine.enter();
            let _paused = (lent == Lent::Copies).then(Examination::pause);
            let _calling = Calling::begin();
            learner.call(function, args, scope)
        };
        // It stays so where the call was interrupted: then it is the learner's code that takes so long.
        self.calling.store(self.machine.shared.cancel.is_set(), Ordering::Relaxed);
        match result {
            Ok(Some(value)) => Ok(self.hand(&value)),
            Ok(None) => {
                let text = "your code calls exit(), which ends everything before the check has its value";
                Err(self.fail(Error::runtime(text)))
            }
            Err(error) => Err(self.note(&error, function)),
        }
    }

    /// Remembers that the learner's code is at fault.
    fn fail(&self, error: Error) -> Box<EvalAltResult> {
        self.lock().failed = Some(Box::new(Fault::from_error(&error)));
        raise(error)
    }

    /// Remembers what the learner's code stopped with.
    fn note(&self, error: &EvalAltResult, function: &Dynamic) -> Box<EvalAltResult> {
        let mut state = self.lock();
        if let (EvalAltResult::ErrorFunctionNotFound(..), Some(name)) =
            (error, function.read_lock::<ImmutableString>())
            && let Some(takes) = state.learner.as_ref().and_then(|learner| learner.takes(&name))
        {
            let takes = plural(takes as u64, "argument", "arguments");
            let text = format!("'{}' takes {takes}, the check calls it with another number of them", *name);
            drop(state);
            return self.fail(Error::type_error(text));
        }
        if let (EvalAltResult::ErrorFunctionNotFound(signature, _), Some(closure)) =
            (error, function.read_lock::<FnPtr>())
            && signature.starts_with(closure.fn_name())
        {
            drop(state);
            let text = "the closure takes another number of arguments than the check calls it with";
            return self.fail(Error::type_error(text));
        }
        let Some(learner) = state.learner.clone() else {
            return raise(Error::runtime(error.to_string()));
        };
        let mut fault = learner.fault_of(error);
        // Where it stands in the attempt; a function of an earlier cell has lines of its own.
        fault.line = fault
            .elsewhere
            .as_ref()
            .filter(|place| learner.sources.is_last(&place.file))
            .map(|place| place.line);
        // A check that catches it asks for its kind, as the learner's own code may.
        let kind = Kind::named(&fault.kind).unwrap_or(Kind::RuntimeError);
        let raised = Error::new(kind, fault.message.clone());
        state.failed = Some(Box::new(fault));
        raise(raised)
    }
}

impl Learner {
    pub(super) fn of(interpreter: &Interpreter) -> Learner {
        let (engine, library) = interpreter.parts();
        let constants = interpreter.newest().into_iter().filter(|(_, constant, _)| *constant);
        let constants = constants.map(|(name, _, value)| (name.to_owned(), value)).collect();
        Learner { engine, library, constants, sources: interpreter.sources().clone() }
    }

    /// How many arguments a function of the learner's takes.
    fn takes(&self, name: &str) -> Option<usize> {
        self.library.iter_functions().find(|function| function.name == name).map(|f| f.params.len())
    }

    /// What its code stopped with, told as where a cell of the learner's calls it.
    fn fault_of(&self, error: &EvalAltResult) -> Fault {
        // No line of a check is the learner's to look at.
        let origin = Origin { name: "", code: "", first_line: 1 };
        let functions = self.library.iter_functions().map(|function| function.name);
        let names: Vec<&str> = functions.chain(help::all_names()).collect();
        let takes = |name: &str| Takes::of(name, &self.library, &self.library);
        let known =
            KnownNames { names: &names, members: help::members, written: help::written, takes: &takes };
        let fault = Fault::from_eval(error, &origin, &self.sources, &known, |_, _| ());
        phrases::cure_there(fault, &origin, &self.sources, || {
            let constants = self.constants.iter().map(|(name, value)| (name.as_str(), value.clone()));
            phrases::SessionNames::of(constants, &self.library)
        })
    }

    /// Calls a function by its name, a closure, or a module, as a cell of the learner's would; none where that ended
    /// everything, as `exit` does.
    fn call(self, function: &Dynamic, args: Array, mut scope: Scope<'static>) -> RhaiResult<Option<Dynamic>> {
        let names: Vec<String> = (0..args.len()).map(|i| format!("call_x{i}")).collect();
        let given = names.join(", ");
        let code = match function.read_lock::<ImmutableString>() {
            Some(name) if is_name(&name) => format!("{}({given})", *name),
            None if function.is::<FnPtr>() => {
                let between = if args.is_empty() { "" } else { ", " };
                format!("call(call_f{between}{given})")
            }
            None if function.is::<Module>() => format!("call_f.forward({given})"),
            _ => {
                let text =
                    format!("call() takes a function, its name or a module, not {}", type_name(function));
                return Err(raise(Error::type_error(text)));
            }
        };
        let code = format!("let call_value = {code}; call_returned = true; call_value");
        scope.push_dynamic("call_f", function.clone());
        scope.push("call_returned", false);
        for (name, value) in names.into_iter().zip(args) {
            scope.push_dynamic(name, value);
        }
        let told = constants::before(&self.engine.compile_with_scope(&scope, code)?, &scope);
        let program = self.library.merge(&told);
        let value = self.engine.eval_ast_with_scope(&mut scope, &program)?;
        Ok((scope.get_value("call_returned") == Some(true)).then_some(value))
    }
}

impl Learners for Desk {
    fn run(&self, function: &FnPtr, args: Vec<Dynamic>, lent: Lent) -> RhaiResult<Dynamic> {
        // Most functions read alone: their tensors, which may be all of the data, are not copied for each sample.
        let (result, met_moved) = self.run_lent(function, &args, (Lent::OwnTensors, false));
        let is_change = |failed: &Fault| failed.message.starts_with(NO_CHANGE);
        let is_done = result.is_ok() || lent == Lent::OwnTensors;
        if is_done || !met_moved && !self.lock().failed.as_deref().is_some_and(is_change) {
            return result;
        }
        self.lock().failed = None;
        self.or_put_back(|puts_back| self.run_lent(function, &args, (lent, puts_back)))
    }

    fn hand(&self, value: &Dynamic) -> Dynamic {
        Desk::hand(self, value)
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// What helps a check that calls a word of the language.
const IN_QUOTES: &str = "a function of that name is called in quotes: call(\"half\", [x])";

/// `f.call(x)`, where `f` is the learner's or the check's own.
pub(super) fn register_method(engine: &mut Engine, desk: &Arc<Desk>) {
    for count in 0..=MOST_ARGUMENTS {
        let types = |own: TypeId| std::iter::once(own).chain(vec![TypeId::of::<Dynamic>(); count]);
        let taken =
            |args: &mut [&mut Dynamic]| args.iter_mut().skip(1).map(|arg| arg.take()).collect::<Array>();
        let asked = Arc::clone(desk);
        let learners = types(TypeId::of::<HandedFunction>()).collect::<Vec<_>>();
        engine.register_raw_fn(syntax::CALL_METHOD, learners, move |_, args| {
            let f = args.first().map(|f| (**f).clone()).unwrap_or_default();
            asked.call(&f, &taken(args).into())
        });
        // What is no function is called by nobody.
        let asked = Arc::clone(desk);
        let any = types(TypeId::of::<Dynamic>()).collect::<Vec<_>>();
        engine.register_raw_fn(syntax::CALL_METHOD, any, move |_, args| {
            let f = args.first().map(|f| (**f).clone()).unwrap_or_default();
            if f.is_string() {
                let text = format!("a {} can't be called", type_name(&f));
                return Err(raise(Error::type_error(text)));
            }
            asked.call(&f, &taken(args).into())
        });
        let own = types(TypeId::of::<FnPtr>()).collect::<Vec<_>>();
        engine.register_raw_fn(syntax::CALL_METHOD, own, move |context, args| {
            let f = args.first().and_then(|f| f.read_lock::<FnPtr>().map(|f| f.clone()));
            let Some(f) = f else { return Ok(Dynamic::UNIT) };
            f.call_within_context::<Dynamic>(&context, taken(args))
        });
    }
}

/// How many arguments a method may be called with.
const MOST_ARGUMENTS: usize = 12;
