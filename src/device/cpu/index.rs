//! `IndexSelect` and `Gather`, and with its parts `IndexAdd` and `Scatter`: elements at places that another tensor names.

pub(super) mod bags;
pub(super) mod rows;
pub(super) mod scatter;

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::base::dtype::Element;
use crate::base::shape::contiguous_strides;
use crate::base::{Result, ShapeCause};
use crate::device::cpu::strided::{Overlap, Strided};
use crate::device::kernel::{Arg, Launch};
use crate::with_element;

use super::access::{Dense, DenseOut, dense, missing, scalar_value};
use super::convert::{Compute, with_compute};
use super::lines::{Lines, expect_shape, input_shape, mismatch, output_shape};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

/// The columns of a piece where rows are added at places, and the fewest that are worth another thread: narrower strips
/// of rows cost more on their way between cores than two cores gain.
const COLUMNS: usize = 64;

/// Rows of `x` along `dim`; negative indices count from the end.
pub(super) fn index_select(launch: &Launch, dim: usize, from_end: bool) -> Result<()> {
    let (shape, to) = (input_shape(launch, 0)?, output_shape(launch, 0)?);
    let index = checked(launch, 1, dim, sizes(shape).get(dim).copied().unwrap_or(1), from_end)?;
    let mut want = sizes(shape);
    if let Some(size) = want.get_mut(dim) {
        *size = index.len();
    }
    if want.iter().product::<usize>() != to.iter().product::<usize>() {
        return Err(mismatch(launch, "the output", to, &want));
    }
    let lines = Lines::new(shape, dim);
    with_element!(launch.dtype(), T => {
        if let (Some(x), Some(y)) = (plain::<T>(launch, 0)?, plain_out::<T>(launch)?) {
            return select(launch, lines, x, &index, y);
        }
    });
    with_compute!(launch.dtype(), C => {
        let x = dense::<C>(launch, 0)?;
        let mut y = DenseOut::<C>::new(launch, 0)?;
        select(launch, lines, &x, &index, &mut y)?;
        y.finish(launch)
    })
}

fn select<T: Copy + Send + Sync>(
    launch: &Launch,
    lines: Lines,
    x: &[T],
    index: &[i64],
    y: &mut [T],
) -> Result<()> {
    let Lines { outer, size, inner } = lines;
    let (k, all) = (index.len(), SharedMut::new(y));
    parallel::for_ranges(outer * k, parallel::grain(inner), launch.cancel, |rows| {
        let mut row = rows.start;
        while row < rows.end {
            let (block, first) = (row / k, row % k);
            let count = (k - first).min(rows.end - row);
            // SAFETY: pieces are disjoint.
            let to = unsafe { all.slice(row * inner..(row + count) * inner) };
            let from = x.get(block * size * inner..(block + 1) * size * inner).unwrap_or(&[]);
            copy_rows(from, index.get(first..first + count).unwrap_or(&[]), inner, to);
            row += count;
        }
    })
}

/// Copies the rows of `inner` elements that the index names.
fn copy_rows<T: Copy>(x: &[T], index: &[i64], inner: usize, y: &mut [T]) {
    if inner == 1 {
        for (to, &row) in y.iter_mut().zip(index) {
            if let Some(&value) = x.get(row as usize) {
                *to = value;
            }
        }
        return;
    }
    for (to, &row) in y.chunks_exact_mut(inner.max(1)).zip(index) {
        let row = row as usize;
        if let Some(from) = x.get(row * inner..(row + 1) * inner) {
            to.copy_from_slice(from);
        }
    }
}

/// `y[..i..] = x[..index[..i..]..]` along `dim`. Negative indices are errors, as in `torch.gather`.
pub(super) fn gather(launch: &Launch, dim: usize) -> Result<()> {
    let (x_shape, shape) = (input_shape(launch, 0)?, input_shape(launch, 1)?);
    expect_shape(launch, "the output", output_shape(launch, 0)?, shape)?;
    let index = checked(launch, 1, dim, sizes(x_shape).get(dim).copied().unwrap_or(1), false)?;
    let walk = IndexWalk::new(launch, shape, x_shape, dim)?;
    with_element!(launch.dtype(), T => {
        if let (Some(x), Some(y)) = (plain::<T>(launch, 0)?, plain_out::<T>(launch)?) {
            return walk.gather(launch, x, &index, y);
        }
    });
    with_compute!(launch.dtype(), C => {
        let x = dense::<C>(launch, 0)?;
        let mut y = DenseOut::<C>::new(launch, 0)?;
        walk.gather(launch, &x, &index, &mut y)?;
        y.finish(launch)
    })
}

/// How the elements of an index tensor meet a row-major tensor of at least its sizes.
struct IndexWalk {
    /// Sizes of all dimensions but the last, and the other tensor's strides there; 0 at the indexed one.
    outer: SmallVec<[(usize, usize); 6]>,
    lines: usize,
    /// Size of the last dimension, and the other tensor's stride there; 0 at the indexed one.
    last: usize,
    step: usize,
    dim_stride: usize,
}

impl IndexWalk {
    fn new(launch: &Launch, index: &[usize], other: &[usize], dim: usize) -> Result<IndexWalk> {
        let (shape, sizes) = (sizes(index), sizes(other));
        let fits = |(i, (a, b)): (usize, (&usize, &usize))| a <= b || i == dim;
        let empty = shape.contains(&0);
        if shape.len() != sizes.len() || !(empty || shape.iter().zip(&sizes).enumerate().all(fits)) {
            return Err(mismatch(launch, "the index", index, other));
        }
        let strides = contiguous_strides(&sizes);
        let stride = |i: usize| strides.get(i).map_or(0, |&s| s as usize);
        let all: SmallVec<[(usize, usize); 6]> =
            shape.iter().enumerate().map(|(i, &n)| (n, if i == dim { 0 } else { stride(i) })).collect();
        let ((last, step), outer) = all.split_last().map_or(((1, 0), &[][..]), |(&l, o)| (l, o));
        let lines = outer.iter().map(|(n, _)| n).product();
        Ok(IndexWalk { outer: outer.into(), lines, last, step, dim_stride: stride(dim) })
    }

    /// Goes nowhere: one element stands for all.
    fn still(mut self) -> IndexWalk {
        self.outer.iter_mut().for_each(|(_, stride)| *stride = 0);
        IndexWalk { step: 0, dim_stride: 0, ..self }
    }

    /// Where a line over the last dimension starts.
    fn start(&self, mut line: usize) -> usize {
        let Some((&(_, outermost), others)) = self.outer.split_first() else { return 0 };
        let mut at = 0;
        for &(size, stride) in others.iter().rev() {
            at += line % size * stride;
            line /= size;
        }
        at + line * outermost
    }

    fn gather<T: Copy + Send + Sync>(
        &self,
        launch: &Launch,
        x: &[T],
        index: &[i64],
        y: &mut [T],
    ) -> Result<()> {
        let all = SharedMut::new(y);
        parallel::for_ranges(self.lines * self.last, parallel::grain(4), launch.cancel, |piece| {
            let mut next = piece.start;
            while next < piece.end {
                let (line, first) = (next / self.last, next % self.last);
                let range = next..piece.end.min(next + self.last - first);
                next = range.end;
                // SAFETY: pieces are disjoint.
                let y = unsafe { all.slice(range.clone()) };
                let mut at = self.start(line) + first * self.step;
                for (y, &i) in y.iter_mut().zip(index.get(range).unwrap_or(&[])) {
                    if let Some(&value) = x.get(at + i as usize * self.dim_stride) {
                        *y = value;
                    }
                    at += self.step;
                }
            }
        })
    }
}

/// A shape in which a tensor without dimensions has one of size 1.
fn sizes(shape: &[usize]) -> SmallVec<[usize; 6]> {
    if shape.is_empty() { SmallVec::from_slice(&[1]) } else { shape.into() }
}

/// The indices of an input, each inside `size`, or the error for the first that is not.
fn checked<'a>(
    launch: &Launch<'a>,
    input: usize,
    dim: usize,
    size: usize,
    from_end: bool,
) -> Result<Dense<'a, i64>> {
    let index = dense::<i64>(launch, input)?;
    let (least, end) = (if from_end { size as i128 } else { 0 }, size as i128);
    let inside = |i: i64| i128::from(i) >= -least && i128::from(i) < end;
    let below_zero = AtomicBool::new(false);
    parallel::try_for_ranges(index.len(), parallel::GRAIN, launch.cancel, |range| {
        let part = index.get(range).unwrap_or(&[]);
        let (first, last) = part.iter().fold((0, 0), |(a, b): (i64, i64), &i| (a.min(i), b.max(i)));
        below_zero.fetch_or(first < 0, Ordering::Relaxed);
        let wrong = if inside(first) && (inside(last) || part.is_empty()) {
            None
        } else {
            part.iter().find(|&&i| !inside(i))
        };
        wrong.map_or(Ok(()), |&index| Err(ShapeCause::IndexOutOfBounds { index, dim, size }.into()))
    })?;
    if !below_zero.into_inner() {
        return Ok(index);
    }
    let mut wrapped = zeros::<i64>(index.len())?;
    let all = SharedMut::new(&mut wrapped);
    parallel::for_ranges(index.len(), parallel::GRAIN, launch.cancel, |range| {
        // SAFETY: pieces are disjoint.
        let places = unsafe { all.slice(range.clone()) };
        for (place, &i) in places.iter_mut().zip(index.get(range).unwrap_or(&[])) {
            *place = if i < 0 { i + size as i64 } else { i };
        }
    })?;
    Ok(Dense::Owned(wrapped))
}

/// An input as a slice of its own type, where it lies so and apart from the outputs.
fn plain<'a, T: Element>(launch: &Launch<'a>, input: usize) -> Result<Option<&'a [T]>> {
    let Some(Arg::View(view)) = launch.inputs.get(input) else { return Err(missing(launch, "input", input)) };
    let view = Strided::new(view)?;
    for output in launch.outputs {
        if view.overlap(&Strided::new(output)?) != Overlap::None {
            return Ok(None);
        }
    }
    // SAFETY: the launch writes its outputs alone, and none of them holds an element of this view.
    Ok(unsafe { view.slice() })
}

/// The first output as a slice of its own type, where it lies so.
fn plain_out<'a, T: Element>(launch: &Launch<'a>) -> Result<Option<&'a mut [T]>> {
    let Some(view) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    // SAFETY: the launch holds its outputs exclusively.
    Ok(unsafe { Strided::new(view)?.slice_mut() })
}

/// An input of `count` elements in row-major order; a number stands for as many of it.
fn values<'a, C: Compute>(launch: &Launch<'a>, input: usize, count: usize) -> Result<Dense<'a, C>> {
    if let Some(Arg::Scalar(scalar)) = launch.inputs.get(input) {
        let (mut values, value) = (zeros(count)?, scalar_value(*scalar));
        parallel::for_chunks(&mut values, parallel::GRAIN, parallel::GRAIN, launch.cancel, |_, to| {
            to.fill(value)
        })?;
        return Ok(Dense::Owned(values));
    }
    let values = dense::<C>(launch, input)?;
    if values.len() != count {
        return Err(mismatch(launch, "the source", input_shape(launch, input)?, &[count]));
    }
    Ok(values)
}

#[cfg(test)]
mod tests;
