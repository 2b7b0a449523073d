//! The event stream folded into what the machine panel shows. Nothing here is counted a second time elsewhere.

pub(crate) mod log;
pub(crate) mod order;
pub(crate) mod records;
pub(crate) mod segments;
pub(crate) mod timeline;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::base::Device;
use crate::base::event::{Body, Clock, Event, Name, Source};
use crate::lab::model::history::records::{DeviceTally, Direction, Grad, Live, Ring, Transfer, clean_name};
use crate::lab::model::text;
use crate::session::digest::Digest;
use crate::session::protocol::{DeviceInfo, TensorInfo, Variable};

use log::Log;
use order::{Order, Sort, TensorKey};
use segments::SegmentMap;
use timeline::Timeline;

/// Tensors kept in the table of live ones.
pub(crate) const LIVE_KEPT: usize = 1 << 16;

/// What happened since the session started.
#[derive(Debug, Default)]
pub(crate) struct History {
    devices: BTreeMap<Device, DeviceTally>,
    live: HashMap<TensorKey, Live>,
    order: Order,
    named: HashSet<TensorKey>,
    segments: BTreeMap<Device, SegmentMap>,
    timeline: Timeline,
    transfers: Ring<Transfer>,
    directions: BTreeMap<(Device, Device), Direction>,
    /// The events themselves.
    pub log: Log,
    /// Events that are known by their sums alone.
    pub missed: u64,
    /// Live tensors beyond what the table keeps.
    pub untracked: u64,
    pub events: u64,
}

impl History {
    /// Takes a batch of events.
    pub(crate) fn take(&mut self, events: Vec<Event>) {
        events.iter().for_each(|event| self.fold(event.clone()));
        self.log.take(events);
    }

    /// Takes the sums of events that were too many to be sent.
    pub(crate) fn take_sums(&mut self, digest: Digest) {
        let Digest { events, devices, copies, freed, lasting, untracked, gaps } = digest.bounded();
        self.missed = self.missed.saturating_add(events);
        self.events = self.events.saturating_add(events);
        self.log.miss(events);
        for (device, address) in freed {
            self.map(device, |map| map.give(address));
            self.free(device, address);
        }
        for Event { seq, source, body } in lasting {
            self.hold_or_map(seq, source, body);
        }
        self.untracked = self.untracked.saturating_add(untracked);
        for (from, to, count, bytes) in copies {
            self.directions.entry((from, to)).or_default().add(count, bytes);
        }
        for sums in devices {
            self.tally(sums.device).add(sums);
        }
        gaps.into_iter().for_each(|gap| self.timeline.miss(gap));
    }

    /// Takes one event.
    pub(crate) fn fold(&mut self, event: Event) {
        self.events += 1;
        let Event { seq, source, body } = event;
        // What a lesson does by itself takes memory, and is no work of the learner's.
        let own = !source.is_hidden();
        if own {
            self.timeline.fold(seq, source, &body);
        }
        match body {
            Body::Alloc { device, allocated, reserved, .. } => {
                self.memory(device, allocated, reserved, own);
                self.hold_or_map(seq, source, body);
            }
            Body::Free { device, address, allocated, reserved, .. } => {
                self.memory(device, allocated, reserved, own);
                self.map(device, |map| map.give(address));
                self.free(device, address);
            }
            Body::Segment { device, reserved, .. } => {
                self.tally(device).reserved = reserved;
                self.hold_or_map(seq, source, body);
            }
            Body::PeakReset { device } => {
                let tally = self.tally(device);
                tally.peak = tally.allocated;
            }
            _ if !own => {}
            Body::Copy { from, to, bytes, pinned, blocking, span, .. } => {
                self.directions.entry((from, to)).or_default().add(1, bytes);
                self.transfers.push(Transfer { seq, from, to, bytes, pinned, blocking, span, source });
            }
            Body::Launch { device, .. } => self.tally(device).launches += 1,
            Body::Sync { device, implicit, cause, .. } => {
                let tally = self.tally(device);
                tally.syncs += 1;
                if implicit {
                    let cause = clean_name(cause);
                    tally.implicit_syncs += 1;
                    tally.last_implicit = Some((cause, source));
                    tally.note_wait(source, cause, 1);
                }
            }
            Body::OutOfMemory { device, requested, .. } => {
                let tally = self.tally(device);
                tally.out_of_memory += 1;
                tally.last_refused = requested;
            }
            Body::CellStart { .. } | Body::CellEnd { .. } => {}
        }
    }

    /// Takes the devices as the session gives them.
    pub(crate) fn set_devices(&mut self, devices: &[DeviceInfo]) {
        for info in devices {
            let tally = self.tally(info.device);
            tally.name = text::clean_line(&info.name);
            tally.simulated = info.simulated;
            tally.total = info.total;
            tally.allocated = info.allocated;
            tally.reserved = info.reserved;
            tally.peak = info.peak;
            tally.told_free = info.free.map(|free| (free, info.reserved));
            self.reconcile(info);
            if info.device.is_cuda() {
                self.segments.entry(info.device).or_default().reset(&info.segments);
            }
        }
    }

    /// Takes the scope's variables, and the tensors within them: they name live tensors.
    pub(crate) fn set_variables(&mut self, variables: &[Variable], held: &[(String, TensorInfo)]) {
        let own = variables.iter().filter_map(|v| Some((v.name.as_str(), v.tensor.as_ref()?)));
        let within = held.iter().map(|(name, tensor)| (name.as_str(), tensor));
        let mut names: HashMap<TensorKey, (String, Grad)> = HashMap::new();
        for (name, tensor) in own.chain(within) {
            let key = (tensor.device, tensor.address);
            if !self.live.contains_key(&key) && tensor.bytes > 0 {
                self.hold(unseen(tensor));
            }
            let name = text::clean_line(name);
            let grad = match (tensor.requires_grad, tensor.grad) {
                (_, Some(bytes)) => Grad::There(bytes),
                (true, None) => Grad::Wanted,
                (false, None) => Grad::No,
            };
            let known = names.entry(key).or_insert_with(|| (String::new(), grad));
            known.0 = if known.0.is_empty() { name } else { format!("{}, {name}", known.0) };
            if known.1 == Grad::No {
                known.1 = grad;
            }
        }
        for key in std::mem::take(&mut self.named).into_iter().filter(|key| !names.contains_key(key)) {
            self.call(key, None);
        }
        for (key, name) in names {
            self.named.insert(key);
            self.call(key, Some(name));
        }
    }

    fn call(&mut self, key: TensorKey, name: Option<(String, Grad)>) {
        let Some(live) = self.live.get_mut(&key) else { return };
        let (name, grad) = name.unzip();
        if (&live.name, live.grad) != (&name, grad) {
            self.order.remove(live);
            (live.name, live.grad) = (name, grad);
            self.order.insert(live);
        }
    }

    /// Sorts the table of live tensors anew.
    pub(crate) fn sort(&mut self, sort: Sort) {
        self.order.by(sort, self.live.values());
    }

    pub(crate) fn sorted_by(&self) -> Sort {
        self.order.sort
    }

    pub(crate) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// A device's segments; `None` where none is known.
    pub(crate) fn segments(&self, device: Device) -> Option<&SegmentMap> {
        self.segments.get(&device)
    }

    pub(crate) fn tensor(&self, key: TensorKey) -> Option<&Live> {
        self.live.get(&key)
    }

    /// The live tensors there are in the table.
    pub(crate) fn live_count(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn devices(&self) -> impl Iterator<Item = &DeviceTally> {
        self.devices.values()
    }

    pub(crate) fn transfers(&self) -> &Ring<Transfer> {
        &self.transfers
    }

    /// The transfer of that number, while it is in the log.
    pub(crate) fn transfer(&self, seq: u64) -> Option<&Transfer> {
        self.transfers.newest().find(|transfer| transfer.seq == seq)
    }

    /// Copies by direction: from, to.
    pub(crate) fn directions(&self) -> impl Iterator<Item = (Device, Device, Direction)> {
        self.directions.iter().map(|(&(from, to), &direction)| (from, to, direction))
    }

    /// `n` live tensors from number `from` on, in the order of the table.
    pub(crate) fn live(&self, from: usize, n: usize) -> Vec<&Live> {
        self.order.keys().skip(from).take(n).filter_map(|key| self.live.get(&key)).collect()
    }

    /// True where every transfer in the log was timed by this clock.
    pub(crate) fn all_timed_by(&self, clock: Clock) -> bool {
        self.transfers.newest().all(|t| t.span.clock == clock)
    }

    /// True where some device's clock is a virtual one.
    pub(crate) fn any_simulated(&self) -> bool {
        self.devices.values().any(|d| d.simulated)
    }

    fn hold(&mut self, live: Live) {
        let (device, address, bytes) = (live.device, live.address, live.bytes);
        self.release(device, address);
        if self.live.len() >= LIVE_KEPT {
            self.untracked += 1;
            return;
        }
        self.order.insert(&live);
        self.live.insert((device, address), live);
        let tally = self.tally(device);
        tally.tensors += 1;
        tally.tensor_bytes = tally.tensor_bytes.saturating_add(bytes);
    }

    /// Takes a tensor out of the table; false where it was not in it.
    fn release(&mut self, device: Device, address: u64) -> bool {
        let Some(live) = self.live.remove(&(device, address)) else { return false };
        self.order.remove(&live);
        let tally = self.tally(device);
        tally.tensors = tally.tensors.saturating_sub(1);
        tally.tensor_bytes = tally.tensor_bytes.saturating_sub(live.bytes);
        true
    }

    /// Changes an accelerator's map of segments.
    fn map(&mut self, device: Device, change: impl FnOnce(&mut SegmentMap)) {
        if device.is_cuda() {
            change(self.segments.entry(device).or_default());
        }
    }

    fn memory(&mut self, device: Device, allocated: u64, reserved: u64, own: bool) {
        let tally = self.tally(device);
        tally.allocated = allocated;
        tally.reserved = reserved;
        if own {
            tally.peak = tally.peak.max(allocated);
        }
    }

    /// Takes what an event changes that lasts: a tensor that is held, a segment of the allocator's.
    fn hold_or_map(&mut self, seq: u64, source: Source, body: Body) {
        match body {
            Body::Alloc { device, address, bytes, requested, dtype, shape, op, .. } => {
                self.map(device, |map| map.take(address, bytes));
                let (op, bytes, shape) = (clean_name(op), requested, shape.to_vec());
                let (name, grad) = (None, None);
                self.hold(Live { device, address, bytes, dtype, shape, op, source, name, grad, seq });
            }
            Body::Segment { device, address, bytes, mapped, .. } => {
                self.map(device, |map| if mapped { map.map(address, bytes) } else { map.unmap(address) });
            }
            _ => {}
        }
    }

    fn free(&mut self, device: Device, address: u64) {
        if !self.release(device, address) {
            self.untracked = self.untracked.saturating_sub(1);
        }
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
            waits: BTreeMap::new(),
            told_free: None,
            out_of_memory: 0,
            last_refused: 0,
            tensors: 0,
            tensor_bytes: 0,
        })
    }
}

/// A tensor whose making was missed.
fn unseen(tensor: &TensorInfo) -> Live {
    Live {
        device: tensor.device,
        address: tensor.address,
        bytes: tensor.bytes,
        dtype: tensor.dtype,
        shape: tensor.shape.clone(),
        op: Name::new(""),
        source: Source::default(),
        name: None,
        grad: None,
        seq: 0,
    }
}

#[cfg(test)]
mod tests;
