//! Products with a vector, or with a few of them: every element of the matrix is used once or a few times, so
//! nothing is packed but the vectors.

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;
use crate::device::cpu::isa::{self, Isa, Work};

use super::operand::{SLACK, in_place};
use super::product::{Product, RHS, chunks, pieces};
use super::tiles::{Dots, MOST_LANES, Real};

/// Most rows (or columns) that count as few.
const FEW: usize = 8;

/// Elements of the matrix that make a piece.
const PIECE: usize = 1 << 16;

/// Neighbours of a piece, at least, where columns are added up: so much is read of each at a time.
const LEAST_RUN: usize = 256;

/// Computes a product whose output has few rows or columns; `None` where another way is better.
///
/// # Safety
/// As [`Product::run`].
pub(super) unsafe fn run<E: Real>(p: &Product<E>, threads: bool, cancel: &Cancel) -> Option<Result<()>> {
    // SAFETY: the caller's promise.
    unsafe {
        if p.n <= FEW && p.n <= p.m {
            if by_tiles(&p.transposed()) { None } else { one_side(p, threads, cancel) }
        } else if p.m <= FEW && !by_tiles(p) {
            one_side(&p.transposed(), threads, cancel)
        } else {
            None
        }
    }
}

/// Elements of a matrix that the second cache holds.
const NEAR: usize = 1 << 16;

/// Whether few rows are better multiplied tile by tile: where the matrix is small and its panels need no packing, or where
/// its sums are so short that to pack it takes less than what ends each of them.
fn by_tiles<E: Real>(p: &Product<E>) -> bool {
    let tiles = p.lhs.tiles();
    if p.m == 1 || p.out_strides[1] != 1 || p.n < tiles.width() {
        return false;
    }
    let near = p.k.saturating_mul(p.n) <= NEAR;
    if near && in_place(p.rhs).is_some() {
        return true;
    }
    // Measured, where panels are turned by vectors of sixteen.
    tiles.lanes == MOST_LANES && p.k < p.m * if near { 32 } else { 12 }
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
        let grain = (PIECE / range.len()).max(if neighbours { 4 } else { LEAST_RUN }).next_multiple_of(16);
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

    /// Neighbours along the rows: columns of the matrix are added up, each times its factors.
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
            let from = self.origin.wrapping_add(start);
            isa::dispatch(Combine { from, k_stride, k: self.k, factors, n, sums: &mut *sums });
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
const STRIP: usize = 4096;

/// Columns that are added before the sums go back there.
const COLUMNS: usize = 8;

/// Neighbours that are summed at once, and those that are left over.
const WIDE: usize = 32;
const NARROW: usize = 8;

/// Vectors that an element of the matrix is multiplied by while it is in a register.
const TOGETHER: usize = 4;

/// Columns of `n` neighbours, the sums of all of them times their factors.
struct Combine<'a, E> {
    from: *const E,
    k_stride: isize,
    k: usize,
    /// `k` for each of the vectors.
    factors: &'a [E],
    n: usize,
    /// `n` for each of the vectors.
    sums: &'a mut [E],
}

impl<E: Real> Combine<'_, E> {
    /// `N` neighbours from `at` on, of some columns, for all vectors.
    #[inline(always)]
    fn panel<I: Isa, const N: usize>(&mut self, at: usize, columns: Range<usize>) {
        let vectors = self.factors.len() / self.k;
        let fours = vectors / TOGETHER * TOGETHER;
        for first in (0..fours).step_by(TOGETHER) {
            self.some::<I, N, TOGETHER>(first, at, columns.clone());
        }
        if vectors - fours >= 2 {
            self.some::<I, N, 2>(fours, at, columns.clone());
        }
        if vectors % 2 == 1 {
            self.some::<I, N, 1>(vectors - 1, at, columns);
        }
    }

    /// The same for `J` vectors.
    #[inline(always)]
    fn some<I: Isa, const N: usize, const J: usize>(
        &mut self,
        first: usize,
        at: usize,
        columns: Range<usize>,
    ) {
        debug_assert!((first + J) * self.k <= self.factors.len() && (first + J) * self.n <= self.sums.len());
        // SAFETY: there are `k` factors and `n` sums for each vector, and `N` of those from `at` on; each column has `n`
        // neighbours from the first on.
        unsafe {
            let place = |j: usize| (first + j) * self.n + at;
            let mut sums: [[E; N]; J] = std::array::from_fn(|j| *self.sums.as_ptr().add(place(j)).cast());
            for p in columns {
                let column = self.from.wrapping_offset(p as isize * self.k_stride + at as isize);
                let column = &*column.cast::<[E; N]>();
                for (j, sums) in sums.iter_mut().enumerate() {
                    let factor = *self.factors.get_unchecked((first + j) * self.k + p);
                    for (sum, &value) in sums.iter_mut().zip(column) {
                        *sum = factor.fma::<I>(value, *sum);
                    }
                }
            }
            for (j, sums) in sums.into_iter().enumerate() {
                *self.sums.as_mut_ptr().add(place(j)).cast() = sums;
            }
        }
    }
}

impl<E: Real> Work for Combine<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let (wide, narrow) = (self.n / WIDE * WIDE, self.n / NARROW * NARROW);
        for columns in chunks(self.k, COLUMNS) {
            (0..wide).step_by(WIDE).for_each(|at| self.panel::<I, WIDE>(at, columns.clone()));
            (wide..narrow).step_by(NARROW).for_each(|at| self.panel::<I, NARROW>(at, columns.clone()));
            (narrow..self.n).for_each(|at| self.panel::<I, 1>(at, columns.clone()));
        }
    }
}
