//! `Factor`: matrices taken apart, one after another or on several cores, in double precision.
//!
//! Systems and triangles come of elimination by halves. All else begins with Householder's reflections, with LAPACK's
//! signs. Eigenvalues of symmetric matrices follow from a tridiagonal matrix, singular values from a bidiagonal one. Values
//! come in LAPACK's order, and vectors have the signs of its iterations.
#![allow(clippy::indexing_slicing, reason = "places follow from the sizes that `factor` checks")]

mod bidiagonal;
mod blocks;
mod cholesky;
pub(crate) mod dense;
mod divide;
mod eliminate;
mod in_place;
mod panel;
mod reflect;
mod rotate;
mod secular;
mod singular;
mod symmetric;
mod tridiagonal;
mod vectors;

use smallvec::SmallVec;

use crate::base::{Error, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::dense::{Precision, expect, reduce_columns, transpose, upper};
use crate::device::kernel::{Factor, Launch};

use super::dense::{DenseOut, dense};
use super::lines::{input_shape, output_shape};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

use singular::{Vectors, svd};
use symmetric::eigh;

/// Takes each matrix of the input apart.
pub(super) fn factor(launch: &Launch, what: Factor) -> Result<()> {
    let shape = input_shape(launch, 0)?;
    let (&[.., m, n], first) = (shape, sizes(launch, 0)?) else {
        return Err(Error::runtime("factor: a matrix has two dimensions"));
    };
    let count = shape[..shape.len() - 2].iter().product::<usize>();
    let (k, cancel) = (m.min(n), launch.cancel);
    let by = (Precision::of(launch), cancel);
    let lone = launch.outputs.len() == 1;
    match what {
        Factor::Lu => {
            expect(first == (m, n) && sizes(launch, 1)?.1 == k && sizes(launch, 2)?.1 == m)?;
            each(launch, count, (m * n, [m * n, k, m]), |a, outs| eliminate::lu(a, (m, n), outs, cancel))
        }
        Factor::Solve => {
            let p = first.1;
            expect(m == n && first.0 == n && sizes(launch, 1)?.1 == n)?;
            let b = dense::<f64>(launch, 1)?;
            expect(b.len() == count * n * p)?;
            each_numbered(launch, count, (n * n, [n * p, n, 0]), |i, a, [x, pivots, _]| {
                let b = &b[i * n * p..(i + 1) * n * p];
                eliminate::solve((a, b), (n, p), (x, pivots), cancel)
            })
        }
        Factor::Cholesky => {
            expect(m == n && first == (n, n))?;
            each(launch, count, (n * n, [n * n, 0, 0]), |a, [l, ..]| cholesky::cholesky(a, n, l, cancel))
        }
        Factor::Qr => {
            let (k, second) = (first.1, sizes(launch, 1)?);
            expect(first == (m, k) && second == (k, n) && k >= m.min(n) && k <= m)?;
            each(launch, count, (m * n, [m * k, k * n, 0]), |a, [q, r, _]| qr(a, (m, n, k), q, r, cancel))
        }
        Factor::Eigh if lone => {
            expect(m == n && first.1 == n)?;
            each(launch, count, (n * n, [n, 0, 0]), |a, [values, ..]| eigh(a, n, values, None, by))
        }
        Factor::Eigh => {
            expect(m == n && first.1 == n && sizes(launch, 1)? == (n, n))?;
            each(launch, count, (n * n, [n, n * n, 0]), |a, [values, vectors, _]| {
                eigh(a, n, values, Some(vectors), by)
            })
        }
        Factor::Svd if lone => {
            expect(first.1 == k)?;
            each(launch, count, (m * n, [k, 0, 0]), |a, [s, ..]| svd(a, (m, n), s, None, by))
        }
        Factor::Svd => {
            let (second, (columns, last)) = (sizes(launch, 1)?, sizes(launch, 2)?);
            let fits = |size: usize, most: usize| size == k || size == most;
            expect(first.0 == m && last == n && second.1 == k && fits(first.1, m) && fits(columns, n))?;
            let sizes = (m * n, [m * first.1, k, columns * n]);
            each(launch, count, sizes, |a, [u, s, vh]| svd(a, (m, n), s, Some(Vectors { u, vh }), by))
        }
    }
}

/// The last two sizes of an output; (1, n) of a vector.
fn sizes(launch: &Launch, index: usize) -> Result<(usize, usize)> {
    Ok(match output_shape(launch, index)? {
        [.., m, n] => (*m, *n),
        [n] => (1, *n),
        [] => (1, 1),
    })
}

/// Runs `one` on each matrix and its pieces of the outputs.
fn each(
    launch: &Launch,
    count: usize,
    sizes: (usize, [usize; 3]),
    one: impl Fn(&[f64], [&mut [f64]; 3]) -> Result<()> + Sync,
) -> Result<()> {
    each_numbered(launch, count, sizes, |_, a, outs| one(a, outs))
}

/// The same with the matrix's place in the batch.
fn each_numbered(
    launch: &Launch,
    count: usize,
    (from, to): (usize, [usize; 3]),
    one: impl Fn(usize, &[f64], [&mut [f64]; 3]) -> Result<()> + Sync,
) -> Result<()> {
    let a = dense::<f64>(launch, 0)?;
    let mut outs: SmallVec<[DenseOut<f64>; 3]> = SmallVec::new();
    for (i, _) in launch.outputs.iter().enumerate() {
        outs.push(DenseOut::new(launch, i)?);
    }
    for (out, size) in outs.iter().zip(to) {
        expect(out.len() == count * size)?;
    }
    {
        let mut none: [[f64; 0]; 3] = [[]; 3];
        let mut rest = outs.iter_mut().map(|o| SharedMut::new(o));
        let places = none.each_mut().map(|empty| rest.next().unwrap_or_else(|| SharedMut::new(empty)));
        let cost = from.saturating_mul(64).max(1);
        parallel::try_for_ranges(count, parallel::grain(cost), launch.cancel, |range| {
            for i in range {
                let place = |at: usize| i * to[at]..(i + 1) * to[at];
                // SAFETY: pieces of different matrices are disjoint, and the outputs are as long as all of them.
                let pieces = unsafe { [0, 1, 2].map(|at| places[at].slice(place(at))) };
                one(i, &a[i * from..(i + 1) * from], pieces)?;
            }
            Ok(())
        })?;
    }
    outs.into_iter().try_for_each(|out| out.finish(launch))
}

/// `a = q r` by reflections; `q` has `k` columns.
fn qr(
    a: &[f64],
    (m, n, k): (usize, usize, usize),
    q: &mut [f64],
    r: &mut [f64],
    cancel: &Cancel,
) -> Result<()> {
    let mut columns = zeros(m * n)?;
    transpose(a, (m, n), &mut columns);
    let by = reduce_columns(&mut columns, m, m.min(n), cancel)?;
    upper(&columns, m, (k, n), r);
    transpose(&by.columns(k, cancel)?, (k, m), q);
    Ok(())
}

#[cfg(test)]
mod tests;
