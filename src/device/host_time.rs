//! The host's time where it is modelled: what computes beside simulated devices takes time on their clock.
//!
//! A loader's worker is a thread of the host with a time of its own. How far real threads get depends on the computer,
//! so a worker keeps a [`Ledger`] of what it did, and that is put on the clock by the thread that takes the batch,
//! batch by batch: the same program has the same times everywhere.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::event::{Body, Source, Span};

/// A thread of the host with a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostThread(pub(crate) u32);

impl HostThread {
    pub(crate) const MAIN: HostThread = HostThread(0);
}

/// A clock that the host's work moves.
pub trait HostTime: Send + Sync {
    /// The host's time, in nanoseconds since the machine was made.
    fn now(&self) -> u64;

    /// The same for a thread that only looks on: steps of the script that are not on the clock yet stay off it.
    fn seen(&self) -> u64;

    /// How many cores the host has.
    fn cores(&self) -> usize;

    /// The script's thread is not at work for so long.
    fn sleep(&self, nanos: u64);

    /// The script's thread waits until `time`, if that is still to come; the span is its waiting.
    fn wait_until(&self, time: u64) -> Span;

    /// Begins a thread of the host, a rank's, at the time of the one that runs.
    fn begin_thread(&self) -> HostThread;

    /// That thread's time goes on, and that of the one that ran stands still.
    fn run_thread(&self, thread: HostThread);

    /// The running thread waits for the end of another one.
    fn end_thread(&self, thread: HostThread);

    /// So many workers more, or fewer, compete for the host's cores from now on.
    fn crowd(&self, workers: i32);

    /// A worker did what the ledger says from `start` on, on the cores that were free: calls `tell` for each event in
    /// it, with its span, and gives the end.
    fn replay(&self, start: u64, ledger: Ledger, tell: &mut dyn FnMut(Source, Body)) -> u64;
}

/// Steps of a script that are not on a clock yet: counted by the script's thread alone, as it goes on.
#[derive(Debug, Default)]
pub struct Steps(AtomicU64);

impl Steps {
    /// The script's thread has come a step further.
    #[inline]
    pub(crate) fn count(&self) {
        // One thread counts and takes: no read-modify-write is needed.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The steps since this was asked last.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.0.swap(0, Ordering::Relaxed),
        }
    }
}

/// What a worker did, in order.
#[derive(Default)]
pub struct Ledger {
    pub entries: Vec<Entry>,
    steps: u64,
}

/// A stretch of a worker's time.
pub enum Entry {
    /// Nanoseconds on a core, with the event that tells of them where somebody listens.
    Work(u64, Option<Box<(Source, Body)>>),
    /// Nanoseconds without one.
    Sleep(u64),
    /// Steps of a script.
    Steps(u64),
    /// So many bytes of page-locked memory were taken.
    Pinned(u64),
    /// They were given back.
    Unpinned(u64),
}

thread_local! {
    static LEDGER: RefCell<Option<Ledger>> = const { RefCell::new(None) };
}

/// From now on this thread's work goes to a ledger.
pub(crate) fn begin_ledger() {
    LEDGER.with_borrow_mut(|ledger| *ledger = Some(Ledger::default()));
}

/// What this thread did since [`begin_ledger`].
pub(crate) fn end_ledger() -> Ledger {
    let mut ledger = LEDGER.take().unwrap_or_default();
    ledger.flush();
    ledger
}

/// Notes work of this thread, of so many nanoseconds, where it keeps a ledger.
pub(crate) fn note_work(nanos: impl FnOnce() -> u64) -> bool {
    note(|ledger| ledger.entries.push(Entry::Work(nanos(), None)))
}

/// Notes that this thread took page-locked memory, where it keeps a ledger.
pub(crate) fn note_pinned(bytes: u64) -> bool {
    note(|ledger| ledger.entries.push(Entry::Pinned(bytes)))
}

/// Notes that this thread gave page-locked memory back, where it keeps a ledger.
pub(crate) fn note_unpinned(bytes: u64) -> bool {
    note(|ledger| ledger.entries.push(Entry::Unpinned(bytes)))
}

/// Notes that this thread slept, where it keeps a ledger.
pub(crate) fn note_sleep(nanos: u64) -> bool {
    note(|ledger| ledger.entries.push(Entry::Sleep(nanos)))
}

/// Notes a step of a script that this thread runs, where it keeps a ledger.
pub(crate) fn note_step() {
    LEDGER.with_borrow_mut(|ledger| {
        if let Some(ledger) = ledger {
            ledger.steps += 1;
        }
    });
}

/// Keeps the event of the work noted last, whose span is known later; gives it back where there is no ledger.
pub(crate) fn keep_event(source: Source, body: Body) -> Option<Body> {
    LEDGER.with_borrow_mut(|ledger| {
        let Some(ledger) = ledger else { return Some(body) };
        ledger.flush();
        let told = Some(Box::new((source, body)));
        match ledger.entries.last_mut() {
            Some(Entry::Work(_, event @ None)) => *event = told,
            _ => ledger.entries.push(Entry::Work(0, told)),
        }
        None
    })
}

fn note(put: impl FnOnce(&mut Ledger)) -> bool {
    LEDGER.with_borrow_mut(|ledger| {
        let Some(ledger) = ledger else { return false };
        ledger.flush();
        put(ledger);
        true
    })
}

impl Ledger {
    fn flush(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        if steps > 0 {
            self.entries.push(Entry::Steps(steps));
        }
    }
}
