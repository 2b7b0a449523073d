//! The event stream folded into what the machine panel shows. Nothing here is counted a second time elsewhere.

pub(crate) mod curve;
pub(crate) mod log;
pub(crate) mod order;
pub(crate) mod records;
pub(crate) mod segments;
pub(crate) mod timeline;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::base::Device;
use crate::base::event::{Body, Clock, Event, Name, Source, Span};
use crate::lab::model::history::records::{DeviceTally, Direction, Grad, Live, Ring, Transfer, clean_name};
use crate::lab::model::text;
use crate::session::digest::{self, Digest};
use crate::session::protocol::{DeviceInfo, LAST, TensorInfo, Variable};

use curve::Curve;
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
    curves: BTreeMap<Device, Curve>,
    now: Clocks,
    /// What the learner's code did.
    own: Deeds,
    /// What the lesson did by itself: set-up, checks, answers of predictions.
    lesson: Deeds,
    /// The log and the timeline have what the lesson did.
    pub shows_lesson: bool,
    /// The events themselves.
    pub log: Log,
    /// Events that are known by their sums alone.
    pub missed: u64,
    /// Live tensors beyond what the table keeps.
    pub untracked: u64,
    pub events: u64,
}

/// How far each clock has come, as far as events have told.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    modelled: u64,
    measured: u64,
}

/// Copies, launches and waits, by who did them.
#[derive(Debug, Default)]
struct Deeds {
    timeline: Timeline,
    transfers: Ring<Transfer>,
    directions: BTreeMap<(Device, Device), Direction>,
    /// Counters of the lesson's; the learner's are with the devices.
    counters: BTreeMap<Device, DeviceTally>,
}

impl History {
    /// Takes a batch of events.
    pub(crate) fn take(&mut self, events: Vec<Event>) {
        events.iter().for_each(|event| self.fold(event.clone()));
        self.log.take(events);
    }

    /// Takes the sums of events that were too many to be sent.
    pub(crate) fn take_sums(&mut self, digest: Digest) {
        let Digest { events, deeds, lesson, freed, lasting, untracked, newest_copies } = digest.bounded();
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
        for copy in newest_copies {
            let deeds = if copy.source.is_hidden() { &mut self.lesson } else { &mut self.own };
            Transfer::of(&copy).into_iter().for_each(|transfer| deeds.transfers.push(transfer));
        }
        self.untracked = self.untracked.saturating_add(untracked);
        for sums in &deeds.devices {
            self.tally(sums.device).add(sums);
        }
        self.pass_over(&deeds);
        for sums in &lesson.devices {
            self.lesson.counters.entry(sums.device).or_insert_with(|| DeviceTally::of(sums.device)).add(sums);
        }
        self.own.take_sums(deeds);
        self.lesson.take_sums(lesson);
    }

    /// Takes one event.
    pub(crate) fn fold(&mut self, event: Event) {
        self.events += 1;
        // What a lesson does by itself takes memory, and is no work of the learner's.
        let own = !event.source.is_hidden();
        let deeds = if own { &mut self.own } else { &mut self.lesson };
        Transfer::of(&event).into_iter().for_each(|transfer| deeds.transfers.push(transfer));
        let Event { seq, source, body } = event;
        deeds.timeline.fold(seq, source, &body);
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
            Body::Copy { from, to, bytes, span, .. } => {
                deeds.directions.entry((from, to)).or_default().add(1, bytes);
                self.pass(span);
            }
            Body::Launch { device, span, .. } => {
                self.counters(device, own).launches += 1;
                self.pass(span);
            }
            Body::Sync { device, implicit, cause, span } => {
                self.counters(device, own).wait(implicit, clean_name(cause), source);
                self.pass(span);
            }
            Body::Hold { span, .. } | Body::Collective { span, .. } => self.pass(span),
            Body::Race { .. } => self.hold_or_map(seq, source, body),
            Body::OutOfMemory { device, requested, .. } => {
                let tally = self.counters(device, own);
                tally.out_of_memory += 1;
                tally.last_refused = requested;
            }
            Body::Batch { .. } | Body::CellStart { .. } | Body::CellEnd { .. } => {}
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
        // The session names the newest first. Of several names the one that was made first is the tensor's own; the
        // last value's is none that a learner gave.
        let (last, given): (Vec<_>, Vec<_>) = variables.iter().rev().partition(|v| v.name == LAST);
        let all = given.into_iter().chain(last);
        let own = all.filter_map(|v| Some((v.name.as_str(), v.tensor.as_ref()?)));
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

    /// A cell begins to run under this number.
    pub(crate) fn begin(&mut self, run: u32) {
        self.own.timeline.begin(run);
    }

    /// Looks at what a run of the learner's did, or at the last one's; gives whether that is another one.
    pub(crate) fn look_at(&mut self, run: Option<u32>) -> bool {
        self.own.timeline.look_at(run)
    }

    pub(crate) fn timeline(&self) -> &Timeline {
        &self.shown().timeline
    }

    /// How a device's memory came to be what it is.
    pub(crate) fn curve(&self, device: Device) -> Option<&Curve> {
        self.curves.get(&device).filter(|curve| !curve.is_empty())
    }

    /// Copies that the lesson made by itself.
    pub(crate) fn lesson_copies(&self) -> u64 {
        self.lesson.directions.values().map(|way| way.count).fold(0, u64::saturating_add)
    }

    /// Launches, waits and implicit waits of the lesson's own on a device.
    pub(crate) fn lesson_counters(&self, device: Device) -> Option<&DeviceTally> {
        self.lesson.counters.get(&device)
    }

    /// Whether the lesson did anything by itself that the log or the timeline could show.
    pub(crate) fn has_lesson_work(&self) -> bool {
        !self.lesson.directions.is_empty() || self.lesson.timeline.clocks().next().is_some()
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
        &self.shown().transfers
    }

    /// The transfer of that number, while it is in the log.
    pub(crate) fn transfer(&self, seq: u64) -> Option<&Transfer> {
        self.transfers().newest().find(|transfer| transfer.seq == seq)
    }

    /// Copies by direction: from, to.
    pub(crate) fn directions(&self) -> impl Iterator<Item = (Device, Device, Direction)> {
        self.shown().directions.iter().map(|(&(from, to), &direction)| (from, to, direction))
    }

    /// `n` live tensors from number `from` on, in the order of the table.
    pub(crate) fn live(&self, from: usize, n: usize) -> Vec<&Live> {
        self.order.keys().skip(from).take(n).filter_map(|key| self.live.get(&key)).collect()
    }

    /// True where every transfer in the log was timed by this clock.
    pub(crate) fn all_timed_by(&self, clock: Clock) -> bool {
        self.transfers().newest().all(|t| t.span.clock == clock)
    }

    /// True where some device's clock is a virtual one.
    pub(crate) fn any_simulated(&self) -> bool {
        self.devices.values().any(|d| d.simulated)
    }

    /// Simulated GPUs stand beside this computer itself.
    pub(crate) fn has_measured_host(&self) -> bool {
        self.devices.get(&Device::Cpu).is_some_and(|host| !host.simulated)
    }

    fn shown(&self) -> &Deeds {
        if self.shows_lesson { &self.lesson } else { &self.own }
    }

    /// A device's counters, the learner's or the lesson's.
    fn counters(&mut self, device: Device, own: bool) -> &mut DeviceTally {
        let counters = if own { &mut self.devices } else { &mut self.lesson.counters };
        counters.entry(device).or_insert_with(|| DeviceTally::of(device))
    }

    /// A clock has come to the end of a span.
    fn pass(&mut self, span: Span) {
        let now = match span.clock {
            Clock::Modelled => &mut self.now.modelled,
            Clock::Measured => &mut self.now.measured,
        };
        *now = span.end().max(*now);
    }

    /// The clocks have come to the end of what is known by its sums alone.
    fn pass_over(&mut self, deeds: &digest::Deeds) {
        let before = self.now;
        deeds.gaps.iter().for_each(|gap| self.pass(gap.span));
        for sums in deeds.devices.iter().filter(|sums| sums.device.is_cuda()) {
            let Some(allocated) = sums.allocated else { continue };
            let clock = self.clock(sums.device);
            let (from, to) = (before.of(clock), self.now.of(clock));
            let reserved = self.tally(sums.device).reserved;
            let curve = self.curves.entry(sums.device).or_default();
            curve.miss(from, to, sums.peak.max(allocated), allocated, reserved);
        }
    }

    /// The clock that a device's own times are of.
    pub(crate) fn clock(&self, device: Device) -> Clock {
        let simulated = self.devices.get(&device).is_some_and(|tally| tally.simulated);
        if simulated { Clock::Modelled } else { Clock::Measured }
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
        if device.is_cuda() {
            let now = if tally.simulated { self.now.modelled } else { self.now.measured };
            self.curves.entry(device).or_default().note(now, allocated, reserved);
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
            Body::Race { race } => {
                // The memory may be the host's; the use was a device's.
                let tally = self.counters(race.earlier_by, !source.is_hidden());
                tally.races += 1;
                tally.last_race = Some((race.earlier, source));
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
        self.devices.entry(device).or_insert_with(|| DeviceTally::of(device))
    }
}

impl Clocks {
    fn of(self, clock: Clock) -> u64 {
        match clock {
            Clock::Modelled => self.modelled,
            Clock::Measured => self.measured,
        }
    }
}

impl Deeds {
    fn take_sums(&mut self, sums: digest::Deeds) {
        for (from, to, count, bytes) in sums.copies {
            self.directions.entry((from, to)).or_default().add(count, bytes);
        }
        sums.gaps.into_iter().for_each(|gap| self.timeline.miss(gap));
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
