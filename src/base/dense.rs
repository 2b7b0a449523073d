//! The order in memory that a result takes over from what it is made of: `x.T + 1` lies in memory as `x.T` does.

use smallvec::SmallVec;

use super::error::Result;
use super::layout::Layout;
use crate::base::dims::Strides;

/// Dimensions, those that lie farthest apart in memory first.
pub(crate) type Order = SmallVec<[usize; 6]>;

impl Layout {
    /// True where the elements fill one piece of memory, each place once: a permutation of a row-major layout.
    ///
    /// Follows `is_non_overlapping_and_dense` of PyTorch's `c10`.
    pub(crate) fn is_dense(&self) -> bool {
        if self.is_contiguous() {
            return true;
        }
        let mut dims: SmallVec<[(isize, usize); 6]> = self
            .strides()
            .iter()
            .copied()
            .zip(self.shape().iter().copied())
            .filter(|(_, d)| *d != 1)
            .collect();
        dims.sort_unstable();
        let mut expected = 1;
        dims.iter().all(|&(stride, size)| {
            let fits = stride == expected;
            expected *= size as isize;
            fits
        })
    }

    /// A layout from element 0 for values that are laid out as these are: the same strides where they are dense,
    /// else dense ones in the same order.
    ///
    /// # Errors
    /// The shape has too many elements.
    pub(crate) fn dense_like(&self) -> Result<Layout> {
        if self.is_dense() {
            return Layout::new(self.shape().into(), self.strides().into(), 0);
        }
        dense_in(self.shape(), &order(self.shape(), &[self.strides()]))
    }
}

/// The row-major layout of the dimensions in this order, seen in their own one.
///
/// # Errors
/// The shape has too many elements.
pub(crate) fn dense_in(shape: &[usize], order: &[usize]) -> Result<Layout> {
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step = 1isize;
    for &dim in order.iter().rev() {
        if let (Some(stride), Some(size)) = (strides.get_mut(dim), shape.get(dim)) {
            *stride = step;
            step = step.saturating_mul((*size).max(1) as isize);
        }
    }
    Layout::new(shape.into(), strides, 0)
}

impl Layout {
    /// True where the elements fill one piece of memory with the dimensions in this order, outermost first. Strides of
    /// dimensions of size 1 do not matter.
    pub(crate) fn is_dense_in(&self, order: &[usize]) -> bool {
        dense_in(self.shape(), order).is_ok_and(|wanted| {
            let strides = self.strides().iter().zip(wanted.strides());
            strides.zip(self.shape()).all(|((have, want), &size)| size == 1 || have == want)
        })
    }
}

/// Dimensions that are put in an order.
const MOST_DIMENSIONS: usize = 64;

/// The order of the dimensions of a result whose inputs have these strides, broadcast dimensions with 0.
///
/// Follows `TensorIterator::reorder_dimensions`: the first input whose strides tell two dimensions apart decides.
pub fn order(shape: &[usize], inputs: &[&[isize]]) -> Order {
    // PyTorch has no iterators of more, and what follows takes the square of their number.
    if shape.len() > MOST_DIMENSIONS {
        return (0..shape.len()).collect();
    }
    // Innermost first while it is sorted.
    let mut perm: Order = (0..shape.len()).rev().collect();
    let at = |perm: &Order, i: usize| perm.get(i).copied().unwrap_or(0);
    for i in 1..perm.len() {
        let mut moved = i;
        for below in (0..i).rev() {
            match compared(shape, inputs, at(&perm, below), at(&perm, moved)) {
                std::cmp::Ordering::Greater => {
                    perm.swap(below, moved);
                    moved = below;
                }
                std::cmp::Ordering::Less => break,
                std::cmp::Ordering::Equal => {}
            }
        }
    }
    perm.reverse();
    perm
}

/// Whether dimension `a` lies farther apart than `b`.
fn compared(shape: &[usize], inputs: &[&[isize]], a: usize, b: usize) -> std::cmp::Ordering {
    for strides in inputs {
        let (Some(&sa), Some(&sb)) = (strides.get(a), strides.get(b)) else { continue };
        match sa.cmp(&sb) {
            _ if sa == 0 || sb == 0 => {}
            std::cmp::Ordering::Equal if shape.get(a) > shape.get(b) => return std::cmp::Ordering::Greater,
            std::cmp::Ordering::Equal => {}
            other => return other,
        }
    }
    std::cmp::Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_is_a_permutation_of_row_major() {
        let layout =
            |shape: &[usize], strides: &[isize]| Layout::new(shape.into(), strides.into(), 0).unwrap();
        assert!(layout(&[4, 2, 3], &[1, 12, 4]).is_dense());
        assert!(layout(&[4, 1, 3], &[1, 99, 4]).is_dense(), "the stride of a single element is nothing");
        assert!(!layout(&[2, 3], &[6, 2]).is_dense(), "there are gaps");
        assert!(!layout(&[2, 3], &[0, 1]).is_dense(), "elements are seen twice");
        assert_eq!(layout(&[2, 2, 3], &[2, 12, 4]).dense_like().unwrap().strides(), [1, 6, 2]);
        assert_eq!(layout(&[3, 4], &[1, 0]).dense_like().unwrap().strides(), [4, 1]);
    }
}
