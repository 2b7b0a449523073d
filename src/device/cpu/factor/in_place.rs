//! Parts of a matrix that change each other, as factorisations by halves do.

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;
use crate::device::cpu::gemm::Product;
use crate::device::cpu::gemm::operand::Matrix;

use super::super::isa::{self, Isa, Work};
use super::vectors::add_scaled;

/// Steps that are taken one by one; more of them are halved.
pub(super) const NARROW: usize = 16;

/// A matrix with rows of `width`.
pub(super) struct InPlace<'a> {
    pub a: &'a mut [f64],
    pub width: usize,
    pub cancel: &'a Cancel,
}

/// The middle of a range, at a multiple of [`NARROW`] from its beginning.
pub(super) fn middle(range: &Range<usize>) -> usize {
    range.start + (range.len() / 2).next_multiple_of(NARROW).min(range.len() - 1)
}

impl InPlace<'_> {
    /// `a[rows, columns] -= a[rows, inner] a[inner, columns]`, or `a[columns, inner]^T` in place of the second where
    /// that is `turned`. The written part lies apart from what is read.
    pub(super) fn subtract_product(
        &mut self,
        rows: &Range<usize>,
        columns: &Range<usize>,
        inner: &Range<usize>,
        turned: bool,
    ) -> Result<()> {
        let (width, (m, k, n)) = (self.width, (rows.len(), inner.len(), columns.len()));
        if m == 0 || k == 0 || n == 0 {
            return Ok(());
        }
        let last = rows.end.max(if turned { columns.end } else { inner.end }) - 1;
        assert!(last * width + columns.end.max(inner.end) <= self.a.len());
        let origin = self.a.as_mut_ptr();
        let at = |row: usize, column: usize| row * width + column;
        let (across, down) = (1, width as isize);
        // SAFETY: all places lie in the matrix, as was checked, and the written part is apart from the others.
        unsafe {
            let lhs = Matrix::of(origin.add(at(rows.start, inner.start)).cast_const(), [down, across]);
            let rhs = match turned {
                true => Matrix::of(origin.add(at(columns.start, inner.start)).cast_const(), [down, across]),
                false => Matrix::of(origin.add(at(inner.start, columns.start)).cast_const(), [across, down]),
            };
            let out = origin.add(at(rows.start, columns.start));
            let product = Product {
                m,
                n,
                k,
                lhs: &lhs,
                rhs: &rhs,
                out,
                out_strides: [down, across],
                alpha: -1.0,
                add: true,
            };
            product.run(true, self.cancel)
        }
    }

    /// `a[row, columns] -= a[row, from] a[from, columns]` for each of the rows.
    pub(super) fn subtract_row(&mut self, rows: Range<usize>, from: usize, columns: &Range<usize>) {
        let (width, place) = (self.width, from * self.width);
        let (above, below) = if rows.start > from {
            let (above, below) = self.a.split_at_mut(rows.start * width);
            (&above[place..place + width], &mut below[..rows.len() * width])
        } else {
            let (above, below) = self.a.split_at_mut(place);
            (&below[..width], &mut above[rows.start * width..rows.end * width])
        };
        isa::dispatch(SubtractRow { rows: below, row: above, from, columns });
    }

    pub(super) fn exchange(&mut self, one: usize, other: usize) {
        if one == other {
            return;
        }
        let (first, second) = (one.min(other), one.max(other));
        let (above, below) = self.a.split_at_mut(second * self.width);
        above[first * self.width..(first + 1) * self.width].swap_with_slice(&mut below[..self.width]);
    }
}

/// Takes multiples of one row from others, by their elements in its column.
struct SubtractRow<'a> {
    rows: &'a mut [f64],
    row: &'a [f64],
    from: usize,
    columns: &'a Range<usize>,
}

impl Work for SubtractRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let part = &self.row[self.columns.clone()];
        for row in self.rows.chunks_exact_mut(self.row.len()) {
            let by = row[self.from];
            add_scaled(&mut row[self.columns.clone()], -by, part);
        }
    }
}
