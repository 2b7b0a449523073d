//! A run without values: what decides by a number that nobody computed is an error, wherever the number has come.

use std::any::TypeId;
use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalContext, Expr, Expression, INT, ImmutableString, NativeCallContext};

use crate::base::Error;
use crate::device::Shared;

use super::custom::custom;
use super::differs::{COMPARISONS, compared};
use super::fault::{Fault, Origin, raise};

/// The key of what a `switch` looks at: no text of a script is read as this token.
const SUBJECT: &str = "\u{19}";

/// Has comparisons of numbers, and what makes whole ones of them, refuse what was never computed.
pub(super) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    engine.set_fast_operators(false);
    let (int, float) = (TypeId::of::<INT>(), TypeId::of::<f64>());
    for (name, op) in COMPARISONS {
        for types in [[float, float], [float, int], [int, float]] {
            let shared = Arc::clone(shared);
            engine.register_raw_fn(name, types, move |_: NativeCallContext, args: &mut [&mut Dynamic]| {
                let number = |at: usize| {
                    let arg = args.get(at);
                    arg.and_then(|arg| arg.as_float().or_else(|_| arg.as_int().map(|i| i as f64)).ok())
                };
                let (a, b) = (number(0).unwrap_or(f64::NAN), number(1).unwrap_or(f64::NAN));
                if (a.is_nan() || b.is_nan()) && shared.has_told_of_no_values() {
                    return Err(raise(undecided(name)));
                }
                Ok(compared(op, a, b).unwrap_or_default())
            });
        }
    }
    register_others(engine, shared);
    let shared = Arc::clone(shared);
    engine.register_fn("to_int", move |number: f64| {
        match number.is_nan() && shared.has_told_of_no_values() {
            true => Err(raise(undecided("to_int"))),
            false => Ok(number.trunc() as INT),
        }
    });
}

/// Has texts that show such a number be equal to no other, and a `switch` go on by none. Whoever asks whether a number is
/// finite guards against a run that went wrong: here it went as it should.
fn register_others(engine: &mut Engine, shared: &Arc<Shared>) {
    for name in ["==", "!="] {
        let shared = Arc::clone(shared);
        engine.register_fn(name, move |a: ImmutableString, b: ImmutableString| {
            match shows_nan(&a) != shows_nan(&b) && shared.has_told_of_no_values() {
                true => Err(raise(undecided(name))),
                false => Ok((a == b) == (name == "==")),
            }
        });
    }
    for (name, finite) in [("is_nan", false), ("is_infinite", false), ("is_finite", true)] {
        let shared = Arc::clone(shared);
        engine.register_fn(name, move |number: f64| match name {
            _ if number.is_nan() && shared.has_told_of_no_values() => finite,
            "is_nan" => number.is_nan(),
            "is_infinite" => number.is_infinite(),
            _ => number.is_finite(),
        });
    }
    let shared = Arc::clone(shared);
    engine.register_custom_syntax_with_state_raw(
        SUBJECT,
        |_, _, _| Ok(None),
        false,
        move |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| {
            let [subject] = inputs else { return Ok(Dynamic::UNIT) };
            let value = context.eval_expression_tree(subject)?;
            if !(value.as_float().is_ok_and(f64::is_nan) && shared.has_told_of_no_values()) {
                return Ok(value);
            }
            let mut error = raise(undecided("switch"));
            error.set_position(subject.position());
            Err(error)
        },
    );
}

/// Whether a text shows a number that is none; `banana` is a word.
fn shows_nan(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("nan"))
}

/// Has a `switch` ask whether what it looks at was computed.
pub(super) fn wrap(subject: &mut Expr) {
    if !subject.is_constant() {
        let at = subject.position();
        *subject = Expr::Custom(Box::new(custom(SUBJECT, [std::mem::take(subject)], Dynamic::UNIT)), at);
    }
}

fn undecided(name: &str) -> Error {
    Error::runtime(format!("this run has no values (--values none), and `{name}` decides by one"))
        .with_hint("put a number in place of what was never computed, or run with values")
}

/// An error that may come of a number that was never computed says so.
pub(super) fn explain(shared: &Shared, fault: Fault, origin: &Origin) -> Fault {
    if shared.has_values()
        || !shared.has_told_of_no_values()
        || fault.message.contains("--values none")
        || fault.kind == "OutOfMemoryError"
    {
        return fault;
    }
    let told = "This run has no values (--values none): `item()` and what else reports them gives nan, which may be why. \
                Put a number in its place, or run with values";
    let hint = match &fault.hint {
        Some(hint) => format!("{}. {told}", hint.trim_end_matches('.')),
        None => told.to_owned(),
    };
    fault.hinted(hint, origin)
}
