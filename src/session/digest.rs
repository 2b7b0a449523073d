//! What events add up to that a session could not send one by one: a front end that adds it has exact totals, although
//! its log has a hole.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::base::Device;
use crate::base::address::{AddressMap, AddressSet};
use crate::base::event::{Body, Clock, Event, Name, Source, Span};

/// Places kept of a device where the host waited unasked.
pub(crate) const WAITS_KEPT: usize = 64;
/// Copies of a stretch that are kept one by one.
const COPIES_KEPT: usize = 8;
/// Tensors kept that a stretch made and that are still held.
const LASTING_KEPT: usize = 1 << 16;

/// A stretch of the stream of events, summed up.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Digest {
    /// Events that it stands for.
    pub events: u64,
    /// What was done, and what the devices held.
    pub deeds: Deeds,
    /// What a lesson did by itself; what it holds is with all else.
    #[serde(default, skip_serializing_if = "Deeds::is_empty")]
    pub lesson: Deeds,
    /// Tensors that were there before and were freed: device and address. They come before `lasting`.
    pub freed: Vec<(Device, u64)>,
    /// In order: tensors that were made and are still held, segments that the allocator took or gave back, races.
    pub lasting: Vec<Event>,
    /// Tensors that were made and are still held, beyond those in `lasting`.
    pub untracked: u64,
    /// The newest copies of those that it sums up, in order: a log of copies has some of every busy stretch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub newest_copies: Vec<Event>,
}

/// What somebody did in a stretch.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Deeds {
    pub devices: Vec<DeviceDigest>,
    /// Copies by direction: from, to, count, bytes.
    pub copies: Vec<(Device, Device, u64, u64)>,
    /// When the lanes of the timeline were busy.
    pub gaps: Vec<Gap>,
}

/// What a device did in a stretch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceDigest {
    pub device: Device,
    pub launches: u64,
    pub syncs: u64,
    pub implicit_syncs: u64,
    /// What made the host wait unasked, last.
    pub last_implicit: Option<(String, Source)>,
    /// All that did, by place and cause: how often.
    pub waits: Vec<(Source, String, u64)>,
    pub out_of_memory: u64,
    /// Bytes asked for when memory ran out, last.
    pub last_refused: u64,
    /// Allocated bytes at its end, where they changed.
    pub allocated: Option<u64>,
    /// Reserved bytes, likewise.
    pub reserved: Option<u64>,
    /// The most bytes allocated at once, since the peak was reset where it was.
    pub peak: u64,
    pub peak_reset: bool,
    /// Bytes that were allocated when it was; those from before the stretch where nothing is said.
    pub reset_at: Option<u64>,
}

/// A stretch of a lane in which things ran that are not known one by one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// The device whose stream it is; the CPU for a thread of the host.
    pub device: Device,
    pub stream: u32,
    pub span: Span,
    pub events: u64,
}

impl DeviceDigest {
    /// Of a device to which nothing happened.
    pub fn new(device: Device) -> DeviceDigest {
        DeviceSums::default().told(device)
    }
}

/// More than any session can count; sums of it still fit.
const MOST: u64 = 1 << 48;

impl Digest {
    /// Counts that no session can reach are cut, so that sums of them fit.
    pub(crate) fn bounded(mut self) -> Digest {
        [&mut self.events, &mut self.untracked].into_iter().for_each(|n| *n = (*n).min(MOST));
        self.deeds.bound();
        self.lesson.bound();
        self
    }
}

impl Deeds {
    fn is_empty(&self) -> bool {
        self.devices.is_empty() && self.copies.is_empty() && self.gaps.is_empty()
    }

    fn bound(&mut self) {
        let copies = self.copies.iter_mut().map(|(_, _, count, _)| count);
        let waits_of = |d: &mut DeviceDigest| d.waits.iter_mut().for_each(|(_, _, n)| *n = (*n).min(MOST));
        self.devices.iter_mut().for_each(waits_of);
        let sums = self.devices.iter_mut();
        let sums =
            sums.flat_map(|d| [&mut d.launches, &mut d.syncs, &mut d.implicit_syncs, &mut d.out_of_memory]);
        let gaps = self.gaps.iter_mut().map(|gap| &mut gap.events);
        copies.chain(sums).chain(gaps).for_each(|n| *n = (*n).min(MOST));
    }
}

/// Sums events up. What comes and goes within a stretch leaves nothing behind, so that it holds no more than there was
/// at its beginning and is at its end, however long nobody takes it.
pub(crate) struct Digester {
    events: u64,
    deeds: DeedSums,
    /// What a lesson did by itself.
    lesson: DeedSums,
    freed: Vec<(Device, u64)>,
    lasting: Lasting,
    /// Where tensors are among them, by device and address, and segments that were taken.
    made: AddressMap<(Device, u64), usize>,
    mapped: AddressMap<(Device, u64), usize>,
    /// Tensors that were made and are still held, beyond those that are kept.
    beyond: AddressSet,
    newest_copies: VecDeque<Event>,
    /// Tensors that are kept.
    most: usize,
}

impl Default for Digester {
    fn default() -> Digester {
        Digester::keeping(LASTING_KEPT)
    }
}

/// Events that have left something behind, in places that are used again: most come and go.
#[derive(Default)]
struct Lasting {
    events: Vec<Option<Event>>,
    free: Vec<usize>,
}

#[derive(Default)]
struct DeedSums {
    devices: BTreeMap<Device, DeviceSums>,
    copies: BTreeMap<(Device, Device), (u64, u64)>,
    gaps: BTreeMap<(Device, u32, bool), Gap>,
}

#[derive(Default)]
struct DeviceSums {
    launches: u64,
    syncs: u64,
    implicit_syncs: u64,
    last_implicit: Option<(Name, Source)>,
    waits: BTreeMap<(u32, u32, Name), u64>,
    out_of_memory: u64,
    last_refused: u64,
    allocated: Option<u64>,
    reserved: Option<u64>,
    peak: u64,
    peak_reset: bool,
    reset_at: Option<u64>,
}

impl Digester {
    /// Keeps so many tensors one by one.
    fn keeping(most: usize) -> Digester {
        Digester {
            events: 0,
            deeds: DeedSums::default(),
            lesson: DeedSums::default(),
            freed: Vec::new(),
            lasting: Lasting::default(),
            made: AddressMap::default(),
            mapped: AddressMap::default(),
            beyond: AddressSet::default(),
            newest_copies: VecDeque::new(),
            most,
        }
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self, event: &Event) {
        self.events += 1;
        let own = !event.source.is_hidden();
        if let Body::Copy { .. } = &event.body {
            if self.newest_copies.len() == COPIES_KEPT {
                self.newest_copies.pop_front();
            }
            self.newest_copies.push_back(event.clone());
        }
        match &event.body {
            Body::Alloc { device, address, allocated, reserved, .. } => {
                self.memory(*device, *allocated, *reserved, own);
                if self.made.len() < self.most {
                    self.made.insert((*device, *address), self.lasting.put(event));
                } else {
                    self.beyond.insert((*device, *address));
                }
            }
            Body::Free { device, address, allocated, reserved, .. } => {
                self.memory(*device, *allocated, *reserved, own);
                let key = (*device, *address);
                if let Some(made) = self.made.remove(&key) {
                    self.lasting.drop(made);
                } else if !self.beyond.remove(&key) {
                    self.freed.push(key);
                }
            }
            Body::Segment { device, address, mapped, reserved, .. } => {
                self.deeds.sums(*device).reserved = Some(*reserved);
                let key = (*device, *address);
                match self.mapped.remove(&key).filter(|_| !*mapped) {
                    Some(taken) => self.lasting.drop(taken),
                    None => {
                        let at = self.lasting.put(event);
                        if *mapped {
                            self.mapped.insert(key, at);
                        }
                    }
                }
            }
            Body::PeakReset { device } => {
                let sums = self.deeds.sums(*device);
                (sums.peak_reset, sums.peak) = (true, 0);
                sums.reset_at = sums.allocated;
            }
            // There are few, and each is worth its line.
            Body::Race { .. } if self.lasting.len() < self.most.saturating_mul(2) => {
                self.lasting.put(event);
            }
            body if own => self.deeds.take(body, event.source),
            body => self.lesson.take(body, event.source),
        }
    }

    /// What was taken since the last time; nothing where no event was.
    pub(crate) fn finish(&mut self) -> Option<Digest> {
        if self.events == 0 {
            return None;
        }
        let all = std::mem::replace(self, Digester::keeping(self.most));
        Some(Digest {
            events: all.events,
            deeds: all.deeds.told(),
            lesson: all.lesson.told(),
            freed: all.freed,
            lasting: all.lasting.in_order(),
            untracked: all.beyond.len() as u64,
            newest_copies: all.newest_copies.into(),
        })
    }

    fn memory(&mut self, device: Device, allocated: u64, reserved: u64, own: bool) {
        let sums = self.deeds.sums(device);
        (sums.allocated, sums.reserved) = (Some(allocated), Some(reserved));
        if own {
            sums.peak = sums.peak.max(allocated);
        }
    }
}

impl Lasting {
    fn len(&self) -> usize {
        self.events.len() - self.free.len()
    }

    /// Where it lies from now on.
    fn put(&mut self, event: &Event) -> usize {
        let at = self.free.pop().unwrap_or(self.events.len());
        match self.events.get_mut(at) {
            Some(place) => *place = Some(event.clone()),
            None => self.events.push(Some(event.clone())),
        }
        at
    }

    fn drop(&mut self, at: usize) {
        if self.events.get_mut(at).and_then(Option::take).is_some() {
            self.free.push(at);
        }
    }

    fn in_order(self) -> Vec<Event> {
        let mut events: Vec<Event> = self.events.into_iter().flatten().collect();
        events.sort_unstable_by_key(|event| event.seq);
        events
    }
}

impl DeedSums {
    /// Takes a copy, a launch, a wait or a refusal.
    fn take(&mut self, body: &Body, source: Source) {
        match body {
            Body::Copy { from, to, bytes, stream, span, .. } => {
                let direction = self.copies.entry((*from, *to)).or_default();
                *direction = (direction.0 + 1, direction.1.saturating_add(*bytes));
                let device = if from.is_cuda() { *from } else { *to };
                self.gap(device, if device.is_cuda() { *stream } else { 0 }, *span);
            }
            Body::Launch { device, stream, span, .. } => {
                self.sums(*device).launches += 1;
                self.gap(*device, *stream, *span);
            }
            Body::Sync { device, implicit, cause, span } => {
                self.sync(*device, implicit.then_some(*cause), source);
                self.gap(Device::Cpu, 0, *span);
            }
            Body::Hold { span, .. } => self.gap(Device::Cpu, 0, *span),
            Body::Collective { devices, stream, span, .. } => {
                devices.iter().for_each(|device| self.gap(*device, *stream, *span));
            }
            Body::OutOfMemory { device, requested, .. } => {
                let sums = self.sums(*device);
                sums.out_of_memory += 1;
                sums.last_refused = *requested;
            }
            _ => {}
        }
    }

    fn told(self) -> Deeds {
        Deeds {
            devices: self.devices.into_iter().map(|(device, sums)| sums.told(device)).collect(),
            copies: self.copies.into_iter().map(|((from, to), (n, bytes))| (from, to, n, bytes)).collect(),
            gaps: self.gaps.into_values().collect(),
        }
    }

    fn sync(&mut self, device: Device, implicit: Option<Name>, source: Source) {
        let sums = self.sums(device);
        let Some(cause) = implicit else {
            sums.syncs += 1;
            return;
        };
        sums.implicit_syncs += 1;
        sums.last_implicit = Some((cause, source));
        let place = (source.cell, source.line, cause);
        if sums.waits.len() < WAITS_KEPT || sums.waits.contains_key(&place) {
            *sums.waits.entry(place).or_default() += 1;
        }
    }

    fn gap(&mut self, device: Device, stream: u32, span: Span) {
        let new = Gap { device, stream, span, events: 0 };
        let gap = self.gaps.entry((device, stream, span.clock == Clock::Measured)).or_insert(new);
        let (start, end) = (gap.span.start.min(span.start), gap.span.end().max(span.end()));
        gap.span = Span { start, nanos: end - start, ..gap.span };
        gap.events += 1;
    }

    fn sums(&mut self, device: Device) -> &mut DeviceSums {
        self.devices.entry(device).or_default()
    }
}

impl DeviceSums {
    fn told(self, device: Device) -> DeviceDigest {
        let waits = self.waits.into_iter();
        DeviceDigest {
            device,
            launches: self.launches,
            syncs: self.syncs,
            implicit_syncs: self.implicit_syncs,
            last_implicit: self.last_implicit.map(|(cause, source)| (cause.to_string(), source)),
            waits: waits
                .map(|((cell, line, cause), n)| (Source::at(cell, line), cause.to_string(), n))
                .collect(),
            out_of_memory: self.out_of_memory,
            last_refused: self.last_refused,
            allocated: self.allocated,
            reserved: self.reserved,
            peak: self.peak,
            peak_reset: self.peak_reset,
            reset_at: self.reset_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use crate::base::DType;

    use super::*;

    const GPU: Device = Device::Cuda(0);

    fn event(seq: u64, body: Body) -> Event {
        Event { seq, source: Source::at(1, 1), body }
    }

    fn alloc(address: u64) -> Body {
        let (dtype, shape, op) = (DType::Float32, vec![1].into(), Name::new("zeros"));
        let (bytes, requested, allocated, reserved) = (512, 4, 512, 2048);
        Body::Alloc { device: GPU, address, bytes, requested, dtype, shape, op, allocated, reserved }
    }

    fn free(address: u64) -> Body {
        Body::Free { device: GPU, address, bytes: 512, allocated: 0, reserved: 2048 }
    }

    fn segment(address: u64, mapped: bool) -> Body {
        Body::Segment { device: GPU, address, bytes: 2048, mapped, reserved: 2048 }
    }

    /// Tensors that a front end counts as live which keeps so many of them one by one.
    #[derive(Default)]
    struct Panel {
        live: HashSet<(Device, u64)>,
        untracked: u64,
    }

    impl Panel {
        fn take(&mut self, digest: &Digest, most: usize) {
            for key in &digest.freed {
                if !self.live.remove(key) {
                    self.untracked = self.untracked.saturating_sub(1);
                }
            }
            for event in &digest.lasting {
                if let Body::Alloc { device, address, .. } = event.body {
                    if self.live.len() < most {
                        self.live.insert((device, address));
                    } else {
                        self.untracked += 1;
                    }
                }
            }
            self.untracked += digest.untracked;
        }
    }

    #[test]
    fn what_comes_and_goes_while_nobody_listens_takes_no_memory() {
        let mut digester = Digester::keeping(2);
        let held = [alloc(1), alloc(2), alloc(3)].into_iter();
        let loops = (0..10_000).flat_map(|n| {
            let address = 1000 * (10 + n);
            [segment(address, true), alloc(address), free(address), segment(address, false)]
        });
        held.chain(loops).enumerate().for_each(|(seq, body)| digester.take(&event(seq as u64, body)));
        let digest = digester.finish().unwrap();
        assert_eq!((digest.events, digest.lasting.len()), (40_003, 2));
        assert_eq!((digest.freed.len(), digest.untracked), (0, 1));
    }

    #[test]
    fn the_newest_copies_of_a_busy_stretch_are_kept_one_by_one() {
        let mut digester = Digester::default();
        let span = Span { start: 0, nanos: 1, clock: Clock::Modelled };
        for seq in 0..1000 {
            let (op, kernel) = (Name::new("add"), Name::new("add"));
            let launch = Body::Launch {
                device: GPU,
                stream: 0,
                op,
                kernel,
                dtype: DType::Float32,
                bytes: 1,
                flops: 1,
                span,
            };
            let (from, to) = (Device::Cpu, GPU);
            let copy = Body::Copy { from, to, bytes: 4, pinned: false, blocking: true, stream: 0, span };
            digester.take(&event(seq, if seq % 50 == 0 { copy } else { launch }));
        }
        let digest = digester.finish().unwrap();
        let kept: Vec<u64> = digest.newest_copies.iter().map(|event| event.seq).collect();
        assert_eq!(kept, [600, 650, 700, 750, 800, 850, 900, 950]);
        assert_eq!(digest.deeds.copies, [(Device::Cpu, GPU, 20, 80)], "the sums have all of them");
        assert!(digester.finish().is_none());
    }

    #[test]
    fn a_segment_that_was_there_and_is_taken_anew_is_told_as_both() {
        let mut digester = Digester::default();
        let steps = [false, true, false, true];
        steps.iter().enumerate().for_each(|(n, mapped)| digester.take(&event(n as u64, segment(7, *mapped))));
        let told: Vec<bool> = digester
            .finish()
            .unwrap()
            .lasting
            .iter()
            .map(|e| matches!(e.body, Body::Segment { mapped: true, .. }))
            .collect();
        assert_eq!(told, [false, true]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn live_tensors_are_counted_right_beyond_what_is_kept(
            steps in prop::collection::vec(0..12u64, 0..200), stretch in 1..40usize, kept in 0..6usize, shown in 0..6usize,
        ) {
            let mut panel = Panel::default();
            let mut digester = Digester::keeping(kept);
            let mut live = HashSet::new();
            for (number, part) in steps.chunks(stretch).enumerate() {
                let before = live.clone();
                for (n, address) in part.iter().enumerate() {
                    let body = if live.insert(*address) { alloc(*address) } else { free(*address) };
                    if matches!(body, Body::Free { .. }) {
                        live.remove(address);
                    }
                    digester.take(&event((number * stretch + n) as u64, body));
                }
                let digest = digester.finish().unwrap();
                prop_assert!(digest.freed.len() <= before.len());
                prop_assert_eq!(digest.untracked + digest.lasting.len() as u64, (live.len() + digest.freed.len() - before.len()) as u64);
                panel.take(&digest, shown);
                prop_assert_eq!(panel.live.len() as u64 + panel.untracked, live.len() as u64);
            }
        }
    }
}
