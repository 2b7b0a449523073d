//! Working memory of kernels.

use std::alloc::Layout as Block;
use std::cell::Cell;

use crate::base::{Result, memory};

use super::convert::Compute;

/// `n` zeros. A size that the host refuses is an error, and pages that nothing touches cost nothing.
pub(super) fn zeros<C: Zeroed>(n: usize) -> Result<Vec<C>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let refused = || memory::refused::<C>(n);
    let block = Block::array::<C>(n).map_err(|_| refused())?;
    // SAFETY: the size is above zero; all bytes zero is a value of the type; the vector frees the memory with the
    // layout it was made with.
    unsafe {
        let memory = std::alloc::alloc_zeroed(block).cast::<C>();
        if memory.is_null() { Err(refused()) } else { Ok(Vec::from_raw_parts(memory, n, n)) }
    }
}

/// What is a value, and needs no drop, where all bytes are zero.
///
/// # Safety
/// All bytes zero must be a value.
pub(crate) unsafe trait Zeroed: Copy {}

// SAFETY: compute types are numbers.
unsafe impl<C: Compute> Zeroed for C {}
// SAFETY: an integer.
unsafe impl Zeroed for usize {}
// SAFETY: two integers, and what lies between them.
unsafe impl Zeroed for (u64, usize) {}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Memory that a thread keeps for one purpose between calls.
pub(super) struct Kept(Cell<Vec<Line>>);

impl Kept {
    pub(super) const fn new() -> Kept {
        Kept(Cell::new(Vec::new()))
    }

    /// Lends memory for `n` elements: initialised, aligned to a cache line, the values arbitrary.
    ///
    /// A nested call for the same purpose gets memory of its own. An error where there is none.
    pub(crate) fn lend<C: Compute, R>(
        &self,
        n: usize,
        work: impl FnOnce(&mut [C]) -> Result<R>,
    ) -> Result<R> {
        let bytes = n.checked_mul(size_of::<C>()).ok_or_else(|| memory::refused::<C>(n))?;
        let lines = bytes.div_ceil(size_of::<Line>());
        let mut memory = self.0.take();
        if memory.len() < lines {
            // What was kept goes before more is asked for.
            drop(memory);
            memory = memory::filled(lines, Line { _bytes: [0; 64] })?;
        }
        // SAFETY: the lines hold at least `n` elements; any bytes are a value of a compute type.
        let result = work(unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), n) });
        self.0.set(memory);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static KEPT: Kept = const { Kept::new() };
    }

    #[test]
    fn lent_memory_is_kept_and_nested_loans_are_apart() {
        let first = KEPT.with(|k| {
            k.lend(100, |a: &mut [f32]| {
                a.fill(1.0);
                let inner = |b: &mut [f64]| {
                    b.fill(2.0);
                    Ok(())
                };
                k.lend(100, inner).unwrap();
                assert!(a.iter().all(|&v| v == 1.0));
                assert_eq!(a.as_ptr() as usize % 64, 0);
                Ok(a.as_ptr() as usize)
            })
        });
        let first = first.unwrap();
        let again = KEPT.with(|k| k.lend(50, |a: &mut [f32]| Ok(a.as_ptr() as usize))).unwrap();
        assert!(KEPT.with(|k| k.lend(usize::MAX, |_: &mut [f32]| Ok(()))).is_err());
        assert_eq!(first, again);
    }

    #[test]
    fn refused_memory_is_an_error() {
        assert!(zeros::<f64>(usize::MAX).is_err());
        assert!(zeros::<f64>(1 << 58).is_err());
        assert_eq!(zeros::<i64>(3).unwrap(), [0; 3]);
    }
}
