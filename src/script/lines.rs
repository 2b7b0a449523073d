//! The event stream as JSON lines: a header, then one event a line, in the order in which they happened.
//!
//! The fields of each kind are listed in `docs/telemetry.md`. Bytes are bytes, times are nanoseconds on the clock that
//! stands beside them.

use std::io::Write;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::base::event::{Body, Event, Race, Source, Span};
use crate::base::{Device, file};
use crate::device::Machine;

/// Raised when a field changes its meaning or goes; new fields and new kinds of events do not raise it.
pub const VERSION: u32 = 1;

/// Fields by their names.
macro_rules! fields {
    ($($name:ident: $value:expr),* $(,)?) => { vec![$((stringify!($name), json!($value))),*] };
}

/// What the header says of a file's events.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Header {
    /// The script or the notebook that they come from.
    pub origin: String,
    pub devices: Vec<Known>,
    /// Earlier events that are not in the file.
    pub dropped: u64,
}

/// A device, as the header names it.
#[derive(Clone, PartialEq, Debug)]
pub struct Known {
    pub device: Device,
    pub name: String,
    pub simulated: bool,
}

impl Header {
    /// The header of events that all were kept.
    pub fn of(machine: &Machine, origin: &str) -> Header {
        let known = |device, name: &str, simulated| Known { device, name: name.to_string(), simulated };
        let devices = machine.contexts().map(|context| {
            let properties = context.backend.properties();
            known(context.device, &properties.name, properties.simulated)
        });
        Header { origin: origin.to_string(), devices: devices.collect(), dropped: 0 }
    }

    fn line(&self, events: usize) -> Line {
        let devices = self.devices.iter().map(|known| {
            json!({"device": known.device.to_string(), "name": known.name, "simulated": known.simulated})
        });
        Line(fields! {
            event: "header",
            format: "tensorlab-telemetry",
            version: VERSION,
            program: concat!("tensorlab ", env!("CARGO_PKG_VERSION")),
            origin: self.origin,
            devices: devices.collect::<Vec<_>>(),
            events: events,
            dropped: self.dropped,
        })
    }
}

/// Writes a file of lines, whole or not at all.
///
/// # Errors
/// Those of the file system; an older file stays as it was.
pub fn write(path: &Path, header: &Header, events: &[Event]) -> std::io::Result<()> {
    file::export(path, |out| {
        let mut put = |line: &Line| {
            serde_json::to_writer(&mut *out, line)?;
            out.write_all(b"\n")
        };
        put(&header.line(events.len()))?;
        events.iter().try_for_each(|event| put(&line(event)))
    })
}

/// A line's fields, in the order in which they are written.
struct Line(Vec<(&'static str, Value)>);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn line(event: &Event) -> Line {
    let (kind, fields) = fields(&event.body);
    let Source { cell, line, caller } = event.source;
    let mut out = fields! { event: kind, id: event.seq, cell: cell, line: line, caller: caller };
    out.extend(fields);
    Line(out)
}

type LineFields = Vec<(&'static str, Value)>;

fn fields(body: &Body) -> (&'static str, LineFields) {
    let name = |device: &Device| device.to_string();
    match body {
        Body::Alloc { device, address, bytes, requested, dtype, shape, op, allocated, reserved } => {
            let (shape, op, dtype) = (shape.as_slice(), op.as_str(), dtype.name());
            let own = fields! { device: name(device), address: address, bytes: bytes, requested: requested,
            dtype: dtype, shape: shape, op: op, allocated: allocated, reserved: reserved };
            ("alloc", own)
        }
        Body::Free { device, address, bytes, allocated, reserved } => {
            let own = fields! { device: name(device), address: address, bytes: bytes, allocated: allocated,
            reserved: reserved };
            ("free", own)
        }
        Body::Segment { device, address, bytes, mapped, reserved } => {
            let own = fields! { device: name(device), address: address, bytes: bytes, mapped: mapped,
            reserved: reserved };
            ("segment", own)
        }
        Body::Copy { from, to, bytes, pinned, blocking, stream, span } => {
            let own = fields! { from: name(from), to: name(to), bytes: bytes, pinned: pinned, blocking: blocking,
            stream: stream };
            ("copy", timed(own, span))
        }
        Body::Launch { device, stream, op, kernel, dtype, bytes, flops, span } => {
            let (op, kernel, dtype) = (op.as_str(), kernel.as_str(), dtype.name());
            let own = fields! { device: name(device), stream: stream, op: op, kernel: kernel, dtype: dtype,
            bytes: bytes, flops: flops };
            ("launch", timed(own, span))
        }
        Body::Sync { device, implicit, cause, span } => {
            let own = fields! { device: name(device), implicit: implicit, cause: cause.as_str() };
            ("sync", timed(own, span))
        }
        Body::Hold { device, cause, span } => {
            ("hold", timed(fields! { device: name(device), cause: cause.as_str() }, span))
        }
        Body::Batch { workers, pinned } => ("batch", fields! { workers: workers, pinned: pinned }),
        Body::Collective { op, bytes, ranks, devices, stream, span } => {
            let devices: Vec<String> = devices.iter().map(name).collect();
            let own =
                fields! { op: op.as_str(), bytes: bytes, ranks: ranks, devices: devices, stream: stream };
            ("collective", timed(own, span))
        }
        Body::Race { race } => ("race", race_fields(race)),
        Body::OutOfMemory { device, requested, message } => {
            ("out_of_memory", fields! { device: name(device), requested: requested, message: message })
        }
        Body::PeakReset { device } => ("peak_reset", fields! { device: name(device) }),
        Body::CellStart { at, .. } => ("cell_start", fields! { at_ns: at }),
        Body::CellEnd { ok, at, .. } => ("cell_end", fields! { ok: ok, at_ns: at }),
    }
}

fn race_fields(race: &Race) -> LineFields {
    let name = |device: &Device| device.to_string();
    let Race { device, address, shape, kind, op, by, stream, .. } = race;
    let Race { earlier, earlier_op, earlier_by, earlier_stream, .. } = race;
    fields! { device: name(device), address: address, shape: shape.as_slice(), kind: kind.as_str(), op: op.as_str(),
    by: name(by), stream: stream, earlier_cell: earlier.cell, earlier_line: earlier.line,
    earlier_op: earlier_op.as_str(), earlier_by: name(earlier_by), earlier_stream: earlier_stream }
}

fn timed(mut own: LineFields, span: &Span) -> LineFields {
    own.extend(fields! { start_ns: span.start, ns: span.nanos, clock: span.clock.name() });
    own
}
