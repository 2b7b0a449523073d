//! Signs.

use crate::op::core::args::to_value;
use crate::op::core::def::OpDef;
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::shapes;
use crate::op::elementwise::declare::NO_NEGATIVE;

use super::declare::{named, rule, unary};

unary! {
    neg Neg Number or NO_NEGATIVE, (Nothing rule(|_, g| neg(g))), Any in &[Form::Method, Form::Function, Form::Operator("-")],
        "The negative of each element.", "tensor([1.0, -2.0]).neg()" => "tensor([-1.,  2.])";
    sign Sign Same, (zero), Any,
        "-1, 0 or 1 by the sign of each element.", "tensor([-3.0, 0.0, 5.0]).sign()" => "tensor([-1.,  0.,  1.])";
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[named(
    "negative",
    "Another name of `neg`.",
    by_name!(InputParams, |a| to_value(neg(a.input))),
    InputParams::LIST,
    "tensor([1.0]).negative()",
    "tensor([-1.])",
)
.errors(&[shapes::BOOLS])
.shapes(shapes::SAME)];
