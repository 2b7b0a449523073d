//! Recurrent layers over packed sequences: each step for the sequences that reach it.

use crate::base::{Error, Result, python};
use crate::op::Value;
use crate::op::activation::dropout;
use crate::op::autocast::{self, Casts};
use crate::op::joins::{cat, stack};
use crate::op::linear::linear;
use crate::op::movement::{narrow, select};
use crate::tensor::Tensor;

use super::cells::{Hidden, Mode, Weights, wants_pair, zeros};
use super::module::{Layer, Module};
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
    let (out, last) = run(layer, module, (cast(input.data.clone())?, &input.sizes), &state, casts.as_ref())?;
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
    let (count, n) = (layer.layers * layer.directions(), input.batch());
    let lstm = layer.mode == Mode::Lstm;
    let (h, c) = match given {
        Value::None => {
            let x = &input.data;
            let c = if lstm { Some(zeros(&[count, n, layer.hidden], x)?) } else { None };
            return Ok(Hidden { h: zeros(&[count, n, layer.width()], x)?, c });
        }
        Value::List(items) if lstm => match items.as_slice() {
            [Value::Tensor(h), Value::Tensor(c)] => (h, Some(c)),
            _ => return Err(wants_pair(layer.name())),
        },
        Value::Tensor(h) if !lstm => (h, None),
        _ if lstm => return Err(wants_pair(layer.name())),
        other => {
            let text = format!("{}: hx must be a Tensor, not {}", layer.name(), other.describe());
            return Err(Error::type_error(text));
        }
    };
    let all = [Some((h, layer.width())), c.map(|c| (c, layer.hidden))];
    for (i, (t, size)) in all.into_iter().flatten().enumerate() {
        if t.shape() != [count, n, size] {
            let which = if lstm { format!("hidden[{i}]") } else { "hidden".into() };
            let want = python::tuple(&[count, n, size]);
            return Err(Error::runtime(format!("Expected {which} size {want}, got {:?}", t.shape())));
        }
    }
    let order = input.sorted.as_deref();
    Ok(Hidden { h: reordered(h, 1, order)?, c: c.map(|c| reordered(c, 1, order)).transpose()? })
}

/// Outputs `[elements, directions * width]` and last states of all layers.
fn run(
    layer: &Recurrent,
    module: &Module,
    (x, sizes): (Tensor, &[usize]),
    state: &Hidden,
    casts: Option<&Casts>,
) -> Result<(Tensor, Hidden)> {
    let (mut x, mut last_h, mut last_c) = (x, Vec::new(), Vec::new());
    for number in 0..layer.layers {
        let mut outputs = Vec::new();
        for direction in 0..layer.directions() {
            let at = (number * layer.directions() + direction) as i64;
            let c = state.c.as_ref().map(|c| select(c, 0, at)).transpose()?;
            let first = Hidden { h: select(&state.h, 0, at)?, c };
            let suffix = if direction == 1 { "_reverse" } else { "" };
            let cast = |t: Tensor| casts.map_or_else(|| Ok(t.clone()), |c| c.cast(&t));
            let name = |what: &str| format!("{what}_l{number}{suffix}");
            let optional = |what: &str| module.tensor(&name(what)).map(cast).transpose();
            let needed = |what: &str| cast(module.needed(&name(what))?);
            let all = linear(&x, &needed("weight_ih")?, optional("bias_ih")?.as_ref())?;
            let weights =
                Weights { hh: needed("weight_hh")?, bias: optional("bias_hh")?, hr: optional("weight_hr")? };
            let inputs = by_step(&all, sizes)?;
            let (out, last) = if direction == 1 {
                backwards(layer.mode, &inputs, first, &weights)?
            } else {
                forwards(layer.mode, &inputs, first, &weights)?
            };
            outputs.push(out);
            last_h.push(last.h);
            last_c.extend(last.c);
        }
        x = match outputs.as_slice() {
            [one] => one.clone(),
            all => cat(&all.iter().collect::<Vec<_>>(), -1)?,
        };
        if layer.dropout > 0.0 && number + 1 < layer.layers {
            x = dropout(&x, layer.dropout, module.training())?;
        }
    }
    let joined = |all: &[Tensor]| stack(&all.iter().collect::<Vec<_>>(), 0);
    let c = if last_c.is_empty() { None } else { Some(joined(&last_c)?) };
    Ok((x, Hidden { h: joined(&last_h)?, c }))
}

/// From the first step on: sequences that end leave their state behind.
fn forwards(mode: Mode, inputs: &[Tensor], first: Hidden, weights: &Weights) -> Result<(Tensor, Hidden)> {
    let (mut now, mut outputs, mut ended) = (first, Vec::with_capacity(inputs.len()), Vec::new());
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
    let mut outputs = Vec::with_capacity(inputs.len());
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
