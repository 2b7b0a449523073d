//! A product of two matrices: its operands, its output, and how work on it is cut up.

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;
use crate::device::cpu::parallel;
use crate::device::cpu::scratch::Kept;

use super::operand::Operand;
use super::tiles::Real;

/// `out = alpha * lhs @ rhs`, or `out += …`, of an `m` x `k` and a `k` x `n` matrix.
pub(crate) struct Product<'a, E> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub lhs: &'a dyn Operand<E>,
    pub rhs: &'a dyn Operand<E>,
    pub out: *mut E,
    /// Of rows and columns, in elements.
    pub out_strides: [isize; 2],
    pub alpha: E,
    pub add: bool,
}

// SAFETY: the output is written in disjoint tiles.
unsafe impl<E> Sync for Product<'_, E> {}

impl<E: Real> Product<'_, E> {
    /// Multiplications that it takes.
    pub(crate) fn work(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }

    /// The same product.
    pub(super) fn plain(&self) -> Product<'_, E> {
        Product { ..*self }
    }

    pub(super) fn transposed(&self) -> Product<'_, E> {
        let [rows, columns] = self.out_strides;
        Product { m: self.n, n: self.m, lhs: self.rhs, rhs: self.lhs, out_strides: [columns, rows], ..*self }
    }

    pub(super) unsafe fn clear(&self) {
        for i in 0..self.m as isize {
            for j in 0..self.n as isize {
                // SAFETY: the caller's promise.
                unsafe { *self.out.offset(i * self.out_strides[0] + j * self.out_strides[1]) = E::default() };
            }
        }
    }
}

/// Runs work in pieces: on this thread alone without `threads`.
pub(super) fn pieces(
    threads: bool,
    n: usize,
    grain: usize,
    cancel: &Cancel,
    work: impl Fn(Range<usize>) -> Result<()> + Sync,
) -> Result<()> {
    if threads {
        return parallel::try_for_ranges(n, grain, cancel, work);
    }
    for range in chunks(n, grain) {
        cancel.check()?;
        work(range)?;
    }
    Ok(())
}

pub(super) fn chunks(n: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(size).map(move |start| start..(start + size).min(n))
}

thread_local! {
    /// Packed rows and packed panels.
    pub(super) static LHS: Kept = const { Kept::new() };
    pub(super) static RHS: Kept = const { Kept::new() };
}
