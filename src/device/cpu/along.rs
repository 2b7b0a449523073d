//! Operands of one shape as lines along one dimension, for functions of a whole line such as softmax.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::base::sorted;
use crate::device::cpu::strided::{BLOCK, Strided};

use super::convert::{Compute, Loader, Storer, loader, storer};

/// Where the lines of `N` operands lie.
pub(crate) struct LinesAlong<const N: usize> {
    /// The other dimensions, outermost first.
    others: SmallVec<[(usize, [isize; N]); 6]>,
    /// Elements of a line.
    pub length: usize,
    /// Steps along a line.
    pub steps: [isize; N],
    /// Neighbouring lines lie closer than neighbours on a line: work goes across them.
    pub across: bool,
}

/// Lines side by side: where each operand's first element lies, the steps from line to line, and how many.
#[derive(Clone, Copy)]
pub(crate) struct Panel<const N: usize> {
    pub start: [isize; N],
    pub apart: [isize; N],
    pub width: usize,
}

/// Elements of a panel that stay in the second cache over several passes.
const PANEL: usize = 1 << 17;
/// The narrowest panel: a cache line of f32.
const NARROWEST: usize = 16;

impl<const N: usize> LinesAlong<N> {
    /// The lines along `dim` of operands of one shape, in the order of the last one's memory.
    pub(super) fn new(operands: [&Strided; N], dim: usize) -> LinesAlong<N> {
        let shape = operands.first().map_or(&[][..], |o| o.layout.shape());
        let steps = |d: usize| operands.map(|o| o.layout.strides().get(d).copied().unwrap_or(0));
        let nearness = |steps: [isize; N]| steps.last().map_or(0, |s| s.unsigned_abs());
        let kept = shape.iter().enumerate().filter(|&(d, &n)| d != dim && n != 1);
        let mut others: SmallVec<[(usize, [isize; N]); 6]> = kept.map(|(d, &n)| (n, steps(d))).collect();
        sorted::sort_few_by_key(&mut others, |&(_, steps)| std::cmp::Reverse(nearness(steps)));
        let along = steps(dim);
        let across = others.last().is_some_and(|&(_, steps)| nearness(steps) < nearness(along));
        LinesAlong { others, length: shape.get(dim).copied().unwrap_or(1), steps: along, across }
    }

    /// Lines in a panel: one where work goes along them.
    fn width(&self) -> usize {
        if self.across { (PANEL / self.length.max(1)).clamp(NARROWEST, BLOCK) } else { 1 }
    }

    fn innermost(&self) -> usize {
        self.others.last().map_or(1, |d| d.0)
    }

    /// How many panels there are.
    pub(crate) fn panels(&self) -> usize {
        if self.across {
            let outer = self.others.iter().rev().skip(1).map(|d| d.0).product::<usize>();
            outer * self.innermost().div_ceil(self.width())
        } else {
            self.others.iter().map(|d| d.0).product()
        }
    }

    /// Elements of a full panel.
    pub(crate) fn volume(&self) -> usize {
        self.length.saturating_mul(self.width().min(self.innermost()))
    }

    /// The panel of a number below [`LinesAlong::panels`].
    pub(super) fn panel(&self, number: usize) -> Panel<N> {
        let mut start = [0isize; N];
        let mut rest = number;
        let mut dims = self.others.iter().rev();
        let (mut apart, mut width) = ([0; N], 1);
        if self.across
            && let Some(&(size, steps)) = dims.next()
        {
            let blocks = size.div_ceil(self.width());
            let first = rest % blocks * self.width();
            rest /= blocks;
            start = steps.map(|step| first as isize * step);
            (apart, width) = (steps, self.width().min(size - first));
        }
        for &(size, steps) in dims {
            for (at, step) in start.iter_mut().zip(steps) {
                *at += (rest % size) as isize * step;
            }
            rest /= size;
        }
        Panel { start, apart, width }
    }
}

/// An operand that lines are read from.
#[derive(Clone, Copy)]
pub(crate) struct LinesFrom<'a, C> {
    origin: *const u8,
    size: isize,
    load: Loader<C>,
    plain: bool,
    memory: PhantomData<&'a C>,
}

// SAFETY: it is a pointer to plain memory that outlives `'a`, read by unsafe methods alone.
unsafe impl<C: Send> Send for LinesFrom<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Sync> Sync for LinesFrom<'_, C> {}

impl<'a, C: Compute> LinesFrom<'a, C> {
    pub(super) fn new(view: &Strided<'a>) -> LinesFrom<'a, C> {
        LinesFrom {
            origin: view.origin(),
            size: view.dtype.size() as isize,
            load: loader(view.dtype),
            plain: view.dtype == C::DTYPE,
            memory: PhantomData,
        }
    }

    /// `n` elements, in place where they lie as they are computed.
    ///
    /// # Safety
    /// They must lie inside the view, and nothing may write them while the slice is in use; `n` is at most
    /// [`BLOCK`] and `scratch` has that much room, unless they lie in place.
    #[inline(always)]
    pub(super) unsafe fn run<'s>(&self, offset: isize, step: isize, n: usize, scratch: *mut C) -> &'s [C] {
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.origin.offset(offset * self.size);
            if self.plain && (step == 1 || n == 1) {
                return std::slice::from_raw_parts(from.cast(), n);
            }
            (self.load)(from, step, scratch, n);
            std::slice::from_raw_parts(scratch, n)
        }
    }

    /// Whether elements with this step lie as they are computed.
    #[inline(always)]
    pub(super) fn in_place(&self, step: isize) -> bool {
        self.plain && step == 1
    }
}

/// An operand that lines are written to.
#[derive(Clone, Copy)]
pub(crate) struct LinesTo<'a, C> {
    origin: *mut u8,
    size: isize,
    store: Storer<C>,
    plain: bool,
    memory: PhantomData<&'a mut C>,
}

// SAFETY: it is a pointer to plain memory that outlives `'a`, written by unsafe methods alone.
unsafe impl<C: Send> Send for LinesTo<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Sync> Sync for LinesTo<'_, C> {}

impl<'a, C: Compute> LinesTo<'a, C> {
    pub(super) fn new(view: &Strided<'a>) -> LinesTo<'a, C> {
        LinesTo {
            origin: view.origin(),
            size: view.dtype.size() as isize,
            store: storer(view.dtype),
            plain: view.dtype == C::DTYPE,
            memory: PhantomData,
        }
    }

    /// `n` elements as they lie in memory, where they are as they are computed.
    ///
    /// # Safety
    /// They must lie inside the view, and nothing else may use them while the slice is in use.
    #[inline(always)]
    pub(super) unsafe fn place<'s>(&self, offset: isize, step: isize, n: usize) -> Option<&'s mut [C]> {
        // SAFETY: the caller's promise.
        (self.plain && step == 1).then(|| unsafe {
            std::slice::from_raw_parts_mut(self.origin.offset(offset * self.size).cast(), n)
        })
    }

    /// Writes values from `offset` on.
    ///
    /// # Safety
    /// Their places must lie inside the view, and nothing else may use them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn store(&self, offset: isize, step: isize, values: &[C]) {
        // SAFETY: the caller's promise.
        unsafe {
            (self.store)(values.as_ptr(), self.origin.offset(offset * self.size), step, values.len());
        }
    }
}

/// `0..length` in blocks.
#[inline(always)]
pub(super) fn blocks(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(BLOCK).map(move |start| start..length.min(start + BLOCK))
}
