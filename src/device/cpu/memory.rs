//! Host memory: aligned blocks from a pool, so that large temporaries do not pay for fresh pages at every op.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use crate::base::{DeviceCause, Result};

use super::pages::{LARGE, LARGE_PAGE};
use super::reserve::{self, KeptMemory};
use super::room::has_room;

/// Alignment of every block in bytes: a cache line, and the widest vector.
pub(crate) const ALIGNMENT: usize = 64;

/// Blocks from this size on are kept for reuse instead of going back to the system.
const POOLED: usize = 32 << 10;

/// What is page-locked covers whole pages: two blocks on one page can't both be.
const PAGE: usize = 4096;

/// At most this many bytes are kept, and at most an eighth of the address space where that is limited: what is kept
/// is not there for anything else.
const KEPT: usize = 1 << 30;

/// Host memory of a fixed capacity. Not freed on drop: it goes back to its [`HostPool`].
#[derive(Debug)]
pub struct HostBlock {
    pointer: NonNull<u8>,
    capacity: usize,
    alignment: usize,
}

// SAFETY: a block is plain memory owned by one buffer; kernels that write it hold its view exclusively,
// which the tensor layer ensures by launching work on one thread at a time per storage.
unsafe impl Send for HostBlock {}
// SAFETY: as above.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    /// The first byte. Reading and writing through it is up to the kernels.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Copies bytes in; `false` where they do not fit.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.capacity);
        if fits {
            // SAFETY: the range lies inside the block, and the source is another allocation.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.as_ptr().add(offset), bytes.len());
            }
        }
        fits
    }

    /// Copies bytes out; `false` where the range leaves the block.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> bool {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.capacity);
        if fits {
            // SAFETY: the range lies inside the block, and the target is another allocation.
            unsafe {
                std::ptr::copy_nonoverlapping(self.as_ptr().add(offset), bytes.as_mut_ptr(), bytes.len());
            }
        }
        fits
    }

    /// Bytes as they lie here; none where the range leaves the block. Nobody is to write to them meanwhile.
    pub(crate) fn bytes(&self, offset: usize, bytes: usize) -> &[u8] {
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= self.capacity);
        // SAFETY: the range lies inside the block, which was written to before anybody reads it, and work on a storage is
        // done by one thread at a time: by the one that reads.
        if fits { unsafe { std::slice::from_raw_parts(self.as_ptr().add(offset), bytes) } } else { &[] }
    }

    /// Copies bytes between two blocks, which may be one; `false` where a range leaves its block.
    pub(crate) fn copy_to(&self, offset: usize, to: &HostBlock, to_offset: usize, bytes: usize) -> bool {
        let inside = |at: usize, b: &HostBlock| at.checked_add(bytes).is_some_and(|end| end <= b.capacity);
        let fits = inside(offset, self) && inside(to_offset, to);
        if fits {
            // SAFETY: both ranges lie inside their blocks; `copy` allows overlap.
            unsafe { std::ptr::copy(self.as_ptr().add(offset), to.as_ptr().add(to_offset), bytes) };
        }
        fits
    }
}

/// Knows what else uses prepared memory.
pub(crate) trait Keeper: Send + Sync {
    /// Something is under way with the block: it must not serve others yet.
    fn is_busy(&self, block: &HostBlock) -> bool;

    /// Undoes what was prepared, once nothing is under way: the block goes back to the system.
    fn release(&self, block: &HostBlock);
}

/// Keeps freed blocks by size.
pub struct HostPool {
    state: Arc<Mutex<HostPoolState>>,
    /// Blocks from this capacity on are kept.
    kept_from: usize,
    keeper: OnceLock<Box<dyn Keeper>>,
}

#[derive(Default, Debug)]
struct HostPoolState {
    free: BTreeMap<usize, Vec<HostBlock>>,
    kept: usize,
    /// Freed while something was under way with them.
    busy: Vec<HostBlock>,
}

impl KeptMemory for Mutex<HostPoolState> {
    fn give_back(&self) {
        let HostPoolState { free, busy, .. } =
            std::mem::take(&mut *self.lock().unwrap_or_else(|e| e.into_inner()));
        free.into_values().flatten().chain(busy).for_each(release);
    }
}

impl Default for HostPool {
    /// A pool of ordinary memory: small blocks are the system's business.
    fn default() -> HostPool {
        let state: Arc<Mutex<HostPoolState>> = Arc::default();
        let kept: Weak<Mutex<HostPoolState>> = Arc::downgrade(&state);
        reserve::may_ask(kept);
        HostPool { state, kept_from: POOLED, keeper: OnceLock::new() }
    }
}

impl HostPool {
    /// A pool of memory that costs something to prepare, and so keeps small blocks as well. Blocks are whole pages.
    pub(crate) fn of_prepared() -> HostPool {
        HostPool { state: Arc::default(), kept_from: 0, keeper: OnceLock::new() }
    }

    /// Asks `keeper` from now on before a block serves again or goes back to the system. The first one stays.
    pub(crate) fn keep_with(&self, keeper: Box<dyn Keeper>) {
        let _ = self.keeper.set(keeper);
    }

    /// An uninitialised block of at least `bytes`.
    pub fn take(&self, bytes: usize) -> Result<HostBlock> {
        self.take_prepared(bytes, |_| Ok(()))
    }

    /// An uninitialised block of at least `bytes`; one that is fresh from the system is prepared first.
    pub(crate) fn take_prepared(
        &self,
        bytes: usize,
        prepare: impl FnOnce(&HostBlock) -> Result<()>,
    ) -> Result<HostBlock> {
        let prepared = self.kept_from == 0;
        let size =
            size_class(bytes).and_then(|n| if prepared { n.checked_next_multiple_of(PAGE) } else { Some(n) });
        let capacity = size.ok_or(DeviceCause::HostMemory { bytes })?;
        if capacity >= self.kept_from
            && let Some(block) = self.reuse(capacity)
        {
            return Ok(block);
        }
        if capacity < self.kept_from
            && let Some(block) = small::take(capacity)
        {
            return Ok(block);
        }
        if !has_room(capacity) {
            self.clear();
            if !has_room(capacity) {
                return Err(DeviceCause::HostMemory { bytes }.into());
            }
        }
        reserve::hold()?;
        let alignment = if prepared { PAGE } else { ALIGNMENT };
        let fresh = system_block(capacity, alignment).or_else(|| {
            self.clear();
            system_block(capacity, alignment)
        });
        let block = fresh.ok_or(DeviceCause::HostMemory { bytes })?;
        match prepare(&block) {
            Ok(()) => Ok(block),
            Err(error) => {
                release(block);
                Err(error)
            }
        }
    }

    /// Takes a block back.
    pub fn give(&self, block: HostBlock) {
        if block.capacity < self.kept_from {
            return small::give(block);
        }
        if self.keeper.get().is_some_and(|keeper| keeper.is_busy(&block)) {
            return self.lock().busy.push(block);
        }
        if let Some(block) = self.lock().keep(block) {
            self.release(block);
        }
    }

    /// Bytes kept for reuse.
    pub fn kept(&self) -> usize {
        self.lock().kept
    }

    /// Gives every kept block back to the system.
    pub fn clear(&self) {
        let HostPoolState { free, busy, .. } = std::mem::take(&mut *self.lock());
        free.into_values().flatten().chain(busy).for_each(|block| self.release(block));
    }

    fn reuse(&self, capacity: usize) -> Option<HostBlock> {
        let mut state = self.lock();
        if let Some(keeper) = self.keeper.get().filter(|_| !state.busy.is_empty()) {
            let (busy, free) = std::mem::take(&mut state.busy).into_iter().partition(|b| keeper.is_busy(b));
            state.busy = busy;
            let full: Vec<HostBlock> = Vec::into_iter(free).filter_map(|block| state.keep(block)).collect();
            full.into_iter().for_each(|block| self.release(block));
        }
        let block = state.free.get_mut(&capacity)?.pop()?;
        state.kept -= block.capacity;
        Some(block)
    }

    fn release(&self, block: HostBlock) {
        if let Some(keeper) = self.keeper.get() {
            keeper.release(&block);
        }
        release(block);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HostPoolState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl HostPoolState {
    /// Keeps a block; gives it back where there is no room for it.
    fn keep(&mut self, block: HostBlock) -> Option<HostBlock> {
        if self.kept.saturating_add(block.capacity) > most_kept() {
            return Some(block);
        }
        self.kept += block.capacity;
        self.free.entry(block.capacity).or_default().push(block);
        None
    }
}

impl std::fmt::Debug for HostPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostPool").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Drop for HostPool {
    fn drop(&mut self) {
        self.clear();
    }
}

fn most_kept() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| address_space().map_or(KEPT, |bytes| KEPT.min(bytes / 8)))
}

/// Bytes of address space, where they are limited.
#[cfg(unix)]
fn address_space() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the limit and nothing else.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY)
        .then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn address_space() -> Option<usize> {
    None
}

/// Sizes are rounded up to eighths of their power of two, so that like sizes share blocks.
fn size_class(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(ALIGNMENT);
    let step = if bytes < POOLED { ALIGNMENT } else { bytes.checked_next_power_of_two()? / 8 };
    bytes.checked_next_multiple_of(step).filter(|&n| n <= isize::MAX as usize - ALIGNMENT)
}

fn system_block(capacity: usize, alignment: usize) -> Option<HostBlock> {
    // The program's allocator asks for large pages; a block that starts at one has them throughout.
    let alignment = if capacity < LARGE { alignment } else { LARGE_PAGE };
    let layout = Block::from_size_align(capacity, alignment).ok()?;
    // SAFETY: the layout has a size above zero.
    let pointer = NonNull::new(unsafe { alloc(layout) })?;
    Some(HostBlock { pointer, capacity, alignment })
}

fn release(block: HostBlock) {
    if let Ok(layout) = Block::from_size_align(block.capacity, block.alignment) {
        // SAFETY: the block came from `system_block` with this very layout.
        unsafe { dealloc(block.pointer.as_ptr(), layout) };
    }
}

/// Small blocks of the thread that freed them: a scalar's memory comes back without a call to the system.
mod small {
    use std::cell::RefCell;

    use super::{ALIGNMENT, HostBlock, release};

    /// Sizes kept are multiples of [`ALIGNMENT`] up to so many of them.
    const CLASSES: usize = 16;
    /// Blocks kept of a size.
    const KEPT: usize = 64;

    #[derive(Default)]
    struct Cache([Vec<HostBlock>; CLASSES]);

    thread_local! {
        static CACHE: RefCell<Cache> = RefCell::default();
    }

    impl Drop for Cache {
        fn drop(&mut self) {
            self.0.iter_mut().flat_map(|kept| kept.drain(..)).for_each(release);
        }
    }

    /// A kept block of exactly this capacity.
    pub(super) fn take(capacity: usize) -> Option<HostBlock> {
        CACHE.try_with(|c| c.borrow_mut().0.get_mut(capacity / ALIGNMENT - 1)?.pop()).ok().flatten()
    }

    /// Keeps a block, or gives it back to the system where there is no room.
    pub(super) fn give(block: HostBlock) {
        let mut left = Some(block);
        // A thread that is ending keeps nothing.
        let _ = CACHE.try_with(|c| {
            let mut cache = c.borrow_mut();
            let class = left.as_ref().map_or(CLASSES, |b| b.capacity / ALIGNMENT - 1);
            if let Some(kept) = cache.0.get_mut(class).filter(|kept| kept.len() < KEPT) {
                kept.extend(left.take());
            }
        });
        if let Some(block) = left {
            release(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn large_blocks_are_reused_and_counted() {
        let pool = HostPool::default();
        let block = pool.take(100 << 10).unwrap();
        let (at, capacity) = (block.as_ptr(), block.capacity());
        pool.give(block);
        assert_eq!(pool.kept(), capacity);
        let again = pool.take(100 << 10).unwrap();
        assert_eq!(again.as_ptr(), at);
        assert_eq!(pool.kept(), 0);
        pool.give(again);
    }

    #[test]
    fn a_prepared_block_is_prepared_once() {
        let pool = HostPool::of_prepared();
        let mut prepared = Vec::new();
        let note = |block: &HostBlock| {
            prepared.push(block.capacity());
            Ok(())
        };
        let block = pool.take_prepared(100, note).unwrap();
        pool.give(block);
        assert_eq!((prepared, pool.kept()), (vec![PAGE], PAGE));
        let refuse = |_: &HostBlock| Err(crate::base::Cause::Interrupted.into());
        let again = pool.take_prepared(100, refuse).unwrap();
        assert!(pool.take_prepared(100, refuse).is_err(), "a second block is fresh");
        assert_eq!(pool.kept(), 0, "what could not be prepared is not kept");
        pool.give(again);
    }

    /// Says that blocks are busy until it is told otherwise, and notes what it releases.
    #[derive(Clone, Default)]
    struct Copies(Arc<(AtomicBool, AtomicUsize)>);

    impl Keeper for Copies {
        fn is_busy(&self, _: &HostBlock) -> bool {
            self.0.0.load(Ordering::Relaxed)
        }

        fn release(&self, _: &HostBlock) {
            self.0.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_block_that_a_copy_uses_serves_nobody_else_until_the_copy_ends() {
        let (pool, copies) = (HostPool::of_prepared(), Copies::default());
        pool.keep_with(Box::new(copies.clone()));
        let block = pool.take(5000).unwrap();
        let at = block.as_ptr();
        assert_eq!((at as usize % PAGE, block.capacity() % PAGE), (0, 0), "whole pages are locked");
        copies.0.0.store(true, Ordering::Relaxed);
        pool.give(block);
        let other = pool.take(5000).unwrap();
        assert_ne!(other.as_ptr(), at);
        copies.0.0.store(false, Ordering::Relaxed);
        let again = pool.take(5000).unwrap();
        assert_eq!(again.as_ptr(), at);
        pool.give(again);
        pool.give(other);
        assert_eq!(copies.0.1.load(Ordering::Relaxed), 0);
        pool.clear();
        assert_eq!(copies.0.1.load(Ordering::Relaxed), 2, "both are unlocked before they go");
    }

    #[test]
    fn large_blocks_start_at_a_large_page() {
        let pool = HostPool::default();
        for bytes in [LARGE, 5 << 20, 64 << 20] {
            let block = pool.take(bytes).unwrap();
            assert_eq!(block.as_ptr() as usize % LARGE_PAGE, 0);
            assert!(block.write(bytes - 4, &[1, 2, 3, 4]));
            pool.give(block);
        }
    }

    #[test]
    fn no_machine_has_that_much() {
        assert!(HostPool::default().take(1 << 61).is_err());
        assert!(HostPool::default().take(usize::MAX).is_err());
    }

    #[test]
    fn ranges_outside_a_block_are_refused() {
        let pool = HostPool::default();
        let block = pool.take(64).unwrap();
        assert!(block.write(0, &[1; 64]));
        assert!(!block.write(1, &[1; 64]));
        assert!(!block.read(usize::MAX, &mut [0; 2]));
        pool.give(block);
    }
}
