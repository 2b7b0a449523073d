//! `telemetry::`: what happened, as a value and as a trace.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, FnPtr, INT, Map, Module, NativeCallContext};

use crate::base::Error;
use crate::base::event::{Body, Event, Subscription};
use crate::device::Machine;
use crate::script::fault::raise;
use crate::script::{snapshot, trace};

use super::RhaiResult;

pub const NAMES: &[&str] = &["telemetry", "record", "export_chrome_trace", "export_memory_snapshot"];

/// Events in the order they happened.
pub type Log = Arc<Mutex<Vec<Event>>>;

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let mut module = Module::new();
    let m = Arc::clone(machine);
    module.set_native_fn("record", move |ctx: NativeCallContext, body: FnPtr| -> RhaiResult<Map> {
        let before = allocated_now(&m);
        let events = during(&m, || body.call_within_context::<Dynamic>(&ctx, ()))?;
        Ok(summary(&events, &before))
    });
    let m = Arc::clone(machine);
    let export = move |ctx: NativeCallContext, path: &str, body: FnPtr| -> RhaiResult<INT> {
        let events = during(&m, || body.call_within_context::<Dynamic>(&ctx, ()))?;
        trace::write(path.as_ref(), &events)
            .map_err(|e| raise(Error::value(format!("cannot write {path}: {e}"))))?;
        Ok(events.len() as INT)
    };
    module.set_native_fn("export_chrome_trace", export);
    let m = Arc::clone(machine);
    module.set_native_fn("export_memory_snapshot", move |path: &str| -> RhaiResult<()> {
        write_snapshot(&m, path, &[])
    });
    let m = Arc::clone(machine);
    let history = move |ctx: NativeCallContext, path: &str, body: FnPtr| -> RhaiResult<INT> {
        let (events, subscription) = collect(&m);
        let result = body.call_within_context::<Dynamic>(&ctx, ());
        drop(subscription);
        let events = events.lock().unwrap_or_else(|e| e.into_inner());
        // A failure, such as running out of memory, is what one wants to look at.
        write_snapshot(&m, path, &events)?;
        result.map(|_| events.len() as INT)
    };
    module.set_native_fn("export_memory_snapshot", history);
    engine.register_static_module("telemetry", module.into());
}

fn write_snapshot(machine: &Machine, path: &str, events: &[Event]) -> RhaiResult<()> {
    snapshot::write(path.as_ref(), machine, events, "script").map_err(|e| {
        let error = Error::value(format!("cannot write {path}: {e}"));
        raise(error.with_hint("the folder must be there, and writable"))
    })
}

/// Collects events until the subscription is dropped.
pub fn collect(machine: &Machine) -> (Log, Subscription) {
    let events = Log::default();
    let sink = Arc::clone(&events);
    let listener = move |e: &Event| sink.lock().unwrap_or_else(|e| e.into_inner()).push(e.clone());
    let subscription = machine.bus().subscribe(Arc::new(listener));
    (events, subscription)
}

/// Allocated bytes per device.
pub fn allocated_now(machine: &Machine) -> BTreeMap<String, u64> {
    machine.gpus().iter().map(|c| (c.device.to_string(), c.memory().0)).collect()
}

/// What a learner reads of a run. `start` gives allocated bytes per device before it.
pub fn summary(events: &[Event], start: &BTreeMap<String, u64>) -> Map {
    let mut out = Map::new();
    for direction in ["h2d", "d2h", "d2d"] {
        out.insert(direction.into(), copies(events, direction).into());
    }
    let count =
        |test: fn(&Body) -> bool| Dynamic::from(events.iter().filter(|e| test(&e.body)).count() as INT);
    let launched = |b: &Body| matches!(b, Body::Launch { device, .. } if device.is_cuda());
    let held = |b: &Body| matches!(b, Body::Alloc { device, .. } if device.is_cuda());
    out.insert("launches".into(), count(launched));
    out.insert("syncs".into(), count(|b| matches!(b, Body::Sync { implicit: false, .. })));
    out.insert("implicit_syncs".into(), count(|b| matches!(b, Body::Sync { implicit: true, .. })));
    out.insert("implicit_sync_lines".into(), implicit_lines(events).into());
    out.insert("allocations".into(), count(held));
    out.insert("oom".into(), count(|b| matches!(b, Body::OutOfMemory { .. })));
    out.insert("peak".into(), peaks(events, start).into());
    out.insert("leaked".into(), leaks(events, start).into());
    out.insert("by_dtype".into(), by_dtype(events).into());
    out
}

/// A summary for people: copies, launches, waits, per direction and device.
pub fn report(events: &[Event]) -> String {
    let mut out = String::new();
    for (direction, words) in
        [("h2d", "host to device"), ("d2h", "device to host"), ("d2d", "device to device")]
    {
        let sum = copies(events, direction);
        let number = |name: &str| sum.get(name).and_then(|v| v.as_int().ok()).unwrap_or(0);
        let ms = sum.get("ms").and_then(|v| v.as_float().ok()).unwrap_or(0.0);
        let clock = sum.get("clock").map(ToString::to_string).unwrap_or_default();
        if number("count") > 0 {
            let _ = writeln!(
                out,
                "{words:<17} {} copies, {} bytes, {ms:.3} ms {clock}",
                number("count"),
                number("bytes")
            );
        }
    }
    let count = |test: fn(&Body) -> bool| events.iter().filter(|e| test(&e.body)).count();
    let launches = count(|b| matches!(b, Body::Launch { .. }));
    let waits = count(|b| matches!(b, Body::Sync { implicit: false, .. }));
    let implicit = count(|b| matches!(b, Body::Sync { implicit: true, .. }));
    let _ = writeln!(
        out,
        "launches          {launches}\nwaits             {waits} asked for, {implicit} implicit"
    );
    for (device, bytes) in peaks(events, &BTreeMap::new()) {
        let _ = writeln!(out, "peak on {device:<9} {bytes} bytes");
    }
    out
}

fn during(machine: &Machine, run: impl FnOnce() -> RhaiResult<Dynamic>) -> RhaiResult<Vec<Event>> {
    let (events, subscription) = collect(machine);
    let result = run();
    drop(subscription);
    result.map(drop)?;
    let mut all = events.lock().unwrap_or_else(|e| e.into_inner());
    Ok(std::mem::take(&mut *all))
}

fn copies(events: &[Event], direction: &str) -> Map {
    let (mut count, mut bytes, mut pinned, mut nanos) = (0, 0, 0, 0);
    let mut clock = "measured";
    let mut lines = Array::new();
    for event in events {
        let Body::Copy { from, to, bytes: n, pinned: p, span, .. } = &event.body else { continue };
        let kind = match (from.is_cuda(), to.is_cuda()) {
            (false, true) => "h2d",
            (true, false) => "d2h",
            (true, true) => "d2d",
            (false, false) => continue,
        };
        if kind == direction {
            count += 1;
            bytes += *n as INT;
            pinned += INT::from(*p);
            nanos += span.nanos as INT;
            clock = span.clock.name();
            lines.push(INT::from(event.source.line).into());
        }
    }
    let mut map = Map::new();
    map.insert("count".into(), count.into());
    map.insert("bytes".into(), bytes.into());
    map.insert("pinned".into(), pinned.into());
    map.insert("ms".into(), (nanos as f64 / 1e6).into());
    map.insert("clock".into(), clock.into());
    map.insert("lines".into(), lines.into());
    map
}

fn implicit_lines(events: &[Event]) -> Array {
    let implicit = |e: &&Event| matches!(e.body, Body::Sync { implicit: true, .. });
    events.iter().filter(implicit).map(|e| INT::from(e.source.line).into()).collect()
}

/// Allocated bytes of an accelerator after a change.
fn allocated(event: &Event) -> Option<(String, u64)> {
    match &event.body {
        Body::Alloc { device, allocated, .. } | Body::Free { device, allocated, .. } if device.is_cuda() => {
            Some((device.to_string(), *allocated))
        }
        _ => None,
    }
}

fn peaks(events: &[Event], start: &BTreeMap<String, u64>) -> Map {
    let mut peak = start.clone();
    for (device, bytes) in events.iter().filter_map(allocated) {
        let slot = peak.entry(device).or_default();
        *slot = (*slot).max(bytes);
    }
    peak.into_iter().map(|(d, b)| (d.into(), (b as INT).into())).collect()
}

fn leaks(events: &[Event], start: &BTreeMap<String, u64>) -> Map {
    let mut last = start.clone();
    last.extend(events.iter().filter_map(allocated));
    let change = |d: &str, b: u64| b as INT - start.get(d).copied().unwrap_or(0) as INT;
    last.iter().map(|(d, b)| (d.as_str().into(), change(d, *b).into())).collect()
}

fn by_dtype(events: &[Event]) -> Map {
    let mut counts: BTreeMap<&str, INT> = BTreeMap::new();
    for event in events {
        if let Body::Launch { dtype, .. } = &event.body {
            *counts.entry(dtype.name()).or_default() += 1;
        }
    }
    counts.into_iter().map(|(d, n)| (d.into(), n.into())).collect()
}
