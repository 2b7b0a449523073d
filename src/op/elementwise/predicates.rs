//! Questions about each element, and its negation.

use crate::base::Result;
use crate::op::core::args::to_value;
use crate::op::core::def::{Family, Gradient, OpDef};
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::shapes;
use crate::tensor::Tensor;

use super::comparison::eq;
use super::declare::unary;

unary! {
    logical_not LogicalNot Bool, (none), Any,
        "Whether each element is zero.", "tensor([0, 2]).logical_not()" => "tensor([ True, False])";
    isnan IsNan Bool, (none), Any,
        "Whether each element is not a number.", "tensor([1.0, 0.0]).log().isnan()" => "tensor([False, False])";
    isinf IsInf Bool, (none), Any,
        "Whether each element is infinite.", "tensor([1.0, 0.0]).log().isinf()" => "tensor([False,  True])";
    signbit SignBit Bool, (none), Any,
        "Whether each element has a minus sign, -0 and NaN included.", "tensor([-1.0, -0.0, 2.0]).signbit()" => "tensor([ True,  True, False])";
    isfinite IsFinite Bool, (none), Any,
        "Whether each element is a finite number.", "tensor([1.0, 0.0]).log().isfinite()" => "tensor([ True, False])";
}

/// Whether each element is this infinity.
pub(crate) fn is_infinity(x: &Tensor, which: f64) -> Result<Tensor> {
    eq(x, which)
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
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
