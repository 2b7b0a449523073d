//! `IndexAdd`: rows added at places that another tensor names.

use std::ops::Range;

use crate::base::Result;
use crate::device::cpu::convert::with_compute;
use crate::device::cpu::dense::DenseOut;
use crate::device::cpu::float::Number;
use crate::device::cpu::isa::{self, Isa, Work};
use crate::device::cpu::lines::{Lines, output_shape};
use crate::device::cpu::order::SumOrder;
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::kernel::Launch;

use super::{COLUMNS, checked, sizes, values};

/// Adds `source` to `y` at `index` along `dim`, in the order of the index or the one that `chance` stands for, so that
/// the sums do not depend on the number of threads. Negative indices count from the end.
pub(in crate::device::cpu) fn index_add(launch: &Launch, dim: usize, chance: Option<u64>) -> Result<()> {
    let shape = output_shape(launch, 0)?;
    let index = checked(launch, 0, dim, sizes(shape).get(dim).copied().unwrap_or(1), true)?;
    let lines = Lines::new(shape, dim);
    let count = lines.outer * index.len() * lines.inner;
    let order = chance.map(|chance| SumOrder::of(chance, index.len()));
    with_compute!(launch.dtype(), C => {
        let source = values::<C>(launch, 1, count)?;
        let mut y = DenseOut::<C>::with_values(launch, 0)?;
        let adding = Adding { launch, lines, index: &index, order, source: &source, y: SharedMut::new(&mut y) };
        adding.in_columns()?;
        y.finish(launch)
    })
}

struct Adding<'a, C> {
    launch: &'a Launch<'a>,
    lines: Lines,
    index: &'a [i64],
    order: Option<SumOrder>,
    source: &'a [C],
    y: SharedMut<'a, C>,
}

/// Rows whose places are written down before they are added.
const SEVERAL: usize = 512;

impl<C: Number> Adding<'_, C> {
    /// In blocks of columns, so that each sum has one writer.
    fn in_columns(&self) -> Result<()> {
        let Lines { outer, inner, .. } = self.lines;
        let width = COLUMNS.min(inner).max(1);
        let (strips, cost) = (inner.div_ceil(width), self.index.len() * width);
        parallel::try_for_ranges(outer * strips, parallel::grain(cost), self.launch.cancel, |mut range| {
            range.try_for_each(|piece| {
                let (block, first) = (piece / strips, piece % strips * width);
                self.block(block, first..inner.min(first + width))
            })
        })
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
    of: &'a Adding<'a, C>,
    block: usize,
    columns: Range<usize>,
    places: &'a [usize],
}

impl<C: Number> Work for Rows<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Adding { lines: Lines { size, inner, .. }, index, source, y, .. } = self.of;
        let (first, width) = (self.columns.start, self.columns.len());
        for &place in self.places {
            let Some(&row) = index.get(place) else { continue };
            let from = (self.block * index.len() + place) * inner + first;
            let to = (self.block * size + row as usize) * inner + first;
            // SAFETY: blocks of columns are disjoint, and one thread adds the rows of each.
            let to = unsafe { y.slice(to..to + width) };
            for (to, &from) in to.iter_mut().zip(source.get(from..from + width).unwrap_or(&[])) {
                *to = to.plus(from);
            }
        }
    }
}
