//! `Scatter`: elements written or added at places that another tensor names.

use std::ops::Range;

use crate::base::Result;
use crate::device::cancel::Cancel;
use crate::device::chance::mixed;
use crate::device::cpu::access::{Dense, DenseOut, dense, scalar_value};
use crate::device::cpu::convert::with_compute;
use crate::device::cpu::float::Number;
use crate::device::cpu::lines::{input_shape, output_shape};
use crate::device::cpu::order::SumOrder;
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::kernel::{Arg, Launch, ScatterMode};

use super::{COLUMNS, IndexWalk, checked, rows, sizes};

/// `y[..index[..i..]..] = source[..i..]`, or combined with what stands there, along `dim`. Negative indices are errors, as in
/// `torch.scatter`; of several values for one place the last one stays. Values are combined in their own order, or in the
/// one that `chance` stands for.
pub(in crate::device::cpu) fn scatter(
    launch: &Launch,
    dim: usize,
    mode: ScatterMode,
    chance: Option<u64>,
) -> Result<()> {
    if chance.is_none()
        && let Some(done) = rows::scatter(launch, dim, mode)
    {
        return done;
    }
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
        let scattering = Scattering { to, from, index: &index, source: &source, y: all, mode, cancel: launch.cancel };
        scattering.run(dim == 0, shape.first().copied().unwrap_or(1), chance)?;
        y.finish(launch)
    })
}

struct Scattering<'a, C> {
    to: IndexWalk,
    from: IndexWalk,
    index: &'a [i64],
    source: &'a [C],
    y: SharedMut<'a, C>,
    mode: ScatterMode,
    cancel: &'a Cancel,
}

impl<C: Number> Scattering<'_, C> {
    /// What lies along the first dimension is apart unless it is the one that indices lead along; then the last is.
    fn run(&self, leads_along_first: bool, first: usize, chance: Option<u64>) -> Result<()> {
        let slabs = if leads_along_first { 1 } else { first };
        let (last, lines) = (self.to.last, self.to.lines / slabs.max(1));
        if chance.is_none() && leads_along_first && self.to.step != 0 {
            let width = strip(last);
            let grain = parallel::grain(lines * width * 4);
            return parallel::try_for_ranges(last.div_ceil(width), grain, self.cancel, |mut strips| {
                strips.try_for_each(|i| self.in_order(0..lines, i * width..last.min((i + 1) * width)))
            });
        }
        let grain = parallel::grain(lines * last * 4);
        parallel::try_for_ranges(slabs, grain, self.cancel, |mut range| match chance {
            None => self.in_order(range.start * lines..range.end * lines, 0..last),
            Some(chance) => {
                range.try_for_each(|slab| self.by_chance(chance, slab * lines..(slab + 1) * lines))
            }
        })
    }

    fn in_order(&self, lines: Range<usize>, columns: Range<usize>) -> Result<()> {
        let Scattering { to, from, .. } = self;
        for line in lines {
            for first in columns.clone().step_by(Cancel::OFTEN) {
                let n = Cancel::OFTEN.min(columns.end - first);
                let (at, source_at) =
                    (to.start(line) + first * to.step, from.start(line) + first * from.step);
                let places = line * to.last + first;
                let index = self.index.get(places..places + n).unwrap_or(&[]);
                match from.step {
                    0 => self.write(
                        at,
                        index,
                        std::iter::repeat_n(self.source.get(source_at).copied().unwrap_or_default(), n),
                    ),
                    _ => self.write(
                        at,
                        index,
                        self.source.get(source_at..source_at + n).unwrap_or(&[]).iter().copied(),
                    ),
                }
                if n == Cancel::OFTEN {
                    self.cancel.check()?;
                }
            }
            self.cancel.check_at(line)?;
        }
        Ok(())
    }

    /// Writes values side by side, or combines them with what is there; the first begins to look for its place `at`.
    #[inline(always)]
    fn write(&self, at: usize, index: &[i64], values: impl Iterator<Item = C>) {
        match self.mode {
            ScatterMode::Assign => self.combine(at, index, values, |y, value| *y = value),
            ScatterMode::Add => self.combine(at, index, values, |y, value| *y = y.plus(value)),
            ScatterMode::Multiply => self.combine(at, index, values, |y, value| *y = y.times(value)),
            // Few of many values are the largest so far: what is not stored need not be waited for.
            ScatterMode::Maximum => self.combine(at, index, values, |y, value| {
                if value > *y || is_nan(value) {
                    *y = value;
                }
            }),
            ScatterMode::Minimum => self.combine(at, index, values, |y, value| {
                if value < *y || is_nan(value) {
                    *y = value;
                }
            }),
        }
    }

    #[inline(always)]
    fn combine(&self, mut at: usize, index: &[i64], values: impl Iterator<Item = C>, f: impl Fn(&mut C, C)) {
        let (step, along) = (self.to.step, self.to.dim_stride);
        for (&i, value) in index.iter().zip(values) {
            // SAFETY: lines of one piece run one after another, and pieces write apart.
            if let Some(y) = unsafe { self.y.place(at + i as usize * along) } {
                f(y, value);
            }
            at += step;
        }
    }

    fn by_chance(&self, chance: u64, lines: Range<usize>) -> Result<()> {
        let Scattering { to, from, .. } = self;
        let (across, along) = (SumOrder::of(chance, lines.len()), SumOrder::of(mixed(chance), to.last));
        for line in across.parts().map(|place| lines.start + place) {
            let (at, source_at) = (to.start(line), from.start(line));
            for n in along.parts() {
                let index = self.index.get(line * to.last + n).map_or(&[][..], std::slice::from_ref);
                let value = self.source.get(source_at + n * from.step).copied();
                self.write(at + n * to.step, index, value.into_iter());
            }
            self.cancel.check()?;
        }
        Ok(())
    }
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<C: Number>(value: C) -> bool {
    value != value
}

/// How many of so many columns a thread takes.
fn strip(columns: usize) -> usize {
    columns.div_ceil(parallel::threads()).next_multiple_of(COLUMNS).min(columns).max(1)
}
