//! Elimination in a few columns at once, which lie one after another: each is as long as the rows that are left.

use crate::base::Result;

use super::super::isa::{self, Isa, Work};
use super::super::scratch::zeros;
use super::in_place::InPlace;

/// Eliminates below the diagonal in columns `first` to `end`, of the rows from `first` to `m`. Rows change places as a
/// whole; of each step `exchanged` is told, with the row that took its place.
pub(super) fn eliminate(
    rows: &mut InPlace,
    m: usize,
    (first, end): (usize, usize),
    exchanged: &mut impl FnMut(usize, usize),
) -> Result<()> {
    let (height, count, width) = (m - first, end - first, rows.width);
    if count == 0 {
        return Ok(());
    }
    let mut columns = zeros(height * count)?;
    for (i, row) in rows.a[first * width..m * width].chunks_exact(width).enumerate() {
        row[first..end].iter().enumerate().for_each(|(c, v)| columns[c * height + i] = *v);
    }
    for step in 0..count {
        let chosen = isa::dispatch(Largest(&columns[step * height + step..(step + 1) * height])) + step;
        exchanged(first + step, first + chosen);
        rows.exchange(first + step, first + chosen);
        if chosen != step {
            columns.chunks_exact_mut(height).for_each(|column| column.swap(step, chosen));
        }
        // A column of zeros has no pivot, and nothing below it.
        if columns[step * height + step] != 0.0 {
            isa::dispatch(Step { columns: &mut columns, height, step });
        }
    }
    for (i, row) in rows.a[first * width..m * width].chunks_exact_mut(width).enumerate() {
        row[first..end].iter_mut().enumerate().for_each(|(c, v)| *v = columns[c * height + i]);
    }
    Ok(())
}

/// The place of the largest element, the first of equals. A NaN at the beginning stays there.
struct Largest<'a>(&'a [f64]);

impl Work for Largest<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        if self.0.first().is_none_or(|v| v.is_nan()) {
            return 0;
        }
        let (chunks, rest) = self.0.as_chunks::<16>();
        let mut most = [-1.0f64; 16];
        for chunk in chunks {
            for k in 0..16 {
                let size = chunk[k].abs();
                most[k] = if size > most[k] { size } else { most[k] };
            }
        }
        let largest = most.iter().copied().chain(rest.iter().map(|v| v.abs()));
        let largest = largest.fold(-1.0, |most: f64, size| if size > most { size } else { most });
        self.0.iter().position(|v| v.abs() == largest).unwrap_or(0)
    }
}

/// Divides a column below its pivot, and takes its multiples from the columns behind it.
struct Step<'a> {
    columns: &'a mut [f64],
    height: usize,
    step: usize,
}

impl Work for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (known, later) = self.columns.split_at_mut((self.step + 1) * self.height);
        let (pivot, below) = known[self.step * self.height + self.step..].split_at_mut(1);
        below.iter_mut().for_each(|v| *v /= pivot[0]);
        for column in later.chunks_exact_mut(self.height) {
            let (by, rest) = column[self.step..].split_at_mut(1);
            rest.iter_mut().zip(&*below).for_each(|(v, part)| *v -= by[0] * part);
        }
    }
}
