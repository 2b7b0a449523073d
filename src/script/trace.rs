//! The event stream as a Chrome trace (opens in Perfetto and `chrome://tracing`).
//!
//! Format: "Trace Event Format", Google, 2016: complete events (`X`) and metadata (`M`).

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::base::event::{Body, Event, Source, Span};
use crate::base::{Device, file};

/// The lane of the host's waiting, beside a device's streams.
const HOST: u32 = 1_000_000;

/// Writes a trace file, whole or not at all.
pub fn write(path: &Path, events: &[Event]) -> std::io::Result<()> {
    file::export(path, |out| Ok(serde_json::to_writer(out, &document(events))?))
}

/// The trace as JSON. A process per device, a thread per stream; times in microseconds.
pub fn document(events: &[Event]) -> Value {
    let mut lanes = BTreeSet::new();
    let mut out = Vec::new();
    for event in events {
        match &event.body {
            Body::Collective { devices, stream, .. } => {
                lanes.extend(devices.iter().map(|device| (*device, *stream)));
                out.extend(devices.iter().filter_map(|device| part(event, *device)));
            }
            _ => out.extend(entry(event, &mut lanes)),
        }
    }
    let devices: BTreeSet<Device> = lanes.iter().map(|(device, _)| *device).collect();
    out.extend(devices.into_iter().map(|device| metadata("process_name", device, 0, &device.to_string())));
    for (device, stream) in lanes {
        let lane = if stream == HOST { "host waits".to_string() } else { format!("stream {stream}") };
        out.push(metadata("thread_name", device, stream, &lane));
    }
    json!({"displayTimeUnit": "ns", "traceEvents": out})
}

fn metadata(kind: &str, device: Device, tid: u32, name: &str) -> Value {
    json!({"name": kind, "ph": "M", "pid": process(device), "tid": tid, "args": {"name": name}})
}

fn process(device: Device) -> u64 {
    match device {
        Device::Cpu => 0,
        Device::Cuda(i) => 1 + u64::from(i),
    }
}

fn entry(event: &Event, lanes: &mut BTreeSet<(Device, u32)>) -> Option<Value> {
    let Source { line, caller, .. } = event.source;
    let mut lane = |device: Device, stream: u32| {
        lanes.insert((device, stream));
        (process(device), stream)
    };
    Some(match &event.body {
        Body::Launch { device, stream, op, kernel, dtype, bytes, flops, span } => {
            let args = json!({"kernel": kernel, "dtype": dtype.name(), "bytes": bytes, "flops": flops,
                "clock": span.clock.name(), "line": line, "caller": caller});
            complete(op, "kernel", lane(*device, *stream), span, &args)
        }
        Body::Copy { from, to, bytes, pinned, blocking, stream, span } => {
            let device = if to.is_cuda() { *to } else { *from };
            let args = json!({"bytes": bytes, "pinned": pinned, "blocking": blocking,
                "clock": span.clock.name(), "line": line, "caller": caller});
            complete(&format!("copy {from} to {to}"), "memcpy", lane(device, *stream), span, &args)
        }
        Body::Sync { device, implicit, cause, span } => {
            let args =
                json!({"implicit": implicit, "clock": span.clock.name(), "line": line, "caller": caller});
            complete(&format!("wait: {cause}"), "sync", lane(*device, HOST), span, &args)
        }
        Body::Hold { device, cause, span } => {
            let args = json!({"clock": span.clock.name(), "line": line, "caller": caller});
            complete(&format!("hold: {cause}"), "hold", lane(*device, HOST), span, &args)
        }
        _ => return None,
    })
}

/// What a device did of a collective.
fn part(event: &Event, device: Device) -> Option<Value> {
    let Body::Collective { op, bytes, ranks, stream, span, .. } = &event.body else { return None };
    let Source { line, caller, .. } = event.source;
    let args =
        json!({"bytes": bytes, "ranks": ranks, "clock": span.clock.name(), "line": line, "caller": caller});
    Some(complete(op, "collective", (process(device), *stream), span, &args))
}

fn complete(name: &str, category: &str, (pid, tid): (u64, u32), span: &Span, args: &Value) -> Value {
    json!({"name": name, "cat": category, "ph": "X", "pid": pid, "tid": tid,
        "ts": span.start as f64 / 1e3, "dur": span.nanos as f64 / 1e3, "args": args})
}
