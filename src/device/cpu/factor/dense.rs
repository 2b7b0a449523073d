//! What factorisations of matrices share.

use crate::base::{DType, Error, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::blocks::{BLOCK, MatrixBlock};
use crate::device::cpu::factor::reflect::{Reflections, reflector};
use crate::device::cpu::gemm::Product;
use crate::device::cpu::gemm::operand::Matrix;
use crate::device::kernel::Launch;

use super::super::scratch::zeros;

/// Reflects a matrix from the left until it is an upper triangle; below it stands what is not to be read.
pub(super) fn reduce_columns(
    a: &mut [f64],
    (m, n): (usize, usize),
    steps: usize,
    cancel: &Cancel,
) -> Result<Reflections> {
    let mut found = Reflections::new(m, steps)?;
    for start in (0..steps).step_by(BLOCK) {
        let end = steps.min(start + BLOCK);
        // A panel's columns, one after another.
        let mut panel = zeros((end - start) * m)?;
        for (column, values) in panel.chunks_exact_mut(m).enumerate() {
            values
                .iter_mut()
                .zip(a.iter().skip(start + column).step_by(n))
                .for_each(|(to, from)| *to = *from);
        }
        for i in start..end {
            let (before, later) = panel.split_at_mut((i - start + 1) * m);
            let column = &mut before[(i - start) * m..];
            let (tau, beta) = reflector(&mut column[i..]);
            (0..i).for_each(|r| a[r * n + i] = column[r]);
            a[i * n + i] = beta;
            found.push(i, &column[i..], tau);
            found.apply_one(i, later);
        }
        if end < n {
            let mut rest = MatrixBlock { a, width: n, row: start, column: end };
            found.block(start..end, cancel)?.apply_on_left(&mut rest, cancel)?;
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

/// An `m` by `n` matrix turned on its side, in squares that the cache holds.
pub(super) fn transpose(a: &[f64], (m, n): (usize, usize), out: &mut [f64]) {
    const SIDE: usize = 32;
    for top in (0..m).step_by(SIDE) {
        for left in (0..n).step_by(SIDE) {
            for j in left..n.min(left + SIDE) {
                for i in top..m.min(top + SIDE) {
                    out[j * m + i] = a[i * n + j];
                }
            }
        }
    }
}

pub(super) fn expect(fits: bool) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::runtime("factor: an output has another shape than its factor")) }
}
