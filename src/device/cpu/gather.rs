//! The values that each output of a reduction folds, wherever they lie.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::base::{DType, Layout, Result, sorted};
use crate::device::cancel::Cancel;
use crate::device::cpu::strided::{BLOCK, Strided};

use super::block::{Room, Scratch};
use super::convert::{Compute, Loader, loader, truths};
use super::fold::{Fold, Folded, fold_rows, fold_runs};
use super::isa::{self, Baseline, Isa, Work};
use super::narrow::{NARROW, Rows, fold_narrow};
use super::walk::{Dim, DimList, merge, walk};

/// Which dimension lies closest in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inner {
    /// A reduced one: runs fold into one value.
    Reduced,
    /// A kept one: rows fold into values side by side.
    Kept,
}

/// An input as kept and reduced dimensions, each in the order of the memory.
pub(super) struct Source<'a, C> {
    origin: *const u8,
    size: isize,
    load: Loader<C>,
    /// Elements are as they are computed.
    plain: bool,
    pub inner: Inner,
    kept_dims: DimList,
    reduced_dims: DimList,
    /// The kept dimensions of the layout, in the order of `kept_dims`.
    order: SmallVec<[usize; 6]>,
    memory: PhantomData<&'a C>,
}

// SAFETY: it is a pointer to plain memory that outlives `'a` and is only read.
unsafe impl<C: Send> Send for Source<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Sync> Sync for Source<'_, C> {}

impl<'a, C: Compute> Source<'a, C> {
    /// Splits an input's dimensions; `output` has the same dimensions, and shares no memory with it.
    pub(super) fn new(
        input: &Strided<'a>,
        output: &Layout,
        reduced: impl Fn(usize) -> bool,
    ) -> Source<'a, C> {
        let dims = input.dims();
        let step = |dim: usize| dims.get(dim).map_or(0, |d| d.1.unsigned_abs());
        let mut order: SmallVec<[usize; 6]> =
            dims.iter().enumerate().filter(|(_, d)| d.0 != 1).map(|(i, _)| i).collect();
        sorted::sort_few_by_key(&mut order, |&dim| std::cmp::Reverse(step(dim)));
        let inner = match order.last() {
            Some(&last) if !reduced(last) => Inner::Kept,
            _ => Inner::Reduced,
        };
        let pick = |wanted: bool| {
            let chosen = order.iter().filter(|&&d| reduced(d) == wanted);
            merge(chosen.filter_map(|&d| dims.get(d).copied()))
        };
        let (reduced_dims, kept_dims) = (pick(true), pick(false));
        order.retain(|d| !reduced(*d));
        debug_assert_eq!(output.rank(), dims.len());
        Source {
            origin: input.origin(),
            size: input.dtype.size() as isize,
            load: loader(input.dtype),
            plain: input.dtype == C::DTYPE,
            inner,
            kept_dims,
            reduced_dims,
            order,
            memory: PhantomData,
        }
    }

    /// An output's layout with its dimensions in the order in which outputs are counted here.
    pub(crate) fn output_layout(&self, output: &Layout) -> Result<Layout> {
        output.permute(&self.order)
    }

    /// How many outputs there are.
    pub(super) fn kept(&self) -> usize {
        count(&self.kept_dims)
    }

    /// How many values each output folds.
    pub(super) fn reduced(&self) -> usize {
        count(&self.reduced_dims)
    }

    /// The values of a run.
    ///
    /// # Safety
    /// As [`Source::first`].
    #[inline(always)]
    unsafe fn run<'s>(&self, run: (isize, isize), n: usize, scratch: *mut C) -> &'s [C] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.first(run, n, scratch), n) }
    }

    /// Where the values of a run lie: in the input, behind and before which its others do, where they are as they are
    /// computed, else in `scratch`.
    ///
    /// # Safety
    /// The run must lie inside the input and hold at most [`BLOCK`] values, unless it lies in place.
    #[inline(always)]
    unsafe fn first(&self, (offset, stride): (isize, isize), n: usize, scratch: *mut C) -> *const C {
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.origin.offset(offset * self.size);
            if self.plain && (stride == 1 || n == 1) {
                return from.cast();
            }
            (self.load)(from, stride, scratch, n);
        }
        scratch
    }
}

fn count(dims: &[Dim]) -> usize {
    dims.iter().map(|d| d.0).product()
}

impl<'a> Source<'a, i64> {
    /// As [`Source::new`], of whether values are anything but 0: 1 for those that are.
    pub(super) fn truths(
        input: &Strided<'a>,
        output: &Layout,
        reduced: impl Fn(usize) -> bool,
    ) -> Source<'a, i64> {
        Source { load: truths(input.dtype), plain: false, ..Source::new(input, output, reduced) }
    }
}

impl<C: Folded> Source<'_, C> {
    /// Folds the values `part` of each output of `kept` into `to`.
    pub(super) fn fold<F: Fold>(
        &self,
        cancel: &Cancel,
        kept: Range<usize>,
        part: Range<usize>,
        centres: &[C],
        to: &mut [C::Wide],
    ) {
        let work = Folding { source: self, cancel, kept, part, centres, to, fold: PhantomData::<F> };
        match F::MULTIPLIES && C::DTYPE == DType::Int64 {
            // Vectors of such products are hardly faster, and code of their own makes the program larger.
            true => work.run::<Baseline>(),
            false => isa::dispatch(work),
        }
    }

    /// The place, along the reduced values `part`, of the first value equal to its output's (NaN to NaN);
    /// `i64::MAX` where there is none.
    pub(crate) fn first_equal(&self, kept: Range<usize>, part: Range<usize>, values: &[C], to: &mut [i64]) {
        isa::dispatch(Finding { source: self, kept, part, values, to });
    }
}

struct Folding<'a, 's, C: Folded, F> {
    source: &'a Source<'s, C>,
    cancel: &'a Cancel,
    kept: Range<usize>,
    part: Range<usize>,
    centres: &'a [C],
    to: &'a mut [C::Wide],
    fold: PhantomData<F>,
}

impl<C: Folded, F: Fold> Work for Folding<'_, '_, C, F> {
    type Output = ();
    const WIDE: bool = size_of::<C>() < size_of::<f64>() || F::COMMON;

    #[inline(always)]
    fn run<I: Isa>(self) {
        match self.source.inner {
            Inner::Reduced => self.runs::<I>(),
            Inner::Kept => self.rows::<I>(),
        }
    }
}

/// Rows that are folded at once.
const ROWS: usize = 8;
/// Narrow rows between two looks at an interrupt.
const CHECKED: usize = 1 << 14;

impl<C: Folded, F: Fold> Folding<'_, '_, C, F> {
    #[inline(always)]
    fn runs<I: Isa>(self) {
        let Folding { source, cancel, kept, part, centres, to, .. } = self;
        let mut scratch = Scratch::<C>::new();
        // Whole runs that lie as they are computed: the reduced dimensions are walked once for all of them.
        let is_ready = source.plain && matches!(source.reduced_dims.as_slice(), [(_, 1)]);
        let mut folded = 0;
        walk(&source.kept_dims, kept, |start, step, n| {
            let several = if is_ready { n } else { 1 };
            for first in (0..n).step_by(several) {
                let base = start + first as isize * step;
                let to = to.get_mut(folded..folded + several).unwrap_or(&mut []);
                let centres = centres.get(folded..folded + several).unwrap_or(&[]);
                folded += several;
                to.fill(C::wide_start::<F>());
                walk(&source.reduced_dims, part.clone(), |offset, stride, n| {
                    let longest = if source.plain && stride == 1 { n } else { BLOCK };
                    let mut done = 0;
                    while done < n && !cancel.is_set() {
                        let count = longest.min(n - done);
                        let at = base + offset + done as isize * stride;
                        // SAFETY: the runs lie inside the input; several of them lie as they are computed.
                        unsafe {
                            let xs = source.first((at, stride), count, scratch.as_mut_ptr());
                            fold_runs::<F, C, I>(to, (xs, step, count), centres);
                        }
                        done += count;
                    }
                });
            }
        });
    }

    #[inline(always)]
    fn rows<I: Isa>(self) {
        let Folding { source, cancel, kept, part, centres, to, .. } = self;
        let mut room = Room::<[C; BLOCK], ROWS>::new();
        let mut done = 0;
        walk(&source.kept_dims, kept, |start, step, n| {
            for first in (0..n).step_by(BLOCK) {
                let width = BLOCK.min(n - first);
                let start = start + first as isize * step;
                let wide = to.get_mut(done..done + width).unwrap_or(&mut []);
                let centres = centres.get(done..done + width).unwrap_or(&[]);
                done += width;
                wide.fill(C::wide_start::<F>());
                if I::TUNED && source.plain && step == 1 && width <= NARROW && !F::LONG {
                    source.narrow_rows::<F, I>(cancel, start, part.clone(), centres, wide);
                    continue;
                }
                let mut offsets = [0isize; ROWS];
                let mut held = 0;
                walk(&source.reduced_dims, part.clone(), |offset, stride, n| {
                    for i in 0..n {
                        if let Some(slot) = offsets.get_mut(held) {
                            *slot = start + offset + i as isize * stride;
                        }
                        held += 1;
                        if held == ROWS {
                            // SAFETY: each row lies inside the input, and each has scratch of its own.
                            let rows =
                                unsafe { source.several(offsets, step, width, room.as_mut_ptr().cast()) };
                            fold_rows::<F, C, I, ROWS>(wide, rows, centres);
                            held = 0;
                            if cancel.is_set() {
                                return;
                            }
                        }
                    }
                });
                for &offset in offsets.iter().take(held) {
                    // SAFETY: as above.
                    let row = unsafe { source.run((offset, step), width, room.as_mut_ptr().cast()) };
                    fold_rows::<F, C, I, 1>(wide, [row], centres);
                }
            }
        });
    }
}

impl<C: Folded> Source<'_, C> {
    /// Folds rows that begin at `start` and are as wide as `to`.
    #[inline(always)]
    fn narrow_rows<F: Fold, I: Isa>(
        &self,
        cancel: &Cancel,
        start: isize,
        part: Range<usize>,
        centres: &[C],
        to: &mut [C::Wide],
    ) {
        walk(&self.reduced_dims, part, |offset, apart, n| {
            for row in (0..n).step_by(CHECKED).take_while(|_| !cancel.is_set()) {
                let at = (start + offset + row as isize * apart) * self.size;
                // SAFETY: the rows lie inside the input, as they are computed.
                unsafe {
                    let first = self.origin.offset(at).cast::<C>();
                    let rows = Rows { first, apart, count: CHECKED.min(n - row) };
                    fold_narrow::<F, C, I>(to, rows, centres);
                }
            }
        });
    }

    /// # Safety
    /// As [`Source::run`] for each row; `scratch` has room for `N` blocks.
    #[inline(always)]
    unsafe fn several<'s, const N: usize>(
        &self,
        offsets: [isize; N],
        stride: isize,
        n: usize,
        scratch: *mut C,
    ) -> [&'s [C]; N] {
        let mut row = 0;
        offsets.map(|offset| {
            row += 1;
            // SAFETY: the caller's promise.
            unsafe { self.run((offset, stride), n, scratch.add((row - 1) * BLOCK)) }
        })
    }
}

struct Finding<'a, 's, C> {
    source: &'a Source<'s, C>,
    kept: Range<usize>,
    part: Range<usize>,
    values: &'a [C],
    to: &'a mut [i64],
}

impl<C: Folded> Work for Finding<'_, '_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.to.fill(i64::MAX);
        match self.source.inner {
            Inner::Reduced => self.runs(),
            Inner::Kept => self.rows(),
        }
    }
}

impl<C: Folded> Finding<'_, '_, C> {
    #[inline(always)]
    fn runs(self) {
        let source = self.source;
        let mut scratch = Scratch::<C>::new();
        let mut outputs = self.to.iter_mut().zip(self.values);
        walk(&source.kept_dims, self.kept, |start, step, n| {
            for (i, (to, &value)) in outputs.by_ref().take(n).enumerate() {
                let base = start + i as isize * step;
                let mut place = self.part.start;
                walk(&source.reduced_dims, self.part.clone(), |offset, stride, n| {
                    for first in (0..n).step_by(BLOCK) {
                        if *to != i64::MAX {
                            return;
                        }
                        let count = BLOCK.min(n - first);
                        let at = base + offset + first as isize * stride;
                        // SAFETY: the run lies inside the input.
                        let xs = unsafe { source.run((at, stride), count, scratch.as_mut_ptr()) };
                        if any_equal(xs, value)
                            && let Some(at) = xs.iter().position(|&x| equal(x, value))
                        {
                            *to = (place + at) as i64;
                        }
                        place += count;
                    }
                });
            }
        });
    }

    #[inline(always)]
    fn rows(self) {
        let source = self.source;
        let mut scratch = Scratch::<C>::new();
        let mut done = 0;
        walk(&source.kept_dims, self.kept.clone(), |start, step, n| {
            for first in (0..n).step_by(BLOCK) {
                let width = BLOCK.min(n - first);
                let start = start + first as isize * step;
                let to = self.to.get_mut(done..done + width).unwrap_or(&mut []);
                let values = self.values.get(done..done + width).unwrap_or(&[]);
                done += width;
                let mut place = self.part.start as i64;
                walk(&source.reduced_dims, self.part.clone(), |offset, stride, n| {
                    for i in 0..n {
                        let at = start + offset + i as isize * stride;
                        // SAFETY: the row lies inside the input.
                        let row = unsafe { source.run((at, step), width, scratch.as_mut_ptr()) };
                        for ((to, &x), &value) in to.iter_mut().zip(row).zip(values) {
                            let first = if equal(x, value) { place } else { i64::MAX };
                            *to = first.min(*to);
                        }
                        place += 1;
                    }
                });
            }
        });
    }
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn equal<C: Compute>(x: C, value: C) -> bool {
    (x == value) | ((x != x) & (value != value))
}

/// Whether one is equal, without leaving early, so that it vectorises.
#[inline(always)]
fn any_equal<C: Compute>(xs: &[C], value: C) -> bool {
    xs.iter().fold(false, |any, &x| any | equal(x, value))
}
