//! The expectations that lesson checks are written with.

use rhai::{Array, Dynamic, ImmutableString, Map};

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
            hold(call, same(a, b), || format!("expected {}, found {}", shown(b), shown(a)))
        },
    ),
    ScriptRow::of(
        expectation(
            "expect_close",
            "Fails a check where two tensors or numbers differ by more than `atol + rtol * |expected|` anywhere.",
            ExpectCloseParams::LIST,
        )
        .details(
            "Without `rtol` and `atol` those of the dtype hold, as `torch.testing.assert_close` has them: 1.3e-6 and 1e-5 \
             for float32; of two dtypes the wider ones. NaN is close to nothing.",
        )
        .example("expect_close(tensor([1.0]), tensor([1.00001])); 1", "1"),
        |call| {
            let given = ExpectCloseParams::of(&call.args)?;
            let (a, b) = (&given.actual, &given.expected);
            let (rtol, atol) = tolerances(a, b);
            let (rtol, atol) = (given.rtol.unwrap_or(rtol), given.atol.unwrap_or(atol));
            let pairs = numbers(a).zip(numbers(b)).filter(|(x, y)| x.0 == y.0);
            let far = |x: f64, y: f64| {
                let apart = (x - y).abs();
                (x != y && !(apart.is_finite() && apart <= atol + rtol * y.abs())).then_some(apart)
            };
            let apart = pairs.map(|((_, x), (_, y))| x.iter().zip(&y).filter_map(|(x, y)| far(*x, *y)).collect());
            let apart: Option<Vec<f64>> = apart;
            hold(call, apart.as_ref().is_some_and(Vec::is_empty), || match &apart {
                Some(all) if all.iter().any(|d| d.is_nan()) => "the values are not the expected ones: there is NaN".into(),
                Some(all) => {
                    let most = all.iter().copied().fold(0.0, f64::max);
                    format!("the values are not the expected ones: the largest difference is {most:.3e}")
                }
                None => format!("{} cannot be compared with {}", shown(a), shown(b)),
            })
        },
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
    let there = |device: Device| match wanted {
        DeviceSpec::Cuda(None) => device.is_cuda(),
        other => DeviceSpec::from(device) == other,
    };
    if let Some(module) = x.read_lock::<Module>() {
        let all = module.named(Role::Parameter).into_iter().chain(module.named(Role::Buffer));
        let elsewhere = all.map(|(name, t)| (name, t.device())).find(|(_, device)| !there(*device));
        return hold(call, elsewhere.is_none(), || match elsewhere {
            Some((name, is)) => format!("expected the module on {wanted}, its `{name}` is on {is}"),
            None => String::new(),
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

/// The tolerances of two tensors' dtypes, the wider ones; numbers have float64's.
fn tolerances(a: &Dynamic, b: &Dynamic) -> (f64, f64) {
    let of = |value: &Dynamic| value.read_lock::<Tensor>().map(|t| tolerance(t.dtype()));
    match (of(a), of(b)) {
        (Some(x), Some(y)) => (x.0.max(y.0), x.1.max(y.1)),
        (one, other) => one.or(other).unwrap_or(tolerance(DType::Float64)),
    }
}

/// Shape and values of a tensor, a number or a bool.
fn numbers(value: &Dynamic) -> Option<(Vec<usize>, Vec<f64>)> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return Some((t.shape().to_vec(), t.to_f64s("check").ok()?));
    }
    let number = value.as_float().or_else(|_| value.as_int().map(|i| i as f64));
    let number = number.or_else(|_| value.as_bool().map(|b| f64::from(u8::from(b)))).ok()?;
    Some((Vec::new(), vec![number]))
}

/// The same of integers, which may be larger than those that a float64 tells apart.
fn integers(value: &Dynamic) -> Option<(Vec<usize>, Vec<i64>)> {
    if let Some(t) = value.read_lock::<Tensor>() {
        let is_integer = !t.dtype().is_float() && t.dtype() != DType::Bool;
        return Some((t.shape().to_vec(), is_integer.then(|| t.to_i64s("check"))?.ok()?));
    }
    value.as_int().ok().map(|number| (Vec::new(), vec![number]))
}

fn shown(value: &Dynamic) -> String {
    if let Some(t) = value.read_lock::<Tensor>() {
        return crate::tensor::display::display(&t).unwrap_or_default();
    }
    if let Some(dtype) = value.read_lock::<DType>() {
        return format!("torch.{}", *dtype);
    }
    if let Some(device) = value.read_lock::<DeviceSpec>() {
        return format!("device {}", *device);
    }
    if let Some(items) = value.read_lock::<Array>() {
        return format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "));
    }
    if value.is_unit() {
        return "()".into();
    }
    if let Some(text) = value.read_lock::<ImmutableString>() {
        return format!("{:?}", text.as_str());
    }
    // Of other types of the program's only the name can be told.
    if value.type_name().contains("::") { type_name(value) } else { value.to_string() }
}
