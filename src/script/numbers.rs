//! `float(x)`, `int(x)` and `bool(x)` of a tensor: the number in it, as in Python. To Rhai they are the methods `x.float()`
//! and its like, which cast, so calls that are written as functions are told apart in the syntax tree.

use std::collections::HashSet;
use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalContext, Expr, Expression, ImmutableString, Position};

use crate::base::Error;
use crate::device::Shared;
use crate::tensor::Tensor;

use super::custom::custom;
use super::direct::truth;
use super::fault::{RhaiResult, raise};

/// The key of such a call: no text of a script is read as this token.
const NUMBER: &str = "\u{1d}";

const NAMES: [&str; 3] = ["float", "int", "bool"];

/// Teaches the engine to evaluate what [`wrap`] makes.
pub(super) fn register(engine: &mut Engine, shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let evaluate = move |context: &mut EvalContext, inputs: &[Expression], state: &Dynamic| {
        let [argument, here] = inputs else { return Ok(Dynamic::UNIT) };
        let name = state.read_lock::<ImmutableString>().map(|name| name.clone()).unwrap_or_default();
        let value = context.eval_expression_tree(argument)?;
        number(context, &shared, (&name, value), here.position())
    };
    engine.register_custom_syntax_with_state_raw(NUMBER, |_, _, _| Ok(None), false, evaluate);
}

/// Wraps a call of one of the functions, unless the script has one of that name.
pub(super) fn wrap(expr: &mut Expr, functions: &HashSet<String>) {
    let Expr::FnCall(call, at) = &*expr else { return };
    let [argument] = call.args.as_slice() else { return };
    if call.is_qualified() || !NAMES.contains(&call.name.as_str()) || functions.contains(call.name.as_str()) {
        return;
    }
    let wrapper = custom(NUMBER, [argument.clone(), Expr::Unit(*at)], call.name.clone().into());
    *expr = Expr::Custom(Box::new(wrapper), *at);
}

fn number(
    context: &mut EvalContext,
    shared: &Shared,
    (name, value): (&str, Dynamic),
    at: Position,
) -> RhaiResult<Dynamic> {
    // What a closure has captured as well has its type behind a lock.
    let mut value = value.flatten();
    if let Some(line) = at.line() {
        shared.set_line(line as u32);
    }
    let placed = |mut error: Box<rhai::EvalAltResult>| {
        if error.position().is_none() {
            error.set_position(at);
        }
        error
    };
    let elements = value.read_lock::<Tensor>().map(|t| t.numel());
    match elements {
        None => {}
        Some(_) if name == "bool" => return truth(shared, value, at),
        Some(1) => value = context.call_native_fn_raw("item", true, &mut [&mut value]).map_err(placed)?,
        Some(_) => {
            let error = Error::value("only one element tensors can be converted to Python scalars")
                .with_hint(format!(
                    "`x.{name}()` casts all elements, and `x.tolist()` gives them as numbers"
                ));
            return Err(placed(raise(error)));
        }
    }
    context.call_native_fn_raw(name, false, &mut [&mut value]).map_err(placed)
}

#[cfg(test)]
mod tests {
    use crate::script::testing::shown;

    #[test]
    fn of_a_tensor_they_give_its_number() {
        for (code, want) in [
            ("float(tensor([[3.5]]))", "3.5"),
            ("int(tensor(-3.7))", "-3"),
            ("int(tensor(7)) + 1", "8"),
            ("bool(tensor([0.0]))", "false"),
            ("float(tensor(true))", "1.0"),
            (
                "let t = 0.0; for x in [1.5, 2.0] { t += float(tensor(x, #{requires_grad: true}) * 2); } t",
                "7.0",
            ),
            ("let x = tensor(2); let f = || float(x); f.call()", "2.0"),
            ("[float(\"1e3\"), int(2.9), bool(3), float(2), int(\"4\")]", "[1000.0, 2, true, 2.0, 4]"),
            ("[1.7, 2.2].map(|x| int(x))", "[1, 2]"),
            ("fn float(x) { x + 1 } float(tensor(1))", "tensor(2)"),
            ("tensor([1, 2]).float()", "tensor([1., 2.])"),
            ("range(int(tensor(3)))", "0..3"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
        for (code, want) in [
            ("float(ones(2))", "ValueError: only one element tensors can be converted to Python scalars"),
            ("int(tensor(0.0) / 0)", "ValueError: cannot convert float NaN to integer"),
            ("bool(ones(2))", "Boolean value of Tensor with more than one value is ambiguous"),
            ("float([1])", "float() does not take (array)"),
        ] {
            let got = shown(&[code]);
            assert!(got.contains(want), "{code}: {got}");
        }
    }
}
