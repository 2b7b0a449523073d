//! The virtual clock of one simulated machine: the same calls give the same times on every computer.
//!
//! All times are modelled nanoseconds since the clock's start, and saturate at `u64::MAX`.
//!
//! What is followed, of CUDA and of PyTorch on it:
//!
//! - The host's own work takes time as well: kernels on its cores, steps of the script, sleep. A loader's workers have
//!   times of their own and compete for the cores.
//! - A launch is queued: it costs the host its enqueueing and starts when the host has enqueued it and its
//!   stream is free. A stream runs in order. A stream that holds `queue_depth` operations makes the host wait
//!   for the oldest.
//! - Streams other than 0 do not wait for stream 0, nor it for them: PyTorch makes its streams non-blocking.
//! - Kernels of different streams overlap in their latency, not in their work: one large kernel fills a
//!   device, so two take as long side by side as one after the other, in the order of their launches. One that is short
//!   beside what others have queued starts when the running kernel leaves room, at the latest at its end, and not behind
//!   all that: it shares the device with them evenly, and they are done as much later as it has taken of their time. One
//!   that is mostly latency does not fill the device, and runs at its own speed.
//! - A copy between host and device runs on a copy engine, beside the kernels of other streams. With one
//!   engine both directions share it, with two each has its own, with three or more copies to peers have one
//!   as well.
//! - From pinned memory and with `non_blocking`, the host goes on at once. From pageable memory the driver
//!   waits for the stream and copies through its own buffers while the host waits, `non_blocking` or not. A
//!   pinned copy without `non_blocking` makes the host wait because PyTorch then synchronises the stream.
//! - Where the host says what the driver's buffers take (`link.staged`), a pageable `non_blocking` copy to the device
//!   up to that size holds the host only until it is in them.
//! - A copy within a device is a kernel, and does not hold the host.
//! - A copy to another device runs on the source's current stream; that waits for the destination's before,
//!   and the destination's waits for it after. Without peer access it passes through the host and takes an
//!   engine at each end.
//! - Giving memory back to the device (`cudaFree`) waits for all of the device's work.
//! - Every call costs the host something, so a loop that polls an event ends.

use std::collections::BTreeMap;
use std::fmt;

pub use crate::device::host_time::HostThread;

use super::cores::{Cores, cpu_kernel};
use super::cost::{self, Bound, Direction, KernelCost, Transfer, Work};
use super::host::HostProfile;
use super::profile::Profile;
use super::queues::{DeviceClock, Lane};

/// A stream of a device. Stream 0 is the default one; others come into being when they are named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId {
    pub device: usize,
    pub stream: u32,
}

/// When something ran on its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    pub start: u64,
    pub end: u64,
}

/// When a copy ran, and what it did to the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySpan {
    pub start: u64,
    pub end: u64,
    /// Nanoseconds the host waited, beyond the cost of the call.
    pub host_waited: u64,
    /// The host was held until the copy's end.
    pub blocking: bool,
}

/// A recorded event: it completes when its stream gets there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    pub at: StreamId,
    pub time: u64,
}

/// A call that the machine can't follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockError {
    NoDevice {
        device: usize,
        count: usize,
    },
    NoThread {
        thread: HostThread,
    },
    /// A thread can't wait for itself, and nobody can wait for the main thread.
    CannotJoin {
        thread: HostThread,
    },
    /// The events are on different devices.
    DifferentDevices {
        start: usize,
        end: usize,
    },
    /// An event has not been reached yet, at the host's present time.
    NotReached {
        ready_in: u64,
    },
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockError::NoDevice { device, count } => {
                write!(f, "there is no simulated device {device}: the machine has {count}")
            }
            ClockError::NoThread { thread } => write!(f, "there is no host thread {}", thread.0),
            ClockError::CannotJoin { thread } => write!(f, "host thread {} can't be waited for", thread.0),
            ClockError::DifferentDevices { start, end } => {
                write!(f, "the events are on different devices, {start} and {end}")
            }
            ClockError::NotReached { ready_in } => write!(
                f,
                "both events must be completed before the time between them is known; \
                 synchronize first ({ready_in} ns modelled remain)"
            ),
        }
    }
}

impl std::error::Error for ClockError {}

/// A machine's virtual time: the host's threads, and each device's streams, compute and copy engines.
#[derive(Clone, Debug)]
pub struct Clock {
    devices: Vec<DeviceClock>,
    host: HostProfile,
    cores: Cores,
    /// The running thread and its time.
    running: HostThread,
    now: u64,
    /// The times of the other threads.
    parked: BTreeMap<HostThread, u64>,
    next_thread: u32,
    /// A captured graph is being queued: its launch has been paid for.
    in_graph: bool,
    /// The latest hold of the host that no call tells of.
    held: Option<Held>,
    /// Page-locked memory that was given back, by its bytes.
    unpinned: BTreeMap<u64, u32>,
}

/// A hold of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub device: usize,
    pub cause: &'static str,
    pub start: u64,
    pub end: u64,
}

impl Clock {
    /// A machine with one device per profile beside a host, at time 0.
    pub fn new(profiles: Vec<Profile>, host: HostProfile) -> Clock {
        Clock {
            devices: profiles.into_iter().map(DeviceClock::new).collect(),
            cores: Cores::new(host.cpu.cores),
            host,
            running: HostThread::MAIN,
            now: 0,
            parked: BTreeMap::new(),
            next_thread: 1,
            in_graph: false,
            held: None,
            unpinned: BTreeMap::new(),
        }
    }

    /// How many GPUs there are.
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// The figures of a GPU.
    pub fn profile(&self, device: usize) -> Result<&Profile, ClockError> {
        self.device(device).map(|d| &d.profile)
    }

    /// The running host thread's time.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The part, from 0 to 1, of the last second in which the device ran a kernel; of all time where that is less.
    pub(super) fn utilisation(&self, device: usize) -> Result<f64, ClockError> {
        Ok(self.device(device)?.busy.share(self.now))
    }

    /// Nanoseconds of the device's time that its kernels took so far, those that are still to run among them.
    pub(super) fn worked(&self, device: usize) -> u64 {
        self.device(device).map_or(0, DeviceClock::worked)
    }

    /// Back to time 0: nothing queued, the main thread running, all marks and threads void.
    pub fn reset(&mut self) {
        let profiles = std::mem::take(&mut self.devices).into_iter().map(|d| d.profile).collect();
        *self = Clock::new(profiles, self.host.clone());
    }

    /// The figures of the host.
    pub fn host(&self) -> &HostProfile {
        &self.host
    }

    /// The host works for `nanos` on one of its cores.
    pub(crate) fn host_work(&mut self, nanos: u64) {
        self.now = self.cores.work(self.now, nanos);
    }

    /// The host does nothing for `nanos`.
    pub(crate) fn sleep(&mut self, nanos: u64) {
        self.now = self.now.saturating_add(nanos);
    }

    /// The host runs a kernel on its cores.
    pub(crate) fn host_kernel(&mut self, work: &Work) -> Span {
        let (start, end) = self.cores.kernel(self.now, |cores| cpu_kernel(&self.host, work, cores));
        self.now = end;
        Span { start, end }
    }

    /// So many workers more, or fewer, compete for the cores from now on.
    pub(super) fn crowd(&mut self, workers: i32) {
        self.cores.crowd(workers);
    }

    /// A worker takes a core for `nanos` from `earliest` on.
    pub(super) fn worker_takes(&mut self, earliest: u64, nanos: u64) -> Span {
        let (start, end) = self.cores.book(earliest, nanos);
        Span { start, end }
    }

    /// Queues a kernel. Returns when it runs.
    pub fn launch(&mut self, at: StreamId, work: &Work) -> Result<Span, ClockError> {
        let cost = cost::kernel(&self.device(at.device)?.profile, work);
        self.run(at, cost)
    }

    /// Queues what `work` queues as one operation of the stream: the host pays for one launch, and the parts run
    /// without waiting for it.
    pub fn graph<T>(
        &mut self,
        at: StreamId,
        work: impl FnOnce(&mut Clock) -> Result<T, ClockError>,
    ) -> Result<T, ClockError> {
        self.enqueue(at)?;
        self.in_graph = true;
        let result = work(self);
        self.in_graph = false;
        let device = self.device_mut(at.device)?;
        let end = device.free(at.stream);
        device.queue(at.stream, end);
        result
    }

    /// Queues a copy between the host and the stream's device, or within the device.
    pub fn copy(
        &mut self,
        at: StreamId,
        transfer: &Transfer,
        non_blocking: bool,
    ) -> Result<CopySpan, ClockError> {
        let lane = match transfer.direction {
            Direction::H2D => Lane::ToDevice,
            Direction::D2H => Lane::FromDevice,
            Direction::D2D => {
                let Span { start, end } = self.launch(at, &cost::copy_within(transfer.bytes))?;
                return Ok(CopySpan { start, end, host_waited: 0, blocking: false });
            }
        };
        let enqueued = self.enqueue(at)?;
        let length = cost::transfer(&self.device(at.device)?.profile, &self.host, transfer);
        let staged = self.host.link.staged;
        let device = self.device_mut(at.device)?;
        let earliest = enqueued.max(device.free(at.stream));
        let (start, end) = device.engines.lane(lane).take(earliest, length);
        self.queue(at, end)?;
        let staged = transfer.direction == Direction::H2D && transfer.bytes <= staged;
        let blocking = !(non_blocking && (transfer.pinned || staged));
        let host_waited = match blocking {
            true => self.wait_until(end),
            // Into the driver's buffers.
            false if !transfer.pinned => self.wait_until(enqueued.saturating_add(length)),
            false => 0,
        };
        Ok(CopySpan { start, end, host_waited, blocking })
    }

    /// Queues a copy from one device's memory to another's, on the current stream of each. Holds neither host
    /// nor other streams. Within one device it is a copy on the `from` stream.
    pub(crate) fn copy_peer(
        &mut self,
        from: StreamId,
        to: StreamId,
        bytes: u64,
    ) -> Result<CopySpan, ClockError> {
        if from.device == to.device {
            return self.copy(from, &Transfer { direction: Direction::D2D, bytes, pinned: false }, true);
        }
        let (source, target) = (self.device(from.device)?, self.device(to.device)?);
        let length = cost::peer(&source.profile, &target.profile, bytes);
        let direct = source.profile.peer.access && target.profile.peer.access;
        let streams_free = source.free(from.stream).max(target.free(to.stream));
        let earliest = self.enqueue(from)?.max(streams_free);
        let start = match direct {
            true => self.device_mut(from.device)?.engines.lane(Lane::ToPeer).fit(earliest, length),
            false => self.fit_through_host(from.device, to.device, earliest, length)?,
        };
        let source = self.device_mut(from.device)?;
        let lane = if direct { Lane::ToPeer } else { Lane::FromDevice };
        let end = source.engines.lane(lane).book(start, length);
        self.queue(from, end)?;
        let target = self.device_mut(to.device)?;
        if !direct {
            target.engines.lane(Lane::ToDevice).book(start, length);
        }
        target.advance(to.stream, end);
        Ok(CopySpan { start, end, host_waited: 0, blocking: false })
    }

    /// Records an event: it completes with what is queued on the stream now.
    pub fn record(&mut self, at: StreamId) -> Result<Mark, ClockError> {
        self.call(at.device)?;
        let time = self.now.max(self.device(at.device)?.free(at.stream));
        Ok(Mark { at, time })
    }

    /// What is queued on the stream from now on waits for the mark. The host goes on.
    pub fn wait_event(&mut self, at: StreamId, mark: Mark) -> Result<(), ClockError> {
        self.call(at.device)?;
        let reached = self.reached(mark);
        self.device_mut(at.device)?.advance(at.stream, reached);
        Ok(())
    }

    /// Whether the mark has been reached. Costs the host a call, so that polling moves time.
    pub fn query(&mut self, mark: Mark) -> Result<bool, ClockError> {
        self.call(mark.at.device)?;
        Ok(self.reached(mark) <= self.now)
    }

    /// When the mark is reached, as far as is known.
    fn reached(&self, mark: Mark) -> u64 {
        self.device(mark.at.device).map_or(mark.time, |device| device.reached(mark.at.stream, mark.time))
    }

    /// The host waits for the stream. Returns the nanoseconds waited, beyond the cost of the call.
    pub(crate) fn synchronize_stream(&mut self, at: StreamId) -> Result<u64, ClockError> {
        self.call(at.device)?;
        Ok(self.wait_until(self.device(at.device)?.free(at.stream)))
    }

    /// The host waits for all streams of the device. Returns the nanoseconds waited, beyond the cost of the
    /// call.
    pub(crate) fn synchronize_device(&mut self, device: usize) -> Result<u64, ClockError> {
        self.call(device)?;
        Ok(self.wait_until(self.device(device)?.idle()))
    }

    /// The host waits for the mark. Returns the nanoseconds waited, beyond the cost of the call.
    pub fn synchronize_mark(&mut self, mark: Mark) -> Result<u64, ClockError> {
        self.call(mark.at.device)?;
        Ok(self.wait_until(self.reached(mark)))
    }

    /// Milliseconds from one mark to the other, negative if `end` came first (`Event.elapsed_time`). As in
    /// CUDA, both must have been reached and be on one device.
    pub fn elapsed(&self, start: Mark, end: Mark) -> Result<f64, ClockError> {
        if start.at.device != end.at.device {
            return Err(ClockError::DifferentDevices { start: start.at.device, end: end.at.device });
        }
        let (from, to) = (self.reached(start), self.reached(end));
        let ready = from.max(to);
        if ready > self.now {
            return Err(ClockError::NotReached { ready_in: ready - self.now });
        }
        let size = to.abs_diff(from) as f64 / 1e6;
        Ok(if to < from { -size } else { size })
    }

    /// The host takes a segment from the device (`cudaMalloc`), which does not wait for it.
    pub(crate) fn take_segment(&mut self, device: usize) -> Result<(), ClockError> {
        self.device(device)?;
        self.host_work(self.host.driver.allocate);
        Ok(())
    }

    /// The host gives a segment back to the device (`cudaFree`), which waits for all of the device's work.
    /// Returns the nanoseconds waited, beyond the cost of the call.
    pub(crate) fn give_segment(&mut self, index: usize) -> Result<u64, ClockError> {
        let device = self.device(index)?;
        let (idle, cost) = (device.idle(), self.host.driver.free);
        let waited = self.hold_until(idle, index, "giving memory back");
        self.host_work(cost);
        Ok(waited)
    }

    /// The host page-locks and fills `bytes` of its memory, in the device's context (`pin_memory`).
    pub fn pin(&mut self, device: usize, bytes: u64) -> Result<(), ClockError> {
        self.device(device)?;
        self.host_work(cost::pin(&self.host, bytes));
        Ok(())
    }

    /// Nanoseconds of page-locking so many bytes: none where as many were given back before.
    pub(super) fn pins(&mut self, bytes: u64) -> u64 {
        match self.unpinned.get_mut(&bytes).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                0
            }
            None => cost::pin(&self.host, bytes),
        }
    }

    /// Page-locked memory is there to serve again.
    pub(super) fn gives_pinned(&mut self, bytes: u64) {
        *self.unpinned.entry(bytes).or_default() += 1;
    }

    /// No page-locked memory is there to serve again.
    pub(super) fn forget_pinned(&mut self) {
        self.unpinned.clear();
    }

    /// The host thread that runs.
    pub fn thread(&self) -> HostThread {
        self.running
    }

    /// Starts another host thread at the running one's time; the running one goes on running.
    pub fn spawn(&mut self) -> HostThread {
        let thread = HostThread(self.next_thread);
        self.next_thread = self.next_thread.saturating_add(1);
        self.parked.insert(thread, self.now);
        thread
    }

    /// Lets `thread` run from its own time on; the one that ran keeps its time.
    pub fn switch(&mut self, thread: HostThread) -> Result<(), ClockError> {
        if thread != self.running {
            let time = self.parked.remove(&thread).ok_or(ClockError::NoThread { thread })?;
            self.parked.insert(self.running, self.now);
            (self.running, self.now) = (thread, time);
        }
        Ok(())
    }

    /// The running thread waits for the end of `thread`, which is then gone. Returns the nanoseconds waited.
    pub fn join(&mut self, thread: HostThread) -> Result<u64, ClockError> {
        if thread == self.running || thread == HostThread::MAIN {
            return Err(ClockError::CannotJoin { thread });
        }
        let end = self.parked.remove(&thread).ok_or(ClockError::NoThread { thread })?;
        Ok(self.wait_until(end))
    }

    /// The running thread waits until `time`, if that is still to come. Returns the nanoseconds waited.
    pub fn wait_until(&mut self, time: u64) -> u64 {
        let waited = time.saturating_sub(self.now);
        self.now = self.now.max(time);
        waited
    }

    /// What held the host for that device since this was asked last; the latest of several.
    pub(super) fn take_held(&mut self, device: usize) -> Option<Held> {
        self.held.take_if(|held| held.device == device)
    }

    /// Has [`Clock::take_held`] tell of a hold.
    pub(super) fn tell_of(&mut self, held: Held) {
        self.held = Some(held);
    }

    /// As [`Clock::wait_until`], for a reason that [`Clock::take_held`] tells.
    fn hold_until(&mut self, time: u64, device: usize, cause: &'static str) -> u64 {
        let start = self.now;
        let waited = self.wait_until(time);
        if waited > 0 {
            self.held = Some(Held { device, cause, start, end: self.now });
        }
        waited
    }

    fn run(&mut self, at: StreamId, cost: KernelCost) -> Result<Span, ClockError> {
        let enqueued = self.enqueue(at)?;
        let device = self.device_mut(at.device)?;
        let earliest = enqueued.max(device.free(at.stream));
        let ready = earliest.saturating_add(cost.latency);
        let (working, end) = if cost.bound == Bound::Latency {
            // Beside whatever has the device, it starts when a running kernel's blocks have all been given out; what it
            // takes from others is taken where there is room for that.
            let start = device.compute.room(ready);
            device.work(start, cost.whole_device());
            (start, start.saturating_add(cost.body))
        } else {
            device.share(at.stream, ready, cost.body)
        };
        // While others have the device a kernel has not started. At the end of time the latency is cut short.
        let start = working.saturating_sub(cost.latency).max(earliest);
        device.busy.add(start, end, enqueued);
        self.queue(at, end)?;
        Ok(Span { start, end })
    }

    /// The host enqueues an operation, first waiting for room in the stream's queue. Returns the host's time
    /// after.
    fn enqueue(&mut self, at: StreamId) -> Result<u64, ClockError> {
        if self.in_graph {
            return Ok(self.now);
        }
        // Nobody has asked for what held the host before.
        self.held = None;
        let (cost, room) = (self.host.driver.launch, self.device_mut(at.device)?.make_room(at.stream));
        self.hold_until(room, at.device, "full queue");
        self.host_work(cost);
        Ok(self.now)
    }

    /// Puts what ends at `end` on the stream; within a graph all parts together take one place in its queue.
    fn queue(&mut self, at: StreamId, end: u64) -> Result<(), ClockError> {
        let in_graph = self.in_graph;
        let device = self.device_mut(at.device)?;
        if in_graph {
            device.advance(at.stream, end);
        } else {
            device.queue(at.stream, end);
        }
        Ok(())
    }

    fn call(&mut self, device: usize) -> Result<(), ClockError> {
        self.device(device)?;
        self.host_work(self.host.driver.call);
        Ok(())
    }

    /// The first time from `earliest` on at which both engines of a copy through the host are free.
    fn fit_through_host(
        &mut self,
        from: usize,
        to: usize,
        earliest: u64,
        length: u64,
    ) -> Result<u64, ClockError> {
        let mut start = earliest;
        loop {
            let out = self.device_mut(from)?.engines.lane(Lane::FromDevice).fit(start, length);
            let both = self.device_mut(to)?.engines.lane(Lane::ToDevice).fit(out, length);
            if both == start {
                return Ok(start);
            }
            start = both;
        }
    }

    fn device(&self, device: usize) -> Result<&DeviceClock, ClockError> {
        let missing = ClockError::NoDevice { device, count: self.devices.len() };
        self.devices.get(device).ok_or(missing)
    }

    fn device_mut(&mut self, device: usize) -> Result<&mut DeviceClock, ClockError> {
        let missing = ClockError::NoDevice { device, count: self.devices.len() };
        self.devices.get_mut(device).ok_or(missing)
    }
}

mod exchange;
#[cfg(test)]
mod tests;
