//! The event stream as a Chrome trace (opens in Perfetto and `chrome://tracing`).
//!
//! Format: "Trace Event Format", Google, 2016: complete events (`X`), counters (`C`), metadata (`M`).

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::base::Device;
use crate::base::event::{Body, Event, Span};

/// Writes a trace file, whole or not at all.
pub fn write(path: &Path, events: &[Event]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&part)?);
    serde_json::to_writer(&mut file, &document(events))?;
    file.flush()?;
    file.into_inner().map_err(|e| e.into_error())?.sync_all()?;
    std::fs::rename(part, path)
}

/// The trace as JSON. A process per device, a thread per stream; times in microseconds.
pub fn document(events: &[Event]) -> Value {
    let mut lanes = BTreeSet::new();
    let mut out: Vec<Value> = events.iter().filter_map(|e| entry(e, &mut lanes)).collect();
    for (device, stream) in lanes {
        let pid = process(device);
        let name = json!({"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": device.to_string()}});
        let lane = if stream == HOST { "host".to_string() } else { format!("stream {stream}") };
        let thread = json!({"name": "thread_name", "ph": "M", "pid": pid, "tid": stream, "args": {"name": lane}});
        out.extend([name, thread]);
    }
    json!({"displayTimeUnit": "ns", "traceEvents": out})
}

const HOST: u32 = 1_000_000;

fn process(device: Device) -> u64 {
    match device {
        Device::Cpu => 0,
        Device::Cuda(i) => 1 + u64::from(i),
    }
}

fn entry(event: &Event, lanes: &mut BTreeSet<(Device, u32)>) -> Option<Value> {
    let line = event.source.line;
    let mut lane = |device: Device, stream: u32| {
        lanes.insert((device, stream));
        (process(device), stream)
    };
    Some(match &event.body {
        Body::Launch { device, stream, op, kernel, dtype, bytes, flops, span } => {
            let args = json!({"kernel": kernel, "dtype": dtype.name(), "bytes": bytes, "flops": flops,
                "clock": span.clock.name(), "line": line});
            complete(op, "kernel", lane(*device, *stream), span, args)
        }
        Body::Copy { from, to, bytes, pinned, blocking, stream, span } => {
            let device = if to.is_cuda() { *to } else { *from };
            let name = format!("copy {from} to {to}");
            let args = json!({"bytes": bytes, "pinned": pinned, "blocking": blocking,
                "clock": span.clock.name(), "line": line});
            complete(&name, "memcpy", lane(device, *stream), span, args)
        }
        Body::Sync { device, implicit, cause, span } => {
            let args = json!({"implicit": implicit, "clock": span.clock.name(), "line": line});
            complete(&format!("wait: {cause}"), "sync", lane(*device, HOST), span, args)
        }
        _ => return None,
    })
}

fn complete(name: &str, category: &str, (pid, tid): (u64, u32), span: &Span, args: Value) -> Value {
    json!({"name": name, "cat": category, "ph": "X", "pid": pid, "tid": tid,
        "ts": span.start as f64 / 1e3, "dur": span.nanos as f64 / 1e3, "args": args})
}
