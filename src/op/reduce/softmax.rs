//! Softmax and its logarithm.

use crate::base::{DType, Result};
use crate::device::Kernel;
use crate::device::kernel::SoftmaxForm;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{one, recorded};
use crate::op::core::{autocast, shapes};
use crate::op::elementwise::arithmetic::{mul, sub};
use crate::op::elementwise::unary::exp;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor, launch};

use super::scan::along;
use super::sums::sum;

/// `exp(x)` divided by its sum along `dim`.
pub fn softmax(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "SoftmaxBackward0", run: softmax_grad };
    normalised("softmax", SoftmaxForm::Plain, x, dim, dtype, &RULE)
}

/// [`softmax`] of scores of which some are hidden by -inf: where all of a line are, it is 0, as PyTorch's `_safe_softmax`.
pub(crate) fn safe_softmax(x: &Tensor, dim: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "SafeSoftmaxBackward0", run: softmax_grad };
    normalised("softmax", SoftmaxForm::Safe, x, dim, None, &RULE)
}

/// The logarithm of [`softmax`], without overflow.
pub fn log_softmax(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LogSoftmaxBackward0", run: log_softmax_grad };
    normalised("log_softmax", SoftmaxForm::Log, x, dim, dtype, &RULE)
}

fn normalised(
    name: &'static str,
    form: SoftmaxForm,
    x: &Tensor,
    dim: i64,
    dtype: Option<DType>,
    rule: &'static Vjp,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter(name, &[x])? {
        return normalised(name, form, x, dim, casts.dtype(dtype), rule);
    }
    let dim = x.dim(dim)?;
    let dtype = dtype.unwrap_or(x.dtype());
    if x.numel() == 0 && !dtype.is_float() {
        return x.copied(dtype, name);
    }
    only_floats(
        dtype,
        if form == SoftmaxForm::Log {
            "log_softmax_lastdim_kernel_impl"
        } else {
            "softmax_lastdim_kernel_impl"
        },
    )?;
    let out = along(name, Kernel::Softmax { form, dim }, x, dtype)?;
    Ok(recorded(out, rule, &[x], |s, y| {
        s.output(y);
        s.attribute(dim);
    }))
}

fn softmax_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let y = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    if !grad_enabled() {
        return one(fused_grad(false, dim, g, &y)?);
    }
    let weighted = mul(g, &y)?;
    one(sub(&weighted, &mul(&y, &sum(&weighted, Some(&[dim as i64]), true)?)?)?)
}

fn log_softmax_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let y = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    if !grad_enabled() {
        return one(fused_grad(true, dim, g, &y)?);
    }
    one(sub(g, &mul(&exp(&y)?, &sum(g, Some(&[dim as i64]), true)?)?)?)
}

fn fused_grad(log: bool, dim: usize, g: &Tensor, y: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(y.shape(), y.dtype(), &y.context(), "softmax_backward")?;
    let kernel = Kernel::SoftmaxGrad { log, dim };
    if y.rank() == 0 {
        let (a, b) = (g.layout().unsqueeze(0)?, y.layout().unsqueeze(0)?);
        let to = out.with_layout(out.layout().unsqueeze(0)?);
        launch("softmax_backward", &kernel, &[In::Laid(g, &a), In::Laid(y, &b)], &[&to])?;
    } else {
        launch("softmax_backward", &kernel, &[g.into(), y.into()], &[&out])?;
    }
    Ok(out)
}

const X: &[Draw] = &[Draw::of("x", &[3, 4, 2], Domain::Any)];

params! {
    SoftmaxParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

const FORMS: &[Form] = &[Form::Method, Form::Function, Form::Of("special")];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "softmax",
        Family::Reduce,
        "Exponentials along a dimension, scaled to sum to 1.",
        SoftmaxParams::LIST,
        by_name!(SoftmaxParams, |a| to_value(softmax(a.input, a.dim, a.dtype))),
    )
    .forms(FORMS)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([0.0, 0.0]).softmax(0)", "tensor([0.5000, 0.5000])")
    .gradient(Gradient::Vjp("SoftmaxBackward0"))
    .samples(&[Sample::of("x.softmax(-1)", X), Sample::of("x.softmax(0)", X)]),
    OpDef::call(
        "log_softmax",
        Family::Reduce,
        "The logarithm of softmax, without overflow.",
        SoftmaxParams::LIST,
        by_name!(SoftmaxParams, |a| to_value(log_softmax(a.input, a.dim, a.dtype))),
    )
    .forms(FORMS)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([0.0, 0.0]).log_softmax(0)", "tensor([-0.6931, -0.6931])")
    .gradient(Gradient::Vjp("LogSoftmaxBackward0"))
    .samples(&[Sample::of("x.log_softmax(-1)", X)]),
];
