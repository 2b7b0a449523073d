//! Why shapes do not fit.

use crate::base::dims::{Dims, show, show_x};
use crate::base::error::kind::Kind;

/// Sizes, dimensions or indices do not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeCause {
    Broadcast {
        a: usize,
        b: usize,
        dim: usize,
        left: Dims,
        right: Dims,
    },
    MatmulShapes {
        /// `mm` or `addmm`
        op: &'static str,
        left: Dims,
        right: Dims,
    },
    /// Rows of another size than a linear layer takes.
    LinearSizes {
        /// `mm` or `addmm`
        op: &'static str,
        input: Dims,
        /// What it takes, and what it gives.
        features: [usize; 2],
    },
    VectorSizes {
        left: usize,
        right: usize,
    },
    BatchMatmul {
        want: [usize; 2],
        got: [usize; 2],
    },
    StorageOverflow(Dims),
    NegativeSize {
        size: i64,
        shape: Vec<i64>,
    },
    DimOutOfRange {
        dim: i64,
        rank: usize,
    },
    IndexOutOfBounds {
        index: i64,
        dim: usize,
        size: usize,
    },
    Reshape {
        target: Vec<i64>,
        numel: usize,
    },
    ViewNotContiguous,
    Expand {
        size: usize,
        existing: usize,
        dim: usize,
        target: Dims,
        sizes: Dims,
    },
    ExpandRank {
        target: Dims,
        sizes: Dims,
    },
    CatSizes {
        dim: usize,
        want: usize,
        got: usize,
        number: usize,
    },
    NotScalar {
        numel: usize,
    },
    AmbiguousBool {
        numel: usize,
    },
    Ragged {
        want: usize,
        dim: usize,
        got: usize,
    },
}

impl ShapeCause {
    pub(super) fn kind(&self) -> Kind {
        match self {
            ShapeCause::DimOutOfRange { .. } | ShapeCause::IndexOutOfBounds { .. } => Kind::IndexError,
            ShapeCause::Ragged { .. } => Kind::ValueError,
            ShapeCause::Broadcast { .. }
            | ShapeCause::MatmulShapes { .. }
            | ShapeCause::LinearSizes { .. }
            | ShapeCause::VectorSizes { .. }
            | ShapeCause::BatchMatmul { .. }
            | ShapeCause::StorageOverflow(_)
            | ShapeCause::NegativeSize { .. }
            | ShapeCause::Reshape { .. }
            | ShapeCause::ViewNotContiguous
            | ShapeCause::Expand { .. }
            | ShapeCause::ExpandRank { .. }
            | ShapeCause::CatSizes { .. }
            | ShapeCause::NotScalar { .. }
            | ShapeCause::AmbiguousBool { .. } => Kind::RuntimeError,
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            ShapeCause::Broadcast { a, b, dim, .. } => format!(
                "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
            ),
            ShapeCause::MatmulShapes { op, left, right } => format!(
                "{op}: mat1 and mat2 shapes cannot be multiplied ({} and {})",
                show_x(left),
                show_x(right)
            ),
            ShapeCause::LinearSizes { op, input, features } => {
                let (rows, size) =
                    input.split_last().map_or((1, 0), |(size, head)| (head.iter().product(), *size));
                let (op, left, right) = (*op, [rows, size][..].into(), features[..].into());
                ShapeCause::MatmulShapes { op, left, right }.message()
            }
            ShapeCause::VectorSizes { left, right } => format!(
                "inconsistent tensor size, expected tensor [{left}] and src [{right}] to have the same number of \
                 elements, but got {left} and {right} elements respectively"
            ),
            ShapeCause::BatchMatmul { want, got } => format!(
                "Expected size for first two dimensions of batch2 tensor to be: {} but got: {}.",
                show(want),
                show(got)
            ),
            ShapeCause::StorageOverflow(shape) => {
                format!("Storage size calculation overflowed with sizes={}", show(shape))
            }
            ShapeCause::NegativeSize { size, shape } => {
                format!("Trying to create tensor with negative dimension {size}: {}", show(shape))
            }
            ShapeCause::DimOutOfRange { dim, rank } => format!(
                "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
                -(*rank as i64),
                *rank as i64 - 1
            ),
            ShapeCause::IndexOutOfBounds { index, dim, size } => {
                format!("index {index} is out of bounds for dimension {dim} with size {size}")
            }
            ShapeCause::Reshape { target, numel } => {
                format!("shape '{}' is invalid for input of size {numel}", show(target))
            }
            ShapeCause::ViewNotContiguous => {
                "view size is not compatible with input tensor's size and stride (at least \
                 one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
                    .into()
            }
            ShapeCause::Expand { size, existing, dim, target, sizes } => format!(
                "The expanded size of the tensor ({size}) must match the existing size ({existing}) at \
                 non-singleton dimension {dim}.  Target sizes: {}.  Tensor sizes: {}",
                show(target),
                show(sizes)
            ),
            ShapeCause::ExpandRank { target, sizes } => format!(
                "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in \
                 the tensor ({})",
                target.len(),
                sizes.len()
            ),
            ShapeCause::CatSizes { dim, want, got, number } => format!(
                "Sizes of tensors must match except in dimension {dim}. Expected size {want} but got size {got} for \
                 tensor number {number} in the list."
            ),
            ShapeCause::NotScalar { numel } => {
                format!("a Tensor with {numel} elements cannot be converted to Scalar")
            }
            ShapeCause::AmbiguousBool { numel: 0 } => {
                "Boolean value of Tensor with no values is ambiguous".into()
            }
            ShapeCause::AmbiguousBool { .. } => {
                "Boolean value of Tensor with more than one value is ambiguous".into()
            }
            ShapeCause::Ragged { want, dim, got } => {
                format!("expected sequence of length {want} at dim {dim} (got {got})")
            }
        }
    }

    /// What to do about it, where that can be said.
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            ShapeCause::Broadcast { left, right, .. } => format!(
                "shapes {} and {} are compared from the right; sizes must be equal, or one of them 1",
                show(left),
                show(right)
            ),
            ShapeCause::MatmulShapes { left, right, .. } => match (left.last(), right.first()) {
                (Some(k), Some(n)) => format!(
                    "the inner sizes must agree, and here they are {k} and {n}; try `.t()` on one of them"
                ),
                _ => return None,
            },
            ShapeCause::LinearSizes { input, features: [takes, gives], .. } => {
                let size = input.last().copied().unwrap_or_default();
                let flat: usize = input.iter().skip(1).product();
                let way = match input.len() > 2 && flat == *takes {
                    true => format!("`x.flatten(1)` makes rows of {takes} of {}", show(input)),
                    false => format!("`nn::Linear({size}, {gives})` would take these"),
                };
                format!(
                    "the layer takes {takes} features in the last dimension, and here they are {size}: {way}"
                )
            }
            ShapeCause::StorageOverflow(_) => {
                "no memory could hold that many elements: check the sizes".into()
            }
            ShapeCause::NegativeSize { .. } => {
                "sizes start at 0; -1 is understood by `reshape` and `view` alone".into()
            }
            ShapeCause::Reshape { target, numel } => match target.iter().filter(|&&d| d > 0).product::<i64>()
            {
                0 => return None,
                n => format!("{n} does not fit {numel} elements; one size may be -1, and is then worked out"),
            },
            ShapeCause::NotScalar { .. } => {
                "`.item()` takes one element: reduce first (`.sum()`, `.mean()`), or use `.tolist()`".into()
            }
            ShapeCause::AmbiguousBool { .. } => "say which you mean: `.any()` or `.all()`".into(),
            ShapeCause::VectorSizes { .. }
            | ShapeCause::BatchMatmul { .. }
            | ShapeCause::DimOutOfRange { .. }
            | ShapeCause::IndexOutOfBounds { .. }
            | ShapeCause::ViewNotContiguous
            | ShapeCause::Expand { .. }
            | ShapeCause::ExpandRank { .. }
            | ShapeCause::CatSizes { .. }
            | ShapeCause::Ragged { .. } => return None,
        })
    }
}
