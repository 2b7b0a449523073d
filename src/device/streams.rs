//! Which stream is current, and who captures a graph: both belong to the thread, as in PyTorch.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The streams that are current on a thread, by the number of the device's context, where they are not the default ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(Option<Arc<[(u64, u32)]>>);

impl Streams {
    /// The thread's, as they are now.
    pub(crate) fn current() -> Streams {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The stream of a context; 0 is the default stream.
    #[inline]
    pub(super) fn get(&self, context: u64) -> u32 {
        let Some(all) = &self.0 else { return 0 };
        all.iter().find(|(id, _)| *id == context).map_or(0, |(_, stream)| *stream)
    }

    fn set(&mut self, context: u64, stream: u32) {
        let others = self.0.iter().flat_map(|all| all.iter().copied()).filter(|(id, _)| *id != context);
        let own = (stream != 0).then_some((context, stream));
        let all: Arc<[(u64, u32)]> = others.chain(own).collect();
        self.0 = (!all.is_empty()).then_some(all);
    }
}

thread_local! {
    static CURRENT: RefCell<Streams> = const { RefCell::new(Streams(None)) };
    static TOKEN: Cell<u64> = const { Cell::new(0) };
    /// The GPUs that the thread has given work to, a bit each.
    static USED: Cell<u64> = const { Cell::new(0) };
}

/// The thread gives a GPU work.
#[inline]
pub(super) fn note_used(gpu: u16) {
    USED.set(USED.get() | 1 << (gpu & 63));
}

/// Whether the thread has given a GPU work.
pub(crate) fn has_used(gpu: usize) -> bool {
    USED.get() & 1 << (gpu & 63) != 0
}

/// The thread's current stream of a context.
#[inline]
pub(super) fn current(context: u64) -> u32 {
    CURRENT.with_borrow(|streams| streams.get(context))
}

/// Makes a stream of a context the thread's current one.
pub(super) fn set_current(context: u64, stream: u32) {
    CURRENT.with_borrow_mut(|streams| streams.set(context, stream));
}

/// A number that contexts are told apart by, from 1.
pub(super) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A number that threads are told apart by, from 1.
pub(super) fn thread_token() -> u64 {
    if TOKEN.get() == 0 {
        TOKEN.set(next_id());
    }
    TOKEN.get()
}
