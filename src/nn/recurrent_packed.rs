//! Recurrent layers over packed sequences: each step for the sequences that reach it.

use crate::base::{Result, memory};
use crate::op::Value;
use crate::op::core::autocast;
use crate::op::shape::join::cat;
use crate::op::shape::part::narrow;
use crate::tensor::Tensor;

use super::cells::{Hidden, Mode, Weights};
use super::module::Module;
use super::packed::{Packed, by_step, reordered};
use super::recurrent::Recurrent;

/// `[outputs, last]`: packed outputs, and the last state of each layer as the sequences came.
pub(super) fn respond(layer: &Recurrent, module: &Module, input: &Packed, given: &Value) -> Result<Value> {
    layer.check_input(module, &input.data, true)?;
    let state = start(layer, input, given)?;
    let lower = input.data.device().is_cuda() || layer.mode == Mode::Lstm;
    let casts = if lower { autocast::enter("linear", &[&input.data])? } else { None };
    let cast = |t: Tensor| casts.as_ref().map_or_else(|| Ok(t.clone()), |c| c.cast(&t));
    let state = Hidden { h: cast(state.h)?, c: state.c.map(&cast).transpose()? };
    let over = |all: &Tensor, first: Hidden, reverse: bool, weights: &Weights| {
        let inputs = by_step(all, &input.sizes)?;
        let sweep = if reverse { backwards } else { forwards };
        sweep(layer.mode, &inputs, first, weights)
    };
    let (out, last) = layer.run(module, cast(input.data.clone())?, &state, casts.as_ref(), &over)?;
    let places = input.unsorted();
    let h = Value::from(reordered(&last.h, 1, places.as_deref())?);
    let hidden = match &last.c {
        Some(c) => Value::List(vec![h, reordered(c, 1, places.as_deref())?.into()]),
        None => h,
    };
    Ok(Value::List(vec![input.with(out).into_value(), hidden]))
}

/// The states before the first step, in the order of the packed sequences.
fn start(layer: &Recurrent, input: &Packed, given: &Value) -> Result<Hidden> {
    let Some((h, c)) = layer.asked(given)? else { return layer.nothing(input.batch(), &input.data) };
    layer.check_state(h, c, input.batch())?;
    let order = input.sorted.as_deref();
    Ok(Hidden { h: reordered(h, 1, order)?, c: c.map(|c| reordered(c, 1, order)).transpose()? })
}

/// From the first step on: sequences that end leave their state behind.
fn forwards(mode: Mode, inputs: &[Tensor], first: Hidden, weights: &Weights) -> Result<(Tensor, Hidden)> {
    let (mut now, mut outputs, mut ended) = (first, memory::with_capacity(inputs.len())?, Vec::new());
    for input in inputs {
        let (left, before) = (input.size(0)? as i64, now.h.size(0)? as i64);
        if left < before {
            ended.push(rows(&now, left, before - left)?);
            now = rows(&now, 0, left)?;
        }
        now = mode.step(input, &now, weights)?;
        outputs.push(now.h.clone());
    }
    ended.push(now);
    ended.reverse();
    Ok((cat(&outputs.iter().collect::<Vec<_>>(), 0)?, below(&ended)?))
}

/// From the last step on: sequences join with their first state where they end.
fn backwards(mode: Mode, inputs: &[Tensor], first: Hidden, weights: &Weights) -> Result<(Tensor, Hidden)> {
    let mut now = rows(&first, 0, 0)?;
    let mut outputs = memory::with_capacity(inputs.len())?;
    for input in inputs.iter().rev() {
        let (count, before) = (input.size(0)? as i64, now.h.size(0)? as i64);
        if count > before {
            let fresh = rows(&first, before, count - before)?;
            now = if before == 0 { fresh } else { below(&[now, fresh])? };
        }
        now = mode.step(input, &now, weights)?;
        outputs.push(now.h.clone());
    }
    outputs.reverse();
    Ok((cat(&outputs.iter().collect::<Vec<_>>(), 0)?, now))
}

fn rows(state: &Hidden, from: i64, count: i64) -> Result<Hidden> {
    let c = state.c.as_ref().map(|c| narrow(c, 0, from, count)).transpose()?;
    Ok(Hidden { h: narrow(&state.h, 0, from, count)?, c })
}

/// States of sequences below one another.
fn below(all: &[Hidden]) -> Result<Hidden> {
    if let [one] = all {
        return Ok(one.clone());
    }
    let h = cat(&all.iter().map(|s| &s.h).collect::<Vec<_>>(), 0)?;
    let c: Vec<&Tensor> = all.iter().filter_map(|s| s.c.as_ref()).collect();
    Ok(Hidden { h, c: if c.is_empty() { None } else { Some(cat(&c, 0)?) } })
}
