//! What all devices of a machine share.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::event::{Bus, Clock, HIDDEN_CELLS, Source, Span};
use crate::device::cancel::Cancel;
use crate::device::cpu::clock::HostClock;
use crate::device::cpu::memory::HostPool;
use crate::device::settings::Settings;

/// What all devices of a machine share.
pub struct Shared {
    pub bus: Arc<Bus>,
    pub cancel: Cancel,
    /// Page-locked host memory, kept for reuse as PyTorch's caching host allocator keeps it.
    pub pinned: HostPool,
    pub settings: Settings,
    source: AtomicU64,
    caller: AtomicU32,
    /// Lines of the file before the code that runs.
    before: AtomicU32,
    clock: HostClock,
    warnings: Warnings,
}

impl Shared {
    /// Of a new session, with nothing recorded.
    pub fn new() -> Shared {
        Shared {
            bus: Arc::default(),
            cancel: Cancel::default(),
            pinned: HostPool::of_prepared(),
            settings: Settings::default(),
            source: AtomicU64::new(0),
            caller: AtomicU32::new(0),
            before: AtomicU32::new(0),
            clock: HostClock::default(),
            warnings: Warnings::default(),
        }
    }

    /// Says where warnings go.
    pub(crate) fn set_warner(&self, warner: Option<Arc<Warner>>) {
        *self.warnings.warner.lock().unwrap_or_else(|e| e.into_inner()) = warner;
    }

    /// Warns of what is allowed but seldom meant. A line says the same thing once.
    pub fn warn(&self, text: &str) {
        let Source { cell, line, .. } = self.source();
        let new = {
            let mut said = self.warnings.said.lock().unwrap_or_else(|e| e.into_inner());
            said.insert((cell, line, text.to_string()))
        };
        let warner = self.warnings.warner.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if let Some(warner) = warner.filter(|_| new) {
            warner(text);
        }
    }

    /// The script line that is running.
    pub fn source(&self) -> Source {
        let packed = self.source.load(Ordering::Relaxed);
        let caller = self.caller.load(Ordering::Relaxed);
        Source { cell: (packed >> 32) as u32, line: packed as u32, caller }
    }

    pub(crate) fn set_source(&self, source: Source) {
        let packed = (u64::from(source.cell) << 32) | u64::from(source.line);
        self.source.store(packed, Ordering::Relaxed);
        self.caller.store(source.caller, Ordering::Relaxed);
    }

    /// Notes the line that runs, counted from the code's first, unless this thread [works aside](work_aside).
    #[inline]
    pub fn set_line(&self, line: u32) {
        if ASIDE.get() > 0 {
            return;
        }
        let packed = self.source.load(Ordering::Relaxed);
        let line = line.wrapping_add(self.before.load(Ordering::Relaxed));
        self.source.store((packed & !0xffff_ffff) | u64::from(line), Ordering::Relaxed);
    }

    /// Some code begins at its first line.
    pub(crate) fn begin(&self, code: CodePlace) {
        self.before.store(code.before, Ordering::Relaxed);
        self.set_source(Source::at(code.cell, code.before + 1));
    }

    /// A function of some code is called from the line that runs, and has lines of its own until what is given is
    /// dropped. What a lesson runs stays the lesson's.
    pub(crate) fn call(&self, code: CodePlace) -> Option<Called<'_>> {
        if ASIDE.get() > 0 {
            return None;
        }
        let called =
            Called { shared: self, back: self.source(), before: self.before.load(Ordering::Relaxed) };
        let Source { cell, line, .. } = called.back;
        let cell = if cell >= HIDDEN_CELLS { cell } else { code.cell };
        self.before.store(code.before, Ordering::Relaxed);
        self.set_source(Source { cell, line, caller: line });
        Some(called)
    }

    /// What a lesson asks about a cell runs, in lines of its own, until what is given is dropped.
    pub(crate) fn beside(&self, cell: u32) -> Called<'_> {
        let called =
            Called { shared: self, back: self.source(), before: self.before.swap(0, Ordering::Relaxed) };
        self.set_source(Source::at(cell, 0));
        called
    }

    /// Goes back to a line, unless this thread works aside.
    pub(crate) fn go_back(&self, source: Source) {
        if ASIDE.get() == 0 {
            self.set_source(source);
        }
    }

    /// Items that come at the line that runs now, whatever runs in between.
    pub(crate) fn at_one_line<I: Iterator>(
        self: &Arc<Self>,
        items: I,
    ) -> impl Iterator<Item = I::Item> + use<I> {
        let (shared, source, mut items) = (Arc::clone(self), self.source(), items);
        std::iter::from_fn(move || {
            shared.go_back(source);
            items.next()
        })
    }

    /// Runs what may call the script's functions, and goes back to the line that runs now.
    pub(crate) fn staying<T>(&self, run: impl FnOnce() -> T) -> T {
        let source = self.source();
        let result = run();
        self.go_back(source);
        result
    }

    /// Nanoseconds since the machine was made, measured.
    #[inline]
    pub fn nanos(&self) -> u64 {
        self.clock.nanos()
    }

    /// The measured span from `start` until now.
    pub(crate) fn span_since(&self, start: u64) -> Span {
        Span { start, nanos: self.nanos().saturating_sub(start), clock: Clock::Measured }
    }
}

/// The cell that code was written in, and how many lines of its file stand before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CodePlace {
    pub cell: u32,
    pub before: u32,
}

/// The caller's line runs again once it is dropped.
#[must_use = "the function's lines end once it is dropped"]
pub(crate) struct Called<'s> {
    shared: &'s Shared,
    back: Source,
    before: u32,
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.shared.before.store(self.before, Ordering::Relaxed);
        self.shared.set_source(self.back);
    }
}

/// Takes a warning's text.
pub(crate) type Warner = dyn Fn(&str) + Send + Sync;

#[derive(Default)]
struct Warnings {
    warner: Mutex<Option<Arc<Warner>>>,
    said: Mutex<HashSet<(u32, u32, String)>>,
}

thread_local! {
    /// 0 on the script's own thread.
    pub(crate) static ASIDE: Cell<u32> = const { Cell::new(0) };
}

/// From now on events of this thread carry the line that the script's own thread is at: it is the one that waits.
/// What it computes on the CPU is told apart by `number`, from 1.
pub(crate) fn work_aside(number: u32) {
    ASIDE.set(number.max(1));
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}
