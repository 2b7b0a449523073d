//! Attention made of products and a softmax.

use crate::base::shape::broadcast;
use crate::base::{DType, Error, Result};
use crate::op::activation::dropout::dropout;
use crate::op::core::wide::in_single_on_cpu;
use crate::op::elementwise::arithmetic::{add, mul, scale};
use crate::op::elementwise::predicates::logical_not;
use crate::op::linalg::matmul::matmul;
use crate::op::reduce::softmax::safe_softmax;
use crate::op::shape::permute::transpose;
use crate::tensor::Tensor;

use super::hidden::{after, hide};

/// What attention takes beside queries, keys and values.
#[derive(Clone, Copy, Default)]
pub struct Attention<'a> {
    /// Bools (true takes part) or numbers that are added to the scores.
    pub mask: Option<&'a Tensor>,
    pub dropout_p: f64,
    /// A query sees the keys up to its own place.
    pub is_causal: bool,
    /// `1 / sqrt(e)` where it is absent.
    pub scale: Option<f64>,
}

/// Attention made of products and a softmax. `kept` are the factors of a dropout that was drawn before.
pub(super) fn composed(
    [q, k, v]: [&Tensor; 3],
    factor: f64,
    options: &Attention,
    kept: Option<&Tensor>,
) -> Result<Tensor> {
    in_single_on_cpu([q, k, v], |[q, k, v]| {
        let scores = matmul(&scale(q, factor)?, &transpose(k, -2, -1)?)?;
        if let Some(mask) = options.mask {
            let common = broadcast(scores.shape(), mask.shape())?;
            if common.as_slice() != scores.shape() {
                return Err(Error::runtime(format!(
                    "output with shape {:?} doesn't match the broadcast shape {common:?}",
                    scores.shape()
                )));
            }
        }
        let scores = match options.mask {
            Some(mask) if mask.dtype() == DType::Bool => hide(&scores, &logical_not(mask)?)?,
            Some(mask) => add(&scores, mask)?,
            None if options.is_causal => hide(&scores, &after(&scores)?)?,
            None => scores,
        };
        let weights = safe_softmax(&scores, -1)?;
        let weights = match kept {
            Some(kept) => mul(&weights, kept)?,
            None => dropout(&weights, options.dropout_p, true)?,
        };
        matmul(&weights, v)
    })
}
