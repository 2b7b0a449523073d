//! `a.push(x)`, `a.pop()`, `a.len()` and `len(a)` of a variable that holds an array, done where it lies.
//!
//! Behind every call of a function that may change its first argument Rhai goes through all of that argument to measure
//! it, so that a loop which fills an array takes the square of its length. The size of an array that grows by one is
//! known; what lies in its items is measured now and then, and at once where an item is large. Receivers that hold
//! anything else, and functions of a program's own, are left to Rhai.

use std::sync::atomic::{AtomicBool, Ordering};

use rhai::{
    Array, Blob, Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, INT, Map, NativeCallContext,
    Position,
};

use crate::device::Shared;

use super::custom::lying;
use super::custom::{LIST, custom};
use super::fault::RhaiResult;

/// The functions, each with whether a program has one of its own of that name.
static LISTED: [(&str, AtomicBool); 4] = [
    ("push", AtomicBool::new(false)),
    ("pop", AtomicBool::new(false)),
    ("len", AtomicBool::new(false)),
    ("is_empty", AtomicBool::new(false)),
];

/// Elements, entries and bytes of an item from which on the whole array is measured with it.
const LARGE: usize = 32;

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(crate) fn register(engine: &mut Engine, shared: &Shared) {
    // Where results have the clocks of their operands, the functions that Rhai has carry them.
    let plain = !shared.has_both_clocks();
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [receiver, arguments @ .., whole] = inputs else { return Ok(Dynamic::UNIT) };
        let known = LISTED.get(state.as_int().unwrap_or(INT::MAX) as usize);
        let free = known.filter(|(_, taken)| plain && !taken.load(Ordering::Relaxed));
        let Some((name, _)) = free.filter(|_| holds_array(context, receiver)) else {
            return context.eval_expression_tree(whole);
        };
        match (*name, arguments) {
            ("push", [item]) => {
                let item = context.eval_expression_tree(item)?.flatten();
                push(context, receiver, item, whole)
            }
            ("pop", []) => changed(context, receiver, |array| array.pop().unwrap_or(Dynamic::UNIT)),
            (name, _) => {
                let length =
                    lying(context, receiver).and_then(|value| Some(value.read_lock::<Array>()?.len()));
                let length = length.unwrap_or_default();
                Ok(if name == "len" { Dynamic::from(length as INT) } else { (length == 0).into() })
            }
        }
    };
    engine.register_custom_syntax_with_state_raw(LIST, |_, _, _| Ok(None), false, evaluate);
    engine.register_fn("pad", pad);
}

/// Rhai's own multiplies what an item holds by the length without a look at how large that becomes.
fn pad(context: NativeCallContext, array: &mut Array, length: INT, item: Dynamic) -> RhaiResult<()> {
    let length = usize::try_from(length).unwrap_or(0);
    let Some(more) = length.checked_sub(array.len()) else { return Ok(()) };
    let most = context.engine().max_array_size();
    if more.checked_mul(held(&item)).is_none_or(|items| items > most.saturating_sub(array.len())) {
        return Err(EvalAltResult::ErrorDataTooLarge("Size of array/BLOB".into(), Position::NONE).into());
    }
    array.resize(length, item);
    Ok(())
}

/// How many items an item of an array is, with those in it.
fn held(item: &Dynamic) -> usize {
    let within =
        |items: &mut dyn Iterator<Item = &Dynamic>| items.fold(1, |n, item| held(item).saturating_add(n));
    if let Some(array) = item.read_lock::<Array>() {
        within(&mut array.iter())
    } else if let Some(map) = item.read_lock::<Map>() {
        within(&mut map.values())
    } else {
        1
    }
}

/// Leaves calls of these names, which are functions of a program's own, to Rhai from now on.
pub(super) fn leave<'a>(functions: impl Iterator<Item = &'a String>) {
    for function in functions {
        if let Some((_, taken)) = LISTED.iter().find(|(name, _)| name == function) {
            taken.store(true, Ordering::Relaxed);
        }
    }
}

/// Wraps a method of a variable.
pub(super) fn wrap(expr: &mut Expr) {
    let Expr::Dot(chain, flags, at) = &*expr else { return };
    let (Expr::Variable(variable, ..), Expr::MethodCall(method, _)) = (&chain.lhs, &chain.rhs) else {
        return;
    };
    if !variable.2.is_empty() || !flags.is_empty() {
        return;
    }
    let parts = std::iter::once(&chain.lhs).chain(&method.args).chain([&*expr]).cloned().collect();
    if let Some(wrapped) = wrapped(&method.name, method.args.len(), parts, *at) {
        *expr = wrapped;
    }
}

/// Wraps `len(a)` of a variable.
pub(super) fn wrap_call(expr: &mut Expr) {
    let Expr::FnCall(call, at) = &*expr else { return };
    let [Expr::Variable(variable, ..)] = call.args.as_ref() else { return };
    if call.name != "len" || call.is_qualified() || !variable.2.is_empty() {
        return;
    }
    let parts = call.args.iter().chain([&*expr]).cloned().collect();
    if let Some(wrapped) = wrapped("len", 0, parts, *at) {
        *expr = wrapped;
    }
}

fn wrapped(name: &str, arguments: usize, parts: Vec<Expr>, at: Position) -> Option<Expr> {
    let place = LISTED.iter().position(|(known, _)| *known == name)?;
    let takes = usize::from(name == "push");
    (arguments == takes).then(|| Expr::Custom(Box::new(custom(LIST, parts, (place as INT).into())), at))
}

/// Whether a variable holds an array that nobody reads or writes just now, and that may be changed.
fn holds_array(context: &EvalContext, receiver: &Expr) -> bool {
    let free = |value: &&Dynamic| !(value.is_read_only() || value.is_shared() && value.is_locked());
    lying(context, receiver).filter(free).is_some_and(Dynamic::is_array)
}

/// Does something with the array of a variable.
fn changed<R: Into<Dynamic>>(
    context: &mut EvalContext,
    receiver: &Expr,
    change: impl FnOnce(&mut Array) -> R,
) -> RhaiResult<Dynamic> {
    let Expr::Variable(variable, ..) = receiver else { return Ok(Dynamic::UNIT) };
    let value = context.scope_mut().get_mut(&variable.1);
    let done = value.and_then(|value| Some(change(&mut *value.write_lock::<Array>()?).into()));
    Ok(done.unwrap_or(Dynamic::UNIT))
}

fn push(context: &mut EvalContext, receiver: &Expr, item: Dynamic, whole: &Expr) -> RhaiResult<Dynamic> {
    // What the item was made by may have given the variable another value.
    if !holds_array(context, receiver) {
        let mut value = lying(context, receiver).cloned().unwrap_or(Dynamic::UNIT).flatten();
        let mut item = item;
        let done = context.call_native_fn_raw("push", true, &mut [&mut value, &mut item]);
        let done = done.map_err(|mut error| {
            if error.position().is_none() {
                error.set_position(whole.position());
            }
            error
        })?;
        if let Expr::Variable(variable, ..) = receiver
            && let Some(place) = context.scope_mut().get_mut(&variable.1)
        {
            *place = value;
        }
        return Ok(done);
    }
    let large = weight(&item) > LARGE;
    let length = changed(context, receiver, |array| {
        array.push(item);
        array.len() as INT
    })?;
    let length = length.as_int().unwrap_or_default() as usize;
    // Sixteen times while it doubles: together these take as long as a few walks through all of it.
    let step = (length.next_power_of_two() / 32).max(1);
    let too_long = length > context.engine().max_array_size();
    if (large || too_long || length.is_multiple_of(step))
        && let Some(value) = lying(context, receiver)
        && let Err(mut error) = context.engine().ensure_data_size_within_limits(value)
    {
        error.set_position(whole.position());
        return Err(error);
    }
    Ok(Dynamic::UNIT)
}

/// How much an item holds, as far as it is needed.
fn weight(item: &Dynamic) -> usize {
    if let Some(text) = item.read_lock::<rhai::ImmutableString>() {
        return text.len();
    }
    if let Some(bytes) = item.read_lock::<Blob>() {
        return bytes.len();
    }
    let within = |items: &mut dyn Iterator<Item = &Dynamic>| {
        let mut sum = 0;
        for inner in items {
            sum += 1 + weight(inner);
            if sum > LARGE {
                break;
            }
        }
        sum
    };
    if let Some(items) = item.read_lock::<Array>() {
        return within(&mut items.iter());
    }
    item.read_lock::<Map>().map_or(0, |items| within(&mut items.values()))
}

#[cfg(test)]
mod tests {
    use crate::script::Limits;
    use crate::script::testing::{failed, shown};

    #[test]
    fn arrays_grow_and_shrink_as_they_are_written_to() {
        for (code, want) in [
            (
                "let a = []; for i in 0..3 { a.push(i * 2); } [a, a.len(), len(a), a.is_empty()]",
                "[[0, 2, 4], 3, 3, false]",
            ),
            ("let a = [1, 2]; [a.pop(), a.pop(), a.pop(), a.is_empty()]", "[2, 1, (), true]"),
            ("let a = [1]; let b = a; b.push(2); [a, b]", "[[1], [1, 2]]"),
            ("let a = [1]; { let a = [5]; a.push(6); } a", "[1]"),
            ("let a = []; let f = |x| { a.push(x); a.len() }; [f.call(7), f.call(8), a]", "[1, 2, [7, 8]]"),
            ("let n = 1; let f = || n; let a = []; a.push(n); n = 2; [a, f.call()]", "[[1], 2]"),
            ("let a = [1]; a.push({ a.push(2); a.len() }); a", "[1, 2, 2]"),
            ("let a = [1]; a.push(a); a", "[1, [1]]"),
            ("fn grow(a, x) { a.push(x); a } grow([1], 2)", "[1, 2]"),
            ("fn push(x) { this + x } let n = 1; n.push(2)", "3"),
            ("let s = \"abc\"; let m = #{x: 1}; [s.len(), len(s), m.len(), len(m)]", "[3, 3, 1, 1]"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }

    #[test]
    fn what_may_not_grow_says_so() {
        let limits = Limits { array_length: 1000, ..Limits::default() };
        let failed = |code: &str| failed(&[code], &limits);
        for code in [
            "let a = [];\nfor i in 0..5000 { a.push(i); }",
            "let a = [];\nfor i in 0..50 { let row = []; row.pad(40, 1); a.push(row); }",
            "let a = [];\nlet row = []; row.pad(600, 1); a.push(row); a.push(row);",
            "let a = [1];\na.pad(9223372036854775807, [1, [2]])",
            "let a = [1];\na.pad(40, #{x: [1, 2], y: a.len()}); a.pad(400, a)",
        ] {
            let fault = failed(code);
            assert_eq!(fault.kind, "LimitError", "{}", fault.report);
            assert!(fault.report.contains("test:2:"), "{}", fault.report);
        }
        let fault = failed("const A = [1];\nA.push(2);");
        assert!(fault.report.contains("test:2:"), "{}", fault.report);
        let fault = failed("let a = [1]; a.push({ a = 5; 2 });");
        assert!(fault.message.contains("push"), "{}", fault.report);
    }
}
