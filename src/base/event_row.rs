//! An event as a row: `[seq, cell, line, caller, kind, [numbers], [names]]`. Rows are written and read by the thousand while a
//! run goes on, so they carry no field names; numbers and names are the fields in the order they are declared in.
//!
//! A device is 0 for the CPU and 1 + i for accelerator i; a dtype its place in [`DType::ALL`]; a truth 0 or 1; a span
//! its start, its nanoseconds and 1 where they are modelled; sizes their count and themselves.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use super::event::{Body, Clock, Devices, Event, Name, Race, Sizes, Source, Span};
use super::{DType, Device};

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EventKind {
    Alloc,
    Free,
    Segment,
    Copy,
    Launch,
    Sync,
    Hold,
    Batch,
    Collective,
    Race,
    OutOfMemory,
    PeakReset,
    CellStart,
    CellEnd,
}

type Numbers = SmallVec<[u64; 16]>;

#[derive(Default)]
struct RowFields<'a> {
    numbers: Numbers,
    names: SmallVec<[&'a str; 2]>,
}

struct Read<'a> {
    numbers: &'a mut dyn Iterator<Item = u64>,
    names: &'a mut dyn Iterator<Item = String>,
}

/// A field of an event in a row.
trait Field: Sized {
    fn write<'a>(&'a self, to: &mut RowFields<'a>);
    /// None where the row has no such field.
    fn read(from: &mut Read) -> Option<Self>;
}

/// Writes and reads each kind by its fields, named once.
macro_rules! rows {
    ($($kind:ident { $($field:ident),* }),* $(,)?) => {
        fn fields(body: &Body) -> (EventKind, RowFields<'_>) {
            let mut to = RowFields::default();
            let kind = match body {
                $(Body::$kind { $($field),* } => {
                    $($field.write(&mut to);)*
                    EventKind::$kind
                })*
            };
            (kind, to)
        }

        fn body(kind: EventKind, from: &mut Read) -> Option<Body> {
            Some(match kind {
                $(EventKind::$kind => Body::$kind { $($field: Field::read(from)?),* },)*
            })
        }
    };
}

rows! {
    Alloc { device, address, bytes, requested, dtype, shape, op, allocated, reserved },
    Free { device, address, bytes, allocated, reserved },
    Segment { device, address, bytes, mapped, reserved },
    Copy { from, to, bytes, pinned, blocking, stream, span },
    Launch { device, stream, op, kernel, dtype, bytes, flops, span },
    Sync { device, implicit, cause, span },
    Hold { device, cause, span },
    Batch { workers, pinned },
    Collective { op, bytes, ranks, devices, stream, span },
    Race { race },
    OutOfMemory { device, requested, message },
    PeakReset { device },
    CellStart { cell, at },
    CellEnd { cell, ok, at },
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, RowFields { numbers, names }) = fields(&self.body);
        let Source { cell, line, caller } = self.source;
        (self.seq, cell, line, caller, kind, numbers, names).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        type Row = (u64, u32, u32, u32, EventKind, Numbers, SmallVec<[String; 2]>);
        let (seq, cell, line, caller, kind, numbers, names) = Row::deserialize(deserializer)?;
        let (mut numbers, mut names) = (numbers.into_iter(), names.into_iter());
        let body = body(kind, &mut Read { numbers: &mut numbers, names: &mut names });
        let faulty = || serde::de::Error::custom("an event lacks a field, or has one out of its range");
        Ok(Event { seq, source: Source { cell, line, caller }, body: body.ok_or_else(faulty)? })
    }
}

impl Field for u64 {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.push(*self);
    }
    fn read(from: &mut Read) -> Option<u64> {
        from.numbers.next()
    }
}

impl Field for u32 {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.push(u64::from(*self));
    }
    fn read(from: &mut Read) -> Option<u32> {
        from.numbers.next()?.try_into().ok()
    }
}

impl Field for bool {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.push(u64::from(*self));
    }
    fn read(from: &mut Read) -> Option<bool> {
        match from.numbers.next()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Field for Device {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.push(match self {
            Device::Cpu => 0,
            Device::Cuda(index) => 1 + u64::from(*index),
        });
    }
    fn read(from: &mut Read) -> Option<Device> {
        match from.numbers.next()? {
            0 => Some(Device::Cpu),
            n => Some(Device::Cuda((n - 1).try_into().ok()?)),
        }
    }
}

impl Field for DType {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        let place = DType::ALL.iter().position(|dtype| dtype == self);
        to.numbers.push(place.unwrap_or(DType::ALL.len()) as u64);
    }
    fn read(from: &mut Read) -> Option<DType> {
        DType::ALL.get(usize::try_from(from.numbers.next()?).ok()?).copied()
    }
}

impl Field for Span {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.extend([self.start, self.nanos, u64::from(self.clock == Clock::Modelled)]);
    }
    fn read(from: &mut Read) -> Option<Span> {
        let (start, nanos) = (u64::read(from)?, u64::read(from)?);
        let clock = if bool::read(from)? { Clock::Modelled } else { Clock::Measured };
        Some(Span { start, nanos, clock })
    }
}

impl Field for Sizes {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.push(self.len() as u64);
        to.numbers.extend(self.iter().map(|&size| size as u64));
    }
    fn read(from: &mut Read) -> Option<Sizes> {
        let count = from.numbers.next()?;
        (0..count).map(|_| from.numbers.next()?.try_into().ok()).collect()
    }
}

impl Field for Devices {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.numbers.push(self.len() as u64);
        self.iter().for_each(|device| device.write(to));
    }
    fn read(from: &mut Read) -> Option<Devices> {
        let count = from.numbers.next()?;
        (0..count).map(|_| Device::read(from)).collect()
    }
}

impl Field for Name {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.names.push(self);
    }
    fn read(from: &mut Read) -> Option<Name> {
        from.names.next().map(|name| Name::read(&name))
    }
}

impl Field for Source {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        self.cell.write(to);
        self.line.write(to);
        self.caller.write(to);
    }
    fn read(from: &mut Read) -> Option<Source> {
        Some(Source { cell: u32::read(from)?, line: u32::read(from)?, caller: u32::read(from)? })
    }
}

/// Its fields, in the order they are declared in.
impl Field for Box<Race> {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        let Race { device, address, shape, kind, op, by, stream, .. } = &**self;
        let Race { earlier, earlier_op, earlier_by, earlier_stream, .. } = &**self;
        device.write(to);
        address.write(to);
        shape.write(to);
        [kind, op].into_iter().for_each(|name| name.write(to));
        by.write(to);
        stream.write(to);
        earlier.write(to);
        earlier_op.write(to);
        earlier_by.write(to);
        earlier_stream.write(to);
    }
    fn read(from: &mut Read) -> Option<Box<Race>> {
        Some(Box::new(Race {
            device: Field::read(from)?,
            address: Field::read(from)?,
            shape: Field::read(from)?,
            kind: Field::read(from)?,
            op: Field::read(from)?,
            by: Field::read(from)?,
            stream: Field::read(from)?,
            earlier: Field::read(from)?,
            earlier_op: Field::read(from)?,
            earlier_by: Field::read(from)?,
            earlier_stream: Field::read(from)?,
        }))
    }
}

impl Field for String {
    fn write<'a>(&'a self, to: &mut RowFields<'a>) {
        to.names.push(self);
    }
    fn read(from: &mut Read) -> Option<String> {
        from.names.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Event, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn every_kind_of_event_survives_json() {
        let device = Device::Cuda(1);
        let span = Span { start: 1, nanos: 2, clock: Clock::Measured };
        let name = || Name::new("add");
        let (address, bytes, requested, allocated, reserved) = (3, 4, 5, 6, 7);
        for body in [
            Body::Alloc {
                device,
                address,
                bytes,
                requested,
                dtype: DType::BFloat16,
                shape: Sizes::from_slice(&[2, 0]),
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
            Body::Hold { device, cause: name(), span },
            Body::Batch { workers: 3, pinned: true },
            Body::Collective {
                op: name(),
                bytes,
                ranks: 2,
                devices: Devices::from_slice(&[Device::Cpu, device]),
                stream: 8,
                span,
            },
            Body::Race {
                race: Box::new(Race {
                    device,
                    address,
                    shape: Sizes::from_slice(&[3]),
                    kind: name(),
                    op: Name::new("mul"),
                    by: device,
                    stream: 1,
                    earlier: Source { cell: 2, line: 3, caller: 5 },
                    earlier_op: Name::new("sub"),
                    earlier_by: Device::Cpu,
                    earlier_stream: 4,
                }),
            },
            Body::OutOfMemory { device, requested, message: "out of memory".into() },
            Body::PeakReset { device },
            Body::CellStart { cell: 11, at: 12 },
            Body::CellEnd { cell: 13, ok: true, at: 14 },
        ] {
            let event = Event { seq: 15, source: Source { cell: 16, line: 17, caller: 18 }, body };
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(read(&text).as_ref(), Ok(&event), "{text}");
        }
    }

    #[test]
    fn a_row_that_is_no_event_is_refused() {
        let good = r#"[3,1,0,0,"cell_start",[1,2],[]]"#;
        assert_eq!(read(good).unwrap().body, Body::CellStart { cell: 1, at: 2 });
        for bad in [
            r#"[3,1,0,0,"cell_start",[1],[]]"#,
            r#"[3,1,0,0,"cell_end",[1,2,3],[]]"#,
            r#"[3,1,0,0,"eclipse",[1,2],[]]"#,
            r#"[3,1,0,0,"sync",[0,1,5,5,0],[]]"#,
            r#"[3,1,0,0,"peak_reset",[18446744073709551615],[]]"#,
            r#"[3,1,0,0,"alloc",[1,2,3,4,99,0,5,6],["add"]]"#,
            r#"[3,1,0,0,"alloc",[1,2,3,4,0,18446744073709551615,5,6],["add"]]"#,
            r#"{"seq":3}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
