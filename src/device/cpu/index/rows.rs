//! `IndexAdd`, and `Scatter` by an index that is the same for a whole row: rows combined with those at places that
//! another tensor names.

use std::ops::Range;

use smallvec::SmallVec;

use crate::base::{Layout, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::convert::with_compute;
use crate::device::cpu::dense::DenseOut;
use crate::device::cpu::float::Number;
use crate::device::cpu::isa::{self, Isa, Work};
use crate::device::cpu::lines::{Lines, input_shape, output_shape};
use crate::device::cpu::order::SumOrder;
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::kernel::{Arg, Launch, ScatterMode, View};

use super::{COLUMNS, checked, sizes, values};

/// Adds `source` to `y` at `index` along `dim`, in the order of the index or the one that `chance` stands for, so that
/// the sums do not depend on the number of threads. Negative indices count from the end.
pub(in crate::device::cpu) fn index_add(launch: &Launch, dim: usize, chance: Option<u64>) -> Result<()> {
    combine(launch, dim, ScatterMode::Add, chance, true)
}

/// `Scatter` with an index that names whole rows, which lie as those of `y` do; nothing where it is another.
pub(super) fn scatter(launch: &Launch, dim: usize, mode: ScatterMode) -> Option<Result<()>> {
    let (Arg::View(index), y) = (launch.inputs.first()?, output_shape(launch, 0).ok()?) else { return None };
    let (shape, strides) = (index.layout.shape(), index.layout.strides());
    let alike = |d: usize| {
        let repeats = strides.get(d) == Some(&0) || shape.get(d) == Some(&1);
        d == dim || shape.get(d) == y.get(d) && repeats
    };
    let row: usize = shape.get(dim + 1..)?.iter().product();
    if row < 2 || shape.len() != y.len() || !(0..shape.len()).all(alike) {
        return None;
    }
    if matches!(launch.inputs.get(1)?, Arg::View(_)) && input_shape(launch, 1).ok()? != shape {
        return None;
    }
    let ends = (SmallVec::from_slice(shape.get(dim..=dim)?), SmallVec::from_slice(strides.get(dim..=dim)?));
    let layout = Layout::new(ends.0, ends.1, index.layout.offset()).ok()?;
    let places = Arg::View(View { layout: &layout, ..*index });
    let inputs: SmallVec<[Arg; 2]> = std::iter::once(places).chain(launch.inputs.get(1).copied()).collect();
    Some(combine(&Launch { inputs: &inputs, ..*launch }, dim, mode, None, false))
}

fn combine(
    launch: &Launch,
    dim: usize,
    mode: ScatterMode,
    chance: Option<u64>,
    from_end: bool,
) -> Result<()> {
    let shape = output_shape(launch, 0)?;
    let index = checked(launch, 0, dim, sizes(shape).get(dim).copied().unwrap_or(1), from_end)?;
    let lines = Lines::new(shape, dim);
    let count = lines.outer * index.len() * lines.inner;
    let order = chance.map(|chance| SumOrder::of(chance, index.len()));
    with_compute!(launch.dtype(), C => {
        let source = values::<C>(launch, 1, count)?;
        let mut y = DenseOut::<C>::with_values(launch, 0)?;
        let y_all = SharedMut::new(&mut y);
        Combining { launch, lines, mode, index: &index, order, source: &source, y: y_all }.in_columns()?;
        y.finish(launch)
    })
}

struct Combining<'a, C> {
    launch: &'a Launch<'a>,
    lines: Lines,
    mode: ScatterMode,
    index: &'a [i64],
    order: Option<SumOrder>,
    source: &'a [C],
    y: SharedMut<'a, C>,
}

/// Rows whose places are written down before they are combined.
const SEVERAL: usize = 512;

impl<C: Number> Combining<'_, C> {
    /// In blocks of columns, so that each sum has one writer.
    fn in_columns(&self) -> Result<()> {
        let Lines { outer, inner, .. } = self.lines;
        if inner == 1 && self.order.is_none() && self.mode == ScatterMode::Add {
            let grain = parallel::grain(self.index.len());
            return parallel::try_for_ranges(outer, grain, self.launch.cancel, |mut blocks| {
                blocks.try_for_each(|block| self.line(block))
            });
        }
        let width = COLUMNS.min(inner).max(1);
        let (strips, cost) = (inner.div_ceil(width), self.index.len() * width);
        parallel::try_for_ranges(outer * strips, parallel::grain(cost), self.launch.cancel, |mut range| {
            range.try_for_each(|piece| {
                let (block, first) = (piece / strips, piece % strips * width);
                self.block(block, first..inner.min(first + width))
            })
        })
    }

    /// Rows of one element, added.
    fn line(&self, block: usize) -> Result<()> {
        let (size, n) = (self.lines.size, self.index.len());
        // SAFETY: blocks are disjoint, and one thread has each.
        let line = unsafe { self.y.slice(block * size..(block + 1) * size) };
        let source = self.source.get(block * n..(block + 1) * n).unwrap_or(&[]);
        for (index, source) in self.index.chunks(Cancel::OFTEN).zip(source.chunks(Cancel::OFTEN)) {
            for (&place, &value) in index.iter().zip(source) {
                if let Some(to) = line.get_mut(place as usize) {
                    *to = to.plus(value);
                }
            }
            self.launch.cancel.check()?;
        }
        Ok(())
    }

    /// The columns of all rows that lie in one block of those before `dim`.
    fn block(&self, block: usize, columns: Range<usize>) -> Result<()> {
        let (mut places, n) = ([0; SEVERAL], self.index.len());
        let mut parts = self.order.map(SumOrder::parts);
        for first in (0..n).step_by(SEVERAL) {
            self.launch.cancel.check()?;
            let count = SEVERAL.min(n - first);
            for (place, next) in places.iter_mut().zip(first..first + count) {
                *place = parts.as_mut().map_or(Some(next), Iterator::next).unwrap_or(n);
            }
            let places = places.get(..count).unwrap_or(&[]);
            isa::dispatch(Rows { of: self, block, columns: columns.clone(), places });
        }
        Ok(())
    }
}

struct Rows<'a, C> {
    of: &'a Combining<'a, C>,
    block: usize,
    columns: Range<usize>,
    places: &'a [usize],
}

impl<C: Number> Work for Rows<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        match self.of.mode {
            ScatterMode::Assign => self.each(|_, value| value),
            ScatterMode::Add => self.each(C::plus),
            ScatterMode::Multiply => self.each(C::times),
            ScatterMode::Maximum => self.each(C::larger),
            ScatterMode::Minimum => self.each(C::smaller),
        }
    }
}

impl<C: Number> Rows<'_, C> {
    #[inline(always)]
    fn each(&self, f: impl Fn(C, C) -> C) {
        let Combining { lines: Lines { size, inner, .. }, index, source, y, .. } = self.of;
        let (first, width) = (self.columns.start, self.columns.len());
        for &place in self.places {
            let Some(&row) = index.get(place) else { continue };
            let from = (self.block * index.len() + place) * inner + first;
            let to = (self.block * size + row as usize) * inner + first;
            // SAFETY: blocks of columns are disjoint, and one thread combines the rows of each.
            let to = unsafe { y.slice(to..to + width) };
            for (to, &from) in to.iter_mut().zip(source.get(from..from + width).unwrap_or(&[])) {
                *to = f(*to, from);
            }
        }
    }
}
