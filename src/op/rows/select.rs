//! Rows of choosing and fused arithmetic.

use super::{list, one};
use crate::base::{DType, Error, Result, Scalar};
use crate::op::args::{Args, Value};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Operand, Param, ParamKind, SELF, Sample};
use crate::op::masks::nonzero_columns;
use crate::op::{bounds, select};
use crate::tensor::Tensor;

const X: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const THREE: &[Draw] = &[
    Draw::of("a", &[3, 4], Domain::Any),
    Draw::of("b", &[4], Domain::Any),
    Draw::of("c", &[3, 4], Domain::Positive),
];
const BOUNDS: &[Param] = &[
    SELF,
    Param::optional("min", ParamKind::Operand, D::None),
    Param::optional("max", ParamKind::Operand, D::None),
];
const MASKED: &[Param] =
    &[SELF, Param::required("mask", ParamKind::Tensor), Param::required("value", ParamKind::Operand)];
const FUSED: &[Param] = &[
    SELF,
    Param::required("tensor1", ParamKind::Tensor),
    Param::required("tensor2", ParamKind::Tensor),
    Param::optional("value", ParamKind::Scalar, D::Int(1)),
];

const CLAMP: OpDef =
    OpDef::call("clamp", Family::Elementwise, "Each element, held between two bounds.", BOUNDS, |a| {
        one(clamped(a.tensor(0)?, bound(a, 1), bound(a, 2)))
    })
    .in_place(|a| one(clamped_(a.tensor(0)?, bound(a, 1), bound(a, 2))))
    .details(
        "Bounds are numbers, or tensors that spread over each other; an absent one is open. The gradient goes to what an \
         element came from: the tensor or a bound.",
    )
    .gradient(Gradient::Vjp("ClampBackward1"))
    .samples(&[
        Sample::of("x.clamp(-0.55, 0.75)", X),
        Sample::of("a.clamp(b, c)", THREE),
        Sample::of("a.clamp(#{max: b})", THREE),
    ]);

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
    CLAMP.named("clamp").example("tensor([-2, 0, 5]).clamp(-1, 1)", "tensor([-1,  0,  1])"),
    CLAMP
        .named("clip")
        .summary("Another name of `clamp`.")
        .example("tensor([-2, 0, 5]).clip(tensor([0, 1, 2]), ())", "tensor([0, 1, 5])"),
    OpDef::call(
        "clamp_min",
        Family::Elementwise,
        "Each element, not below a bound.",
        &[SELF, Param::required("min", ParamKind::Operand)],
        |a| match a.operand(1)? {
            Operand::Tensor(low) => one(bounds::clamp_min(a.tensor(0)?, low)),
            Operand::Scalar(low) => one(select::clamp_min(a.tensor(0)?, low)),
        },
    )
    .in_place(|a| one(clamped_(a.tensor(0)?, Some(a.operand(1)?), None)))
    .example("tensor([-2, 5]).clamp_min(0)", "tensor([0, 5])")
    .gradient(Gradient::Vjp("ClampMinBackward0"))
    .samples(&[Sample::of("x.clamp_min(0.15)", X), Sample::of("a.clamp_min(b)", THREE)]),
    OpDef::call(
        "clamp_max",
        Family::Elementwise,
        "Each element, not above a bound.",
        &[SELF, Param::required("max", ParamKind::Operand)],
        |a| match a.operand(1)? {
            Operand::Tensor(high) => one(bounds::clamp_max(a.tensor(0)?, high)),
            Operand::Scalar(high) => one(select::clamp_max(a.tensor(0)?, high)),
        },
    )
    .in_place(|a| one(clamped_(a.tensor(0)?, None, Some(a.operand(1)?))))
    .example("tensor([-2, 5]).clamp_max(0)", "tensor([-2,  0])")
    .gradient(Gradient::Vjp("ClampMaxBackward0"))
    .samples(&[Sample::of("x.clamp_max(0.15)", X), Sample::of("a.clamp_max(b)", THREE)]),
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

/// A bound that is given.
fn bound<'a>(a: &'a Args, i: usize) -> Option<Operand<'a>> {
    a.operand(i).ok()
}

fn clamped(x: &Tensor, low: Option<Operand>, high: Option<Operand>) -> Result<Tensor> {
    match of_one_kind(low, high)? {
        Bounds::Numbers(low, high) => select::clamp(x, low, high),
        Bounds::Tensors(low, high) => bounds::clamp(x, low, high),
    }
}

fn clamped_(x: &Tensor, low: Option<Operand>, high: Option<Operand>) -> Result<Tensor> {
    match of_one_kind(low, high)? {
        Bounds::Numbers(low, high) => select::clamp_(x, low, high),
        Bounds::Tensors(low, high) => bounds::clamp_(x, low, high),
    }
}

enum Bounds<'a> {
    Numbers(Option<Scalar>, Option<Scalar>),
    Tensors(Option<&'a Tensor>, Option<&'a Tensor>),
}

fn of_one_kind<'a>(low: Option<Operand<'a>>, high: Option<Operand<'a>>) -> Result<Bounds<'a>> {
    use Operand::{Scalar as N, Tensor as T};
    Ok(match (low, high) {
        (Some(N(low)), Some(N(high))) => Bounds::Numbers(Some(low), Some(high)),
        (Some(N(low)), None) => Bounds::Numbers(Some(low), None),
        (None, Some(N(high))) => Bounds::Numbers(None, Some(high)),
        (None, None) => Bounds::Numbers(None, None),
        (Some(T(low)), Some(T(high))) => Bounds::Tensors(Some(low), Some(high)),
        (Some(T(low)), None) => Bounds::Tensors(Some(low), None),
        (None, Some(T(high))) => Bounds::Tensors(None, Some(high)),
        _ => {
            let text = "clamp(): 'min' and 'max' must be two tensors or two numbers, not one of each";
            return Err(Error::type_error(text).with_hint("`tensor(1.0)` makes a tensor of a number"));
        }
    })
}
