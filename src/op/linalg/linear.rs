//! `x @ weight.t() + bias` in one product.

use crate::base::error::{conversion_of_bias, conversion_of_input};
use crate::base::{Cause, Dims, Error, Layout, Result, ShapeCause};
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{recorded, wanted};
use crate::op::elementwise::arithmetic::add;
use crate::op::shape::permute::t;
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp};
use crate::tensor::{In, Tensor};

use super::matmul::{
    check_dtypes, check_place, fused_product, matmul, mm, product, rows, same_place, save_factors,
};

/// `x [.., in]`, `weight [out, in]` and `bias [out]` give `[.., out]`.
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("linear", &[x, weight])? {
        return linear(&casts.cast(x)?, &casts.cast(weight)?, casts.cast_option(bias)?.as_ref());
    }
    run(x, weight, bias).map_err(|e| {
        e.in_op("linear", || {
            [Some(x), Some(weight), bias].into_iter().flatten().map(Tensor::operand).collect()
        })
    })
}

fn run(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    static WITH_BIAS: Vjp = Vjp { name: "AddmmBackward0", run: linear_grad };
    static PLAIN: Vjp = Vjp { name: "MmBackward0", run: linear_grad };
    static VIEWED: Vjp = Vjp { name: "UnsafeViewBackward0", run: linear_grad };
    if weight.rank() == 1 && x.rank() > 0 {
        return match bias {
            Some(_) if x.rank() == 2 => Err(Error::runtime("addmm: mat2 must be a matrix, got 1-D tensor")),
            Some(bias) => add(&matmul(x, weight)?, bias),
            None => matmul(x, weight),
        };
    }
    let (&[out_features, in_features], Some((&k, head))) = (weight.shape(), x.shape().split_last()) else {
        return Err(Error::runtime(format!(
            "linear(): input and weight must be of at least 1 and of 2 dimensions, but they are {}D and {}D",
            x.rank(),
            weight.rank()
        )));
    };
    match bias {
        Some(bias) => {
            check_place(bias, x, weight)?;
            check_dtypes(bias, x, weight, |name, given, weight| match name {
                "self" => conversion_of_bias(weight),
                _ => conversion_of_input(given, weight),
            })?;
        }
        None => same_place(x, weight, "wrapper_CUDA_mm")?,
    }
    let count: usize = head.iter().product();
    if k != in_features {
        let op = if bias.is_some() { "addmm" } else { "mm" };
        let features = [in_features, out_features];
        return Err(ShapeCause::LinearSizes { op, input: x.shape().into(), features }.into());
    }
    if x.dtype() != weight.dtype() {
        let (left, right) = (x.dtype(), weight.dtype());
        let error = Error::from(Cause::DtypeMismatch { left, right });
        return Err(error.with_hint(conversion_of_input(left, right)));
    }
    let shape: Dims = head.iter().copied().chain([out_features]).collect();
    let out = Tensor::empty(&shape, x.dtype(), &x.context(), "linear")?;
    launch_linear(x, weight, bias, &out, count)?;
    let rule = match (x.rank(), bias) {
        (2, Some(_)) => &WITH_BIAS,
        (2, None) => &PLAIN,
        _ => &VIEWED,
    };
    Ok(match bias {
        Some(bias) => recorded(out, rule, &[x, weight, bias], |s, _| save(s, x, weight)),
        None => recorded(out, rule, &[x, weight], |s, _| save(s, x, weight)),
    })
}

/// One product of all rows where `x`'s strides allow that, else one per batch with the weight broadcast.
fn launch_linear(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    out: &Tensor,
    count: usize,
) -> Result<()> {
    let (Some(&k), Some(&n)) = (x.shape().last(), out.shape().last()) else { return Ok(()) };
    let flipped = weight.layout().transpose(0, 1)?;
    let (left, right, target) = match x.layout().view(&[count, k]) {
        Some(flat) => (flat, flipped, out.with_layout(Layout::contiguous(&[count, n])?)),
        None => {
            let batch = x.shape().split_at_checked(x.rank().saturating_sub(2)).map_or(&[][..], |(b, _)| b);
            let wide: Dims = batch.iter().copied().chain([k, n]).collect();
            (x.layout().clone(), flipped.expand(&wide)?, out.clone())
        }
    };
    let (a, b) = (In::Laid(x, &left), In::Laid(weight, &right));
    match bias {
        Some(bias) => {
            let wide = bias.layout().expand(target.shape())?;
            fused_product("linear", [a, b, In::Laid(bias, &wide)], &target, 1.0, 1.0)
        }
        None => product("linear", [a, b], &target),
    }
}

fn save(s: &mut Saver, x: &Tensor, weight: &Tensor) {
    save_factors(s, x, weight);
}

/// The engine sums the bias's gradient over the rows.
fn linear_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let mut grads: Grads = [
        wanted(s, 0, || {
            let weight = s.tensor(1)?;
            if g.rank() == 1 { super::matmul::mv(&t(&weight)?, g) } else { matmul(g, &weight) }
        })?,
        wanted(s, 1, || mm(&t(&rows(g)?)?, &rows(&s.tensor(0)?)?))?,
    ]
    .into_iter()
    .collect();
    if s.needs(2) {
        grads.push(Some(g.clone()));
    }
    Ok(grads)
}

params! {
    LinearParams {
        input: kind::Tensor, "features in the last dimension";
        weight: kind::Tensor, "`[out, in]`, a row for each output";
        bias: Maybe<kind::Tensor>, "what is added to each feature, or none";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "linear",
    Family::Matmul,
    "`input @ weight.t() + bias` in one launch.",
    LinearParams::LIST,
    by_name!(LinearParams, |a| to_value(linear(a.input, a.weight, a.bias))),
)
.forms(&[Form::Functional])
.shapes("(…, in), weight (out, in), bias (out) -> (…, out)")
.errors(&[
    "RuntimeError: the input's last size is not the weight's",
    "NotImplementedError: an operand holds bools",
])
.example("F::linear(ones([1, 3]), ones([2, 3]))", "tensor([[3., 3.]])")
.gradient(Gradient::Vjp("AddmmBackward0"))
.samples(&[Sample::of(
    "F::linear(x, w, b)",
    &[
        Draw::of("x", &[5, 4], Domain::Any),
        Draw::of("w", &[3, 4], Domain::Any),
        Draw::of("b", &[3], Domain::Any),
    ],
)])];
