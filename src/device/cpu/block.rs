//! Operands in blocks: runs of elements in row-major order, or tiles, as contiguous values of one type.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use crate::base::{Error, Result, Scalar};
use crate::device::cpu::strided::{BLOCK, Strided};

use super::super::kernel::{Arg, View};
use super::convert::{Compute, Loader, Storer, copy_in, copy_out, loader, storer};
use super::walk::{DimList, TILE, Tile, collapse, walk};

/// Room for `N` values.
pub(crate) struct Room<C, const N: usize>(MaybeUninit<[C; N]>);

/// Room for a block.
pub(crate) type Scratch<C> = Room<C, BLOCK>;

/// Room for a tile.
pub(crate) type TileScratch<C> = Room<C, TILE>;

impl<C: Copy, const N: usize> Room<C, N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Room(MaybeUninit::uninit())
    }

    #[inline(always)]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut C {
        self.0.as_mut_ptr().cast()
    }

    /// The first `n` values, as many as there is room for.
    ///
    /// # Safety
    /// They must have been written, or be written before they are read.
    #[inline(always)]
    pub(crate) unsafe fn first(&mut self, n: usize) -> &mut [C] {
        // SAFETY: the room is there, and the caller speaks for the values.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), n.min(N)) }
    }
}

impl<C: Copy, const N: usize> Default for Room<C, N> {
    fn default() -> Self {
        Room::new()
    }
}

/// An input in blocks of a compute type.
pub(crate) struct BlockReader<'a, C> {
    origin: *const u8,
    size: isize,
    load: Loader<C>,
    dims: DimList,
    numel: usize,
    dense: bool,
    splat: Option<C>,
    memory: PhantomData<&'a C>,
}

// SAFETY: it is a pointer to plain memory that outlives `'a`, and only read; the constructors' callers keep
// writers away.
unsafe impl<C: Send> Send for BlockReader<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Sync> Sync for BlockReader<'_, C> {}

impl<'a, C: Compute> BlockReader<'a, C> {
    /// A reader of an input of this shape; scalars stand for tensors of any shape.
    ///
    /// # Safety
    /// While a block is being read nothing may write the elements it holds.
    pub(crate) unsafe fn new(arg: &Arg<'a>, shape: &[usize]) -> Result<BlockReader<'a, C>> {
        match arg {
            Arg::View(view) if view.layout.shape() == shape => {
                let view = Strided::new(view)?;
                // SAFETY: the caller's promise.
                Ok(unsafe { BlockReader::strided(&view) })
            }
            Arg::View(view) => Err(wrong_shape(view.layout.shape(), shape)),
            Arg::Scalar(scalar) => Ok(BlockReader::number(*scalar, crate::base::shape::numel(shape)?)),
        }
    }

    /// A reader of a view.
    ///
    /// # Safety
    /// As [`BlockReader::new`].
    pub(crate) unsafe fn strided(view: &Strided<'a>) -> BlockReader<'a, C> {
        BlockReader::over(view, loader(view.dtype), view.is_dense::<C>())
    }

    /// A reader of a number that stands for a tensor of so many elements.
    pub(crate) fn number(scalar: Scalar, numel: usize) -> BlockReader<'a, C> {
        BlockReader {
            origin: std::ptr::dangling(),
            size: 0,
            load: loader(C::DTYPE),
            dims: DimList::new(),
            numel,
            dense: false,
            splat: Some(scalar_value(scalar)),
            memory: PhantomData,
        }
    }
}

impl<'a, C: Copy> BlockReader<'a, C> {
    /// A reader of elements as they lie in memory, whatever they mean; `C` has their size.
    ///
    /// # Safety
    /// As [`BlockReader::new`], and every bit pattern must be a `C`.
    pub(crate) unsafe fn bits(view: &Strided<'a>) -> BlockReader<'a, C> {
        debug_assert_eq!(size_of::<C>(), view.dtype.size());
        BlockReader::over(view, copy_in::<C>, view.layout.is_contiguous())
    }

    fn over(view: &Strided<'a>, load: Loader<C>, dense: bool) -> BlockReader<'a, C> {
        BlockReader {
            origin: view.origin(),
            size: view.dtype.size() as isize,
            load,
            dims: collapse(view.layout),
            numel: view.numel(),
            dense,
            splat: None,
            memory: PhantomData,
        }
    }

    /// Reads tiles from here on: dimensions stay as they are.
    pub(crate) fn tiled(mut self, view: &Strided) -> BlockReader<'a, C> {
        self.dims = view.dims();
        self
    }

    /// The value that every element has, where the input is a number.
    pub(crate) fn splat(&self) -> Option<C> {
        self.splat
    }

    /// The elements of `range` in row-major order as they lie in memory, where they lie so; cut off at the end.
    #[inline]
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<&[C]> {
        let end = range.end.min(self.numel);
        let start = range.start.min(end);
        self.dense.then(|| {
            // SAFETY: the range lies inside the view.
            unsafe { std::slice::from_raw_parts(self.origin.cast::<C>().add(start), end - start) }
        })
    }

    /// The elements `start..start + n` in row-major order: in place where they lie so, through `scratch`
    /// otherwise. `n` is at most [`BLOCK`]; what lies past the end is cut off.
    #[inline]
    pub(crate) fn block<'s>(&'s self, start: usize, n: usize, scratch: &'s mut Scratch<C>) -> &'s [C] {
        let n = n.min(BLOCK).min(self.numel.saturating_sub(start));
        if let Some(slice) = self.slice(start..start + n) {
            return slice;
        }
        // SAFETY: the scratch holds `BLOCK` elements, and the `n` in the slice are written.
        unsafe {
            self.load_to(start, n, scratch.as_mut_ptr());
            scratch.first(n)
        }
    }

    /// Reads `to.len()` elements from `start` on in row-major order; gives how many there were.
    pub(crate) fn load(&self, start: usize, to: &mut [C]) -> usize {
        let n = to.len().min(self.numel.saturating_sub(start));
        // SAFETY: the range lies inside the view, and `to` has room for it.
        unsafe { self.load_to(start, n, to.as_mut_ptr()) };
        n
    }

    /// # Safety
    /// `start..start + n` must lie inside the view, and `to` have room for `n`.
    #[inline]
    unsafe fn load_to(&self, start: usize, n: usize, to: *mut C) {
        if let Some(value) = self.splat {
            // SAFETY: the caller's promise.
            return unsafe { std::slice::from_raw_parts_mut(to, n) }.fill(value);
        }
        let mut done = 0;
        walk(&self.dims, start..start + n, |offset, stride, count| {
            // SAFETY: the run lies inside the view, which lies inside its buffer; `done + count <= n`.
            unsafe { (self.load)(self.origin.offset(offset * self.size), stride, to.add(done), count) };
            done += count;
        });
    }

    /// A tile's elements, row after row, in `scratch`; `spare` is room to turn them in.
    pub(crate) fn tile<'s>(
        &self,
        tile: &Tile,
        scratch: &'s mut TileScratch<C>,
        spare: &mut TileScratch<C>,
    ) -> &'s mut [C] {
        let (offset, down, across) = tile.place(&self.dims);
        let to = scratch.as_mut_ptr();
        // SAFETY: a tile lies inside the view and holds at most `TILE` elements, each of which is written.
        unsafe {
            if let Some(value) = self.splat {
                std::slice::from_raw_parts_mut(to, tile.len()).fill(value);
            } else if down == 1 && across != 1 {
                let spare = spare.as_mut_ptr();
                for c in 0..tile.columns {
                    let from = self.origin.offset((offset + c as isize * across) * self.size);
                    (self.load)(from, 1, spare.add(c * tile.rows), tile.rows);
                }
                turn(spare, to, tile.rows, tile.columns);
            } else {
                for r in 0..tile.rows {
                    let from = self.origin.offset((offset + r as isize * down) * self.size);
                    (self.load)(from, across, to.add(r * tile.columns), tile.columns);
                }
            }
            scratch.first(tile.len())
        }
    }
}

/// Writes the transpose of `from`, `columns` runs of `rows`, to `to`.
///
/// # Safety
/// Both must hold `rows * columns` elements, and not overlap.
#[inline]
unsafe fn turn<C: Copy>(from: *const C, to: *mut C, rows: usize, columns: usize) {
    let whole = (rows - rows % SQUARE, columns - columns % SQUARE);
    for r in (0..whole.0).step_by(SQUARE) {
        for c in (0..whole.1).step_by(SQUARE) {
            // SAFETY: the caller's promise; a square has `SQUARE` rows and columns inside.
            unsafe {
                let run = |i: usize| from.add((c + i) * rows + r).cast::<[C; SQUARE]>().read_unaligned();
                let [a, b, d, e] = [run(0), run(1), run(2), run(3)];
                let columns_of = a.into_iter().zip(b).zip(d).zip(e);
                for (i, (((a, b), d), e)) in columns_of.enumerate() {
                    to.add((r + i) * columns + c).cast::<[C; SQUARE]>().write_unaligned([a, b, d, e]);
                }
            }
        }
    }
    for r in 0..rows {
        for c in (if r < whole.0 { whole.1 } else { 0 })..columns {
            // SAFETY: the caller's promise.
            unsafe { *to.add(r * columns + c) = *from.add(c * rows + r) };
        }
    }
}

/// Sides of the squares that are turned in registers.
const SQUARE: usize = 4;

#[cold]
pub(crate) fn wrong_shape(got: &[usize], want: &[usize]) -> Error {
    Error::runtime(format!("an operand of shape {got:?} was given where the kernel reads {want:?}"))
}

/// A number as the compute type.
pub(crate) fn scalar_value<C: Compute>(scalar: Scalar) -> C {
    match scalar {
        Scalar::Bool(b) => C::from_i64(i64::from(b)),
        Scalar::Int(i) => C::from_i64(i),
        Scalar::Float(f) => C::from_f64(f),
    }
}

/// An output in blocks of a compute type.
pub(crate) struct BlockWriter<'a, C> {
    origin: *mut u8,
    size: isize,
    store: Storer<C>,
    dims: DimList,
    numel: usize,
    dense: bool,
    memory: PhantomData<&'a mut C>,
}

// SAFETY: it is a pointer to plain memory that outlives `'a`; the methods that write are unsafe, and their
// callers keep threads apart.
unsafe impl<C: Send> Send for BlockWriter<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Sync> Sync for BlockWriter<'_, C> {}

impl<'a, C: Compute> BlockWriter<'a, C> {
    pub(crate) fn new(view: &View<'a>) -> Result<BlockWriter<'a, C>> {
        Ok(BlockWriter::strided(&Strided::new(view)?))
    }

    pub(crate) fn strided(view: &Strided<'a>) -> BlockWriter<'a, C> {
        BlockWriter::over(view, storer(view.dtype), view.is_dense::<C>())
    }
}

impl<'a, C: Copy> BlockWriter<'a, C> {
    /// A writer of elements as they lie in memory, whatever they mean; `C` has their size.
    ///
    /// # Safety
    /// Every value that is stored must be an element of the view's dtype.
    pub(crate) unsafe fn bits(view: &Strided<'a>) -> BlockWriter<'a, C> {
        debug_assert_eq!(size_of::<C>(), view.dtype.size());
        BlockWriter::over(view, copy_out::<C>, view.layout.is_contiguous())
    }

    fn over(view: &Strided<'a>, store: Storer<C>, dense: bool) -> BlockWriter<'a, C> {
        BlockWriter {
            origin: view.origin(),
            size: view.dtype.size() as isize,
            store,
            dims: collapse(view.layout),
            numel: view.numel(),
            dense,
            memory: PhantomData,
        }
    }

    /// Writes tiles from here on: dimensions stay as they are.
    pub(crate) fn tiled(mut self, view: &Strided) -> BlockWriter<'a, C> {
        self.dims = view.dims();
        self
    }

    pub(crate) fn numel(&self) -> usize {
        self.numel
    }

    /// The elements of `range` in row-major order as they lie in memory, where they lie so; cut off at the end.
    ///
    /// # Safety
    /// Nothing else may read or write them while the slice is in use.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "exclusiveness is the caller's promise")]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> Option<&'a mut [C]> {
        let end = range.end.min(self.numel);
        let start = range.start.min(end);
        self.dense.then(|| {
            // SAFETY: the range lies inside the view, and is the caller's alone.
            unsafe { std::slice::from_raw_parts_mut(self.origin.cast::<C>().add(start), end - start) }
        })
    }

    /// Writes `values` to the elements from `start` on in row-major order, each with one rounding; what lies
    /// past the end is dropped.
    ///
    /// # Safety
    /// Nothing else may read or write those elements meanwhile, and `values` must not lie in the output.
    #[inline]
    pub(crate) unsafe fn store(&self, start: usize, values: &[C]) {
        let n = values.len().min(self.numel.saturating_sub(start));
        let mut done = 0;
        walk(&self.dims, start..start + n, |offset, stride, count| {
            // SAFETY: the run lies inside the view, and `done + count <= n`.
            unsafe {
                let to = self.origin.offset(offset * self.size);
                (self.store)(values.as_ptr().add(done), to, stride, count);
            }
            done += count;
        });
    }

    /// Writes a tile's values, row after row.
    ///
    /// # Safety
    /// As [`BlockWriter::store`]; `values` are as many as the tile has elements.
    pub(crate) unsafe fn store_tile(&self, tile: &Tile, values: &[C]) {
        let (offset, down, across) = tile.place(&self.dims);
        // Rows that follow one another are one.
        if down == across * tile.columns as isize {
            // SAFETY: the tile lies inside the view.
            return unsafe {
                let to = self.origin.offset(offset * self.size);
                (self.store)(values.as_ptr(), to, across, values.len().min(tile.len()));
            };
        }
        for (r, row) in values.chunks_exact(tile.columns.max(1)).enumerate().take(tile.rows) {
            // SAFETY: each row of the tile lies inside the view.
            unsafe {
                let to = self.origin.offset((offset + r as isize * down) * self.size);
                (self.store)(row.as_ptr(), to, across, row.len());
            }
        }
    }
}
