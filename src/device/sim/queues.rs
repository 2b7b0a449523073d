//! One device's side of the clock: its streams, its compute and its copy engines.

use std::collections::{BTreeMap, VecDeque};

use super::busy::Busy;
use super::calendar::Calendar;
use super::profile::Profile;

#[derive(Clone, Debug)]
pub(super) struct DeviceClock {
    pub profile: Profile,
    /// Where kernels do their work, one at a time.
    pub compute: Calendar,
    /// When kernels ran, of late.
    pub busy: Busy,
    pub engines: Engines,
    streams: BTreeMap<u32, SimStream>,
}

#[derive(Clone, Debug, Default)]
struct SimStream {
    /// When all that is queued is done.
    free: u64,
    /// The ends of the youngest operations, at most `queue_depth` of them.
    ends: VecDeque<u64>,
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
            busy: Busy::default(),
            engines,
        }
    }

    /// When all that is queued on the stream is done.
    pub(super) fn free(&self, stream: u32) -> u64 {
        self.streams.get(&stream).map_or(0, |s| s.free)
    }

    /// When all that is queued on the device is done.
    pub(super) fn idle(&self) -> u64 {
        self.streams.values().map(|s| s.free).max().unwrap_or(0)
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
