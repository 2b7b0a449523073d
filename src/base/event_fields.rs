//! Reads an event back from its fields, in any order and in one pass: a front end receives them by the thousand.

use serde::Deserialize;

use super::event::{Body, Event, Source, Span};
use super::{DType, Device};

/// Every field that some event has.
#[derive(Deserialize)]
pub(super) struct Fields {
    seq: u64,
    #[serde(default)]
    source: Source,
    event: Tag,
    device: Option<Device>,
    from: Option<Device>,
    to: Option<Device>,
    address: Option<u64>,
    bytes: Option<u64>,
    requested: Option<u64>,
    allocated: Option<u64>,
    reserved: Option<u64>,
    flops: Option<u64>,
    at: Option<u64>,
    stream: Option<u32>,
    cell: Option<u32>,
    mapped: Option<bool>,
    pinned: Option<bool>,
    blocking: Option<bool>,
    implicit: Option<bool>,
    ok: Option<bool>,
    dtype: Option<DType>,
    shape: Option<Vec<usize>>,
    op: Option<String>,
    kernel: Option<String>,
    cause: Option<String>,
    message: Option<String>,
    span: Option<Span>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tag {
    Alloc,
    Free,
    Segment,
    Copy,
    Launch,
    Sync,
    OutOfMemory,
    PeakReset,
    CellStart,
    CellEnd,
}

/// A field that this kind of event has is missing.
#[derive(Debug)]
pub(super) struct Missing(&'static str);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an event lacks its field `{}`", self.0)
    }
}

/// The body of a kind of event from the fields it names.
macro_rules! body {
    ($fields:ident, $kind:ident { $($field:ident),* }) => {
        Body::$kind { $($field: $fields.$field.map(Into::into).ok_or(Missing(stringify!($field)))?),* }
    };
}

impl TryFrom<Fields> for Event {
    type Error = Missing;

    fn try_from(f: Fields) -> Result<Event, Missing> {
        let body = match f.event {
            Tag::Alloc => {
                body!(f, Alloc { device, address, bytes, requested, dtype, shape, op, allocated, reserved })
            }
            Tag::Free => body!(f, Free { device, address, bytes, allocated, reserved }),
            Tag::Segment => body!(f, Segment { device, address, bytes, mapped, reserved }),
            Tag::Copy => body!(f, Copy { from, to, bytes, pinned, blocking, stream, span }),
            Tag::Launch => body!(f, Launch { device, stream, op, kernel, dtype, bytes, flops, span }),
            Tag::Sync => body!(f, Sync { device, implicit, cause, span }),
            Tag::OutOfMemory => body!(f, OutOfMemory { device, requested, message }),
            Tag::PeakReset => body!(f, PeakReset { device }),
            Tag::CellStart => body!(f, CellStart { cell, at }),
            Tag::CellEnd => body!(f, CellEnd { cell, ok, at }),
        };
        Ok(Event { seq: f.seq, source: f.source, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::event::{Clock, Name};

    fn read(text: &str) -> Result<Event, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn every_kind_of_event_survives_json() {
        let device = Device::Cuda(1);
        let span = Span { start: 1, nanos: 2, clock: Clock::Measured };
        let name = || Name::Borrowed("add");
        let (address, bytes, requested, allocated, reserved) = (3, 4, 5, 6, 7);
        for body in [
            Body::Alloc {
                device,
                address,
                bytes,
                requested,
                dtype: DType::BFloat16,
                shape: vec![2, 0],
                op: name(),
                allocated,
                reserved,
            },
            Body::Free { device, address, bytes, allocated, reserved },
            Body::Segment { device, address, bytes, mapped: true, reserved },
            Body::Copy {
                from: Device::Cpu,
                to: device,
                bytes,
                pinned: true,
                blocking: false,
                stream: 8,
                span,
            },
            Body::Launch {
                device,
                stream: 9,
                op: name(),
                kernel: name(),
                dtype: DType::Bool,
                bytes,
                flops: 10,
                span,
            },
            Body::Sync { device, implicit: true, cause: name(), span },
            Body::OutOfMemory { device, requested, message: "out of memory".into() },
            Body::PeakReset { device },
            Body::CellStart { cell: 11, at: 12 },
            Body::CellEnd { cell: 13, ok: true, at: 14 },
        ] {
            let event = Event { seq: 15, source: Source { cell: 16, line: 17 }, body };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(read(&text).as_ref(), Ok(&event), "{text}");
        }
    }

    #[test]
    fn fields_come_in_any_order_and_a_missing_one_is_named() {
        let event = read(r#"{"at":2,"event":"cell_start","cell":1,"seq":3,"later":[{}]}"#).unwrap();
        assert_eq!(event.body, Body::CellStart { cell: 1, at: 2 });
        assert!(
            read(r#"{"event":"cell_start","cell":1,"seq":3}"#).unwrap_err().contains("lacks its field `at`")
        );
        assert!(read(r#"{"event":"cell_start","cell":1,"at":3}"#).unwrap_err().contains("seq"));
        assert!(read(r#"{"event":"eclipse","seq":3}"#).unwrap_err().contains("unknown variant"));
    }
}
