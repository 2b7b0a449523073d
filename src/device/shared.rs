//! What all devices of a machine share.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::event::{Bus, Clock, Source, Span};
use crate::device::cancel::Cancel;
use crate::device::cpu::clock::HostClock;
use crate::device::cpu::memory::HostPool;
use crate::device::races::Races;
use crate::device::settings::Settings;

/// Gives the variables that hold tensors, each with the address of any element of its tensor.
pub type Names = dyn Fn() -> Vec<(u64, String)> + Send + Sync;

/// What all devices of a machine share.
pub struct Shared {
    pub bus: Arc<Bus>,
    pub cancel: Cancel,
    /// Page-locked host memory, kept for reuse as PyTorch's caching host allocator keeps it.
    pub pinned: HostPool,
    pub settings: Settings,
    /// Who used memory of simulated devices, in which order.
    pub(crate) races: Races,
    source: AtomicU64,
    clock: HostClock,
    names: Mutex<Option<Arc<Names>>>,
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
            races: Races::default(),
            source: AtomicU64::new(0),
            clock: HostClock::default(),
            names: Mutex::default(),
            warnings: Warnings::default(),
        }
    }

    /// Says who knows the variables' names; asked only when memory runs out.
    pub fn set_names(&self, names: Option<Arc<Names>>) {
        *self.names.lock().unwrap_or_else(|e| e.into_inner()) = names;
    }

    /// Says where warnings go.
    pub(crate) fn set_warner(&self, warner: Option<Arc<Warner>>) {
        *self.warnings.warner.lock().unwrap_or_else(|e| e.into_inner()) = warner;
    }

    /// Warns of what is allowed but seldom meant. A line says the same thing once.
    pub fn warn(&self, text: &str) {
        let Source { cell, line } = self.source();
        let new = {
            let mut said = self.warnings.said.lock().unwrap_or_else(|e| e.into_inner());
            said.insert((cell, line, text.to_string()))
        };
        let warner = self.warnings.warner.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if let Some(warner) = warner.filter(|_| new) {
            warner(text);
        }
    }

    /// The variables that hold tensors, with addresses; none where nobody knows.
    pub fn names(&self) -> Vec<(u64, String)> {
        let names = self.names.lock().unwrap_or_else(|e| e.into_inner()).clone();
        names.map(|ask| ask()).unwrap_or_default()
    }

    /// The script line that is running.
    pub fn source(&self) -> Source {
        let packed = self.source.load(Ordering::Relaxed);
        Source { cell: (packed >> 32) as u32, line: packed as u32 }
    }

    pub(crate) fn set_source(&self, source: Source) {
        let packed = (u64::from(source.cell) << 32) | u64::from(source.line);
        self.source.store(packed, Ordering::Relaxed);
    }

    /// Notes the line that runs, unless this thread [works aside](work_aside).
    #[inline]
    pub fn set_line(&self, line: u32) {
        if ASIDE.get() > 0 {
            return;
        }
        let packed = self.source.load(Ordering::Relaxed);
        self.source.store((packed & !0xffff_ffff) | u64::from(line), Ordering::Relaxed);
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
