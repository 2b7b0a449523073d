//! Rounding to integers.

use crate::base::Result;
use crate::device::MapOp;
use crate::op::core::def::OpDef;
use crate::op::core::shapes;
use crate::op::core::spec::{Gives, Keep, Refusal, Unary};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::declare::{twin_of_one, unary, zero_grad};

unary! {
    floor Floor Number or Refusal::Kernel("floor_vml_cpu"), (zero), Any,
        "The largest integer not above each element.", "tensor([1.5, -1.5]).floor()" => "tensor([ 1., -2.])";
    ceil Ceil Number or Refusal::Kernel("ceil_vml_cpu"), (zero), Any,
        "The smallest integer not below each element.", "tensor([1.5, -1.5]).ceil()" => "tensor([ 2., -1.])";
    trunc Trunc Number or Refusal::Kernel("trunc_vml_cpu"), (zero), Any,
        "Each element without its fraction.", "tensor([1.7, -1.7]).trunc()" => "tensor([ 1., -1.])";
}

static ROUND: Unary = Unary {
    name: "round",
    op: MapOp::Round,
    gives: Gives::Number,
    keep: Keep::Nothing,
    rule: Some(&Vjp { name: "RoundBackward0", run: zero_grad }),
    refusal: Refusal::Kernel("round_vml_cpu"),
};

/// The nearest integers; halves go to the even one.
pub fn round(x: &Tensor) -> Result<Tensor> {
    ROUND.apply(x, [0.0; 2])
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[twin_of_one(
    "fix",
    "Another name of `trunc`.",
    &specs::Trunc,
    ("tensor([-1.5]).fix()", "tensor([-1.])"),
)
.errors(&[shapes::BOOLS])];
