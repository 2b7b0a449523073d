//! The expectations that lesson checks are written with.

use rhai::{Array, Dynamic, Map};

use crate::base::{DType, Device, DeviceSpec, Error, Kind};
use crate::device::Machine;
use crate::nn::{Module, Role};
use crate::op::inspect::compare::tolerance;
use crate::op::params::kind::{self, Bool, Float, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, OpDef, Param};
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::differing::{apart, numbers, shapes_apart, told};
use super::run_events::RunEvents;

params! {
    ExpectParams {
        ok: Bool, "what must hold";
        reason: Str = "not as expected", "what the learner reads where it does not";
    }
}

params! {
    ExpectEqualParams {
        actual: Given, "what the learner's code gave";
        expected: Given, "what it should be";
    }
}

params! {
    ExpectCloseParams {
        actual: Given, "what the learner's code gave";
        expected: Given, "what it should be";
        rtol: Maybe<Float>, "the difference that is allowed relative to what it should be";
        atol: Maybe<Float>, "the difference that is allowed beside that";
        check_dtype: Bool = true, "whether tensors have to be of the expected dtype";
    }
}

params! {
    ExpectDeviceParams {
        tensor: Given, "what should be there: a tensor, or all of a module";
        device: kind::Device, "where it should be; \"cuda\" is any GPU";
    }
}

params! {
    ExpectErrorParams {
        kind: Str, "how the learner's code should have ended, such as \"OutOfMemoryError\"";
    }
}

const HOLDS: &[&str] = &["AssertionError: it does not hold"];

/// An expectation.
const fn expectation(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Testing, summary, params).own().errors(HOLDS)
}

/// The expectations.
pub static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        expectation("expect", "Fails a check where something does not hold.", ExpectParams::LIST)
            .details(
                "The line of the learner's code that it points at is that of the last figure that was read.",
            )
            .example("expect(1 + 1 == 2, \"sums go wrong\"); 1", "1"),
        |call| {
            let given = ExpectParams::of(&call.args)?;
            hold(call, given.ok, || given.reason.to_string())
        },
    ),
    ScriptRow::of(
        expectation(
            "expect_equal",
            "Fails a check where two values are not the same.",
            ExpectEqualParams::LIST,
        )
        .details(
            "Tensors and numbers are compared by shape and values, arrays and maps item by item, and a number is never \
             a text. NaN equals nothing.",
        )
        .example("expect_equal(ones(2), tensor([1.0, 1.0])); 1", "1"),
        |call| {
            let given = ExpectEqualParams::of(&call.args)?;
            let (a, b) = (&given.actual, &given.expected);
            hold(call, same(a, b), || apart(a, b))
        },
    ),
    ScriptRow::of(
        expectation(
            "expect_close",
            "Fails a check where two tensors or numbers differ by more than `atol + rtol * |expected|` anywhere.",
            ExpectCloseParams::LIST,
        )
        .details(
            "Without `rtol` and `atol` those of the expected dtype hold, as `torch.testing.assert_close` has them: 1.3e-6 \
             and 1e-5 for float32. An expected number stands for float32 beside a tensor, unless that is of float64. \
             Tensors of another dtype are not close, unless `check_dtype` is false. Arrays are compared item by item. \
             NaN is close to nothing.",
        )
        .errors(&["AssertionError: it does not hold", "TypeError: what is expected has no numbers"])
        .example("expect_close(tensor([1.0]), tensor([1.00001])); 1", "1"),
        expect_close,
    ),
    ScriptRow::of(
        expectation(
            "expect_device",
            "Fails a check where a tensor is on another device.",
            ExpectDeviceParams::LIST,
        )
        .errors(&[
            "RuntimeError: there is no such kind of device",
            "AssertionError: the tensor lies on another device",
        ])
        .example("expect_device(ones(2, #{device: \"cuda\"}), \"cuda\"); 1", "1"),
        expect_device,
    ),
    ScriptRow::of(
        expectation(
            "expect_error",
            "Fails a check unless the learner's code ended with an error of a kind.",
            ExpectErrorParams::LIST,
        )
        .example(
            "let told = (); try { expect_error(\"OutOfMemoryError\") } catch (e) { told = e.message; } told",
            "\"expected an error of kind OutOfMemoryError, there was none\"",
        ),
        |call| {
            let kind = ExpectErrorParams::of(&call.args)?.kind;
            let run = run_of(call);
            let error = run.and_then(|run| run.error());
            hold(call, error.as_deref() == Some(kind), || match &error {
                Some(other) => format!("expected an error of kind {kind}, there was one of kind {other}"),
                None => format!("expected an error of kind {kind}, there was none"),
            })
        },
    ),
];

/// The functions that a check is written with.
pub(crate) fn expectations() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| &row.def).map(|def| def.name)
}

fn expect_device(call: &mut Call) -> Outcome {
    let given = ExpectDeviceParams::of(&call.args)?;
    let (x, wanted) = (&given.tensor, given.device);
    if let DeviceSpec::Cuda(Some(i)) = wanted {
        call.machine().context(Device::Cuda(i))?;
    }
    let there = |device: Device| match wanted {
        DeviceSpec::Cuda(None) => device.is_cuda(),
        other => DeviceSpec::from(device) == other,
    };
    if let Some(module) = x.read_lock::<Module>() {
        let mut all = module.named(Role::Parameter);
        all.extend(module.named(Role::Buffer));
        let elsewhere = all.iter().map(|(name, t)| (name, t.device())).find(|(_, device)| !there(*device));
        return hold(call, elsewhere.is_none() && !all.is_empty(), || match elsewhere {
            Some((name, is)) => format!("expected the module on {wanted}, its `{name}` is on {is}"),
            None => format!("expected the module on {wanted}, it has no tensors and lies nowhere"),
        });
    }
    let is = x.read_lock::<Tensor>().map(|t| t.device());
    hold(call, is.is_some_and(there), || match is {
        Some(is) => format!("expected a tensor on {wanted}, this one is on {is}"),
        None => format!("expected a tensor on {wanted}, not {}", type_name(x)),
    })
}

/// The run that an expectation speaks of, from the evaluation's tag.
fn run_of(call: &Call) -> Option<RunEvents> {
    call.context.tag().and_then(|tag| tag.read_lock::<RunEvents>().map(|run| run.clone()))
}

fn hold(call: &Call, ok: bool, reason: impl FnOnce() -> String) -> Outcome {
    if ok {
        return Ok(Dynamic::UNIT);
    }
    let reason = reason();
    if let Some(run) = run_of(call) {
        run.fail(&reason);
    }
    Err(Error::new(Kind::AssertionError, reason).into())
}

fn same(a: &Dynamic, b: &Dynamic) -> bool {
    if a.is_bool() != b.is_bool() && !a.is::<Tensor>() && !b.is::<Tensor>() {
        return false;
    }
    if let (Some(x), Some(y)) = (a.read_lock::<DType>(), b.read_lock::<DType>()) {
        return *x == *y;
    }
    if let (Some(x), Some(y)) = (a.read_lock::<DeviceSpec>(), b.read_lock::<DeviceSpec>()) {
        let machine = Machine::current();
        return machine.resolve(*x) == machine.resolve(*y);
    }
    if let (Some(x), Some(y)) = (a.read_lock::<Module>(), b.read_lock::<Module>()) {
        return x.id() == y.id();
    }
    if let (Some(x), Some(y)) = (integers(a), integers(b)) {
        return x == y;
    }
    if let (Some(x), Some(y)) = (numbers(a), numbers(b)) {
        return x == y;
    }
    if let (Some(x), Some(y)) = (a.read_lock::<Array>(), b.read_lock::<Array>()) {
        return x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| same(x, y));
    }
    if let (Some(x), Some(y)) = (a.read_lock::<Map>(), b.read_lock::<Map>()) {
        return x.len() == y.len() && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| same(x, y)));
    }
    let has_text = a.is_unit() || a.is_string() || a.is_char();
    has_text && a.type_id() == b.type_id() && a.to_string() == b.to_string()
}

fn expect_close(call: &mut Call) -> Outcome {
    let given = ExpectCloseParams::of(&call.args)?;
    let (a, b) = (&given.actual, &given.expected);
    for (name, value) in [("rtol", given.rtol), ("atol", given.atol)] {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
            let text = format!("expect_close() expects `{name}` to be a number from 0 on, but it is {value}");
            return Err(Error::value(text).into());
        }
    }
    if !has_numbers(b) {
        let text =
            format!("expect_close() compares tensors, numbers and arrays of them, not {}", type_name(b));
        return Err(Error::type_error(text).into());
    }
    let mut apart = Vec::new();
    let same = compare(a, b, &given, &mut apart);
    let ok = same.is_ok() && apart.is_empty();
    hold(call, ok, || match same {
        Err(reason) => reason,
        Ok(()) if apart.iter().any(|d| d.is_nan()) => {
            "the values are not the expected ones: there is NaN".into()
        }
        Ok(()) => {
            let most = apart.iter().copied().fold(0.0, f64::max);
            format!("the values are not the expected ones: the largest difference is {}", figure(most))
        }
    })
}

/// A difference with four digits, as one would write it.
fn figure(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - value.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Whether all of an expected value is numbers.
fn has_numbers(value: &Dynamic) -> bool {
    match value.read_lock::<Array>() {
        Some(items) => items.iter().all(has_numbers),
        None => numbers(value).is_some(),
    }
}

/// Gathers the differences that are too large, or says why the values are not even of one form.
fn compare(
    a: &Dynamic,
    b: &Dynamic,
    given: &ExpectCloseParams,
    apart: &mut Vec<f64>,
) -> std::result::Result<(), String> {
    let unlike =
        || shapes_apart(a, b).unwrap_or_else(|| format!("{} cannot be compared with {}", told(a), told(b)));
    if let Some(expected) = b.read_lock::<Array>() {
        let items = a.read_lock::<Array>().filter(|items| items.len() == expected.len());
        let items = items.ok_or_else(unlike)?;
        return items.iter().zip(expected.iter()).try_for_each(|(a, b)| compare(a, b, given, apart));
    }
    let dtype = |value: &Dynamic| value.read_lock::<Tensor>().map(|t| t.dtype());
    if let (Some(is), Some(wanted)) = (dtype(a), dtype(b))
        && is != wanted
        && given.check_dtype
    {
        return Err(format!("expected values of torch.{wanted}, found torch.{is}"));
    }
    let (x, y) = numbers(a).zip(numbers(b)).filter(|(x, y)| x.0 == y.0).ok_or_else(unlike)?;
    // What the learner computed in has no say, but that a number is none of a tensor's dtype.
    let (rtol, atol) = tolerance(match (dtype(a), dtype(b)) {
        (_, Some(wanted)) => wanted,
        (Some(DType::Float64) | None, None) => DType::Float64,
        (Some(_), None) => DType::Float32,
    });
    let (rtol, atol) = (given.rtol.unwrap_or(rtol), given.atol.unwrap_or(atol));
    apart.extend(x.1.iter().zip(&y.1).filter_map(|(x, y)| {
        let distance = (x - y).abs();
        (x != y && !(distance.is_finite() && distance <= atol + rtol * y.abs())).then_some(distance)
    }));
    Ok(())
}

/// The same of integers, which may be larger than those that a float64 tells apart.
fn integers(value: &Dynamic) -> Option<(Vec<usize>, Vec<i64>)> {
    if let Some(t) = value.read_lock::<Tensor>() {
        let is_integer = !t.dtype().is_float() && t.dtype() != DType::Bool;
        return Some((t.shape().to_vec(), is_integer.then(|| t.to_i64s("check"))?.ok()?));
    }
    value.as_int().ok().map(|number| (Vec::new(), vec![number]))
}
