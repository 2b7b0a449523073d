//! Scores of keys that a query does not see.

use crate::base::{DType, Result};
use crate::op::core::record::no_grad;
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::predicates::logical_not;
use crate::op::shape::triangle::tril;
use crate::tensor::Tensor;

/// Minus infinity where `mask` is true.
pub(super) fn hide(scores: &Tensor, mask: &Tensor) -> Result<Tensor> {
    masked_fill(scores, mask, f64::NEG_INFINITY.into())
}

/// True above the diagonal of the last two dimensions.
pub(super) fn after(scores: &Tensor) -> Result<Tensor> {
    let _quiet = no_grad();
    let shape = [scores.size(-2)?, scores.size(-1)?];
    let seen = Tensor::full(&shape, true.into(), DType::Bool, &scores.context(), "causal_mask")?;
    logical_not(&tril(&seen, 0)?)
}
