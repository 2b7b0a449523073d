//! Reflections in blocks: a few of them in a row are `1 - V^T T V` with a triangle `T`, and meet a matrix by products (the
//! compact WY form of Schreiber and Van Loan, 1989; LAPACK's `larft` and `larfb`).

use crate::base::{Error, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::gemm::Product;
use crate::device::cpu::gemm::operand::Matrix;

use super::super::scratch::zeros;

/// Reflections of a block.
pub(super) const BLOCK: usize = 32;

/// Elements of a matrix from a place on, and the steps from row to row and from column to column.
#[derive(Clone, Copy)]
struct Elements<'a> {
    values: &'a [f64],
    at: usize,
    strides: [usize; 2],
}

impl Elements<'_> {
    fn holds(&self, [rows, columns]: [usize; 2]) -> bool {
        let last = |count: usize, step: usize| count.saturating_sub(1) * step;
        rows * columns == 0
            || self.at + last(rows, self.strides[0]) + last(columns, self.strides[1]) < self.values.len()
    }

    fn matrix(&self) -> Matrix<f64> {
        let strides = self.strides.map(|step| step as isize);
        // SAFETY: `multiply` has looked that the elements are there.
        unsafe { Matrix::of(self.values.as_ptr().wrapping_add(self.at), strides) }
    }
}

/// Part of a matrix with rows of `width`: rows from `row` on, columns from `column` on.
pub(crate) struct MatrixBlock<'a> {
    pub a: &'a mut [f64],
    pub width: usize,
    pub row: usize,
    pub column: usize,
}

impl MatrixBlock<'_> {
    pub(super) fn rows(&self) -> usize {
        (self.a.len() / self.width.max(1)).saturating_sub(self.row)
    }

    fn sizes(&self) -> [usize; 2] {
        [self.rows(), self.width.saturating_sub(self.column)]
    }

    fn part(&self) -> Elements<'_> {
        Elements { values: self.a, at: self.row * self.width + self.column, strides: [self.width, 1] }
    }
}

pub(super) struct ReflectionBlock<'a> {
    /// Rows of `length`, zeros before `start`.
    vectors: &'a [f64],
    length: usize,
    start: usize,
    count: usize,
    /// The triangle, row by row.
    triangle: Vec<f64>,
}

impl<'a> ReflectionBlock<'a> {
    /// The reflections along `vectors`, rows of `length` with zeros before `start`.
    pub(super) fn new(
        vectors: &'a [f64],
        (length, start): (usize, usize),
        taus: &[f64],
        cancel: &Cancel,
    ) -> Result<ReflectionBlock<'a>> {
        let count = taus.len();
        let mut triangle = zeros(count * count)?;
        let mut block = ReflectionBlock { vectors, length, start, count, triangle: Vec::new() };
        let mut along = zeros(count * count)?;
        let each = Elements { strides: [length, 1], ..block.turned() };
        multiply(
            each,
            each,
            [count, length - start, count],
            Sum::New,
            &mut square(&mut along, count),
            cancel,
        )?;
        for (i, &tau) in taus.iter().enumerate() {
            for j in 0..i {
                let sum: f64 = (j..i).map(|p| triangle[j * count + p] * along[p * count + i]).sum();
                triangle[j * count + i] = -tau * sum;
            }
            triangle[i * count + i] = tau;
        }
        block.triangle = triangle;
        Ok(block)
    }

    /// Reflects each row, the last reflection first.
    pub(super) fn apply(&self, rows: &mut [f64], cancel: &Cancel) -> Result<()> {
        let mut rows = MatrixBlock { a: rows, width: self.length, row: 0, column: self.start };
        let ([height, length], count) = (rows.sizes(), self.count);
        let (mut along, mut by) = (zeros(height * count)?, zeros(height * count)?);
        let vectors = Elements { strides: [self.length, 1], ..self.turned() };
        multiply(
            rows.part(),
            vectors,
            [height, length, count],
            Sum::New,
            &mut square(&mut along, count),
            cancel,
        )?;
        let along = Elements { values: &along, at: 0, strides: [count, 1] };
        let triangle = Elements { values: &self.triangle, at: 0, strides: [count, 1] };
        multiply(along, triangle, [height, count, count], Sum::New, &mut square(&mut by, count), cancel)?;
        let by = Elements { values: &by, at: 0, strides: [count, 1] };
        multiply(by, self.turned(), [height, count, length], Sum::Less, &mut rows, cancel)
    }

    /// Reflects each column of a corner that begins at `start`, the first reflection first.
    pub(super) fn apply_on_left(&self, corner: &mut MatrixBlock, cancel: &Cancel) -> Result<()> {
        let ([height, width], count) = (corner.sizes(), self.count);
        let (mut along, mut by) = (zeros(count * width)?, zeros(count * width)?);
        let vectors = Elements { strides: [self.length, 1], ..self.turned() };
        let columns = Elements { strides: [1, corner.width], ..corner.part() };
        multiply(vectors, columns, [count, height, width], Sum::New, &mut square(&mut along, width), cancel)?;
        let along = Elements { values: &along, at: 0, strides: [1, width] };
        let triangle = Elements { values: &self.triangle, at: 0, strides: [1, count] };
        multiply(triangle, along, [count, count, width], Sum::New, &mut square(&mut by, width), cancel)?;
        let by = Elements { values: &by, at: 0, strides: [1, width] };
        multiply(self.turned(), by, [height, count, width], Sum::Less, corner, cancel)
    }

    /// The vectors as columns, from where they begin.
    fn turned(&self) -> Elements<'_> {
        Elements { values: self.vectors, at: self.start, strides: [1, self.length] }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sum {
    New,
    /// What is there, less the product.
    Less,
}

fn square(values: &mut [f64], width: usize) -> MatrixBlock<'_> {
    MatrixBlock { a: values, width, row: 0, column: 0 }
}

/// An `m` by `k` matrix times one that stands as `n` by `k`.
fn multiply(
    lhs: Elements,
    rhs: Elements,
    [m, k, n]: [usize; 3],
    sum: Sum,
    out: &mut MatrixBlock,
    cancel: &Cancel,
) -> Result<()> {
    if !lhs.holds([m, k]) || !rhs.holds([n, k]) || !out.part().holds([m, n]) {
        return Err(Error::runtime("factor: reflections and what they meet have other sizes"));
    }
    let (lhs, rhs) = (lhs.matrix(), rhs.matrix());
    let (alpha, add) = if sum == Sum::New { (1.0, false) } else { (-1.0, true) };
    let (at, out_strides) = (out.row * out.width + out.column, [out.width as isize, 1]);
    let to = out.a.as_mut_ptr().wrapping_add(at);
    let product = Product { m, n, k, lhs: &lhs, rhs: &rhs, out: to, out_strides, alpha, add };
    // SAFETY: the places were looked at above; the output is the caller's alone.
    unsafe { product.run(true, cancel) }
}
