//! Keeping gradients within bounds, and parameters as one vector.

use crate::base::{Error, Result};
use crate::op::core::record::no_grad;
use crate::op::elementwise::arithmetic::{add, div, specs};
use crate::op::elementwise::clamp::{clamp_, clamp_max};
use crate::op::params::{by_name, kind, kinds, params};
use crate::op::reduce::norms::norm;
use crate::op::shape::join::{cat, stack};
use crate::op::shape::part::narrow;
use crate::op::shape::view::reshape_to;
use crate::op::{Args, Family, Form, Gradient, OpDef, Operand, Param, Value};
use crate::tensor::Tensor;

/// Scales all gradients so that their common norm is at most `max_norm`; gives the norm before.
///
/// No device waits for it, the factor stays where the gradients are, unless a norm is to be `finite`.
///
/// # Errors
/// The norm is to be finite and is not; the device is full.
pub fn clip_grad_norm_(parameters: &[Tensor], max_norm: f64, p: f64, finite: bool) -> Result<Tensor> {
    let _quiet = no_grad();
    let grads: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
    let Some(first) = grads.first() else {
        return Tensor::full(
            &[],
            0i64.into(),
            crate::base::DType::Float32,
            crate::device::Machine::current().cpu(),
            "clip_grad_norm_",
        );
    };
    let here = first.context();
    let norms = grads.iter().map(|g| on(&norm(g, p, None, false)?, &here)).collect::<Result<Vec<_>>>()?;
    let total = norm(&stack(&norms.iter().collect::<Vec<_>>(), 0)?, p, None, false)?;
    if finite && total.has_values() && !total.item()?.as_f64().is_finite() {
        return Err(Error::runtime(format!(
            "The total norm of order {p:?} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable \
             this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        ))
        .with_hint(
            "NaN and inf come of a division by 0, of the logarithm or the root of what is negative, of halves that overflow, or \
             of a learning rate that is too high",
        ));
    }
    let factor = clamp_max(&div(max_norm, &add(&total, 1e-6)?)?, 1.0.into())?;
    for g in &grads {
        let factor = on(&factor, &g.context())?;
        specs::Mul.apply_in_place(g, Operand::Tensor(&factor), [0.0; 2])?;
    }
    Ok(total)
}

/// A tensor on a device, moved only where it is elsewhere.
fn on(t: &Tensor, context: &std::sync::Arc<crate::device::Context>) -> Result<Tensor> {
    if t.device() == context.device { Ok(t.clone()) } else { t.moved(context, false, "clip_grad_norm_") }
}

/// A tensor, or an array of tensors.
fn tensors(a: &Args, i: usize) -> Result<Vec<Tensor>> {
    match a.get(i) {
        Value::Tensor(t) => Ok(vec![t.clone()]),
        Value::List(_) => Ok(a.tensors(i)?.into_iter().cloned().collect()),
        other => Err(Error::type_error(format!(
            "{}(): parameters must be tensors, not {}",
            a.def.name,
            other.describe()
        ))
        .with_hint("`net.parameters()` gives them")),
    }
}

kinds! {
    Parameters(Any) => Vec<Tensor>, tensors;
}

params! {
    VectorOfParams {
        parameters: Parameters, "the tensors that are laid behind each other, or one of them";
    }
}

params! {
    FromVectorParams {
        vec: kind::Tensor, "all elements of all parameters, one behind the other";
        parameters: Parameters, "the tensors that take them over, in their order";
    }
}

/// Gives each parameter its part of a vector.
fn distribute(vec: &Tensor, parameters: &[Tensor]) -> Result<()> {
    let _quiet = no_grad();
    let all: usize = parameters.iter().map(Tensor::numel).sum();
    if vec.rank() != 1 || vec.numel() < all {
        return Err(Error::runtime(format!(
            "the parameters have {all} elements, and the vector is {:?}: it must have as many in one dimension",
            vec.shape()
        )));
    }
    let mut at = 0;
    for parameter in parameters {
        let part = narrow(vec, 0, at, parameter.numel() as i64)?;
        parameter.set_data(&on(&reshape_to(&part, parameter.shape())?, &parameter.context())?)?;
        at += parameter.numel() as i64;
    }
    Ok(())
}

params! {
    ClipNormParams {
        parameters: Parameters, "the tensors whose gradients are scaled, or one of them";
        max_norm: kind::Float, "the largest norm that all gradients together may keep";
        norm_type: kind::Float = 2.0, "which norm is taken: 1, 2, …";
        error_if_nonfinite: kind::Bool = false, "fails where the norm is NaN or infinite, for which the device is waited for";
    }
}

params! {
    ClipValueParams {
        parameters: Parameters, "the tensors whose gradients are cut off, or one of them";
        clip_value: kind::Float, "how far from 0 an element may be";
    }
}

const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Module, summary, params, run)
        .forms(&[Form::Of("nn::utils")])
        .gradient(Gradient::NoGrad("it changes gradients in place"))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "clip_grad_norm_",
        "Scales all gradients so that their common norm is at most `max_norm`; gives the norm before.",
        ClipNormParams::LIST,
        by_name!(ClipNormParams, |a| {
            clip_grad_norm_(&a.parameters, a.max_norm, a.norm_type, a.error_if_nonfinite).map(Value::from)
        }),
    )
    .shapes("parameters of any shapes -> ()")
    .errors(&["RuntimeError: the norm is not finite, and `error_if_nonfinite` is true"])
    .example(
        "let w = zeros(2).requires_grad_(true); w.grad = tensor([3.0, 4.0]); nn::utils::clip_grad_norm_(w, 1.0)",
        "tensor(5.)",
    ),
    OpDef::call(
        "parameters_to_vector",
        Family::Module,
        "All elements of tensors one behind the other, in one dimension.",
        VectorOfParams::LIST,
        by_name!(VectorOfParams, |a| {
            let flat = |t: &Tensor| reshape_to(t, &[t.numel()]);
            let all = a.parameters.iter().map(flat).collect::<Result<Vec<_>>>()?;
            cat(&all.iter().collect::<Vec<_>>(), 0).map(Value::from)
        }),
    )
    .forms(&[Form::Of("nn::utils")])
    .gradient(Gradient::Composite)
    .shapes("parameters of any shapes -> (all their elements)")
    .errors(&["RuntimeError: the tensors lie on several devices"])
    .example("nn::utils::parameters_to_vector([ones([1, 2]), zeros(1)])", "tensor([1., 1., 0.])"),
    row(
        "vector_to_parameters",
        "Gives each tensor its part of a vector as its data.",
        FromVectorParams::LIST,
        by_name!(FromVectorParams, |a| {
            distribute(a.vec, &a.parameters)?;
            Ok(Value::None)
        }),
    )
    .shapes("(all their elements), parameters of any shapes")
    .errors(&["RuntimeError: the vector has fewer elements than the parameters"])
    .example(
        "let net = nn::Linear(2, 1); nn::utils::vector_to_parameters(tensor([1.0, 2.0, 3.0]), net.parameters()); \
         net.weight.tolist()",
        "[[1.0, 2.0]]",
    ),
    row(
        "clip_grad_value_",
        "Keeps every element of all gradients within `-clip_value..clip_value`.",
        ClipValueParams::LIST,
        by_name!(ClipValueParams, |a| {
            let (_quiet, bound) = (no_grad(), a.clip_value);
            for g in a.parameters.iter().filter_map(Tensor::grad) {
                clamp_(&g, Some((-bound).into()), Some(bound.into()))?;
            }
            Ok(Value::None)
        }),
    )
    .shapes("parameters of any shapes")
    .example(
        "let w = zeros(2).requires_grad_(true); w.grad = tensor([3.0, -0.5]); nn::utils::clip_grad_value_(w, 1.0); \
         w.grad",
        "tensor([ 1.0000, -0.5000])",
    ),
];
