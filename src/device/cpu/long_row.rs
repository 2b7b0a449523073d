//! Rows of some length copied straight from memory to memory.

use super::isa::{self, Isa, Work};

/// Bytes from which on a row is worth a copy of its own.
pub(super) const LONG_ROW: usize = 256;

/// Bytes copied at once: a cache line.
const LINE: usize = 64;

/// Bytes of a page, by whose places a processor first tells whether a load waits for a store before it.
const PAGE: usize = 4096;

/// Copies `bytes` bytes, at least a cache line of them.
///
/// # Safety
/// Both lie in memory that can be read and written so far, apart from one another.
#[inline]
pub(super) unsafe fn copy_row<T>(from: *const T, to: *mut T, bytes: usize) {
    debug_assert!(bytes >= LINE);
    isa::dispatch(CopyRow { from: from.cast(), to: to.cast(), bytes });
}

struct CopyRow {
    from: *const [u8; LINE],
    to: *mut [u8; LINE],
    bytes: usize,
}

impl CopyRow {
    #[inline(always)]
    fn line(&self, at: usize) {
        // SAFETY: the caller's promise; no line begins past the last.
        unsafe { self.to.byte_add(at).write_unaligned(self.from.byte_add(at).read_unaligned()) };
    }
}

impl Work for CopyRow {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        // Stores fall on whole cache lines, except for the first and the last.
        let first = LINE - self.to.addr() % LINE;
        let last = self.bytes - LINE;
        let lines = last.saturating_sub(first).div_ceil(LINE);
        self.line(0);
        // Where what is stored lies a little behind what is loaded next, by its place in a page, every load would wait.
        if self.to.addr().wrapping_sub(self.from.addr()) % PAGE < PAGE / 2 {
            (0..lines).rev().for_each(|i| self.line(first + i * LINE));
        } else {
            (0..lines).for_each(|i| self.line(first + i * LINE));
        }
        self.line(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_copied_whole_and_nothing_beside_it() {
        let from: Vec<u8> = (0..3 * PAGE).map(|i| (i * 7 % 251) as u8).collect();
        let lengths = (LINE..LINE * 5).chain([1021, 4084, 4096]);
        for (length, (start, place)) in
            lengths.zip([(0, 0), (3, 12), (12, 3), (64, 1), (1, 63)].into_iter().cycle())
        {
            for shift in [0, 8, 2048, 4090] {
                let (start, place) = (start + shift, place + 64);
                let mut to = vec![255; 3 * PAGE];
                // SAFETY: both have room for so many bytes from there on.
                unsafe { copy_row(from[start..].as_ptr(), to[place..].as_mut_ptr(), length) };
                assert_eq!(
                    to[place..place + length],
                    from[start..start + length],
                    "{length} bytes {start} -> {place}"
                );
                let beside = to[..place].iter().chain(&to[place + length..]);
                assert!(beside.copied().all(|b| b == 255), "{length} bytes {start} -> {place}");
            }
        }
    }
}
