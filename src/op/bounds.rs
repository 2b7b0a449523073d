//! Clamping between bounds that are tensors.

use crate::base::{Error, Result};
use crate::device::MapOp;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp};

use super::binary::{ge, gt, le, logical_and, logical_or, lt, maximum, minimum};
use super::def::Operand;
use super::elementwise::check_cast;
use super::promote::result_type;
use super::record::{in_place, recorded, replaced, wanted};
use super::select::{masked_fill, ternary, ternary_into, where_};

/// `x` kept between two bounds that spread over its shape; an absent one is open. NaN in any of them stays.
///
/// # Errors
/// Neither bound is given; shapes that do not spread; two devices.
pub fn clamp(x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampBackward0", run: both_grad };
    run(x, low, high, &RULE)
}

/// `x`, or `low` where it is less.
pub fn clamp_min(x: &Tensor, low: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampMinBackward1", run: both_grad };
    run(x, Some(low), None, &RULE)
}

/// `x`, or `high` where it is more.
pub fn clamp_max(x: &Tensor, high: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampMaxBackward1", run: both_grad };
    run(x, None, Some(high), &RULE)
}

/// [`clamp`] in place: the bounds spread over `x`, and its dtype holds what comes out.
pub fn clamp_(x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<Tensor> {
    let all = operands(x, low, high)?;
    check_cast(result_type(&all), x.dtype())?;
    if let (Some(low), Some(high), false) = (low, high, grows(&all)) {
        static RULE: Vjp = Vjp { name: "ClampBackward0", run: both_grad };
        let before = if recorded_in(&[x, low, high]) { super::movement::cloned(x)? } else { x.clone() };
        let compute = result_type(&all);
        return in_place(
            x,
            &[low, high],
            &RULE,
            |s| save(s, &before, Some(low), Some(high)),
            || {
                ternary_into(
                    x,
                    "clamp_",
                    MapOp::Between,
                    [x.into(), low.into(), high.into()],
                    compute,
                    [0.0; 2],
                )
            },
        );
    }
    replaced(x, |before| {
        let y = clamp(before, low, high)?;
        if y.shape() != x.shape() {
            let text = format!(
                "output with shape {:?} doesn't match the broadcast shape {:?}",
                x.shape(),
                y.shape()
            );
            return Err(Error::runtime(text));
        }
        Ok(y)
    })
}

fn recorded_in(all: &[&Tensor]) -> bool {
    crate::tensor::autograd::needs_graph(all)
}

/// Whether a bound is larger than what it bounds.
fn grows(all: &[Operand]) -> bool {
    let shapes: Vec<&[usize]> =
        all.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(t.shape()) } else { None }).collect();
    let Some((x, bounds)) = shapes.split_first() else { return false };
    bounds.iter().any(|b| crate::base::shape::broadcast(x, b).map_or(true, |wide| wide.as_slice() != *x))
}

fn operands<'a>(
    x: &'a Tensor,
    low: Option<&'a Tensor>,
    high: Option<&'a Tensor>,
) -> Result<Vec<Operand<'a>>> {
    let bounds: Vec<&Tensor> = low.into_iter().chain(high).collect();
    if bounds.is_empty() {
        return Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    Ok(std::iter::once(x).chain(bounds).map(Operand::Tensor).collect())
}

fn run(x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>, rule: &'static Vjp) -> Result<Tensor> {
    let dtype = result_type(&operands(x, low, high)?);
    let out = {
        let _off = super::record::no_grad();
        match (low, high) {
            (Some(low), Some(high)) => {
                ternary("clamp", MapOp::Between, [x.into(), low.into(), high.into()], dtype, [0.0; 2])?
            }
            (Some(low), None) => maximum(x, low)?,
            (_, Some(high)) => minimum(x, high)?,
            (None, None) => x.clone(),
        }
    };
    let inputs: Vec<&Tensor> = std::iter::once(x).chain(low).chain(high).collect();
    Ok(recorded(out, rule, &inputs, |s, _| save(s, x, low, high)))
}

fn save(s: &mut Saver, x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) {
    s.input(x);
    low.into_iter().chain(high).for_each(|t| s.input(t));
    s.attribute((low.is_some(), high.is_some()));
}

/// The gradient goes to what an element came from. Where the bounds are the wrong way round, the upper one has won.
fn both_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(has_low, has_high): &(bool, bool) = s.attribute()?;
    let x = s.tensor(0)?;
    let low = has_low.then(|| s.tensor(1)).transpose()?;
    let high = has_high.then(|| s.tensor(if has_low { 2 } else { 1 })).transpose()?;
    let only = |mask: &Tensor| where_(mask, g.into(), Operand::Scalar(0i64.into()));
    let mut grads = Grads::new();
    grads.push(wanted(s, 0, || match (&low, &high) {
        (Some(low), Some(high)) => masked_fill(g, &logical_or(&lt(&x, low)?, &gt(&x, high)?)?, 0i64.into()),
        (Some(low), None) => only(&ge(&x, low)?),
        (None, Some(high)) => only(&le(&x, high)?),
        (None, None) => Ok(g.clone()),
    })?);
    if let Some(low) = &low {
        grads.push(wanted(s, 1, || {
            let below = lt(&x, low)?;
            only(&match &high {
                Some(high) => logical_and(&below, &lt(low, high)?)?,
                None => below,
            })
        })?);
    }
    if let Some(high) = &high {
        let at = grads.len();
        grads.push(wanted(s, at, || {
            let above = gt(&x, high)?;
            only(&match &low {
                Some(low) => logical_or(&above, &lt(high, low)?)?,
                None => above,
            })
        })?);
    }
    Ok(grads)
}
