//! A view that is proved to lie in its buffer.

use crate::base::dtype::Element;
use crate::base::{DType, Error, Layout, Result};
use crate::device::cpu::walk::DimList;
use crate::device::kernel::{Launch, View};

/// Elements of a block: small enough that a few blocks stay in the first cache.
pub const BLOCK: usize = 1024;

/// A view that lies in its buffer.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a> {
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
    pub(crate) fn new(view: &View<'a>) -> Result<Strided<'a>> {
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

    /// A slice seen as elements of a row-major layout, which must not be longer.
    pub(crate) fn of_slice<T: Element>(slice: &'a mut [T], layout: &'a Layout) -> Result<Strided<'a>> {
        let end = if layout.numel() == 0 { 0 } else { layout.offset() + layout.numel() };
        if !layout.is_contiguous() || end > slice.len() {
            return Err(Error::runtime(format!("{layout:?} does not fit {} elements", slice.len())));
        }
        let start = slice.as_mut_ptr();
        let at = start as usize;
        Ok(Strided {
            origin: start.wrapping_add(layout.offset()).cast(),
            dtype: T::DTYPE,
            layout,
            bytes: (at, at + end * size_of::<T>()),
        })
    }

    /// The row-major layout of the view's shape.
    pub(crate) fn as_rows(&self) -> Result<Layout> {
        Layout::contiguous(self.layout.shape())
    }

    pub(crate) fn numel(&self) -> usize {
        self.layout.numel()
    }

    /// The element at index 0, 0, …; other elements lie at the layout's strides from it, in either direction.
    pub(crate) fn origin<T>(&self) -> *mut T {
        self.origin.cast()
    }

    /// The same memory through a layout that visits the same elements in another order.
    ///
    /// # Safety
    /// The layout must have this one's offset, and touch no element that this one does not.
    pub(crate) unsafe fn reordered<'b>(&self, layout: &'b Layout) -> Strided<'b>
    where
        'a: 'b,
    {
        Strided { layout, ..*self }
    }

    /// The dimensions as they are.
    pub(crate) fn dims(&self) -> DimList {
        self.layout.shape().iter().copied().zip(self.layout.strides().iter().copied()).collect()
    }

    /// The elements are `T`, one after another in row-major order.
    #[inline]
    pub(crate) fn is_dense<T: Element>(&self) -> bool {
        self.dtype == T::DTYPE && self.layout.is_contiguous()
    }

    /// The elements in row-major order, where they lie so.
    ///
    /// # Safety
    /// Nothing may write them while the slice is in use.
    #[inline]
    pub(crate) unsafe fn slice<T: Element>(&self) -> Option<&'a [T]> {
        // SAFETY: the constructor's proof, and the caller's promise.
        self.is_dense::<T>().then(|| unsafe { std::slice::from_raw_parts(self.origin(), self.numel()) })
    }

    /// As [`Strided::slice`], for writing. Fresh memory holds arbitrary values, which every [`Element`] allows.
    ///
    /// # Safety
    /// Nothing else may read or write them while the slice is in use.
    #[inline]
    pub(crate) unsafe fn slice_mut<T: Element>(&self) -> Option<&'a mut [T]> {
        // SAFETY: the constructor's proof, and the caller's promise.
        self.is_dense::<T>().then(|| unsafe { std::slice::from_raw_parts_mut(self.origin(), self.numel()) })
    }

    /// How the memory of two views meets.
    pub(crate) fn overlap(&self, other: &Strided) -> Overlap {
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
pub(crate) enum Overlap {
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

/// The error for an operand that a launch lacks.
#[cold]
pub fn missing(launch: &Launch, what: &str, index: usize) -> Error {
    Error::runtime(format!("{} launched {} without {what} {index}", launch.op, launch.kernel.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Dims, Strides};
    use crate::device::cpu::testing::Sample;

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
