//! Filters of one channel over rows below one another, in vectors of whatever instruction set.

#![allow(
    clippy::indexing_slicing,
    reason = "indices are bounded by the lengths of fixed-size arrays of registers"
)]

use crate::base::dtype::Element;
use crate::device::cpu::gemm::tall::{TALL, Tall};
use crate::device::cpu::gemm::tiles::Vector;

/// Rows [`TALL`] at a time, and `N` vectors of their columns, by a filter of `H` rows.
///
/// # Safety
/// As [`TallFn`](crate::device::cpu::gemm::tall::TallFn).
#[inline(always)]
pub(super) unsafe fn tall<V: Vector, const N: usize, const H: usize>(t: &Tall<V::E>) {
    let (last, lowest) = (t.columns - N * V::LANES, t.rows - TALL);
    let mut row = 0;
    while row < t.rows {
        let mut column = 0;
        while column < t.columns {
            // SAFETY: the caller's promise.
            unsafe { panel::<V, N, H>(t, row.min(lowest), column.min(last)) };
            column += N * V::LANES;
        }
        row += TALL;
    }
}

#[inline(always)]
unsafe fn panel<V: Vector, const N: usize, const H: usize>(t: &Tall<V::E>, row: usize, column: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::splat(V::E::default()); N]; TALL];
        let first = t.from.add(row * t.pitch + column);
        for x in 0..t.across {
            let mut factors = [V::splat(t.bias); H];
            for (y, factor) in factors.iter_mut().enumerate() {
                *factor = V::splat(*t.factors.add(y * t.across + x));
            }
            let mut from = first.offset(*t.offsets.add(x));
            for below in 0..TALL + H - 1 {
                let mut values = [V::splat(t.bias); N];
                for (n, value) in values.iter_mut().enumerate() {
                    *value = V::load(from.add(n * V::LANES));
                }
                for (y, &factor) in factors.iter().enumerate() {
                    if below >= y && below - y < TALL {
                        for (sum, &value) in sums[below - y].iter_mut().zip(&values) {
                            *sum = value.mul_add(factor, *sum);
                        }
                    }
                }
                from = from.wrapping_add(t.pitch);
            }
        }
        // Last, so that no product is rounded beside a large bias.
        let (one, bias) = (V::splat(V::E::from_f64(1.0)), V::splat(t.bias));
        for (below, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                sum.mul_add(one, bias).store(t.to.add((row + below) * t.width + column + n * V::LANES));
            }
        }
    }
}
