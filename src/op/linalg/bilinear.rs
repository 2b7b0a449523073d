//! Products of two inputs with a weight between each pair of features.

use crate::base::{Error, Result};
use crate::op::core::autocast;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::add;
use crate::op::shape::permute::permute;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

use super::matmul::{bmm, matmul};

/// `y[.., o] = sum over i, j of x1[.., i] * weight[o, i, j] * x2[.., j] + bias[o]`
pub fn bilinear(x1: &Tensor, x2: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("bilinear", &[x1, x2, weight])? {
        let bias = casts.cast_option(bias)?;
        return bilinear(&casts.cast(x1)?, &casts.cast(x2)?, &casts.cast(weight)?, bias.as_ref());
    }
    let _paused = crate::tensor::autocast::pause();
    let &[outputs, first, second] = weight.shape() else {
        let text = format!("bilinear(): weight has {} dimensions where 3 are expected", weight.rank());
        return Err(Error::runtime(text)
            .with_hint("the weight is `[outputs, features of input1, features of input2]`"));
    };
    check(x1, x2, [outputs, first, second], bias)?;
    let mut shape: Vec<usize> = x1.shape().iter().take(x1.rank() - 1).copied().collect();
    let count = shape.iter().product();
    // [count, i] @ [i, o * j]: what each pair of an output and a feature of the second input is multiplied by.
    let spread = reshape_to(&permute(weight, &[1, 0, 2])?, &[first, outputs * second])?;
    let mixed = reshape_to(&matmul(&reshape_to(x1, &[count, first])?, &spread)?, &[count, outputs, second])?;
    let out = bmm(&mixed, &unsqueeze(&reshape_to(x2, &[count, second])?, 2)?)?;
    shape.push(outputs);
    let out = reshape_to(&out, &shape)?;
    match bias {
        Some(bias) => add(&out, bias),
        None => Ok(out),
    }
}

fn check(x1: &Tensor, x2: &Tensor, weight: [usize; 3], bias: Option<&Tensor>) -> Result<()> {
    let wrong = |text: String| Err(Error::runtime(format!("bilinear(): {text}")));
    if x1.rank() != x2.rank() {
        return wrong(format!("input dimensions do not match: got {} and {}", x1.rank(), x2.rank()));
    }
    let (Some((own, first)), Some((other, second))) = (x1.shape().split_last(), x2.shape().split_last())
    else {
        return wrong("the inputs have no dimensions".into());
    };
    let (own, other, [outputs, left, right]) = (*own, *other, weight);
    if let Some((d, (a, b))) = first.iter().zip(second).enumerate().find(|(_, (a, b))| a != b) {
        return wrong(format!("input batch dimensions do not match at dim {d}: got {a} and {b}"));
    }
    if own != left {
        return wrong(format!("input1 size does not match weight size: got {own} but expected {left}"));
    }
    if other != right {
        return wrong(format!("input2 size does not match weight size: got {other} but expected {right}"));
    }
    match bias {
        Some(b) if b.shape() != [outputs] => wrong(format!(
            "bias size does not match weight size: got {} but expected {outputs}",
            b.shape().first().copied().unwrap_or(0)
        )),
        _ => Ok(()),
    }
}

params! {
    BilinearParams {
        input1: kind::Tensor, "the left features";
        input2: kind::Tensor, "the right features";
        weight: kind::Tensor, "`[out, in1, in2]`, a matrix for each output";
        bias: Maybe<kind::Tensor>, "what is added to each feature, or none";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "bilinear",
    Family::Matmul,
    "A product of two inputs with a weight for each output and each pair of their features.",
    BilinearParams::LIST,
    by_name!(BilinearParams, |a| bilinear(a.input1, a.input2, a.weight, a.bias).map(Value::from)),
)
.forms(FUNCTIONAL)
.details(
    "`weight` is `[outputs, features of input1, features of input2]`; the inputs' other sizes are equal.",
)
.shapes("(…, in1), (…, in2), weight (out, in1, in2), bias (out) -> (…, out)")
.errors(&["RuntimeError: the inputs differ in other sizes than the last, or the last is not the weight's"])
.example("F::bilinear(tensor([1.0, 2.0]), tensor([3.0]), ones([1, 2, 1]))", "tensor([9.])")
.samples(&[Sample::of(
    "F::bilinear(a, b, w, c)",
    &[
        Draw::of("a", &[2, 3, 2], Domain::Any),
        Draw::of("b", &[2, 3, 4], Domain::Any),
        Draw::of("w", &[5, 2, 4], Domain::Any),
        Draw::of("c", &[5], Domain::Any),
    ],
)])];
