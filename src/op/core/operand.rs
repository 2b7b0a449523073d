//! What an operation works on: a tensor or a number.

use crate::base::Scalar;
use crate::tensor::Tensor;

/// A tensor or a number.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    Tensor(&'a Tensor),
    Scalar(Scalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(t: &'a Tensor) -> Self {
        Operand::Tensor(t)
    }
}

impl From<f64> for Operand<'_> {
    fn from(v: f64) -> Self {
        Operand::Scalar(v.into())
    }
}

impl From<i64> for Operand<'_> {
    fn from(v: i64) -> Self {
        Operand::Scalar(v.into())
    }
}

impl From<Scalar> for Operand<'_> {
    fn from(v: Scalar) -> Self {
        Operand::Scalar(v)
    }
}
