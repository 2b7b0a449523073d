//! Signs.

use crate::base::{DType, Error, Result};
use crate::op::core::args::to_value;
use crate::op::core::def::{Family, OpDef};
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::shapes;
use crate::op::elementwise::declare::NO_NEGATIVE;
use crate::tensor::Tensor;

use super::declare::{rule, twin_of_one, unary};

unary! {
    neg Neg Number or NO_NEGATIVE, (Nothing rule(|_, g| neg(g))), Any in MINUS_TOO,
        "The negative of each element.", "tensor([1.0, -2.0]).neg()" => "tensor([-1.,  2.])";
    sign Sign Same, (zero), Any,
        "-1, 0 or 1 by the sign of each element.", "tensor([-3.0, 0.0, 5.0]).sign()" => "tensor([-1.,  0.,  1.])";
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    twin_of_one(
        "negative",
        "Another name of `neg`.",
        &specs::Neg,
        ("tensor([1.0]).negative()", "tensor([-1.])"),
    )
    .errors(&[shapes::BOOLS]),
    twin_of_one(
        "sgn",
        "The sign of each element: another name of `sign`, as there are no complex numbers.",
        &specs::Sign,
        ("tensor([-3.0, 5.0]).sgn()", "tensor([-1.,  1.])"),
    ),
    OpDef::call(
        "positive",
        Family::Elementwise,
        "The tensor itself.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(positive(a.input))),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: the tensor holds bools"])
    .example("tensor([1.0, -2.0]).positive()", "tensor([ 1., -2.])"),
];

fn positive(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::Bool {
        return Err(Error::runtime("The `+` operator, on a bool tensor is not supported."));
    }
    Ok(x.clone())
}
