//! Calls of rows whose functions see the script: its machine, its closures, what a method is called on.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, FnPtr, FuncArgs, Map, Module, NativeCallContext};

use crate::base::{Error, Result};
use crate::device::Machine;
use crate::op::args::{FUNCTION, MAP};
use crate::op::params::Accept;
use crate::op::{Args, Form, Object, OpDef, ParamKind, Receiver, Value};

use super::bind::{FnCallArgs, note_line, register_raw};
use super::engine::Host;
use super::fault::raise;
use super::value::{from_dynamic, to_dynamic};

/// A row with the function behind it.
pub struct ScriptRow {
    pub def: OpDef,
    pub run: Run,
    /// Of a property that can be assigned.
    pub set: Option<fn(&mut Call, &Dynamic) -> Result<()>>,
}

/// Refuses, when the program is compiled, a row that does not say what it does, what its parameters are for, and how
/// a call of it looks.
#[allow(clippy::indexing_slicing, reason = "it runs while the program is compiled")]
pub const fn documented(rows: &[ScriptRow]) {
    let mut i = 0;
    while i < rows.len() {
        let OpDef { summary, example, params, .. } = &rows[i].def;
        assert!(!summary.is_empty() && !example.0.is_empty() && !example.1.is_empty());
        let mut at = 0;
        while at < params.len() {
            assert!(!params[at].what.is_empty());
            at += 1;
        }
        i += 1;
    }
}

/// What runs a call.
pub type Run = fn(&mut Call) -> Outcome;

pub type Outcome<T = Dynamic> = std::result::Result<T, Raised>;

/// Why a call failed: an error of its own, or what a closure raised, with its place.
pub enum Raised {
    Own(Error),
    Script(Box<EvalAltResult>),
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

/// What the rows' functions share.
pub struct Here {
    pub machine: Arc<Machine>,
    pub host: Arc<dyn Host>,
}

/// One call of a row.
pub struct Call<'c> {
    pub context: &'c NativeCallContext<'c>,
    pub here: &'c Here,
    pub args: Args<'static>,
    subject: Option<&'c mut Dynamic>,
}

impl Call<'_> {
    pub fn machine(&self) -> &Arc<Machine> {
        &self.here.machine
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

/// A value of the script's that passes through the op layer as it is.
struct Held(Dynamic);

/// An argument as the script gave it.
pub fn given(value: &Value) -> Dynamic {
    match value {
        Value::Object(object) => match object.get::<Held>() {
            Some(Held(value)) => value.clone(),
            None => to_dynamic(Value::Object(object.clone())),
        },
        other => to_dynamic(other.clone()),
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
        pub const fn or(_: ()) -> crate::op::def::DefaultValue {
            crate::op::def::DefaultValue::None
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
    pub trait Typed: Clone + 'static {
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

/// Registers rows as their forms say. The modules that they stand in hold nothing else.
pub fn register(engine: &mut Engine, rows: impl Iterator<Item = &'static ScriptRow>, here: &Arc<Here>) {
    let mut spaces: BTreeMap<&'static str, Module> = BTreeMap::new();
    for row in rows {
        for form in row.def.forms {
            match form {
                Form::Of(space) => {
                    let module = spaces.entry(space).or_default();
                    for types in signatures(&row.def) {
                        register_raw(module, row.def.name, types, caller(row, here));
                    }
                }
                Form::Method | Form::Function => {
                    for types in signatures(&row.def).chain(numbers(&row.def)) {
                        engine.register_raw_fn(row.def.name, types, caller(row, here));
                    }
                }
                Form::Property => property(engine, row, here),
                Form::Constant | Form::With(_) | Form::Functional | Form::Operator(_) => {}
            }
        }
    }
    for (space, module) in spaces {
        engine.register_static_module(space, module.into());
    }
}

/// The argument lists that a row is registered for: every count, and one more for options.
fn signatures(def: &OpDef) -> impl Iterator<Item = Vec<TypeId>> {
    let first = type_of(def.receiver);
    (0..=def.params.len() + 1).map(move |count| {
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

/// The type that a method belongs to.
fn type_of(receiver: Receiver) -> Option<TypeId> {
    use super::modules::{Captured, Event, Stream};
    Some(match receiver {
        Receiver::None => return None,
        Receiver::Variable => TypeId::of::<Dynamic>(),
        Receiver::Tensor => TypeId::of::<crate::tensor::Tensor>(),
        Receiver::Handle => TypeId::of::<crate::tensor::hooks::Handle>(),
        Receiver::GradScaler => TypeId::of::<crate::amp::GradScaler>(),
        Receiver::Optimizer => TypeId::of::<crate::optim::Optimizer>(),
        Receiver::Stream => TypeId::of::<Stream>(),
        Receiver::Event => TypeId::of::<Event>(),
        Receiver::Graph => TypeId::of::<Captured>(),
    })
}

fn property(engine: &mut Engine, row: &'static ScriptRow, here: &Arc<Here>) {
    let Some(own) = type_of(row.def.receiver) else { return };
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
            let mut call = Call { context: &context, here: &here, args, subject: Some(subject) };
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
            let args = arguments(&row.def, rest)?;
            (row.run)(&mut Call { context: &context, here: &here, args, subject })
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
fn arguments(def: &'static OpDef, args: &FnCallArgs) -> Result<Args<'static>> {
    let kind_at = |i: usize| def.params.get(i).map(|p| p.kind);
    let (mut positional, mut named) = (Vec::new(), Vec::new());
    for (i, arg) in args.iter().enumerate() {
        let options = arg.read_lock::<Map>().filter(|map| {
            let known = || map.keys().all(|key| def.params.iter().any(|p| p.name == key));
            i + 1 == args.len()
                && match kind_at(i) {
                    Some(ParamKind::Map) => false,
                    Some(ParamKind::Any) => known(),
                    _ => true,
                }
        });
        match options {
            Some(options) => {
                for (name, value) in options.iter() {
                    let kind = def.params.iter().find(|p| p.name == name).map(|p| p.kind);
                    named.push((name.to_string(), value_of(kind, value)?));
                }
            }
            None => positional.push(value_of(kind_at(i), arg)?),
        }
    }
    Args::bind(def, positional, named)
}

/// What the script's alone is held as it is; numbers, texts and tensors are what every row gets.
fn value_of(kind: Option<ParamKind>, value: &Dynamic) -> Result<Value> {
    let held = |kind: &'static str| Ok(Value::Object(Object::new(kind, Held(value.clone()))));
    match kind {
        _ if value.is::<FnPtr>() => held(FUNCTION),
        Some(ParamKind::Any | ParamKind::Map) if value.is_map() => held(MAP),
        Some(ParamKind::Any) if value.is_array() => held("array"),
        Some(ParamKind::Instance(wanted)) if type_of(wanted).is_some_and(|id| value.type_id() == id) => {
            held(wanted.type_name())
        }
        _ => from_dynamic(value).or_else(|_| held(static_name(value))),
    }
}

/// The type's name for an error, among those that there are.
fn static_name(value: &Dynamic) -> &'static str {
    const RECEIVERS: [Receiver; 5] =
        [Receiver::Handle, Receiver::GradScaler, Receiver::Stream, Receiver::Event, Receiver::Graph];
    let own = RECEIVERS.into_iter().find(|r| type_of(*r).is_some_and(|id| value.type_id() == id));
    own.map_or("value of another type", Receiver::type_name)
}
