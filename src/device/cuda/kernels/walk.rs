//! How a kernel finds elements: dimensions merged where they lie alike in all operands.

use smallvec::SmallVec;

use crate::base::Layout;
use crate::base::sorted;

/// Dimensions that a kernel can step through.
pub(crate) const MOST: usize = 8;

/// The dimensions of `N` operands of one shape, innermost first, for `kernels/walk.cuh`.
#[derive(Clone, Debug)]
pub(crate) struct Walk<const N: usize> {
    dims: SmallVec<[(usize, [isize; N]); MOST]>,
    count: usize,
}

/// The order of a kernel's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Row-major, so that an element's number is its place in that order.
    Rows,
    /// Along the memory of the first operand.
    Memory,
}

impl<const N: usize> Walk<N> {
    /// `None` where more than [`MOST`] dimensions are left. Dimensions are given outermost first.
    pub(crate) fn new(dims: impl IntoIterator<Item = (usize, [isize; N])>, order: Order) -> Option<Walk<N>> {
        let mut given: SmallVec<[(usize, [isize; N]); MOST]> = SmallVec::new();
        let mut count = 1usize;
        for (size, steps) in dims {
            count = count.checked_mul(size)?;
            if size != 1 {
                given.push((size, steps));
            }
        }
        if order == Order::Memory && given.len() > 1 {
            let distance = |steps: &[isize; N]| steps.map(isize::unsigned_abs);
            sorted::sort_few_by_key(&mut given, |dim| std::cmp::Reverse(distance(&dim.1)));
        }
        let mut dims: SmallVec<[(usize, [isize; N]); MOST]> = SmallVec::new();
        for (size, steps) in given.into_iter().rev() {
            match dims.last_mut() {
                Some((inner, inner_steps)) if follows(*inner, inner_steps, &steps) => *inner *= size,
                _ => dims.push((size, steps)),
            }
        }
        (dims.len() <= MOST).then_some(Walk { dims, count })
    }

    /// Of layouts that share the first one's shape; `None` stands for an operand that does not move.
    pub(crate) fn of(layouts: [Option<&Layout>; N], order: Order) -> Option<Walk<N>> {
        let shape = layouts.iter().flatten().next().map_or(&[][..], |l| l.shape());
        if layouts.iter().flatten().any(|l| l.shape() != shape) {
            return None;
        }
        let steps = |d: usize| layouts.map(|l| l.and_then(|l| l.strides().get(d)).copied().unwrap_or(0));
        Walk::new(shape.iter().enumerate().map(|(d, &size)| (size, steps(d))), order)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The size of a dimension, counted from the innermost; 1 behind the last.
    pub(crate) fn size(&self, dim: usize) -> usize {
        self.dims.get(dim).map_or(1, |d| d.0)
    }

    pub(crate) fn step(&self, dim: usize, operand: usize) -> isize {
        self.dims.get(dim).and_then(|d| d.1.get(operand)).copied().unwrap_or(0)
    }

    /// Numbers and distances need more than 32 bits.
    pub(crate) fn is_wide(&self) -> bool {
        const FAR: usize = i32::MAX as usize - (1 << 16);
        let reach = |k: usize| {
            let far = |d: &(usize, [isize; N])| {
                (d.0 - 1).saturating_mul(d.1.get(k).map_or(0, |s| s.unsigned_abs()))
            };
            self.dims.iter().filter(|d| d.0 > 0).fold(0usize, |sum, d| sum.saturating_add(far(d)))
        };
        self.count > FAR || (0..N).any(|k| reach(k) > FAR)
    }
}

/// Steps of an outer dimension go on where an inner one ends.
fn follows<const N: usize>(inner: usize, inner_steps: &[isize; N], steps: &[isize; N]) -> bool {
    inner_steps.iter().zip(steps).all(|(&near, &far)| near.checked_mul(inner as isize) == Some(far))
}
