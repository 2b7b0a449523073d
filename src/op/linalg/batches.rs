//! What operations on batches of matrices share: the batch is the leading dimensions.

use crate::base::{DType, Dims, Error, Kind, Result};
use crate::op::core::convert::to_dtype;
use crate::op::elementwise::comparison::eq;
use crate::op::shape::part::slice;
use crate::tensor::Tensor;

/// An empty tensor of a batch of factors of `x`.
pub(super) fn like(x: &Tensor, inner: &[usize]) -> Result<Tensor> {
    let shape: Dims = outer(x).iter().chain(inner).copied().collect();
    Tensor::empty(&shape, x.dtype(), &x.context(), "linalg")
}

pub(super) fn square(x: &Tensor, name: &str) -> Result<()> {
    square_of(x, name)?;
    if matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    let dtype = x.dtype().type_name();
    let text = match name {
        _ if !x.dtype().is_float() => {
            format!("{name}: Expected a floating point or complex tensor as input. Got {dtype}")
        }
        "linalg.inv" | "linalg.slogdet" | "logdet" => {
            format!("{name}: Low precision dtypes not supported. Got {dtype}")
        }
        "linalg.cholesky" => format!("\"cholesky_cpu\" not implemented for '{dtype}'"),
        _ => format!("\"lu_cpu\" not implemented for '{dtype}'"),
    };
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"))
}

/// [`square`] for any dtype.
pub(super) fn square_of(x: &Tensor, name: &str) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::runtime(format!("{name}: The input tensor A must have at least 2 dimensions.")));
    }
    let (rows, columns) = (x.size(-2)?, x.size(-1)?);
    if rows != columns {
        return Err(Error::runtime(format!(
            "{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )));
    }
    Ok(())
}

/// The identity in the shape of a batch of square matrices.
pub(super) fn identity(x: &Tensor) -> Result<Tensor> {
    let rows = crate::op::sorting::running::places_along(x, -2)?;
    to_dtype(&eq(&rows, &crate::op::sorting::running::places_along(x, -1)?)?, x.dtype())
}

pub(super) fn outer(x: &Tensor) -> &[usize] {
    x.shape().get(..x.rank().saturating_sub(2)).unwrap_or(&[])
}

pub(super) fn batched(x: &Tensor, batch: &[usize]) -> Result<Tensor> {
    let inner = x.shape().iter().skip(x.rank().saturating_sub(2));
    let wide: Vec<i64> = batch.iter().chain(inner).map(|&d| d as i64).collect();
    crate::op::shape::view::expand_to(x, &wide)
}

pub(super) fn part(x: &Tensor, rows: (usize, usize), columns: (usize, usize)) -> Result<Tensor> {
    let rank = x.rank();
    let cut = slice(x, rank.saturating_sub(2), rows.0, rows.1, 1)?;
    slice(&cut, rank.saturating_sub(1), columns.0, columns.1, 1)
}
