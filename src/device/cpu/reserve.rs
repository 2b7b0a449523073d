//! The program's allocator: the system's, with some memory set aside.
//!
//! What asks for memory by the handful, such as a script's values, texts and maps, has no way to hand an error on. Where
//! the system refuses it, the reserve is given back first, and [`hold`] refuses the next tensor and the script's next step:
//! it ends there with an error, before the reserve is used up. Large memory asks for large pages, whoever takes it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, Weak};

use crate::base::{Result, memory};

use super::pages::{self, LARGE};

/// Bytes set aside. They are address space alone until somebody writes to them.
const BYTES: usize = 40 << 20;

/// What the largest text or array of a script takes while it grows, and some more. What is larger is asked for in
/// [`memory`], and refused there.
const HANDFUL: usize = 36 << 20;

#[global_allocator]
static ALLOCATOR: Reserving = Reserving { reserve: AtomicPtr::new(null_mut()) };

/// Freed memory that somebody keeps for reuse.
pub(super) trait KeptMemory: Send + Sync {
    /// Gives it to the system.
    fn give_back(&self);
}

static KEPT: Mutex<Vec<Weak<dyn KeptMemory>>> = Mutex::new(Vec::new());

/// Has this memory given back where there is none left for the reserve.
pub(super) fn may_ask(kept: Weak<dyn KeptMemory>) {
    let mut all = KEPT.lock().unwrap_or_else(|e| e.into_inner());
    all.retain(|kept| kept.strong_count() > 0);
    all.push(kept);
}

fn ask_for_kept() {
    let all: Vec<_> = {
        let all = KEPT.lock().unwrap_or_else(|e| e.into_inner());
        all.iter().filter_map(Weak::upgrade).collect()
    };
    all.iter().for_each(|kept| kept.give_back());
}

struct Reserving {
    /// Null where nothing is set aside.
    reserve: AtomicPtr<u8>,
}

/// Sets the reserve aside, once it is gone or was never there; for that, freed memory that is kept for reuse goes back to
/// the system.
///
/// # Errors
/// There is no memory for it.
#[inline]
pub fn hold() -> Result<()> {
    if ALLOCATOR.reserve.load(Ordering::Relaxed).is_null() { renew() } else { Ok(()) }
}

/// Has the C library keep what it has taken: programs run beside the main thread, where glibc gives them a heap that it
/// would shrink and grow again all the time. Large blocks come from the heap as well, up to the most that glibc would come
/// to by itself; setting either threshold ends its own adjusting, and with the first one alone every picture and every
/// batch would be mapped, cleared and unmapped again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn keep_heap() {
    const MAPPED: libc::c_int = 32 << 20;
    const KEPT: libc::c_int = 2 * MAPPED;
    // SAFETY: the call takes numbers only, and a lock of its own. One that is refused changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn keep_heap() {}

#[cold]
fn renew() -> Result<()> {
    if ALLOCATOR.set_aside() {
        return Ok(());
    }
    ask_for_kept();
    if ALLOCATOR.set_aside() { Ok(()) } else { Err(memory::refused::<u8>(BYTES)) }
}

const fn whole() -> Layout {
    // SAFETY: the alignment is a power of two, and the size far below the largest.
    unsafe { Layout::from_size_align_unchecked(BYTES, 16) }
}

impl Reserving {
    #[cold]
    fn set_aside(&self) -> bool {
        // SAFETY: the layout has a size above zero.
        let fresh = unsafe { System.alloc(whole()) };
        if fresh.is_null() {
            return false;
        }
        let before = self.reserve.swap(fresh, Ordering::AcqRel);
        if !before.is_null() {
            // SAFETY: another thread set it aside with this layout, and nobody else has it any more.
            unsafe { System.dealloc(before, whole()) };
        }
        true
    }

    /// Gives the reserve back for `bytes` that the system refused; whether to ask again.
    #[cold]
    fn give_back(&self, bytes: usize) -> bool {
        if bytes > HANDFUL {
            return false;
        }
        let reserve = self.reserve.swap(null_mut(), Ordering::AcqRel);
        if !reserve.is_null() {
            // SAFETY: it was set aside with this layout, and this thread took it out.
            unsafe { System.dealloc(reserve, whole()) };
        }
        // Another thread may have given it back just now.
        true
    }
}

// SAFETY: everything is the system's allocator's own; it is asked a second time where it gave nothing.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() && self.give_back(layout.size()) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        if layout.size() >= LARGE && !block.is_null() {
            pages::advise(block, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        if block.is_null() && self.give_back(layout.size()) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        if layout.size() >= LARGE && !block.is_null() {
            pages::advise(block, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(block, layout, size) };
        if moved.is_null() && self.give_back(size) {
            // SAFETY: the caller's promise; what is refused leaves the block as it was.
            return unsafe { System.realloc(block, layout, size) };
        }
        if size >= LARGE && !moved.is_null() {
            pages::advise(moved, size);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_goes_for_handfuls_alone_and_comes_back() {
        let own = Reserving { reserve: AtomicPtr::new(null_mut()) };
        let held = || !own.reserve.load(Ordering::Relaxed).is_null();
        assert!(own.set_aside() && own.set_aside() && held());
        assert!(!own.give_back(HANDFUL + 1) && held());
        assert!(own.give_back(HANDFUL) && !held());
        assert!(own.give_back(1));
        hold().unwrap();
        hold().unwrap();
        let mut values = vec![1u8; 3];
        values.reserve(1000);
        assert_eq!(values, [1, 1, 1]);
        assert!(values.try_reserve(usize::MAX / 4).is_err());
    }
}
