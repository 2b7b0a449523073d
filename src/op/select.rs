//! Maps of three operands: choosing, clamping, and fused arithmetic.

use crate::base::dtype::Category;
use crate::base::shape::broadcast;
use crate::base::{DType, DeviceCause, Dims, Error, Result, Scalar};
use crate::device::{Kernel, MapOp};
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp, needs_graph};
use crate::tensor::{Tensor, launch};

use super::autocast;
use super::binary::{div, ge, le, logical_and, mul, sub};
use super::def::Operand;
use super::elementwise::{Laid, Params, check_cast, fused, map, operands};
use super::promote::{common_device, result_type};
use super::record::{in_place, one, recorded, wanted};
use super::unary::{neg, scale};

/// `a` where `condition` is true, `b` elsewhere.
pub fn where_(condition: &Tensor, a: Operand, b: Operand) -> Result<Tensor> {
    run_where(condition, a, b).map_err(|e| e.in_op("where", || operands(&[Operand::Tensor(condition), a, b])))
}

/// `x` with `value` where `mask` is true.
pub fn masked_fill(x: &Tensor, mask: &Tensor, value: Scalar) -> Result<Tensor> {
    check_mask(mask)?;
    let all = [mask.into(), cast(value, x.dtype()).into(), x.into()];
    let out = ternary("masked_fill", MapOp::Where, all, x.dtype(), [0.0; 2])?;
    Ok(recorded(out, &MASKED_FILL, &[x], |s, _| s.constant(Some(mask))))
}

/// [`masked_fill`] in place.
pub fn masked_fill_(x: &Tensor, mask: &Tensor, value: Scalar) -> Result<Tensor> {
    check_mask(mask)?;
    in_place(
        x,
        &[],
        &MASKED_FILL,
        |s| s.constant(Some(mask)),
        || {
            let all = [mask.into(), cast(value, x.dtype()).into(), x.into()];
            ternary_into(x, "masked_fill_", MapOp::Where, all, x.dtype(), [0.0; 2])
        },
    )
}

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
    let before = if needs_graph(&[x]) { super::movement::cloned(x)? } else { x.clone() };
    in_place(
        x,
        &[],
        &RULE,
        |s| save_clamp(s, &before, params),
        || launch("clamp_", &Kernel::Map { op: MapOp::Clamp, params, compute: dtype }, &[x.into()], &[x]),
    )
}

/// `a + weight * (b - a)`.
pub fn lerp(a: &Tensor, b: &Tensor, weight: Operand) -> Result<Tensor> {
    check_lerp(a, b, weight)?;
    let out = ternary("lerp", MapOp::Lerp, [a.into(), b.into(), weight], a.dtype(), [0.0; 2])?;
    Ok(match weight {
        Operand::Tensor(w) => recorded(out, &LERP_TENSOR, &[a, b, w], |s, _| save_lerp(s, a, b, w)),
        Operand::Scalar(w) => recorded(out, &LERP_SCALAR, &[a, b], |s, _| s.attribute(w.as_f64())),
    })
}

/// `x + value * a * b`.
pub fn addcmul(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("addcmul", &[x, a, b])? {
        return addcmul(&casts.cast(x)?, &casts.cast(a)?, &casts.cast(b)?, value);
    }
    let all = [x.into(), a.into(), b.into()];
    let out = ternary("addcmul", MapOp::Addcmul, all, result_type(&all), [value, 0.0])?;
    Ok(recorded(out, &ADDCMUL, &[x, a, b], |s, _| save_factors(s, a, b, value)))
}

/// `x + value * a / b`.
pub fn addcdiv(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("addcdiv", &[x, a, b])? {
        return addcdiv(&casts.cast(x)?, &casts.cast(a)?, &casts.cast(b)?, value);
    }
    let all = [x.into(), a.into(), b.into()];
    check_addcdiv(a, b)?;
    let out = ternary("addcdiv", MapOp::Addcdiv, all, result_type(&all), [value, 0.0])?;
    Ok(recorded(out, &ADDCDIV, &[x, a, b], |s, _| save_quotient(s, a, b, value)))
}

/// [`lerp`] in place.
pub fn lerp_(a: &Tensor, b: &Tensor, weight: Operand) -> Result<Tensor> {
    check_lerp(a, b, weight)?;
    let write = || ternary_into(a, "lerp_", MapOp::Lerp, [a.into(), b.into(), weight], a.dtype(), [0.0; 2]);
    match weight {
        Operand::Scalar(w) => in_place(a, &[b], &LERP_SCALAR, |s| s.attribute(w.as_f64()), write),
        Operand::Tensor(w) => {
            let before = if w.requires_grad() { super::movement::cloned(a)? } else { a.clone() };
            in_place(a, &[b, w], &LERP_TENSOR, |s| save_lerp(s, &before, b, w), write)
        }
    }
}

/// [`addcmul`] in place.
pub fn addcmul_(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    let all = [x.into(), a.into(), b.into()];
    let compute = result_type(&all);
    check_cast(compute, x.dtype())?;
    let write = || ternary_into(x, "addcmul_", MapOp::Addcmul, all, compute, [value, 0.0]);
    in_place(x, &[a, b], &ADDCMUL, |s| save_factors(s, a, b, value), write)
}

/// [`addcdiv`] in place.
pub fn addcdiv_(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    let all = [x.into(), a.into(), b.into()];
    let compute = result_type(&all);
    check_addcdiv(a, b)?;
    check_cast(compute, x.dtype())?;
    let write = || ternary_into(x, "addcdiv_", MapOp::Addcdiv, all, compute, [value, 0.0]);
    in_place(x, &[a, b], &ADDCDIV, |s| save_quotient(s, a, b, value), write)
}

/// A number as a dtype holds it: floats lose their fraction in integers.
pub fn cast(value: Scalar, dtype: DType) -> Scalar {
    match (dtype.category(), value) {
        (Category::Bool, v) => Scalar::Bool(v.as_f64() != 0.0),
        (Category::Int, v) => Scalar::Int(v.as_i64()),
        (Category::Float, v) => Scalar::Float(v.as_f64()),
    }
}

/// A map of three broadcast operands into new memory of `dtype`; no graph.
pub fn ternary(
    name: &'static str,
    op: MapOp,
    all: [Operand; 3],
    dtype: DType,
    params: Params,
) -> Result<Tensor> {
    let run = || {
        let device = common_device(&all)?;
        let shape = common_shape(&all)?;
        let tensors = || all.iter().filter_map(|o| tensor(*o));
        let model = tensors().find(|t| t.device() == device).or_else(|| tensors().next());
        let Some(model) = model else { return Err(Error::type_error(format!("{name}() needs a tensor"))) };
        let [a, b, c] = all;
        let (a, b, c) =
            (Laid::new(a, &shape, model)?, Laid::new(b, &shape, model)?, Laid::new(c, &shape, model)?);
        map(name, op, &[a.input(), b.input(), c.input()], &shape, dtype, dtype, params, model)
    };
    run().map_err(|e| e.in_op(name, || operands(&all)))
}

/// [`ternary`] written to `x`, whose shape must be the common one.
pub fn ternary_into(
    x: &Tensor,
    name: &'static str,
    op: MapOp,
    all: [Operand; 3],
    compute: DType,
    params: Params,
) -> Result<()> {
    let device = common_device(&all)?;
    if device != x.device() {
        return Err(DeviceCause::TwoDevices { first: device, second: x.device() }.into());
    }
    let shape = common_shape(&all)?;
    if shape.as_slice() != x.shape() {
        let text = format!("output with shape {:?} doesn't match the broadcast shape {shape:?}", x.shape());
        return Err(Error::runtime(text));
    }
    let [a, b, c] = all;
    let (a, b, c) = (Laid::new(a, &shape, x)?, Laid::new(b, &shape, x)?, Laid::new(c, &shape, x)?);
    launch(name, &Kernel::Map { op, params, compute }, &[a.input(), b.input(), c.input()], &[x])
}

static LERP_SCALAR: Vjp = Vjp { name: "LerpBackward0", run: lerp_scalar_grad };
static LERP_TENSOR: Vjp = Vjp { name: "LerpBackward1", run: lerp_tensor_grad };
static ADDCMUL: Vjp = Vjp { name: "AddcmulBackward0", run: addcmul_grad };
static ADDCDIV: Vjp = Vjp { name: "AddcdivBackward0", run: addcdiv_grad };
static MASKED_FILL: Vjp =
    Vjp { name: "MaskedFillBackward0", run: |s, g| one(masked_fill(g, &s.tensor(0)?, Scalar::Int(0))?) };

fn run_where(condition: &Tensor, a: Operand, b: Operand) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "WhereBackward0", run: where_grad };
    if condition.dtype() != DType::Bool {
        let text = format!(
            "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
            condition.dtype().type_name()
        );
        return Err(Error::runtime(text).with_hint("a comparison such as `x > 0` gives one"));
    }
    let out = ternary("where", MapOp::Where, [condition.into(), a, b], result_type(&[a, b]), [0.0; 2])?;
    let sources: Vec<&Tensor> = [a, b].into_iter().filter_map(tensor).collect();
    Ok(recorded(out, &RULE, &sources, |s, _| {
        s.constant(Some(condition));
        s.attribute(matches!(a, Operand::Tensor(_)));
    }))
}

fn where_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let condition = s.tensor(0)?;
    let left_is_tensor: bool = *s.attribute()?;
    let zero = Operand::Scalar(Scalar::Int(0));
    let mut grads = Grads::new();
    if left_is_tensor {
        grads.push(wanted(s, 0, || where_(&condition, g.into(), zero))?);
    }
    grads.push(wanted(s, grads.len(), || where_(&condition, zero, g.into()))?);
    Ok(grads)
}

/// The dtype of a clamp and its bounds as map parameters.
fn bounds(x: &Tensor, low: Option<Scalar>, high: Option<Scalar>) -> Result<(DType, Params)> {
    if low.is_none() && high.is_none() {
        return Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    let mut all = vec![Operand::Tensor(x)];
    all.extend([low, high].into_iter().flatten().map(Operand::Scalar));
    let edge = |bound: Option<Scalar>, open: f64| bound.map_or(open, Scalar::as_f64);
    Ok((result_type(&all), [edge(low, f64::NEG_INFINITY), edge(high, f64::INFINITY)]))
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

fn clamp_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let &params: &Params = s.attribute()?;
    one(fused(MapOp::ClampGrad, g, &[&x], params, || {
        mul(g, &logical_and(&ge(&x, params[0])?, &le(&x, params[1])?)?)
    })?)
}

fn check_lerp(a: &Tensor, b: &Tensor, weight: Operand) -> Result<()> {
    let others = [(Some(b), "end"), (tensor(weight), "weight")];
    for (t, what) in others.into_iter().filter_map(|(t, what)| Some((t?, what))) {
        if t.dtype() != a.dtype() {
            return Err(Error::runtime(format!(
                "expected dtype {} for `{what}` but got dtype {}",
                a.dtype().c_name(),
                t.dtype().c_name()
            )));
        }
    }
    only_floats(a.dtype(), "lerp_kernel_scalar")
}

fn save_lerp(s: &mut Saver, a: &Tensor, b: &Tensor, w: &Tensor) {
    s.input(w);
    if w.requires_grad() {
        s.input(a);
        s.input(b);
    }
}

fn check_addcdiv(a: &Tensor, b: &Tensor) -> Result<()> {
    if [a, b].iter().any(|t| t.dtype().category() == Category::Float) {
        return Ok(());
    }
    Err(Error::runtime(
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true \
         division of tensor1 and tensor2.",
    )
    .with_hint("convert to floats first, for example with `.float()`"))
}

fn save_quotient(s: &mut Saver, a: &Tensor, b: &Tensor, value: f64) {
    s.input(a);
    s.input(b);
    s.attribute(value);
}

fn lerp_scalar_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &w: &f64 = s.attribute()?;
    super::record::two(wanted(s, 0, || scale(g, 1.0 - w))?, wanted(s, 1, || scale(g, w))?)
}

fn lerp_tensor_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let w = s.tensor(0)?;
    Ok([
        wanted(s, 0, || mul(g, &sub(1.0, &w)?))?,
        wanted(s, 1, || mul(g, &w))?,
        wanted(s, 2, || mul(g, &sub(&s.tensor(2)?, &s.tensor(1)?)?))?,
    ]
    .into_iter()
    .collect())
}

fn save_factors(s: &mut Saver, a: &Tensor, b: &Tensor, value: f64) {
    for (t, other) in [(a, b), (b, a)] {
        if other.requires_grad() { s.input(t) } else { s.constant(None) }
    }
    s.attribute(value);
}

fn addcmul_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &value: &f64 = s.attribute()?;
    Ok([
        Some(g.clone()),
        wanted(s, 1, || mul(&scale(g, value)?, &s.tensor(1)?))?,
        wanted(s, 2, || mul(&scale(g, value)?, &s.tensor(0)?))?,
    ]
    .into_iter()
    .collect())
}

fn addcdiv_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &value: &f64 = s.attribute()?;
    let (a, b) = (s.tensor(0)?, s.tensor(1)?);
    Ok([
        Some(g.clone()),
        wanted(s, 1, || div(&scale(g, value)?, &b))?,
        wanted(s, 2, || neg(&mul(&scale(g, value)?, &div(&a, &mul(&b, &b)?)?)?))?,
    ]
    .into_iter()
    .collect())
}

fn common_shape(all: &[Operand]) -> Result<Dims> {
    all.iter().filter_map(|o| tensor(*o)).try_fold(Dims::new(), |shape, t| broadcast(&shape, t.shape()))
}

fn tensor(operand: Operand<'_>) -> Option<&Tensor> {
    match operand {
        Operand::Tensor(t) => Some(t),
        Operand::Scalar(_) => None,
    }
}

fn check_mask(mask: &Tensor) -> Result<()> {
    if mask.dtype() == DType::Bool {
        return Ok(());
    }
    let text = format!(
        "masked_fill_ only supports boolean masks, but got mask with dtype {}",
        match mask.dtype() {
            DType::Int64 => "long int",
            other => other.c_name(),
        }
    );
    Err(Error::runtime(text).with_hint("a comparison such as `x > 0` gives a mask; so does `.bool()`"))
}

/// `"kernel" not implemented for 'Long'`, unless the dtype is a float.
pub fn only_floats(dtype: DType, kernel: &str) -> Result<()> {
    if dtype.is_float() {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for '{}'", dtype.type_name());
    Err(Error::new(crate::base::Kind::NotImplementedError, text)
        .with_hint("convert to floats with `.float()`"))
}
