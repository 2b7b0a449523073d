//! A run without values: what decides by a number that nobody computed is an error, wherever the number has come.

use std::any::TypeId;
use std::sync::Arc;

use rhai::{Dynamic, Engine, INT, NativeCallContext};

use crate::base::Error;
use crate::device::Shared;

use super::fault::{Fault, Origin, raise};

/// Comparisons by their operators.
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

/// Has comparisons of numbers, and what makes whole ones of them, refuse what was never computed.
pub(super) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    engine.set_fast_operators(false);
    let (int, float) = (TypeId::of::<INT>(), TypeId::of::<f64>());
    for name in COMPARISONS {
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
                Ok(match name {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                })
            });
        }
    }
    let shared = Arc::clone(shared);
    engine.register_fn("to_int", move |number: f64| {
        match number.is_nan() && shared.has_told_of_no_values() {
            true => Err(raise(undecided("to_int"))),
            false => Ok(number.trunc() as INT),
        }
    });
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
