//! Matrices of bfloat16, taken in pairs along the sum: processors with a dot product for them multiply and add both in
//! one instruction, in float32.

use std::marker::PhantomData;
use std::ops::Range;

use crate::base::DType;
use crate::device::cpu::strided::Strided;

use super::operand::{Matrix, Operand, RUN, pad};
use super::tiles::{Real, Tiles};

/// A matrix of bfloat16 whose element `(outer, k)` is the pair of its elements `2k`, in the low half of the bits, and
/// `2k + 1`; zero stands behind the last.
pub(crate) struct Pairs<'a, E: 'static> {
    origin: *const u16,
    /// Of `outer` and of single elements along the sum.
    strides: [isize; 2],
    /// Single elements along the sum.
    length: usize,
    tiles: &'static Tiles<E>,
    memory: PhantomData<&'a u16>,
}

// SAFETY: the matrix is only read, by callers that keep writers away.
unsafe impl<E> Sync for Pairs<'_, E> {}

impl<'a, E: Real> Pairs<'a, E> {
    /// The matrix of a view's memory from `offset` elements past its origin on, with `length` elements along the sum;
    /// `None` where the view holds no bfloat16, or the processor has no dot product for it.
    ///
    /// # Safety
    /// Every element that the caller's ranges reach must lie in the view's memory, and nothing may write it
    /// while the matrix is in use.
    pub(crate) unsafe fn new(
        view: &'a Strided,
        offset: isize,
        strides: [isize; 2],
        length: usize,
    ) -> Option<Pairs<'a, E>> {
        let tiles = E::paired_tiles().filter(|_| view.dtype == DType::BFloat16)?;
        let origin = view.origin::<u16>().wrapping_offset(offset).cast_const();
        Some(Pairs { origin, strides, length, tiles, memory: PhantomData })
    }

    fn at(&self, outer: usize, k: usize) -> *const u16 {
        self.origin.wrapping_offset(outer as isize * self.strides[0] + k as isize * self.strides[1])
    }

    /// Rows of neighbours along the sum: copied as they are, then turned a square of vectors at a time.
    unsafe fn pack_turned(&self, outer: Range<usize>, k: Range<usize>, to: *mut E, width: usize) {
        let lanes = self.tiles.lanes;
        let mut stage = [0u32; 16 * RUN];
        // SAFETY: the stage holds rows of `RUN` pairs, which are as large as elements.
        let turned = unsafe { Matrix::<E>::of(stage.as_ptr().cast(), [RUN as isize, 1]) };
        for j in (0..outer.len()).step_by(lanes) {
            let rows = lanes.min(outer.len() - j);
            for p in (0..k.len()).step_by(RUN) {
                let run = RUN.min(k.len() - p);
                let first = 2 * (k.start + p);
                let singles = (2 * run).min(self.length - first);
                for (i, line) in stage.chunks_exact_mut(RUN).take(rows).enumerate() {
                    if singles < 2 * run
                        && let Some(last) = line.get_mut(run - 1)
                    {
                        *last = 0;
                    }
                    let from = self.at(outer.start + j + i, first);
                    // SAFETY: the row has so many elements, and the line room for them.
                    unsafe { std::ptr::copy_nonoverlapping(from, line.as_mut_ptr().cast(), singles) };
                }
                // SAFETY: the stage has `rows` rows of `run` pairs; the caller's room.
                unsafe {
                    turned.turn(stage.as_ptr().cast(), RUN as isize, rows, run, to.add(p * width + j), width);
                }
            }
        }
    }

    /// Two rows of the sum at a time, woven into one of pairs.
    unsafe fn pack_woven(&self, outer: Range<usize>, k: Range<usize>, to: *mut u32, width: usize) {
        let (step, w) = (self.strides[0], outer.len());
        for p in 0..k.len() {
            let single = 2 * (k.start + p);
            let low = self.at(outer.start, single);
            let high = (single + 1 < self.length).then(|| self.at(outer.start, single + 1));
            // SAFETY: the rows lie inside the operand, and `to` is the caller's room.
            unsafe {
                match high {
                    Some(high) if step == 1 => {
                        let (low, high) =
                            (std::slice::from_raw_parts(low, w), std::slice::from_raw_parts(high, w));
                        let to = std::slice::from_raw_parts_mut(to.add(p * width), w);
                        for ((to, &low), &high) in to.iter_mut().zip(low).zip(high) {
                            *to = u32::from(low) | u32::from(high) << 16;
                        }
                    }
                    _ => {
                        for j in 0..w {
                            let at = j as isize * step;
                            let high = high.map_or(0, |high| *high.offset(at));
                            *to.add(p * width + j) = u32::from(*low.offset(at)) | u32::from(high) << 16;
                        }
                    }
                }
            }
        }
    }
}

impl<E: Real> Operand<E> for Pairs<'_, E> {
    fn direct(&self) -> Option<(*const E, [isize; 2])> {
        None
    }

    unsafe fn pack(&self, outer: Range<usize>, k: Range<usize>, to: *mut E, width: usize) {
        let w = outer.len();
        // SAFETY: the caller's ranges and room; a pair is as large as an element, of which there are tiles.
        unsafe {
            if self.strides[1] == 1 && w > 1 {
                self.pack_turned(outer, k.clone(), to, width);
            } else {
                self.pack_woven(outer, k.clone(), to.cast(), width);
            }
            pad(k.len(), to, w, width);
        }
    }

    fn tiles(&self) -> &'static Tiles<E> {
        self.tiles
    }
}
