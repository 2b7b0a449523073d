//! The event stream folded into what the machine panel shows. Nothing here is counted a second time elsewhere.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::base::event::{Body, Clock, Event, Name, Source, Span};
use crate::base::{DType, Device};
use crate::session::protocol::{DeviceInfo, Variable};

use super::text;

/// Transfers kept in the log.
pub const TRANSFERS_KEPT: usize = 1000;
/// Tensors kept in the table of live ones.
pub const LIVE_KEPT: usize = 1 << 16;

/// What happened since the session started.
#[derive(Debug, Default)]
pub struct History {
    devices: BTreeMap<Device, DeviceTally>,
    live: HashMap<(Device, u64), Live>,
    transfers: Ring<Transfer>,
    directions: BTreeMap<(Device, Device), Direction>,
    /// Events that the session could not send.
    pub missed: u64,
    /// Live tensors beyond what the table keeps.
    pub untracked: u64,
    pub events: u64,
}

/// One device, as it is now.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceTally {
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
    pub out_of_memory: u64,
    /// Bytes asked for when memory ran out, last.
    pub last_refused: u64,
    /// Live tensors in the table, and their bytes.
    pub tensors: usize,
    pub tensor_bytes: u64,
}

/// A tensor's storage that is held now.
#[derive(Clone, PartialEq, Debug)]
pub struct Live {
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
    seq: u64,
}

/// A copy between memories.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    pub from: Device,
    pub to: Device,
    pub bytes: u64,
    pub pinned: bool,
    pub blocking: bool,
    pub span: Span,
    pub source: Source,
}

/// All copies one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Direction {
    pub count: u64,
    pub bytes: u64,
}

/// The last values of a stream, and how many earlier ones were dropped.
#[derive(Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
    pub dropped: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { items: VecDeque::new(), dropped: 0 }
    }
}

impl<T> Ring<T> {
    fn push(&mut self, item: T) {
        if self.items.len() >= TRANSFERS_KEPT {
            self.items.pop_front();
            self.dropped += 1;
        }
        self.items.push_back(item);
    }

    /// From the newest to the oldest.
    pub fn newest(&self) -> impl Iterator<Item = &T> {
        self.items.iter().rev()
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl History {
    /// Takes one event.
    pub fn fold(&mut self, event: Event) {
        self.events += 1;
        let Event { seq, source, body } = event;
        match body {
            Body::Alloc { device, address, requested, dtype, shape, op, allocated, reserved, .. } => {
                self.memory(device, allocated, reserved);
                let op = clean_name(op);
                let bytes = requested;
                let shape = shape.to_vec();
                let live = Live { device, address, bytes, dtype, shape, op, source, name: None, seq };
                self.hold(live);
            }
            Body::Free { device, address, allocated, reserved, .. } => {
                self.memory(device, allocated, reserved);
                if !self.release(device, address) {
                    self.untracked = self.untracked.saturating_sub(1);
                }
            }
            Body::Segment { device, reserved, .. } => self.tally(device).reserved = reserved,
            Body::Copy { from, to, bytes, pinned, blocking, span, .. } => {
                let direction = self.directions.entry((from, to)).or_default();
                direction.count += 1;
                direction.bytes = direction.bytes.saturating_add(bytes);
                self.transfers.push(Transfer { from, to, bytes, pinned, blocking, span, source });
            }
            Body::Launch { device, .. } => self.tally(device).launches += 1,
            Body::Sync { device, implicit, cause, .. } => {
                let tally = self.tally(device);
                tally.syncs += 1;
                if implicit {
                    tally.implicit_syncs += 1;
                    tally.last_implicit = Some((clean_name(cause), source));
                }
            }
            Body::OutOfMemory { device, requested, .. } => {
                let tally = self.tally(device);
                tally.out_of_memory += 1;
                tally.last_refused = requested;
            }
            Body::PeakReset { device } => {
                let tally = self.tally(device);
                tally.peak = tally.allocated;
            }
            Body::CellStart { .. } | Body::CellEnd { .. } => {}
        }
    }

    /// Takes the devices as the session gives them.
    pub fn set_devices(&mut self, devices: &[DeviceInfo]) {
        for info in devices {
            let tally = self.tally(info.device);
            tally.name = text::clean_line(&info.name);
            tally.simulated = info.simulated;
            tally.total = info.total;
            tally.allocated = info.allocated;
            tally.reserved = info.reserved;
            tally.peak = info.peak;
            self.reconcile(info);
        }
    }

    /// Takes the scope's variables, which name live tensors.
    pub fn set_variables(&mut self, variables: &[Variable]) {
        for live in self.live.values_mut() {
            live.name = None;
        }
        for variable in variables {
            let Some(tensor) = &variable.tensor else { continue };
            let key = (tensor.device, tensor.address);
            if !self.live.contains_key(&key) && tensor.bytes > 0 {
                self.hold(Live {
                    device: tensor.device,
                    address: tensor.address,
                    bytes: tensor.bytes,
                    dtype: tensor.dtype,
                    shape: tensor.shape.clone(),
                    op: Name::new(""),
                    source: Source::default(),
                    name: None,
                    seq: 0,
                });
            }
            if let Some(live) = self.live.get_mut(&key) {
                let name = text::clean_line(&variable.name);
                live.name = Some(live.name.take().map_or(name.clone(), |all| format!("{all}, {name}")));
            }
        }
    }

    pub fn devices(&self) -> impl Iterator<Item = &DeviceTally> {
        self.devices.values()
    }

    pub fn transfers(&self) -> &Ring<Transfer> {
        &self.transfers
    }

    /// Copies by direction: from, to.
    pub fn directions(&self) -> impl Iterator<Item = (Device, Device, Direction)> {
        self.directions.iter().map(|(&(from, to), &direction)| (from, to, direction))
    }

    /// The first `n` live tensors by device, named ones first, then by size.
    pub fn live(&self, n: usize) -> Vec<&Live> {
        let mut all: Vec<&Live> = self.live.values().collect();
        let order =
            |live: &&Live| (live.device, live.name.is_none(), u64::MAX - live.bytes, live.seq, live.address);
        if n < all.len() {
            all.select_nth_unstable_by_key(n, order);
            all.truncate(n);
        }
        all.sort_unstable_by_key(order);
        all
    }

    /// True where every transfer in the log was timed by this clock.
    pub fn all_timed_by(&self, clock: Clock) -> bool {
        self.transfers.newest().all(|t| t.span.clock == clock)
    }

    /// True where some device's clock is a virtual one.
    pub fn any_simulated(&self) -> bool {
        self.devices.values().any(|d| d.simulated)
    }

    fn hold(&mut self, live: Live) {
        let (device, address, bytes) = (live.device, live.address, live.bytes);
        self.release(device, address);
        if self.live.len() >= LIVE_KEPT {
            self.untracked += 1;
            return;
        }
        self.live.insert((device, address), live);
        let tally = self.tally(device);
        tally.tensors += 1;
        tally.tensor_bytes = tally.tensor_bytes.saturating_add(bytes);
    }

    /// Takes a tensor out of the table; false where it was not in it.
    fn release(&mut self, device: Device, address: u64) -> bool {
        let Some(live) = self.live.remove(&(device, address)) else { return false };
        let tally = self.tally(device);
        tally.tensors = tally.tensors.saturating_sub(1);
        tally.tensor_bytes = tally.tensor_bytes.saturating_sub(live.bytes);
        true
    }

    fn memory(&mut self, device: Device, allocated: u64, reserved: u64) {
        let tally = self.tally(device);
        tally.allocated = allocated;
        tally.reserved = reserved;
        tally.peak = tally.peak.max(allocated);
    }

    /// Forgets tensors that no block of the device holds: their frees were missed.
    fn reconcile(&mut self, info: &DeviceInfo) {
        let told = info.device.is_cuda() && (info.allocated == 0 || !info.segments.is_empty());
        if self.missed == 0 || !told {
            return;
        }
        let blocks = info.segments.iter().flat_map(|segment| {
            let held = segment.blocks.iter().filter(|(.., held)| *held);
            held.map(|(offset, ..)| segment.address.saturating_add(*offset))
        });
        let held: HashSet<u64> = blocks.collect();
        let gone = |(device, address): &&(Device, u64)| *device == info.device && !held.contains(address);
        let gone: Vec<u64> = self.live.keys().filter(gone).map(|(_, address)| *address).collect();
        for address in gone {
            self.release(info.device, address);
        }
    }

    fn tally(&mut self, device: Device) -> &mut DeviceTally {
        self.devices.entry(device).or_insert_with(|| DeviceTally {
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
            out_of_memory: 0,
            last_refused: 0,
            tensors: 0,
            tensor_bytes: 0,
        })
    }
}

fn clean_name(name: Name) -> Name {
    if name.chars().all(text::printable) { name } else { Name::read(&text::clean_line(&name)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::protocol::{SegmentInfo, TensorInfo};

    const GPU: Device = Device::Cuda(0);

    fn alloc(seq: u64, address: u64, allocated: u64) -> Event {
        Event {
            seq,
            source: Source { cell: 1, line: 2 },
            body: Body::Alloc {
                device: GPU,
                address,
                bytes: 512,
                requested: 400,
                dtype: DType::Float32,
                shape: vec![100].into(),
                op: Name::new("rand"),
                allocated,
                reserved: 2 << 20,
            },
        }
    }

    fn free(seq: u64, address: u64, allocated: u64) -> Event {
        let body = Body::Free { device: GPU, address, bytes: 512, allocated, reserved: 2 << 20 };
        Event { seq, source: Source::default(), body }
    }

    fn variable(name: &str, address: u64) -> Variable {
        Variable {
            name: name.into(),
            type_name: "Tensor".into(),
            summary: String::new(),
            tensor: Some(TensorInfo {
                shape: vec![100],
                dtype: DType::Float32,
                device: GPU,
                bytes: 400,
                address,
                requires_grad: false,
                is_view: false,
            }),
        }
    }

    fn names(history: &History) -> Vec<Option<String>> {
        history.live(10).iter().map(|live| live.name.clone()).collect()
    }

    #[test]
    fn memory_follows_the_stream_and_the_peak_stays() {
        let mut history = History::default();
        history.fold(alloc(0, 1, 512));
        history.fold(alloc(1, 2, 1024));
        history.fold(free(2, 1, 512));
        let tally = history.devices().next().unwrap().clone();
        assert_eq!((tally.allocated, tally.peak, tally.reserved), (512, 1024, 2 << 20));
        history.fold(Event { seq: 3, source: Source::default(), body: Body::PeakReset { device: GPU } });
        assert_eq!(history.devices().next().unwrap().peak, 512);
        let tally = history.devices().next().unwrap();
        assert_eq!((tally.tensors, tally.tensor_bytes), (1, 400));
    }

    #[test]
    fn a_name_does_not_outlive_its_tensor() {
        let mut history = History::default();
        history.fold(alloc(0, 1, 512));
        history.set_variables(&[variable("x", 1), variable("y", 1)]);
        assert_eq!(names(&history), [Some("x, y".to_owned())]);
        history.fold(free(1, 1, 0));
        history.fold(alloc(2, 1, 512));
        assert_eq!(names(&history), [None]);
    }

    #[test]
    fn missed_frees_are_found_and_missed_tensors_appear() {
        let mut history = History::default();
        history.fold(alloc(0, 1, 512));
        history.fold(alloc(1, 513, 1024));
        history.missed = 5;
        let segments = vec![SegmentInfo {
            address: 1,
            bytes: 2 << 20,
            blocks: vec![(0, 512, false), (512, 512, true), (1024, 512, true)],
        }];
        history.set_devices(&[DeviceInfo {
            device: GPU,
            name: "T4".into(),
            simulated: true,
            clock: Clock::Modelled,
            total: 1 << 30,
            allocated: 1024,
            reserved: 2 << 20,
            peak: 2048,
            segments,
        }]);
        history.set_variables(&[variable("kept", 513), variable("new", 1025)]);
        let mut found = names(&history);
        found.sort();
        assert_eq!(found, [Some("kept".to_owned()), Some("new".to_owned())]);
    }

    #[test]
    fn the_log_is_a_ring_that_counts_what_it_dropped() {
        let mut history = History::default();
        for seq in 0..TRANSFERS_KEPT as u64 + 3 {
            history.fold(Event {
                seq,
                source: Source::default(),
                body: Body::Copy {
                    from: Device::Cpu,
                    to: GPU,
                    bytes: seq,
                    pinned: false,
                    blocking: true,
                    stream: 0,
                    span: Span { start: 0, nanos: 1, clock: Clock::Modelled },
                },
            });
        }
        assert_eq!((history.transfers().len(), history.transfers().dropped), (TRANSFERS_KEPT, 3));
        assert_eq!(history.transfers().newest().next().map(|t| t.bytes), Some(TRANSFERS_KEPT as u64 + 2));
        let all = history.directions().next().unwrap();
        assert_eq!(all.2.count, TRANSFERS_KEPT as u64 + 3);
        assert!(history.all_timed_by(Clock::Modelled) && !history.all_timed_by(Clock::Measured));
    }

    #[test]
    fn only_the_largest_are_sorted_out() {
        let mut history = History::default();
        for i in 0..1000u64 {
            history.fold(alloc(i, i + 1, 512));
        }
        history.set_variables(&[variable("x", 900)]);
        let first = history.live(2);
        assert_eq!(first.len(), 2);
        assert_eq!(first[0].name.as_deref(), Some("x"));
        assert_eq!(first[1].address, 1);
    }
}
