//! Elements chosen by a mask.

use crate::base::{DType, Error, Result, Scalar};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::convert::{Target, cloned, to};
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Overlap, Sample};
use crate::op::core::launch::{operands, tensor};
use crate::op::core::map::{ternary, ternary_into};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::{check_held, fitting, result_type};
use crate::op::core::record::{in_place, one, recorded, wanted};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp, needs_graph};

/// `a` where `condition` is true, `b` elsewhere.
pub fn where_(condition: &Tensor, a: Operand, b: Operand) -> Result<Tensor> {
    run_where(condition, a, b).map_err(|e| e.in_op("where", || operands(&[Operand::Tensor(condition), a, b])))
}

/// `x` with `value` where `mask` is true.
pub fn masked_fill(x: &Tensor, mask: &Tensor, value: Scalar) -> Result<Tensor> {
    check_mask(mask)?;
    let all = [mask.into(), fitting(value, x.dtype())?.into(), x.into()];
    let out = ternary("masked_fill", MapOp::Where, all, x.dtype(), [0.0; 2]).map_err(input_first)?;
    Ok(recorded(out, &MASKED_FILL, &[x], |s, _| s.constant(Some(mask))))
}

/// The kernel reads what is written to last, and its caller gave it first.
fn input_first(mut error: Error) -> Error {
    if let all @ [_, ..] = error.operands_mut() {
        all.rotate_right(1);
    }
    error
}

/// [`masked_fill`] in place.
pub fn masked_fill_(x: &Tensor, mask: &Tensor, value: Scalar) -> Result<Tensor> {
    check_mask(mask)?;
    x.check_partial_overlap(mask)?;
    in_place(
        x,
        &[],
        &MASKED_FILL,
        |s| s.constant(Some(mask)),
        || {
            let all = [mask.into(), fitting(value, x.dtype())?.into(), x.into()];
            ternary_into(x, "masked_fill_", MapOp::Where, all, x.dtype(), [0.0; 2])
        },
    )
}

/// [`masked_fill`] with the value of a tensor without dimensions, which has its gradient.
pub fn masked_fill_with(x: &Tensor, mask: &Tensor, value: &Tensor) -> Result<Tensor> {
    check_mask(mask)?;
    let value = &held(x, value)?;
    let all = [mask.into(), value.into(), x.into()];
    let out = ternary("masked_fill", MapOp::Where, all, x.dtype(), [0.0; 2]).map_err(input_first)?;
    Ok(recorded(out, &MASKED_FILL_WITH, &[x, value], |s, _| s.constant(Some(mask))))
}

/// [`masked_fill_with`] in place.
pub fn masked_fill_with_(x: &Tensor, mask: &Tensor, value: &Tensor) -> Result<Tensor> {
    check_mask(mask)?;
    x.check_partial_overlap(mask)?;
    let value = &held(x, value)?;
    let own = if x.shares_storage(value) { Some(cloned(value)?) } else { None };
    let value = own.as_ref().unwrap_or(value);
    in_place(
        x,
        &[value],
        &MASKED_FILL_WITH,
        |s| s.constant(Some(mask)),
        || {
            let all = [mask.into(), value.into(), x.into()];
            ternary_into(x, "masked_fill_", MapOp::Where, all, x.dtype(), [0.0; 2])
        },
    )
}

/// A value as it is written into a tensor: of its dtype, where it lies.
fn held(x: &Tensor, value: &Tensor) -> Result<Tensor> {
    to(value, Target { dtype: Some(x.dtype()), ..Target::device(x.device()) }, false, false)
}

fn fill_with_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let mask = s.tensor(0)?;
    let mut grads = Grads::new();
    grads.push(wanted(s, 0, || masked_fill(g, &mask, Scalar::Int(0)))?);
    grads.push(wanted(s, 1, || where_(&mask, g.into(), Operand::Scalar(Scalar::Int(0))))?);
    Ok(grads)
}

static MASKED_FILL_WITH: Vjp = Vjp { name: "MaskedFillBackward1", run: fill_with_grad };

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
    let dtype = result_type(&[a, b]);
    for side in [a, b] {
        if let Operand::Scalar(number) = side {
            // Halves are chosen from as floats are.
            let halves = matches!(dtype, DType::Float16 | DType::BFloat16);
            check_held(number, if halves { DType::Float32 } else { dtype })?;
        }
    }
    let out = ternary("where", MapOp::Where, [condition.into(), a, b], dtype, [0.0; 2])?;
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

params! {
    MaskedFillParams {
        input: kind::Tensor, "the tensor it is computed of";
        mask: kind::Tensor, "a bool tensor that broadcasts, true where elements are replaced";
        value: kind::Operand, "the number that is written there";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "masked_fill",
    Family::Index,
    "The tensor with a value where a mask is true.",
    MaskedFillParams::LIST,
    by_name!(MaskedFillParams, |a| to_value(match tracked(a.value) {
        Some(value) => masked_fill_with(a.input, a.mask, value),
        None => masked_fill(a.input, a.mask, fill_value(a.value)?),
    })),
)
.forms(&[Form::Method])
.overlap(Overlap::Any)
.in_place(by_name!(MaskedFillParams, |a| to_value(match tracked(a.value) {
    Some(value) => masked_fill_with_(a.input, a.mask, value),
    None => masked_fill_(a.input, a.mask, fill_value(a.value)?),
})))
.shapes("any, mask -> broadcast together; a value that is a tensor is ()")
.errors(&["RuntimeError: the value is a tensor with dimensions"])
.example("tensor([1, 2]).masked_fill(tensor([true, false]), 9)", "tensor([9, 2])")
.gradient(Gradient::Vjp("MaskedFillBackward0"))
.samples(&[Sample::of(
    "x.masked_fill(m, -7.5)",
    &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("m", &[4], Domain::Mask)],
)])];

/// A value without dimensions that has a gradient.
fn tracked(value: Operand<'_>) -> Option<&Tensor> {
    tensor(value).filter(|value| value.rank() == 0 && needs_graph(&[value]))
}

/// The number to fill with: a plain one or a tensor without dimensions.
pub(crate) fn fill_value(value: Operand) -> Result<Scalar> {
    match value {
        Operand::Scalar(s) => Ok(s),
        Operand::Tensor(t) if t.rank() == 0 => t.item(),
        Operand::Tensor(t) => Err(Error::runtime(format!(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            t.rank()
        ))),
    }
}
