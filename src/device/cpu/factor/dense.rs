//! What factorisations of matrices share.

use crate::base::{DType, Error, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::blocks::{BLOCK, Turn};
use crate::device::cpu::factor::reflect::{Reflections, reflector};
use crate::device::cpu::gemm::Product;
use crate::device::cpu::gemm::operand::Matrix;
use crate::device::kernel::Launch;

/// Reflects a matrix from the left until it is an upper triangle; below it stands what is not to be read. The matrix is
/// given by its columns, each of `length`, one after another.
pub(super) fn reduce_columns(
    columns: &mut [f64],
    length: usize,
    steps: usize,
    cancel: &Cancel,
) -> Result<Reflections> {
    let mut found = Reflections::new(length, steps)?;
    for start in (0..steps).step_by(BLOCK) {
        let end = steps.min(start + BLOCK);
        let (panel, rest) = columns[start * length..].split_at_mut((end - start) * length);
        for i in start..end {
            let (before, later) = panel.split_at_mut((i - start + 1) * length);
            let column = &mut before[(i - start) * length..];
            let (tau, beta) = reflector(&mut column[i..]);
            found.push(i, &column[i..], tau);
            column[i] = beta;
            found.apply_one(i, later);
        }
        if !rest.is_empty() {
            found.block(start..end, cancel)?.apply(rest, Turn::FirstToLast, cancel)?;
        }
    }
    Ok(found)
}

/// How precise the numbers of a matrix are: iterations stop where what is left is nothing to them. Matrices of float32
/// are worked on in double precision, but to their own.
#[derive(Clone, Copy)]
pub(crate) struct Precision {
    /// The largest relative error of a rounding.
    pub eps: f64,
    /// The smallest normal number.
    pub tiny: f64,
}

impl Precision {
    pub(super) fn of(launch: &Launch) -> Precision {
        match launch.outputs.first().map(|o| o.dtype) {
            Some(DType::Float64) => Precision { eps: f64::EPSILON / 2.0, tiny: f64::MIN_POSITIVE },
            _ => Precision { eps: f64::from(f32::EPSILON) / 2.0, tiny: f64::from(f32::MIN_POSITIVE) },
        }
    }
}

/// What brings elements to a size whose squares are numbers; 1 for nearly all matrices.
pub(super) fn scaling<'a>(a: impl Iterator<Item = &'a f64>) -> f64 {
    let largest = a.fold(0.0, |most: f64, v| most.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() || (1e-120..1e120).contains(&largest) {
        return 1.0;
    }
    // A power of two, which rounds nothing; two steps below the end, so that the inverse is a number too.
    2f64.powi((-largest.log2()).clamp(-1000.0, 1000.0) as i32)
}

/// `out = a b` of an `m` by `k` and a `k` by `n` matrix.
pub(super) fn product(
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
    (m, k, n): (usize, usize, usize),
    cancel: &Cancel,
) -> Result<()> {
    expect(a.len() == m * k && b.len() == k * n && out.len() == m * n)?;
    // SAFETY: the slices hold as many elements as the sizes say, and live until the product is there.
    let (lhs, rhs) =
        unsafe { (Matrix::of(a.as_ptr(), [k as isize, 1]), Matrix::of(b.as_ptr(), [1, n as isize])) };
    let out_strides = [n as isize, 1];
    let product =
        Product { m, n, k, lhs: &lhs, rhs: &rhs, out: out.as_mut_ptr(), out_strides, alpha: 1.0, add: false };
    // SAFETY: the output is the caller's alone.
    unsafe { product.run(true, cancel) }
}

/// An `m` by `n` matrix turned on its side, a few rows at a time, whose elements in a column fill a cache line.
pub(super) fn transpose(a: &[f64], (m, n): (usize, usize), out: &mut [f64]) {
    const ROWS: usize = 8;
    for top in (0..m).step_by(ROWS) {
        let rows = ROWS.min(m - top);
        for j in 0..n {
            let line = &mut out[j * m + top..j * m + top + rows];
            line.iter_mut().enumerate().for_each(|(i, to)| *to = a[(top + i) * n + j]);
        }
    }
}

/// The triangle of the first `k` rows of `n` columns of a length, zeros below it.
pub(super) fn upper(columns: &[f64], length: usize, (k, n): (usize, usize), out: &mut [f64]) {
    for (i, row) in out.chunks_exact_mut(n.max(1)).take(k).enumerate() {
        let (below, kept) = row.split_at_mut(i.min(n));
        below.fill(0.0);
        kept.iter_mut().zip(i..n).for_each(|(to, c)| *to = columns[c * length + i]);
    }
}

pub(super) fn expect(fits: bool) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::runtime("factor: an output has another shape than its factor")) }
}
