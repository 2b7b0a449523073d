//! Singular values and their vectors.

use crate::base::{Result, memory, sorted};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::dense::{Precision, reduce_columns, scaling, transpose, upper};

use super::super::scratch::zeros;
use super::bidiagonal::{self, Bidiagonal, Sides};
use super::rotate::{Turning, upright};

/// Where the vectors go: columns of `u`, rows of `vh`, as many as there is room for.
pub(super) struct Vectors<'a> {
    pub u: &'a mut [f64],
    pub vh: &'a mut [f64],
}

/// `a = u diag(s) vh`, values in descending order. All are NaN where there is no end to be found.
///
/// A matrix much longer than wide, or wider than long, is first brought to a triangle, as LAPACK's `gesdd` does.
pub(super) fn svd(
    a: &[f64],
    (m, n): (usize, usize),
    s: &mut [f64],
    vectors: Option<Vectors>,
    (p, cancel): (Precision, &Cancel),
) -> Result<()> {
    let (k, long, tall) = (m.min(n), m.max(n), m >= n);
    if k == 0 {
        if let Some(Vectors { u, vh }) = vectors {
            ones(u, m);
            ones(vh, n);
        }
        return Ok(());
    }
    let by = scaling(a.iter());
    let steep = long >= (k as f64 * 11.0 / 6.0) as usize && long > k;
    // What is worked on stands upright: the matrix, or its transpose. A steep one is first given by its columns.
    let mut upright = zeros(m * n)?;
    if tall != steep {
        upright.copy_from_slice(a)
    } else {
        transpose(a, (m, n), &mut upright)
    }
    upright.iter_mut().for_each(|v| *v *= by);
    let triangle = if steep { Some(reduce_columns(&mut upright, long, k, cancel)?) } else { None };
    if triangle.is_some() {
        let mut square = zeros(k * k)?;
        upper(&upright, long, (k, k), &mut square);
        upright = square;
    }
    let rows = upright.len() / k;
    let (mut b, left, right) = bidiagonal::reduce(upright, (rows, k), cancel)?;
    let found = diagonal(&mut b, (!tall, vectors.is_some()), p, cancel)?;
    for (to, &from) in s.iter_mut().zip(&found.order) {
        *to = if found.fine { b.d[from].abs() / by } else { f64::NAN };
    }
    let Some(Vectors { u, vh }) = vectors else { return Ok(()) };
    let (inner, mut short) = if tall { (found.left, found.right) } else { (found.right, found.left) };
    right.apply(&mut short, cancel)?;
    let count = if tall { u.len() / m } else { vh.len() / n };
    let (mut outer, mut inner) = (left, inner);
    if let Some(first) = triangle {
        outer.apply(&mut inner, cancel)?;
        outer = first;
    }
    let mut lengthy = widened(&inner, k, (count, long))?;
    outer.apply(&mut lengthy, cancel)?;
    if tall {
        transpose(&lengthy, (count, long), u);
        vh.copy_from_slice(&short);
    } else {
        transpose(&short, (k, k), u);
        vh.copy_from_slice(&lengthy);
    }
    Ok(())
}

struct SingularVectors {
    order: Vec<usize>,
    /// Rows of `u^T` and of `vh`.
    left: Vec<f64>,
    right: Vec<f64>,
    fine: bool,
}

/// A bidiagonal matrix, or where `lower` is set its transpose, taken apart.
fn diagonal(
    b: &mut Bidiagonal,
    (lower, wanted): (bool, bool),
    p: Precision,
    cancel: &Cancel,
) -> Result<SingularVectors> {
    let n = b.d.len();
    let start = || if wanted { Turning::identity(n) } else { Ok(Turning::nothing()) };
    let (mut left, mut right) = (start()?, start()?);
    // What is below the diagonal is first rotated above it.
    let mut raised = Vec::new();
    if lower {
        memory::reserve(&mut raised, n)?;
        for i in 0..n - 1 {
            let (c, s, r) = upright(b.d[i], b.e[i]);
            b.d[i] = r;
            b.e[i] = s * b.d[i + 1];
            b.d[i + 1] *= c;
            raised.push((c, -s));
        }
    }
    let fine =
        bidiagonal::diagonalise(b, &mut Sides { left: &mut left, right: &mut right, precision: p, cancel })?;
    let mut order = memory::collected(0..n)?;
    sorted::sort_by(&mut order, |&i, &j| b.d[j].abs().total_cmp(&b.d[i].abs()));
    let negative = memory::collected(order.iter().map(|&i| b.d[i] < 0.0))?;
    let plain = memory::filled(n, false)?;
    // The sign of a lone value goes to the left.
    let (of_left, of_right) = if n == 1 { (&negative, &plain) } else { (&plain, &negative) };
    let mut left_rows = left.finish(&order, of_left, cancel)?;
    let right_rows = right.finish(&order, of_right, cancel)?;
    if !raised.is_empty() && wanted {
        turn_columns(&mut left_rows, n, &raised);
    }
    Ok(SingularVectors { order, left: left_rows, right: right_rows, fine })
}

/// Rotates neighbouring columns, the last first.
fn turn_columns(rows: &mut [f64], n: usize, turns: &[(f64, f64)]) {
    for row in rows.chunks_exact_mut(n) {
        for (i, &(c, s)) in turns.iter().enumerate().rev() {
            let (x, y) = (row[i], row[i + 1]);
            (row[i], row[i + 1]) = (c * x + s * y, c * y - s * x);
        }
    }
}

/// Rows of `k` with zeros behind, and below them those of the identity.
fn widened(rows: &[f64], k: usize, (count, long): (usize, usize)) -> Result<Vec<f64>> {
    let mut out = zeros(count * long)?;
    for (i, to) in out.chunks_exact_mut(long).enumerate() {
        match rows.get(i * k..(i + 1) * k) {
            Some(row) => to[..k].copy_from_slice(row),
            None => to[i] = 1.0,
        }
    }
    Ok(out)
}

fn ones(out: &mut [f64], n: usize) {
    out.fill(0.0);
    out.iter_mut().step_by(n + 1).for_each(|v| *v = 1.0);
}
