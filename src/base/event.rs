//! The one stream of events: whatever happens on a device is one [`Event`], emitted at one place.
//!
//! Panels, lesson checks, traces, the profiler and tests only read it; no one keeps a second count.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use smallvec::SmallVec;

use super::Device;
use super::dtype::DType;
pub use super::name::Name;

/// A tensor's sizes, in place up to four dimensions: events are copied as they happen.
pub type Sizes = SmallVec<[usize; 4]>;

/// Devices that take part in one thing.
pub type Devices = SmallVec<[Device; 4]>;

/// Which clock a time was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    Measured,
    Modelled,
}

impl Clock {
    /// How figures of this clock are labelled: `measured` or `modelled`.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Measured => "measured",
            Clock::Modelled => "modelled",
        }
    }
}

/// A time span in nanoseconds on a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Span {
    pub start: u64,
    pub nanos: u64,
    pub clock: Clock,
}

impl Span {
    /// From `start` to `end` on a virtual clock.
    pub(crate) fn modelled(start: u64, end: u64) -> Span {
        Span { start, nanos: end.saturating_sub(start), clock: Clock::Modelled }
    }

    /// When it ended, in nanoseconds of its clock.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.nanos)
    }
}

/// The script line and cell that caused an event, and the line that called the function it stands in; 0 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Source {
    pub cell: u32,
    pub line: u32,
    /// 0 outside of functions and closures.
    pub caller: u32,
}

/// Cells from this number on are a lesson's own: set-up, checks, answers of predictions.
pub const HIDDEN_CELLS: u32 = 1 << 30;
/// A check of cell `n` has this number and `n`.
pub const CHECK_CELLS: u32 = HIDDEN_CELLS + (1 << 29);
/// The answer of a prediction about cell `n` has this number and `n`.
pub const ANSWER_CELLS: u32 = 1 << 31;

/// Who did something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doer {
    Learner,
    /// What a lesson prepares.
    SetUp,
    /// A check of that cell.
    Check(u32),
    /// What a prediction about that cell was compared with.
    Answer(u32),
}

impl Source {
    /// Its cell and line as one number.
    pub(crate) fn place(self) -> u64 {
        (u64::from(self.cell) << 32) | u64::from(self.line)
    }

    /// A line outside of functions.
    pub const fn at(cell: u32, line: u32) -> Source {
        Source { cell, line, caller: 0 }
    }

    /// Whether both are of one line, whoever called it.
    pub(crate) fn is_at(&self, other: &Source) -> bool {
        (self.cell, self.line) == (other.cell, other.line)
    }

    /// Whether a lesson did it, and not the learner.
    pub(crate) fn is_hidden(&self) -> bool {
        self.cell >= HIDDEN_CELLS
    }

    pub(crate) fn doer(&self) -> Doer {
        match self.cell {
            ANSWER_CELLS.. => Doer::Answer(self.cell - ANSWER_CELLS),
            CHECK_CELLS.. => Doer::Check(self.cell - CHECK_CELLS),
            HIDDEN_CELLS.. => Doer::SetUp,
            _ => Doer::Learner,
        }
    }
}

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Position in the stream, from 0, without gaps.
    pub seq: u64,
    pub source: Source,
    pub body: Body,
}

/// Two accesses of one piece of memory, one of them a write or the memory's end, that nothing orders.
///
/// Who accesses is a stream of a GPU, or the host: the CPU with stream 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    /// Where the memory is, and its first byte.
    pub device: Device,
    pub address: u64,
    /// The sizes of the later access's tensor.
    pub shape: Sizes,
    /// `read after write`, `write after read`, `write after write` or `free after use`.
    pub kind: Name,
    pub op: Name,
    pub by: Device,
    pub stream: u32,
    /// The earlier access: its line, its operation, and who made it.
    pub earlier: Source,
    pub earlier_op: Name,
    pub earlier_by: Device,
    pub earlier_stream: u32,
}

/// What happened. Bytes are bytes, times are [`Span`]s.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// A tensor's memory was taken. `bytes` is what the allocator reserved for `requested`.
    Alloc {
        device: Device,
        address: u64,
        bytes: u64,
        requested: u64,
        dtype: DType,
        shape: Sizes,
        op: Name,
        /// Allocated and reserved bytes of the device afterwards.
        allocated: u64,
        reserved: u64,
    },
    Free {
        device: Device,
        address: u64,
        bytes: u64,
        allocated: u64,
        reserved: u64,
    },
    /// The allocator took a segment from the device, or gave one back.
    Segment {
        device: Device,
        address: u64,
        bytes: u64,
        mapped: bool,
        reserved: u64,
    },
    /// Bytes moved between memories.
    Copy {
        from: Device,
        to: Device,
        bytes: u64,
        pinned: bool,
        /// The host waited for it.
        blocking: bool,
        stream: u32,
        span: Span,
    },
    /// A kernel was launched for `op`.
    Launch {
        device: Device,
        /// On the CPU the host's thread: 0 for the script's own, `i` for a loader's worker `i - 1`.
        stream: u32,
        op: Name,
        kernel: Name,
        dtype: DType,
        bytes: u64,
        flops: u64,
        span: Span,
    },
    /// The host waited for a device; implicit when the script did not ask for it.
    Sync {
        device: Device,
        implicit: bool,
        cause: Name,
        span: Span,
    },
    /// The host was held by what is no synchronisation: a copy that it carried out, a queue without room, memory that
    /// the device could give back only once it was idle.
    Hold {
        device: Device,
        cause: Name,
        span: Span,
    },
    /// A loader gave the script a batch, which `workers` threads fetch; 0 where the script's own does.
    Batch {
        workers: u32,
        pinned: bool,
    },
    /// Ranks exchanged tensors, on a stream of each one's device.
    Collective {
        op: Name,
        /// Of one rank's tensors.
        bytes: u64,
        ranks: u32,
        /// Theirs, each once.
        devices: Devices,
        stream: u32,
        span: Span,
    },
    /// Two accesses of one piece of memory that nothing orders; the event's source is the later one's.
    Race {
        race: Box<Race>,
    },
    OutOfMemory {
        device: Device,
        requested: u64,
        message: String,
    },
    /// Allocator state was changed by request: peaks reset, cache emptied.
    PeakReset {
        device: Device,
    },
    CellStart {
        cell: u32,
        at: u64,
    },
    CellEnd {
        cell: u32,
        ok: bool,
        at: u64,
    },
}

impl Body {
    /// Whether an accelerator took part.
    pub(crate) fn concerns_accelerator(&self) -> bool {
        match self {
            Body::Alloc { device, .. }
            | Body::Free { device, .. }
            | Body::Segment { device, .. }
            | Body::Launch { device, .. }
            | Body::Sync { device, .. }
            | Body::Hold { device, .. }
            | Body::OutOfMemory { device, .. }
            | Body::PeakReset { device } => device.is_cuda(),
            Body::Copy { from, to, .. } => from.is_cuda() || to.is_cuda(),
            Body::Collective { devices, .. } => devices.iter().any(|device| device.is_cuda()),
            Body::Race { .. } => true,
            Body::Batch { .. } | Body::CellStart { .. } | Body::CellEnd { .. } => false,
        }
    }
}

/// Events in the order they happened, shared by all who read them.
pub type Page = Arc<Vec<Event>>;

/// Receives events by the page: keeping one costs nothing per event. Must be quick, and must not emit.
pub trait Reader: Send + Sync {
    /// A page has begun; it comes when it is full, or when someone asks with [`Bus::turn_page`].
    fn on_begin(&self) {}
    /// What comes from here on is a rank's, by its number, or the script's own.
    fn on_rank(&self, _rank: Option<u32>) {}
    fn on_page(&self, page: &Page);
}

impl<F: Fn(&Page) + Send + Sync> Reader for F {
    fn on_page(&self, page: &Page) {
        self(page)
    }
}

/// Events of a page.
const PAGE: usize = 256;
/// Pages kept for their memory: some more than a session's writer may be behind.
const TURNED: usize = 8;

/// Carries events to who reads them. With nobody reading, an event is not even built.
#[derive(Default)]
pub struct Bus {
    listening: AtomicBool,
    tape: Mutex<Tape>,
}

#[derive(Default)]
struct Tape {
    next: u64,
    page: Vec<Event>,
    /// Pages that readers may still have, the oldest first: their memory serves again.
    turned: VecDeque<Page>,
    readers: Vec<(u64, Arc<dyn Reader>)>,
    /// Readers there ever were.
    ids: u64,
    /// Whose turn it is.
    rank: Option<u32>,
}

impl Bus {
    /// True when an event would be read.
    #[inline]
    pub fn listening(&self) -> bool {
        self.listening.load(Ordering::Relaxed)
    }

    /// Emits the event that `body` builds, if anyone reads it.
    #[inline]
    pub fn emit(&self, source: Source, body: impl FnOnce() -> Body) {
        if self.listening() {
            self.deliver(source, body());
        }
    }

    /// Adds a reader until the returned subscription is dropped; it has all events up to then.
    pub fn read(self: &Arc<Self>, reader: Arc<dyn Reader>) -> Subscription {
        let mut tape = self.tape();
        tape.turn();
        let id = tape.ids;
        tape.ids += 1;
        reader.on_rank(tape.rank);
        tape.readers.push((id, reader));
        self.listening.store(true, Ordering::Relaxed);
        Subscription { bus: Arc::clone(self), id }
    }

    /// A rank's turn begins, or the script goes on: one of them runs at a time.
    pub fn go_on_as(&self, rank: Option<u32>) {
        let mut tape = self.tape();
        if tape.rank != rank {
            tape.turn();
            tape.rank = rank;
            tape.readers.iter().for_each(|(_, reader)| reader.on_rank(rank));
        }
    }

    /// Gives the readers what they have not had.
    pub fn turn_page(&self) {
        self.tape().turn();
    }

    #[cold]
    fn deliver(&self, source: Source, body: Body) {
        let mut tape = self.tape();
        if tape.page.is_empty() {
            tape.begin();
        }
        let seq = tape.next;
        tape.next += 1;
        // Straight into the page: an event is too large to be moved about.
        tape.page.push(Event { seq, source, body });
        if tape.page.len() >= PAGE {
            tape.turn();
        }
    }

    #[inline]
    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Tape {
    fn begin(&mut self) {
        if let Some(mut read) = self.turned.pop_front_if(|page| Arc::strong_count(page) == 1)
            && let Some(events) = Arc::get_mut(&mut read)
        {
            events.clear();
            std::mem::swap(&mut self.page, events);
        }
        #[expect(clippy::disallowed_methods, reason = "a page is small, and a constant")]
        self.page.reserve_exact(PAGE);
        self.readers.iter().for_each(|(_, reader)| reader.on_begin());
    }

    fn turn(&mut self) {
        if self.page.is_empty() {
            return;
        }
        let page = Arc::new(std::mem::take(&mut self.page));
        self.readers.iter().for_each(|(_, reader)| reader.on_page(&page));
        self.turned.push_back(page);
        if self.turned.len() > TURNED {
            self.turned.pop_front();
        }
    }
}

/// Keeps a reader on a [`Bus`]; dropping it ends the subscription.
pub struct Subscription {
    bus: Arc<Bus>,
    id: u64,
}

impl Subscription {
    /// Gives the readers what they have not had.
    pub fn turn_page(&self) {
        self.bus.turn_page();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut tape = self.bus.tape();
        tape.turn();
        tape.readers.retain(|(id, _)| *id != self.id);
        if tape.readers.is_empty() {
            tape.turned.clear();
        }
        self.bus.listening.store(!tape.readers.is_empty(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_listening_builds_nothing() {
        let bus = Arc::new(Bus::default());
        bus.emit(Source::default(), || panic!("built"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let subscription = bus.read(Arc::new(move |page: &Page| {
            sink.lock().unwrap().extend(page.iter().map(|e| e.seq));
        }));
        bus.emit(Source::default(), || Body::CellStart { cell: 1, at: 0 });
        bus.emit(Source::default(), || Body::CellEnd { cell: 1, ok: true, at: 1 });
        drop(subscription);
        assert_eq!(*seen.lock().unwrap(), [0, 1]);
        assert!(!bus.listening());
    }

    #[derive(Default)]
    struct Pages(Mutex<Vec<Page>>, AtomicU64);

    impl Reader for Pages {
        fn on_begin(&self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }

        fn on_page(&self, page: &Page) {
            self.0.lock().unwrap().push(Arc::clone(page));
        }
    }

    #[test]
    fn readers_have_every_event_of_their_time_once_and_share_the_pages() {
        let bus = Arc::new(Bus::default());
        let (first, second) = (Arc::new(Pages::default()), Arc::new(Pages::default()));
        let emit =
            |n: u64| (0..n).for_each(|at| bus.emit(Source::default(), || Body::CellStart { cell: 1, at }));
        let early = bus.read(Arc::clone(&first) as _);
        emit(10);
        let late = bus.read(Arc::clone(&second) as _);
        emit(PAGE as u64);
        bus.turn_page();
        bus.turn_page();
        emit(3);
        drop(early);
        emit(1);
        drop(late);
        emit(1);
        let sizes = |pages: &Pages| pages.0.lock().unwrap().iter().map(|p| p.len()).collect::<Vec<_>>();
        assert_eq!((sizes(&first), sizes(&second)), (vec![10, PAGE, 3], vec![PAGE, 3, 1]));
        assert!(Arc::ptr_eq(&first.0.lock().unwrap()[1], &second.0.lock().unwrap()[0]));
        let seqs = |pages: &Pages| {
            pages.0.lock().unwrap().iter().flat_map(|p| p.iter().map(|e| e.seq)).collect::<Vec<_>>()
        };
        assert_eq!(seqs(&second), (10..10 + PAGE as u64 + 4).collect::<Vec<_>>());
        assert_eq!(second.1.load(Ordering::Relaxed), 3);
        assert!(!bus.listening());
    }
}
