//! Streams and events. Work waits in its stream and runs when someone waits or asks, as late and in as odd an order as
//! streams and events allow: a wait that is missing, or memory that serves again too early, then shows.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::{CAPTURE_UNSUPPORTED, INVALID_CONTEXT, INVALID_HANDLE, NOT_READY, current, number, put, state};

/// A stream with more work than this gets some done, as a driver's queue is full at some point.
const MOST_WAITING: usize = 512;

/// Waits of streams so far, and times that an event was told to be under way.
static WAITS: AtomicU64 = AtomicU64::new(0);
static UNDER_WAY: AtomicU64 = AtomicU64::new(0);

/// A point in a stream's work, and when it was reached.
type Point = Arc<OnceLock<Instant>>;

pub type Task = Arc<dyn Fn() + Send + Sync>;

pub enum Work {
    Do(Task),
    Reach(Point),
    Wait(Point),
}

struct Stream {
    device: usize,
    waiting: VecDeque<Work>,
    /// What a graph is being made of.
    captured: Option<Captured>,
}

#[derive(Default)]
pub struct Captured {
    pub tasks: Vec<Task>,
    /// Lines of the log.
    pub lines: Vec<String>,
    /// Something was asked of the stream that no graph can hold.
    pub broken: bool,
}

struct Event {
    device: usize,
    latest: Option<Point>,
}

pub struct Streams {
    streams: BTreeMap<usize, Stream>,
    events: BTreeMap<usize, Event>,
    next: usize,
    random: u64,
}

pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    *SEED.get_or_init(|| number("STANDIN_SEED").unwrap_or_else(clock))
}

/// Whether this is the one, from 1, that is to be left out.
fn is_left_out(variable: &str, so_far: &AtomicU64) -> bool {
    number(variable) == Some(so_far.fetch_add(1, SeqCst) + 1)
}

/// One thread at a time queues work or runs it: kernels keep their state in globals.
pub fn lock() -> MutexGuard<'static, Streams> {
    static ALL: OnceLock<Mutex<Streams>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let random = seed().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Mutex::new(Streams { streams: BTreeMap::new(), events: BTreeMap::new(), next: 0x1000, random })
    });
    all.lock().unwrap_or_else(|e| e.into_inner())
}

impl Streams {
    fn draw(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 33) % below as u64) as usize
    }

    fn handle(&mut self) -> usize {
        self.next += 16;
        self.next
    }

    /// Puts work behind a stream's other work. Stream 0 waits for all others on a GPU, which nobody here wants.
    pub fn enqueue(&mut self, stream: usize, work: Work) -> c_int {
        if state() != 0 {
            return state();
        }
        let Some(queue) = self.streams.get_mut(&stream) else { return INVALID_HANDLE };
        match (&mut queue.captured, work) {
            (Some(captured), Work::Do(task)) => captured.tasks.push(task),
            (Some(captured), _) => {
                captured.broken = true;
                return CAPTURE_UNSUPPORTED;
            }
            (None, work) => queue.waiting.push_back(work),
        }
        let is_full = queue.waiting.len() > MOST_WAITING;
        // Now and then the device is quick.
        let steps = if is_full {
            MOST_WAITING / 2
        } else if self.draw(16) == 0 {
            self.draw(4)
        } else {
            0
        };
        self.advance(steps, if is_full { Some(stream) } else { None });
        state()
    }

    /// The device that a stream is of.
    pub fn device_of(&self, stream: usize) -> Option<usize> {
        self.streams.get(&stream).map(|stream| stream.device)
    }

    pub fn captured(&mut self, stream: usize) -> Option<&mut Captured> {
        self.streams.get_mut(&stream)?.captured.as_mut()
    }

    pub fn is_capturing(&self) -> bool {
        self.streams.values().any(|stream| stream.captured.is_some())
    }

    pub fn begin_capture(&mut self, stream: usize) -> c_int {
        let Some(queue) = self.streams.get_mut(&stream) else { return INVALID_HANDLE };
        queue.captured = Some(Captured::default());
        state()
    }

    pub fn end_capture(&mut self, stream: usize) -> Option<Captured> {
        self.streams.get_mut(&stream)?.captured.take()
    }

    /// What is under way on a device that failed never ends.
    pub fn forget(&mut self) {
        self.streams.values_mut().for_each(|stream| stream.waiting.clear());
    }

    fn is_ready(work: &Work) -> bool {
        if let Work::Wait(point) = work { point.get().is_some() } else { true }
    }

    /// The stream that must go on so that `stream` can.
    fn needed(&self, mut stream: usize) -> Option<usize> {
        loop {
            let Some(Work::Wait(point)) = self.streams.get(&stream)?.waiting.front() else {
                return Some(stream);
            };
            if point.get().is_some() {
                return Some(stream);
            }
            stream = self.holder(point)?;
        }
    }

    fn holder(&self, point: &Point) -> Option<usize> {
        let holds = |work: &Work| matches!(work, Work::Reach(other) if Arc::ptr_eq(other, point));
        self.streams.iter().find(|(_, stream)| stream.waiting.iter().any(holds)).map(|(handle, _)| *handle)
    }

    /// Any stream that can go on.
    fn any(&mut self) -> Option<usize> {
        let can = |stream: &Stream| stream.waiting.front().is_some_and(Streams::is_ready);
        let ready: Vec<usize> =
            self.streams.iter().filter(|(_, stream)| can(stream)).map(|(handle, _)| *handle).collect();
        if ready.is_empty() { None } else { Some(ready[self.draw(ready.len())]) }
    }

    /// Runs the first work of a stream, which is ready.
    fn run(&mut self, stream: usize) {
        let work = self.streams.get_mut(&stream).and_then(|stream| stream.waiting.pop_front());
        match work {
            Some(Work::Do(task)) => task(),
            Some(Work::Reach(point)) => drop(point.set(Instant::now())),
            _ => {}
        }
        if state() != 0 {
            self.forget();
        }
    }

    /// Some steps: of what `stream` needs, or of anything.
    fn advance(&mut self, steps: usize, stream: Option<usize>) {
        for _ in 0..steps {
            let next = match stream {
                Some(stream) => self.needed(stream),
                None => self.any(),
            };
            let Some(next) = next else { return };
            self.run(next);
        }
    }

    /// Runs until `is_over`: either nothing but what `stream` needs, or whatever is drawn.
    fn until(&mut self, stream: usize, is_over: impl Fn(&Streams) -> bool) {
        let only_needed = self.draw(2) == 0;
        while !is_over(self) {
            let next = if only_needed { self.needed(stream) } else { self.any() };
            let Some(next) = next else { return };
            self.run(next);
        }
    }

    fn drain(&mut self, stream: usize) {
        let is_empty =
            |all: &Streams| all.streams.get(&stream).is_none_or(|stream| stream.waiting.is_empty());
        self.until(stream, is_empty);
    }

    pub fn drain_device(&mut self, device: usize) {
        let all: Vec<usize> =
            self.streams.iter().filter(|(_, s)| s.device == device).map(|(handle, _)| *handle).collect();
        all.into_iter().for_each(|stream| self.drain(stream));
    }

    pub fn synchronize(&mut self, stream: usize) -> c_int {
        let Some(queue) = self.streams.get_mut(&stream) else { return INVALID_HANDLE };
        if let Some(captured) = &mut queue.captured {
            captured.broken = true;
            return CAPTURE_UNSUPPORTED;
        }
        self.drain(stream);
        state()
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: *mut usize, flags: c_uint) -> c_int {
    let Some(device) = current() else { return INVALID_CONTEXT };
    // A stream that waits for stream 0 would be another kind.
    if flags != 1 {
        return crate::INVALID_VALUE;
    }
    let mut all = lock();
    let handle = all.handle();
    all.streams.insert(handle, Stream { device, waiting: VecDeque::new(), captured: None });
    put(stream, handle)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: usize) -> c_int {
    let mut all = lock();
    all.drain(stream);
    if all.streams.remove(&stream).is_some() { state() } else { INVALID_HANDLE }
}
/// Now and then the device has done something since.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: usize) -> c_int {
    if current().is_none() {
        return INVALID_CONTEXT;
    }
    if state() != 0 {
        return state();
    }
    let mut all = lock();
    let Some(queue) = all.streams.get_mut(&stream) else { return INVALID_HANDLE };
    if let Some(captured) = &mut queue.captured {
        captured.broken = true;
        return CAPTURE_UNSUPPORTED;
    }
    if !queue.waiting.is_empty() {
        let steps = all.draw(4);
        let stream = if all.draw(2) == 0 { Some(stream) } else { None };
        all.advance(steps, stream);
    }
    let is_idle = all.streams.get(&stream).is_none_or(|stream| stream.waiting.is_empty());
    match (state(), is_idle) {
        (0, false) if !is_left_out("STANDIN_SAYS_REACHED", &UNDER_WAY) => NOT_READY,
        (code, _) => code,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: usize) -> c_int {
    if state() != 0 { state() } else { lock().synchronize(stream) }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, _: c_uint) -> c_int {
    let mut all = lock();
    let Some(known) = all.events.get(&event) else { return INVALID_HANDLE };
    if is_left_out("STANDIN_LEAVES_OUT_WAIT", &WAITS) {
        return state();
    }
    match known.latest.clone() {
        Some(point) => all.enqueue(stream, Work::Wait(point)),
        // An event that was never recorded is no event to wait for.
        None => state(),
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: *mut usize, _: c_uint) -> c_int {
    let Some(device) = current() else { return INVALID_CONTEXT };
    let mut all = lock();
    let handle = all.handle();
    all.events.insert(handle, Event { device, latest: None });
    put(event, handle)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: usize) -> c_int {
    if lock().events.remove(&event).is_some() { 0 } else { INVALID_HANDLE }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: usize, stream: usize) -> c_int {
    let mut all = lock();
    let (Some(known), Some(device)) = (all.events.get(&event), all.device_of(stream)) else {
        return INVALID_HANDLE;
    };
    if known.device != device {
        return INVALID_HANDLE;
    }
    let point = Point::default();
    let code = all.enqueue(stream, Work::Reach(Arc::clone(&point)));
    if code == 0
        && let Some(known) = all.events.get_mut(&event)
    {
        known.latest = Some(point);
    }
    code
}
/// Now and then the device has done something since.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: usize) -> c_int {
    if current().is_none() {
        return INVALID_CONTEXT;
    }
    if state() != 0 {
        return state();
    }
    let mut all = lock();
    let Some(known) = all.events.get(&event) else { return INVALID_HANDLE };
    let Some(point) = known.latest.clone() else { return 0 };
    if point.get().is_none() {
        let steps = all.draw(4);
        let stream = if all.draw(2) == 0 { all.holder(&point) } else { None };
        all.advance(steps, stream);
    }
    match (state(), point.get()) {
        (0, Some(_)) => 0,
        (0, None) if is_left_out("STANDIN_SAYS_REACHED", &UNDER_WAY) => 0,
        (0, None) => NOT_READY,
        (code, _) => code,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(time: *mut f32, from: usize, to: usize) -> c_int {
    if state() != 0 {
        return state();
    }
    let all = lock();
    let point = |event: usize| all.events.get(&event).and_then(|event| event.latest.clone());
    let (Some(from), Some(to)) = (point(from), point(to)) else { return INVALID_HANDLE };
    let (Some(from), Some(to)) = (from.get(), to.get()) else { return NOT_READY };
    let forth = to.saturating_duration_since(*from).as_secs_f32();
    let back = from.saturating_duration_since(*to).as_secs_f32();
    put(time, (forth - back) * 1e3)
}
