//! Typed access to views: slices where layout and dtype allow, blocks converted to a compute type elsewhere.
//!
//! A view is proved to lie in its buffer before anything is read ([`Strided::new`]). Kernels then use
//! - [`Reader`] and [`Writer`]: blocks of elements in row-major order, for work that streams;
//! - [`dense`] and [`DenseOut`]: whole operands as contiguous slices, for work that jumps around.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};

use smallvec::SmallVec;

use crate::base::dtype::Element;
use crate::base::{DType, Error, Layout, Result, Scalar};

use super::super::kernel::{Arg, Launch, View};
use super::convert::{Compute, Loader, Storer, loader, storer};
use super::parallel;

/// Elements of a block: small enough that a few blocks stay in the first cache.
pub const BLOCK: usize = 1024;

/// A collapsed dimension: its size and step.
pub type Dim = (usize, isize);
pub type DimList = SmallVec<[Dim; 6]>;

/// A view that lies in its buffer.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    /// The element at index 0, 0, …; dangling where there is none.
    origin: *mut u8,
    pub dtype: DType,
    pub layout: &'a Layout,
    /// The first byte that the view touches, and one past the last.
    bytes: (usize, usize),
}

// SAFETY: it is a pointer to plain memory that outlives `'a`; what is read and written through it is up to
// unsafe code that keeps threads apart.
unsafe impl Send for Strided<'_> {}
// SAFETY: as above.
unsafe impl Sync for Strided<'_> {}

impl<'a> Strided<'a> {
    /// Proves that every element of the view lies in its buffer's host memory.
    pub fn new(view: &View<'a>) -> Result<Strided<'a>> {
        let (dtype, layout) = (view.dtype, view.layout);
        if layout.numel() == 0 {
            return Ok(Strided {
                origin: std::ptr::dangling_mut::<u64>().cast(),
                dtype,
                layout,
                bytes: (0, 0),
            });
        }
        let block = view.buffer.host.as_ref();
        let room = block.map_or(0, |b| b.capacity().min(view.buffer.bytes));
        let inside =
            extent(layout).filter(|&(_, end)| end.checked_mul(dtype.size()).is_some_and(|e| e <= room));
        let (Some(block), Some((first, end))) = (block, inside) else { return Err(outside(view, room)) };
        let base = block.as_ptr();
        // SAFETY: the origin lies between the first and the last element, both inside the block.
        let origin = unsafe { base.add(layout.offset() * dtype.size()) };
        let at = base as usize;
        Ok(Strided { origin, dtype, layout, bytes: (at + first * dtype.size(), at + end * dtype.size()) })
    }

    pub fn numel(&self) -> usize {
        self.layout.numel()
    }

    /// The element at index 0, 0, …; other elements lie at the layout's strides from it, in either direction.
    pub fn origin<T>(&self) -> *mut T {
        self.origin.cast()
    }

    /// The elements are `T`, one after another in row-major order.
    #[inline]
    pub fn is_dense<T: Element>(&self) -> bool {
        self.dtype == T::DTYPE && self.layout.is_contiguous()
    }

    /// The elements in row-major order, where they lie so.
    ///
    /// # Safety
    /// Nothing may write them while the slice is in use.
    #[inline]
    pub unsafe fn slice<T: Element>(&self) -> Option<&'a [T]> {
        // SAFETY: the constructor's proof, and the caller's promise.
        self.is_dense::<T>().then(|| unsafe { std::slice::from_raw_parts(self.origin(), self.numel()) })
    }

    /// As [`Strided::slice`], for writing. Fresh memory holds arbitrary values, which every [`Element`] allows.
    ///
    /// # Safety
    /// Nothing else may read or write them while the slice is in use.
    #[inline]
    pub unsafe fn slice_mut<T: Element>(&self) -> Option<&'a mut [T]> {
        // SAFETY: the constructor's proof, and the caller's promise.
        self.is_dense::<T>().then(|| unsafe { std::slice::from_raw_parts_mut(self.origin(), self.numel()) })
    }

    /// How the memory of two views meets.
    pub fn overlap(&self, other: &Strided) -> Overlap {
        if self.bytes.0 >= other.bytes.1 || other.bytes.0 >= self.bytes.1 {
            Overlap::None
        } else if self.origin == other.origin
            && self.dtype == other.dtype
            && self.layout.shape() == other.layout.shape()
            && (self.layout.strides() == other.layout.strides()
                || (self.layout.is_contiguous() && other.layout.is_contiguous()))
        {
            Overlap::Same
        } else {
            Overlap::Partial
        }
    }
}

/// How the memory of two views meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    None,
    /// Each element lies where the other's element of the same index does.
    Same,
    /// In some other way, or possibly so.
    Partial,
}

/// The lowest element a layout of at least one element touches and one past the highest; none below 0 or
/// past all memory.
fn extent(layout: &Layout) -> Option<(usize, usize)> {
    let offset = layout.offset();
    if layout.is_contiguous() {
        return Some((offset, offset.checked_add(layout.numel())?));
    }
    let (mut low, mut high) = (isize::try_from(offset).ok()?, isize::try_from(offset).ok()?);
    for (&size, &stride) in layout.shape().iter().zip(layout.strides()) {
        let reach = isize::try_from(size).ok()?.checked_sub(1)?.checked_mul(stride)?;
        if reach < 0 {
            low = low.checked_add(reach)?;
        } else {
            high = high.checked_add(reach)?;
        }
    }
    Some((usize::try_from(low).ok()?, usize::try_from(high.checked_add(1)?).ok()?))
}

#[cold]
fn outside(view: &View, room: usize) -> Error {
    Error::runtime(format!(
        "a {} view of shape {:?}, strides {:?} and offset {} leaves its memory of {room} bytes",
        view.dtype,
        view.layout.shape(),
        view.layout.strides(),
        view.layout.offset()
    ))
}

#[cold]
fn wrong_shape(got: &[usize], want: &[usize]) -> Error {
    Error::runtime(format!("an operand of shape {got:?} was given where the kernel reads {want:?}"))
}

/// Dimensions without those of size 1, neighbours merged where one step leads through both.
pub fn collapse(layout: &Layout) -> DimList {
    let mut dims = DimList::new();
    for (&size, &stride) in layout.shape().iter().zip(layout.strides()) {
        match dims.last_mut() {
            _ if size == 1 => {}
            Some((outer, step)) if *step == stride.wrapping_mul(size as isize) => {
                (*outer, *step) = (*outer * size, stride);
            }
            _ => dims.push((size, stride)),
        }
    }
    dims
}

/// Calls `visit(offset, stride, count)` for the runs that make up `range` of the elements in row-major order.
#[inline(always)]
pub fn walk(dims: &[Dim], range: Range<usize>, mut visit: impl FnMut(isize, isize, usize)) {
    let mut left = range.len();
    if left == 0 {
        return;
    }
    let Some((&(size, stride), outer)) = dims.split_last() else { return visit(0, 0, 1) };
    if outer.is_empty() {
        return visit(range.start as isize * stride, stride, left);
    }
    let mut at = range.start % size;
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
    let (mut rest, mut offset) = (range.start / size, 0isize);
    for (i, &(size, stride)) in index.iter_mut().zip(outer).rev() {
        *i = rest % size;
        rest /= size;
        offset += *i as isize * stride;
    }
    while left > 0 {
        let count = left.min(size - at);
        visit(offset + at as isize * stride, stride, count);
        left -= count;
        at = 0;
        for (i, &(size, stride)) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            offset += stride;
            if *i < size {
                break;
            }
            offset -= stride * size as isize;
            *i = 0;
        }
    }
}

/// Room for one block of computed values.
pub struct Scratch<C>(MaybeUninit<[C; BLOCK]>);

impl<C: Compute> Scratch<C> {
    #[inline(always)]
    pub fn new() -> Scratch<C> {
        Scratch(MaybeUninit::uninit())
    }

    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut C {
        self.0.as_mut_ptr().cast()
    }
}

impl<C: Compute> Default for Scratch<C> {
    fn default() -> Self {
        Scratch::new()
    }
}

/// An input in blocks of a compute type.
pub struct Reader<'a, C> {
    origin: *const u8,
    size: usize,
    load: Loader<C>,
    dims: DimList,
    numel: usize,
    dense: bool,
    splat: Option<C>,
    memory: PhantomData<&'a C>,
}

// SAFETY: as for `Strided`; a reader only reads.
unsafe impl<C: Compute> Send for Reader<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Compute> Sync for Reader<'_, C> {}

impl<'a, C: Compute> Reader<'a, C> {
    /// A reader of an input of this shape; scalars stand for tensors of any shape.
    ///
    /// # Safety
    /// While a block is being read nothing may write the elements it holds.
    pub unsafe fn new(arg: &Arg<'a>, shape: &[usize]) -> Result<Reader<'a, C>> {
        match arg {
            Arg::View(view) if view.layout.shape() == shape => {
                let view = Strided::new(view)?;
                // SAFETY: the caller's promise.
                Ok(unsafe { Reader::strided(&view) })
            }
            Arg::View(view) => Err(wrong_shape(view.layout.shape(), shape)),
            Arg::Scalar(scalar) => Ok(Reader {
                origin: std::ptr::dangling(),
                size: 0,
                load: loader(C::DTYPE),
                dims: DimList::new(),
                numel: crate::base::shape::numel(shape)?,
                dense: false,
                splat: Some(scalar_value(*scalar)),
                memory: PhantomData,
            }),
        }
    }

    /// A reader of a view.
    ///
    /// # Safety
    /// As [`Reader::new`].
    pub unsafe fn strided(view: &Strided<'a>) -> Reader<'a, C> {
        Reader {
            origin: view.origin(),
            size: view.dtype.size(),
            load: loader(view.dtype),
            dims: collapse(view.layout),
            numel: view.numel(),
            dense: view.is_dense::<C>(),
            splat: None,
            memory: PhantomData,
        }
    }

    pub fn numel(&self) -> usize {
        self.numel
    }

    /// The value that every element has, where the input is a number.
    pub fn splat(&self) -> Option<C> {
        self.splat
    }

    /// The elements `start..start + n` in row-major order: in place where they lie so, through `scratch`
    /// otherwise. `n` is at most [`BLOCK`]; what lies past the end is cut off.
    #[inline]
    pub fn block<'s>(&'s self, start: usize, n: usize, scratch: &'s mut Scratch<C>) -> &'s [C] {
        let n = n.min(self.numel.saturating_sub(start));
        if self.dense {
            // SAFETY: the range lies inside the view.
            return unsafe { std::slice::from_raw_parts(self.origin.cast::<C>().add(start), n) };
        }
        let n = n.min(BLOCK);
        // SAFETY: the scratch holds `BLOCK` elements, and the `n` in the slice are written.
        unsafe {
            self.load_to(start, n, scratch.as_mut_ptr());
            std::slice::from_raw_parts(scratch.as_mut_ptr(), n)
        }
    }

    /// Reads `to.len()` elements from `start` on in row-major order; gives how many there were.
    pub fn load(&self, start: usize, to: &mut [C]) -> usize {
        let n = to.len().min(self.numel.saturating_sub(start));
        // SAFETY: the range lies inside the view, and `to` has room for it.
        unsafe { self.load_to(start, n, to.as_mut_ptr()) };
        n
    }

    /// # Safety
    /// `start..start + n` must lie inside the view, and `to` have room for `n`.
    #[inline]
    pub unsafe fn load_to(&self, start: usize, n: usize, to: *mut C) {
        if let Some(value) = self.splat {
            // SAFETY: the caller's promise.
            return unsafe { std::slice::from_raw_parts_mut(to, n) }.fill(value);
        }
        let (size, mut done) = (self.size as isize, 0);
        walk(&self.dims, start..start + n, |offset, stride, count| {
            // SAFETY: the run lies inside the view, which lies inside its buffer; `done + count <= n`.
            unsafe { (self.load)(self.origin.offset(offset * size), stride, to.add(done), count) };
            done += count;
        });
    }
}

/// A number as the compute type.
pub fn scalar_value<C: Compute>(scalar: Scalar) -> C {
    match scalar {
        Scalar::Bool(b) => C::from_i64(i64::from(b)),
        Scalar::Int(i) => C::from_i64(i),
        Scalar::Float(f) => C::from_f64(f),
    }
}

/// An output in blocks of a compute type.
pub struct Writer<'a, C> {
    origin: *mut u8,
    size: usize,
    store: Storer<C>,
    dims: DimList,
    numel: usize,
    dense: bool,
    memory: PhantomData<&'a mut C>,
}

// SAFETY: as for `Strided`; `block` and `store` are unsafe, and their callers keep threads apart.
unsafe impl<C: Compute> Send for Writer<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Compute> Sync for Writer<'_, C> {}

impl<'a, C: Compute> Writer<'a, C> {
    pub fn new(view: &View<'a>) -> Result<Writer<'a, C>> {
        Ok(Writer::strided(&Strided::new(view)?))
    }

    pub fn strided(view: &Strided<'a>) -> Writer<'a, C> {
        Writer {
            origin: view.origin(),
            size: view.dtype.size(),
            store: storer(view.dtype),
            dims: collapse(view.layout),
            numel: view.numel(),
            dense: view.is_dense::<C>(),
            memory: PhantomData,
        }
    }

    pub fn numel(&self) -> usize {
        self.numel
    }

    /// The elements of `range` in row-major order as they lie in memory, where they lie so; cut off at the end.
    ///
    /// # Safety
    /// Nothing else may read or write them while the slice is in use.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "exclusiveness is the caller's promise")]
    pub unsafe fn slice(&self, range: Range<usize>) -> Option<&'a mut [C]> {
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
    pub unsafe fn store(&self, start: usize, values: &[C]) {
        let n = values.len().min(self.numel.saturating_sub(start));
        let (size, mut done) = (self.size as isize, 0);
        walk(&self.dims, start..start + n, |offset, stride, count| {
            // SAFETY: the run lies inside the view, and `done + count <= n`.
            unsafe {
                (self.store)(values.as_ptr().add(done), self.origin.offset(offset * size), stride, count);
            }
            done += count;
        });
    }
}

/// A whole input as a contiguous slice of a compute type.
pub enum Dense<'a, C> {
    Borrowed(&'a [C]),
    Owned(Vec<C>),
}

impl<C> Deref for Dense<'_, C> {
    type Target = [C];

    fn deref(&self) -> &[C] {
        match self {
            Dense::Borrowed(slice) => slice,
            Dense::Owned(values) => values,
        }
    }
}

/// Input `index` of a launch in row-major order. It is converted or copied where it has another dtype or
/// layout, and where it shares memory with an output.
pub fn dense<'a, C: Compute>(launch: &Launch<'a>, index: usize) -> Result<Dense<'a, C>> {
    let Some(Arg::View(view)) = launch.inputs.get(index) else { return Err(missing(launch, "input", index)) };
    let view = Strided::new(view)?;
    let mut shared = false;
    for output in launch.outputs {
        shared |= view.overlap(&Strided::new(output)?) != Overlap::None;
    }
    if !shared {
        // SAFETY: the launch writes its outputs alone, and none of them holds an element of this view.
        if let Some(slice) = unsafe { view.slice() } {
            return Ok(Dense::Borrowed(slice));
        }
    }
    gathered(launch, &view).map(Dense::Owned)
}

/// A whole output as a contiguous slice of a compute type; [`DenseOut::finish`] brings it to its place.
pub struct DenseOut<'a, C> {
    view: Strided<'a>,
    values: Filled<'a, C>,
}

enum Filled<'a, C> {
    InPlace(&'a mut [C]),
    Aside(Vec<C>),
}

impl<'a, C: Compute> DenseOut<'a, C> {
    /// Output `index` of a launch, its values arbitrary.
    pub fn new(launch: &Launch<'a>, index: usize) -> Result<DenseOut<'a, C>> {
        DenseOut::open(launch, index, false)
    }

    /// Output `index` of a launch with the values it has.
    pub fn with_values(launch: &Launch<'a>, index: usize) -> Result<DenseOut<'a, C>> {
        DenseOut::open(launch, index, true)
    }

    fn open(launch: &Launch<'a>, index: usize, keep: bool) -> Result<DenseOut<'a, C>> {
        let Some(view) = launch.outputs.get(index) else { return Err(missing(launch, "output", index)) };
        let view = Strided::new(view)?;
        // SAFETY: the launch holds its outputs exclusively; inputs that share memory with one are copied by
        // `dense`, or read in blocks before their place is written.
        let values = match unsafe { view.slice_mut() } {
            Some(slice) => Filled::InPlace(slice),
            None if keep => Filled::Aside(gathered(launch, &view)?),
            None => Filled::Aside(vec![C::default(); view.numel()]),
        };
        Ok(DenseOut { view, values })
    }

    /// Writes values that were computed aside to the output.
    pub fn finish(self, launch: &Launch) -> Result<()> {
        let Filled::Aside(values) = self.values else { return Ok(()) };
        let writer = Writer::strided(&self.view);
        parallel::for_ranges(values.len(), parallel::GRAIN, launch.cancel, |range| {
            let start = range.start;
            // SAFETY: pieces are disjoint, and the values lie in memory of their own.
            unsafe { writer.store(start, values.get(range).unwrap_or(&[])) };
        })
    }
}

impl<C> Deref for DenseOut<'_, C> {
    type Target = [C];

    fn deref(&self) -> &[C] {
        match &self.values {
            Filled::InPlace(slice) => slice,
            Filled::Aside(values) => values,
        }
    }
}

impl<C> DerefMut for DenseOut<'_, C> {
    fn deref_mut(&mut self) -> &mut [C] {
        match &mut self.values {
            Filled::InPlace(slice) => slice,
            Filled::Aside(values) => values,
        }
    }
}

/// A copy of a view's elements in row-major order.
pub fn gathered<C: Compute>(launch: &Launch, view: &Strided) -> Result<Vec<C>> {
    let mut values = vec![C::default(); view.numel()];
    // SAFETY: the launch writes nothing while its inputs are gathered.
    let reader = unsafe { Reader::<C>::strided(view) };
    parallel::for_chunks(&mut values, parallel::GRAIN, parallel::GRAIN, launch.cancel, |i, chunk| {
        reader.load(i * parallel::GRAIN, chunk);
    })?;
    Ok(values)
}

/// The error for an operand that a launch lacks.
#[cold]
pub fn missing(launch: &Launch, what: &str, index: usize) -> Error {
    Error::runtime(format!("{} launched {} without {what} {index}", launch.op, launch.kernel.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Dims, Strides};
    use crate::device::cpu::testing::{Sample, layouts};
    use proptest::prelude::*;

    fn numbers() -> impl Iterator<Item = f64> {
        (0..).map(|i| f64::from(i % 120))
    }

    proptest! {
        #[test]
        fn blocks_are_the_elements_in_row_major_order(
            layout in layouts(true), d in 0usize..10, start in 0usize..300, n in 0usize..300,
        ) {
            let sample = Sample::laid_out(DType::ALL[d], layout, numbers());
            let want = sample.values();
            let view = Strided::new(&sample.view()).unwrap();
            // SAFETY: nothing is written.
            let reader = unsafe { Reader::<f64>::strided(&view) };
            let start = start.min(want.len());
            let n = n.min(want.len() - start);
            let mut scratch = Scratch::new();
            prop_assert_eq!(reader.block(start, n, &mut scratch), &want[start..start + n]);
        }

        #[test]
        fn stored_blocks_come_back_and_nothing_else_changes(
            layout in layouts(false), d in 0usize..10, start in 0usize..300, n in 0usize..300,
        ) {
            let sample = Sample::laid_out(DType::ALL[d], layout, std::iter::repeat(1.0));
            let writer = Writer::<i64>::new(&sample.view()).unwrap();
            let start = start.min(writer.numel());
            // SAFETY: nothing else uses the memory.
            unsafe { writer.store(start, &vec![0; n]) };
            let want = (0..writer.numel()).map(|i| f64::from(u8::from(!(start..start + n).contains(&i))));
            prop_assert_eq!(sample.values(), want.collect::<Vec<_>>());
            let gaps = sample.layout.end() - used_elements(&sample.layout);
            let filler = if sample.dtype == DType::Bool { 1.0 } else { 77.0 };
            let all = Layout::contiguous(&[sample.layout.end()]).unwrap();
            let kept = sample.through(all).values().into_iter().filter(|&v| v == filler).count();
            prop_assert!(kept >= gaps);
        }
    }

    fn used_elements(layout: &Layout) -> usize {
        layout.offsets().collect::<std::collections::HashSet<_>>().len()
    }

    #[test]
    fn a_view_outside_its_memory_is_an_error() {
        let sample = Sample::zeros(DType::Float32, &[2, 3]);
        let past = |shape: &[usize], strides: &[isize], offset| {
            let layout = Layout::new(Dims::from(shape), Strides::from(strides), offset).unwrap();
            let view = View { buffer: &sample.buffer, dtype: DType::Float32, layout: &layout };
            Strided::new(&view).map(|_| ())
        };
        assert!(past(&[2, 3], &[3, 1], 0).is_ok());
        assert!(past(&[2, 3], &[-3, 1], 3).is_ok());
        let error = past(&[2, 3], &[3, 1], 1).unwrap_err().message();
        assert!(error.contains("[2, 3]") && error.contains("24 bytes"), "{error}");
        assert!(past(&[2, 3], &[-3, 1], 2).is_err());
        assert!(past(&[2, 2], &[isize::MAX, 1], 0).is_err());
        assert!(past(&[2, 0], &[isize::MAX, 1], usize::MAX).is_ok());
        assert!(past(&[3, 2], &[isize::MAX, 0], 0).is_err());
    }

    #[test]
    fn in_place_is_told_from_other_sharing() {
        let sample = Sample::zeros(DType::Float32, &[4, 4]);
        let turned = sample.layout.transpose(0, 1).unwrap();
        let half = sample.layout.slice(0, 0, 2, 1).unwrap();
        let rest = sample.layout.slice(0, 2, 2, 1).unwrap();
        let view =
            |layout| Strided::new(&View { buffer: &sample.buffer, dtype: DType::Float32, layout }).unwrap();
        assert_eq!(view(&sample.layout).overlap(&view(&sample.layout)), Overlap::Same);
        assert_eq!(view(&sample.layout).overlap(&view(&turned)), Overlap::Partial);
        assert_eq!(view(&sample.layout).overlap(&view(&half)), Overlap::Partial);
        assert_eq!(view(&half).overlap(&view(&rest)), Overlap::None);
    }
}
