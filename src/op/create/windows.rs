//! Window functions: what a signal is multiplied by before its frequencies are looked at.

use std::f64::consts::PI;

use crate::base::{DType, Error, Result, Scalar};
use crate::op::core::args::to_value;
use crate::op::core::def::{Args, FUNCTION, Family, Gradient, OpDef, Param};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::no_grad;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, scale, shift, sub};
use crate::op::elementwise::binary::minimum;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::cos;
use crate::op::shape::part::narrow;
use crate::tensor::Tensor;

use super::filled::{Make, MakeParams};
use super::ranges::arange;

/// `length` numbers of a window that is computed of places and the last of them. A periodic window leaves out the last of one
/// number more, so that it goes on where it began.
fn window(
    name: &str,
    (length, periodic): (i64, bool),
    options: &MakeParams,
    shape: impl Fn(&Tensor, f64) -> Result<Tensor>,
) -> Result<Tensor> {
    let make = options.make();
    let dtype = make.dtype.unwrap_or(DType::Float32);
    if !dtype.is_float() {
        return Err(Error::runtime(format!("{name} expects floating point dtypes, got: {dtype}")));
    }
    if length < 0 {
        return Err(Error::runtime(format!(
            "{name} requires non-negative window_length, got window_length={length}"
        )));
    }
    let plain = |dtype| Make { dtype: Some(dtype), device: make.device, ..Make::default() };
    if length < 2 {
        return make.finish(add(&arange(0i64.into(), length.into(), 1i64.into(), &plain(dtype))?, 1.0)?);
    }
    let _off = no_grad();
    let whole = length.saturating_add(i64::from(periodic));
    // Half types are too coarse to count in.
    let precise = if dtype.size() == 2 { DType::Float32 } else { dtype };
    let line = arange(Scalar::Int(0), whole.into(), Scalar::Int(1), &plain(precise))?;
    let all = shape(&line, (whole - 1) as f64)?;
    make.finish(narrow(&all, 0, 0, length)?.copied(dtype, "window")?)
}

/// `alpha - beta * cos(2 pi x / last)`
fn raised(x: &Tensor, last: f64, alpha: f64, beta: f64) -> Result<Tensor> {
    shift(&scale(&cos(&scale(x, 2.0 * PI / last)?)?, -beta)?, alpha)
}

fn blackman(x: &Tensor, last: f64) -> Result<Tensor> {
    let turn = scale(x, PI / last)?;
    let wave = |times: f64, height: f64| scale(&cos(&scale(&turn, times)?)?, height);
    shift(&sub(&wave(4.0, 0.08)?, &wave(2.0, 0.5)?)?, 0.42)
}

/// A triangle.
fn bartlett(x: &Tensor, last: f64) -> Result<Tensor> {
    let up = scale(x, 2.0 / last)?;
    minimum(&up, &sub(&neg(&up)?, -2.0)?)
}

params! {
    WindowParams {
        window_length: kind::Int, "how many numbers";
        periodic: kind::Bool = true, "whether it goes on where it began; otherwise it ends as it begins";
        ..options: MakeParams;
    }
}

params! {
    HammingParams {
        window_length: kind::Int, "how many numbers";
        periodic: kind::Bool = true, "whether it goes on where it began; otherwise it ends as it begins";
        alpha: kind::Float = 0.54, "the mean of the cosine";
        beta: kind::Float = 0.46, "how high its wave is";
        ..options: MakeParams;
    }
}

const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Create, summary, params, run)
        .forms(FUNCTION)
        .shapes("-> (window_length)")
        .errors(&["RuntimeError: the length is negative", "RuntimeError: the dtype holds no fractions"])
        .gradient(Gradient::NoGrad("the result does not depend on values of a tensor"))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "hann_window",
        "A wave of the cosine between 0 and 1.",
        WindowParams::LIST,
        by_name!(WindowParams, |a| {
            to_value(window("hann_window", (a.window_length, a.periodic), &a.options, |x, last| {
                raised(x, last, 0.5, 0.5)
            }))
        }),
    )
    .example("hann_window(4)", "tensor([0.0000, 0.5000, 1.0000, 0.5000])"),
    row(
        "hamming_window",
        "A wave of the cosine that stays above 0.",
        HammingParams::LIST,
        by_name!(HammingParams, |a| {
            let shape = |x: &Tensor, last: f64| raised(x, last, a.alpha, a.beta);
            to_value(window("hamming_window", (a.window_length, a.periodic), &a.options, shape))
        }),
    )
    .example("hamming_window(4)", "tensor([0.0800, 0.5400, 1.0000, 0.5400])"),
    row(
        "blackman_window",
        "A wave of two cosines, lower at its ends.",
        WindowParams::LIST,
        by_name!(WindowParams, |a| {
            to_value(window("blackman_window", (a.window_length, a.periodic), &a.options, blackman))
        }),
    )
    .example("blackman_window(3, false)", "tensor([-2.9802e-08,  1.0000e+00, -2.9802e-08])"),
    row(
        "bartlett_window",
        "A triangle.",
        WindowParams::LIST,
        by_name!(WindowParams, |a| {
            to_value(window("bartlett_window", (a.window_length, a.periodic), &a.options, bartlett))
        }),
    )
    .example("bartlett_window(4)", "tensor([0.0000, 0.5000, 1.0000, 0.5000])"),
];
