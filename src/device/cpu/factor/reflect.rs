//! Householder's reflections: `1 - tau v v^T` with a `v` that begins with 1.

use std::ops::Range;
use std::sync::OnceLock;

use crate::base::{Result, memory};
use crate::device::cancel::Cancel;

use super::super::isa::{self, Isa, Work};
use super::super::parallel::{self, SharedMut};
use super::super::scratch::zeros;
use super::blocks::{self, BLOCK, MatrixBlock, ReflectionBlock, Turn};
use super::vectors::{add_scaled, hypotenuse, norm, product};

/// Turns a vector into the reflection that brings it to a multiple of its first direction: `x` becomes `v`. The results
/// are `tau` and the multiple.
pub(crate) fn reflector(x: &mut [f64]) -> (f64, f64) {
    let Some((first, rest)) = x.split_first_mut() else { return (0.0, 0.0) };
    let (alpha, below) = (*first, norm(rest));
    *first = 1.0;
    // What is zero below needs no reflection, not even of its sign.
    if below == 0.0 {
        return (0.0, alpha);
    }
    let beta = -hypotenuse(alpha, below).copysign(alpha);
    rest.iter_mut().for_each(|v| *v /= alpha - beta);
    ((beta - alpha) / beta, beta)
}

/// Reflections of vectors of one length, each of the elements from some place on.
#[derive(Default)]
pub(crate) struct Reflections {
    length: usize,
    /// Vectors after one another, each of `length`, zeros before its beginning.
    vectors: Vec<f64>,
    starts: Vec<usize>,
    taus: Vec<f64>,
    /// The triangles of whole blocks, once somebody wanted them.
    triangles: Vec<OnceLock<Vec<f64>>>,
}

impl Reflections {
    /// Room for `most` reflections of vectors of `length`.
    pub(super) fn new(length: usize, most: usize) -> Result<Reflections> {
        Ok(Reflections {
            length,
            vectors: memory::with_capacity(memory::count::<f64>(&[length, most])?)?,
            starts: memory::with_capacity(most)?,
            taus: memory::with_capacity(most)?,
            triangles: memory::collected((0..most.div_ceil(BLOCK)).map(|_| OnceLock::new()))?,
        })
    }

    /// Adds the reflection along `v`, which begins at `start`.
    pub(super) fn push(&mut self, start: usize, v: &[f64], tau: f64) {
        self.vectors.resize(self.vectors.len() + self.length - v.len(), 0.0);
        self.vectors.extend_from_slice(v);
        self.starts.push(start);
        self.taus.push(tau);
    }

    /// Reflects each row, the last reflection first: the rows are columns of a matrix that these stand to the left of.
    pub(super) fn apply(&self, rows: &mut [f64], cancel: &Cancel) -> Result<()> {
        self.apply_from(|_| 0, rows, cancel)
    }

    /// The first `count` columns of the product of all, as rows.
    pub(super) fn columns(&self, count: usize, cancel: &Cancel) -> Result<Vec<f64>> {
        let mut rows = zeros(memory::count::<f64>(&[count, self.length])?)?;
        rows.iter_mut().step_by(self.length + 1).for_each(|v| *v = 1.0);
        // What a reflection begins behind, it leaves as it is.
        self.apply_from(|start| start, &mut rows, cancel)?;
        Ok(rows)
    }

    /// Reflects rows, of each block's reflections those from `first` of where the block begins.
    fn apply_from(&self, first: impl Fn(usize) -> usize, rows: &mut [f64], cancel: &Cancel) -> Result<()> {
        if self.length == 0 {
            return Ok(());
        }
        let count = self.taus.len();
        for start in (0..count).step_by(BLOCK).rev() {
            let which = start..count.min(start + BLOCK);
            let from = first(self.starts[start]) * self.length;
            let Some(rows) = rows.get_mut(from..).filter(|rows| !rows.is_empty()) else { continue };
            if which.len() * rows.len() < SMALL {
                isa::dispatch(Reflect { by: self, which, rows });
            } else {
                self.block(which, cancel)?.apply(rows, Turn::LastToFirst, cancel)?;
            }
        }
        Ok(())
    }

    /// Reflects each row by one reflection.
    pub(super) fn apply_one(&self, which: usize, rows: &mut [f64]) {
        isa::dispatch(Reflect { by: self, which: which..which + 1, rows });
    }

    /// A few reflections as one.
    pub(super) fn block(&self, which: Range<usize>, cancel: &Cancel) -> Result<ReflectionBlock<'_>> {
        let vectors = &self.vectors[which.start * self.length..which.end * self.length];
        let start = self.starts.get(which.start).copied().unwrap_or(0);
        let whole = which.len() == BLOCK && which.start.is_multiple_of(BLOCK);
        let kept = self.triangles.get(which.start / BLOCK).filter(|_| whole);
        let triangle = match kept.and_then(OnceLock::get) {
            Some(triangle) => triangle.into(),
            None => {
                let fresh = blocks::triangle(vectors, (self.length, start), &self.taus[which], cancel)?;
                match kept {
                    Some(kept) => kept.get_or_init(|| fresh).into(),
                    None => fresh.into(),
                }
            }
        };
        Ok(ReflectionBlock { vectors, length: self.length, start, triangle })
    }
}

/// Fewer products than this of rows' elements and reflections are made one by one.
const SMALL: usize = 1 << 12;

struct Reflect<'a> {
    by: &'a Reflections,
    which: Range<usize>,
    rows: &'a mut [f64],
}

impl Work for Reflect<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let length = self.by.length;
        for i in self.which.rev() {
            let tau = self.by.taus[i];
            if tau == 0.0 {
                continue;
            }
            let start = self.by.starts[i];
            let v = &self.by.vectors[i * length + start..(i + 1) * length];
            for row in self.rows.chunks_exact_mut(length) {
                let row = &mut row[start..];
                let by = tau * product(row, v);
                add_scaled(row, -by, v);
            }
        }
    }
}

impl MatrixBlock<'_> {
    /// `v^T a`, by pieces of columns.
    pub(crate) fn on_left(&self, v: &[f64], cancel: &Cancel) -> Result<Vec<f64>> {
        let (rows, columns) = (self.rows(), self.width - self.column);
        let mut out = zeros(columns)?;
        let to = SharedMut::new(&mut out);
        parallel::for_ranges(columns, parallel::grain(rows).max(64), cancel, |range| {
            // SAFETY: pieces are of different columns.
            let part = unsafe { to.slice(range.clone()) };
            let at = self.row * self.width + self.column + range.start;
            isa::dispatch(Gather { a: self.a, at, width: self.width, v, part });
        })?;
        Ok(out)
    }

    /// `a -= v w^T`, then `a` reflected from the right along `u` by `tau`.
    pub(crate) fn subtract_and_turn(
        &mut self,
        v: &[f64],
        w: &[f64],
        turn: Option<(&[f64], f64)>,
        cancel: &Cancel,
    ) -> Result<()> {
        let (rows, columns, width) = (self.rows(), self.width - self.column, self.width);
        let (from, column) = (self.row * width, self.column);
        let a = SharedMut::new(self.a);
        parallel::for_ranges(rows, parallel::grain(columns * 2), cancel, |range| {
            // SAFETY: pieces are of different rows.
            let part = unsafe { a.slice(from + range.start * width..from + range.end * width) };
            isa::dispatch(Update { part, width, column, v: &v[range], w, turn });
        })
    }
}

/// Rows of a matrix times the elements of a vector, added up.
struct Gather<'a> {
    a: &'a [f64],
    at: usize,
    width: usize,
    v: &'a [f64],
    part: &'a mut [f64],
}

impl Work for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (i, &by) in self.v.iter().enumerate() {
            let at = self.at + i * self.width;
            add_scaled(self.part, by, &self.a[at..at + self.part.len()]);
        }
    }
}

struct Update<'a> {
    part: &'a mut [f64],
    width: usize,
    column: usize,
    v: &'a [f64],
    w: &'a [f64],
    turn: Option<(&'a [f64], f64)>,
}

impl Work for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (row, &by) in self.part.chunks_exact_mut(self.width).zip(self.v) {
            let row = &mut row[self.column..];
            add_scaled(row, -by, self.w);
            if let Some((u, tau)) = self.turn {
                let along = tau * product(row, u);
                add_scaled(row, -along, u);
            }
        }
    }
}
