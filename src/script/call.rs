//! Calls of rows whose functions see the script: its machine, its closures, what a method is called on.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, FuncArgs, Map, Module, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::Machine;
use crate::device::examine::{refuse_change, refuse_steps};
use crate::op::args::{FUNCTION, MAP, place_of};
use crate::op::def::DefaultValue;
use crate::op::params::Accept;
use crate::op::{Args, Family, Form, Object, OpDef, ParamKind, Receiver, Value};
use crate::plot::Figure;

use super::aside::Aside;
use super::bind::{FnCallArgs, OF_NUMBERS, note_line, register_raw};
use super::carry;
use super::fault::raise;
use super::host::Host;
use super::syntax::{EVAL, TYPE_OF};
use super::value::{Held, from_dynamic, given};

/// A row with the function behind it.
pub struct ScriptRow {
    pub def: OpDef,
    pub run: Run,
    /// Of a property that can be assigned.
    pub set: Option<fn(&mut Call, &Dynamic) -> Result<()>>,
}

impl ScriptRow {
    /// A row that cannot be assigned.
    pub const fn of(def: OpDef, run: Run) -> ScriptRow {
        ScriptRow { def, run, set: None }
    }

    /// The property can be assigned.
    pub const fn set(self, set: fn(&mut Call, &Dynamic) -> Result<()>) -> ScriptRow {
        ScriptRow { set: Some(set), ..self }
    }
}

/// As [`crate::op::def::documented`], of rows with the functions behind them.
#[allow(clippy::indexing_slicing, reason = "it runs while the program is compiled")]
pub(crate) const fn documented<const N: usize>(
    files: [&'static [ScriptRow]; N],
) -> [&'static [ScriptRow]; N] {
    let mut file = 0;
    while file < N {
        let mut row = 0;
        while row < files[file].len() {
            files[file][row].def.documented();
            row += 1;
        }
        file += 1;
    }
    files
}

/// What runs a call.
pub type Run = fn(&mut Call) -> Outcome;

/// What a call ends in.
pub type Outcome<T = Dynamic> = std::result::Result<T, Raised>;

/// Why a call failed: an error of its own, or what a closure raised, with its place.
pub enum Raised {
    Own(Error),
    Script(Box<EvalAltResult>),
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Raised::Own(error) => error.fmt(f),
            Raised::Script(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Raised {
    fn from(error: Error) -> Raised {
        Raised::Own(error)
    }
}

impl From<Box<EvalAltResult>> for Raised {
    fn from(error: Box<EvalAltResult>) -> Raised {
        Raised::Script(error)
    }
}

/// The figure that calls add to, until it is shown, begun anew or closed.
pub(crate) type Current = Arc<Mutex<Sheet>>;

/// A figure, and whether something was drawn that nobody has seen or kept.
#[derive(Clone, Default)]
pub struct Sheet {
    pub figure: Arc<Figure>,
    pub unseen: bool,
}

/// What the rows' functions share.
pub struct Here {
    pub machine: Arc<Machine>,
    pub host: Arc<dyn Host>,
    /// Where functions run that a loader's workers call.
    pub aside: Aside,
    /// The figure that calls draw on.
    pub figure: Current,
    /// The type that a method belongs to.
    pub type_of: fn(Receiver) -> Option<TypeId>,
}

/// One call of a row.
pub struct Call<'c> {
    pub context: &'c NativeCallContext<'c>,
    pub here: &'c Here,
    pub args: Args<'static>,
    subject: Option<&'c mut Dynamic>,
    machine: Arc<Machine>,
}

impl Call<'_> {
    /// The devices, as the calling thread sees them.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// What the method is called on: a handle, so that a copy is the same thing.
    ///
    /// # Errors
    /// It is of another type, which the registration rules out.
    pub fn on<T: Clone + 'static>(&self) -> Result<T> {
        let subject = self.subject.as_deref().and_then(|value| value.read_lock::<T>().map(|v| v.clone()));
        subject.ok_or_else(|| Error::type_error(format!("{}() is no method of this", self.args.def.name)))
    }

    /// Where the value stands that the method is called on.
    pub fn place(&mut self) -> Option<&mut Dynamic> {
        self.subject.as_deref_mut()
    }

    /// Calls a script's function.
    pub fn run(&self, function: &FnPtr, args: impl FuncArgs) -> Outcome {
        Ok(function.call_within_context::<Dynamic>(self.context, args)?)
    }
}

/// Kinds of parameters that only a script has values of.
pub mod kind {
    use super::*;

    /// A closure, or a function by name.
    pub struct Function;

    impl Accept for Function {
        type Given<'a> = FnPtr;
        const KIND: ParamKind = ParamKind::Function;

        fn take(args: &Args, at: usize) -> Result<FnPtr> {
            let value = given(args.get(at));
            let function = value.read_lock::<FnPtr>().map(|f| f.clone());
            function.ok_or_else(|| args.wrong(at, args.get(at)))
        }
    }

    /// Anything, as it was given.
    pub struct Given;

    impl Accept for Given {
        type Given<'a> = Dynamic;
        const KIND: ParamKind = ParamKind::Any;

        fn take(args: &Args, at: usize) -> Result<Dynamic> {
            Ok(given(args.get(at)))
        }
    }

    impl Given {
        /// Absent.
        pub const fn or(_: ()) -> DefaultValue {
            DefaultValue::None
        }
    }

    /// Any number of values, one after the other.
    pub struct Rest;

    impl Accept for Rest {
        type Given<'a> = Array;
        const KIND: ParamKind = ParamKind::Rest;
        const DEFAULT: Option<DefaultValue> = Some(DefaultValue::None);

        fn take(args: &Args, at: usize) -> Result<Array> {
            let all = given(args.get(at));
            Ok(all.read_lock::<Array>().map(|all| all.clone()).unwrap_or_default())
        }
    }

    /// A map that holds no options.
    pub struct Entries;

    impl Accept for Entries {
        type Given<'a> = Map;
        const KIND: ParamKind = ParamKind::Map;

        fn take(args: &Args, at: usize) -> Result<Map> {
            let value = given(args.get(at));
            let map = value.read_lock::<Map>().map(|map| map.clone());
            map.ok_or_else(|| args.wrong(at, args.get(at)))
        }
    }

    /// A value of one of the script's types.
    pub(crate) trait Typed: Clone + 'static {
        const RECEIVER: Receiver;
    }

    impl<T: Typed> Accept for T {
        type Given<'a> = T;
        const KIND: ParamKind = ParamKind::Instance(T::RECEIVER);

        fn take(args: &Args, at: usize) -> Result<T> {
            let value = given(args.get(at));
            let typed = value.read_lock::<T>().map(|v| v.clone());
            typed.ok_or_else(|| args.wrong(at, args.get(at)))
        }
    }
}

/// Modules of functions by their paths, until all that stands in them is known.
#[derive(Default)]
pub(crate) struct Spaces(BTreeMap<&'static str, Module>);

impl Spaces {
    pub(crate) fn of(&mut self, path: &'static str) -> &mut Module {
        self.0.entry(path).or_default()
    }

    /// Hands the modules to the engine, each inside of the one whose path its own begins with.
    pub(crate) fn register(mut self, engine: &mut Engine) {
        // Of two paths the longer one comes first.
        while let Some((path, module)) = self.0.pop_last() {
            match path.rsplit_once("::") {
                Some((around, name)) => {
                    self.of(around).set_sub_module(name, module);
                }
                None => {
                    engine.register_static_module(path, module.into());
                }
            }
        }
    }
}

/// Registers rows as their forms say.
pub(crate) fn register(
    engine: &mut Engine,
    rows: impl Iterator<Item = &'static ScriptRow>,
    here: &Arc<Here>,
    spaces: &mut Spaces,
) {
    for row in rows {
        for form in row.def.forms {
            match form {
                Form::Of(space) => {
                    let module = spaces.of(space);
                    for types in signatures(&row.def, here) {
                        register_raw(module, row.def.name, types, caller(row, here));
                    }
                }
                Form::Property => property(engine, row, here),
                _ => {}
            }
        }
        if row.def.forms.iter().any(|form| matches!(form, Form::Method | Form::Function)) {
            for types in signatures(&row.def, here).chain(numbers(&row.def)) {
                let name = row.def.name;
                if here.machine.shared.has_both_clocks() && is_expectation(&row.def) {
                    engine.register_raw_fn(name, types, carry::refusing(caller(row, here)));
                } else if here.machine.shared.has_both_clocks() && OF_NUMBERS.contains(&name) {
                    engine.register_raw_fn(name, types, carry::through(name, caller(row, here)));
                } else {
                    engine.register_raw_fn(told_as(row.def.name), types, caller(row, here));
                }
            }
        }
    }
}

/// The name under which Rhai calls a function: its own words are no names to it.
pub(crate) fn told_as(name: &'static str) -> &'static str {
    match name {
        "eval" => EVAL,
        "type_of" => TYPE_OF,
        other => other,
    }
}

/// Whether a row is one that checks are written with.
fn is_expectation(def: &OpDef) -> bool {
    def.family == Family::Testing && def.name.starts_with("expect")
}

/// The argument lists that a row is registered for: every count, and one more for options.
fn signatures(def: &OpDef, here: &Here) -> impl Iterator<Item = Vec<TypeId>> + use<> {
    let first = (here.type_of)(def.receiver);
    (0..=def.most_arguments() + 1).map(move |count| {
        let rest = std::iter::repeat_n(TypeId::of::<Dynamic>(), count);
        first.into_iter().chain(rest).collect()
    })
}

/// For a function of one number: Rhai's own functions of numbers, such as `sleep`, would come first.
fn numbers(def: &OpDef) -> impl Iterator<Item = Vec<TypeId>> {
    let number =
        matches!(def.params, [one] if one.kind == ParamKind::Float) && def.receiver == Receiver::None;
    let types = [TypeId::of::<rhai::INT>(), TypeId::of::<f64>()];
    types.into_iter().filter(move |_| number).map(|id| vec![id])
}

fn property(engine: &mut Engine, row: &'static ScriptRow, here: &Arc<Here>) {
    let Some(own) = (here.type_of)(row.def.receiver) else { return };
    engine.register_raw_fn(format!("get${}", row.def.name), [own], caller(row, here));
    let Some(set) = row.set else { return };
    let here = Arc::clone(here);
    engine.register_raw_fn(
        format!("set${}", row.def.name),
        [own, TypeId::of::<Dynamic>()],
        move |context: NativeCallContext, args: &mut FnCallArgs| {
            note_line(&here.machine.shared, &context);
            let Some((subject, [value])) = args.split_first_mut() else { return Ok(Dynamic::UNIT) };
            let args = Args::bind(&row.def, Vec::new(), Vec::new()).map_err(raise)?;
            let mut call = Call {
                context: &context,
                here: &here,
                args,
                subject: Some(subject),
                machine: Machine::current(),
            };
            set(&mut call, value).map_err(raise)?;
            Ok(Dynamic::UNIT)
        },
    );
}

/// A raw function that matches arguments and options to the row and runs it.
fn caller(
    row: &'static ScriptRow,
    here: &Arc<Here>,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> std::result::Result<Dynamic, Box<EvalAltResult>>
+ Send
+ Sync
+ 'static {
    let here = Arc::clone(here);
    move |context, args| {
        note_line(&here.machine.shared, &context);
        let own = usize::from(row.def.receiver != Receiver::None);
        let (subject, rest) = args.split_at_mut(own.min(args.len()));
        let subject = subject.first_mut().map(|value| &mut **value);
        let run = || {
            // Of modules a check has copies; optimisers know who made them.
            match row.def.receiver {
                _ if !row.def.changes => {}
                Receiver::Module | Receiver::Optimizer => {}
                Receiver::Generator | Receiver::Scheduler | Receiver::GradScaler => refuse_steps()?,
                _ => refuse_change()?,
            }
            let args = arguments(&row.def, rest, &here)?;
            let machine = Machine::current();
            (row.run)(&mut Call { context: &context, here: &here, args, subject, machine })
        };
        run().map_err(|error| match error {
            Raised::Own(error) => {
                // Rhai fills in the place for plain calls, but not for those of a module.
                let mut raised = raise(error);
                raised.set_position(context.call_position());
                raised
            }
            Raised::Script(error) => error,
        })
    }
}

/// The arguments of a call, matched to the row's parameters; a map at the end holds options.
fn arguments(def: &'static OpDef, args: &FnCallArgs, here: &Here) -> Result<Args<'static>> {
    let rest = def.params.iter().position(|p| p.kind == ParamKind::Rest);
    let kind_at = |i: usize| match rest {
        Some(at) if i >= at => Some(ParamKind::Rest),
        _ => def.params.get(i).map(|p| p.kind),
    };
    let (mut positional, mut named, mut more) = (Vec::new(), Vec::new(), Array::new());
    for (i, arg) in args.iter().enumerate() {
        let options = arg.read_lock::<Map>().filter(|_| {
            i + 1 == args.len()
                && match kind_at(i) {
                    Some(ParamKind::Map) => false,
                    // What must be given may be a map itself, unless more must be given, by their names.
                    Some(ParamKind::Any) => {
                        let must =
                            def.params.iter().filter(|p| p.default.is_none() && p.kind != ParamKind::Rest);
                        let named = |map: &Map| map.keys().all(|key| place_of(def, key).is_some());
                        def.params.get(i).is_some_and(|p| p.default.is_some())
                            || (i == 0
                                && must.count() > 1
                                && arg.read_lock::<Map>().is_some_and(|map| named(&map)))
                    }
                    // Where nothing can be told behind them, they may be maps themselves.
                    Some(ParamKind::Rest) => rest.is_some_and(|at| at + 1 < def.params.len()),
                    _ => true,
                }
        });
        match (options, kind_at(i)) {
            (Some(options), _) => {
                for (name, value) in options.iter() {
                    let kind = def.params.iter().find(|p| p.name == name).map(|p| p.kind);
                    named.push((name.to_string(), value_of(kind, value, here)?));
                }
            }
            (None, Some(ParamKind::Rest)) => more.push((**arg).clone()),
            (None, kind) => positional.push(value_of(kind, arg, here)?),
        }
    }
    if !more.is_empty() {
        positional.push(Value::Object(Object::new("array", Held(more.into()))));
    }
    Args::bind(def, positional, named).map_err(|error| in_space(def, error))
}

/// What figures' functions are called says little without their module.
fn in_space(def: &OpDef, error: Error) -> Error {
    let own = format!("{}()", def.name);
    match (def.family, def.forms) {
        (Family::Figure, [Form::Of(space)]) if error.message().starts_with(&own) => {
            let text = format!("{space}::{}", error.message());
            let hint = error.hint();
            let error = Error::new(error.kind(), text);
            hint.into_iter().fold(error, Error::with_hint)
        }
        _ => error,
    }
}

/// What the script's alone is held as it is; numbers, texts and tensors are what every row gets.
fn value_of(kind: Option<ParamKind>, value: &Dynamic, here: &Here) -> Result<Value> {
    let held = |kind: &'static str| Ok(Value::Object(Object::new(kind, Held(value.clone()))));
    match kind {
        _ if value.is::<FnPtr>() => held(FUNCTION),
        Some(ParamKind::Any | ParamKind::Map) if value.is_map() => held(MAP),
        Some(ParamKind::Any) if value.is_array() => held("array"),
        Some(ParamKind::Any) if value.tag() != 0 && carry::is_mixed(value) => held("number"),
        Some(ParamKind::Instance(wanted))
            if (here.type_of)(wanted).is_some_and(|id| value.type_id() == id) =>
        {
            held(wanted.type_name())
        }
        _ => from_dynamic(value).or_else(|_| held(static_name(value, here))),
    }
}

/// The type's name for an error, among those that there are.
fn static_name(value: &Dynamic, here: &Here) -> &'static str {
    let is =
        |r: &Receiver| *r != Receiver::Variable && (here.type_of)(*r).is_some_and(|id| value.type_id() == id);
    let own = Receiver::ALL.iter().copied().find(is);
    own.map_or("value of another type", Receiver::type_name)
}
