//! The lower triangle `l` with `l l^T = a`, by halves.

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;

use super::in_place::{InPlace, NARROW, middle};
use super::vectors::dot;

/// The factor of the symmetric matrix in the lower triangle of `a`; NaN from the first column on whose pivot is not
/// positive.
pub(super) fn cholesky(a: &[f64], n: usize, l: &mut [f64], cancel: &Cancel) -> Result<()> {
    l.copy_from_slice(a);
    factored(&mut InPlace { a: l, width: n, cancel }, 0..n)?;
    for row in 0..n {
        l[row * n + row + 1..(row + 1) * n].fill(0.0);
    }
    Ok(())
}

fn factored(rows: &mut InPlace, steps: Range<usize>) -> Result<()> {
    rows.cancel.check()?;
    if steps.len() <= NARROW {
        for step in steps.clone() {
            let own = row_part(rows, step, steps.start..step);
            let square = rows.a[step * rows.width + step] - dot(own, own);
            rows.a[step * rows.width + step] = if square > 0.0 { square.sqrt() } else { f64::NAN };
            divided(rows, step + 1..steps.end, steps.start..step, step);
        }
        return Ok(());
    }
    let half = middle(&steps);
    let (above, below) = (steps.start..half, half..steps.end);
    factored(rows, above.clone())?;
    across(rows, &below, above.clone())?;
    rows.subtract_product(&below, &below, &above, true)?;
    factored(rows, below)
}

/// `x l^T = b` for rows below the steps of `l`, in place.
fn across(rows: &mut InPlace, below: &Range<usize>, steps: Range<usize>) -> Result<()> {
    if steps.len() <= NARROW {
        for step in steps.clone() {
            divided(rows, below.clone(), steps.start..step, step);
        }
        return rows.cancel.check();
    }
    let half = middle(&steps);
    across(rows, below, steps.start..half)?;
    rows.subtract_product(below, &(half..steps.end), &(steps.start..half), true)?;
    across(rows, below, half..steps.end)
}

/// Column `step` of some rows, less what the columns before it explain, by the diagonal.
fn divided(rows: &mut InPlace, below: Range<usize>, before: Range<usize>, step: usize) {
    let pivot = rows.a[step * rows.width + step];
    for row in below {
        let known = dot(row_part(rows, row, before.clone()), row_part(rows, step, before.clone()));
        let place = &mut rows.a[row * rows.width + step];
        *place = (*place - known) / pivot;
    }
}

fn row_part<'a>(rows: &'a InPlace, row: usize, columns: Range<usize>) -> &'a [f64] {
    &rows.a[row * rows.width + columns.start..row * rows.width + columns.end]
}
