//! `telemetry::`: what happened, as a value and as a trace.

use std::cmp::Reverse;
use std::fmt::Write;
use std::io;
use std::sync::{Arc, Mutex};

use rhai::{Dynamic, FnPtr, INT, Map};

use crate::base::event::{Event, HIDDEN_CELLS, Page, Reader, Subscription};
use crate::base::figures::word;
use crate::base::{Device, DeviceSpec, Error, file, sorted};
use crate::device::Machine;
use crate::device::live::Live;
use crate::op::params::kind::{self, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef};
use crate::script::call::kind::Function;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::summary::{Copies, Summary};
use crate::script::{lines, snapshot, trace};

params! {
    RecordParams {
        body: Function, "what runs meanwhile";
    }
}

params! {
    ExportParams {
        path: Str, "the file to write";
        body: Function, "what runs meanwhile";
    }
}

params! {
    ExportMemoryParams {
        path: Str, "the file to write";
        body: Maybe<Function>, "what runs meanwhile; without it the file holds what is there now";
    }
}

params! {
    LiveParams {
        device: Maybe<kind::Device>, "the device; all GPUs where it is not given";
    }
}

const UNWRITABLE: &str = "ValueError: the file can't be written";

/// The rows of `telemetry::`.
pub static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script(
            "record",
            Family::Telemetry,
            "What happened on the devices while a closure ran.",
            RecordParams::LIST,
        )
        .forms(&[Form::Of("telemetry")])
        .torch("torch.profiler.profile")
        .details(
            "A map: copies by direction (h2d, d2h, d2d; each with count, bytes, pinned, blocking, ms), launches, syncs, \
             implicit_syncs with their lines, waits (every hold of the host: cause, ms, line) and waited_ms, races (accesses \
             that nothing ordered: kind, both lines, operations and streams, device, shape, address), batches (what loaders gave: count, workers, pinned, line), collectives (what ranks \
             exchanged: op, bytes, ranks, ms, line), busy_ms and \
             idle_ms by GPU, the clock of these times, allocations, peak, reserved and leaked bytes and alloc_retries by GPU, oom, launches \
             by_op, and by_dtype on every device, the CPU too, as is work (ops that compute, which copies, casts and fills do not, \
             the bytes that they read and wrote, flops, and the line of the largest).",
        )
        .errors(&["Error: whatever the function fails with"])
        .example("telemetry::record(|| ones(3).sum()).launches", "0"),
        run: record,
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "live_tensors",
            Family::Telemetry,
            "The memory that tensors hold on GPUs now, the largest first.",
            LiveParams::LIST,
        )
        .forms(&[Form::Of("telemetry")])
        .details(
            "An array of maps: device, address, bytes (as the allocator counts them), requested, dtype, shape, op (what made \
             it) and line, and its cell where there are cells. What views share is told of once. Nothing is known of the \
             memory of the CPU.",
        )
        .errors(&["DeviceError: there is no such GPU"])
        .example("let x = ones(100, #{device: \"cuda\"}); telemetry::live_tensors()[0].shape", "[100]"),
        run: live_tensors,
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "export_chrome_trace",
            Family::Telemetry,
            "Runs a closure and writes what happened on the devices as a Chrome trace, which Perfetto opens.",
            ExportParams::LIST,
        )
        .forms(&[Form::Of("telemetry")])
        .torch("torch.profiler.profile.export_chrome_trace")
        .errors(&[UNWRITABLE])
        .details("Gives the number of events.")
        .example("telemetry::export_chrome_trace(\"run.json\", || 1 + 1)", "0"),
        run: |call| exported(call, |path, _, events| trace::write(path.as_ref(), events)),
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "export_lines",
            Family::Telemetry,
            "Runs a closure and writes what happened on the devices as JSON lines.",
            ExportParams::LIST,
        )
        .forms(&[Form::Of("telemetry")])
        .own()
        .errors(&[UNWRITABLE])
        .details("A header, then one event a line with its fields (docs/telemetry.md). Gives the number of events.")
        .example("telemetry::export_lines(\"run.json\", || 1 + 1)", "0"),
        run: |call| {
            exported(call, |path, machine, events| {
                lines::write(path.as_ref(), &lines::Header::of(machine, "script"), events)
            })
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script(
            "export_memory_snapshot",
            Family::Telemetry,
            "Writes what the GPUs' allocators hold, for PyTorch's memory viewer.",
            ExportMemoryParams::LIST,
        )
        .forms(&[Form::Of("telemetry")])
        .torch("torch.cuda.memory._dump_snapshot")
        .errors(&[UNWRITABLE])
        .details(
            "With a closure, what the allocators did while it ran as well, also where it failed: the number of events is \
             given.",
        )
        .example("telemetry::export_memory_snapshot(\"run.json\", || 1 + 1)", "0"),
        run: memory_snapshot,
        set: None,
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

fn record(call: &mut Call) -> Outcome {
    let body = RecordParams::of(&call.args)?.body;
    let machine = call.machine();
    machine.settle()?;
    let sums = Arc::new(Sums(Mutex::new(Summary::begin(machine))));
    let subscription = machine.bus().read(Arc::clone(&sums) as _);
    let result = whole(call, &body);
    drop(subscription);
    let _ = result?;
    let mut sums = sums.0.lock().unwrap_or_else(|e| e.into_inner());
    sums.end(call.machine());
    Ok(sums.map().into())
}

/// Runs a closure to the end of its work: a real GPU tells of a kernel once it has run.
pub(super) fn whole(call: &Call, body: &FnPtr) -> Outcome {
    let value = call.run(body, ())?;
    call.machine().settle()?;
    Ok(value)
}

/// Runs the closure, and has what happened written.
fn exported(call: &Call, write: impl FnOnce(&str, &Machine, &[Event]) -> io::Result<()>) -> Outcome {
    let given = ExportParams::of(&call.args)?;
    check(given.path)?;
    call.machine().settle()?;
    let (events, subscription) = collect(call.machine());
    let result = whole(call, &given.body);
    drop(subscription);
    let _ = result?;
    let events = events.events();
    write(given.path, call.machine(), &events).map_err(|e| unwritable(given.path, &e))?;
    Ok((events.len() as INT).into())
}

fn live_tensors(call: &mut Call) -> Outcome {
    let machine = call.machine();
    let device = LiveParams::of(&call.args)?.device.map(|spec| machine.resolve(spec));
    if let Some(device) = device {
        machine.context(device)?;
    }
    let mut all: Vec<(Device, u64, Live)> = Vec::new();
    for gpu in machine.gpus().iter().filter(|gpu| device.is_none_or(|device| gpu.device == device)) {
        all.extend(gpu.live().into_iter().map(|(address, live)| (gpu.device, address, live)));
    }
    sorted::sort_by_key(&mut all, |(device, address, live)| (Reverse(live.bytes), *device, *address));
    let told = all.into_iter().map(|(device, address, live)| told(device, address, &live));
    Ok(Dynamic::from_array(told.collect()))
}

fn told(device: Device, address: u64, live: &Live) -> Dynamic {
    let mut map = Map::new();
    let mut put = |name: &str, value: Dynamic| map.insert(name.into(), value);
    put("device", Dynamic::from(DeviceSpec::from(device)));
    put("address", (address as INT).into());
    put("bytes", (live.bytes as INT).into());
    put("requested", (live.requested as INT).into());
    put("dtype", Dynamic::from(live.dtype));
    put("shape", Dynamic::from_array(live.shape.iter().map(|size| (*size as INT).into()).collect()));
    put("op", live.op.into());
    put("line", INT::from(live.source.line).into());
    if live.source.cell > 0 && live.source.cell < HIDDEN_CELLS {
        put("cell", INT::from(live.source.cell).into());
    }
    map.into()
}

fn memory_snapshot(call: &mut Call) -> Outcome {
    let given = ExportMemoryParams::of(&call.args)?;
    check(given.path)?;
    let machine = call.machine();
    let write = |events: &[Event]| {
        snapshot::write(given.path.as_ref(), machine, events, "script")
            .map_err(|e| unwritable(given.path, &e))
    };
    let Some(body) = given.body else {
        write(&[])?;
        return Ok(Dynamic::UNIT);
    };
    machine.settle()?;
    let (events, subscription) = collect(machine);
    let result = whole(call, &body);
    drop(subscription);
    let events = events.events();
    // A failure, such as running out of memory, is what one wants to look at.
    write(&events)?;
    result.map(|_| (events.len() as INT).into())
}

/// Refuses a path that can't be written before what is told of there runs.
fn check(path: &str) -> Result<(), Error> {
    file::check_export(path.as_ref()).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &str, error: &io::Error) -> Error {
    Error::value(format!("cannot write {path}: {error}")).with_hint("the folder must be there, and writable")
}

/// Collects events until the subscription is dropped.
pub fn collect(machine: &Machine) -> (Arc<Log>, Subscription) {
    let log = Arc::new(Log::default());
    let subscription = machine.bus().read(Arc::clone(&log) as _);
    (log, subscription)
}

/// A summary for people: copies, launches, waits, per direction and device.
pub fn report(events: &[Event]) -> String {
    let sums = Summary::of(events);
    let mut out = String::new();
    let words = ["host to device", "device to host", "device to device"];
    for (copies, words) in sums.copies.iter().zip(words) {
        let Copies { count, bytes, nanos, clock, .. } = copies;
        if *count > 0 {
            let (ms, clock) = (*nanos as f64 / 1e6, clock.name());
            let [copies, units] =
                [word(count.unsigned_abs(), "copy", "copies"), word(bytes.unsigned_abs(), "byte", "bytes")];
            let _ = writeln!(out, "{words:<17} {count} {copies}, {bytes} {units}, {ms:.3} ms {clock}");
        }
    }
    let on_cpu = sums.by_dtype.iter().sum::<INT>() - sums.launches;
    let launches = match on_cpu {
        0 => format!("{} on GPUs", sums.launches),
        _ => format!("{} on GPUs, {on_cpu} on the CPU", sums.launches),
    };
    let (waits, implicit) = (sums.syncs, sums.implicit_lines.len());
    let _ = writeln!(
        out,
        "launches          {launches}\nwaits             {waits} asked for, {implicit} implicit"
    );
    for (source, race, count) in &sums.races {
        let (line, earlier, op, earlier_op) = (source.line, race.earlier.line, race.op, race.earlier_op);
        let times = if *count > 1 { format!(", {count} times") } else { String::new() };
        let kind = race.kind;
        let _ = writeln!(
            out,
            "race              {kind} on {}: line {line} ({op}) with line {earlier} ({earlier_op}){times}",
            race.device
        );
    }
    for (device, memory) in &sums.memory {
        let _ = writeln!(out, "peak on {device:<9} {} bytes", memory.peak);
    }
    out
}
