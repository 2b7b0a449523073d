//! Eigenvalues and eigenvectors of symmetric matrices.

use crate::base::{Result, memory, sorted};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::dense::{Precision, scaling, transpose};

use super::divide::conquer;
use super::rotate::Turning;
use super::tridiagonal;

/// The eigenvalues of a symmetric matrix in ascending order, and their vectors as columns where they are wanted. Only
/// the lower triangle is read. All are NaN where there is no end to be found.
pub(super) fn eigh(
    a: &[f64],
    n: usize,
    values: &mut [f64],
    vectors: Option<&mut [f64]>,
    (p, cancel): (Precision, &Cancel),
) -> Result<()> {
    let by = scaling((0..n).flat_map(|i| &a[i * n..i * n + i + 1]));
    let s = memory::collected((0..n * n).map(|i| a[(i / n).max(i % n) * n + (i / n).min(i % n)] * by))?;
    let (mut t, reflections) = tridiagonal::reduce(s, n, cancel)?;
    let found = if vectors.is_some() {
        conquer(&t, p, cancel)?.map(|all| (all.values, all.rows))
    } else {
        let fine = tridiagonal::diagonalise(&mut t, &mut Turning::nothing(), p, cancel)?;
        sorted::sort_by(&mut t.d, f64::total_cmp);
        fine.then_some((t.d, Vec::new()))
    };
    let (found, mut rows) = match found {
        Some(found) => found,
        None => (memory::filled(n, f64::NAN)?, memory::filled(n * n, f64::NAN)?),
    };
    for (to, from) in values.iter_mut().zip(&found) {
        *to = from / by;
    }
    let Some(vectors) = vectors else { return Ok(()) };
    reflections.apply(&mut rows, cancel)?;
    transpose(&rows, (n, n), vectors);
    Ok(())
}
