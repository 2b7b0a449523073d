//! `LstmCell` and its gradient: a row at a time, each pass over it in vectors.

use std::ops::Range;

use crate::base::Result;
use crate::device::kernel::Launch;

use super::dense::{Dense, DenseOut, dense};
use super::float::{Float, with_float};
use super::isa::{self, Isa, Work};
use super::lines::output_shape;
use super::math::{Lane, Real};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

/// What an element costs beside cheap work.
const COST: usize = 16;

/// `x, from [n, 4h], c [n, h], bias [4h]? -> h, c, gates`.
pub(super) fn lstm(launch: &Launch) -> Result<()> {
    with_float!(launch, launch.dtype(), C => forward::<C>(launch))
}

/// `dh, more, dc, gates, c before, c -> dgates, dc before`.
pub(super) fn lstm_grad(launch: &Launch) -> Result<()> {
    with_float!(launch, launch.dtype(), C => backward::<C>(launch))
}

/// A float with the functions of a cell.
trait Gated: Float {
    fn sigmoid<I: Isa>(self) -> Self;
    fn tanh<I: Isa>(self) -> Self;
}

macro_rules! gated {
    ($t:ty) => {
        impl Gated for $t {
            #[inline(always)]
            fn sigmoid<I: Isa>(self) -> $t {
                Real::sigmoid(Lane::<$t, I>::new(self)).0
            }
            #[inline(always)]
            fn tanh<I: Isa>(self) -> $t {
                Real::tanh(Lane::<$t, I>::new(self)).0
            }
        }
    };
}

gated!(f32);
gated!(f64);

fn forward<C: Gated>(launch: &Launch) -> Result<()> {
    let (x, from, before) = (dense::<C>(launch, 0)?, dense::<C>(launch, 1)?, dense::<C>(launch, 2)?);
    let hidden = output_shape(launch, 0)?.last().copied().unwrap_or(1).max(1);
    let bias =
        if launch.inputs.len() > 3 { dense::<C>(launch, 3)? } else { Dense::Owned(zeros(4 * hidden)?) };
    let [h, c, gates] = [0, 1, 2].map(|i| DenseOut::<C>::new(launch, i));
    let (mut h, mut c, mut gates) = (h?, c?, gates?);
    let rows = h.len() / hidden;
    let to = [SharedMut::new(&mut h), SharedMut::new(&mut c), SharedMut::new(&mut gates)];
    parallel::for_ranges(rows, parallel::grain(hidden * COST), launch.cancel, |rows| {
        isa::dispatch(Forward { rows, hidden, x: &x, from: &from, before: &before, bias: &bias, to: &to });
    })?;
    h.finish(launch)?;
    c.finish(launch)?;
    gates.finish(launch)
}

struct Forward<'a, C> {
    rows: Range<usize>,
    hidden: usize,
    x: &'a [C],
    from: &'a [C],
    before: &'a [C],
    bias: &'a [C],
    to: &'a [SharedMut<'a, C>; 3],
}

impl<C: Gated> Work for Forward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let hidden = self.hidden;
        let [to_h, to_c, to_gates] = self.to;
        for row in self.rows {
            let all = row * 4 * hidden;
            // SAFETY: rows are apart, and each is in one range.
            let (h, c, gates) = unsafe {
                let own = row * hidden..(row + 1) * hidden;
                (to_h.slice(own.clone()), to_c.slice(own), to_gates.slice(all..all + 4 * hidden))
            };
            for (k, gate) in gates.chunks_exact_mut(hidden).enumerate() {
                let at = all + k * hidden;
                let (x, from) = (part(self.x, at, hidden), part(self.from, at, hidden));
                let bias = part(self.bias, k * hidden, hidden);
                for (((to, &x), &from), &bias) in gate.iter_mut().zip(x).zip(from).zip(bias) {
                    let sum = x + from + bias;
                    *to = if k == 2 { sum.tanh::<I>() } else { sum.sigmoid::<I>() };
                }
            }
            let [input, forget, new, output] = [0, 1, 2, 3].map(|k| part(gates, k * hidden, hidden));
            let before = part(self.before, row * hidden, hidden);
            for ((((c, &i), &f), &g), &before) in c.iter_mut().zip(input).zip(forget).zip(new).zip(before) {
                *c = f * before + i * g;
            }
            for ((h, &o), &mut c) in h.iter_mut().zip(output).zip(c) {
                *h = o * c.tanh::<I>();
            }
        }
    }
}

fn backward<C: Gated>(launch: &Launch) -> Result<()> {
    let [dh, more, dc, gates, before, c] = [0, 1, 2, 3, 4, 5].map(|i| dense::<C>(launch, i));
    let (dh, more, dc, gates, before, c) = (dh?, more?, dc?, gates?, before?, c?);
    let (mut dgates, mut dbefore) = (DenseOut::<C>::new(launch, 0)?, DenseOut::<C>::new(launch, 1)?);
    let hidden = output_shape(launch, 1)?.last().copied().unwrap_or(1).max(1);
    let rows = dbefore.len() / hidden;
    let to = [SharedMut::new(&mut dgates), SharedMut::new(&mut dbefore)];
    let states: [&[C]; 5] = [&dh, &more, &dc, &before, &c];
    parallel::for_ranges(rows, parallel::grain(hidden * COST), launch.cancel, |rows| {
        isa::dispatch(Backward { rows, hidden, states: &states, gates: &gates, to: &to });
    })?;
    dgates.finish(launch)?;
    dbefore.finish(launch)
}

struct Backward<'a, C> {
    rows: Range<usize>,
    hidden: usize,
    /// `dh, more, dc, c before, c`
    states: &'a [&'a [C]; 5],
    gates: &'a [C],
    to: &'a [SharedMut<'a, C>; 2],
}

impl<C: Gated> Work for Backward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (hidden, one) = (self.hidden, C::from_f64(1.0));
        let [to_gates, to_before] = self.to;
        for row in self.rows {
            let (at, all) = (row * hidden, row * 4 * hidden);
            // SAFETY: rows are apart, and each is in one range.
            let (by_gates, by_c) =
                unsafe { (to_gates.slice(all..all + 4 * hidden), to_before.slice(at..at + hidden)) };
            let [dh, more, dc, before, c] = self.states.map(|state| part(state, at, hidden));
            let [input, forget, new, output] =
                [0, 1, 2, 3].map(|k| part(self.gates, all + k * hidden, hidden));
            let (first, last) = by_gates.split_at_mut(2 * hidden);
            let ((by_i, by_f), (by_g, by_o)) = (first.split_at_mut(hidden), last.split_at_mut(hidden));
            let given = dh.iter().zip(more).zip(dc).zip(c).zip(output);
            for ((by_c, by_o), ((((&dh, &more), &dc), &c), &o)) in by_c.iter_mut().zip(by_o).zip(given) {
                let (by_h, level) = (dh + more, c.tanh::<I>());
                *by_c = dc + by_h * o * (one - level * level);
                *by_o = by_h * level * o * (one - o);
            }
            let given = input.iter().zip(new).zip(by_c.iter());
            for ((by_i, by_g), ((&i, &g), &by_c)) in by_i.iter_mut().zip(by_g).zip(given) {
                *by_i = by_c * g * i * (one - i);
                *by_g = by_c * i * (one - g * g);
            }
            for (((by_f, by_c), &f), &before) in by_f.iter_mut().zip(by_c).zip(forget).zip(before) {
                *by_f = *by_c * before * f * (one - f);
                *by_c = *by_c * f;
            }
        }
    }
}

/// So many elements from a place on.
#[inline(always)]
fn part<C>(values: &[C], at: usize, count: usize) -> &[C] {
    values.get(at..at + count).unwrap_or(&[])
}
