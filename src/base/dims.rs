//! Sizes of dimensions, and how they are shown.

use smallvec::SmallVec;

/// Sizes of a tensor's dimensions, outermost first.
pub(crate) type Dims = SmallVec<[usize; 6]>;

/// Steps between neighbours along each dimension, in elements.
pub(crate) type Strides = SmallVec<[isize; 6]>;

/// `[2, 3]`, as PyTorch's errors print sizes.
pub(crate) fn show<T: std::fmt::Display>(sizes: &[T]) -> String {
    let inner: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    format!("[{}]", inner.join(", "))
}

/// `2x3`, as the matmul errors print sizes.
pub(crate) fn show_x(sizes: &[usize]) -> String {
    let inner: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    inner.join("x")
}
