//! What is kept of devices, tensors and copies.

use std::collections::{BTreeMap, VecDeque};

use crate::base::event::{Body, Event, Name, Source, Span};
use crate::base::{DType, Device};
use crate::lab::model::text;
use crate::session::digest::{DeviceDigest, WAITS_KEPT};

/// Transfers kept in the log.
pub(crate) const TRANSFERS_KEPT: usize = 1000;

/// One device, as it is now.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DeviceTally {
    pub device: Device,
    pub name: String,
    pub simulated: bool,
    /// Memory in bytes; 0 where there is no such limit.
    pub total: u64,
    pub allocated: u64,
    pub reserved: u64,
    pub peak: u64,
    pub launches: u64,
    pub syncs: u64,
    pub implicit_syncs: u64,
    /// What made the host wait unasked, last.
    pub last_implicit: Option<(Name, Source)>,
    /// All that did, by cause and place: how often.
    pub waits: BTreeMap<(u32, u32, Name), u64>,
    /// Bytes that the device says nobody has taken, and what was reserved then.
    pub told_free: Option<(u64, u64)>,
    /// Accesses of memory that nothing ordered.
    pub races: u64,
    /// The last of them: the earlier and the later line.
    pub last_race: Option<(Source, Source)>,
    pub out_of_memory: u64,
    /// Bytes asked for when memory ran out, last.
    pub last_refused: u64,
    /// Live tensors in the table, and their bytes.
    pub tensors: usize,
    pub tensor_bytes: u64,
}

/// A tensor's storage that is held now.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Live {
    pub device: Device,
    pub address: u64,
    pub bytes: u64,
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// The operation that made it; empty where the events that told it were missed.
    pub op: Name,
    pub source: Source,
    /// The variables that hold it, as far as the session has told.
    pub name: Option<String>,
    /// Whether it requires a gradient, as far as the session has told, and the bytes of the one it has.
    pub grad: Option<Grad>,
    pub seq: u64,
}

/// What is known of a tensor's gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grad {
    /// None is wanted.
    No,
    /// It is wanted, and there is none yet.
    Wanted,
    /// There is one, of so many bytes.
    There(u64),
}

/// A copy between memories.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Transfer {
    /// The event's number.
    pub seq: u64,
    pub from: Device,
    pub to: Device,
    pub bytes: u64,
    pub pinned: bool,
    pub blocking: bool,
    pub span: Span,
    pub source: Source,
}

impl Transfer {
    /// The main memory at one of its ends: pinned, or pageable; none between GPUs.
    pub(crate) fn memory(&self) -> Option<&'static str> {
        let host = [self.from, self.to].contains(&Device::Cpu);
        host.then_some(if self.pinned { "pinned" } else { "pageable" })
    }

    /// The copy that an event is.
    pub(super) fn of(event: &Event) -> Option<Transfer> {
        let Body::Copy { from, to, bytes, pinned, blocking, span, .. } = event.body else { return None };
        Some(Transfer { seq: event.seq, from, to, bytes, pinned, blocking, span, source: event.source })
    }
}

/// All copies one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Direction {
    pub count: u64,
    pub bytes: u64,
}

/// The last values of a stream, and how many earlier ones were dropped.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    items: VecDeque<T>,
    pub dropped: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { items: VecDeque::new(), dropped: 0 }
    }
}

impl<T> Ring<T> {
    pub(super) fn push(&mut self, item: T) {
        if self.items.len() >= TRANSFERS_KEPT {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }

    /// From the newest to the oldest.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &T> {
        self.items.iter().rev()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl Direction {
    pub(super) fn add(&mut self, count: u64, bytes: u64) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl DeviceTally {
    /// Of a device to which nothing has happened.
    pub(crate) fn of(device: Device) -> DeviceTally {
        DeviceTally {
            device,
            name: String::new(),
            simulated: false,
            total: 0,
            allocated: 0,
            reserved: 0,
            peak: 0,
            launches: 0,
            syncs: 0,
            implicit_syncs: 0,
            last_implicit: None,
            waits: BTreeMap::new(),
            told_free: None,
            races: 0,
            last_race: None,
            out_of_memory: 0,
            last_refused: 0,
            tensors: 0,
            tensor_bytes: 0,
        }
    }

    /// Counts a wait.
    pub(crate) fn wait(&mut self, implicit: bool, cause: Name, source: Source) {
        if !implicit {
            self.syncs += 1;
        } else {
            self.implicit_syncs += 1;
            self.last_implicit = Some((cause, source));
            self.note_wait(source, cause, 1);
        }
    }

    /// Adds the sums of events that are not known one by one.
    pub(super) fn add(&mut self, sums: &DeviceDigest) {
        self.launches = self.launches.saturating_add(sums.launches);
        self.syncs = self.syncs.saturating_add(sums.syncs);
        self.implicit_syncs = self.implicit_syncs.saturating_add(sums.implicit_syncs);
        let name = |cause: &str| clean_name(Name::read(cause));
        if let Some((cause, source)) = &sums.last_implicit {
            self.last_implicit = Some((name(cause), *source));
        }
        for (source, cause, count) in &sums.waits {
            self.note_wait(*source, name(cause), *count);
        }
        self.out_of_memory = self.out_of_memory.saturating_add(sums.out_of_memory);
        if sums.out_of_memory > 0 {
            self.last_refused = sums.last_refused;
        }
        let before = if sums.peak_reset { sums.reset_at.unwrap_or(self.allocated) } else { self.peak };
        self.peak = before.max(sums.peak);
        self.allocated = sums.allocated.unwrap_or(self.allocated);
        self.reserved = sums.reserved.unwrap_or(self.reserved);
    }

    /// Counts waits that nobody asked for.
    pub(super) fn note_wait(&mut self, source: Source, cause: Name, count: u64) {
        let place = (source.cell, source.line, cause);
        if self.waits.len() < WAITS_KEPT || self.waits.contains_key(&place) {
            *self.waits.entry(place).or_default() += count;
        }
    }

    /// Bytes that are taken, but not by this program's allocator: a context, other programs. `None` where the device
    /// does not say.
    pub(crate) fn other(&self) -> Option<u64> {
        let (free, reserved) = self.told_free?;
        Some(self.total.saturating_sub(free).saturating_sub(reserved))
    }

    /// Bytes that can still be taken from the device.
    pub(crate) fn free(&self) -> u64 {
        self.total.saturating_sub(self.reserved).saturating_sub(self.other().unwrap_or(0))
    }
}

pub(super) fn clean_name(name: Name) -> Name {
    if name.chars().all(text::printable) { name } else { Name::read(&text::clean_line(&name)) }
}
