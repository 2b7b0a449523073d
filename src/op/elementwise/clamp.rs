//! Clamping between bounds that are numbers.

use crate::base::dtype::Category;
use crate::base::{DType, Error, Result, Scalar};
use crate::device::{Kernel, MapOp};
use crate::op::core::launch::{fused, map};
use crate::op::core::operand::Operand;
use crate::op::core::promote::{check_cast, check_fits, check_held, result_type};
use crate::op::core::record::{in_place, one, recorded};
use crate::op::core::spec::Params;
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp, needs_graph};
use crate::tensor::{Tensor, launch};

use super::arithmetic::mul;
use super::comparison::{gt, logical_and, lt};

/// `x` kept between two bounds; an absent bound is open.
pub fn clamp(x: &Tensor, low: Option<Scalar>, high: Option<Scalar>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampBackward1", run: clamp_grad };
    clamped(x, low, high, &RULE)
}

/// `x`, or `low` where it is less.
pub fn clamp_min(x: &Tensor, low: Scalar) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampMinBackward0", run: clamp_grad };
    clamped(x, Some(low), None, &RULE)
}

/// `x`, or `high` where it is more.
pub fn clamp_max(x: &Tensor, high: Scalar) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampMaxBackward0", run: clamp_grad };
    clamped(x, None, Some(high), &RULE)
}

/// [`clamp`] in place.
pub fn clamp_(x: &Tensor, low: Option<Scalar>, high: Option<Scalar>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampBackward1", run: clamp_grad };
    let (dtype, params) = bounds(x, low, high)?;
    check_cast(dtype, x.dtype())?;
    let before = if needs_graph(&[x]) { crate::op::core::convert::cloned(x)? } else { x.clone() };
    in_place(
        x,
        &[],
        &RULE,
        |s| save_clamp(s, &before, params),
        || launch("clamp_", &Kernel::Map { op: MapOp::Clamp, params, compute: dtype }, &[x.into()], &[x]),
    )
}

/// The dtype of a clamp and its bounds as map parameters.
fn bounds(x: &Tensor, low: Option<Scalar>, high: Option<Scalar>) -> Result<(DType, Params)> {
    if low.is_none() && high.is_none() {
        return Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    let mut all = vec![Operand::Tensor(x)];
    all.extend([low, high].into_iter().flatten().map(Operand::Scalar));
    let dtype = result_type(&all);
    for bound in [low, high].into_iter().flatten().filter(|_| dtype.is_float()) {
        check_held(bound, dtype)?;
    }
    for (name, bound, beyond) in [("min", low, 1.0), ("max", high, -1.0)] {
        // What bounds nothing is no error.
        let past = bound
            .filter(|b| b.as_f64() * beyond > 0.0 && check_fits(Scalar::Float(b.as_f64()), dtype).is_err());
        if let (Some(bound), true) = (past, dtype.category() == Category::Int) {
            return Err(Error::runtime(format!(
                "Clamp {name} value {} is outside the representable range of {}",
                bound.as_f64(),
                dtype.type_name()
            )));
        }
    }
    let edge = |bound: Option<Scalar>, open: f64| bound.map_or(open, Scalar::as_f64);
    Ok((dtype, [edge(low, f64::NEG_INFINITY), edge(high, f64::INFINITY)]))
}

fn clamped(x: &Tensor, low: Option<Scalar>, high: Option<Scalar>, rule: &'static Vjp) -> Result<Tensor> {
    let (dtype, params) = bounds(x, low, high)?;
    let out = map("clamp", MapOp::Clamp, &[x.into()], x.shape(), dtype, dtype, params, x)?;
    Ok(recorded(out, rule, &[x], |s, _| save_clamp(s, x, params)))
}

fn save_clamp(s: &mut Saver, x: &Tensor, params: Params) {
    s.input(x);
    s.attribute(params);
}

/// Where an element was kept as it is, and not at a bound, as PyTorch 2.15 has it.
fn clamp_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let &params: &Params = s.attribute()?;
    one(fused(MapOp::ClampGrad, g, &[&x], params, || {
        let [low, high] = params;
        mul(
            g,
            &match (low.is_finite(), high.is_finite()) {
                (true, true) => logical_and(&gt(&x, low)?, &lt(&x, high)?)?,
                (true, false) => gt(&x, low)?,
                _ => lt(&x, high)?,
            },
        )
    })?)
}
