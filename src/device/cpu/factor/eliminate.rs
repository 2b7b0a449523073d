//! Elimination with the largest pivot of each column, `p a = l u`, and the systems that it solves.
//!
//! By halves of the columns (Toledo, 1997): the left half, what it changes of the right one as a product, the right
//! half. So nearly all of the work is that of large products.

use std::ops::Range;

use crate::base::{Result, memory};
use crate::device::cancel::Cancel;

use super::in_place::{InPlace, NARROW, middle};
use super::panel;

/// Both factors of an `m` by `n` matrix in one, `both`; for each step the row that took its place, counted from 1; and
/// for each row of the factors the row of the matrix.
pub(super) fn lu(
    a: &[f64],
    (m, n): (usize, usize),
    [both, pivots, order]: [&mut [f64]; 3],
    cancel: &Cancel,
) -> Result<()> {
    both.copy_from_slice(a);
    let steps = m.min(n);
    let mut places = memory::collected(0..m)?;
    let mut rows = InPlace { a: both, width: n, cancel };
    eliminate(&mut rows, m, 0..steps, &mut |step, chosen| {
        pivots[step] = (chosen + 1) as f64;
        places.swap(step, chosen);
    })?;
    forward(&mut rows, 0..steps, &(steps..n))?;
    order.iter_mut().zip(places).for_each(|(to, place)| *to = place as f64);
    Ok(())
}

/// The `n` by `p` matrix `x` with `a x = b`, and the pivots; not finite where one of those is zero.
pub(super) fn solve(
    (a, b): (&[f64], &[f64]),
    (n, p): (usize, usize),
    (x, pivots): (&mut [f64], &mut [f64]),
    cancel: &Cancel,
) -> Result<()> {
    let width = n + p;
    let mut both = memory::with_capacity(memory::count::<f64>(&[n, width])?)?;
    for row in 0..n {
        both.extend_from_slice(&a[row * n..(row + 1) * n]);
        both.extend_from_slice(&b[row * p..(row + 1) * p]);
    }
    let mut rows = InPlace { a: &mut both, width, cancel };
    eliminate(&mut rows, n, 0..n, &mut |_, _| ())?;
    forward(&mut rows, 0..n, &(n..width))?;
    backward(&mut rows, 0..n, &(n..width))?;
    for row in 0..n {
        pivots[row] = both[row * width + row];
        x[row * p..(row + 1) * p].copy_from_slice(&both[row * width + n..(row + 1) * width]);
    }
    Ok(())
}

/// Eliminates below the diagonal in some columns, of the rows from there to `m`. Rows change places as a whole.
fn eliminate(
    rows: &mut InPlace,
    m: usize,
    columns: Range<usize>,
    exchanged: &mut impl FnMut(usize, usize),
) -> Result<()> {
    rows.cancel.check()?;
    if columns.len() <= NARROW {
        return panel::eliminate(rows, m, (columns.start, columns.end), exchanged);
    }
    let half = middle(&columns);
    let (left, right) = (columns.start..half, half..columns.end);
    eliminate(rows, m, left.clone(), exchanged)?;
    forward(rows, left.clone(), &right)?;
    rows.subtract_product(&(half..m), &right, &left, false)?;
    eliminate(rows, m, right, exchanged)
}

/// `l y = b` with ones on the diagonal of `l`, whose steps are given; `b` lies in the columns and becomes `y`.
fn forward(rows: &mut InPlace, steps: Range<usize>, columns: &Range<usize>) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    if steps.len() <= NARROW {
        for step in steps.clone() {
            rows.subtract_row(step + 1..steps.end, step, columns);
        }
        return rows.cancel.check();
    }
    let half = middle(&steps);
    forward(rows, steps.start..half, columns)?;
    rows.subtract_product(&(half..steps.end), columns, &(steps.start..half), false)?;
    forward(rows, half..steps.end, columns)
}

/// `u x = y`, as above.
fn backward(rows: &mut InPlace, steps: Range<usize>, columns: &Range<usize>) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    if steps.len() <= NARROW {
        for step in steps.clone().rev() {
            let at = step * rows.width;
            let pivot = rows.a[at + step];
            rows.a[at + columns.start..at + columns.end].iter_mut().for_each(|v| *v /= pivot);
            rows.subtract_row(steps.start..step, step, columns);
        }
        return rows.cancel.check();
    }
    let half = middle(&steps);
    backward(rows, half..steps.end, columns)?;
    rows.subtract_product(&(steps.start..half), columns, &(half..steps.end), false)?;
    backward(rows, steps.start..half, columns)
}
