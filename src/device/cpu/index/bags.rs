//! `EmbeddingBag`: the rows of a table that each bag names, combined.

use half::{bf16, f16};

use crate::base::dtype::Element;
use crate::base::{DType, Error, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::access::{DenseOut, dense};
use crate::device::cpu::dense::Dense;
use crate::device::cpu::float::Float;
use crate::device::cpu::isa::{self, Isa, Work};
use crate::device::cpu::lines::{input_shape, mismatch, output_shape};
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::kernel::{Bag, Launch};

use super::{checked, plain, plain_out};

/// Columns that are summed together, in registers.
const WIDE: usize = 64;
const NARROW: usize = 16;

/// Each bag's rows are combined in their order. Of rows named `padding` none counts. The largest is the first of equals,
/// and NaN only where it comes first, as in PyTorch.
pub(in crate::device::cpu) fn embedding_bag(launch: &Launch, mode: Bag, padding: i64) -> Result<()> {
    let &[rows, width] = input_shape(launch, 0)? else {
        return Err(mismatch(launch, "the table", input_shape(launch, 0)?, &[0, 0]));
    };
    let index = checked(launch, 1, 0, rows, false)?;
    let starts = dense::<i64>(launch, 2)?;
    let falls = |pair: &[i64]| matches!(pair, [a, b] if a > b);
    if starts.windows(2).any(falls) || starts.last().is_some_and(|&last| last > index.len() as i64) {
        return Err(Error::runtime(
            "the offsets of bags must not decrease, nor go beyond the input's length",
        ));
    }
    let bags = match output_shape(launch, 0)? {
        &[bags, columns] if columns == width && bags <= starts.len() => bags,
        other => return Err(mismatch(launch, "the output", other, &[starts.len(), width])),
    };
    let bags = Bags { launch, mode, padding, width, bags, index: &index, starts: &starts };
    match launch.dtype() {
        DType::Float64 => bags.read::<f64, f64>(),
        DType::Float16 => bags.read::<f16, f32>(),
        DType::BFloat16 => bags.read::<bf16, f32>(),
        _ => bags.read::<f32, f32>(),
    }
}

#[derive(Clone, Copy)]
struct Bags<'a> {
    launch: &'a Launch<'a>,
    mode: Bag,
    padding: i64,
    width: usize,
    bags: usize,
    index: &'a [i64],
    starts: &'a [i64],
}

impl Bags<'_> {
    /// Elements as they lie, or converted where they lie otherwise.
    fn read<T: Element, C: Float>(self) -> Result<()> {
        let launch = self.launch;
        if let (Some(table), Some(y)) = (plain::<T>(launch, 0)?, plain_out::<T>(launch)?) {
            return self.fill::<T, C>(table, y);
        }
        let table = dense::<C>(launch, 0)?;
        let mut y = DenseOut::<C>::new(launch, 0)?;
        self.fill::<C, C>(&table, &mut y)?;
        y.finish(launch)
    }

    fn fill<T: Element, C: Float>(self, table: &[T], y: &mut [T]) -> Result<()> {
        let weights = match self.launch.inputs.len() {
            4 => dense::<C>(self.launch, 3)?,
            _ => Dense::Owned(Vec::new()),
        };
        let mut places = match self.mode {
            Bag::Max => Some(DenseOut::<i64>::new(self.launch, 1)?),
            _ => None,
        };
        {
            let all = SharedMut::new(y);
            let chosen = places.as_mut().map(|places| SharedMut::new(places));
            let weights = Some(&*weights).filter(|w| !w.is_empty());
            // A piece is a block of a bag's columns.
            let blocks = self.width.div_ceil(WIDE);
            let each = self.index.len() / self.bags.max(1) * self.width.min(WIDE);
            let cancel = self.launch.cancel;
            parallel::try_for_ranges(self.bags * blocks, parallel::grain(each), cancel, |mut pieces| {
                pieces.try_for_each(|piece| {
                    let (bag, column) = (piece / blocks, piece % blocks * WIDE);
                    let from = bag * self.width + column;
                    let part = from..from + WIDE.min(self.width - column);
                    // SAFETY: pieces are disjoint.
                    let (y, chosen) = unsafe {
                        (all.slice(part.clone()), chosen.as_ref().map(|places| places.slice(part)))
                    };
                    isa::dispatch(BagPart { of: self, table, weights, bag, column, y, chosen });
                    // A sum that stopped on the way ends here.
                    if each >= Cancel::OFTEN { cancel.check() } else { cancel.check_at(piece) }
                })
            })?;
        }
        places.map_or(Ok(()), |places| places.finish(self.launch))
    }

    /// The indices of a bag, and where they begin; the first bag begins with the first index, as in PyTorch.
    #[inline(always)]
    fn bag(&self, bag: usize) -> (&[i64], usize) {
        let place = |at: usize| self.starts.get(at).map_or(self.index.len(), |&at| at.max(0) as usize);
        let first = if bag == 0 { 0 } else { place(bag) };
        (self.index.get(first..place(bag + 1)).unwrap_or(&[]), first)
    }
}

/// Up to [`WIDE`] columns of a bag, from `column` on.
struct BagPart<'a, T, C> {
    of: Bags<'a>,
    table: &'a [T],
    weights: Option<&'a [C]>,
    bag: usize,
    column: usize,
    y: &'a mut [T],
    chosen: Option<&'a mut [i64]>,
}

impl<T: Element, C: Float> Work for BagPart<'_, T, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let (y, chosen) = (std::mem::take(&mut self.y), self.chosen.take());
        let mut column = self.column;
        if let Some(chosen) = chosen {
            for (y, chosen) in y.chunks_mut(NARROW).zip(chosen.chunks_mut(NARROW)) {
                self.largest(column, y, chosen);
                column += NARROW;
            }
            return;
        }
        if let Ok(wide) = <&mut [T; WIDE]>::try_from(&mut *y) {
            return self.sum(column, wide);
        }
        let (narrow, rest) = y.as_chunks_mut::<NARROW>();
        for y in narrow {
            self.sum(column, y);
            column += NARROW;
        }
        for y in rest {
            self.sum(column, std::array::from_mut(y));
            column += 1;
        }
    }
}

impl<T: Element, C: Float> BagPart<'_, T, C> {
    /// The columns from `column` on of a row of the table.
    #[inline(always)]
    fn row(&self, id: i64, column: usize) -> &[T] {
        self.table.get(id as usize * self.of.width + column..).unwrap_or(&[])
    }

    /// Long bags are looked after every so many rows.
    #[inline(always)]
    fn is_stopped(&self, i: usize) -> bool {
        i % Cancel::OFTEN == Cancel::OFTEN - 1 && self.of.launch.cancel.is_set()
    }

    #[inline(always)]
    fn sum<const N: usize>(&self, column: usize, y: &mut [T; N]) {
        let (ids, first) = self.of.bag(self.bag);
        let mut sums = [C::default(); N];
        let mut count = 0;
        for (i, &id) in ids.iter().enumerate() {
            if self.is_stopped(i) {
                return;
            }
            let Some(row) = self.row(id, column).first_chunk::<N>().filter(|_| id != self.of.padding) else {
                continue;
            };
            count += 1;
            match self.weights.and_then(|weights| weights.get(first + i)) {
                None => sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum = *sum + C::load(v)),
                Some(&w) => sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum = *sum + C::load(v) * w),
            }
        }
        if self.of.mode == Bag::Mean && count > 1 {
            sums.iter_mut().for_each(|sum| *sum = sum.over(count));
        }
        y.iter_mut().zip(sums).for_each(|(y, sum)| *y = sum.store());
    }

    /// The largest of each column, and which row has it; -1 where the bag is empty.
    #[inline(always)]
    fn largest(&self, column: usize, y: &mut [T], chosen: &mut [i64]) {
        y.fill(C::default().store());
        chosen.fill(-1);
        let mut best = [C::default(); NARROW];
        for (i, &id) in self.of.bag(self.bag).0.iter().enumerate() {
            if self.is_stopped(i) {
                return;
            }
            if id == self.of.padding {
                continue;
            }
            let row = self.row(id, column);
            for (((best, y), chosen), &v) in best.iter_mut().zip(y.iter_mut()).zip(chosen.iter_mut()).zip(row)
            {
                let value = C::load(v);
                if *chosen < 0 || value > *best {
                    (*best, *y, *chosen) = (value, v, id);
                }
            }
        }
    }
}
