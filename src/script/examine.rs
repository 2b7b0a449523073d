//! What a lesson's check sees of a learner's session: values, handed over to an engine of its own.
//!
//! Nothing of the learner's runs in a check: functions and closures are handed over as names for them, modules as copies
//! of their structure, and whoever wants one called says `call(f, [args])`, which runs it in the learner's engine on
//! copies. Tensors are the learner's own, which [`Examination`] keeps a check from writing to. The check has generators
//! and a current device of its own, and the learner's stand as before when it ends; so do modes and switches.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rhai::{Dynamic, FnPtr, NativeCallContext, Scope};

use crate::base::near::nearest;
use crate::base::{DType, Device, Error};
use crate::device::Machine;
use crate::device::examine::Examination;
use crate::device::random::{DEFAULT_SEED, KeptGenerators};
use crate::nn::Module;
use crate::op::Form;
use crate::tensor::autograd::set_grad_mode;

use super::carry::{self, Mixing};
use super::desk::{Desk, DeskState, Learner, register_method};
use super::engine::{Interpreter, Limits, Stopped};
use super::fault::{Fault, NO_FIELD, Origin};
use super::host::Host;
use super::lender::HandedFunction;
use super::lent::Asked;
use super::modules::run_events::RunEvents;
use super::value::type_name;
use super::{culprit, help, syntax};

/// An engine for checks, beside that of the learner.
pub struct Examiner {
    room: Interpreter,
    desk: Arc<Desk>,
    /// Constants of the session.
    given: Vec<&'static str>,
    /// How many examinations there were: each draws other numbers.
    count: u64,
}

/// What the lesson gave, as it was then.
pub trait AsGiven {
    /// What stood under a name, where it is to be read as it was.
    fn value(&self, name: &str) -> Option<Dynamic>;

    /// Which modules were in training, by their numbers.
    fn modules(&self) -> &HashMap<usize, bool>;

    /// Leaves that had no gradient, by their numbers.
    fn bare(&self) -> &HashSet<usize>;

    /// Where tensors lay, by their numbers.
    fn places(&self) -> &HashMap<usize, Device>;
}

/// How a check ended, where it did not run to its end.
#[derive(Debug)]
pub enum Refused {
    /// The check asks for what the learner's code does not define.
    Missing(String),
    /// The learner's own code stopped while the check called it.
    Called(Box<Fault>),
    /// The learner's own code was interrupted while the check called it.
    CalledTooLong,
    /// The check stopped; `learners` says whether that may come of what the learner's code gave.
    Stopped { fault: Box<Fault>, learners: bool },
    /// The check was interrupted.
    TooLong,
}

impl Refused {
    /// The fault of code that mixes measured with modelled time.
    pub fn mixture(&self) -> Option<&Fault> {
        match self {
            Refused::Called(fault) | Refused::Stopped { fault, .. } if carry::was_refused(fault) => {
                Some(fault)
            }
            _ => None,
        }
    }

    /// The line of the check at which it stopped by itself.
    pub fn line(&self) -> Option<u32> {
        if let Refused::Stopped { fault, .. } = self { fault.line } else { None }
    }

    /// Why, as an error of the check's.
    pub fn into_fault(self) -> Box<Fault> {
        let told = |text: String| Box::new(Fault::from_error(&Error::runtime(text)));
        match self {
            Refused::Called(fault) | Refused::Stopped { fault, .. } => fault,
            Refused::Missing(name) => told(format!("`{name}` is not defined")),
            Refused::CalledTooLong => told("what it called ran too long".into()),
            Refused::TooLong => told("the check ran too long".into()),
        }
    }
}

impl Examiner {
    /// Of a learner's machine; it prints nothing of its own. `given` are constants of the session, which checks know as
    /// well; `calling` says while it runs the learner's code.
    pub fn new(
        machine: &Arc<Machine>,
        host: Arc<dyn Host>,
        limits: &Limits,
        given: &[(&'static str, Dynamic)],
        calling: Arc<AtomicBool>,
    ) -> Examiner {
        let own = machine.seeded(DEFAULT_SEED);
        let desk = Arc::new(Desk { machine: Arc::clone(machine), calling, state: Mutex::default() });
        let mut room = Interpreter::beside(own, host, limits);
        let asked = Arc::clone(&desk);
        if let Some(engine) = room.engine_mut() {
            syntax::free_call(engine, syntax::CALL);
            if machine.shared.has_both_clocks() {
                carry::register(engine, Mixing::Refused);
            }
            // A misspelt figure would be `()`, which is above and below nothing.
            engine.set_fail_on_invalid_map_property(true);
            engine.register_type_with_name::<HandedFunction>("function");
            engine.register_fn(syntax::CALL, move |context: NativeCallContext, f: Dynamic, args: Dynamic| {
                let result = asked.call(&f, &args);
                if let Some(run) = context.tag().and_then(|tag| tag.read_lock::<RunEvents>()) {
                    run.forget_line();
                }
                result
            });
            register_method(engine, &desk);
        }
        for (name, value) in given {
            room.set_constant(name, value.clone());
        }
        Examiner { room, desk, given: given.iter().map(|(name, _)| *name).collect(), count: 0 }
    }

    /// Runs a check, or computes the answer of a prediction, with a run's events, which expectations find as the
    /// evaluation's tag as well; gives what `read` takes of its value. `given` has what the lesson gave, as it was then.
    /// `to_its_end` fails where `exit` or `return` ends the code earlier.
    ///
    /// # Errors
    /// Why it did not run to its end.
    pub fn examine<T>(
        &mut self,
        learner: &Interpreter,
        events: (&'static str, Dynamic),
        (origin, to_its_end): (&Origin, bool),
        given: &dyn AsGiven,
        read: impl FnOnce(&Interpreter, &Dynamic) -> Result<T, Stopped>,
    ) -> Result<T, Refused> {
        *self.desk.lock() = DeskState {
            learner: Some(Learner::of(learner)),
            given: given.modules().clone(),
            bare: given.bare().clone(),
            places: given.places().clone(),
            ..DeskState::default()
        };
        self.desk.calling.store(false, Ordering::Relaxed);
        let (own, machine) = (self.room.machine(), learner.machine());
        own.manual_seed(DEFAULT_SEED.wrapping_add(self.count));
        self.count = self.count.wrapping_add(1);
        // Without an accelerator there is none to be current.
        let _ = own.set_current_gpu(0);
        let _generators = KeptGenerators::begin();
        let modes = machine.modes();
        let _asked = Asked::of(Arc::clone(&self.desk) as _);
        let held: Vec<_> = machine.gpus().iter().map(|gpu| gpu.held()).collect();
        let _examination = Examination::begin();
        let _graph = set_grad_mode(true);
        let mut scope = Scope::new();
        for (name, constant, value) in learner.newest() {
            let lessons = given.value(name);
            let is_fixed = lessons.is_some();
            let value = self.desk.hand(&lessons.unwrap_or(value));
            self.desk.lock().has_dtypes |= value.is::<DType>();
            if is_fixed {
                self.desk.lock().fixed.insert(name.to_owned());
            }
            if value.is::<HandedFunction>() || value.is::<Module>() {
                self.desk.lock().named.insert(name.to_owned(), value.clone());
            } else {
                self.desk.lock().values.insert(name.to_owned(), a_kind(&value));
            }
            match constant {
                _ if is_of_language(name) || name == events.0 || self.given.contains(&name) => {}
                true => drop(scope.push_constant_dynamic(name.to_owned(), value)),
                false => drop(scope.push_dynamic(name.to_owned(), value)),
            }
        }
        self.hand_functions(learner, &mut scope);
        if let Some(engine) = self.room.engine_mut() {
            engine.set_default_tag(events.1.clone());
        }
        let names: Vec<String> = scope.iter_raw().map(|(name, ..)| name.to_owned()).collect();
        scope.push_dynamic(events.0, events.1);
        // What the learner allowed their own code is no limit of the check's.
        machine.gpus().iter().for_each(|gpu| gpu.lift_fraction());
        let result = self.room.evaluate_in(scope, origin, to_its_end);
        let result = result.and_then(|value| read(&self.room, &value));
        let calling = self.desk.calling.load(Ordering::Relaxed);
        let state = std::mem::take(&mut *self.desk.lock());
        for (gpu, held) in machine.gpus().iter().zip(held) {
            gpu.go_back(held);
        }
        machine.set_modes(&modes);
        // What lies in its folder is the learner's as well.
        let learners = |name: &str| names.iter().any(|own| own == name) || self.given.contains(&name);
        let engine = self.room.engine();
        let blames =
            |fault: &Fault| culprit::is_learners(fault, engine, origin.code, origin.first_line, &learners);
        result.map_err(|stopped| refused(stopped, calling, state, &blames))
    }

    /// Hands over the functions that the learner has defined, under their names: `call(f, [1])` as well as `call("f", [1])`.
    fn hand_functions(&self, learner: &Interpreter, scope: &mut Scope<'static>) {
        let (_, library) = learner.parts();
        for function in library.iter_functions() {
            let is_known = help::rows().any(|def| def.name == function.name) || scope.contains(function.name);
            if let (false, Ok(pointer)) = (is_known, FnPtr::new(function.name)) {
                scope
                    .push_constant_dynamic(function.name.to_owned(), self.desk.hand(&Dynamic::from(pointer)));
            }
        }
    }
}

fn refused(stopped: Stopped, calling: bool, state: DeskState, blames: &dyn Fn(&Fault) -> bool) -> Refused {
    let fault = match stopped {
        Stopped::Cancelled(_) if calling => return Refused::CalledTooLong,
        Stopped::Cancelled(_) => return Refused::TooLong,
        Stopped::Fault(fault) => fault,
    };
    if let Some(name) = state.missing.or_else(|| fault.missing.clone()) {
        return Refused::Missing(name);
    }
    if let Some(called) = state.failed.filter(|called| called.message == fault.message) {
        return Refused::Called(called);
    }
    let learners = blames(&fault);
    Refused::Stopped { learners, fault: if learners { fault } else { meant(fault) } }
}

/// `an int`
fn a_kind(value: &Dynamic) -> String {
    let kind = type_name(value);
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// Fields of the maps that `events` has.
const FIELDS: [&str; 8] = ["count", "bytes", "pinned", "blocking", "cause", "ms", "line", "clock"];

/// With the field that may have been meant, where a map of `events` has none of that name.
fn meant(mut fault: Box<Fault>) -> Box<Fault> {
    let absent = fault.message.strip_prefix(NO_FIELD).and_then(|rest| rest.strip_suffix('\''));
    if let Some(meant) = absent.and_then(|absent| nearest(absent, FIELDS)) {
        fault.message = format!("{}; did you mean `{meant}`?", fault.message);
    }
    fault
}

/// Whether a name is a constant of the language, which no value of a learner's takes the place of. A space such as
/// `data::` and a variable `data` know nothing of each other.
pub(crate) fn is_of_language(name: &str) -> bool {
    help::rows().any(|def| def.name == name && def.forms.contains(&Form::Constant))
}
