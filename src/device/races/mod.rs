//! Races on simulated devices: accesses of one piece of memory that nothing orders, as `torch.cuda._sanitizer` finds
//! them.
//!
//! What counts is order and not time: a race is told of however the modelled times turn out. Order comes from a stream's
//! own sequence, from events and streams that a stream waits for, and from what the host waits for. Watched are kernels
//! and copies on the memory of simulated devices, and the host's accesses to pinned memory that copies use.
//!
//! Memory that is freed goes back to the stream it was taken on, which may use it again at once: that is no race. Where
//! another stream still uses it, unknown to the allocator ([`Context::record_stream`](super::Context::record_stream)),
//! it is one: at once where the thread's current stream gets it back, otherwise once the memory is used again.

mod block;
mod order;
mod region;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use smallvec::SmallVec;

use crate::base::Device;
use crate::base::address::AddressMap;
use crate::base::event::{Name, Race, Sizes, Source};
use crate::device::buffer::Buffer;
use crate::device::kernel::View;

use block::{Next, Use, UsedBlock};
use order::Orders;
pub(crate) use order::{Moment, StreamStep};
use region::Region;

/// Freed memory that is kept in mind until it is used again.
const FREED_KEPT: usize = 1024;

/// What was found, each with whose line it is to be told.
pub(super) type FoundRaces = SmallVec<[(Source, Box<Race>); 1]>;

/// Who used the memory of one machine, in which order.
#[derive(Default)]
pub(crate) struct Races {
    state: Mutex<RaceState>,
    /// Some device has several streams.
    side_streams: AtomicBool,
    /// A copy used pinned memory.
    pinned: AtomicBool,
}

#[derive(Default)]
struct RaceState {
    orders: Orders,
    blocks: AddressMap<(Device, u64), UsedBlock>,
    freed: Vec<Freed>,
    /// Pairs of lines that were warned of.
    said: HashSet<(Source, Source, Name)>,
}

/// Memory that was freed while other streams used it, and not used again yet.
struct Freed {
    device: Device,
    region: Region,
    uses: Vec<Use>,
}

/// An access of a buffer.
pub(super) struct Access<'a> {
    /// Where the memory is.
    pub device: Device,
    pub buffer: &'a Buffer,
    pub region: AccessRegion<'a>,
    pub writes: bool,
}

/// What of a buffer is accessed.
#[derive(Clone, Copy)]
pub(super) enum AccessRegion<'a> {
    View(&'a View<'a>),
    /// Bytes from an offset on, of a tensor of these sizes as far as they are known.
    Bytes {
        offset: usize,
        bytes: usize,
        shape: &'a [usize],
    },
}

/// Who accesses, why, and in which line.
#[derive(Clone, Copy)]
pub(super) struct Who {
    pub op: &'static str,
    pub source: Source,
}

/// Memory that is being freed.
pub(super) struct Freeing<'a> {
    pub device: Device,
    pub buffer: &'a Buffer,
    /// The stream that gets it back.
    pub owner: u32,
    /// The allocator lets it wait for these.
    pub recorded: &'a [u32],
    /// The thread's stream.
    pub current: u32,
    pub shape: Sizes,
    pub source: Source,
}

impl Races {
    /// Whether some device has several streams.
    #[inline]
    pub(super) fn has_side_streams(&self) -> bool {
        self.side_streams.load(Ordering::Relaxed)
    }

    /// Whether copies used pinned memory, so that the host's accesses matter.
    #[inline]
    pub(super) fn has_pinned(&self) -> bool {
        self.pinned.load(Ordering::Relaxed)
    }

    /// Work of a stream with its accesses, writes first.
    pub(super) fn work<'a>(
        &self,
        (device, stream): (Device, u32),
        who: Who,
        accesses: impl Iterator<Item = Access<'a>>,
    ) -> FoundRaces {
        let mut state = self.state();
        let lane = self.lane(&mut state, device, stream);
        state.work(lane, who, accesses)
    }

    /// A copy from one device to another, on a stream of each: the source's does it.
    pub(super) fn peer_copy<'a>(
        &self,
        from: (Device, u32),
        to: (Device, u32),
        who: Who,
        accesses: impl Iterator<Item = Access<'a>>,
    ) -> FoundRaces {
        let mut state = self.state();
        let (source, target) = (self.lane(&mut state, from.0, from.1), self.lane(&mut state, to.0, to.1));
        let before = state.orders.moment(target);
        state.orders.wait(source, &before);
        let found = state.work(source, who, accesses);
        let after = state.orders.moment(source);
        state.orders.wait(target, &after);
        found
    }

    /// The next work of some stream uses pinned memory.
    pub(super) fn note_pinned(&self) {
        self.pinned.store(true, Ordering::Relaxed);
    }

    /// The host accesses memory.
    pub(super) fn host(&self, who: Who, access: &Access) -> Option<(Source, Box<Race>)> {
        let mut state = self.state();
        let RaceState { orders, blocks, .. } = &mut *state;
        let block = blocks.get_mut(&(access.device, access.buffer.address))?;
        let region = access.bytes();
        let next = Next { lane: None, writes: access.writes, region: &region };
        let earlier = block.conflict(orders, &next)?.clone();
        Some(told(orders, &earlier, &next, who, access))
    }

    /// Memory goes; what is found concerns those who used it.
    pub(super) fn free(&self, freeing: &Freeing) -> Option<(Source, Box<Race>)> {
        let mut state = self.state();
        let block = state.blocks.remove(&(freeing.device, freeing.buffer.address))?;
        self.has_side_streams().then(|| state.freed(freeing, block)).flatten()
    }

    /// Memory goes, and nobody is asked: the allocator knows who uses it.
    pub(super) fn forget(&self, device: Device, buffer: &Buffer) {
        self.state().blocks.remove(&(device, buffer.address));
    }

    /// Memory is taken; what used it before counts as a use of the new block.
    pub(super) fn taken(&self, device: Device, buffer: &Buffer) {
        let state = &mut *self.state();
        if state.freed.is_empty() {
            return;
        }
        let region = Region::whole(buffer.address, buffer.bytes as u64);
        let uses: Vec<Use> = state
            .freed
            .iter()
            .filter(|freed| freed.device == device && freed.region.overlaps(&region))
            .flat_map(|freed| freed.uses.iter().cloned())
            .collect();
        state.freed.retain(|freed| freed.device != device || !region.covers(&freed.region));
        if !uses.is_empty() {
            state.blocks.entry((device, buffer.address)).or_default().uses.extend(uses);
        }
    }

    /// The present end of a stream's work.
    pub(super) fn moment(&self, device: Device, stream: u32) -> Moment {
        let mut state = self.state();
        let lane = self.lane(&mut state, device, stream);
        state.orders.moment(lane)
    }

    /// A capture begins on a stream.
    pub(super) fn begin_capture(&self, device: Device, stream: u32) -> StreamStep {
        let mut state = self.state();
        let lane = self.lane(&mut state, device, stream);
        state.orders.step(lane)
    }

    /// A stream that joined the capture which began with a step, and has work that its stream does not wait for.
    pub(super) fn unjoined(&self, begun: StreamStep) -> Option<u32> {
        self.state().orders.unjoined(begun)
    }

    /// The stream waits for a moment.
    pub(super) fn wait(&self, device: Device, stream: u32, moment: &Moment) {
        let mut state = self.state();
        let lane = self.lane(&mut state, device, stream);
        state.orders.wait(lane, moment);
    }

    /// The host has come past a moment.
    pub(super) fn host_waits(&self, moment: &Moment) {
        self.state().orders.host_waits(moment);
    }

    /// The host has waited for a stream, or for all of a device.
    pub(super) fn host_waits_for(&self, device: Device, stream: Option<u32>) {
        self.state().orders.host_waits_for(device, stream);
    }

    /// Whether a pair of lines was not said before.
    pub(super) fn is_new(&self, source: Source, race: &Race) -> bool {
        self.state().said.insert((source, race.earlier, race.kind))
    }

    fn lane(&self, state: &mut RaceState, device: Device, stream: u32) -> usize {
        let lane = state.orders.lane(device, stream);
        if state.orders.has_side_streams && !self.has_side_streams() {
            self.side_streams.store(true, Ordering::Relaxed);
        }
        lane
    }

    fn state(&self) -> MutexGuard<'_, RaceState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl RaceState {
    fn work<'a>(&mut self, lane: usize, who: Who, accesses: impl Iterator<Item = Access<'a>>) -> FoundRaces {
        let mut found = FoundRaces::new();
        let step = self.orders.step(lane);
        for access in accesses {
            let block = self.blocks.entry((access.device, access.buffer.address)).or_default();
            let region = access.bytes();
            let next = Next { lane: Some(lane), writes: access.writes, region: &region };
            if let Some(earlier) = block.conflict(&mut self.orders, &next) {
                let earlier = earlier.clone();
                found.push(told(&self.orders, &earlier, &next, who, &access));
            }
            let (op, source) = (Name::new(who.op), who.source);
            block
                .take(&mut self.orders, Use { step, writes: access.writes, region, op, source, freed: None });
        }
        found
    }

    /// Who still uses freed memory that its stream may use again.
    fn freed(&mut self, freeing: &Freeing, block: UsedBlock) -> Option<(Source, Box<Race>)> {
        let Freeing { device, buffer, owner, recorded, current, shape, source } = freeing;
        let lane = self.orders.lane(*device, *owner);
        let region = Region::whole(buffer.address, buffer.bytes as u64);
        let mut open: Vec<Use> = Vec::new();
        for used in block.uses.iter().filter(|used| used.step.lane != lane && used.freed.is_none()) {
            let (on, stream) = self.orders.stream(used.step.lane);
            let waited = on == *device && recorded.contains(&stream);
            if !waited
                && !block.is_told(used.step.lane, lane)
                && !self.orders.is_before(used.step, Some(lane))
            {
                let freed = Some(Box::new((*source, shape.clone())));
                open.push(Use { region: region.clone(), freed, ..used.clone() });
            }
        }
        let last = open.last()?;
        if owner == current {
            let race = Race {
                kind: FREE,
                op: Name::new("free"),
                by: *device,
                stream: *owner,
                ..race(&self.orders, last, *device, buffer.address, shape.clone())
            };
            return Some((*source, Box::new(race)));
        }
        if self.freed.len() >= FREED_KEPT {
            self.freed.remove(0);
        }
        self.freed.push(Freed { device: *device, region, uses: open });
        None
    }
}

const FREE: Name = Name::new("free after use");

/// The race of a use with an earlier one.
fn told(orders: &Orders, earlier: &Use, next: &Next, who: Who, access: &Access) -> (Source, Box<Race>) {
    let (by, stream) = next.lane.map_or((Device::Cpu, 0), |lane| orders.stream(lane));
    let shape = match access.region {
        AccessRegion::View(view) => Sizes::from_slice(view.layout.shape()),
        AccessRegion::Bytes { shape, .. } => Sizes::from_slice(shape),
    };
    let race = race(orders, earlier, access.device, access.buffer.address, shape);
    if let Some(freed) = &earlier.freed {
        let (source, shape) = &**freed;
        let race = Race { kind: FREE, op: Name::new("free"), by, stream, shape: shape.clone(), ..race };
        return (*source, Box::new(race));
    }
    let kind = match (next.writes, earlier.writes) {
        (false, _) => "read after write",
        (true, false) => "write after read",
        (true, true) => "write after write",
    };
    let race = Race { kind: Name::new(kind), op: Name::new(who.op), by, stream, ..race };
    (who.source, Box::new(race))
}

fn race(orders: &Orders, earlier: &Use, device: Device, address: u64, shape: Sizes) -> Race {
    let (earlier_by, earlier_stream) = orders.stream(earlier.step.lane);
    Race {
        device,
        address,
        shape,
        kind: FREE,
        op: earlier.op,
        by: device,
        stream: 0,
        earlier: earlier.source,
        earlier_op: earlier.op,
        earlier_by,
        earlier_stream,
    }
}

impl Access<'_> {
    #[inline]
    fn bytes(&self) -> Region {
        match self.region {
            AccessRegion::View(view) => Region::of(view),
            AccessRegion::Bytes { offset, bytes, .. } => {
                Region::whole(self.buffer.address + offset as u64, bytes as u64)
            }
        }
    }
}
