//! Functions of two operands beside arithmetic: powers, angles, extremes, with their gradient rules.

use crate::base::{Result, Scalar};
use crate::op::core::def::OpDef;
use crate::op::core::operand::Operand;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, grad_enabled};

use super::arithmetic::{HeldOperand, add, div, mul, scale, sides, sub};
use super::choose::{masked_fill, where_};
use super::comparison::{eq, gt, le, logical_and, lt};
use super::declare::{PairParams, binary, twin};
use super::sign::{neg, sign};
use super::unary::{log, reciprocal};

binary! {
    pow Pow Binary Number, (Both pow_grad), ["**"], (Positive, Any),
        "Power, element by element.", "tensor([1.0, 2.0, 3.0]) ** 2" => "tensor([1., 4., 9.])";
    atan2 Atan2 Binary Float, (Both atan2_grad), [], (Any, Positive),
        "The angle of the point (other, input), in radians.", "tensor([1.0]).atan2(tensor([1.0]))" => "tensor([0.7854])";
    maximum Maximum Binary Same, (Both maximum_grad), [], (Any, Any),
        "The larger of two elements; NaN wins.", "tensor([1, 5]).maximum(tensor([3, 2]))" => "tensor([3, 5])";
    minimum Minimum Binary Same, (Both minimum_grad), [], (Any, Any),
        "The smaller of two elements; NaN wins.", "tensor([1, 5]).minimum(tensor([3, 2]))" => "tensor([1, 2])";
    copysign Copysign Binary Float, (Both copysign_grad), [], (Any, Any),
        "The size of one element with the sign of another.", "tensor([1.0, 2.0]).copysign(tensor([-1.0, 3.0]))" => "tensor([-1.,  2.])";
    hypot Hypot Binary Same, (Both hypot_grad), [], (Any, Any),
        "`sqrt(input² + other²)`, without overflow.", "tensor([3.0]).hypot(tensor([4.0]))" => "tensor([5.])";
    xlogy Xlogy Binary Float, (Both xlogy_grad), (in SPECIAL_TOO), (Any, Positive),
        "`input * log(other)`, 0 where `input` is.", "tensor([0.0, 2.0]).xlogy(tensor([0.0, 1.0]))" => "tensor([0., 0.])";
    logaddexp Logaddexp Binary Same, (Both logaddexp_grad), [], (Any, Any),
        "`log(exp(input) + exp(other))`, without overflow.", "tensor([0.0]).logaddexp(tensor([0.0]))" => "tensor([0.6931])";
    heaviside Heaviside Binary Same, (none), [], (Any, Any),
        "0 below zero, 1 above, and `other` at zero.", "tensor([-1.0, 0.0, 2.0]).heaviside(tensor(0.5))" => "tensor([0.0000, 0.5000, 1.0000])";
}

fn pow_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || pow_base_grad(g, &at.operand(at.left, s)?, &at.operand(at.right, s)?),
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            let y = pow(a.get(), b.get())?;
            let ln = match &a {
                HeldOperand::Tensor(a) => log(a)?,
                HeldOperand::Scalar(n) => {
                    Tensor::full(&[], n.as_f64().ln().into(), g.dtype(), &g.context(), "log")?
                }
            };
            let raw = mul(g, &mul(&y, &ln)?)?;
            // 0 ** b has no finite logarithm; its derivative is 0 for b >= 0.
            let at_zero = eq(a.get(), Operand::Scalar(Scalar::Int(0)))?;
            super::choose::where_(&at_zero, Operand::Scalar(Scalar::Float(0.0)), Operand::Tensor(&raw))
        },
    )
}

fn pow_base_grad(g: &Tensor, base: &HeldOperand, exponent: &HeldOperand) -> Result<Tensor> {
    match exponent {
        HeldOperand::Scalar(n) if n.as_f64() == 0.0 => {
            Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like")
        }
        HeldOperand::Scalar(n) => {
            let n = n.as_f64();
            let lower = if n == 2.0 { None } else { Some(pow(base.get(), n - 1.0)?) };
            match (lower, base) {
                (Some(lower), _) => mul(g, &scale(&lower, n)?),
                (None, HeldOperand::Tensor(x)) => mul(g, &scale(x, n)?),
                (None, HeldOperand::Scalar(x)) => scale(g, n * x.as_f64()),
            }
        }
        HeldOperand::Tensor(e) => {
            let lower = pow(base.get(), &super::arithmetic::shift(e, -1.0)?)?;
            // x ** 0 is 1, at 0 as well.
            masked_fill(&mul(g, &mul(e, &lower)?)?, &eq(e, 0i64)?, 0i64.into())
        }
    }
}

fn atan2_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    let over = || -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        let squared = add(&mul(a.get(), a.get())?, &mul(b.get(), b.get())?)?;
        // At the origin there is no angle.
        masked_fill(&reciprocal(&squared)?, &eq(&squared, 0i64)?, 0i64.into())
    };
    at.grads(
        s,
        || mul(&mul(g, at.operand(at.right, s)?.get())?, &over()?),
        || neg(&mul(&mul(g, at.operand(at.left, s)?.get())?, &over()?)?),
    )
}

/// The size's sign changes with the other operand's; at 0 there is no slope.
fn copysign_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            if let (HeldOperand::Tensor(a), true) = (&a, grad_enabled()) {
                let share = div(&copysign(a, b.get())?, a)?;
                return mul(g, &masked_fill(&share, &eq(a, 0i64)?, 0i64.into())?);
            }
            let one = Operand::Scalar(Scalar::Float(1.0));
            let turned = mul(Operand::Tensor(&specs::Copysign.apply(one, b.get(), [0.0; 2])?), g)?;
            match &a {
                HeldOperand::Tensor(a) => mul(&turned, &sign(a)?),
                HeldOperand::Scalar(n) => scale(&turned, n.as_f64().signum()),
            }
        },
        || Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like"),
    )
}

fn hypot_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    let over = || -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        div(g, &hypot(a.get(), b.get())?)
    };
    at.grads(
        s,
        || mul(&over()?, at.operand(at.left, s)?.get()),
        || mul(&over()?, at.operand(at.right, s)?.get()),
    )
}

fn xlogy_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            let zero = Operand::Scalar(Scalar::Int(0));
            let flat = logical_and(&eq(a.get(), zero)?, &le(b.get(), zero)?)?;
            masked_fill(&xlogy(g, b.get())?, &flat, 0i64.into())
        },
        || div(&mul(g, at.operand(at.left, s)?.get())?, at.operand(at.right, s)?.get()),
    )
}

fn logaddexp_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    let share = |toward: f64| -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        mul(g, &super::unary::sigmoid(&scale(&sub(a.get(), b.get())?, toward)?)?)
    };
    at.grads(s, || share(1.0), || share(-1.0))
}

fn maximum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    extremum_grad(s, g, |a, b| lt(a, b))
}

fn minimum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    extremum_grad(s, g, |a, b| gt(a, b))
}

/// The winner takes the gradient; equals share it, and both have it where one is NaN.
fn extremum_grad(s: &Saved, g: &Tensor, loses: fn(Operand, Operand) -> Result<Tensor>) -> Result<Grads> {
    let at = sides(s)?;
    let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
    at.grads(
        s,
        || share(g, (a.get(), b.get()), &loses(a.get(), b.get())?),
        || share(g, (b.get(), a.get()), &loses(b.get(), a.get())?),
    )
}

/// One's part of the gradient of the larger or smaller of two: half where they are the same, none where it has lost.
pub(super) fn share(g: &Tensor, (own, other): (Operand, Operand), lost: &Tensor) -> Result<Tensor> {
    let shared = where_(&eq(own, other)?, (&scale(g, 0.5)?).into(), g.into())?;
    masked_fill(&shared, lost, 0i64.into())
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[twin(
    "arctan2",
    "Another name of `atan2`.",
    &specs::Atan2,
    (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Atan2, how)),
    ("tensor([0.0]).arctan2(tensor([1.0]))", "tensor([0.])"),
)];
