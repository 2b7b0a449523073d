//! Rounding to integers.

use crate::op::core::args::to_value;
use crate::op::core::def::OpDef;
use crate::op::core::params::{InputParams, by_name};

use super::declare::{named, unary};

unary! {
    floor Floor Same, (zero), Any,
        "The largest integer not above each element.", "tensor([1.5, -1.5]).floor()" => "tensor([ 1., -2.])";
    ceil Ceil Same, (zero), Any,
        "The smallest integer not below each element.", "tensor([1.5, -1.5]).ceil()" => "tensor([ 2., -1.])";
    round Round Same, (zero), Any,
        "The nearest integer; halves go to the even one.", "tensor([0.5, 1.5, 2.5]).round()" => "tensor([0., 2., 2.])";
    trunc Trunc Same, (zero), Any,
        "Each element without its fraction.", "tensor([1.7, -1.7]).trunc()" => "tensor([ 1., -1.])";
}

/// The rows of this file that no macro writes.
pub static MORE_ROWS: &[OpDef] = &[named(
    "fix",
    "Another name of `trunc`.",
    by_name!(InputParams, |a| to_value(trunc(a.input))),
    InputParams::LIST,
    "tensor([-1.5]).fix()",
    "tensor([-1.])",
)];
