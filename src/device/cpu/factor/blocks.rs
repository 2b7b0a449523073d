//! Reflections in blocks: a few of them in a row are `1 - V^T T V` with a triangle `T`, and meet a matrix by products (the
//! compact WY form of Schreiber and Van Loan, 1989; LAPACK's `larft` and `larfb`).

use std::borrow::Cow;

use crate::base::{Error, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::gemm::Product;
use crate::device::cpu::gemm::operand::Matrix;

use super::super::parallel::{self, SharedMut};
use super::super::scratch::zeros;
use super::vectors::product;

/// Reflections of a block.
pub(super) const BLOCK: usize = 32;

/// Rows that a core takes through a block. How many cores there are changes no piece, and so no way of multiplying.
const ROWS: usize = 64;

/// The order in which reflections of a block meet a row.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Turn {
    FirstToLast,
    LastToFirst,
}

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
        // SAFETY: `Multiply` has looked that the elements are there.
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
    pub vectors: &'a [f64],
    pub length: usize,
    pub start: usize,
    /// Row by row.
    pub triangle: Cow<'a, [f64]>,
}

/// The triangle of the reflections along `vectors`, rows of `length` with zeros before `start`.
pub(super) fn triangle(
    vectors: &[f64],
    (length, start): (usize, usize),
    taus: &[f64],
    cancel: &Cancel,
) -> Result<Vec<f64>> {
    let count = taus.len();
    let (mut triangle, mut along) = (zeros(count * count)?, zeros(count * count)?);
    let each = Elements { values: vectors, at: start, strides: [length, 1] };
    let all = [count, length - start, count];
    let how = Multiply { sum: Sum::New, threads: true, cancel };
    how.run(each, each, all, &mut square(&mut along, count))?;
    for (i, &tau) in taus.iter().enumerate() {
        // What two vectors have in common stands in either's row.
        let along = &along[i * count..i * count + i];
        for j in 0..i {
            triangle[j * count + i] = -tau * product(&triangle[j * count + j..j * count + i], &along[j..]);
        }
        triangle[i * count + i] = tau;
    }
    Ok(triangle)
}

impl ReflectionBlock<'_> {
    /// Reflects each row: on several cores, each with rows of its own, where there are enough of them.
    pub(super) fn apply(&self, rows: &mut [f64], turn: Turn, cancel: &Cancel) -> Result<()> {
        let height = rows.len() / self.length.max(1);
        if height <= ROWS {
            return self.apply_to(rows, turn, true, cancel);
        }
        let all = SharedMut::new(rows);
        parallel::try_for_ranges(height, ROWS, cancel, |range| {
            // SAFETY: pieces are of different rows.
            let part = unsafe { all.slice(range.start * self.length..range.end * self.length) };
            self.apply_to(part, turn, false, cancel)
        })
    }

    fn apply_to(&self, rows: &mut [f64], turn: Turn, threads: bool, cancel: &Cancel) -> Result<()> {
        let mut rows = MatrixBlock { a: rows, width: self.length, row: 0, column: self.start };
        let ([height, length], count) = (rows.sizes(), self.count());
        let (mut along, mut by) = (zeros(height * count)?, zeros(height * count)?);
        let how = |sum| Multiply { sum, threads, cancel };
        let vectors = Elements { strides: [self.length, 1], ..self.turned() };
        how(Sum::New).run(rows.part(), vectors, [height, length, count], &mut square(&mut along, count))?;
        let along = Elements { values: &along, at: 0, strides: [count, 1] };
        let strides = if turn == Turn::LastToFirst { [count, 1] } else { [1, count] };
        let triangle = Elements { values: &self.triangle, at: 0, strides };
        how(Sum::New).run(along, triangle, [height, count, count], &mut square(&mut by, count))?;
        let by = Elements { values: &by, at: 0, strides: [count, 1] };
        how(Sum::Less).run(by, self.turned(), [height, count, length], &mut rows)
    }

    fn count(&self) -> usize {
        self.vectors.len() / self.length.max(1)
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

struct Multiply<'a> {
    sum: Sum,
    threads: bool,
    cancel: &'a Cancel,
}

impl Multiply<'_> {
    /// An `m` by `k` matrix times one that stands as `n` by `k`.
    fn run(&self, lhs: Elements, rhs: Elements, [m, k, n]: [usize; 3], out: &mut MatrixBlock) -> Result<()> {
        if !lhs.holds([m, k]) || !rhs.holds([n, k]) || !out.part().holds([m, n]) {
            return Err(Error::runtime("factor: reflections and what they meet have other sizes"));
        }
        let (lhs, rhs) = (lhs.matrix(), rhs.matrix());
        let (alpha, add) = if self.sum == Sum::New { (1.0, false) } else { (-1.0, true) };
        let (at, out_strides) = (out.row * out.width + out.column, [out.width as isize, 1]);
        let to = out.a.as_mut_ptr().wrapping_add(at);
        let product = Product { m, n, k, lhs: &lhs, rhs: &rhs, out: to, out_strides, alpha, add };
        // SAFETY: the places were looked at above; the output is the caller's alone.
        unsafe { product.run(self.threads, self.cancel) }
    }
}
