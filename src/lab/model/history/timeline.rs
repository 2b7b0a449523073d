//! What ran when: the events that have a span, in lanes of the host's threads and the devices' streams.

use std::collections::{BTreeMap, VecDeque};

use crate::base::event::{Body, Clock, Name, Source, Span};
use crate::base::{DType, Device};
use crate::lab::model::history::records::clean_name;
use crate::session::digest::Gap;

/// Events kept of a lane; older ones are dropped and counted.
pub(crate) const MARKS_KEPT: usize = 4096;
/// Stretches kept of a lane whose events are not known one by one; then the oldest are joined.
const GAPS_KEPT: usize = 256;
/// Lanes kept; what happens on further ones is counted only.
const LANES_KEPT: usize = 64;

/// Who was busy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Track {
    /// A thread of the host: 0 is the script's own, `i` a loader's worker `i - 1`.
    Host(u32),
    Stream(Device, u32),
}

/// A lane's place: clocks are never mixed, so each has lanes of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LaneId {
    measured: bool,
    pub track: Track,
}

/// One lane's events, by their start.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    marks: VecDeque<Mark>,
    /// Where it was busy with what is not shown: start and end.
    gaps: VecDeque<(u64, u64)>,
    /// The same of the marks that were dropped.
    older: Option<(u64, u64)>,
    /// Events that are not among the marks: older ones, and those of the gaps.
    pub dropped: u64,
}

/// An event with a span.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Mark {
    pub seq: u64,
    pub span: Span,
    pub what: MarkKind,
    pub source: Source,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum MarkKind {
    Launch {
        op: Name,
        kernel: Name,
        dtype: DType,
        bytes: u64,
        flops: u64,
    },
    Copy {
        from: Device,
        to: Device,
        bytes: u64,
        pinned: bool,
        blocking: bool,
    },
    /// The host waited for a device.
    Wait {
        device: Device,
        cause: Name,
        implicit: bool,
    },
    /// The host was held by a device, without waiting for its work.
    Collective {
        op: Name,
        bytes: u64,
    },
    Hold {
        device: Device,
        cause: Name,
    },
}

/// The first and last moment of what a run did, on one clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub start: u64,
    pub end: u64,
}

/// Runs whose extents are kept.
const RUNS_KEPT: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    lanes: BTreeMap<LaneId, Lane>,
    /// What each run did on the modelled and on the measured clock, by its number.
    runs: BTreeMap<u32, [Option<Extent>; 2]>,
    /// The run that is under way, where that is known: what functions of other cells do in it is its own.
    run: Option<u32>,
    /// The run that is looked at, instead of the last one.
    looked_at: Option<u32>,
    /// Events of lanes that are not kept.
    pub unkept: u64,
}

impl LaneId {
    pub(crate) fn clock(self) -> Clock {
        if self.measured { Clock::Measured } else { Clock::Modelled }
    }
}

impl Lane {
    /// The events that touch `start..end`, or at least lie near it: those that began before are looked for among
    /// the last few only, as a stream runs in order.
    pub(crate) fn between(&self, start: u64, end: u64) -> impl Iterator<Item = &Mark> {
        let first = self.marks.partition_point(|mark| mark.span.start < start);
        let from = first.saturating_sub(4);
        self.marks.range(from..).take_while(move |mark| mark.span.start < end.max(start.saturating_add(1)))
    }

    /// The stretches of `start..end` whose events are not shown.
    pub(crate) fn gaps(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let all = self.older.into_iter().chain(self.gaps.iter().copied());
        all.filter(move |gap| gap.0 < end && gap.1 > start)
    }

    /// Events that are shown.
    pub(crate) fn shown(&self) -> usize {
        self.marks.len()
    }

    pub(crate) fn find(&self, seq: u64) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.seq == seq)
    }

    /// The event after or before another; the last one where that is not there.
    pub(crate) fn beside(&self, seq: Option<u64>, forward: bool) -> Option<&Mark> {
        let at = seq.and_then(|seq| self.marks.iter().position(|mark| mark.seq == seq));
        match at {
            None => self.marks.back(),
            Some(at) if forward => self.marks.get(at + 1),
            Some(at) => self.marks.get(at.checked_sub(1)?),
        }
    }

    pub(crate) fn ends(&self) -> Option<(u64, u64)> {
        let marks = self.marks.front().zip(self.marks.back()).map(|(a, b)| (a.span.start, b.span.end()));
        let gaps = self.gaps.front().zip(self.gaps.back()).map(|(a, b)| (a.0, b.1));
        marks.into_iter().chain(gaps).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Notes a stretch whose events are not known one by one.
    fn miss(&mut self, start: u64, end: u64, events: u64) {
        self.dropped = self.dropped.saturating_add(events);
        match self.gaps.back_mut() {
            Some(last) if start <= last.1 => *last = (last.0.min(start), last.1.max(end)),
            _ => self.gaps.push_back((start, end)),
        }
        if self.gaps.len() > GAPS_KEPT
            && let Some(oldest) = self.gaps.pop_front()
            && let Some(next) = self.gaps.front_mut()
        {
            next.0 = oldest.0;
        }
    }

    fn push(&mut self, mark: Mark) {
        if self.marks.len() >= MARKS_KEPT
            && let Some(Mark { span, .. }) = self.marks.pop_front()
        {
            let older = self.older.unwrap_or((span.start, span.end()));
            self.older = Some((older.0.min(span.start), older.1.max(span.end())));
            self.dropped = self.dropped.saturating_add(1);
        }
        // Events come in the order in which they were told, which is nearly that of their starts.
        let late = self.marks.iter().rev().take(64).take_while(|m| m.span.start > mark.span.start).count();
        if late == 0 {
            self.marks.push_back(mark);
        } else {
            self.marks.insert(self.marks.len().saturating_sub(late), mark);
        }
    }
}

impl Timeline {
    /// Takes a stretch of a lane whose events are not known one by one.
    pub(super) fn miss(&mut self, gap: Gap) {
        let Gap { device, stream, span, events } = gap;
        let track = if device.is_cuda() { Track::Stream(device, stream) } else { Track::Host(stream) };
        let id = LaneId { measured: span.clock == Clock::Measured, track };
        match self.lane_mut(id) {
            Some(lane) => lane.miss(span.start, span.end(), events),
            None => self.unkept = self.unkept.saturating_add(events),
        }
        let last =
            self.runs.values_mut().rev().find_map(|both| both.get_mut(usize::from(id.measured))?.as_mut());
        if let Some(last) = last {
            last.end = last.end.max(span.end());
        }
    }

    /// The lane, if there is room for it.
    fn lane_mut(&mut self, id: LaneId) -> Option<&mut Lane> {
        let room = self.lanes.len() < LANES_KEPT || self.lanes.contains_key(&id);
        room.then(|| self.lanes.entry(id).or_default())
    }

    /// Takes an event, if it has a span.
    pub(crate) fn fold(&mut self, seq: u64, source: Source, body: &Body) {
        if let Body::Collective { op, bytes, devices, stream, span, .. } = body {
            // Each device has its part of it, on a lane of its own.
            for device in devices {
                let track =
                    if device.is_cuda() { Track::Stream(*device, *stream) } else { Track::Host(*stream) };
                let what = MarkKind::Collective { op: clean_name(*op), bytes: *bytes };
                self.put(track, Mark { seq, span: *span, what, source });
            }
            return;
        }
        let (track, span, what) = match *body {
            Body::Launch { device, stream, op, kernel, dtype, bytes, flops, span } => {
                let track =
                    if device.is_cuda() { Track::Stream(device, stream) } else { Track::Host(stream) };
                let (op, kernel) = (clean_name(op), clean_name(kernel));
                (track, span, MarkKind::Launch { op, kernel, dtype, bytes, flops })
            }
            Body::Copy { from, to, bytes, pinned, blocking, stream, span } => {
                // A copy between two accelerators runs on a stream of the one that has the data.
                let device = if from.is_cuda() { from } else { to };
                let track = if device.is_cuda() { Track::Stream(device, stream) } else { Track::Host(0) };
                (track, span, MarkKind::Copy { from, to, bytes, pinned, blocking })
            }
            Body::Sync { device, implicit, cause, span } => {
                (Track::Host(0), span, MarkKind::Wait { device, cause: clean_name(cause), implicit })
            }
            Body::Hold { device, cause, span } => {
                (Track::Host(0), span, MarkKind::Hold { device, cause: clean_name(cause) })
            }
            _ => return,
        };
        self.put(track, Mark { seq, span, what, source });
    }

    fn put(&mut self, track: Track, mark: Mark) {
        let (span, source) = (mark.span, mark.source);
        let lane = LaneId { measured: span.clock == Clock::Measured, track };
        let Some(events) = self.lane_mut(lane) else {
            self.unkept += 1;
            return;
        };
        events.push(mark);
        let both = self.runs.entry(self.run.unwrap_or(source.cell)).or_default();
        if let Some(extent) = both.get_mut(usize::from(lane.measured)) {
            let Extent { start, end } = extent.unwrap_or(Extent { start: span.start, end: span.end() });
            *extent = Some(Extent { start: start.min(span.start), end: end.max(span.end()) });
        }
        if self.runs.len() > RUNS_KEPT {
            self.runs.pop_first();
        }
    }

    /// A cell begins to run under this number.
    pub(super) fn begin(&mut self, run: u32) {
        self.run = Some(run);
    }

    /// Looks at what a run did, or at the last one's; gives whether that is another one.
    pub(super) fn look_at(&mut self, run: Option<u32>) -> bool {
        std::mem::replace(&mut self.looked_at, run) != run
    }

    /// The lanes, those of the modelled clock first, the host's before the streams'.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (LaneId, &Lane)> {
        self.lanes.iter().map(|(id, lane)| (*id, lane))
    }

    pub(crate) fn lane(&self, id: LaneId) -> Option<&Lane> {
        self.lanes.get(&id)
    }

    /// The clocks that something was timed by.
    pub(crate) fn clocks(&self) -> impl Iterator<Item = Clock> {
        let has = |clock: Clock| self.lanes.keys().any(|id| id.clock() == clock);
        [Clock::Modelled, Clock::Measured].into_iter().filter(move |clock| has(*clock))
    }

    /// What the run that is looked at did on this clock, where it did something; else what the last one did.
    pub(crate) fn extent(&self, clock: Clock) -> Option<Extent> {
        self.looked_at
            .and_then(|run| self.extent_of(run, clock))
            .or_else(|| self.runs.keys().rev().find_map(|run| self.extent_of(*run, clock)))
    }

    /// Whether a run did something that is timed.
    pub(crate) fn has(&self, run: u32) -> bool {
        [Clock::Modelled, Clock::Measured].into_iter().any(|clock| self.extent_of(run, clock).is_some())
    }

    fn extent_of(&self, run: u32, clock: Clock) -> Option<Extent> {
        self.runs.get(&run)?.get(usize::from(clock == Clock::Measured)).copied().flatten()
    }

    /// From the first event that is kept to the end of the last, on this clock.
    pub(crate) fn whole(&self, clock: Clock) -> Option<(u64, u64)> {
        let ends =
            self.lanes.iter().filter(|(id, _)| id.clock() == clock).filter_map(|(_, lane)| lane.ends());
        ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The event of that number, and its lane.
    pub(crate) fn find(&self, seq: u64) -> Option<(LaneId, &Mark)> {
        self.lanes.iter().find_map(|(id, lane)| Some((*id, lane.find(seq)?)))
    }

    /// Events that are shown.
    pub(crate) fn shown(&self) -> u64 {
        self.lanes.values().map(|lane| lane.shown() as u64).sum()
    }

    /// Events that are not: older ones, and those known by their sums alone.
    pub(crate) fn dropped(&self) -> u64 {
        self.lanes.values().map(|lane| lane.dropped).fold(self.unkept, u64::saturating_add)
    }
}
