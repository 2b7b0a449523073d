//! `x in xs` where tensors are looked for, or looked into.

use rhai::{Array, Dynamic, Engine, EvalAltResult, FLOAT, INT};

use crate::base::{Error, Result, Scalar};
use crate::op::elementwise::comparison::eq;
use crate::op::reduce::sums::any;
use crate::script::fault::raise;
use crate::script::value::type_name;
use crate::tensor::Tensor;

/// Teaches the engine what Rhai compares by types of its own alone.
pub(super) fn register(engine: &mut Engine) {
    // What `x.numpy()` gives has it in Python.
    engine.register_fn("tolist", |array: &mut Array| array.clone());
    engine.register_fn("contains", |array: &mut Array, x: Tensor| {
        Ok::<_, Box<EvalAltResult>>(place_in(array, &x).map_err(raise)?.is_some())
    });
    engine.register_fn("index_of", |array: &mut Array, x: Tensor| {
        Ok::<_, Box<EvalAltResult>>(place_in(array, &x).map_err(raise)?.map_or(-1, |at| at as INT))
    });
    engine.register_fn("index_of", |array: &mut Array, x: Tensor, start: INT| {
        let from = if start < 0 { array.len().saturating_add_signed(start as isize) } else { start as usize };
        let rest: Array = array.iter().skip(from).cloned().collect();
        let place = place_in(&rest, &x).map_err(raise)?;
        Ok::<_, Box<EvalAltResult>>(place.map_or(-1, |at| (from + at) as INT))
    });
    engine.register_fn("contains", |array: &mut Array, number: INT| {
        holds(array, Scalar::Int(number)).map_err(raise)
    });
    engine.register_fn("contains", |array: &mut Array, number: FLOAT| {
        holds(array, Scalar::Float(number)).map_err(raise)
    });
    engine.register_fn("contains", |x: &mut Tensor, other: Tensor| {
        let found = eq(&*x, &other).and_then(|same| any(&same, None, false)?.item());
        found.map(|found| found.as_f64() != 0.0).map_err(raise)
    });
    engine.register_fn("contains", |x: &mut Tensor, number: Dynamic| {
        let number = if let Ok(number) = number.as_int() {
            Scalar::Int(number)
        } else if let Ok(number) = number.as_float() {
            Scalar::Float(number)
        } else if let Ok(truth) = number.as_bool() {
            Scalar::Bool(truth)
        } else {
            let text = format!("a number is looked for in a Tensor, not {}", type_name(&number));
            return Err(raise(Error::type_error(text)));
        };
        let found = eq(&*x, number).and_then(|same| any(&same, None, false)?.item());
        found.map(|found| found.as_f64() != 0.0).map_err(raise)
    });
}

/// Whether an array has a number, perhaps as the one of a tensor.
fn holds(array: &Array, number: Scalar) -> Result<bool> {
    for item in array {
        let plain = item.as_int().map(Scalar::Int).or_else(|_| item.as_float().map(Scalar::Float));
        if let Ok(item) = plain {
            if are_same(item, number) {
                return Ok(true);
            }
            continue;
        }
        let Some(own) = item.read_lock::<Tensor>() else { continue };
        if own.numel() != 1 {
            return Err(ambiguous());
        }
        if are_same(own.item()?, number) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two numbers are equal, an integer and a float to the last digit.
fn are_same(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a == b,
        (Scalar::Int(whole), Scalar::Float(float)) | (Scalar::Float(float), Scalar::Int(whole)) => {
            // 2 to the 63rd is the first float beyond.
            let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float);
            fits && float.fract() == 0.0 && float as INT == whole
        }
        (a, b) => a.as_f64() == b.as_f64(),
    }
}

fn ambiguous() -> Error {
    let text = "Boolean value of Tensor with more than one value is ambiguous";
    Error::runtime(text).with_hint("`a.equal(b)` tells whether two tensors have the same elements")
}

/// Where in an array a tensor stands as Python's `in` looks for it: the same one, or one whose elements are equal, which
/// must then be one.
fn place_in(array: &Array, x: &Tensor) -> Result<Option<usize>> {
    for (at, item) in array.iter().enumerate() {
        let Some(item) = item.read_lock::<Tensor>() else {
            let number = item.as_float().or_else(|_| item.as_int().map(|number| number as f64));
            if x.numel() == 1 && number.is_ok_and(|number| x.item().is_ok_and(|own| own.as_f64() == number)) {
                return Ok(Some(at));
            }
            continue;
        };
        if item.is(x) {
            return Ok(Some(at));
        }
        let same = eq(&*item, x)?;
        if same.numel() != 1 {
            return Err(ambiguous());
        }
        if same.item()?.as_f64() != 0.0 {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use crate::script::Limits;
    use crate::script::testing::{failed, shown};

    #[test]
    fn a_tensor_is_in_an_array_as_in_python() {
        for (code, want) in [
            ("let w = ones(2); let xs = [zeros(3), w]; xs = [w]; [w in xs, xs.index_of(w)]", "[true, 0]"),
            ("[tensor(2) in [tensor(1), tensor(2)], tensor(3) in [tensor(1), 5, \"a\"]]", "[true, false]"),
            (
                "let l = nn::Linear(2, 2); [l.weight in [l.weight], l.weight in l.parameters()]",
                "[true, true]",
            ),
            ("[2 in tensor([1, 2]), 2.5 in tensor([1, 2]), true in tensor([false])]", "[true, false, false]"),
            ("[[tensor(1), tensor(2), tensor(1)].index_of(tensor(1), 1), tensor(5) in [4, 5]]", "[2, true]"),
            (
                "[3 in [tensor(3)], 2.0 in [1, tensor(2)], 4 in [tensor(3), \"4\"], 1 in [1.0]]",
                "[true, true, false, true]",
            ),
            ("[tensor(2) in tensor([1, 2]), tensor(3.0) in tensor([1, 2])]", "[true, false]"),
            (
                "let big = 9007199254740992.0; [9007199254740993 in [big], 9007199254740992 in [big], 9223372036854775807 in [9223372036854775807.0], 2.5 in [2]]",
                "[false, true, false, false]",
            ),
            ("let x = ones(2); x.numpy().tolist()", "[1.0, 1.0]"),
        ] {
            assert_eq!(shown(&[code]), want, "{code}");
        }
        let fault = failed(&["ones(2) in [zeros(2)]"], &Limits::default());
        assert_eq!(fault.message, "Boolean value of Tensor with more than one value is ambiguous");
    }
}
