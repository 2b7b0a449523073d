//! Rows of choosing and fused arithmetic.

use super::{list, one};
use crate::base::{DType, Error, Result, Scalar};
use crate::op::args::{Args, Value};
use crate::op::def::Default as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Operand, Param, ParamKind, SELF, Sample};
use crate::op::masks::nonzero_columns;
use crate::op::select;

const X: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const THREE: &[Draw] = &[
    Draw::of("a", &[3, 4], Domain::Any),
    Draw::of("b", &[4], Domain::Any),
    Draw::of("c", &[3, 4], Domain::Positive),
];
const BOUNDS: &[Param] = &[
    SELF,
    Param::optional("min", ParamKind::Scalar, D::None),
    Param::optional("max", ParamKind::Scalar, D::None),
];
const MASKED: &[Param] =
    &[SELF, Param::required("mask", ParamKind::Tensor), Param::required("value", ParamKind::Operand)];
const FUSED: &[Param] = &[
    SELF,
    Param::required("tensor1", ParamKind::Tensor),
    Param::required("tensor2", ParamKind::Tensor),
    Param::optional("value", ParamKind::Scalar, D::Int(1)),
];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "where",
        Family::Index,
        "Elements of one operand where a condition is true, of another elsewhere.",
        &[
            Param::required("condition", ParamKind::Tensor),
            Param::optional("input", ParamKind::Any, D::None),
            Param::optional("other", ParamKind::Any, D::None),
        ],
        where_row,
    )
    .details(
        "`x.where(condition, other)` keeps `x` where the condition is true. A condition alone gives the places where \
         it is true, a vector for each dimension.",
    )
    .example("where(tensor([true, false]), tensor([1, 2]), 0)", "tensor([1, 0])")
    .gradient(Gradient::Vjp("WhereBackward0"))
    .samples(&[Sample::of(
        "where(m, a, b)",
        &[
            Draw::of("m", &[3, 4], Domain::Mask),
            Draw::of("a", &[3, 4], Domain::Any),
            Draw::of("b", &[4], Domain::Any),
        ],
    )]),
    OpDef::call("clamp", Family::Elementwise, "Each element, held between two bounds.", BOUNDS, |a| {
        one(select::clamp(a.tensor(0)?, a.optional_scalar(1), a.optional_scalar(2)))
    })
    .in_place(|a| one(select::clamp_(a.tensor(0)?, a.optional_scalar(1), a.optional_scalar(2))))
    .example("tensor([-2, 0, 5]).clamp(-1, 1)", "tensor([-1,  0,  1])")
    .gradient(Gradient::Vjp("ClampBackward1"))
    .samples(&[Sample::of("x.clamp(-0.55, 0.75)", X)]),
    OpDef::call(
        "clamp_min",
        Family::Elementwise,
        "Each element, not below a bound.",
        &[SELF, Param::required("min", ParamKind::Scalar)],
        |a| one(select::clamp_min(a.tensor(0)?, a.scalar(1)?)),
    )
    .in_place(|a| one(select::clamp_(a.tensor(0)?, Some(a.scalar(1)?), None)))
    .example("tensor([-2, 5]).clamp_min(0)", "tensor([0, 5])")
    .gradient(Gradient::Vjp("ClampMinBackward0"))
    .samples(&[Sample::of("x.clamp_min(0.15)", X)]),
    OpDef::call(
        "clamp_max",
        Family::Elementwise,
        "Each element, not above a bound.",
        &[SELF, Param::required("max", ParamKind::Scalar)],
        |a| one(select::clamp_max(a.tensor(0)?, a.scalar(1)?)),
    )
    .in_place(|a| one(select::clamp_(a.tensor(0)?, None, Some(a.scalar(1)?))))
    .example("tensor([-2, 5]).clamp_max(0)", "tensor([-2,  0])")
    .gradient(Gradient::Vjp("ClampMaxBackward0"))
    .samples(&[Sample::of("x.clamp_max(0.15)", X)]),
    OpDef::call("masked_fill", Family::Index, "The tensor with a value where a mask is true.", MASKED, |a| {
        one(select::masked_fill(a.tensor(0)?, a.tensor(1)?, fill_value(a)?))
    })
    .forms(&[Form::Method])
    .in_place(|a| one(select::masked_fill_(a.tensor(0)?, a.tensor(1)?, fill_value(a)?)))
    .example("tensor([1, 2]).masked_fill(tensor([true, false]), 9)", "tensor([9, 2])")
    .gradient(Gradient::Vjp("MaskedFillBackward0"))
    .samples(&[Sample::of(
        "x.masked_fill(m, -7.5)",
        &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("m", &[4], Domain::Mask)],
    )]),
    OpDef::call(
        "lerp",
        Family::Binary,
        "`input + weight * (end - input)`.",
        &[SELF, Param::required("end", ParamKind::Tensor), Param::required("weight", ParamKind::Operand)],
        |a| one(select::lerp(a.tensor(0)?, a.tensor(1)?, a.operand(2)?)),
    )
    .in_place(|a| one(select::lerp_(a.tensor(0)?, a.tensor(1)?, a.operand(2)?)))
    .example("tensor([0.0]).lerp(tensor([10.0]), 0.5)", "tensor([5.])")
    .gradient(Gradient::Vjp("LerpBackward0"))
    .samples(&[Sample::of("a.lerp(b, 0.3)", THREE)]),
    OpDef::call("addcmul", Family::Binary, "`input + value * tensor1 * tensor2`.", FUSED, |a| {
        one(select::addcmul(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?))
    })
    .in_place(|a| one(select::addcmul_(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?)))
    .example("addcmul(tensor([1.0]), tensor([2.0]), tensor([3.0]))", "tensor([7.])")
    .gradient(Gradient::Vjp("AddcmulBackward0"))
    .samples(&[Sample::of("a.addcmul(b, c, 0.5)", THREE)]),
    OpDef::call("addcdiv", Family::Binary, "`input + value * tensor1 / tensor2`.", FUSED, |a| {
        one(select::addcdiv(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?))
    })
    .in_place(|a| one(select::addcdiv_(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?)))
    .example("addcdiv(tensor([1.0]), tensor([6.0]), tensor([3.0]))", "tensor([3.])")
    .gradient(Gradient::Vjp("AddcdivBackward0"))
    .samples(&[Sample::of("a.addcdiv(b, c, 0.5)", THREE)]),
];

/// `where(condition, a, b)`, `a.where(condition, b)` and `where(condition)`: the condition is the bool tensor.
fn where_row(a: &Args) -> Result<Value> {
    let first = a.tensor(0)?;
    if a.is_none(1) && a.is_none(2) {
        return list(nonzero_columns(first));
    }
    if first.dtype() != DType::Bool
        && let Value::Tensor(condition) = a.get(1)
        && condition.dtype() == DType::Bool
    {
        return one(select::where_(condition, Operand::Tensor(first), a.operand(2)?));
    }
    one(select::where_(first, a.operand(1)?, a.operand(2)?))
}

/// The number to fill with: a plain one or a tensor without dimensions.
fn fill_value(a: &Args) -> Result<Scalar> {
    match a.operand(2)? {
        Operand::Scalar(s) => Ok(s),
        Operand::Tensor(t) if t.rank() == 0 => t.item(),
        Operand::Tensor(t) => Err(Error::runtime(format!(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            t.rank()
        ))),
    }
}
