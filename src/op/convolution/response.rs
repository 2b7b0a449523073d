//! Elements divided by what their neighbours among the channels come to.

use crate::base::{Error, Result};
use crate::op::arrange::pad::constant;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{div, mul, scale, shift};
use crate::op::elementwise::binary::pow;
use crate::op::shape::view::{reshape_to, squeeze, unsqueeze};
use crate::tensor::Tensor;

use super::pooling::avg_pool2d;
use super::volumes::avg_pool3d;
use super::windows::Pool;

/// What [`local_response_norm`] divides by: `(k + alpha * mean) ** beta`, the mean of squares over `size` channels.
#[derive(Clone, Copy)]
pub(crate) struct Response {
    pub size: i64,
    pub alpha: f64,
    pub beta: f64,
    pub k: f64,
}

/// `x [n, c, …]` over `(k + alpha * mean) ** beta`, where the mean of squares goes over `size` neighbouring channels,
/// zeros beyond the first and the last.
pub(crate) fn local_response_norm(x: &Tensor, by: Response) -> Result<Tensor> {
    let &[n, channels, ref inner @ ..] = x.shape() else { return Err(flat(x)) };
    let Some((&first, rest)) = inner.split_first() else { return Err(flat(x)) };
    if x.numel() == 0 {
        return Ok(x.clone());
    }
    let (squares, before, after) =
        (mul(x, x)?, by.size.div_euclid(2), by.size.saturating_sub(1).div_euclid(2));
    let pool = |size: Vec<i64>| Pool {
        size,
        stride: Some(vec![1]),
        padding: vec![0],
        dilation: vec![1],
        ceil_mode: false,
        count_include_pad: true,
    };
    let means = if rest.is_empty() {
        let padded = constant(&unsqueeze(&squares, 1)?, &[0, 0, before, after], 0.0.into())?;
        squeeze(&avg_pool2d(&padded, &pool(vec![by.size, 1]))?, Some(&[1]))?
    } else {
        let volume = reshape_to(&squares, &[n, 1, channels, first, rest.iter().product()])?;
        let padded = constant(&volume, &[0, 0, 0, 0, before, after], 0.0.into())?;
        reshape_to(&avg_pool3d(&padded, &pool(vec![by.size, 1, 1]))?, x.shape())?
    };
    div(x, &pow(&shift(&scale(&means, by.alpha)?, by.k)?, by.beta)?)
}

fn flat(x: &Tensor) -> Error {
    Error::value(format!("Expected 3D or higher dimensionality input (got {} dimensions)", x.rank()))
        .with_hint("dimension 1 holds the channels, and places come behind it")
}

params! {
    pub(crate) group ResponseParams {
        size: kind::Int, "how many neighbouring channels count";
        alpha: kind::Float = 1e-4, "a factor of the mean of their squares";
        beta: kind::Float = 0.75, "the power that is divided by";
        k: kind::Float = 1.0, "what is added to the mean";
    }
}

impl ResponseParams<'_> {
    pub(crate) fn response(&self) -> Response {
        Response { size: self.size, alpha: self.alpha, beta: self.beta, k: self.k }
    }
}

params! {
    LocalResponseNormParams {
        input: kind::Tensor, "the batch, `[n, channels, …]`";
        ..by: ResponseParams;
    }
}

/// When it fails.
pub(crate) const RESPONSE_ERRORS: &[&str] =
    &["ValueError: the input has fewer than three dimensions", "RuntimeError: `size` is not positive"];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "local_response_norm",
    Family::Normalise,
    "Divides each element by a power of the mean of squares over neighbouring channels.",
    LocalResponseNormParams::LIST,
    by_name!(LocalResponseNormParams, |a| local_response_norm(a.input, a.by.response()).map(Value::from)),
)
.forms(FUNCTIONAL)
.details("`x / (k + alpha * mean) ** beta`; channels beyond the first and the last count as zeros.")
.shapes("(N, C, …) -> the same")
.errors(RESPONSE_ERRORS)
.example(
    "F::local_response_norm(ones([1, 2, 1]), 2, #{alpha: 1.0, beta: 1.0})",
    "tensor([[[0.6667],\n         [0.5000]]])",
)
.samples(&[
    Sample::of("F::local_response_norm(x, 3, 0.5)", &[Draw::of("x", &[2, 4, 3], Domain::Any)]),
    Sample::of(
        "F::local_response_norm(x, 2, #{alpha: 0.3, beta: 1.5, k: 2.0})",
        &[Draw::of("x", &[1, 3, 2, 2], Domain::Any)],
    ),
])];
