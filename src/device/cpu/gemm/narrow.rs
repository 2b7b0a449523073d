//! Products with a vector, or with a few of them: every element of the matrix is used once or a few times, so
//! nothing is packed but the vectors.

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;
use crate::device::cpu::isa::{self, Isa, Work};

use super::operand::SLACK;
use super::product::{Product, RHS, chunks, pieces};
use super::tiles::{Dots, Real};

/// Most rows (or columns) that count as few.
const FEW: usize = 8;

/// Elements of the matrix that make a piece.
const PIECE: usize = 1 << 16;

/// Computes a product whose output has few rows or columns; `None` where another way is better.
///
/// # Safety
/// As [`Product::run`].
pub(super) unsafe fn run<E: Real>(p: &Product<E>, threads: bool, cancel: &Cancel) -> Option<Result<()>> {
    // SAFETY: the caller's promise.
    unsafe {
        if p.n <= FEW && p.n <= p.m {
            one_side(p, threads, cancel)
        } else if p.m <= FEW {
            one_side(&p.transposed(), threads, cancel)
        } else {
            None
        }
    }
}

/// The output has few columns.
unsafe fn one_side<E: Real>(p: &Product<E>, threads: bool, cancel: &Cancel) -> Option<Result<()>> {
    let (origin, [outer, k]) = p.lhs.direct()?;
    let neighbours = k == 1 || p.k == 1;
    if !neighbours && outer != 1 {
        return None;
    }
    let part = |range: Range<usize>, vectors: &mut [E]| {
        let vectors = vectors.as_mut_ptr();
        for j in 0..p.n {
            // SAFETY: the scratch has room for `n` vectors of as many elements.
            unsafe { p.rhs.pack(j..j + 1, range.clone(), vectors.add(j * range.len()), 1) };
        }
        let origin = origin.wrapping_offset(range.start as isize * k);
        let shared = PartialSums { p, k: range.len(), add: p.add || range.start > 0, origin, vectors };
        let grain = (PIECE / range.len()).max(4).next_multiple_of(16);
        pieces(threads, p.m, grain, cancel, |rows| {
            // SAFETY: the caller's promise; pieces have rows of their own.
            unsafe { if neighbours { shared.dots(rows, outer) } else { shared.combine(rows, k) } }
            Ok(())
        })
    };
    let room = p.n * p.k.min(LONG) + SLACK;
    Some(chunks(p.k, LONG).try_for_each(|range| {
        cancel.check()?;
        RHS.with(|kept| kept.lend(room, |vectors| part(range, vectors)))
    }))
}

/// Longer sums are added up in parts: their vectors are memory that a thread keeps.
const LONG: usize = 1 << 20;

/// A part of the sums over `k`.
struct PartialSums<'a, E> {
    p: &'a Product<'a, E>,
    k: usize,
    /// Whether an earlier part has been summed into the output.
    add: bool,
    origin: *const E,
    vectors: *mut E,
}

// SAFETY: the matrix and the vectors are only read; the output is written in disjoint pieces.
unsafe impl<E> Sync for PartialSums<'_, E> {}

impl<E: Real> PartialSums<'_, E> {
    /// Rows of neighbours along `k`.
    unsafe fn dots(&self, rows: Range<usize>, row_stride: isize) {
        let (p, tiles) = (self.p, E::tiles());
        let mut i = rows.start;
        while i < rows.end {
            let four = rows.end - i >= 4;
            for j in (0..p.n).step_by(4) {
                let others = 4.min(p.n - j);
                let Some(compute) = tiles.dots(four, others) else { return };
                let [down, across] = p.out_strides;
                let dots = Dots {
                    k: self.k,
                    rows: self.origin.wrapping_offset(i as isize * row_stride),
                    row_stride,
                    others: self.vectors.wrapping_add(j * self.k),
                    other_stride: self.k as isize,
                    out: p.out.wrapping_offset(i as isize * down + j as isize * across),
                    out_strides: p.out_strides,
                    alpha: p.alpha,
                    add: self.add,
                };
                // SAFETY: the rows lie inside the matrix, the vectors in the scratch.
                unsafe { compute(&dots) };
            }
            i += if four { 4 } else { 1 };
        }
    }

    /// Neighbours along the rows: columns of the matrix are added up, each times its factor. A few columns at
    /// a time are added for one vector after another, while they are in the first cache.
    unsafe fn combine(&self, rows: Range<usize>, k_stride: isize) {
        let p = self.p;
        let mut sums = [E::default(); STRIP];
        // SAFETY: the vectors were packed with `k` elements each.
        let factors = unsafe { std::slice::from_raw_parts(self.vectors, p.n * self.k) };
        let length = STRIP / p.n;
        for start in rows.clone().step_by(length) {
            let n = length.min(rows.end - start);
            let Some(sums) = sums.get_mut(..n * p.n) else { return };
            sums.fill(E::default());
            for first in (0..self.k).step_by(COLUMNS) {
                let from = self.origin.wrapping_offset(start as isize + first as isize * k_stride);
                for (sums, factors) in sums.chunks_exact_mut(n).zip(factors.chunks_exact(self.k)) {
                    let factors = factors.get(first..self.k.min(first + COLUMNS)).unwrap_or(&[]);
                    isa::dispatch(Combine { from, k_stride, factors, sums });
                }
            }
            for (j, sums) in sums.chunks_exact(n).enumerate() {
                for (i, &sum) in sums.iter().enumerate() {
                    let [down, across] = p.out_strides;
                    let at = p.out.wrapping_offset((start + i) as isize * down + j as isize * across);
                    // SAFETY: the caller's promise.
                    unsafe { *at = if self.add { *at + p.alpha * sum } else { p.alpha * sum } };
                }
            }
        }
    }
}

/// Sums that stay in the first cache.
const STRIP: usize = 2048;

/// Columns of the matrix that stay there beside them.
const COLUMNS: usize = 8;

struct Combine<'a, E> {
    from: *const E,
    k_stride: isize,
    factors: &'a [E],
    sums: &'a mut [E],
}

impl<E: Real> Work for Combine<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.sums.len();
        // SAFETY: each column has `n` neighbours from here on.
        let column = |p: usize| unsafe {
            std::slice::from_raw_parts(self.from.wrapping_offset(p as isize * self.k_stride), n)
        };
        let mut p = 0;
        let (fours, rest) = self.factors.as_chunks::<4>();
        for &[a, b, c, d] in fours {
            let (x, y, z, w) = (column(p), column(p + 1), column(p + 2), column(p + 3));
            for ((((sum, &x), &y), &z), &w) in self.sums.iter_mut().zip(x).zip(y).zip(z).zip(w) {
                *sum = *sum + a * x + b * y + c * z + d * w;
            }
            p += 4;
        }
        for &a in rest {
            for (sum, &x) in self.sums.iter_mut().zip(column(p)) {
                *sum = *sum + a * x;
            }
            p += 1;
        }
    }
}
