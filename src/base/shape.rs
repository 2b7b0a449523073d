//! Sizes, strides, broadcasting, and dimension arithmetic that cannot overflow.

use smallvec::SmallVec;

use crate::base::dims::{Dims, Strides};

use super::error::{Result, ShapeCause};

/// The largest storage a shape may describe, in elements: byte counts then fit an `isize`.
const MAX_ELEMENTS: usize = (isize::MAX as usize) / 8;

/// The number of elements, or an error where it overflows.
pub fn numel(shape: &[usize]) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |n, &d| n.checked_mul(d))
        .filter(|&n| n <= MAX_ELEMENTS)
        .ok_or_else(|| ShapeCause::StorageOverflow(shape.into()).into())
}

/// Row-major strides.
pub(crate) fn contiguous_strides(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, shape.len());
    let mut step = 1isize;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1) as isize);
    }
    strides
}

/// Whether two shapes are equal. A loop: they are too short for the call that comparing slices makes.
#[inline]
pub fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| a == b)
}

/// The common shape of two operands under broadcasting.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Dims> {
    let rank = a.len().max(b.len());
    let at =
        |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).and_then(|j| s.get(j).copied()).unwrap_or(1);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            _ => Err(apart(a, b, at)),
        })
        .collect()
}

/// The error of shapes that do not go together: it names the last dimension, as PyTorch compares from there.
#[cold]
fn apart(a: &[usize], b: &[usize], at: impl Fn(&[usize], usize) -> usize) -> crate::base::Error {
    let rank = a.len().max(b.len());
    let sizes = |i: usize| (at(a, i), at(b, i));
    let last = (0..rank).rev().find(|&i| matches!(sizes(i), (x, y) if x != y && x != 1 && y != 1));
    let dim = last.unwrap_or(0);
    let (x, y) = sizes(dim);
    ShapeCause::Broadcast { a: x, b: y, dim, left: a.into(), right: b.into() }.into()
}

/// Wraps a possibly negative dimension; `rank` 0 counts as 1 (PyTorch's rule for scalars).
pub(crate) fn wrap_dim(dim: i64, rank: usize) -> Result<usize> {
    let n = rank.max(1) as i64;
    if dim < -n || dim >= n {
        return Err(ShapeCause::DimOutOfRange { dim, rank: n as usize }.into());
    }
    Ok(if dim < 0 { dim + n } else { dim } as usize)
}

/// Reads sizes as a learner gives them: negative sizes are errors.
pub(crate) fn checked_sizes(sizes: &[i64]) -> Result<Dims> {
    let dims: Dims = sizes
        .iter()
        .map(|&d| {
            usize::try_from(d).map_err(|_| ShapeCause::NegativeSize { size: d, shape: sizes.into() }.into())
        })
        .collect::<Result<_>>()?;
    numel(&dims)?;
    Ok(dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_names_the_dimension() {
        assert_eq!(broadcast(&[3, 1], &[4]).unwrap().as_slice(), &[3, 4]);
        let text = broadcast(&[2, 3], &[2, 4]).unwrap_err().message();
        assert_eq!(
            text,
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"
        );
    }

    #[test]
    fn a_huge_shape_is_an_error() {
        assert!(numel(&[1 << 62, 1 << 20]).is_err());
        assert_eq!(numel(&[1 << 62, 0]).unwrap(), 0);
    }

    #[test]
    fn dims_wrap() {
        assert_eq!(wrap_dim(-1, 3).unwrap(), 2);
        assert_eq!(wrap_dim(0, 0).unwrap(), 0);
        assert!(wrap_dim(3, 2).is_err());
    }
}
