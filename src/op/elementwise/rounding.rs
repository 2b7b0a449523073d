//! Rounding to integers.

use crate::base::Result;
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::shapes;
use crate::op::core::spec::{Gives, Keep, Refusal, Unary};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::arithmetic::{div, mul};
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

/// The nearest numbers of so many decimals; negative ones round before the point. As in PyTorch the product with a
/// power of ten is rounded, and divided again.
fn round_to(x: &Tensor, decimals: i64) -> Result<Tensor> {
    if decimals == 0 {
        return round(x);
    }
    let power = 10f64.powi(decimals.unsigned_abs().min(400) as i32);
    if decimals > 0 { div(&round(&mul(x, power)?)?, power) } else { mul(&round(&div(x, power)?)?, power) }
}

params! {
    RoundParams {
        input: kind::Tensor, "the tensor it is computed of";
        decimals: kind::Int = 0, "how many digits are kept behind the point; negative ones round before it";
    }
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    OpDef::call(
        "round",
        Family::Elementwise,
        "The nearest integer, or number of so many decimals; halves go to the even one.",
        RoundParams::LIST,
        by_name!(RoundParams, |a| to_value(round_to(a.input, a.decimals))),
    )
    .in_place(by_name!(RoundParams, |a| to_value(replaced(a.input, |x| round_to(x, a.decimals)))))
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("tensor([0.5, 1.5, 2.5]).round()", "tensor([0., 2., 2.])")
    .gradient(Gradient::Vjp("RoundBackward0"))
    .samples(&[Sample::of("x.round()", &[Draw::of("x", &[3, 4], Domain::Any)])]),
    twin_of_one("fix", "Another name of `trunc`.", &specs::Trunc, ("tensor([-1.5]).fix()", "tensor([-1.])"))
        .errors(&[shapes::BOOLS]),
];
