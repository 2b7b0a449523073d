//! Arithmetic of three operands in one launch.

use crate::base::dtype::Category;
use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::launch::tensor;
use crate::op::core::map::{ternary, ternary_into};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::{check_cast, check_fits, only_floats, result_type};
use crate::op::core::record::{in_place, recorded, wanted};
use crate::op::core::{autocast, shapes};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp};

use super::arithmetic::{div, mul, scale, sub};
use super::sign::neg;

/// `a + weight * (b - a)`.
pub fn lerp(a: &Tensor, b: &Tensor, weight: Operand) -> Result<Tensor> {
    check_lerp(a, b, weight)?;
    let out = ternary("lerp", MapOp::Lerp, [a.into(), b.into(), weight], a.dtype(), [0.0; 2])?;
    Ok(match weight {
        Operand::Tensor(w) => recorded(out, &LERP_TENSOR, &[a, b, w], |s, _| save_lerp(s, a, b, w)),
        Operand::Scalar(w) => recorded(out, &LERP_SCALAR, &[a, b], |s, _| s.attribute(w.as_f64())),
    })
}

/// `x + value * a * b`.
pub fn addcmul(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("addcmul", &[x, a, b])? {
        return addcmul(&casts.cast(x)?, &casts.cast(a)?, &casts.cast(b)?, value);
    }
    let all = [x.into(), a.into(), b.into()];
    let compute = check_no_bools(&all)?;
    let out = ternary("addcmul", MapOp::Addcmul, all, compute, [value, 0.0])?;
    Ok(recorded(out, &ADDCMUL, &[x, a, b], |s, _| save_factors(s, a, b, value)))
}

/// `x + value * a / b`.
pub fn addcdiv(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("addcdiv", &[x, a, b])? {
        return addcdiv(&casts.cast(x)?, &casts.cast(a)?, &casts.cast(b)?, value);
    }
    let all = [x.into(), a.into(), b.into()];
    check_addcdiv(a, b)?;
    let out = ternary("addcdiv", MapOp::Addcdiv, all, result_type(&all), [value, 0.0])?;
    Ok(recorded(out, &ADDCDIV, &[x, a, b], |s, _| save_quotient(s, a, b, value)))
}

/// [`lerp`] in place.
pub(crate) fn lerp_(a: &Tensor, b: &Tensor, weight: Operand) -> Result<Tensor> {
    check_lerp(a, b, weight)?;
    let write = || ternary_into(a, "lerp_", MapOp::Lerp, [a.into(), b.into(), weight], a.dtype(), [0.0; 2]);
    match weight {
        Operand::Scalar(w) => in_place(a, &[b], &LERP_SCALAR, |s| s.attribute(w.as_f64()), write),
        Operand::Tensor(w) => {
            let before = if w.requires_grad() { crate::op::core::convert::cloned(a)? } else { a.clone() };
            in_place(a, &[b, w], &LERP_TENSOR, |s| save_lerp(s, &before, b, w), write)
        }
    }
}

/// [`addcmul`] in place.
pub(crate) fn addcmul_(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    let all = [x.into(), a.into(), b.into()];
    let compute = check_no_bools(&all)?;
    check_cast(compute, x.dtype())?;
    let write = || ternary_into(x, "addcmul_", MapOp::Addcmul, all, compute, [value, 0.0]);
    in_place(x, &[a, b], &ADDCMUL, |s| save_factors(s, a, b, value), write)
}

/// [`addcdiv`] in place.
pub(crate) fn addcdiv_(x: &Tensor, a: &Tensor, b: &Tensor, value: f64) -> Result<Tensor> {
    let all = [x.into(), a.into(), b.into()];
    let compute = result_type(&all);
    check_addcdiv(a, b)?;
    check_cast(compute, x.dtype())?;
    let write = || ternary_into(x, "addcdiv_", MapOp::Addcdiv, all, compute, [value, 0.0]);
    in_place(x, &[a, b], &ADDCDIV, |s| save_quotient(s, a, b, value), write)
}

static LERP_SCALAR: Vjp = Vjp { name: "LerpBackward0", run: lerp_scalar_grad };

static LERP_TENSOR: Vjp = Vjp { name: "LerpBackward1", run: lerp_tensor_grad };

static ADDCMUL: Vjp = Vjp { name: "AddcmulBackward0", run: addcmul_grad };

static ADDCDIV: Vjp = Vjp { name: "AddcdivBackward0", run: addcdiv_grad };

/// The dtype in which products are added.
fn check_no_bools(all: &[Operand]) -> Result<DType> {
    let compute = result_type(all);
    if compute != DType::Bool {
        return Ok(compute);
    }
    Err(Error::new(Kind::NotImplementedError, "\"addcmul_cpu_out\" not implemented for 'Bool'")
        .with_hint("convert one of them first, for example with `.int()`"))
}

fn check_lerp(a: &Tensor, b: &Tensor, weight: Operand) -> Result<()> {
    let others = [(Some(b), "end"), (tensor(weight), "weight")];
    for (t, what) in others.into_iter().filter_map(|(t, what)| Some((t?, what))) {
        if t.dtype() != a.dtype() {
            return Err(Error::runtime(format!(
                "expected dtype {} for `{what}` but got dtype {}",
                a.dtype().c_name(),
                t.dtype().c_name()
            )));
        }
    }
    only_floats(a.dtype(), "lerp_kernel_scalar")
}

fn save_lerp(s: &mut Saver, a: &Tensor, b: &Tensor, w: &Tensor) {
    s.input(w);
    if w.requires_grad() {
        s.input(a);
        s.input(b);
    }
}

fn check_addcdiv(a: &Tensor, b: &Tensor) -> Result<()> {
    if [a, b].iter().any(|t| t.dtype().category() == Category::Float) {
        return Ok(());
    }
    Err(Error::runtime(
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true \
         division of tensor1 and tensor2.",
    )
    .with_hint("convert to floats first, for example with `.float()`"))
}

fn save_quotient(s: &mut Saver, a: &Tensor, b: &Tensor, value: f64) {
    s.input(a);
    s.input(b);
    s.attribute(value);
}

fn lerp_scalar_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &w: &f64 = s.attribute()?;
    crate::op::core::record::two(wanted(s, 0, || scale(g, 1.0 - w))?, wanted(s, 1, || scale(g, w))?)
}

fn lerp_tensor_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let w = s.tensor(0)?;
    Ok([
        wanted(s, 0, || mul(g, &sub(1.0, &w)?))?,
        wanted(s, 1, || mul(g, &w))?,
        wanted(s, 2, || mul(g, &sub(&s.tensor(2)?, &s.tensor(1)?)?))?,
    ]
    .into_iter()
    .collect())
}

fn save_factors(s: &mut Saver, a: &Tensor, b: &Tensor, value: f64) {
    for (t, other) in [(a, b), (b, a)] {
        if other.requires_grad() { s.input(t) } else { s.constant(None) }
    }
    s.attribute(value);
}

fn addcmul_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &value: &f64 = s.attribute()?;
    Ok([
        Some(g.clone()),
        wanted(s, 1, || mul(&scale(g, value)?, &s.tensor(1)?))?,
        wanted(s, 2, || mul(&scale(g, value)?, &s.tensor(0)?))?,
    ]
    .into_iter()
    .collect())
}

fn addcdiv_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &value: &f64 = s.attribute()?;
    let (a, b) = (s.tensor(0)?, s.tensor(1)?);
    Ok([
        Some(g.clone()),
        wanted(s, 1, || div(&scale(g, value)?, &b))?,
        wanted(s, 2, || neg(&mul(&scale(g, value)?, &div(&a, &mul(&b, &b)?)?)?))?,
    ]
    .into_iter()
    .collect())
}

const THREE: &[Draw] = &[
    Draw::of("a", &[3, 4], Domain::Any),
    Draw::of("b", &[4], Domain::Any),
    Draw::of("c", &[3, 4], Domain::Positive),
];

params! {
    LerpParams {
        input: kind::Tensor, "the tensor it is computed of";
        end: kind::Tensor, "what is reached at a weight of 1";
        weight: kind::Operand, "how far on the way to `end`";
    }
}

params! {
    FusedParams {
        input: kind::Tensor, "the tensor it is computed of";
        tensor1: kind::Tensor, "the left factor";
        tensor2: kind::Tensor, "the right factor";
        value: kind::Scalar = 1, "the factor of the product";
    }
}

impl FusedParams<'_> {
    /// The factor, which fits the sum.
    fn factor(&self) -> Result<f64> {
        check_fits(self.value, result_type(&[self.input.into(), self.tensor1.into(), self.tensor2.into()]))?;
        Ok(self.value.as_f64())
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "lerp",
        Family::Binary,
        "`input + weight * (end - input)`.",
        LerpParams::LIST,
        by_name!(LerpParams, |a| to_value(lerp(a.input, a.end, a.weight))),
    )
    .in_place(by_name!(LerpParams, |a| to_value(lerp_(a.input, a.end, a.weight))))
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("tensor([0.0]).lerp(tensor([10.0]), 0.5)", "tensor([5.])")
    .gradient(Gradient::Vjp("LerpBackward0"))
    .samples(&[Sample::of("a.lerp(b, 0.3)", THREE)]),
    OpDef::call(
        "addcmul",
        Family::Binary,
        "`input + value * tensor1 * tensor2`.",
        FusedParams::LIST,
        by_name!(FusedParams, |a| to_value(addcmul(a.input, a.tensor1, a.tensor2, a.factor()?))),
    )
    .in_place(by_name!(FusedParams, |a| to_value(addcmul_(a.input, a.tensor1, a.tensor2, a.factor()?))))
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("addcmul(tensor([1.0]), tensor([2.0]), tensor([3.0]))", "tensor([7.])")
    .gradient(Gradient::Vjp("AddcmulBackward0"))
    .samples(&[Sample::of("a.addcmul(b, c, 0.5)", THREE)]),
    OpDef::call(
        "addcdiv",
        Family::Binary,
        "`input + value * tensor1 / tensor2`.",
        FusedParams::LIST,
        by_name!(FusedParams, |a| to_value(addcdiv(a.input, a.tensor1, a.tensor2, a.factor()?))),
    )
    .in_place(by_name!(FusedParams, |a| to_value(addcdiv_(a.input, a.tensor1, a.tensor2, a.factor()?))))
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART)
    .example("addcdiv(tensor([1.0]), tensor([6.0]), tensor([3.0]))", "tensor([3.])")
    .gradient(Gradient::Vjp("AddcdivBackward0"))
    .samples(&[Sample::of("a.addcdiv(b, c, 0.5)", THREE)]),
];
