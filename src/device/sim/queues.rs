//! One device's side of the clock: its streams, its compute and its copy engines.

use std::collections::{BTreeMap, VecDeque};

use super::busy::Busy;
use super::calendar::Calendar;
use super::profile::Profile;

/// What comes before others' queued work is no more than this part of it, 1 / 16.
const SHORT: u64 = 16;

#[derive(Clone, Debug)]
pub(super) struct DeviceClock {
    pub profile: Profile,
    /// Where kernels do their work, one at a time.
    pub compute: Calendar,
    /// Nanoseconds of work that they were given there.
    worked: u64,
    /// When the last kernel that takes all of the device was told to end.
    ran: u64,
    /// When kernels ran, of late.
    pub busy: Busy,
    pub engines: Engines,
    streams: BTreeMap<u32, SimStream>,
}

#[derive(Clone, Debug, Default)]
struct SimStream {
    /// When all that is queued is done.
    free: u64,
    /// When its kernels are done that take all of the device.
    computed: u64,
    /// The ends of the youngest operations, at most `queue_depth` of them.
    ends: VecDeque<u64>,
    /// Ends of all that was queued, and when they came to be instead: marks behind it are reached then.
    moved: BTreeMap<u64, u64>,
}

/// Ends that moved and are remembered.
const MOST_MOVED: usize = 4096;

impl SimStream {
    /// What is queued is done no sooner than at `end`, although nothing was added to it.
    fn put_off(&mut self, end: u64) {
        if end <= self.free {
            return;
        }
        self.moved.insert(self.free, end);
        if self.moved.len() > MOST_MOVED {
            self.moved.pop_first();
        }
        self.free = end;
    }
}

/// The copy engines; what shares one shares its calendar.
#[derive(Clone, Debug, Default)]
pub(super) struct Engines {
    count: u32,
    to_device: Calendar,
    from_device: Calendar,
    to_peer: Calendar,
}

#[derive(Clone, Copy)]
pub(super) enum Lane {
    ToDevice,
    FromDevice,
    ToPeer,
}

impl DeviceClock {
    pub(super) fn new(profile: Profile) -> DeviceClock {
        let engines = Engines { count: profile.device.copy_engines, ..Engines::default() };
        DeviceClock {
            profile,
            streams: BTreeMap::new(),
            compute: Calendar::default(),
            worked: 0,
            ran: 0,
            busy: Busy::default(),
            engines,
        }
    }

    /// When all that is queued on the stream is done.
    pub(super) fn free(&self, stream: u32) -> u64 {
        self.streams.get(&stream).map_or(0, |s| s.free)
    }

    /// When a mark is reached that was put behind all of the stream's work when that was to end at `time`.
    pub(super) fn reached(&self, stream: u32, time: u64) -> u64 {
        let mut reached = time;
        while let Some(later) = self.streams.get(&stream).and_then(|stream| stream.moved.get(&reached)) {
            reached = *later;
        }
        reached
    }

    /// When all that is queued on the device is done.
    pub(super) fn idle(&self) -> u64 {
        self.streams.values().map(|s| s.free).max().unwrap_or(0)
    }

    /// Runs a kernel of the stream that is ready at a time and takes all of the device for `length`. One that is short
    /// beside what others have queued begins when the running kernel ends, and shares the device evenly with them; a
    /// longer one comes after all of theirs. Returns its start and end.
    ///
    /// When what they have queued runs is known already: they are done later by what it has taken, a [`SHORT`]th of it at
    /// most, in which no kernel is told of.
    pub(super) fn share(&mut self, stream: u32, ready: u64, length: u64) -> (u64, u64) {
        let begin = self.compute.room(ready);
        let (start, end) = self.work(ready, length);
        let others = self.streams.values_mut().filter(|other| other.computed > begin);
        let shared = begin.saturating_add(length.saturating_mul(others.count() as u64 + 1));
        let late = end.saturating_sub(self.ran.max(begin));
        let is_short = late.saturating_mul(SHORT) <= self.ran.saturating_sub(begin);
        let (began, ends) = if is_short && shared < end {
            for other in self.streams.values_mut().filter(|other| other.computed > begin) {
                other.computed = other.computed.max(end);
                other.put_off(end);
            }
            (begin, shared)
        } else {
            // While others are paid back what was taken of their time, it runs beside them.
            (ready.max(start.min(self.ran)), end)
        };
        self.ran = self.ran.max(ends);
        self.streams.entry(stream).or_default().computed = ends;
        (began, ends)
    }

    /// Takes `length` of the device's time from `ready` on, for a kernel. Returns when that begins and ends.
    pub(super) fn work(&mut self, ready: u64, length: u64) -> (u64, u64) {
        self.worked = self.worked.saturating_add(length);
        self.compute.take(ready, length)
    }

    /// Nanoseconds of the device's time that its kernels took so far, those that are still to run among them.
    pub(super) fn worked(&self) -> u64 {
        self.worked
    }

    /// Makes room on the stream for one more operation. Returns when there is room.
    pub(crate) fn make_room(&mut self, stream: u32) -> u64 {
        let depth = self.profile.launch.queue_depth as usize;
        let ends = &mut self.streams.entry(stream).or_default().ends;
        let oldest = if ends.len() >= depth { ends.pop_front() } else { None };
        oldest.unwrap_or(0)
    }

    /// Puts an operation that ends at `end` on the stream.
    pub(super) fn queue(&mut self, stream: u32, end: u64) {
        let stream = self.streams.entry(stream).or_default();
        stream.free = stream.free.max(end);
        stream.ends.push_back(end);
    }

    /// The stream is not free before `time`.
    pub(crate) fn advance(&mut self, stream: u32, time: u64) {
        let stream = self.streams.entry(stream).or_default();
        stream.free = stream.free.max(time);
    }
}

impl Engines {
    pub(super) fn lane(&mut self, lane: Lane) -> &mut Calendar {
        match (lane, self.count) {
            (_, 0 | 1) | (Lane::ToDevice, _) => &mut self.to_device,
            (Lane::FromDevice, _) | (Lane::ToPeer, 2) => &mut self.from_device,
            (Lane::ToPeer, _) => &mut self.to_peer,
        }
    }
}
