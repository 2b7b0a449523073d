//! The vocabulary of lesson checks: expectations, and the events of a run as a check reads them.

use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Array, Dynamic, Engine, INT, Map};

use crate::base::event::{Body, Event};
use crate::base::{DType, Device, DeviceSpec, Error, Kind, Result};
use crate::device::Machine;
use crate::nn::{Module, Role};
use crate::op::def::PROPERTY;
use crate::op::inspect::compare::tolerance;
use crate::op::params::kind::{self, Bool, Float, Int, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, OpDef, Param, Receiver};
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::value::type_name;
use crate::tensor::Tensor;

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

params! {
    DeviceBytesParams {
        device: kind::Device, "whose memory it is about";
    }
}

params! {
    OverlapParams {
        first: Int, "one of the streams, by its number";
        second: Int, "the other one, by its number";
    }
}

params! {
    OpsParams {
        dtype: Given, "what the operations computed in";
    }
}

const HOLDS: &[&str] = &["AssertionError: it does not hold"];

/// An expectation.
const fn expectation(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Testing, summary, params).own().errors(HOLDS)
}

/// What `events` has.
const fn of_run(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Testing, summary, params).on(Receiver::Run).own()
}

/// A figure of `events`.
const fn figure(name: &'static str, summary: &'static str) -> OpDef {
    of_run(name, summary, &[]).forms(PROPERTY)
}

/// The expectations, and what `events` has. Examples read a run that copied 400 bytes to a GPU and launched two kernels.
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
            if let Some(run) = &run {
                run.state().expects_error = true;
            }
            let error = run.and_then(|run| run.0.error.clone());
            hold(call, error.as_deref() == Some(kind), || match &error {
                Some(other) => format!("expected an error of kind {kind}, there was one of kind {other}"),
                None => format!("expected an error of kind {kind}, there was none"),
            })
        },
    ),
    ScriptRow::of(
        figure("h2d", "Copies from the host to GPUs: #{count, bytes, pinned}.")
            .example("events.h2d.bytes", "400"),
        |call| copies(call, true, false),
    ),
    ScriptRow::of(
        figure("d2h", "Copies from GPUs to the host: #{count, bytes, pinned}.")
            .example("events.d2h.count", "0"),
        |call| copies(call, false, true),
    ),
    ScriptRow::of(
        figure("d2d", "Copies on and between GPUs: #{count, bytes, pinned}.")
            .example("events.d2d.count", "0"),
        |call| copies(call, true, true),
    ),
    ScriptRow::of(
        figure("launches", "How many kernels GPUs were given.").example("events.launches", "2"),
        |call| read(call, "launches", |body| matches!(body, Body::Launch { device, .. } if device.is_cuda())),
    ),
    ScriptRow::of(
        figure("syncs", "How often the script waited for a GPU by asking to.").example("events.syncs", "0"),
        |call| read(call, "syncs", |body| matches!(body, Body::Sync { implicit: false, .. })),
    ),
    ScriptRow::of(
        figure(
            "implicit_syncs",
            "How often the script waited for a GPU without asking to, as `.item()` does.",
        )
        .example("events.implicit_syncs", "1"),
        |call| read(call, "implicit_syncs", |body| matches!(body, Body::Sync { implicit: true, .. })),
    ),
    ScriptRow::of(figure("oom", "How often a device had no room.").example("events.oom", "0"), |call| {
        read(call, "oom", |body| matches!(body, Body::OutOfMemory { .. }))
    }),
    ScriptRow::of(
        figure("time", "Milliseconds from the first to the last work of the GPUs.")
            .example("events.time", "0.0"),
        |call| Ok(call.on::<RunEvents>()?.time().into()),
    ),
    ScriptRow::of(
        figure("dropped", "How many events of the run were not kept: it had too many.")
            .example("events.dropped", "0"),
        |call| Ok((call.on::<RunEvents>()?.0.dropped as INT).into()),
    ),
    ScriptRow::of(
        figure("error", "The kind of the error that the run ended with, or ().")
            .example("events.error == ()", "true"),
        |call| {
            let run = call.on::<RunEvents>()?;
            run.state().expects_error = true;
            Ok(run.0.error.clone().map_or(Dynamic::UNIT, Dynamic::from))
        },
    ),
    ScriptRow::of(
        of_run("peak_bytes", "The most bytes that a device held at once.", DeviceBytesParams::LIST)
            .errors(&[
                "ValueError: the device took no part in the run",
                "RuntimeError: there is no such kind of device",
            ])
            .example("events.peak_bytes(\"cuda:0\")", "512"),
        |call| bytes(call, "peak"),
    ),
    ScriptRow::of(
        of_run(
            "leaked_bytes",
            "Bytes that a device holds after the run and did not before.",
            DeviceBytesParams::LIST,
        )
        .errors(&[
            "ValueError: the device took no part in the run",
            "RuntimeError: there is no such kind of device",
        ])
        .example("events.leaked_bytes(\"cuda:0\")", "0"),
        |call| bytes(call, "leaked"),
    ),
    ScriptRow::of(
        of_run("overlap", "Whether two streams worked at the same time.", OverlapParams::LIST)
            .example("events.overlap(0, 1)", "false"),
        |call| {
            let given = OverlapParams::of(&call.args)?;
            Ok(call.on::<RunEvents>()?.overlap(given.first, given.second).into())
        },
    ),
    ScriptRow::of(
        of_run("ops", "How many operations computed in a dtype.", OpsParams::LIST)
            .example("events.ops(float32)", "2"),
        |call| {
            let given = OpsParams::of(&call.args)?.dtype;
            let dtype = given.read_lock::<DType>().map(|dtype| dtype.name().to_string());
            let name = dtype.unwrap_or_else(|| given.to_string());
            let map = call.on::<RunEvents>()?.figure("by_dtype", None);
            let count =
                map.read_lock::<Map>().and_then(|m| m.get(name.trim_start_matches("torch.")).cloned());
            Ok(count.filter(Dynamic::is_int).unwrap_or_else(|| Dynamic::from(0 as INT)))
        },
    ),
];

/// The functions that a check is written with.
pub(crate) fn expectations() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| &row.def).filter(|def| def.receiver == Receiver::None).map(|def| def.name)
}

/// What `events` has.
pub fn fields() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| &row.def).filter(|def| def.receiver == Receiver::Run).map(|def| def.name)
}

/// The type has a name.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<RunEvents>("events");
}

/// The events of one run. Reading a figure remembers the learner's line behind it, so that a failed
/// expectation can point there.
#[derive(Clone)]
pub struct RunEvents(Arc<ChecksInner>);

struct ChecksInner {
    events: Arc<Vec<Event>>,
    figures: Map,
    dropped: u64,
    error: Option<String>,
    state: Mutex<CheckState>,
}

#[derive(Default)]
struct CheckState {
    line: Option<u32>,
    finding: Option<Finding>,
    /// The check looked at how the run ended.
    expects_error: bool,
}

/// Why a check failed, and at which of the learner's lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub reason: String,
    pub line: Option<u32>,
}

impl RunEvents {
    /// `figures` sum up the whole run, of whose events on accelerators `events` are the first; `error` is the kind it
    /// ended with.
    pub fn new(events: Arc<Vec<Event>>, figures: Map, dropped: u64, error: Option<String>) -> RunEvents {
        RunEvents(Arc::new(ChecksInner { events, figures, dropped, error, state: Mutex::default() }))
    }

    /// What an expectation found, if one failed.
    pub(crate) fn finding(&self) -> Option<Finding> {
        self.state().finding.clone()
    }

    /// Whether the check looked at the error that the run ended with.
    pub(crate) fn expects_error(&self) -> bool {
        self.state().expects_error
    }

    fn state(&self) -> MutexGuard<'_, CheckState> {
        self.0.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn figure(&self, name: &str, line: Option<u32>) -> Dynamic {
        self.state().line = line;
        self.0.figures.get(name).cloned().unwrap_or(Dynamic::UNIT)
    }

    /// The line of the last event that `test` picks.
    fn line_of(&self, test: impl Fn(&Body) -> bool) -> Option<u32> {
        self.0.events.iter().rev().find(|e| test(&e.body)).map(|e| e.source.line).filter(|l| *l > 0)
    }

    fn by_device(&self, figure: &str, device: DeviceSpec) -> Result<INT> {
        let name = match device {
            DeviceSpec::Cuda(None) => "cuda:0".to_string(),
            other => other.to_string(),
        };
        let line = self.peak_line(&name);
        let map = self.figure(figure, line);
        let value = map.read_lock::<Map>().and_then(|m| m.get(name.as_str()).and_then(|v| v.as_int().ok()));
        value.ok_or_else(|| Error::value(format!("no device {name} took part in this run")))
    }

    /// The line at which a device's allocated bytes were highest.
    fn peak_line(&self, name: &str) -> Option<u32> {
        let allocs = self.0.events.iter().filter_map(|e| match &e.body {
            Body::Alloc { device, allocated, .. } if device.to_string() == name => {
                Some((*allocated, e.source.line))
            }
            _ => None,
        });
        allocs.max_by_key(|(bytes, _)| *bytes).map(|(_, line)| line)
    }

    fn overlap(&self, a: INT, b: INT) -> bool {
        let spans = |wanted: INT| {
            self.0.events.iter().filter_map(move |e| match &e.body {
                Body::Launch { stream, span, .. } | Body::Copy { stream, span, .. }
                    if INT::from(*stream) == wanted =>
                {
                    Some((span.start, span.end()))
                }
                _ => None,
            })
        };
        spans(a).any(|(s, e)| spans(b).any(|(s2, e2)| s < e2 && s2 < e))
    }

    /// Nanoseconds from the first to the last event that has a span, in milliseconds.
    fn time(&self) -> f64 {
        let spans = self.0.events.iter().filter_map(|e| match &e.body {
            Body::Launch { device, span, .. } if device.is_cuda() => Some(*span),
            Body::Copy { span, .. } | Body::Sync { span, .. } => Some(*span),
            _ => None,
        });
        let (first, last) = spans.fold((u64::MAX, 0), |(a, b), s| (a.min(s.start), b.max(s.end())));
        last.saturating_sub(first.min(last)) as f64 / 1e6
    }
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
        let mut state = run.state();
        let line = state.line;
        state.finding = Some(Finding { reason: reason.clone(), line });
    }
    Err(Error::new(Kind::AssertionError, reason).into())
}

fn copies(call: &Call, to_gpu: bool, from_gpu: bool) -> Outcome {
    read(
        call,
        call.args.def.name,
        |body| matches!(body, Body::Copy { from, to, .. } if from.is_cuda() == from_gpu && to.is_cuda() == to_gpu),
    )
}

/// A figure, with the line of the last event behind it.
fn read(call: &Call, name: &str, behind: impl Fn(&Body) -> bool) -> Outcome {
    let run = call.on::<RunEvents>()?;
    let line = run.line_of(behind);
    Ok(run.figure(name, line))
}

fn bytes(call: &Call, figure: &str) -> Outcome {
    let device = DeviceBytesParams::of(&call.args)?.device;
    Ok(call.on::<RunEvents>()?.by_device(figure, device)?.into())
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
    // Of other types of the program's only the name can be told.
    if value.type_name().contains("::") { type_name(value) } else { value.to_string() }
}
