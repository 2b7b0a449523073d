//! Operands of a product: how they come into the order that tiles read.

use std::ops::Range;

use crate::device::cpu::block::Room;
use crate::device::cpu::convert::{Loader, loader};
use crate::device::cpu::strided::Strided;

use super::tiles::{Real, Tiles};

/// A matrix seen from one of its sides: `outer` runs along the output (rows of the lhs, columns of the rhs),
/// `k` along the sum.
pub(crate) trait Operand<E>: Sync {
    /// Where elements lie as `E` in memory: the first, the strides of `outer` and of `k`.
    fn direct(&self) -> Option<(*const E, [isize; 2])>;

    /// Writes element `(outer, k)` of the ranges to `to[k * width + outer]`, both counted from the ranges'
    /// starts, for `outer` up to `width` as zeros.
    ///
    /// # Safety
    /// The ranges must lie inside the operand, and `to` have room for `k.len() * width` elements and
    /// [`SLACK`] more, all of them initialised.
    unsafe fn pack(&self, outer: Range<usize>, k: Range<usize>, to: *mut E, width: usize);

    /// The tiles that multiply what is packed.
    fn tiles(&self) -> &'static Tiles<E>;
}

/// The first element and the stride along `k`, where reading panels in place is as good as packing them: the steps along
/// `k` are short enough for the caches.
pub(super) fn in_place<E>(rhs: &dyn Operand<E>) -> Option<(*const E, isize)> {
    let (origin, [outer, k]) = rhs.direct()?;
    let near = k.unsigned_abs() * size_of::<E>() <= 1024;
    (outer == 1 && near).then_some((origin, k))
}

/// Elements past the end of a packed block that may be overwritten.
pub(crate) const SLACK: usize = 16;

/// A matrix in memory of any dtype and strides.
pub(crate) struct Matrix<E: 'static> {
    origin: *const u8,
    size: isize,
    /// Of `outer` and `k`, in elements.
    strides: [isize; 2],
    load: Loader<E>,
    same: bool,
    tiles: &'static Tiles<E>,
}

// SAFETY: the matrix is only read, by callers that keep writers away.
unsafe impl<E> Sync for Matrix<E> {}

impl<E: Real> Matrix<E> {
    /// The matrix of a view's memory from `offset` elements past its origin on.
    ///
    /// # Safety
    /// Every element that the caller's ranges reach must lie in the view's memory, and nothing may write it
    /// while the matrix is in use.
    pub(crate) unsafe fn new(view: &Strided, offset: isize, strides: [isize; 2]) -> Matrix<E> {
        let size = view.dtype.size() as isize;
        Matrix {
            origin: view.origin::<u8>().wrapping_offset(offset * size),
            size,
            strides,
            load: loader(view.dtype),
            same: view.dtype == E::DTYPE,
            tiles: E::tiles(),
        }
    }

    /// As [`Matrix::new`], of elements of the type itself.
    ///
    /// # Safety
    /// As [`Matrix::new`].
    pub(crate) unsafe fn of(origin: *const E, strides: [isize; 2]) -> Matrix<E> {
        Matrix {
            origin: origin.cast(),
            size: size_of::<E>() as isize,
            strides,
            load: loader(E::DTYPE),
            same: true,
            tiles: E::tiles(),
        }
    }

    fn at(&self, outer: usize, k: usize) -> *const u8 {
        let [o, s] = self.strides;
        self.origin.wrapping_offset((outer as isize * o + k as isize * s) * self.size)
    }

    /// Rows of `k` neighbours: turned a square of vectors at a time, through a small buffer where converted.
    unsafe fn pack_turned(&self, outer: Range<usize>, k: Range<usize>, to: *mut E, width: usize) {
        let lanes = self.tiles.lanes;
        for j in (0..outer.len()).step_by(lanes) {
            let rows = lanes.min(outer.len() - j);
            let mut stage = Room::<E, { 16 * RUN }>::new();
            for p in (0..k.len()).step_by(RUN) {
                let run = RUN.min(k.len() - p);
                let from = self.at(outer.start + j, k.start + p);
                let (from, stride) = if self.same {
                    (from.cast(), self.strides[0])
                } else {
                    for i in 0..rows {
                        let row = from.wrapping_offset(i as isize * self.strides[0] * self.size);
                        // SAFETY: the row lies inside the operand; the stage has `lanes <= 16` rows of `RUN`.
                        unsafe { (self.load)(row, 1, stage.as_mut_ptr().add(i * RUN), run) };
                    }
                    (stage.as_mut_ptr().cast_const(), RUN as isize)
                };
                // SAFETY: the rows have `run` elements; the caller's room.
                unsafe { self.turn(from, stride, rows, run, to.add(p * width + j), width) };
            }
        }
    }

    pub(super) unsafe fn turn(
        &self,
        from: *const E,
        stride: isize,
        rows: usize,
        run: usize,
        to: *mut E,
        width: usize,
    ) {
        let lanes = self.tiles.lanes;
        let whole = run - run % lanes;
        // SAFETY: squares stay inside the rows and the caller's room, which has the slack past its end.
        unsafe {
            for p in (0..whole).step_by(lanes) {
                (self.tiles.transpose)(from.add(p), stride, rows, to.add(p * width), width);
            }
            for p in whole..run {
                for i in 0..rows {
                    *to.add(p * width + i) = *from.offset(i as isize * stride + p as isize);
                }
            }
        }
    }
}

/// `k` neighbours that are converted at a time.
pub(super) const RUN: usize = 64;

impl<E: Real> Operand<E> for Matrix<E> {
    fn direct(&self) -> Option<(*const E, [isize; 2])> {
        self.same.then_some((self.origin.cast(), self.strides))
    }

    unsafe fn pack(&self, outer: Range<usize>, k: Range<usize>, to: *mut E, width: usize) {
        let w = outer.len();
        // SAFETY: the caller's ranges and room.
        unsafe {
            if self.strides[1] == 1 && self.strides[0] != 1 && w > 1 {
                self.pack_turned(outer, k.clone(), to, width);
            } else if w == 1 && width == 1 {
                return (self.load)(self.at(outer.start, k.start), self.strides[1], to, k.len());
            } else if self.same && self.strides[0] == 1 {
                for p in 0..k.len() {
                    prefetch(self.at(outer.start, k.start + p + AHEAD));
                    let from = self.at(outer.start, k.start + p).cast();
                    copy_row(from, to.add(p * width), w);
                }
            } else {
                for p in 0..k.len() {
                    (self.load)(self.at(outer.start, k.start + p), self.strides[0], to.add(p * width), w);
                }
            }
            pad(k.len(), to, w, width);
        }
    }

    fn tiles(&self) -> &'static Tiles<E> {
        self.tiles
    }
}

/// Zeros in columns `w..width` of `k` rows.
///
/// # Safety
/// `to` must have room for `k * width` elements.
pub(crate) unsafe fn pad<E: Real>(k: usize, to: *mut E, w: usize, width: usize) {
    if w < width {
        for p in 0..k {
            for j in w..width {
                // SAFETY: the caller's room.
                unsafe { *to.add(p * width + j) = E::default() };
            }
        }
    }
}

/// Rows that are fetched ahead: the processor does not see a pattern across pages.
const AHEAD: usize = 16;

/// Brings two lines to the first cache.
#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
        _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(64).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A copy whose length is known to the compiler for the widths of full tiles.
#[inline(always)]
unsafe fn copy_row<E>(from: *const E, to: *mut E, w: usize) {
    // SAFETY: the caller's ranges; packed memory is apart from operands.
    unsafe {
        match w {
            32 => std::ptr::copy_nonoverlapping(from, to, 32),
            16 => std::ptr::copy_nonoverlapping(from, to, 16),
            8 => std::ptr::copy_nonoverlapping(from, to, 8),
            _ => std::ptr::copy_nonoverlapping(from, to, w),
        }
    }
}
