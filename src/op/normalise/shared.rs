//! What the kinds of normalisation share.

use crate::base::{DType, Dims, Error, Result};
use crate::op::elementwise::arithmetic::{mul, scale, shift, sub};
use crate::op::elementwise::unary::{rsqrt, square};
use crate::tensor::Tensor;
use crate::tensor::accumulate::sum_to;

/// What errors say of the operands that are there.
pub fn operands(all: &[Option<&Tensor>]) -> Vec<crate::base::error::Operand> {
    all.iter().flatten().map(|t| t.operand()).collect()
}

/// Parameters have the input's dtype; float32 ones also go with half types.
pub(crate) fn check_dtype(x: &Tensor, parameter: &Tensor) -> Result<()> {
    let half = matches!(x.dtype(), DType::Float16 | DType::BFloat16);
    if parameter.dtype() == x.dtype() || (half && parameter.dtype() == DType::Float32) {
        return Ok(());
    }
    Err(Error::runtime("mixed dtype (CPU): expect parameter to have scalar type of Float")
        .with_hint(format!("the input is {} and the parameter {}", x.dtype(), parameter.dtype())))
}

/// The dtype that statistics are kept in.
pub(crate) fn statistics_dtype(x: DType) -> DType {
    if x == DType::Float64 { x } else { DType::Float32 }
}

/// Gradient of the plain normalisation over the dimensions that `kept` has as 1, and the normalised values, as
/// recorded operations.
pub(crate) fn standard_grad(x: &Tensor, g: &Tensor, kept: &[usize], eps: f64) -> Result<(Tensor, Tensor)> {
    let count = (x.numel() / kept.iter().product::<usize>().max(1)).max(1) as f64;
    let mean = |t: &Tensor| scale(&sum_to(t, kept)?, 1.0 / count);
    let centred = sub(x, &mean(x)?)?;
    let rstd = rsqrt(&shift(&mean(&square(&centred)?)?, eps)?)?;
    let normal = mul(&centred, &rstd)?;
    let along = mul(&normal, &mean(&mul(g, &normal)?)?)?;
    let dx = mul(&sub(&sub(g, &mean(g)?)?, &along)?, &rstd)?;
    Ok((dx, normal))
}

/// The size of dimension 1.
pub fn channels(x: &Tensor) -> usize {
    x.shape().get(1).copied().unwrap_or(1)
}

/// `[1, channels, 1, …]`
pub(crate) fn kept_channels(shape: &[usize]) -> Dims {
    shape.iter().enumerate().map(|(i, &d)| if i == 1 { d } else { 1 }).collect()
}
