//! Questions about each element, and its negation.

use crate::base::Result;
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Forward, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::shapes;
use crate::op::core::spec::{Gives, Keep, Refusal, Unary};
use crate::tensor::Tensor;

use super::comparison::eq;
use super::declare::unary;

unary! {
    isnan IsNan Bool, (none), Any,
        "Whether each element is not a number.", "tensor([1.0, 0.0]).log().isnan()" => "tensor([False, False])";
    isinf IsInf Bool, (none), Any,
        "Whether each element is infinite.", "tensor([1.0, 0.0]).log().isinf()" => "tensor([False,  True])";
    signbit SignBit Bool, (none), Any,
        "Whether each element has a minus sign, -0 and NaN included.", "tensor([-1.0, -0.0, 2.0]).signbit()" => "tensor([ True,  True, False])";
    isfinite IsFinite Bool, (none), Any,
        "Whether each element is a finite number.", "tensor([1.0, 0.0]).log().isfinite()" => "tensor([ True, False])";
}

static NOT: Unary = Unary {
    name: "logical_not",
    op: MapOp::LogicalNot,
    gives: Gives::Bool,
    keep: Keep::Nothing,
    rule: None,
    refusal: Refusal::ByName,
};

/// Whether each element is zero.
pub fn logical_not(x: &Tensor) -> Result<Tensor> {
    NOT.apply(x, [0.0; 2])
}

/// Whether each element is this infinity.
pub(crate) fn is_infinity(x: &Tensor, which: f64) -> Result<Tensor> {
    eq(x, which)
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    OpDef {
        forward: Forward::Unary(&NOT),
        ..OpDef::call(
            "logical_not",
            Family::Elementwise,
            "Whether each element is zero.",
            InputParams::LIST,
            by_name!(InputParams, |a| to_value(logical_not(a.input))),
        )
    }
    .in_place(by_name!(InputParams, |a| to_value(replaced(a.input, logical_not))))
    .shapes(shapes::SAME)
    .example("tensor([0, 2]).logical_not()", "tensor([ True, False])")
    .gradient(Gradient::NoGrad("the result is bool"))
    .samples(&[Sample::of("x.logical_not()", &[Draw::of("x", &[3, 4], Domain::Any)])]),
    OpDef::call(
        "isposinf",
        Family::Elementwise,
        "Whether each element is positive infinity.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(is_infinity(a.input, f64::INFINITY))),
    )
    .shapes(shapes::SAME)
    .example("tensor([1.0, 1.0 / 0.0]).isposinf()", "tensor([False,  True])")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call(
        "isneginf",
        Family::Elementwise,
        "Whether each element is negative infinity.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(is_infinity(a.input, f64::NEG_INFINITY))),
    )
    .shapes(shapes::SAME)
    .example("tensor([1.0, -1.0 / 0.0]).isneginf()", "tensor([False,  True])")
    .gradient(Gradient::NoGrad("the result is bool")),
];
