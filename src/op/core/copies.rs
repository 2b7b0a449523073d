//! Copies of what holds other values: a network, an optimiser, a dataset.

use crate::base::Result;
use crate::tensor::Tensor;

use super::value::Value;

/// Makes copies that hold together: what is one thing in several places has one copy.
///
/// A holder makes its own copy of the copies of its parts.
pub trait Copies {
    /// The copy of a tensor, which shares memory with copies of what the tensor shares memory with.
    ///
    /// # Errors
    /// There is no memory for it.
    fn tensor(&mut self, t: &Tensor) -> Result<Tensor>;

    /// The copy of a value with all that it leads to.
    ///
    /// # Errors
    /// It leads to what can't be copied.
    fn value(&mut self, value: &Value) -> Result<Value>;
}
