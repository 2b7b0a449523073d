//! Channels whose planes are narrow, many at once: along the rows of a batch, each column by itself.

use std::ops::Range;

use crate::base::Result;
use crate::device::cpu::float::Float;
use crate::device::cpu::isa::{Isa, Work};
use crate::device::cpu::parallel::SharedMut;
use crate::device::cpu::scratch::zeros;

use super::planes::Planes;

/// Rows whose values are summed before the sums are taken up in f64.
const STRETCH: usize = 64;

/// Room for what is kept of each column.
pub(super) struct Room<C> {
    sums: Vec<C>,
    totals: Vec<f64>,
    mean: Vec<C>,
    factor: Vec<C>,
    shift: Vec<C>,
    tilt: Vec<C>,
}

impl<C: Float> Room<C> {
    pub(super) fn new(columns: usize) -> Result<Room<C>> {
        let column = || zeros::<C>(columns);
        Ok(Room {
            sums: column()?,
            totals: zeros(columns)?,
            mean: column()?,
            factor: column()?,
            shift: column()?,
            tilt: column()?,
        })
    }

    /// Sums over rows, of which `add` adds one to the sums of all columns.
    #[inline(always)]
    fn total(&mut self, rows: usize, add: impl Fn(usize, &mut [C], &[C])) {
        self.totals.fill(0.0);
        for first in (0..rows).step_by(STRETCH) {
            self.sums.fill(C::default());
            (first..rows.min(first + STRETCH)).for_each(|row| add(row, &mut self.sums, &self.mean));
            for (total, sum) in self.totals.iter_mut().zip(&self.sums) {
                *total += sum.to_f64();
            }
        }
    }
}

/// The sums of each channel's columns.
#[inline(always)]
fn of_channels(totals: &[f64], size: usize) -> impl Iterator<Item = f64> {
    totals.chunks_exact(size.max(1)).map(|columns| columns.iter().sum())
}

/// A number of each channel for its columns.
#[inline(always)]
fn spread<C: Float>(numbers: impl Iterator<Item = C>, size: usize, columns: &mut [C]) {
    columns.chunks_exact_mut(size.max(1)).zip(numbers).for_each(|(columns, number)| columns.fill(number));
}

/// Some channels, less their means and over their deviations. Numbers are those of these channels.
pub(super) struct NormaliseRows<'a, 'b, C> {
    pub x: &'a [C],
    pub y: &'a SharedMut<'b, C>,
    pub on: Planes,
    pub channels: Range<usize>,
    pub weight: Option<&'a [C]>,
    pub bias: Option<&'a [C]>,
    pub eps: C,
    pub room: Room<C>,
    pub mean: &'a mut [C],
    pub rstd: &'a mut [C],
    pub variance: &'a mut [f64],
}

impl<C: Float> Work for NormaliseRows<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (n, size, count) = (self.on.n, self.on.size, self.on.count() as f64);
        let x = |i: usize| self.on.values(self.x, i, &self.channels);
        let mut room = self.room;
        room.total(n, |i, sums, _| {
            for (sum, &x) in sums.iter_mut().zip(x(i)) {
                *sum = *sum + x;
            }
        });
        let means = of_channels(&room.totals, size).map(|sum| C::from_f64(sum / count));
        self.mean.iter_mut().zip(means).for_each(|(to, mean)| *to = mean);
        spread(self.mean.iter().copied(), size, &mut room.mean);
        room.total(n, |i, sums, mean| {
            for ((sum, &x), &mean) in sums.iter_mut().zip(x(i)).zip(mean) {
                *sum = *sum + (x - mean) * (x - mean);
            }
        });
        for ((to, rstd), sum) in
            self.variance.iter_mut().zip(self.rstd.iter_mut()).zip(of_channels(&room.totals, size))
        {
            *to = sum / count;
            *rstd = C::from_f64(1.0) / (C::from_f64(*to) + self.eps).sqrt();
        }
        match self.weight {
            Some(weight) => {
                let factors = self.rstd.iter().zip(weight).map(|(&rstd, &weight)| weight * rstd);
                spread(factors, size, &mut room.factor);
            }
            None => spread(self.rstd.iter().copied(), size, &mut room.factor),
        }
        spread(self.bias.unwrap_or(&[]).iter().copied(), size, &mut room.shift);
        for i in 0..n {
            // SAFETY: this work has its channels to itself.
            let y = unsafe { self.y.slice(self.on.row(i, &self.channels)) };
            let numbers = room.mean.iter().zip(&room.factor).zip(&room.shift);
            for ((y, &x), ((&mean, &factor), &shift)) in y.iter_mut().zip(x(i)).zip(numbers) {
                *y = (x - mean) * factor + shift;
            }
        }
    }
}

/// The gradients of some channels. Numbers are those of these channels.
pub(super) struct SlopeRows<'a, 'b, C> {
    pub dy: &'a [C],
    pub x: &'a [C],
    pub dx: &'a SharedMut<'b, C>,
    pub on: Planes,
    pub channels: Range<usize>,
    pub mean: &'a [C],
    pub rstd: &'a [C],
    pub weight: Option<&'a [C]>,
    pub training: bool,
    pub room: Room<C>,
    pub dweight: &'a mut [C],
    pub dbias: &'a mut [C],
}

impl<C: Float> Work for SlopeRows<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (n, size) = (self.on.n, self.on.size);
        let dy = |i: usize| self.on.values(self.dy, i, &self.channels);
        let x = |i: usize| self.on.values(self.x, i, &self.channels);
        let mut room = self.room;
        room.total(n, |i, sums, _| {
            for (sum, &g) in sums.iter_mut().zip(dy(i)) {
                *sum = *sum + g;
            }
        });
        let share = if self.training { 1.0 / self.on.count() as f64 } else { 0.0 };
        self.dbias
            .iter_mut()
            .zip(of_channels(&room.totals, size))
            .for_each(|(to, sum)| *to = C::from_f64(sum));
        spread(of_channels(&room.totals, size).map(|sum| C::from_f64(sum * share)), size, &mut room.shift);
        spread(self.mean.iter().copied(), size, &mut room.mean);
        room.total(n, |i, sums, mean| {
            for (((sum, &g), &x), &mean) in sums.iter_mut().zip(dy(i)).zip(x(i)).zip(mean) {
                *sum = *sum + g * (x - mean);
            }
        });
        let dots = || of_channels(&room.totals, size).zip(self.rstd);
        self.dweight.iter_mut().zip(dots()).for_each(|(to, (sum, &rstd))| *to = C::from_f64(sum) * rstd);
        spread(dots().map(|(sum, &rstd)| C::from_f64(sum * share) * rstd * rstd), size, &mut room.tilt);
        match self.weight {
            Some(weight) => {
                spread(self.rstd.iter().zip(weight).map(|(&rstd, &w)| w * rstd), size, &mut room.factor);
            }
            None => spread(self.rstd.iter().copied(), size, &mut room.factor),
        }
        for i in 0..n {
            // SAFETY: this work has its channels to itself.
            let dx = unsafe { self.dx.slice(self.on.row(i, &self.channels)) };
            let values = dy(i).zip(x(i));
            let numbers = room.mean.iter().zip(&room.factor).zip(room.shift.iter().zip(&room.tilt));
            for ((dx, (&g, &x)), ((&mean, &factor), (&level, &tilt))) in
                dx.iter_mut().zip(values).zip(numbers)
            {
                *dx = factor * (g - level - (x - mean) * tilt);
            }
        }
    }
}
