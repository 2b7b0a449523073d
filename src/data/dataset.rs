//! Datasets: samples by index.

use crate::base::{Cause, Error, Result};
use crate::op::scatter::index_select;
use crate::tensor::Tensor;

/// The tensors of one batch, in the dataset's order.
pub type Batch = Vec<Tensor>;

/// Samples by index. Called from worker threads.
pub trait Dataset: Send + Sync {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples at `indices`, stacked along a new first dimension.
    ///
    /// # Errors
    /// Names the sample that failed.
    fn fetch(&self, indices: &[i64]) -> Result<Batch>;
}

/// Tensors of one first size; sample `i` is row `i` of each.
pub struct TensorDataset {
    tensors: Vec<Tensor>,
    rows: usize,
}

impl TensorDataset {
    pub fn new(tensors: Vec<Tensor>) -> Result<TensorDataset> {
        let first = tensors.first().ok_or_else(|| Error::value("a TensorDataset needs a tensor"))?;
        let rows = match first.shape().first() {
            Some(&rows) => rows,
            None => return Err(Error::value("a TensorDataset needs tensors with a first dimension")),
        };
        match tensors.iter().find(|t| t.shape().first() != Some(&rows)) {
            Some(other) => Err(Error::new(
                crate::base::Kind::AssertionError,
                format!("Size mismatch between tensors: {:?} and {:?}", first.shape(), other.shape()),
            )),
            None => Ok(TensorDataset { tensors, rows }),
        }
    }

    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// One sample: row `index` of each tensor.
    pub fn get(&self, index: i64) -> Result<Batch> {
        let size = self.rows;
        if index < -(size as i64) || index >= size as i64 {
            return Err(Cause::IndexOutOfBounds { index, dim: 0, size }.into());
        }
        self.tensors.iter().map(|t| crate::op::movement::select(t, 0, index)).collect()
    }
}

impl Dataset for TensorDataset {
    fn len(&self) -> usize {
        self.rows
    }

    fn fetch(&self, indices: &[i64]) -> Result<Batch> {
        let at = Tensor::from_i64(indices, &[indices.len()])?;
        self.tensors
            .iter()
            .map(|t| {
                let at =
                    if t.device() == at.device() { at.clone() } else { at.moved(&t.context(), false, "to")? };
                index_select(t, 0, &at)
            })
            .collect()
    }
}
