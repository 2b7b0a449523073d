//! Host memory: aligned blocks from a pool, so that large temporaries do not pay for fresh pages at every op.

use std::alloc::{Layout as Block, alloc, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;

use crate::base::{Cause, Result};

/// Alignment of every block in bytes: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// Blocks from this size on are kept for reuse instead of going back to the system.
const POOLED: usize = 32 << 10;

/// At most this many bytes are kept.
const KEPT: usize = 1 << 30;

/// Host memory of a fixed capacity. Not freed on drop: it goes back to its [`HostPool`].
#[derive(Debug)]
pub struct HostBlock {
    pointer: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a block is plain memory owned by one buffer; kernels that write it hold its view exclusively,
// which the tensor layer ensures by launching work on one thread at a time per storage.
unsafe impl Send for HostBlock {}
// SAFETY: as above.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    /// The first byte. Reading and writing through it is up to the kernels.
    pub fn as_ptr(&self) -> *mut u8 {
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

    /// Copies bytes between two blocks, which may be one; `false` where a range leaves its block.
    pub fn copy_to(&self, offset: usize, to: &HostBlock, to_offset: usize, bytes: usize) -> bool {
        let inside = |at: usize, b: &HostBlock| at.checked_add(bytes).is_some_and(|end| end <= b.capacity);
        let fits = inside(offset, self) && inside(to_offset, to);
        if fits {
            // SAFETY: both ranges lie inside their blocks; `copy` allows overlap.
            unsafe { std::ptr::copy(self.as_ptr().add(offset), to.as_ptr().add(to_offset), bytes) };
        }
        fits
    }
}

/// Keeps freed large blocks by size.
#[derive(Default, Debug)]
pub struct HostPool {
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    free: BTreeMap<usize, Vec<HostBlock>>,
    kept: usize,
}

impl HostPool {
    /// An uninitialised block of at least `bytes`.
    pub fn take(&self, bytes: usize) -> Result<HostBlock> {
        let capacity = size_class(bytes).ok_or(Cause::HostMemory { bytes })?;
        if capacity >= POOLED
            && let Some(block) = self.reuse(capacity)
        {
            return Ok(block);
        }
        system_block(capacity)
            .or_else(|| {
                self.clear();
                system_block(capacity)
            })
            .ok_or_else(|| Cause::HostMemory { bytes }.into())
    }

    /// Takes a block back.
    pub fn give(&self, block: HostBlock) {
        if block.capacity < POOLED {
            return release(block);
        }
        let mut state = self.lock();
        if state.kept.saturating_add(block.capacity) > KEPT {
            drop(state);
            return release(block);
        }
        state.kept += block.capacity;
        state.free.entry(block.capacity).or_default().push(block);
    }

    /// Bytes kept for reuse.
    pub fn kept(&self) -> usize {
        self.lock().kept
    }

    /// Gives every kept block back to the system.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.kept = 0;
        let free = std::mem::take(&mut state.free);
        drop(state);
        free.into_values().flatten().for_each(release);
    }

    fn reuse(&self, capacity: usize) -> Option<HostBlock> {
        let mut state = self.lock();
        let block = state.free.get_mut(&capacity)?.pop()?;
        state.kept -= block.capacity;
        Some(block)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Drop for HostPool {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Sizes are rounded up to eighths of their power of two, so that like sizes share blocks.
fn size_class(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(ALIGNMENT);
    let step = if bytes < POOLED { ALIGNMENT } else { bytes.checked_next_power_of_two()? / 8 };
    bytes.checked_next_multiple_of(step).filter(|&n| n <= isize::MAX as usize - ALIGNMENT)
}

fn system_block(capacity: usize) -> Option<HostBlock> {
    let layout = Block::from_size_align(capacity, ALIGNMENT).ok()?;
    // SAFETY: the layout has a size above zero.
    let pointer = NonNull::new(unsafe { alloc(layout) })?;
    Some(HostBlock { pointer, capacity })
}

fn release(block: HostBlock) {
    if let Ok(layout) = Block::from_size_align(block.capacity, ALIGNMENT) {
        // SAFETY: the block came from `system_block` with this very layout.
        unsafe { dealloc(block.pointer.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
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
