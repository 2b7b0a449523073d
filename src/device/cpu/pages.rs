//! Large pages for large memory: fewer faults where it is first written, fewer misses where it is walked across, and
//! gigabytes that go back to the system in milliseconds.

/// Bytes from which on memory asks for large pages.
pub(super) const LARGE: usize = 4 << 20;

/// Bytes of a large page.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Asks for large pages within `bytes` from `start` on. Where the system has none, nothing changes.
#[cfg(target_os = "linux")]
#[cold]
pub(crate) fn advise(start: *mut u8, bytes: usize) {
    let skipped = start.align_offset(LARGE_PAGE);
    let Some(whole) = bytes.checked_sub(skipped).map(|rest| rest - rest % LARGE_PAGE).filter(|&n| n > 0)
    else {
        return;
    };
    // SAFETY: the range lies inside the memory and is of whole pages; the advice changes no contents.
    unsafe { libc::madvise(start.wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn advise(_start: *mut u8, _bytes: usize) {}
