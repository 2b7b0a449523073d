//! What happened in a run, added up event by event: nothing grows with the run but the lines that copied or waited.

use std::collections::BTreeMap;

use rhai::{Array, Dynamic, INT, Map};

use crate::base::event::{Body, Clock, Event, Span};
use crate::base::{DType, Device};

/// Sums over events.
pub(crate) struct Summary {
    /// Host to device, device to host, device to device.
    pub copies: [Copies; 3],
    /// Launches on accelerators.
    pub launches: INT,
    /// Launches on any device, in the order of [`DType::ALL`].
    pub by_dtype: [INT; DType::ALL.len()],
    /// Waits that the script asked for.
    pub syncs: INT,
    /// The line of each wait that it did not ask for.
    pub implicit_lines: Vec<u32>,
    /// Tensors made on accelerators.
    pub allocations: INT,
    pub out_of_memory: INT,
    /// By accelerator.
    pub memory: BTreeMap<String, Memory>,
    /// The accelerator of the last change, with its memory: names are made once per turn, not per event.
    current: Option<(Device, Memory)>,
}

/// Copies in one direction.
pub struct Copies {
    pub count: INT,
    pub bytes: INT,
    pub pinned: INT,
    pub nanos: u64,
    pub clock: Clock,
    pub lines: Vec<u32>,
}

/// Allocated bytes of an accelerator.
#[derive(Clone, Copy, Default)]
pub struct Memory {
    pub start: u64,
    pub peak: u64,
    pub last: u64,
}

const DIRECTIONS: [&str; 3] = ["h2d", "d2h", "d2d"];

impl Summary {
    /// `start` gives allocated bytes per accelerator before the run.
    pub(crate) fn new(start: BTreeMap<String, u64>) -> Summary {
        let memory = |bytes| Memory { start: bytes, peak: bytes, last: bytes };
        Summary {
            copies: std::array::from_fn(|_| Copies::new()),
            launches: 0,
            by_dtype: [0; DType::ALL.len()],
            syncs: 0,
            implicit_lines: Vec::new(),
            allocations: 0,
            out_of_memory: 0,
            memory: start.into_iter().map(|(device, bytes)| (device, memory(bytes))).collect(),
            current: None,
        }
    }

    pub(crate) fn of(events: &[Event], start: BTreeMap<String, u64>) -> Summary {
        let mut sums = Summary::new(start);
        events.iter().for_each(|event| sums.take(event));
        sums.settle();
        sums
    }

    /// Adds an event.
    pub(crate) fn take(&mut self, event: &Event) {
        match &event.body {
            Body::Alloc { device, allocated, .. } if device.is_cuda() => {
                self.allocations += 1;
                self.note_memory(*device, *allocated);
            }
            Body::Free { device, allocated, .. } if device.is_cuda() => {
                self.note_memory(*device, *allocated);
            }
            Body::Launch { device, dtype, .. } => {
                self.launches += INT::from(device.is_cuda());
                self.note_dtype(*dtype);
            }
            Body::Copy { from, to, bytes, pinned, span, .. } => {
                let direction = match (from.is_cuda(), to.is_cuda()) {
                    (true, false) => 1,
                    (true, true) => 2,
                    (false, true) => 0,
                    (false, false) => return,
                };
                if let Some(copies) = self.copies.get_mut(direction) {
                    copies.add(*bytes, *pinned, *span, event.source.line);
                }
            }
            Body::Sync { implicit: true, .. } => self.implicit_lines.push(event.source.line),
            Body::Sync { implicit: false, .. } => self.syncs += 1,
            Body::OutOfMemory { .. } => self.out_of_memory += 1,
            _ => {}
        }
    }

    /// Everything by name.
    pub(crate) fn map(&mut self) -> Map {
        self.settle();
        let line = |line: &u32| Dynamic::from(INT::from(*line));
        let mut out = Map::new();
        for (name, copies) in DIRECTIONS.iter().zip(&self.copies) {
            out.insert((*name).into(), copies.map().into());
        }
        out.insert("launches".into(), self.launches.into());
        out.insert("syncs".into(), self.syncs.into());
        out.insert("implicit_syncs".into(), (self.implicit_lines.len() as INT).into());
        out.insert(
            "implicit_sync_lines".into(),
            self.implicit_lines.iter().map(line).collect::<Array>().into(),
        );
        out.insert("allocations".into(), self.allocations.into());
        out.insert("oom".into(), self.out_of_memory.into());
        out.insert("peak".into(), self.memory_map(|m| m.peak as INT).into());
        out.insert("leaked".into(), self.memory_map(|m| m.last as INT - m.start as INT).into());
        let counts = DType::ALL.iter().zip(&self.by_dtype).filter(|(_, n)| **n > 0);
        let counts = counts.map(|(dtype, n)| (dtype.name().into(), (*n).into()));
        out.insert("by_dtype".into(), counts.collect::<Map>().into());
        out
    }

    /// The most bytes that an accelerator held at once, where it took any.
    pub(crate) fn peak(&mut self, device: Device) -> Option<u64> {
        self.settle();
        let memory = self.memory.get(&device.to_string())?;
        (memory.peak > memory.start).then_some(memory.peak)
    }

    fn memory_map(&self, figure: impl Fn(&Memory) -> INT) -> Map {
        self.memory.iter().map(|(device, m)| (device.as_str().into(), figure(m).into())).collect()
    }

    fn note_memory(&mut self, device: Device, allocated: u64) {
        if self.current.is_none_or(|(current, _)| current != device) {
            self.settle();
            let known = self.memory.get(&device.to_string()).copied().unwrap_or_default();
            self.current = Some((device, known));
        }
        if let Some((_, memory)) = &mut self.current {
            memory.peak = memory.peak.max(allocated);
            memory.last = allocated;
        }
    }

    fn note_dtype(&mut self, dtype: DType) {
        if let Some(count) = self.by_dtype.get_mut(dtype as usize) {
            *count += 1;
        }
    }

    /// Files the memory of the current accelerator under its name.
    fn settle(&mut self) {
        if let Some((device, memory)) = self.current.take() {
            self.memory.insert(device.to_string(), memory);
        }
    }
}

impl Copies {
    fn new() -> Copies {
        Copies { count: 0, bytes: 0, pinned: 0, nanos: 0, clock: Clock::Measured, lines: Vec::new() }
    }

    fn add(&mut self, bytes: u64, pinned: bool, span: Span, line: u32) {
        self.count += 1;
        self.bytes += bytes as INT;
        self.pinned += INT::from(pinned);
        self.nanos += span.nanos;
        self.clock = span.clock;
        self.lines.push(line);
    }

    fn map(&self) -> Map {
        let lines: Array = self.lines.iter().map(|line| INT::from(*line).into()).collect();
        let mut map = Map::new();
        map.insert("count".into(), self.count.into());
        map.insert("bytes".into(), self.bytes.into());
        map.insert("pinned".into(), self.pinned.into());
        map.insert("ms".into(), (self.nanos as f64 / 1e6).into());
        map.insert("clock".into(), self.clock.name().into());
        map.insert("lines".into(), lines.into());
        map
    }
}
