//! `IndexSelect`, `IndexAdd`, `Gather` and `Scatter`: elements at places that another tensor names.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::base::dtype::Element;
use crate::base::shape::contiguous_strides;
use crate::base::{Result, ShapeCause};
use crate::device::chance::mixed;
use crate::device::cpu::strided::{Overlap, Strided};
use crate::device::kernel::{Arg, Launch, ScatterMode};
use crate::with_element;

use super::access::{Dense, DenseOut, dense, missing, scalar_value};
use super::convert::{Compute, with_compute};
use super::float::Number;
use super::lines::{Lines, expect_shape, input_shape, mismatch, output_shape};
use super::order::SumOrder;
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

/// Rows of `x` along `dim`; negative indices count from the end.
pub(super) fn index_select(launch: &Launch, dim: usize) -> Result<()> {
    let (shape, to) = (input_shape(launch, 0)?, output_shape(launch, 0)?);
    let index = checked(launch, 1, dim, sizes(shape).get(dim).copied().unwrap_or(1), true)?;
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

/// Adds `source` to `y` at `index` along `dim`, in the order of the index or the one that `chance` stands for, so that
/// the sums do not depend on the number of threads. Negative indices count from the end.
pub(super) fn index_add(launch: &Launch, dim: usize, chance: Option<u64>) -> Result<()> {
    let shape = output_shape(launch, 0)?;
    let index = checked(launch, 0, dim, sizes(shape).get(dim).copied().unwrap_or(1), true)?;
    let lines = Lines::new(shape, dim);
    let count = lines.outer * index.len() * lines.inner;
    with_compute!(launch.dtype(), C => {
        let source = values::<C>(launch, 1, count)?;
        let mut y = DenseOut::<C>::with_values(launch, 0)?;
        match chance.map(|chance| SumOrder::of(chance, index.len())) {
            None => add_rows(launch, lines, || index.iter().map(|&i| i as usize).enumerate(), &source, &mut y)?,
            Some(order) => {
                let rows = || order.parts().filter_map(|i| Some((i, *index.get(i)? as usize)));
                add_rows(launch, lines, rows, &source, &mut y)?;
            }
        }
        y.finish(launch)
    })
}

/// `rows` gives each row of the source with the row that it is added to.
fn add_rows<C: Number, I: Iterator<Item = (usize, usize)>>(
    launch: &Launch,
    lines: Lines,
    rows: impl Fn() -> I + Sync,
    source: &[C],
    y: &mut [C],
) -> Result<()> {
    let Lines { outer, size, inner } = lines;
    let (k, all) = (source.len() / (outer * inner).max(1), SharedMut::new(y));
    // Pieces are blocks of columns, so that each sum has one writer.
    let width = COLUMNS.min(inner).max(1);
    let strips = inner.div_ceil(width);
    parallel::try_for_ranges(outer * strips, parallel::grain(k * width), launch.cancel, |range| {
        for piece in range {
            let (block, first) = (piece / strips, piece % strips * width);
            let width = width.min(inner - first);
            for (n, (i, row)) in rows().enumerate() {
                launch.cancel.check_at(n)?;
                let (from, to) = ((block * k + i) * inner + first, (block * size + row) * inner + first);
                // SAFETY: blocks of columns are disjoint.
                let to = unsafe { all.slice(to..to + width) };
                for (to, &from) in to.iter_mut().zip(source.get(from..from + width).unwrap_or(&[])) {
                    *to = to.plus(from);
                }
            }
        }
        Ok(())
    })
}

/// The columns of a piece of `index_add`, and the fewest that are worth another thread: narrower strips of rows cost more on
/// their way between cores than two cores gain.
const COLUMNS: usize = 64;

/// How many of so many columns a thread takes.
fn strip(columns: usize) -> usize {
    columns.div_ceil(parallel::threads()).next_multiple_of(COLUMNS).min(columns).max(1)
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

/// `y[..index[..i..]..] = source[..i..]`, or `+=`, along `dim`. Negative indices are errors, as in
/// `torch.scatter`; of several values for one place the last one stays. Values are added in their own order, or in the
/// one that `chance` stands for.
pub(super) fn scatter(launch: &Launch, dim: usize, mode: ScatterMode, chance: Option<u64>) -> Result<()> {
    let (y_shape, shape) = (output_shape(launch, 0)?, input_shape(launch, 0)?);
    let index = checked(launch, 0, dim, sizes(y_shape).get(dim).copied().unwrap_or(1), false)?;
    let to = IndexWalk::new(launch, shape, y_shape, dim)?;
    let source_shape = match launch.inputs.get(1) {
        Some(Arg::View(view)) => view.layout.shape(),
        _ => shape,
    };
    let mut from = IndexWalk::new(launch, shape, source_shape, usize::MAX)?;
    if matches!(launch.inputs.get(1), Some(Arg::Scalar(_))) {
        from = from.still();
    }
    with_compute!(launch.dtype(), C => {
        let source = match launch.inputs.get(1) {
            Some(Arg::Scalar(scalar)) => Dense::Owned(vec![scalar_value(*scalar)]),
            _ => dense::<C>(launch, 1)?,
        };
        let mut y = DenseOut::<C>::with_values(launch, 0)?;
        let all = SharedMut::new(&mut y);
        let adds = mode == ScatterMode::Add;
        let put = |place: usize, source_at: usize| {
            // SAFETY: lines of one piece run one after another, and pieces write apart.
            if let (Some(y), Some(&value)) = (unsafe { all.place(place) }, source.get(source_at)) {
                *y = if adds { y.plus(value) } else { value };
            }
        };
        let by_chance = |chance: u64, lines: Range<usize>| {
            let (across, along) = (SumOrder::of(chance, lines.len()), SumOrder::of(mixed(chance), to.last));
            for line in across.parts().map(|place| lines.start + place) {
                let (at, source_at) = (to.start(line), from.start(line));
                for n in along.parts() {
                    let i = index.get(line * to.last + n).map_or(0, |&i| i as usize);
                    put(at + n * to.step + i * to.dim_stride, source_at + n * from.step);
                }
                launch.cancel.check()?;
            }
            Ok(())
        };
        let step = |lines: Range<usize>, columns: Range<usize>| {
            for line in lines {
                let mut at = to.start(line) + columns.start * to.step;
                let mut source_at = from.start(line) + columns.start * from.step;
                let first = line * to.last;
                let indices = index.get(first + columns.start..first + columns.end).unwrap_or(&[]);
                for (n, &i) in indices.iter().enumerate() {
                    launch.cancel.check_at(n)?;
                    put(at + i as usize * to.dim_stride, source_at);
                    at += to.step;
                    source_at += from.step;
                }
                launch.cancel.check_at(line)?;
            }
            Ok(())
        };
        // What lies along the first dimension is apart unless it is the one that indices lead along; then the last is.
        let slabs = if dim == 0 { 1 } else { shape.first().copied().unwrap_or(1) };
        let lines = to.lines / slabs.max(1);
        if chance.is_none() && dim == 0 && to.step != 0 {
            let width = strip(to.last);
            let grain = parallel::grain(lines * width * 4);
            parallel::try_for_ranges(to.last.div_ceil(width), grain, launch.cancel, |mut strips| {
                strips.try_for_each(|i| step(0..lines, i * width..to.last.min((i + 1) * width)))
            })?;
            return y.finish(launch);
        }
        let grain = parallel::grain(lines * to.last * 4);
        parallel::try_for_ranges(slabs, grain, launch.cancel, |mut range| match chance {
            None => step(range.start * lines..range.end * lines, 0..to.last),
            Some(chance) => range.try_for_each(|slab| by_chance(chance, slab * lines..(slab + 1) * lines)),
        })?;
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
