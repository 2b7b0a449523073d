//! Rounding to integers.

use crate::op::core::args::to_value;
use crate::op::core::def::OpDef;
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::shapes;
use crate::op::core::spec::Refusal;

use super::declare::{named, unary};

unary! {
    floor Floor Number or Refusal::Kernel("floor_vml_cpu"), (zero), Any,
        "The largest integer not above each element.", "tensor([1.5, -1.5]).floor()" => "tensor([ 1., -2.])";
    ceil Ceil Number or Refusal::Kernel("ceil_vml_cpu"), (zero), Any,
        "The smallest integer not below each element.", "tensor([1.5, -1.5]).ceil()" => "tensor([ 2., -1.])";
    round Round Number or Refusal::Kernel("round_vml_cpu"), (zero), Any,
        "The nearest integer; halves go to the even one.", "tensor([0.5, 1.5, 2.5]).round()" => "tensor([0., 2., 2.])";
    trunc Trunc Number or Refusal::Kernel("trunc_vml_cpu"), (zero), Any,
        "Each element without its fraction.", "tensor([1.7, -1.7]).trunc()" => "tensor([ 1., -1.])";
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[named(
    "fix",
    "Another name of `trunc`.",
    by_name!(InputParams, |a| to_value(trunc(a.input))),
    InputParams::LIST,
    "tensor([-1.5]).fix()",
    "tensor([-1.])",
)
.errors(&[shapes::BOOLS])
.shapes(shapes::SAME)];
