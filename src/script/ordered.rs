//! Comparisons of what has no order, which Rhai answers with false.

use rhai::{Dynamic, EvalAltResult, Position};

use crate::base::Error;
use crate::tensor::Tensor;

use super::fault::raise;
use super::missing::NOTHING;
use super::value::type_name;

/// Kinds of values that have no order among each other.
#[derive(Clone, Copy, PartialEq)]
enum Ordered {
    Nothing,
    Truth,
    Number,
    Text,
    Array,
    Map,
    Tensor,
    Function,
}

/// The error of a comparison by `<` and its like whose operands have no order, as Python has it; none of others.
pub(super) fn unordered(
    name: &str,
    [left, right]: [&Dynamic; 2],
    at: Position,
) -> Option<Box<EvalAltResult>> {
    use Ordered::{Array, Function, Map, Nothing, Number, Tensor, Text, Truth};
    if !asks_order(name) {
        return None;
    }
    let hint = match (Ordered::of(left), Ordered::of(right)) {
        (Some(Nothing), _) | (_, Some(Nothing)) => format!("{NOTHING}; `x != ()` asks first"),
        (Some(Function), _) | (_, Some(Function)) => {
            "`f.call(…)` calls a function that a variable holds".to_owned()
        }
        (Some(Number), Some(Text)) | (Some(Text), Some(Number)) => {
            "`parse_float(text)` and `parse_int(text)` read a number".to_owned()
        }
        (Some(Tensor), Some(Array)) | (Some(Array), Some(Tensor)) => {
            "make a tensor of the array: `tensor(…)`".to_owned()
        }
        (Some(Number | Truth | Tensor), Some(Text | Array | Map))
        | (Some(Text | Array | Map), Some(Number | Truth | Tensor))
        | (Some(Text), Some(Array | Map))
        | (Some(Array | Map), Some(Text))
        | (Some(Array), Some(Map))
        | (Some(Map), Some(Array))
        | (Some(Number), Some(Truth))
        | (Some(Truth), Some(Number)) => "values of these types have no order".to_owned(),
        _ => return None,
    };
    let (a, b) = (type_name(left), type_name(right));
    let text = format!("'{name}' not supported between instances of '{a}' and '{b}'");
    let mut raised = raise(Error::type_error(text).with_hint(hint));
    raised.set_position(at);
    Some(raised)
}

/// Whether an operator compares by an order.
pub(super) fn asks_order(name: &str) -> bool {
    matches!(name, "<" | "<=" | ">" | ">=")
}

impl Ordered {
    /// None of what has an order of its own, or is being changed just now.
    fn of(value: &Dynamic) -> Option<Ordered> {
        if value.is_shared() && value.is_locked() {
            return None;
        }
        Some(match () {
            () if value.is_unit() => Ordered::Nothing,
            () if value.is_bool() => Ordered::Truth,
            () if value.is_int() || value.is_float() => Ordered::Number,
            () if value.is_string() || value.is_char() => Ordered::Text,
            () if value.is_array() => Ordered::Array,
            () if value.is_map() => Ordered::Map,
            () if value.is_fnptr() => Ordered::Function,
            () if value.read_lock::<Tensor>().is_some() => Ordered::Tensor,
            () => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::script::Limits;
    use crate::script::testing::{failed, shown};

    #[test]
    fn what_has_no_order_is_not_compared() {
        for (code, types) in [
            ("let x = 1; let y = (); x < y", "'<' not supported between instances of 'int' and '()'"),
            ("let m = #{}; 0.5 >= m.best", "'>=' not supported between instances of 'float' and '()'"),
            ("\"0.9\" > 0.5", "'>' not supported between instances of 'string' and 'float'"),
            (
                "let x = ones(1); x <= \"inf\"",
                "'<=' not supported between instances of 'Tensor' and 'string'",
            ),
            ("let f = || 0.3; f < 1.0", "'<' not supported between instances of 'Fn' and 'float'"),
            ("let a = []; a.pop() > 3", "'>' not supported between instances of '()' and 'int'"),
            ("let a = []; len(a) < \"3\"", "'<' not supported between instances of 'int' and 'string'"),
            (
                "let loss = ones(1); let best = (); loss * 2 < best",
                "'<' not supported between instances of 'Tensor' and '()'",
            ),
            (
                "let x = ones(1); let best = (); x.sum() < best",
                "'<' not supported between instances of 'Tensor' and '()'",
            ),
            ("ones(2) < [1, 2]", "'<' not supported between instances of 'Tensor' and 'array'"),
            (
                "let n = 2; let f = || n; n < \"3\"",
                "'<' not supported between instances of 'int' and 'string'",
            ),
        ] {
            assert_eq!(failed(&[code], &Limits::default()).message, types, "{code}");
        }
        for (code, want) in [
            (
                "let a = [1, 2]; [a[0] < a[1], a.len() > 1, \"a\" < \"b\", 'a' < \"b\", 2 < 2.5]",
                "[true, true, true, true, true]",
            ),
            ("let m = #{x: 2}; [m.x < 3, m.y == (), m.x != ()]", "[true, true, true]"),
            ("let x = ones(2); [(x > 0).all().item(), (x.sum() > 1).item()]", "[true, true]"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
    }
}
