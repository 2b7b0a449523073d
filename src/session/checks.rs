//! The vocabulary of lesson checks: expectations, and the events of a run as a check reads them.

use std::sync::{Arc, Mutex};

use rhai::{Dynamic, Engine, EvalAltResult, INT, ImmutableString, Map, NativeCallContext};

use crate::base::event::{Body, Event};
use crate::base::{Device, DeviceSpec, Error, Kind};
use crate::script::fault::raise;
use crate::script::value::{device, type_name};
use crate::tensor::Tensor;

/// Functions that a learner's own of the same name must not stand in for.
pub const VOCABULARY: &[&str] =
    &["expect", "expect_equal", "expect_close", "expect_device", "expect_error", "events"];

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
}

/// Why a check failed, and at which of the learner's lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
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
    pub fn finding(&self) -> Option<Finding> {
        self.state().finding.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, CheckState> {
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

    fn by_device(&self, figure: &str, spec: &Dynamic) -> Result<INT, Box<EvalAltResult>> {
        let name = match device(spec).map_err(raise)? {
            DeviceSpec::Cuda(None) => "cuda:0".to_string(),
            other => other.to_string(),
        };
        let line = self.peak_line(&name);
        let map = self.figure(figure, line);
        let value = map.read_lock::<Map>().and_then(|m| m.get(name.as_str()).and_then(|v| v.as_int().ok()));
        value.ok_or_else(|| raise(Error::value(format!("no device {name} took part in this run"))))
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

/// Registers the vocabulary. An expectation finds the run it speaks of in the evaluation's tag.
pub fn register(engine: &mut Engine) {
    events(engine);
    engine.register_fn("expect", |ctx: NativeCallContext, ok: bool, reason: &str| {
        hold(&ctx, ok, || reason.to_string())
    });
    engine.register_fn("expect", |ctx: NativeCallContext, ok: bool| {
        hold(&ctx, ok, || "not as expected".into())
    });
    engine.register_fn("expect_equal", |ctx: NativeCallContext, a: Dynamic, b: Dynamic| {
        hold(&ctx, same(&a, &b), || format!("expected {}, found {}", shown(&b), shown(&a)))
    });
    engine.register_fn("expect_close", |ctx: NativeCallContext, a: Dynamic, b: Dynamic| {
        let apart = distance(&a, &b);
        hold(&ctx, apart.is_some_and(|d| d <= 1e-4), || match apart {
            Some(d) => format!("the values are not the expected ones: the largest difference is {d:.3e}"),
            None => format!("{} cannot be compared with {}", shown(&a), shown(&b)),
        })
    });
    engine.register_fn("expect_device", |ctx: NativeCallContext, x: Dynamic, wanted: Dynamic| {
        let wanted = device(&wanted).map_err(raise)?;
        let is = x.read_lock::<Tensor>().map(|t| t.device());
        let fits = match wanted {
            DeviceSpec::Cuda(None) => is.is_some_and(Device::is_cuda),
            other => is.is_some_and(|d| DeviceSpec::from(d) == other),
        };
        hold(&ctx, fits, || match is {
            Some(is) => format!("expected a tensor on {wanted}, this one is on {is}"),
            None => format!("a {} is no tensor, so it is on no device", type_name(&x)),
        })
    });
    engine.register_fn("expect_error", |ctx: NativeCallContext, kind: &str| {
        let error = run_of(&ctx).and_then(|run| run.0.error.clone());
        hold(&ctx, error.as_deref() == Some(kind), || match &error {
            Some(other) => format!("expected an error of kind {kind}, there was one of kind {other}"),
            None => format!("expected an error of kind {kind}, there was none"),
        })
    });
}

fn run_of(ctx: &NativeCallContext) -> Option<RunEvents> {
    ctx.tag().and_then(|tag| tag.read_lock::<RunEvents>().map(|run| run.clone()))
}

fn hold(
    ctx: &NativeCallContext,
    ok: bool,
    reason: impl FnOnce() -> String,
) -> Result<(), Box<EvalAltResult>> {
    if ok {
        return Ok(());
    }
    let reason = reason();
    if let Some(run) = run_of(ctx) {
        let mut state = run.state();
        let line = state.line;
        state.finding = Some(Finding { reason: reason.clone(), line });
    }
    Err(raise(Error::new(Kind::AssertionError, reason)))
}

fn events(engine: &mut Engine) {
    engine.register_type_with_name::<RunEvents>("events");
    for (name, to_gpu, from_gpu) in [("h2d", true, false), ("d2h", false, true), ("d2d", true, true)] {
        engine.register_get(name, move |e: &mut RunEvents| {
            let copy = |b: &Body| {
                matches!(b, Body::Copy { from, to, .. } if from.is_cuda() == from_gpu && to.is_cuda() == to_gpu)
            };
            let line = e.line_of(copy);
            e.figure(name, line)
        });
    }
    engine.register_get("launches", |e: &mut RunEvents| {
        let line = e.line_of(|b| matches!(b, Body::Launch { device, .. } if device.is_cuda()));
        e.figure("launches", line)
    });
    for (name, which) in [("syncs", false), ("implicit_syncs", true)] {
        engine.register_get(name, move |e: &mut RunEvents| {
            let line = e.line_of(|b| matches!(b, Body::Sync { implicit, .. } if *implicit == which));
            e.figure(name, line)
        });
    }
    engine.register_get("oom", |e: &mut RunEvents| {
        let line = e.line_of(|b| matches!(b, Body::OutOfMemory { .. }));
        e.figure("oom", line)
    });
    engine.register_get("time", |e: &mut RunEvents| e.time());
    engine.register_get("dropped", |e: &mut RunEvents| e.0.dropped as INT);
    engine.register_get("error", |e: &mut RunEvents| e.0.error.clone().map_or(Dynamic::UNIT, Dynamic::from));
    engine.register_fn("peak_bytes", |e: &mut RunEvents, d: Dynamic| e.by_device("peak", &d));
    engine.register_fn("leaked_bytes", |e: &mut RunEvents, d: Dynamic| e.by_device("leaked", &d));
    engine.register_fn("overlap", |e: &mut RunEvents, a: INT, b: INT| e.overlap(a, b));
    engine.register_fn("ops", |e: &mut RunEvents, dtype: Dynamic| {
        let name = dtype.to_string().trim_start_matches("torch.").to_string();
        let map = e.figure("by_dtype", None);
        map.read_lock::<Map>().and_then(|m| m.get(name.as_str()).and_then(|v| v.as_int().ok())).unwrap_or(0)
    });
}

fn same(a: &Dynamic, b: &Dynamic) -> bool {
    if let (Some(x), Some(y)) = (numbers(a), numbers(b)) {
        return x == y;
    }
    match (a.read_lock::<ImmutableString>(), b.read_lock::<ImmutableString>()) {
        (Some(x), Some(y)) => *x == *y,
        _ => a.to_string() == b.to_string(),
    }
}

fn distance(a: &Dynamic, b: &Dynamic) -> Option<f64> {
    let ((shape, x), (other, y)) = (numbers(a)?, numbers(b)?);
    (shape == other).then(|| x.iter().zip(&y).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max))
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

fn shown(value: &Dynamic) -> String {
    match value.read_lock::<Tensor>() {
        Some(t) => crate::tensor::display::display(&t).unwrap_or_default(),
        None => value.to_string(),
    }
}
