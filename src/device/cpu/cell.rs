//! `LstmCell` and its gradient.

use crate::base::Result;
use crate::device::kernel::Launch;

use super::convert::Compute;
use super::dense::{DenseOut, dense};
use super::float::{Float, with_float};
use super::lines::output_shape;

/// `x, from [n, 4h], c [n, h], bias [4h]? -> h, c, gates`.
pub(super) fn lstm(launch: &Launch) -> Result<()> {
    with_float!(launch, launch.dtype(), C => forward::<C>(launch))
}

/// `dh, more, dc, gates, c before, c -> dgates, dc before`.
pub(super) fn lstm_grad(launch: &Launch) -> Result<()> {
    with_float!(launch, launch.dtype(), C => backward::<C>(launch))
}

fn squashed<C: Compute>(v: f64) -> C {
    C::from_f64(1.0 / (1.0 + (-v).exp()))
}

fn at<C: Compute>(values: &[C], i: usize) -> f64 {
    values.get(i).map_or(0.0, |v| v.to_f64())
}

fn put<C: Compute>(values: &mut [C], i: usize, value: f64) {
    if let Some(to) = values.get_mut(i) {
        *to = C::from_f64(value);
    }
}

fn forward<C: Float>(launch: &Launch) -> Result<()> {
    let (x, from, before) = (dense::<C>(launch, 0)?, dense::<C>(launch, 1)?, dense::<C>(launch, 2)?);
    let bias = if launch.inputs.len() > 3 { Some(dense::<C>(launch, 3)?) } else { None };
    let [h, c, gates] = [0, 1, 2].map(|i| DenseOut::<C>::new(launch, i));
    let (mut h, mut c, mut gates) = (h?, c?, gates?);
    let hidden = output_shape(launch, 0)?.last().copied().unwrap_or(1).max(1);
    for i in 0..h.len() {
        launch.cancel.check_at(i)?;
        let (first, j) = (i / hidden * 4 * hidden + i % hidden, i % hidden);
        let gate = [0, 1, 2, 3].map(|k| {
            let bias = bias.as_ref().map_or(0.0, |b| at(b, k * hidden + j));
            let sum = at(&x, first + k * hidden) + at(&from, first + k * hidden) + bias;
            let value = if k == 2 { sum.tanh() } else { squashed::<C>(sum).to_f64() };
            put(&mut gates, first + k * hidden, value);
            value
        });
        let memory = gate[1] * at(&before, i) + gate[0] * gate[2];
        put(&mut c, i, memory);
        put(&mut h, i, gate[3] * memory.tanh());
    }
    h.finish(launch)?;
    c.finish(launch)?;
    gates.finish(launch)
}

fn backward<C: Float>(launch: &Launch) -> Result<()> {
    let [dh, more, dc, gates, before, c] = [0, 1, 2, 3, 4, 5].map(|i| dense::<C>(launch, i));
    let (dh, more, dc, gates, before, c) = (dh?, more?, dc?, gates?, before?, c?);
    let (mut dgates, mut dbefore) = (DenseOut::<C>::new(launch, 0)?, DenseOut::<C>::new(launch, 1)?);
    let hidden = output_shape(launch, 1)?.last().copied().unwrap_or(1).max(1);
    for i in 0..dbefore.len() {
        launch.cancel.check_at(i)?;
        let first = i / hidden * 4 * hidden + i % hidden;
        let gate = [0, 1, 2, 3].map(|k| at(&gates, first + k * hidden));
        let (by_h, level) = (at(&dh, i) + at(&more, i), at(&c, i).tanh());
        let by_c = at(&dc, i) + by_h * gate[3] * (1.0 - level * level);
        let by = [by_c * gate[2], by_c * at(&before, i), by_c * gate[0], by_h * level];
        for (k, (by, gate)) in by.into_iter().zip(gate).enumerate() {
            let slope = if k == 2 { 1.0 - gate * gate } else { gate * (1.0 - gate) };
            put(&mut dgates, first + k * hidden, by * slope);
        }
        put(&mut dbefore, i, by_c * gate[1]);
    }
    dgates.finish(launch)?;
    dbefore.finish(launch)
}
