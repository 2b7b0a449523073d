//! The streams of a device, points in their work, and when things ran.
//!
//! Every stream is one of the driver's that does not wait for others, the default one too: nothing but events and
//! waits orders work of different streams, as among PyTorch's own.
//!
//! A mark is an event of the driver. Scripts keep no account of marks that they need no more, so events that were
//! reached long ago become numbers, and serve again.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use crate::base::event::{Clock, Span};
use crate::base::{Error, Result};
use crate::device::backend::Mark;
use crate::device::shared::Shared;

use super::call::{Gpu, NOT_READY, SUCCESS};
use super::table::Handle;

/// PyTorch hands out this many streams of a device in turn, besides the default one.
const STREAMS: u32 = 32;
const NON_BLOCKING: c_uint = 1;
const WITH_TIMING: c_uint = 0;
const WITHOUT_TIMING: c_uint = 2;
/// Events that are kept before those that were reached become numbers.
const MOST_EVENTS: usize = 1024;
/// Times of events that are kept as numbers.
const MOST_TIMES: usize = 1 << 20;
/// How long a wait asks again and again, before it sleeps in between.
const EAGER: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_micros(30);

/// Asked while the host waits; an error ends the wait.
pub(super) type Interrupt<'a> = &'a dyn Fn() -> Result<()>;

pub(super) struct Queues {
    gpu: Gpu,
    shared: Arc<Shared>,
    streams: RwLock<Vec<CudaStream>>,
    state: Mutex<QueueState>,
}

/// A stream of the driver.
#[derive(Clone, Copy)]
struct CudaStream(Handle);

// SAFETY: handles of the driver may be used from any thread.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

#[derive(Default)]
struct QueueState {
    marks: BTreeMap<u64, Point>,
    /// When marks were reached whose events serve others now, on the host's clock.
    times: BTreeMap<u64, u64>,
    spare: Vec<usize>,
    spare_timed: Vec<usize>,
    next: u64,
    handed_out: u32,
    /// Work whose time is not known yet: ticket, events before and after it.
    timed: Vec<(u64, usize, usize)>,
    /// An event that was reached, and when that was on the host's clock.
    anchor: Option<(usize, u64, Instant)>,
}

#[derive(Clone, Copy)]
struct Point {
    event: usize,
    timed: bool,
}

impl Queues {
    /// The streams of a device, each made when it is first used; spans are on the clock of `shared`.
    pub(super) fn new(gpu: Gpu, shared: Arc<Shared>) -> Queues {
        Queues { gpu, shared, streams: RwLock::default(), state: Mutex::default() }
    }

    /// The driver's handle of a stream; it is made when it is first used.
    #[inline]
    pub(super) fn stream(&self, stream: u32) -> Result<Handle> {
        let known = self.streams.read().unwrap_or_else(|e| e.into_inner()).get(stream as usize).copied();
        match known {
            Some(CudaStream(handle)) => Ok(handle),
            None => self.make(stream),
        }
    }

    /// A stream besides the default one; they come round again.
    pub(crate) fn next_stream(&self) -> u32 {
        let mut state = self.lock();
        state.handed_out = state.handed_out % STREAMS + 1;
        state.handed_out
    }

    /// They are handed out from the first on again.
    pub(super) fn begin_anew(&self) {
        self.lock().handed_out = 0;
    }

    /// A mark behind all the work of `stream` so far. Only marks with times can be compared.
    pub(super) fn record(&self, stream: u32, timed: bool) -> Result<Mark> {
        let handle = self.stream(stream)?;
        self.gpu.enter()?;
        let mut state = self.lock();
        if state.marks.len() >= MOST_EVENTS {
            self.settle(&mut state);
        }
        let event = self.event(&mut state, timed)?;
        // SAFETY: both are handles of this device.
        self.gpu.check(unsafe { (self.gpu.driver.cuEventRecord)(event as Handle, handle) })?;
        state.next += 1;
        let value = state.next;
        state.marks.insert(value, Point { event, timed });
        Ok(Mark { device: self.gpu.device, stream, value })
    }

    /// Lets later work of `stream`, which may be another device's, wait for a mark of this one.
    pub(super) fn wait(&self, stream: Handle, mark: Mark) -> Result<()> {
        let Some(point) = self.lock().marks.get(&mark.value).copied() else { return Ok(()) };
        // SAFETY: the event lives while it is a mark; flags must be 0.
        self.gpu.check(unsafe { (self.gpu.driver.cuStreamWaitEvent)(stream, point.event as Handle, 0) })
    }

    /// Whether a mark is reached.
    pub(super) fn query(&self, mark: Mark) -> Result<bool> {
        self.gpu.enter()?;
        let Some(point) = self.lock().marks.get(&mark.value).copied() else { return Ok(true) };
        self.reached(point.event)
    }

    /// Milliseconds between two marks.
    pub(super) fn elapsed(&self, from: Mark, to: Mark) -> Result<f64> {
        self.gpu.enter()?;
        let state = self.lock();
        if let (Some(a), Some(b)) = (state.marks.get(&from.value), state.marks.get(&to.value)) {
            return match self.between(a.event, b.event)? {
                Some(milliseconds) => Ok(milliseconds),
                None => Err(not_reached()),
            };
        }
        let at = |mark: Mark| -> Result<f64> {
            match (state.marks.get(&mark.value), state.times.get(&mark.value)) {
                (Some(point), _) => {
                    Ok(self.time_of(&state, point.event)?.ok_or_else(not_reached)? as f64 / 1e6)
                }
                (None, Some(nanos)) => Ok(*nanos as f64 / 1e6),
                (None, None) => Err(not_reached()),
            }
        };
        Ok(at(to)? - at(from)?)
    }

    /// Waits for a stream, or for all; the span is the host's waiting.
    pub(super) fn synchronize(&self, stream: Option<u32>, interrupt: Interrupt) -> Result<Span> {
        let start = self.shared.nanos();
        let count = self.streams.read().unwrap_or_else(|e| e.into_inner()).len() as u32;
        for stream in stream.map_or(0..count, |one| one..one.saturating_add(1)) {
            self.finish(stream, interrupt)?;
        }
        Ok(self.since(start))
    }

    /// Lets go of a mark that was reached and that nobody else knows: its event serves again.
    pub(super) fn forget(&self, mark: Mark) {
        let mut state = self.lock();
        match state.marks.remove(&mark.value) {
            Some(Point { event, timed: false }) => state.spare.push(event),
            Some(Point { event, timed: true }) => state.spare_timed.push(event),
            None => {}
        }
    }

    /// Waits for a stream in the driver, which needs no event and hears no interrupt.
    pub(super) fn drain(&self, stream: u32) -> Result<()> {
        let handle = self.stream(stream)?;
        self.gpu.enter()?;
        // SAFETY: the stream lives as long as this.
        self.gpu.check(unsafe { (self.gpu.driver.cuStreamSynchronize)(handle) })
    }

    /// Whether the device still does work.
    pub(super) fn is_alive(&self) -> bool {
        self.gpu.memory().is_ok()
    }

    /// Waits for a mark.
    pub(super) fn synchronize_mark(&self, mark: Mark, interrupt: Interrupt) -> Result<Span> {
        let start = self.shared.nanos();
        self.gpu.enter()?;
        // Others go on with the streams meanwhile.
        let point = self.lock().marks.get(&mark.value).copied();
        if let Some(point) = point {
            self.poll(point.event, interrupt, EAGER)?;
        }
        Ok(self.since(start))
    }

    /// The measured span from `start` until now.
    pub(super) fn since(&self, start: u64) -> Span {
        self.shared.span_since(start)
    }

    pub(super) fn now(&self) -> u64 {
        self.shared.nanos()
    }
}

/// When work ran, known only once it has.
impl Queues {
    /// Does `work` on `stream` between two events; the ticket is for [`timings`](Queues::timings).
    pub(super) fn timed<R>(&self, stream: Handle, work: impl FnOnce() -> Result<R>) -> Result<(R, u64)> {
        let (before, after) = {
            let mut state = self.lock();
            (self.event(&mut state, true)?, self.event(&mut state, true)?)
        };
        let record = |event: usize| {
            // SAFETY: both are handles of this device.
            self.gpu.check(unsafe { (self.gpu.driver.cuEventRecord)(event as Handle, stream) })
        };
        let done = record(before).and_then(|()| work()).and_then(|done| record(after).map(|()| done));
        let mut state = self.lock();
        if done.is_err() {
            state.spare_timed.extend([before, after]);
        }
        let done = done?;
        state.next += 1;
        let ticket = state.next;
        state.timed.push((ticket, before, after));
        Ok((done, ticket))
    }

    /// The spans of timed work that is done, by ticket, each given once.
    pub(crate) fn timings(&self) -> Vec<(u64, Span)> {
        if self.gpu.enter().is_err() {
            return Vec::new();
        }
        let mut state = self.lock();
        let waiting = std::mem::take(&mut state.timed);
        let mut done = Vec::new();
        for (ticket, before, after) in waiting {
            match (self.time_of(&state, before), self.between(before, after)) {
                (Ok(Some(start)), Ok(Some(milliseconds))) => {
                    let nanos = (milliseconds * 1e6).max(0.0) as u64;
                    done.push((ticket, Span { start, nanos, clock: Clock::Measured }));
                    state.spare_timed.extend([before, after]);
                }
                (Ok(_), Ok(_)) => state.timed.push((ticket, before, after)),
                // A device that failed: nobody will know.
                _ => {}
            }
        }
        done
    }
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    #[cold]
    fn make(&self, stream: u32) -> Result<Handle> {
        self.gpu.enter()?;
        let handle = self.made(stream)?;
        if self.lock().anchor.is_none() {
            self.anchor()?;
        }
        Ok(handle)
    }

    fn made(&self, stream: u32) -> Result<Handle> {
        let mut streams = self.streams.write().unwrap_or_else(|e| e.into_inner());
        while streams.len() <= stream as usize && streams.len() <= STREAMS as usize {
            let mut handle = std::ptr::null_mut();
            // SAFETY: the place lives through the call.
            self.gpu.check(unsafe { (self.gpu.driver.cuStreamCreate)(&mut handle, NON_BLOCKING) })?;
            streams.push(CudaStream(handle));
        }
        match streams.get(stream as usize) {
            Some(CudaStream(handle)) => Ok(*handle),
            None => Err(Error::runtime(format!("{} has no stream {stream}", self.gpu.device))),
        }
    }

    fn event(&self, state: &mut QueueState, timed: bool) -> Result<usize> {
        let spare = if timed { &mut state.spare_timed } else { &mut state.spare };
        if let Some(event) = spare.pop() {
            return Ok(event);
        }
        self.gpu.enter()?;
        let mut handle = std::ptr::null_mut();
        let flags = if timed { WITH_TIMING } else { WITHOUT_TIMING };
        // SAFETY: the place lives through the call.
        self.gpu.check(unsafe { (self.gpu.driver.cuEventCreate)(&mut handle, flags) })?;
        Ok(handle as usize)
    }

    fn reached(&self, event: usize) -> Result<bool> {
        // SAFETY: events are destroyed with this.
        self.answer(unsafe { (self.gpu.driver.cuEventQuery)(event as Handle) })
    }

    /// Whether what was asked for is over.
    fn answer(&self, code: c_int) -> Result<bool> {
        match code {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self.gpu.check(code).map(|()| true),
        }
    }

    /// Waits for a stream. A short wait asks the stream itself, which costs no event; a long one sets a mark, so that it
    /// does not go on for what other threads add meanwhile.
    fn finish(&self, stream: u32, interrupt: Interrupt) -> Result<()> {
        let handle = self.stream(stream)?;
        self.gpu.enter()?;
        let start = Instant::now();
        // SAFETY: the stream lives as long as this.
        let idle = || self.answer(unsafe { (self.gpu.driver.cuStreamQuery)(handle) });
        while !idle()? {
            interrupt()?;
            if start.elapsed() > EAGER {
                let mark = self.record(stream, false)?;
                return self.until(mark, interrupt, Duration::ZERO);
            }
        }
        self.keep_anchored(stream)
    }

    /// Waits for a mark of one's own, whose event then serves again.
    fn until(&self, mark: Mark, interrupt: Interrupt, eager: Duration) -> Result<()> {
        let Some(point) = self.lock().marks.get(&mark.value).copied() else { return Ok(()) };
        let waited = self.poll(point.event, interrupt, eager);
        let mut state = self.lock();
        // Another thread may have settled it: its event then serves someone else.
        if state.marks.remove(&mark.value).is_some() {
            state.spare.push(point.event);
        }
        drop(state);
        waited?;
        self.keep_anchored(mark.stream)
    }

    /// Ties the clocks anew behind a wait for the default stream, where that was long ago.
    fn keep_anchored(&self, stream: u32) -> Result<()> {
        let is_old = || self.lock().anchor.is_none_or(|(_, _, at)| at.elapsed() > Duration::from_secs(2));
        if stream == 0 && is_old() { self.anchor() } else { Ok(()) }
    }

    /// Asks for an event again and again for so long, and then now and then.
    fn poll(&self, event: usize, interrupt: Interrupt, eager: Duration) -> Result<()> {
        let start = Instant::now();
        while !self.reached(event)? {
            interrupt()?;
            if start.elapsed() > eager {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Milliseconds between two events; none where one is not reached.
    fn between(&self, from: usize, to: usize) -> Result<Option<f64>> {
        let mut milliseconds = 0.0f32;
        // SAFETY: the place and both events live through the call.
        let code =
            unsafe { (self.gpu.driver.cuEventElapsedTime)(&mut milliseconds, from as Handle, to as Handle) };
        match code {
            SUCCESS => Ok(Some(f64::from(milliseconds))),
            NOT_READY => Ok(None),
            code => self.gpu.check(code).map(|()| None),
        }
    }

    /// When an event was reached, in nanoseconds on the host's clock.
    fn time_of(&self, state: &QueueState, event: usize) -> Result<Option<u64>> {
        let Some((anchor, nanos, _)) = state.anchor else { return Ok(None) };
        let after = self.between(anchor, event)?;
        Ok(after.map(|milliseconds| (nanos as f64 + milliseconds * 1e6).max(0.0) as u64))
    }

    /// Ties the device's time to the host's. Work that is under way then counts from the anchor before.
    fn anchor(&self) -> Result<()> {
        let stream = self.stream(0)?;
        let event = {
            let mut state = self.lock();
            if !state.timed.is_empty() {
                return Ok(());
            }
            self.event(&mut state, true)?
        };
        // SAFETY: both are handles of this device.
        self.gpu.check(unsafe { (self.gpu.driver.cuEventRecord)(event as Handle, stream) })?;
        // Other threads go on meanwhile, and an interrupt is heard: the anchor before then stays.
        let reached = self.poll(event, &|| self.shared.cancel.check(), EAGER);
        let mut state = self.lock();
        let now = (event, self.shared.nanos(), Instant::now());
        let spare =
            if reached.is_ok() { state.anchor.replace(now).map(|(event, ..)| event) } else { Some(event) };
        state.spare_timed.extend(spare);
        reached
    }

    /// Turns marks that are reached into numbers.
    fn settle(&self, state: &mut QueueState) {
        let points: Vec<(u64, Point)> = state.marks.iter().map(|(value, point)| (*value, *point)).collect();
        for (value, point) in points {
            if !self.reached(point.event).unwrap_or(false) {
                continue;
            }
            state.marks.remove(&value);
            if point.timed {
                if let Ok(Some(nanos)) = self.time_of(state, point.event) {
                    state.times.insert(value, nanos);
                }
                state.spare_timed.push(point.event);
            } else {
                state.spare.push(point.event);
            }
        }
        while state.times.len() > MOST_TIMES {
            state.times.pop_first();
        }
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        if !self.gpu.is_started() || self.gpu.enter().is_err() {
            return;
        }
        let driver = self.gpu.driver;
        let state = std::mem::take(&mut *self.lock());
        let waiting = state.timed.iter().flat_map(|(_, a, b)| [*a, *b]);
        let marks = state.marks.values().map(|point| point.event);
        let anchor = state.anchor.map(|(event, ..)| event);
        for event in
            state.spare.iter().chain(&state.spare_timed).copied().chain(waiting).chain(marks).chain(anchor)
        {
            // SAFETY: nobody else has the event any more.
            unsafe { (driver.cuEventDestroy_v2)(event as Handle) };
        }
        for CudaStream(handle) in self.streams.write().unwrap_or_else(|e| e.into_inner()).drain(..) {
            // SAFETY: nobody else has the stream any more.
            unsafe { (driver.cuStreamDestroy_v2)(handle) };
        }
    }
}

#[cold]
fn not_reached() -> Error {
    Error::runtime("Both events must be completed before calculating elapsed time.")
        .with_hint("wait for the later one first: `end.synchronize()`")
}
