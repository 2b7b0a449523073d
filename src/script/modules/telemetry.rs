//! `telemetry::`: what happened, as a value and as a trace.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use rhai::{Dynamic, Engine, FnPtr, INT, Map, Module, NativeCallContext};

use crate::base::Error;
use crate::base::event::{Event, Page, Reader, Subscription};
use crate::device::Machine;
use crate::script::fault::raise;
use crate::script::help;
use crate::script::summary::{Copies, Summary};
use crate::script::{lines, snapshot, trace};

use super::RhaiResult;

pub const NAMES: &[&str] =
    &["telemetry", "record", "export_chrome_trace", "export_lines", "export_memory_snapshot"];

/// Help on these.
pub const PAGES: &[help::Page] = &[
    help::Page {
        name: "telemetry::record",
        call: "telemetry::record(|| { … })",
        text: "What happened on the devices while a function ran, as a map: copies by direction (h2d, d2h, d2d), \
               launches, syncs, implicit_syncs with their lines, allocations, peak and leaked bytes by GPU, oom, and \
               launches by_dtype.",
    },
    help::Page {
        name: "export_chrome_trace",
        call: "telemetry::export_chrome_trace(path, || { … })",
        text: "Runs a function and writes what happened on the devices as a Chrome trace, which Perfetto opens. Gives \
               the number of events.",
    },
    help::Page {
        name: "export_lines",
        call: "telemetry::export_lines(path, || { … })",
        text: "Runs a function and writes what happened on the devices as JSON lines: a header, then one event a line \
               with its fields (docs/telemetry.md). Gives the number of events.",
    },
    help::Page {
        name: "export_memory_snapshot",
        call: "telemetry::export_memory_snapshot(path, || { … } = ())",
        text: "Writes what the GPUs' allocators hold, for PyTorch's memory viewer; with a function, what they did while \
               it ran as well, and its number of events is given.",
    },
];

/// Events in the order they happened.
#[derive(Default)]
pub struct Log(Mutex<Vec<Page>>);

impl Log {
    /// What it has, which is all once its subscription has ended.
    pub fn events(&self) -> Vec<Event> {
        let pages = self.0.lock().unwrap_or_else(|e| e.into_inner());
        pages.iter().flat_map(|page| page.iter().cloned()).collect()
    }
}

/// Sums up a recording, page by page.
struct Sums(Mutex<Summary>);

impl Reader for Sums {
    fn on_page(&self, page: &Page) {
        let mut sums = self.0.lock().unwrap_or_else(|e| e.into_inner());
        page.iter().for_each(|event| sums.take(event));
    }
}

impl Reader for Log {
    fn on_page(&self, page: &Page) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(Arc::clone(page));
    }
}

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let mut module = Module::new();
    let m = Arc::clone(machine);
    module.set_native_fn("record", move |ctx: NativeCallContext, body: FnPtr| -> RhaiResult<Map> {
        let sums = Arc::new(Sums(Mutex::new(Summary::new(allocated_now(&m)))));
        let subscription = m.bus().read(Arc::clone(&sums) as _);
        let result = body.call_within_context::<Dynamic>(&ctx, ());
        drop(subscription);
        result.map(drop)?;
        let mut sums = sums.0.lock().unwrap_or_else(|e| e.into_inner());
        Ok(sums.map())
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
    let export = move |ctx: NativeCallContext, path: &str, body: FnPtr| -> RhaiResult<INT> {
        let events = during(&m, || body.call_within_context::<Dynamic>(&ctx, ()))?;
        lines::write(path.as_ref(), &lines::Header::of(&m, "script"), &events)
            .map_err(|e| raise(Error::value(format!("cannot write {path}: {e}"))))?;
        Ok(events.len() as INT)
    };
    module.set_native_fn("export_lines", export);
    let m = Arc::clone(machine);
    module.set_native_fn("export_memory_snapshot", move |path: &str| -> RhaiResult<()> {
        write_snapshot(&m, path, &[])
    });
    let m = Arc::clone(machine);
    let history = move |ctx: NativeCallContext, path: &str, body: FnPtr| -> RhaiResult<INT> {
        let (events, subscription) = collect(&m);
        let result = body.call_within_context::<Dynamic>(&ctx, ());
        drop(subscription);
        let events = events.events();
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
pub fn collect(machine: &Machine) -> (Arc<Log>, Subscription) {
    let log = Arc::new(Log::default());
    let subscription = machine.bus().read(Arc::clone(&log) as _);
    (log, subscription)
}

/// Allocated bytes per device.
pub fn allocated_now(machine: &Machine) -> BTreeMap<String, u64> {
    machine.gpus().iter().map(|c| (c.device.to_string(), c.memory().0)).collect()
}

/// A summary for people: copies, launches, waits, per direction and device.
pub fn report(events: &[Event]) -> String {
    let sums = Summary::of(events, BTreeMap::new());
    let mut out = String::new();
    let words = ["host to device", "device to host", "device to device"];
    for (copies, words) in sums.copies.iter().zip(words) {
        let Copies { count, bytes, nanos, clock, .. } = copies;
        if *count > 0 {
            let (ms, clock) = (*nanos as f64 / 1e6, clock.name());
            let _ = writeln!(out, "{words:<17} {count} copies, {bytes} bytes, {ms:.3} ms {clock}");
        }
    }
    let launches: INT = sums.by_dtype.iter().sum();
    let (waits, implicit) = (sums.syncs, sums.implicit_lines.len());
    let _ = writeln!(
        out,
        "launches          {launches}\nwaits             {waits} asked for, {implicit} implicit"
    );
    for (device, memory) in &sums.memory {
        let _ = writeln!(out, "peak on {device:<9} {} bytes", memory.peak);
    }
    out
}

fn during(machine: &Machine, run: impl FnOnce() -> RhaiResult<Dynamic>) -> RhaiResult<Vec<Event>> {
    let (events, subscription) = collect(machine);
    let result = run();
    drop(subscription);
    result.map(drop)?;
    Ok(events.events())
}
