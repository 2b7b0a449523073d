//! The events of a run, as the checks and predictions of lessons read them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Array, Dynamic, Engine, INT, Map};

use crate::base::event::{Body, Event};
use crate::base::{Device, DeviceSpec, Error, Result, near};
use crate::device::Shared;
use crate::op;
use crate::op::def::PROPERTY;
use crate::op::params::kind::{self, Int, Str};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef, Param, Receiver};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::carry::{self, Clocks};

params! {
    DeviceBytesParams {
        device: kind::Device, "whose memory it is about";
    }
}

params! {
    OverlapParams {
        first_device: kind::Device, "the GPU of one of the streams";
        first_stream: Int, "one of the streams, by its number on that GPU";
        second_device: kind::Device, "the GPU of the other stream";
        second_stream: Int, "the other stream, by its number on that GPU";
    }
}

params! {
    LaunchesParams {
        op: Maybe<Str>, "the operation whose launches are counted, such as \"matmul\"";
        dtype: Maybe<kind::DType>, "what they computed in";
    }
}

params! {
    OpsParams {
        dtype: kind::DType, "what the operations computed in";
    }
}

/// What asking for a figure of a device may meet.
const ABSENT: &[&str] =
    &["ValueError: the device took no part in the run", "RuntimeError: there is no such kind of device"];

/// What `events` has.
const fn of_run(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Testing, summary, params).on(Receiver::Run).own()
}

/// A figure of `events`.
const fn figure(name: &'static str, summary: &'static str) -> OpDef {
    of_run(name, summary, &[]).forms(PROPERTY)
}

/// What `events` has. Examples read a run that copied 400 bytes to a GPU and launched two kernels.
pub static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        figure("h2d", "Copies from the host to GPUs: #{count, bytes, pinned, blocking}.")
            .example("events.h2d.bytes", "400"),
        |call| copies(call, true, false),
    ),
    ScriptRow::of(
        figure("d2h", "Copies from GPUs to the host: #{count, bytes, pinned, blocking}.")
            .example("events.d2h.count", "0"),
        |call| copies(call, false, true),
    ),
    ScriptRow::of(
        figure("d2d", "Copies on and between GPUs: #{count, bytes, pinned, blocking}.")
            .example("events.d2d.count", "0"),
        |call| copies(call, true, true),
    ),
    ScriptRow::of(
        of_run(
            "launches",
            "How many kernels GPUs were given, of one operation and dtype where those are named.",
            LaunchesParams::LIST,
        )
        .forms(&[Form::Property, Form::Method])
        .details("`matmul` counts what it launches: mm, bmm, mv, dot.")
        .errors(&["ValueError: there is no such operation"])
        .example("events.launches", "2")
        .example("events.launches(\"add\", float32)", "1"),
        launches,
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
    ScriptRow::of(
        figure(
            "waits",
            "Every hold of the host by a GPU, asked for or not: a list of #{cause, ms, line, clock}.",
        )
        .details("Copies that hold the host, waits, values that are asked for, a queue without room.")
        .example("events.waits[0].cause", "\"item\""),
        |call| {
            let run = call.on::<RunEvents>()?;
            let line = run.most_waits();
            Ok(run.figure("waits", line))
        },
    ),
    ScriptRow::of(
        figure("waited_ms", "Milliseconds that GPUs held the host.").example("events.waited_ms", "0.5"),
        |call| {
            let run = call.on::<RunEvents>()?;
            let line = run.longest_wait();
            Ok(run.figure("waited_ms", line))
        },
    ),
    ScriptRow::of(
        figure(
            "races",
            "Accesses of a simulated GPU's memory that nothing ordered: a list of #{kind, line, op, by, stream, \
             earlier_line, earlier_op, earlier_by, earlier_stream, device, shape, address, count}, empty where there \
             are none.",
        )
        .details(
            "`kind` is \"read after write\", \"write after read\", \"write after write\" or \"free after use\"; `by` is a \
             GPU, or \"cpu\" for the host. One of each kind stands for all at the same two lines.",
        )
        .example("events.races.len()", "0"),
        |call| {
            let races = read(call, "races", |body| matches!(body, Body::Race { .. }))?;
            Ok(if races.is_unit() { Array::new().into() } else { races })
        },
    ),
    ScriptRow::of(
        figure(
            "batches",
            "What loaders gave the script: a list of #{count, workers, pinned, line}, one for each line and kind of loader.",
        )
        .details("`workers` is 0 where the script's own thread read the samples.")
        .example("events.batches.len()", "0"),
        |call| {
            let all = read(call, "batches", |body| matches!(body, Body::Batch { .. }))?;
            Ok(if all.is_unit() { Array::new().into() } else { all })
        },
    ),
    ScriptRow::of(
        figure(
            "collectives",
            "What ranks exchanged: a list of #{op, bytes, ranks, ms, clock, line}, empty where nothing was.",
        )
        .details("`bytes` are those of one rank's tensors. DistributedDataParallel's buckets are in it.")
        .example("events.collectives.len()", "0"),
        |call| {
            let all = read(call, "collectives", |body| matches!(body, Body::Collective { .. }))?;
            Ok(if all.is_unit() { Array::new().into() } else { all })
        },
    ),
    ScriptRow::of(figure("oom", "How often a device had no room.").example("events.oom", "0"), |call| {
        read(call, "oom", |body| matches!(body, Body::OutOfMemory { .. }))
    }),
    ScriptRow::of(
        figure("time", "Milliseconds from the first to the last work of the GPUs.")
            .example("events.time", "0.0"),
        |call| Ok(call.on::<RunEvents>()?.time(&call.machine().shared)),
    ),
    ScriptRow::of(
        figure("dropped", "How many events of the run were not kept: it had too many.")
            .example("events.dropped", "0"),
        |call| Ok((call.on::<RunEvents>()?.0.dropped as INT).into()),
    ),
    ScriptRow::of(
        figure("error", "The kind of the error that the run ended with, or ().")
            .example("events.error == ()", "true"),
        |call| Ok(call.on::<RunEvents>()?.error().map_or(Dynamic::UNIT, Dynamic::from)),
    ),
    ScriptRow::of(
        of_run("peak_bytes", "The most bytes that a device held at once.", DeviceBytesParams::LIST)
            .errors(ABSENT)
            .example("events.peak_bytes(\"cuda:0\")", "512"),
        |call| bytes(call, "peak"),
    ),
    ScriptRow::of(
        of_run(
            "leaked_bytes",
            "Bytes that a device holds after the run and did not before.",
            DeviceBytesParams::LIST,
        )
        .errors(ABSENT)
        .example("events.leaked_bytes(\"cuda:0\")", "0"),
        |call| bytes(call, "leaked"),
    ),
    ScriptRow::of(
        of_run(
            "reserved_bytes",
            "The most bytes that a device's allocator had reserved at once.",
            DeviceBytesParams::LIST,
        )
        .errors(ABSENT)
        .example("events.reserved_bytes(\"cuda:0\")", "2097152"),
        |call| bytes(call, "reserved"),
    ),
    ScriptRow::of(
        of_run(
            "alloc_retries",
            "How often a device's allocator gave back what it had cached, to serve a request.",
            DeviceBytesParams::LIST,
        )
        .errors(ABSENT)
        .example("events.alloc_retries(\"cuda:0\")", "0"),
        |call| bytes(call, "alloc_retries"),
    ),
    ScriptRow::of(
        of_run(
            "busy_ms",
            "Milliseconds in which a device worked: copied or computed.",
            DeviceBytesParams::LIST,
        )
        .errors(ABSENT)
        .example("events.busy_ms(\"cuda:0\")", "0.25"),
        |call| bytes(call, "busy_ms"),
    ),
    ScriptRow::of(
        of_run(
            "work",
            "What a device computed, the CPU as well: #{ops, bytes, flops, line}.",
            DeviceBytesParams::LIST,
        )
        .details(
            "`bytes` are those that its operations read and wrote, and `line` is where the largest of them stands. Views, \
             copies and casts compute nothing.",
        )
        .errors(ABSENT)
        .example("events.work(\"cuda:0\").ops", "2"),
        |call| {
            let device = lane_device(DeviceBytesParams::of(&call.args)?.device);
            Ok(call.on::<RunEvents>()?.work(device)?)
        },
    ),
    ScriptRow::of(
        of_run(
            "idle_ms",
            "Milliseconds of the run in which a device had nothing to do, up to the end of its work.",
            DeviceBytesParams::LIST,
        )
        .errors(ABSENT)
        .example("events.idle_ms(\"cuda:0\")", "0.75"),
        |call| bytes(call, "idle_ms"),
    ),
    ScriptRow::of(
        of_run(
            "overlap",
            "Whether two streams, of one GPU or two, worked at the same time.",
            OverlapParams::LIST,
        )
        .details(
            "A stream's work is not held against itself. A stream without work overlaps with nothing. Collectives of \
             ranks run on a stream of their own, number 33.",
        )
        .errors(ABSENT)
        .example("events.overlap(\"cuda:0\", 0, \"cuda:0\", 1)", "false"),
        |call| {
            let given = OverlapParams::of(&call.args)?;
            let first = (lane_device(given.first_device), given.first_stream);
            let second = (lane_device(given.second_device), given.second_stream);
            let run = call.on::<RunEvents>()?;
            for (device, _) in [first, second] {
                run.took_part(device)?;
            }
            Ok(run.overlap(first, second).into())
        },
    ),
    ScriptRow::of(
        of_run("ops", "How many operations computed in a dtype.", OpsParams::LIST)
            .example("events.ops(float32)", "2"),
        |call| {
            let dtype = OpsParams::of(&call.args)?.dtype;
            let run = call.on::<RunEvents>()?;
            let line = run.line_of(|body| matches!(body, Body::Launch { dtype: of, .. } if *of == dtype));
            let map = run.figure("by_dtype", line);
            let count = map.read_lock::<Map>().and_then(|m| m.get(dtype.name()).cloned());
            Ok(count.filter(Dynamic::is_int).unwrap_or_else(|| Dynamic::from(0 as INT)))
        },
    ),
];

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

    /// The kind of the error that the run ended with; the check may ask for one, having looked.
    pub(super) fn error(&self) -> Option<String> {
        self.state().expects_error = true;
        self.0.error.clone()
    }

    /// An expectation failed; it points at the line of the last figure that was read.
    pub(super) fn fail(&self, reason: &str) {
        let mut state = self.state();
        let line = state.line;
        state.finding = Some(Finding { reason: reason.to_owned(), line });
    }

    /// The check has gone on to something else than the run's figures: it has called the learner's code.
    pub(crate) fn forget_line(&self) {
        self.state().line = None;
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

    fn by_device(&self, figure: &str, device: DeviceSpec) -> Result<Dynamic> {
        let device = lane_device(device);
        if device == Device::Cpu {
            let told = format!(
                "{figure} is of GPUs, and the CPU is none; `waited_ms` is how long the host was held"
            );
            return Err(Error::value(told));
        }
        let name = device.to_string();
        let line = match figure {
            "busy_ms" => self.busiest_line(device),
            "idle_ms" => self.longest_wait(),
            _ => self.peak_line(&name),
        };
        let map = self.figure(figure, line);
        let value = map.read_lock::<Map>().and_then(|m| m.get(name.as_str()).cloned());
        value.ok_or_else(|| Error::value(format!("no device {name} took part in this run")))
    }

    /// What a device computed; the line of its largest operation is remembered.
    fn work(&self, device: Device) -> Result<Dynamic> {
        let name = device.to_string();
        let all = self.0.figures.get("work").and_then(Dynamic::read_lock::<Map>);
        let Some(of) = all.and_then(|all| all.get(name.as_str()).cloned()) else {
            return Err(Error::value(format!("no device {name} took part in this run")));
        };
        let line = of.read_lock::<Map>().and_then(|map| map.get("line")?.as_int().ok());
        self.state().line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
        Ok(of)
    }

    /// An error for a device that the machine does not have: nothing could ever be found out of it.
    fn took_part(&self, device: Device) -> Result<()> {
        let known = self.0.figures.get("peak").and_then(|peaks| {
            peaks.read_lock::<Map>().map(|peaks| peaks.contains_key(device.to_string().as_str()))
        });
        if known == Some(false) {
            return Err(Error::value(format!("no device {device} took part in this run")));
        }
        Ok(())
    }

    /// The line that held the host most often, of several the first.
    fn most_waits(&self) -> Option<u32> {
        let mut by_line: BTreeMap<u32, u64> = BTreeMap::new();
        for event in self.0.events.iter() {
            if matches!(event.body, Body::Sync { .. } | Body::Hold { .. }) {
                *by_line.entry(event.source.line).or_default() += 1;
            }
        }
        by_line
            .into_iter()
            .rev()
            .max_by_key(|(_, count)| *count)
            .map(|(line, _)| line)
            .filter(|line| *line > 0)
    }

    /// The line that held the host longest.
    fn longest_wait(&self) -> Option<u32> {
        let holds = self.0.events.iter().filter_map(|e| match &e.body {
            Body::Sync { span, .. } | Body::Hold { span, .. } => Some((span.nanos, e.source.line)),
            _ => None,
        });
        holds.max_by_key(|(nanos, _)| *nanos).map(|(_, line)| line).filter(|line| *line > 0)
    }

    /// The line for which a GPU worked longest, over all that it gave it.
    fn busiest_line(&self, gpu: Device) -> Option<u32> {
        let mut by_line: BTreeMap<u32, u64> = BTreeMap::new();
        for event in self.0.events.iter() {
            let nanos = match &event.body {
                Body::Launch { device, span, .. } if *device == gpu => span.nanos,
                Body::Copy { from, to, span, .. } if *from == gpu || *to == gpu => span.nanos,
                _ => continue,
            };
            *by_line.entry(event.source.line).or_default() += nanos;
        }
        by_line.remove(&0);
        by_line.into_iter().max_by_key(|(_, nanos)| *nanos).map(|(line, _)| line)
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

    /// Whether work of two streams ran at the same time. What runs is not held against itself.
    fn overlap(&self, a: (Device, INT), b: (Device, INT)) -> bool {
        let spans = |(device, stream): (Device, INT)| {
            self.0.events.iter().enumerate().filter_map(move |(at, event)| {
                let (on, number, span) = match &event.body {
                    Body::Launch { device, stream, span, .. } => (*device, *stream, *span),
                    Body::Collective { devices, stream, span, .. } => {
                        (devices.iter().copied().find(|on| *on == device)?, *stream, *span)
                    }
                    // A copy runs on a stream of the GPU that has the data, or gets it from the host.
                    Body::Copy { from, to, stream, span, .. } => {
                        (if from.is_cuda() { *from } else { *to }, *stream, *span)
                    }
                    _ => return None,
                };
                (on == device && INT::from(number) == stream).then(|| (at, span.start, span.end()))
            })
        };
        spans(a).any(|(i, from, to)| spans(b).any(|(j, start, end)| i != j && from < end && start < to))
    }

    /// Milliseconds from the first to the last event that has a span.
    fn time(&self, shared: &Shared) -> Dynamic {
        let spans = self.0.events.iter().filter_map(|e| match &e.body {
            Body::Launch { device, span, .. } if device.is_cuda() => Some(*span),
            Body::Copy { span, .. }
            | Body::Sync { span, .. }
            | Body::Hold { span, .. }
            | Body::Collective { span, .. } => Some(*span),
            _ => None,
        });
        let clocks = spans.clone().map(|span| Clocks::of(span.clock)).fold(Clocks::default(), Clocks::and);
        let (first, last) = spans.fold((u64::MAX, 0), |(a, b), s| (a.min(s.start), b.max(s.end())));
        carry::times(shared, last.saturating_sub(first.min(last)) as f64 / 1e6, clocks)
    }
}

/// The GPU that a check names; the first one where it names none of several.
fn lane_device(spec: DeviceSpec) -> Device {
    match spec {
        DeviceSpec::Cpu => Device::Cpu,
        DeviceSpec::Cuda(index) => Device::Cuda(index.unwrap_or(0)),
    }
}

/// What an operation launches, where that has other names, as in the reference.
fn launched_as(op: &str) -> &[&str] {
    match op {
        "matmul" => &["mm", "bmm", "mv", "dot"],
        _ => &[],
    }
}

fn launches(call: &mut Call) -> Outcome {
    let given = LaunchesParams::of(&call.args)?;
    let is_wanted =
        |op: &str| given.op.is_none_or(|wanted| op == wanted || launched_as(wanted).contains(&op));
    let run = call.on::<RunEvents>()?;
    let line = run.line_of(|body| {
        let Body::Launch { device, op, dtype, .. } = body else { return false };
        device.is_cuda() && is_wanted(op) && given.dtype.is_none_or(|wanted| *dtype == wanted)
    });
    if given.op.is_none() && given.dtype.is_none() {
        return Ok(run.figure("launches", line));
    }
    let by_op = run.figure("by_op", line);
    let Some(by_op) = by_op.read_lock::<Map>() else { return Ok((0 as INT).into()) };
    if let Some(op) = given.op
        && !by_op.contains_key(op)
    {
        known_operation(op)?;
    }
    let counts =
        by_op.iter().filter(|(op, _)| is_wanted(op)).filter_map(|(_, dtypes)| dtypes.read_lock::<Map>());
    let of = |dtypes: &Map| -> INT {
        let wanted = |name: &str| given.dtype.is_none_or(|dtype| dtype.name() == name);
        dtypes.iter().filter(|(name, _)| wanted(name)).filter_map(|(_, count)| count.as_int().ok()).sum()
    };
    Ok(counts.map(|dtypes| of(&dtypes)).sum::<INT>().into())
}

/// A name that no operation has would be counted as launched never.
fn known_operation(op: &str) -> Result<()> {
    let names: Vec<&str> = op::table().map(|def| def.name).collect();
    // Kernels of a gradient are named after the operation: `conv_backward_weight`, `layer_norm_backward`.
    let of_gradient =
        op.split_once("_backward").map(|(of, part)| (of, ["", "_input", "_weight"].contains(&part)));
    let is_gradient =
        of_gradient.is_some_and(|(of, known)| known && names.iter().any(|name| name.starts_with(of)));
    // What writes in place is an operation of its own: `add_`.
    let is_in_place = op.strip_suffix('_').is_some_and(|of| names.contains(&of));
    if names.contains(&op) || is_in_place || is_gradient || launched_as("matmul").contains(&op) {
        return Ok(());
    }
    let hint = near::suggestion(op, &names, "operations are named as in PyTorch, such as");
    Err(Error::value(format!("there is no operation `{op}`")).with_hint(hint))
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
    Ok(call.on::<RunEvents>()?.by_device(figure, device)?)
}
