//! Working memory of kernels.

use std::alloc::Layout as Block;
use std::cell::Cell;

use crate::base::{Cause, Result};

use super::convert::Compute;

/// `n` zeros. A size that the host refuses is an error, and pages that nothing touches cost nothing.
pub fn zeros<C: Compute>(n: usize) -> Result<Vec<C>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let refused = || Cause::HostMemory { bytes: n.saturating_mul(size_of::<C>()) };
    let block = Block::array::<C>(n).map_err(|_| refused())?;
    // SAFETY: the size is above zero; all bytes zero is a value of every compute type; the vector frees the
    // memory with the layout it was made with.
    unsafe {
        let memory = std::alloc::alloc_zeroed(block).cast::<C>();
        if memory.is_null() { Err(refused().into()) } else { Ok(Vec::from_raw_parts(memory, n, n)) }
    }
}

/// `n` times a value, or an error where the host refuses the memory.
pub fn filled<T: Copy>(n: usize, value: T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    if values.try_reserve_exact(n).is_err() {
        return Err(Cause::HostMemory { bytes: n.saturating_mul(size_of::<T>()) }.into());
    }
    values.resize(n, value);
    Ok(values)
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Memory that a thread keeps for one purpose between calls.
pub struct Kept(Cell<Vec<Line>>);

impl Kept {
    pub const fn new() -> Kept {
        Kept(Cell::new(Vec::new()))
    }

    /// Lends memory for `n` elements: initialised, aligned to a cache line, the values arbitrary.
    ///
    /// A nested call for the same purpose gets memory of its own.
    pub fn lend<C: Compute, R>(&self, n: usize, work: impl FnOnce(&mut [C]) -> R) -> R {
        let lines = (n * size_of::<C>()).div_ceil(size_of::<Line>());
        let mut memory = self.0.take();
        if memory.len() < lines {
            memory = vec![Line { _bytes: [0; 64] }; lines];
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
                k.lend(100, |b: &mut [f64]| b.fill(2.0));
                assert!(a.iter().all(|&v| v == 1.0));
                assert_eq!(a.as_ptr() as usize % 64, 0);
                a.as_ptr() as usize
            })
        });
        let again = KEPT.with(|k| k.lend(50, |a: &mut [f32]| a.as_ptr() as usize));
        assert_eq!(first, again);
    }

    #[test]
    fn refused_memory_is_an_error() {
        assert!(zeros::<f64>(usize::MAX).is_err());
        assert!(zeros::<f64>(1 << 58).is_err());
        assert_eq!(zeros::<i64>(3).unwrap(), [0; 3]);
        assert!(filled(usize::MAX, 1u8).is_err());
        assert_eq!(filled(2, 'a').unwrap(), ['a', 'a']);
    }
}
