//! Runs of elements between memory of any dtype and the three types that kernels compute in.

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};

use crate::base::DType;
use crate::base::dtype::Element;
use crate::with_element;

use super::isa::{self, Isa, Work};

/// A type that kernels compute in: f32 for float32 and the half types, f64, and i64 for integers and bool.
pub trait Compute: Element + Default + PartialEq + PartialOrd {
    fn load<T: Element>(value: T) -> Self;
    fn store<T: Element>(self) -> T;
}

macro_rules! compute {
    ($c:ty, $to:ident, $from:ident) => {
        impl Compute for $c {
            #[inline(always)]
            fn load<T: Element>(value: T) -> $c {
                value.$to()
            }
            #[inline(always)]
            fn store<T: Element>(self) -> T {
                T::$from(self)
            }
        }
    };
}

compute!(f32, to_f32, from_f32);
compute!(f64, to_f64, from_f64);
compute!(i64, to_i64, from_i64);

/// Runs a block with `$c` bound to the type that a dtype computes in.
macro_rules! with_compute {
    ($dtype:expr, $c:ident => $body:expr) => {
        match $dtype {
            $crate::base::DType::Float64 => {
                type $c = f64;
                $body
            }
            $crate::base::DType::Float32 | $crate::base::DType::Float16 | $crate::base::DType::BFloat16 => {
                type $c = f32;
                $body
            }
            _ => {
                type $c = i64;
                $body
            }
        }
    };
}

pub(crate) use with_compute;

/// The dtype whose elements are the compute type of `dtype` as they lie in memory.
pub(crate) fn compute_dtype(dtype: DType) -> DType {
    with_compute!(dtype, C => C::DTYPE)
}

/// Reads `n` elements, `stride` apart, from `from` into `to`.
pub(crate) type Loader<C> = unsafe fn(from: *const u8, stride: isize, to: *mut C, n: usize);

/// Writes `n` elements from `from` to places `stride` apart from `to`.
pub(crate) type Storer<C> = unsafe fn(from: *const C, to: *mut u8, stride: isize, n: usize);

pub fn loader<C: Compute>(dtype: DType) -> Loader<C> {
    with_element!(dtype, T => load_run::<C, T>)
}

/// A loader of whether elements are anything but 0, as 1 or 0.
pub(crate) fn truths(dtype: DType) -> Loader<i64> {
    with_element!(dtype, T => load_truths::<T>)
}

pub(crate) fn storer<C: Compute>(dtype: DType) -> Storer<C> {
    with_element!(dtype, T => store_run::<C, T>)
}

/// # Safety
/// `from` and its strided neighbours must be readable elements of `T`, `to` room for `n`, not overlapping.
unsafe fn load_run<C: Compute, T: Element>(from: *const u8, stride: isize, to: *mut C, n: usize) {
    let from = from.cast::<T>();
    if stride == 1 {
        // SAFETY: the caller's promise; neither overlaps the other.
        let (from, to) =
            unsafe { (std::slice::from_raw_parts(from, n), std::slice::from_raw_parts_mut(to, n)) };
        convert_in(from, to);
    } else {
        isa::dispatch(Gather::<C, T> { from, stride, to, n });
    }
}

/// # Safety
/// As [`load_run`].
unsafe fn load_truths<T: Element>(from: *const u8, stride: isize, to: *mut i64, n: usize) {
    let from = from.cast::<T>();
    // SAFETY: the caller's promise; neither overlaps the other.
    unsafe {
        let to = std::slice::from_raw_parts_mut(to, n);
        if stride == 1 {
            isa::dispatch(Convert { from: std::slice::from_raw_parts(from, n), to, convert: truth::<T> });
        } else {
            to.iter_mut().enumerate().for_each(|(i, to)| *to = truth(*from.offset(i as isize * stride)));
        }
    }
}

#[inline(always)]
fn truth<T: Element>(value: T) -> i64 {
    i64::from(match T::DTYPE {
        DType::Float64 => value.to_f64() != 0.0,
        DType::Float32 => value.to_f32() != 0.0,
        DType::Float16 | DType::BFloat16 => {
            // SAFETY: these dtypes have 16 bits, of which all but the sign are 0 in a zero.
            let bits: u16 = unsafe { std::mem::transmute_copy(&value) };
            bits & 0x7fff != 0
        }
        _ => value.to_i64() != 0,
    })
}

/// # Safety
/// `from` must be `n` readable elements, and the places from `to` writable elements of `T`.
unsafe fn store_run<C: Compute, T: Element>(from: *const C, to: *mut u8, stride: isize, n: usize) {
    let to = to.cast::<T>();
    if stride == 1 {
        // SAFETY: the caller's promise; a block of computed values never overlaps an output.
        let (from, to) =
            unsafe { (std::slice::from_raw_parts(from, n), std::slice::from_raw_parts_mut(to, n)) };
        convert_out(from, to);
    } else {
        isa::dispatch(Scatter::<C, T> { from, to, stride, n });
    }
}

/// A [`Loader`] of elements as they are.
///
/// # Safety
/// As [`load_run`], for elements that may be any bit pattern.
pub(crate) unsafe fn copy_in<T: Copy>(from: *const u8, stride: isize, to: *mut T, n: usize) {
    let from = from.cast::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        match stride {
            1 => std::ptr::copy_nonoverlapping(from, to, n),
            0 => std::slice::from_raw_parts_mut(to, n).fill(*from),
            -1 if n > 0 => {
                let from = std::slice::from_raw_parts(from.sub(n - 1), n);
                isa::dispatch(Reversed { from, to: std::slice::from_raw_parts_mut(to, n) });
            }
            _ => (0..n).for_each(|i| *to.add(i) = *from.offset(i as isize * stride)),
        }
    }
}

struct Reversed<'a, T> {
    from: &'a [T],
    to: &'a mut [T],
}

impl<T: Copy> Work for Reversed<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.to.iter_mut().zip(self.from.iter().rev()).for_each(|(to, from)| *to = *from);
    }
}

/// A [`Storer`] of elements as they are.
///
/// # Safety
/// As [`store_run`].
pub(crate) unsafe fn copy_out<T: Copy>(from: *const T, to: *mut u8, stride: isize, n: usize) {
    let to = to.cast::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        match stride {
            1 => std::ptr::copy_nonoverlapping(from, to, n),
            _ => (0..n).for_each(|i| *to.offset(i as isize * stride) = *from.add(i)),
        }
    }
}

/// Converts neighbours to the compute type.
pub(crate) fn convert_in<C: Compute, T: Element>(from: &[T], to: &mut [C]) {
    if C::DTYPE == T::DTYPE {
        let n = from.len().min(to.len());
        // SAFETY: equal dtypes are equal types; both slices hold `n` elements and do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr().cast::<C>(), to.as_mut_ptr(), n) };
    } else if C::DTYPE == DType::Float32 && T::DTYPE == DType::Float16 {
        // SAFETY: these dtypes name exactly these types.
        let (from, to) = unsafe { (as_type::<T, u16>(from), as_type_mut::<C, f32>(to)) };
        let n = from.len().min(to.len());
        if let (Some(from), Some(to)) = (from.get(..n), to.get_mut(..n)) {
            from.reinterpret_cast::<half::f16>().convert_to_f32_slice(to);
        }
    } else {
        isa::dispatch(Convert { from, to, convert: C::load::<T> });
    }
}

/// Converts neighbours from the compute type, with one rounding.
pub(crate) fn convert_out<C: Compute, T: Element>(from: &[C], to: &mut [T]) {
    if C::DTYPE == T::DTYPE {
        let n = from.len().min(to.len());
        // SAFETY: equal dtypes are equal types; both slices hold `n` elements and do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr().cast::<T>(), to.as_mut_ptr(), n) };
    } else if C::DTYPE == DType::Float32 && T::DTYPE == DType::Float16 {
        // SAFETY: these dtypes name exactly these types.
        let (from, to) = unsafe { (as_type::<C, f32>(from), as_type_mut::<T, half::f16>(to)) };
        let n = from.len().min(to.len());
        if let (Some(from), Some(to)) = (from.get(..n), to.get_mut(..n)) {
            to.convert_from_f32_slice(from);
        }
    } else {
        isa::dispatch(Convert { from, to, convert: C::store::<T> });
    }
}

/// # Safety
/// `A` and `B` must have the same size, alignment and valid values.
unsafe fn as_type<A, B>(slice: &[A]) -> &[B] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), slice.len()) }
}

/// # Safety
/// As [`as_type`].
unsafe fn as_type_mut<A, B>(slice: &mut [A]) -> &mut [B] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) }
}

struct Convert<'a, A, B, F> {
    from: &'a [A],
    to: &'a mut [B],
    convert: F,
}

impl<A: Element, B: Element, F: Fn(A) -> B> Work for Convert<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (to, &from) in self.to.iter_mut().zip(self.from) {
            *to = (self.convert)(from);
        }
    }
}

struct Gather<C, T> {
    from: *const T,
    stride: isize,
    to: *mut C,
    n: usize,
}

impl<C: Compute, T: Element> Work for Gather<C, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        // SAFETY: `load_run`'s promise for each of the `n` elements; `to` has room for them.
        unsafe {
            let to = std::slice::from_raw_parts_mut(self.to, self.n);
            if self.stride == 0 && self.n > 0 {
                to.fill(C::load(*self.from));
            } else {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = C::load(*self.from.offset(i as isize * self.stride));
                }
            }
        }
    }
}

struct Scatter<C, T> {
    from: *const C,
    to: *mut T,
    stride: isize,
    n: usize,
}

impl<C: Compute, T: Element> Work for Scatter<C, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for i in 0..self.n {
            // SAFETY: `store_run`'s promise for each of the `n` elements.
            unsafe { *self.to.offset(i as isize * self.stride) = (*self.from.add(i)).store() };
        }
    }
}
