//! Rows of maps with three operands.

use crate::base::{DType, Error, Result};
use crate::op::args::{Args, Value};
use crate::op::def::{
    Default, Domain, Draw, Family, Gradient, OpDef, Operand, Param, ParamKind, SELF, Sample,
};
use crate::op::masks::nonzero_columns;
use crate::op::select::{
    addcdiv, addcdiv_, addcmul, addcmul_, clamp, clamp_, clamp_max, clamp_min, lerp, lerp_, masked_fill,
    masked_fill_, where_,
};

use super::list;

const MIN: Param = Param::optional("min", ParamKind::Scalar, Default::None);
const MAX: Param = Param::optional("max", ParamKind::Scalar, Default::None);
const X34: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const THREE: &[Draw] = &[
    Draw::of("a", &[3, 4], Domain::Any),
    Draw::of("b", &[4], Domain::Positive),
    Draw::of("c", &[3, 1], Domain::Positive),
];
const MASKED: &[Draw] = &[
    Draw::of("m", &[3, 4], Domain::Mask),
    Draw::of("a", &[3, 4], Domain::Any),
    Draw::of("b", &[4], Domain::Any),
];

/// Choosing, clamping and fused arithmetic.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "where",
        Family::Elementwise,
        "`input` where `condition` is true, `other` elsewhere.",
        &[
            Param::required("condition", ParamKind::Tensor),
            Param::optional("input", ParamKind::Any, Default::None),
            Param::optional("other", ParamKind::Any, Default::None),
        ],
        where_row,
    )
    .details(
        "`x.where(condition, other)` keeps `x`. With a condition alone: the places where it is true, a vector for \
         each dimension.",
    )
    .example("where(tensor([true, false]), tensor([1, 2]), -1)", "tensor([ 1, -1])")
    .gradient(Gradient::Vjp("WhereBackward0"))
    .samples(&[Sample::of("where(m, a, b)", MASKED)]),
    OpDef::call(
        "masked_fill",
        Family::Elementwise,
        "The tensor with `value` where `mask` is true.",
        &[
            SELF,
            Param::required("mask", ParamKind::Tensor),
            Param::required("value", ParamKind::Operand),
        ],
        |a| Ok(masked_fill(a.tensor(0)?, a.tensor(1)?, fill_value(a)?)?.into()),
    )
    .in_place(|a| Ok(masked_fill_(a.tensor(0)?, a.tensor(1)?, fill_value(a)?)?.into()))
    .example("tensor([1, 2, 3]).masked_fill(tensor([true, false, true]), 0)", "tensor([0, 2, 0])")
    .gradient(Gradient::Vjp("MaskedFillBackward0"))
    .samples(&[Sample::of("a.masked_fill(m, 2.5)", MASKED)]),
    OpDef::call(
        "clamp",
        Family::Elementwise,
        "Each element kept between two bounds; an absent bound is open.",
        &[SELF, MIN, MAX],
        |a| Ok(clamp(a.tensor(0)?, a.optional_scalar(1), a.optional_scalar(2))?.into()),
    )
    .in_place(|a| Ok(clamp_(a.tensor(0)?, a.optional_scalar(1), a.optional_scalar(2))?.into()))
    .example("tensor([-2, 0, 5]).clamp(-1, 1)", "tensor([-1,  0,  1])")
    .gradient(Gradient::Vjp("ClampBackward1"))
    .samples(&[Sample::of("x.clamp(-0.5, 0.7)", X34)]),
    OpDef::call(
        "clamp_min",
        Family::Elementwise,
        "Each element, or `min` where it is less.",
        &[SELF, Param::required("min", ParamKind::Scalar)],
        |a| Ok(clamp_min(a.tensor(0)?, a.scalar(1)?)?.into()),
    )
    .in_place(|a| Ok(clamp_(a.tensor(0)?, Some(a.scalar(1)?), None)?.into()))
    .example("tensor([-2, 3]).clamp_min(0)", "tensor([0, 3])")
    .gradient(Gradient::Vjp("ClampMinBackward0"))
    .samples(&[Sample::of("x.clamp_min(-0.5)", X34)]),
    OpDef::call(
        "clamp_max",
        Family::Elementwise,
        "Each element, or `max` where it is more.",
        &[SELF, Param::required("max", ParamKind::Scalar)],
        |a| Ok(clamp_max(a.tensor(0)?, a.scalar(1)?)?.into()),
    )
    .in_place(|a| Ok(clamp_(a.tensor(0)?, None, Some(a.scalar(1)?))?.into()))
    .example("tensor([-2, 3]).clamp_max(0)", "tensor([-2,  0])")
    .gradient(Gradient::Vjp("ClampMaxBackward0"))
    .samples(&[Sample::of("x.clamp_max(0.5)", X34)]),
    OpDef::call(
        "lerp",
        Family::Elementwise,
        "`input + weight * (end - input)`.",
        &[
            SELF,
            Param::required("end", ParamKind::Tensor),
            Param::required("weight", ParamKind::Operand),
        ],
        |a| Ok(lerp(a.tensor(0)?, a.tensor(1)?, a.operand(2)?)?.into()),
    )
    .in_place(|a| Ok(lerp_(a.tensor(0)?, a.tensor(1)?, a.operand(2)?)?.into()))
    .example("tensor([0.0, 10.0]).lerp(tensor([10.0, 20.0]), 0.5)", "tensor([ 5., 15.])")
    .gradient(Gradient::Vjp("LerpBackward0"))
    .samples(&[Sample::of("a.lerp(b, 0.3)", THREE), Sample::of("a.lerp(b, c)", THREE)]),
    OpDef::call(
        "addcmul",
        Family::Elementwise,
        "`input + value * tensor1 * tensor2`.",
        &[
            SELF,
            Param::required("tensor1", ParamKind::Tensor),
            Param::required("tensor2", ParamKind::Tensor),
            Param::optional("value", ParamKind::Scalar, Default::Int(1)),
        ],
        |a| Ok(addcmul(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?)?.into()),
    )
    .in_place(|a| Ok(addcmul_(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?)?.into()))
    .example("tensor([1.0]).addcmul(tensor([2.0]), tensor([3.0]), 0.5)", "tensor([4.])")
    .gradient(Gradient::Vjp("AddcmulBackward0"))
    .samples(&[Sample::of("a.addcmul(b, c, 0.5)", THREE)]),
    OpDef::call(
        "addcdiv",
        Family::Elementwise,
        "`input + value * tensor1 / tensor2`.",
        &[
            SELF,
            Param::required("tensor1", ParamKind::Tensor),
            Param::required("tensor2", ParamKind::Tensor),
            Param::optional("value", ParamKind::Scalar, Default::Int(1)),
        ],
        |a| Ok(addcdiv(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?)?.into()),
    )
    .in_place(|a| Ok(addcdiv_(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?)?.into()))
    .example("tensor([1.0]).addcdiv(tensor([2.0]), tensor([4.0]))", "tensor([1.5000])")
    .gradient(Gradient::Vjp("AddcdivBackward0"))
    .samples(&[Sample::of("a.addcdiv(b, c, 0.5)", THREE)]),
];

/// `where(condition, a, b)`, `a.where(condition, b)` and `where(condition)`: the condition is the bool tensor.
fn where_row(a: &Args) -> Result<Value> {
    let first = a.tensor(0)?;
    if a.is_none(1) && a.is_none(2) {
        return nonzero_columns(first).map(list);
    }
    if first.dtype() != DType::Bool
        && let Value::Tensor(condition) = a.get(1)
        && condition.dtype() == DType::Bool
    {
        return Ok(where_(condition, Operand::Tensor(first), a.operand(2)?)?.into());
    }
    Ok(where_(first, a.operand(1)?, a.operand(2)?)?.into())
}

/// The number to fill with: a plain one or a tensor without dimensions.
fn fill_value(a: &Args) -> Result<crate::base::Scalar> {
    match a.operand(2)? {
        Operand::Scalar(s) => Ok(s),
        Operand::Tensor(t) if t.rank() == 0 => t.item(),
        Operand::Tensor(t) => Err(Error::runtime(format!(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            t.rank()
        ))),
    }
}
