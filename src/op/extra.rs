//! Elementwise functions made of others.

use crate::base::{DType, Result};
use crate::device::MapOp;
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor};

use super::binary::{add, div, eq, logaddexp, mul, pow, sub};
use super::convert::to_dtype;
use super::def::Operand;
use super::elementwise::map;
use super::movement::{cloned, reshape_to, unsqueeze};
use super::promote::to_float;
use super::record::{no_grad, one, recorded};
use super::reduce::any;
use super::select::clamp;
use super::unary::{isfinite, log, logical_not, neg, scale, shift, trunc};

/// Numbers for NaN and the infinities; where none are named, the largest of the dtype.
pub fn nan_to_num(x: &Tensor, nan: f64, high: Option<f64>, low: Option<f64>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NanToNumBackward0", run: |s, g| one(mul(g, &isfinite(&s.tensor(0)?)?)?) };
    let most = match x.dtype() {
        DType::Float64 => f64::MAX,
        DType::Float32 => f32::MAX.into(),
        DType::Float16 => 65504.0,
        DType::BFloat16 => half::bf16::MAX.to_f64(),
        _ => return cloned(x),
    };
    let params = [high.unwrap_or(most), low.unwrap_or(-most)];
    let inputs = [In::Tensor(x), In::Scalar(nan.into())];
    let out = map("nan_to_num", MapOp::NanToNum, &inputs, x.shape(), x.dtype(), x.dtype(), params, x)?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.input(x)))
}

/// `log(x / (1 - x))`.
pub fn logit(x: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    let x = match eps {
        Some(eps) => clamp(x, Some(eps.into()), Some((1.0 - eps).into()))?,
        None => x.clone(),
    };
    log(&div(&x, &shift(&neg(&x)?, 1.0)?)?)
}

/// What `trunc` takes away.
pub fn frac(x: &Tensor) -> Result<Tensor> {
    super::select::only_floats(x.dtype(), "frac_cpu")?;
    sub(x, &trunc(x)?)
}

/// Times a factor, in floats.
pub fn scaled(x: &Tensor, factor: f64) -> Result<Tensor> {
    scale(&to_dtype(x, to_float(x.dtype()))?, factor)
}

/// Whether each element is this infinity.
pub fn is_infinity(x: &Tensor, which: f64) -> Result<Tensor> {
    eq(x, which)
}

/// Whether each element is among `others`.
pub fn isin(x: &Tensor, others: Operand, invert: bool) -> Result<Tensor> {
    let _off = no_grad();
    let found = match others {
        Operand::Scalar(_) => eq(x, others)?,
        Operand::Tensor(t) => {
            let row = reshape_to(t, &[t.numel()])?;
            any(&eq(&unsqueeze(x, -1)?, &row)?, Some(&[-1]), false)?
        }
    };
    if invert { logical_not(&found) } else { Ok(found) }
}

/// `log2(2**a + 2**b)`.
pub fn logaddexp2(a: Operand, b: Operand) -> Result<Tensor> {
    let ln2 = std::f64::consts::LN_2;
    scale(&logaddexp(&mul(a, ln2)?, &mul(b, ln2)?)?, 1.0 / ln2)
}

/// `a * 2**b`; of a float and whole exponents, in the float's dtype.
pub fn ldexp(a: Operand, b: Operand) -> Result<Tensor> {
    let out = mul(a, &pow(2.0, b)?)?;
    match (a, b) {
        (Operand::Tensor(x), Operand::Tensor(n)) if x.dtype().is_float() && !n.dtype().is_float() => {
            to_dtype(&out, x.dtype())
        }
        _ => Ok(out),
    }
}

/// `a ** b` in float64.
pub fn float_power(a: Operand, b: Operand) -> Result<Tensor> {
    let wide = |o: Operand| -> Result<Tensor> {
        match o {
            Operand::Tensor(t) => to_dtype(t, DType::Float64),
            number => to_dtype(&add(number, 0i64)?, DType::Float64),
        }
    };
    match b {
        Operand::Scalar(_) => pow(&wide(a)?, b),
        Operand::Tensor(_) => pow(&wide(a)?, &wide(b)?),
    }
}
