//! A time's clock goes with its value, on a machine that has both: a number has its clocks in the tag that Rhai keeps
//! beside each value, and what is computed from numbers has the clocks of all of them.
//!
//! A tag stays with a copy of the value, in a variable, an array, a map, a tensor and through calls. Texts have none, and
//! neither has what an `if` chose: it warns. On a machine of one clock nothing of this is registered.

use std::any::TypeId;
use std::sync::LazyLock;

use rhai::{Array, Dynamic, Engine, INT, ImmutableString, Map, NativeCallContext};

use crate::base::event::Clock;
use crate::base::{Error, python};
use crate::device::Shared;
use crate::tensor::Tensor;

use super::fault::{Fault, RhaiResult, raise};
use super::modules::casts;

/// Arguments of a raw function.
type FnCallArgs<'a> = [&'a mut Dynamic];

/// Behind a value that was made of both.
pub(crate) const NOTE: &str = "(mixes measured with modelled time)";

/// How the error of a mixture begins.
pub(super) const MIXTURE: &str = "this mixes measured with modelled time";

/// What a choice by both says of itself.
pub(super) const CHOICE: &str = "what is chosen here compares measured with modelled time";

/// What helps.
pub(super) const HINT: &str = "times of one clock compare: without `--host measured` the CPU's time is modelled as well, beside simulated GPUs";

/// The bits of a tag that say a clock, above those that a script's own `set_tag` is likely to use.
const MEASURED: i32 = 1 << 28;
const MODELLED: i32 = 1 << 29;

/// The clocks of times: none, one or both.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Clocks {
    measured: bool,
    modelled: bool,
}

/// What becomes of a number that is computed from both clocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mixing {
    /// It says so.
    Marked,
    /// There is none: as in a check.
    Refused,
}

impl Clocks {
    pub(crate) fn of(clock: Clock) -> Clocks {
        Clocks { measured: clock == Clock::Measured, modelled: clock == Clock::Modelled }
    }

    pub(super) fn named(name: &str) -> Clocks {
        Clocks { measured: name == Clock::Measured.name(), modelled: name == Clock::Modelled.name() }
    }

    pub(crate) fn and(self, other: Clocks) -> Clocks {
        Clocks { measured: self.measured || other.measured, modelled: self.modelled || other.modelled }
    }

    pub(super) fn has(self, clock: Clock) -> bool {
        match clock {
            Clock::Measured => self.measured,
            Clock::Modelled => self.modelled,
        }
    }

    pub(super) fn are_some(self) -> bool {
        self.measured || self.modelled
    }

    pub(super) fn are_mixed(self) -> bool {
        self.measured && self.modelled
    }

    /// The one clock, where it is one.
    pub(crate) fn alone(self) -> Option<Clock> {
        match (self.measured, self.modelled) {
            (true, false) => Some(Clock::Measured),
            (false, true) => Some(Clock::Modelled),
            _ => None,
        }
    }
}

/// A time as a script gets it.
pub(crate) fn time(shared: &Shared, value: f64, clock: Clock) -> Dynamic {
    times(shared, value, Clocks::of(clock))
}

/// The same of times that were added up.
pub(crate) fn times(shared: &Shared, value: f64, clocks: Clocks) -> Dynamic {
    if shared.has_both_clocks() { marked(value.into(), clocks) } else { value.into() }
}

/// A value with clocks in addition to its own.
pub(crate) fn marked(mut value: Dynamic, clocks: Clocks) -> Dynamic {
    let bits = |has: bool, bit: i32| if has { bit } else { 0 };
    let tag = bits(clocks.has(Clock::Measured), MEASURED) | bits(clocks.has(Clock::Modelled), MODELLED);
    if tag != 0 {
        value.set_tag(value.tag() | tag);
    }
    value
}

/// The clocks of a value itself, not of what lies in it.
pub(super) fn clocks(value: &Dynamic) -> Clocks {
    let tag = match value.is_shared() {
        true if value.is_locked() => 0,
        true => value.read_lock::<Dynamic>().map_or(0, |inside| inside.tag()),
        false => value.tag(),
    };
    let of = |bit: i32, clock: Clock| if tag & bit == 0 { Clocks::default() } else { Clocks::of(clock) };
    of(MEASURED, Clock::Measured).and(of(MODELLED, Clock::Modelled))
}

/// The one clock of a value.
pub(crate) fn clock(value: &Dynamic) -> Option<Clock> {
    clocks(value).alone()
}

/// The clocks of a value and of all that arrays within it hold.
pub(super) fn all_clocks(value: &Dynamic) -> Clocks {
    match value.read_lock::<Array>() {
        Some(items) => items.iter().fold(clocks(value), |all, item| all.and(all_clocks(item))),
        None => clocks(value),
    }
}

/// Whether a value is a mixture, or one lies in it.
pub(crate) fn is_mixed(value: &Dynamic) -> bool {
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().any(is_mixed);
    }
    if let Some(entries) = value.read_lock::<Map>() {
        return entries.values().any(is_mixed);
    }
    clocks(value).are_mixed()
}

/// What stands behind a value where it is shown.
pub(crate) fn note(value: &Dynamic) -> String {
    if is_mixed(value) { format!(" {NOTE}") } else { String::new() }
}

/// Whether code stopped because of one.
pub(crate) fn was_refused(fault: &Fault) -> bool {
    fault.message == MIXTURE
}

/// Whether two values are of both clocks, or what lies in the same place of each.
pub(super) fn are_mixed(a: &Dynamic, b: &Dynamic) -> bool {
    if let (Some(a), Some(b)) = (a.read_lock::<Array>(), b.read_lock::<Array>()) {
        return a.iter().zip(b.iter()).any(|(a, b)| are_mixed(a, b));
    }
    if let (Some(a), Some(b)) = (a.read_lock::<Map>(), b.read_lock::<Map>()) {
        return a.iter().any(|(name, a)| b.get(name).is_some_and(|b| are_mixed(a, b)));
    }
    is_mixed(a) || is_mixed(b) || clocks(a).and(clocks(b)).are_mixed()
}

/// What is thrown where a mixture is refused; whoever knows the code has it name the times.
pub(super) fn refusal() -> Error {
    Error::value(MIXTURE).with_hint(HINT)
}

/// A function of tensors that gives its result the clocks of its arguments.
pub(super) fn through(
    name: &'static str,
    function: impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static {
    move |context, args| {
        let clocks = args.iter().fold(Clocks::default(), |all, arg| all.and(all_clocks(arg)));
        let result = function(context, args)?;
        // A shape or a count is no time.
        let is_made_of = result.is::<Tensor>() || result.is_float() || READS.contains(&name);
        Ok(if is_made_of && clocks.are_some() { all_marked(result, clocks) } else { result })
    }
}

/// What gives a tensor's own values, whole numbers among them.
const READS: [&str; 2] = ["item", "tolist"];

/// With clocks in addition to its own, and so all that lies in it.
pub(crate) fn all_marked(value: Dynamic, clocks: Clocks) -> Dynamic {
    match value.try_cast_result::<Array>() {
        Ok(items) => Dynamic::from_array(items.into_iter().map(|item| all_marked(item, clocks)).collect()),
        Err(value) => marked(value, clocks),
    }
}

/// An expectation that takes no value of both clocks, nor two that together are.
pub(super) fn refusing(
    function: impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static,
) -> impl Fn(NativeCallContext, &mut FnCallArgs) -> RhaiResult<Dynamic> + Send + Sync + 'static {
    move |context, args| {
        let mixed = match &*args {
            [actual, expected, ..] => are_mixed(actual, expected),
            [one] => is_mixed(one),
            [] => false,
        };
        if mixed { Err(raise(refusal())) } else { function(context, args) }
    }
}

/// Has all that computes with numbers give its result their clocks.
pub(super) fn register(engine: &mut Engine, mixing: Mixing) {
    engine.set_fast_operators(false);
    for (name, types) in FUNCTIONS.iter() {
        engine.register_raw_fn(*name, types, move |context: NativeCallContext, args: &mut FnCallArgs| {
            carried(name, &context, args, mixing)
        });
    }
    for (assigning, name) in ASSIGNING {
        for types in [[INTEGER, INTEGER], [FLOAT, FLOAT], [FLOAT, INTEGER]].map(|types| types.map(|of| of()))
        {
            engine.register_raw_fn(
                assigning,
                types,
                move |context: NativeCallContext, args: &mut FnCallArgs| {
                    let value = carried(name, &context, args, mixing)?;
                    if let Some(first) = args.first_mut() {
                        **first = value;
                    }
                    Ok(Dynamic::UNIT)
                },
            );
        }
    }
    engine.register_raw_fn("round", [FLOAT(), INTEGER()], |_, args: &mut FnCallArgs| {
        let clocks = args.iter().fold(Clocks::default(), |all, arg| all.and(clocks(arg)));
        let [value, digits] = args else { return Ok(Dynamic::UNIT) };
        let rounded =
            python::round(value.as_float().unwrap_or_default(), digits.as_int().unwrap_or_default());
        Ok(marked(rounded.into(), clocks))
    });
    for of in [INTEGER, FLOAT] {
        engine.register_raw_fn("print", [of()], |context: NativeCallContext, args: &mut FnCallArgs| {
            let is_mixed = args.iter().any(|arg| is_mixed(arg));
            let text = called("to_string", &context, args)?.into_immutable_string().unwrap_or_default();
            Ok(if is_mixed { ImmutableString::from(format!("{text} {NOTE}")) } else { text })
        });
    }
}

const INTEGER: fn() -> TypeId = TypeId::of::<INT>;
const FLOAT: fn() -> TypeId = TypeId::of::<f64>;

/// What writes into its first operand, and how.
const ASSIGNING: [(&str, &str); 6] =
    [("+=", "+"), ("-=", "-"), ("*=", "*"), ("/=", "/"), ("%=", "%"), ("**=", "**")];

/// Functions of numbers and truths, as they are called.
const NAMES: [&str; 56] = [
    "!",
    "!=",
    "%",
    "&",
    "*",
    "**",
    "+",
    "-",
    "/",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "^",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bool",
    "ceiling",
    "cos",
    "cosh",
    "exp",
    "float",
    "floor",
    "fraction",
    "hypot",
    "int",
    "is_even",
    "is_odd",
    "is_zero",
    "ln",
    "log",
    "max",
    "min",
    "round",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "to_degrees",
    "to_float",
    "to_int",
    "to_radians",
    "|",
    "is_nan",
    "is_finite",
    "is_infinite",
    "<<",
    ">>",
];

/// An engine that computes with numbers as Rhai does.
static PLAIN: LazyLock<Engine> = LazyLock::new(|| {
    let mut engine = Engine::new();
    casts::register(&mut engine);
    engine
});

/// The functions of numbers that Rhai has, with the types of their operands.
static FUNCTIONS: LazyLock<Vec<(&'static str, Vec<TypeId>)>> = LazyLock::new(|| {
    let samples: [Dynamic; 3] = [Dynamic::from_int(1), Dynamic::from_float(1.0), Dynamic::TRUE];
    let mut lists: Vec<Vec<Dynamic>> = samples.iter().map(|one| vec![one.clone()]).collect();
    lists.extend(samples.iter().flat_map(|a| samples.iter().map(|b| vec![a.clone(), b.clone()])));
    let known = |name: &str, values: &[Dynamic]| {
        let operands: Vec<String> = (0..values.len()).map(|i| format!("x{i}")).collect();
        let code = match operands.as_slice() {
            [a, b] if !name.starts_with(char::is_alphabetic) => format!("{a} {name} {b}"),
            [a] if !name.starts_with(char::is_alphabetic) => format!("{name} {a}"),
            _ => format!("{name}({})", operands.join(", ")),
        };
        let mut scope = rhai::Scope::new();
        for (name, value) in operands.iter().zip(values) {
            scope.push_dynamic(name.as_str(), value.clone());
        }
        PLAIN.eval_expression_with_scope::<Dynamic>(&mut scope, &code).is_ok()
    };
    let types = |values: &[Dynamic]| values.iter().map(Dynamic::type_id).collect::<Vec<_>>();
    let all = NAMES.iter().flat_map(|name| lists.iter().map(move |values| (*name, values)));
    all.filter(|(name, values)| known(name, values)).map(|(name, values)| (name, types(values))).collect()
});

/// What Rhai computes, with the clocks of the operands.
fn carried(
    name: &str,
    context: &NativeCallContext,
    args: &FnCallArgs,
    mixing: Mixing,
) -> RhaiResult<Dynamic> {
    let clocks = args.iter().fold(Clocks::default(), |all, arg| all.and(clocks(arg)));
    if clocks.are_mixed() && mixing == Mixing::Refused {
        return Err(raise(refusal()));
    }
    Ok(marked(called(name, context, args)?, clocks))
}

fn called(name: &str, context: &NativeCallContext, args: &FnCallArgs) -> RhaiResult<Dynamic> {
    // Rhai rounds halves away from zero, scripts as Python does.
    if let ("round", [number]) = (name, args)
        && let Ok(number) = number.as_float()
    {
        return Ok(number.round_ties_even().into());
    }
    let global = context.global_runtime_state();
    let plain: NativeCallContext = (&*PLAIN, name, None, global, context.call_position()).into();
    let mut own: Vec<Dynamic> = args.iter().map(|arg| arg.flatten_clone()).collect();
    let mut own: Vec<&mut Dynamic> = own.iter_mut().collect();
    plain.call_native_fn_raw(name, false, &mut own)
}
