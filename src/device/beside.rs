//! Work beside the clock: what one kernel of a real GPU does is here made of several, and neither their launches nor the
//! memory between them is there on the device that is modelled.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::buffer::Buffer;

/// From here on addresses are of no device's memory.
const UNSEEN: u64 = 1 << 62;

/// Apart from each other by so much, as a pool's are.
const STEP: u64 = 512;

static NEXT: AtomicU64 = AtomicU64::new(UNSEEN);

thread_local! {
    static BESIDE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` beside the clock of simulated devices; gives its result, and the operations that its kernels took.
pub(crate) fn beside<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let _before = Restored(BESIDE.replace(Some(0)));
    let made = work();
    (made, BESIDE.get().unwrap_or(0))
}

/// Runs `work` on the clock, also within what runs beside it: its memory stays.
pub(crate) fn on_the_clock<R>(work: impl FnOnce() -> R) -> R {
    let _before = Restored(BESIDE.replace(None));
    work()
}

/// Whether the thread works beside the clock.
#[inline]
pub(crate) fn is_beside() -> bool {
    BESIDE.get().is_some()
}

/// Counts what a kernel took.
pub(super) fn count(flops: u64) {
    BESIDE.set(BESIDE.get().map(|all| all.saturating_add(flops)));
}

/// An address for memory that is on no device.
pub(super) fn unseen_address(bytes: usize) -> u64 {
    NEXT.fetch_add((bytes as u64 + STEP).next_multiple_of(STEP), Ordering::Relaxed)
}

/// Whether a buffer is memory that was taken beside the clock.
pub(crate) fn is_unseen(buffer: &Buffer) -> bool {
    buffer.address >= UNSEEN
}

/// Puts back how the thread worked.
struct Restored(Option<u64>);

impl Drop for Restored {
    fn drop(&mut self) {
        BESIDE.set(self.0);
    }
}
