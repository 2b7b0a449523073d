//! `Factor`: matrices taken apart, one after another or on several cores, in double precision.
//!
//! QR reflects column by column (Householder), with LAPACK's signs. Eigenvalues and singular values come from plane
//! rotations (Jacobi's method, for singular values in Hestenes' one-sided form), which find small ones to high relative
//! accuracy. Their order is LAPACK's; a vector's sign is free, and is what the rotations leave.
#![allow(clippy::indexing_slicing, reason = "places follow from the sizes that `factor` checks")]

use crate::base::{Error, Result};
use crate::device::kernel::{Factor, Launch};

use super::dense::{DenseOut, dense};
use super::lines::{input_shape, output_shape};
use super::parallel::{self, SharedMut};

/// Sweeps over all pairs after which rotations give up; they converge in about ten.
const SWEEPS: usize = 60;

/// Takes each matrix of the input apart.
pub fn factor(launch: &Launch, what: Factor) -> Result<()> {
    let shape = input_shape(launch, 0)?;
    let (&[.., m, n], first, second) = (shape, sizes(launch, 0)?, sizes(launch, 1)?) else {
        return Err(Error::runtime("factor: a matrix has two dimensions"));
    };
    let count = shape[..shape.len() - 2].iter().product::<usize>();
    match what {
        Factor::Qr => {
            let k = first.1;
            expect(first == (m, k) && second == (k, n) && k >= m.min(n) && k <= m)?;
            each(launch, count, (m * n, [m * k, k * n, 0]), |a, [q, r, _]| qr(a, (m, n, k), q, r))
        }
        Factor::Eigh => {
            expect(m == n && first.1 == n && second == (n, n))?;
            each(launch, count, (n * n, [n, n * n, 0]), |a, [values, vectors, _]| eigh(a, n, values, vectors))
        }
        Factor::Svd => {
            let (k, (columns, last)) = (m.min(n), sizes(launch, 2)?);
            let fits = |size: usize, most: usize| size == k || size == most;
            expect(first.0 == m && last == n && second.1 == k && fits(first.1, m) && fits(columns, n))?;
            let sizes = (m * n, [m * first.1, k, columns * n]);
            each(launch, count, sizes, |a, [u, s, vh]| svd(a, (m, n), u, s, vh))
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

fn expect(fits: bool) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::runtime("factor: an output has another shape than its factor")) }
}

/// Runs `one` on each matrix and its pieces of the outputs.
fn each(
    launch: &Launch,
    count: usize,
    (from, to): (usize, [usize; 3]),
    one: impl Fn(&[f64], [&mut [f64]; 3]) + Sync,
) -> Result<()> {
    let a = dense::<f64>(launch, 0)?;
    let mut outs = Vec::with_capacity(3);
    for (i, _) in launch.outputs.iter().enumerate() {
        outs.push(DenseOut::<f64>::new(launch, i)?);
    }
    for (out, size) in outs.iter().zip(to) {
        expect(out.len() == count * size)?;
    }
    let mut none: [f64; 0] = [];
    {
        let mut rest = outs.iter_mut().map(|o| SharedMut::new(o));
        let (Some(first), Some(second)) = (rest.next(), rest.next()) else {
            return Err(Error::runtime("factor: an output is missing"));
        };
        let third = rest.next().unwrap_or_else(|| SharedMut::new(&mut none));
        let cost = from.saturating_mul(64).max(1);
        parallel::for_ranges(count, parallel::grain(cost), launch.cancel, |range| {
            for i in range {
                let place = |size: usize| i * size..(i + 1) * size;
                // SAFETY: pieces of different matrices are disjoint, and the outputs are as long as all of them.
                let pieces = unsafe {
                    [first.slice(place(to[0])), second.slice(place(to[1])), third.slice(place(to[2]))]
                };
                one(&a[place(from)], pieces);
            }
        })?;
    }
    outs.into_iter().try_for_each(|out| out.finish(launch))
}

/// `a = q r` by reflections; `q` has `k` columns.
fn qr(a: &[f64], (m, n, k): (usize, usize, usize), q: &mut [f64], r: &mut [f64]) {
    let mut work = a.to_vec();
    let steps = m.min(n);
    let mut taus = vec![0.0; steps];
    for j in 0..steps {
        let below = norm((j + 1..m).map(|i| work[i * n + j]));
        let alpha = work[j * n + j];
        // A column that is zero below needs no reflection, not even of its sign.
        if below == 0.0 {
            continue;
        }
        let beta = -alpha.hypot(below).copysign(alpha);
        taus[j] = (beta - alpha) / beta;
        for i in j + 1..m {
            work[i * n + j] /= alpha - beta;
        }
        work[j * n + j] = beta;
        for c in j + 1..n {
            let dot = work[j * n + c] + (j + 1..m).map(|i| work[i * n + j] * work[i * n + c]).sum::<f64>();
            work[j * n + c] -= taus[j] * dot;
            for i in j + 1..m {
                work[i * n + c] -= taus[j] * dot * work[i * n + j];
            }
        }
    }
    for i in 0..k {
        for c in 0..n {
            r[i * n + c] = if c >= i { work[i * n + c] } else { 0.0 };
        }
    }
    // The reflections, the last first, applied to the columns of the identity.
    for i in 0..m {
        for c in 0..k {
            q[i * k + c] = f64::from(u8::from(i == c));
        }
    }
    for j in (0..steps).rev() {
        for c in 0..k {
            let dot = q[j * k + c] + (j + 1..m).map(|i| work[i * n + j] * q[i * k + c]).sum::<f64>();
            q[j * k + c] -= taus[j] * dot;
            for i in j + 1..m {
                q[i * k + c] -= taus[j] * dot * work[i * n + j];
            }
        }
    }
}

/// The eigenvalues of a symmetric matrix in ascending order, and their vectors as columns. Only the lower triangle is
/// read.
fn eigh(a: &[f64], n: usize, values: &mut [f64], vectors: &mut [f64]) {
    let mut s: Vec<f64> = (0..n * n).map(|i| a[(i / n).max(i % n) * n + (i / n).min(i % n)]).collect();
    // Rows of `v` become the eigenvectors.
    let mut v: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect();
    let size = norm(s.iter().copied());
    for _ in 0..SWEEPS {
        let off = norm((0..n * n).filter(|i| i / n != i % n).map(|i| s[i]));
        if off.is_nan() || off <= f64::EPSILON * 1e-3 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let apq = s[p * n + q];
                if apq == 0.0 {
                    continue;
                }
                let (c, t) = rotation(s[p * n + p], s[q * n + q], apq);
                let sine = t * c;
                for k in 0..n {
                    let (x, y) = (s[k * n + p], s[k * n + q]);
                    s[k * n + p] = c * x - sine * y;
                    s[k * n + q] = sine * x + c * y;
                }
                turn(&mut s, n, (p, q), (c, sine));
                turn(&mut v, n, (p, q), (c, sine));
                s[p * n + q] = 0.0;
                s[q * n + p] = 0.0;
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| s[i * n + i].total_cmp(&s[j * n + j]));
    for (to, &from) in order.iter().enumerate() {
        values[to] = s[from * n + from];
        for k in 0..n {
            vectors[k * n + to] = v[from * n + k];
        }
    }
}

/// The cosine and the tangent of the smaller angle that makes the off-diagonal element zero.
fn rotation(app: f64, aqq: f64, apq: f64) -> (f64, f64) {
    let theta = (aqq - app) / (2.0 * apq);
    let t = if theta.is_infinite() { 0.0 } else { theta.signum() / (theta.abs() + theta.hypot(1.0)) };
    (1.0 / t.hypot(1.0), t)
}

/// Rows `p` and `q` turned in their plane.
fn turn(rows: &mut [f64], n: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    let (before, after) = rows.split_at_mut(q * n);
    for (x, y) in before[p * n..(p + 1) * n].iter_mut().zip(&mut after[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// `a = u diag(s) vh`, singular values in descending order. `u` and `vh` may have more vectors than there are values.
fn svd(a: &[f64], (m, n): (usize, usize), u: &mut [f64], s: &mut [f64], vh: &mut [f64]) {
    let k = m.min(n);
    // Rows of `x` are the `k` vectors that rotations make orthogonal: columns of a tall matrix, rows of a wide one.
    let tall = m >= n;
    let long = m.max(n);
    let mut x: Vec<f64> = if tall { (0..k * m).map(|i| a[i % m * n + i / m]).collect() } else { a.to_vec() };
    let mut v: Vec<f64> = (0..k * k).map(|i| f64::from(u8::from(i / k == i % k))).collect();
    orthogonalise(&mut x, &mut v, k, long);
    let norms: Vec<f64> = (0..k).map(|i| norm(x[i * long..(i + 1) * long].iter().copied())).collect();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let mut left: Vec<Vec<f64>> = Vec::with_capacity(long);
    let largest = order.first().map_or(0.0, |&i| norms[i]);
    for (to, &from) in order.iter().enumerate() {
        s[to] = norms[from];
        let row = &x[from * long..(from + 1) * long];
        // What rounding left of a value that is zero has no direction.
        let kept = norms[from] > f64::EPSILON * largest * long as f64 || norms[from].is_nan();
        left.push(if kept { row.iter().map(|e| e / norms[from]).collect() } else { Vec::new() });
    }
    let (short, wide) = if tall {
        (vh.len() / n.max(1), u.len() / m.max(1))
    } else {
        (u.len() / m.max(1), vh.len() / n.max(1))
    };
    complete(&mut left, wide, long);
    for i in 0..wide {
        for j in 0..long {
            if tall { u[j * wide + i] = left[i][j] } else { vh[i * n + j] = left[i][j] }
        }
    }
    for i in 0..short {
        for j in 0..k {
            let value = v[order[i] * k + j];
            if tall { vh[i * n + j] = value } else { u[j * short + i] = value }
        }
    }
}

/// Turns pairs of the `k` rows of `x`, and those of `v` with them, until all are orthogonal.
fn orthogonalise(x: &mut [f64], v: &mut [f64], k: usize, long: usize) {
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..k {
            for q in p + 1..k {
                let row = |i: usize| &x[i * long..(i + 1) * long];
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let (app, aqq, apq) = (dot(row(p), row(p)), dot(row(q), row(q)), dot(row(p), row(q)));
                if apq.is_nan() || apq.abs() <= f64::EPSILON * (app * aqq).sqrt() {
                    continue;
                }
                turned = true;
                let (c, t) = rotation(app, aqq, apq);
                turn(x, long, (p, q), (c, t * c));
                turn(v, k, (p, q), (c, t * c));
            }
        }
        if !turned {
            break;
        }
    }
}

/// Fills empty places, and new ones up to `count`, with unit vectors orthogonal to all others.
fn complete(rows: &mut Vec<Vec<f64>>, count: usize, long: usize) {
    rows.resize(count.max(rows.len()), Vec::new());
    let mut axis = 0;
    for i in 0..rows.len() {
        while rows[i].is_empty() && axis < long {
            let mut fresh = vec![0.0; long];
            fresh[axis] = 1.0;
            axis += 1;
            // Twice is enough for orthogonality to rounding.
            for _ in 0..2 {
                for other in rows.iter().filter(|r| !r.is_empty()) {
                    let dot: f64 = fresh.iter().zip(other).map(|(a, b)| a * b).sum();
                    fresh.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
                }
            }
            let size = norm(fresh.iter().copied());
            if size > 0.5 / (long as f64).sqrt() {
                fresh.iter_mut().for_each(|a| *a /= size);
                rows[i] = fresh;
            }
        }
        if rows[i].is_empty() {
            rows[i] = vec![f64::NAN; long];
        }
    }
}

/// The length of a vector, without overflow.
fn norm(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest =
        values.clone().fold(0.0, |most: f64, v| if v.is_nan() { f64::NAN } else { most.max(v.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return if values.clone().any(f64::is_nan) { f64::NAN } else { largest };
    }
    largest * values.map(|v| (v / largest) * (v / largest)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a [m, k] @ b [k, n]`.
    fn product(a: &[f64], b: &[f64], (m, k, n): (usize, usize, usize)) -> Vec<f64> {
        (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect()
    }

    fn near(got: &[f64], want: &[f64]) {
        for (a, b) in got.iter().zip(want) {
            assert!((a - b).abs() < 1e-12, "{got:?}, not {want:?}");
        }
    }

    fn transposed(a: &[f64], (m, n): (usize, usize)) -> Vec<f64> {
        (0..m * n).map(|i| a[i % m * n + i / m]).collect()
    }

    fn identity(n: usize) -> Vec<f64> {
        (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect()
    }

    fn matrix(m: usize, n: usize) -> Vec<f64> {
        (0..m * n).map(|i| ((i * i * 7 + i * 3) % 11) as f64 - 4.5).collect()
    }

    #[test]
    fn the_product_of_the_factors_is_the_matrix() {
        for (m, n) in [(1, 1), (3, 3), (5, 3), (3, 5), (4, 1), (1, 4), (0, 3), (3, 0)] {
            let (a, small) = (matrix(m, n), m.min(n));
            for k in [small, m] {
                let (mut q, mut r) = (vec![0.0; m * k], vec![0.0; k * n]);
                qr(&a, (m, n, k), &mut q, &mut r);
                near(&product(&q, &r, (m, k, n)), &a);
                near(&product(&transposed(&q, (m, k)), &q, (k, m, k)), &identity(k));
            }
            for (rows, columns) in [(small, small), (m, n)] {
                let (mut u, mut s, mut vh) = (vec![0.0; m * rows], vec![0.0; small], vec![0.0; columns * n]);
                svd(&a, (m, n), &mut u, &mut s, &mut vh);
                assert!(s.is_sorted_by(|a, b| a >= b), "{s:?}");
                near(&product(&transposed(&u, (m, rows)), &u, (rows, m, rows)), &identity(rows));
                near(
                    &product(&vh, &transposed(&vh, (columns, n)), (columns, n, columns)),
                    &identity(columns),
                );
                let scaled: Vec<f64> = (0..m * small)
                    .map(|i| u[i / small.max(1) * rows + i % small.max(1)] * s[i % small.max(1)])
                    .collect();
                near(&product(&scaled, &vh[..small * n], (m, small, n)), &a);
            }
        }
    }

    #[test]
    fn eigenvectors_only_change_in_length() {
        for n in [0, 1, 2, 5, 8] {
            let a = matrix(n, n);
            let a: Vec<f64> = (0..n * n).map(|i| a[i] + a[i % n * n + i / n]).collect();
            let (mut values, mut vectors) = (vec![0.0; n], vec![0.0; n * n]);
            eigh(&a, n, &mut values, &mut vectors);
            assert!(values.is_sorted(), "{values:?}");
            let scaled: Vec<f64> = (0..n * n).map(|i| vectors[i] * values[i % n]).collect();
            near(&product(&a, &vectors, (n, n, n)), &scaled);
            near(&product(&transposed(&vectors, (n, n)), &vectors, (n, n, n)), &identity(n));
        }
    }

    #[test]
    fn a_matrix_of_lower_rank_still_has_orthogonal_vectors() {
        let a = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, -1.0, -2.0, -3.0, 0.0, 0.0, 0.0];
        let (mut u, mut s, mut vh) = (vec![0.0; 16], vec![0.0; 3], vec![0.0; 9]);
        svd(&a, (4, 3), &mut u, &mut s, &mut vh);
        near(&s, &[84f64.sqrt(), 0.0, 0.0]);
        near(&product(&transposed(&u, (4, 4)), &u, (4, 4, 4)), &identity(4));
        svd(&[0.0; 6], (2, 3), &mut u[..4], &mut s[..2], &mut vh);
        near(&u[..4], &identity(2));
    }
}
