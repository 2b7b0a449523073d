//! Products of matrices by cuBLAS.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use cudarc::cublas::sys::{
    cublasComputeType_t as Compute, cublasGemmAlgo_t, cublasOperation_t as Operation, cudaDataType_t as Data,
};
use smallvec::SmallVec;

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::View;

use super::call::Gpu;
use super::table::{Cublas, Handle, cublas};

const AS_IT_IS: c_int = Operation::CUBLAS_OP_N as c_int;
const TRANSPOSED: c_int = Operation::CUBLAS_OP_T as c_int;
pub(super) const ALLOC_FAILED: c_int = 3;
const ARCH_MISMATCH: c_int = 8;
pub(super) const NOT_SUPPORTED: c_int = 15;
const BY_HEURISTIC: c_int = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT as c_int;

/// cuBLAS on a device: a handle per stream, as PyTorch has them.
pub(crate) struct Blas {
    table: &'static Cublas,
    handles: Mutex<HashMap<u32, usize>>,
}

/// A matrix, or equally spaced ones, as cuBLAS addresses them: column by column.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Matrices {
    pub address: u64,
    pub transposed: bool,
    /// Elements from one column to the next.
    pub leading: i64,
    /// Elements from one matrix to the next.
    apart: i64,
}

/// A product of `[batch, m, k]` and `[batch, k, n]` matrices.
pub(crate) struct Product<'a> {
    pub a: View<'a>,
    pub b: View<'a>,
    pub y: View<'a>,
    pub alpha: f64,
    /// What of `y` is added.
    pub beta: f64,
    pub tf32: bool,
    /// Done first, where cuBLAS takes the product.
    pub before: Option<&'a dyn Fn() -> Result<()>>,
}

impl Blas {
    /// None where cuBLAS is not there.
    pub(super) fn new() -> Option<Blas> {
        cublas().map(|table| Blas { table, handles: Mutex::default() })
    }

    /// Enqueues a product; `false` where the matrices do not lie as cuBLAS needs them.
    /// `handle` gives the handle of the stream, where one is needed.
    pub(super) fn product(&self, handle: &dyn Fn() -> Result<Handle>, product: &Product) -> Result<bool> {
        let Some((call, others)) = Call::of(product) else { return Ok(false) };
        if let Some(before) = product.before {
            before()?;
        }
        let handle = handle()?;
        for i in 0..others.count() {
            if !self.enqueue(handle, &call.moved(others.places(i)), product)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Equally spaced products in one call; `false` where the device's library does not support it.
    fn enqueue(&self, handle: Handle, call: &Call, product: &Product) -> Result<bool> {
        let (alpha, beta) = (product.alpha, product.beta);
        let (alpha32, beta32) = (alpha as f32, beta as f32);
        let (alpha, beta): (*const c_void, *const c_void) = if call.wide {
            ((&raw const alpha).cast(), (&raw const beta).cast())
        } else {
            ((&raw const alpha32).cast(), (&raw const beta32).cast())
        };
        let flag = |m: &Matrices| if m.transposed { TRANSPOSED } else { AS_IT_IS };
        // Row-major y = a b is column-major yᵀ = bᵀ aᵀ: the factors change places.
        let (a, b, y) = (&call.b, &call.a, &call.y);
        // SAFETY: addresses, sizes and steps are those of views, which lie inside their memory; numbers are read at
        // the call.
        let status = unsafe {
            (self.table.cublasGemmStridedBatchedEx)(
                handle,
                flag(a),
                flag(b),
                call.n,
                call.m,
                call.k,
                alpha,
                a.address,
                call.kind,
                a.leading as c_int,
                a.apart,
                b.address,
                call.kind,
                b.leading as c_int,
                b.apart,
                beta,
                y.address,
                call.kind,
                y.leading as c_int,
                y.apart,
                call.batch,
                call.compute,
                BY_HEURISTIC,
            )
        };
        match status {
            // The kernel of tiles takes what this device's library does not.
            ARCH_MISMATCH | NOT_SUPPORTED => Ok(false),
            status => check(status).map(|()| true),
        }
    }

    /// The handle of a stream, made when it is first needed.
    pub(super) fn handle(&self, gpu: &Gpu, (stream, queue): (u32, Handle)) -> Result<Handle> {
        let mut handles = self.handles.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(handle) = handles.get(&stream) {
            return Ok(*handle as Handle);
        }
        gpu.enter()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the place lives through the call, and the stream as long as the handle.
        unsafe {
            check((self.table.cublasCreate_v2)(&mut handle))?;
            check((self.table.cublasSetStream_v2)(handle, queue))?;
        }
        handles.insert(stream, handle as usize);
        Ok(handle)
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        for (_, handle) in self.handles.lock().unwrap_or_else(|e| e.into_inner()).drain() {
            // SAFETY: nobody else has the handle.
            unsafe { (self.table.cublasDestroy_v2)(handle as Handle) };
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Call {
    pub m: c_int,
    pub n: c_int,
    pub k: c_int,
    pub batch: c_int,
    pub a: Matrices,
    pub b: Matrices,
    pub y: Matrices,
    pub kind: c_int,
    pub compute: c_int,
    /// Factors are read as double.
    pub wide: bool,
}

/// Batch dimensions that no one step spans: a call for each of their places.
#[derive(Default, PartialEq, Debug)]
pub(super) struct Others {
    sizes: SmallVec<[usize; 4]>,
    /// Bytes from one place to the next, of `a`, `b` and `y`.
    steps: SmallVec<[[i64; 3]; 4]>,
}

impl Others {
    /// With `a` and `b` in each other's place.
    fn turned(mut self) -> Others {
        self.steps.iter_mut().for_each(|[a, b, _]| std::mem::swap(a, b));
        self
    }

    pub(super) fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Bytes from the first place of all to place `i`.
    fn places(&self, mut i: usize) -> [i64; 3] {
        let mut places = [0; 3];
        for (&size, steps) in self.sizes.iter().zip(&self.steps) {
            let at = (i % size.max(1)) as i64;
            i /= size.max(1);
            places.iter_mut().zip(steps).for_each(|(place, step)| *place += at * step);
        }
        places
    }
}

/// More calls than this take longer than the kernel of tiles.
const MOST_CALLS: usize = 4096;

/// The batch of a product of views: equally spaced matrices in one call, their number and spacing in `a`, `b` and `y`,
/// and what is left.
fn batches(views: [&View; 3]) -> Option<(usize, [i64; 3], Others)> {
    let shape = views.last()?.layout.shape();
    let rank = shape.len().checked_sub(2)?;
    if views.iter().any(|v| v.layout.rank() != shape.len()) {
        return None;
    }
    let step = |v: &View, d: usize| v.layout.strides().get(d).map_or(0, |&s| s as i64);
    // Neighbouring dimensions that one step spans in all three are one.
    let mut all: SmallVec<[(usize, [i64; 3]); 4]> = SmallVec::new();
    for (d, &size) in shape.iter().enumerate().take(rank).rev().filter(|(_, size)| **size != 1) {
        let steps = views.map(|v| step(v, d));
        match all.last_mut() {
            Some((n, inner)) if inner.map(|s| s * *n as i64) == steps => *n *= size,
            _ => all.push((size, steps)),
        }
    }
    let largest = all.iter().enumerate().max_by_key(|(_, (size, _))| *size).map(|(i, _)| i);
    let (count, apart) = largest.map_or((1, [0; 3]), |i| all.remove(i));
    let mut others = Others::default();
    for (size, steps) in all {
        let bytes = |(step, view): (i64, &View)| step * view.dtype.size() as i64;
        let [a, b, y] = views;
        let [sa, sb, sy] = steps;
        others.sizes.push(size);
        others.steps.push([bytes((sa, a)), bytes((sb, b)), bytes((sy, y))]);
    }
    (others.count() <= MOST_CALLS).then_some((count, apart, others))
}

impl Call {
    pub(super) fn of(product: &Product) -> Option<(Call, Others)> {
        let dtype = product.y.dtype;
        if product.a.dtype != dtype || product.b.dtype != dtype {
            return None;
        }
        let (kind, compute) = match dtype {
            DType::Float32 if product.tf32 => (Data::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F_FAST_TF32),
            DType::Float32 => (Data::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F),
            DType::Float64 => (Data::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F),
            DType::Float16 => (Data::CUDA_R_16F, Compute::CUBLAS_COMPUTE_32F),
            DType::BFloat16 => (Data::CUDA_R_16BF, Compute::CUBLAS_COMPUTE_32F),
            _ => return None,
        };
        let [.., m, n] = product.y.layout.shape() else { return None };
        let k = product.a.layout.shape().last()?;
        let int = |n: usize| c_int::try_from(n).ok();
        let (batch, [a, b, y], others) = batches([&product.a, &product.b, &product.y])?;
        let call = Call {
            m: int(*m)?,
            n: int(*n)?,
            k: int(*k)?,
            batch: int(batch)?,
            a: Matrices::of(&product.a, a)?,
            b: Matrices::of(&product.b, b)?,
            y: Matrices::of(&product.y, y)?,
            kind: kind as c_int,
            compute: compute as c_int,
            wide: dtype == DType::Float64,
        };
        // A result that lies column by column is the product of the other two, the other way round.
        let is_turned = call.y.transposed;
        let others = if is_turned { others.turned() } else { others };
        Some((if is_turned { call.turned() } else { call }, others))
    }

    /// The same, so many bytes on in `a`, `b` and `y`.
    fn moved(&self, [a, b, y]: [i64; 3]) -> Call {
        let on = |m: Matrices, bytes: i64| Matrices { address: m.address.wrapping_add_signed(bytes), ..m };
        Call { a: on(self.a, a), b: on(self.b, b), y: on(self.y, y), ..*self }
    }

    /// `yᵀ = bᵀ aᵀ`.
    fn turned(self) -> Call {
        let turn = |m: Matrices| Matrices { transposed: !m.transposed, ..m };
        Call { m: self.n, n: self.m, a: turn(self.b), b: turn(self.a), y: turn(self.y), ..self }
    }
}

impl Matrices {
    /// Row-major matrices count as lying as they are: their columns are cuBLAS's rows.
    fn of(view: &View, apart: i64) -> Option<Matrices> {
        let layout = view.layout;
        let ([.., rows, columns], [.., down, across]) = (layout.shape(), layout.strides()) else {
            return None;
        };
        let (rows, columns) = (*rows as i64, *columns as i64);
        let (down, across) = (*down as i64, *across as i64);
        let address = view.buffer.address + (layout.offset() * view.dtype.size()) as u64;
        let plain = (across == 1 || columns == 1) && (down >= columns.max(1) || rows == 1);
        let turned = (down == 1 || rows == 1) && (across >= rows.max(1) || columns == 1);
        let (transposed, leading) = match () {
            _ if plain => (false, if rows == 1 { columns.max(1) } else { down }),
            _ if turned => (true, if columns == 1 { rows.max(1) } else { across }),
            _ => return None,
        };
        if i32::try_from(leading).is_err() {
            return None;
        }
        Some(Matrices { address, transposed, leading, apart })
    }
}

fn check(status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        status => Err(failed(status)),
    }
}

#[cold]
fn failed(status: c_int) -> Error {
    let name = match status {
        1 => "CUBLAS_STATUS_NOT_INITIALIZED",
        ALLOC_FAILED => "CUBLAS_STATUS_ALLOC_FAILED",
        7 => "CUBLAS_STATUS_INVALID_VALUE",
        ARCH_MISMATCH => "CUBLAS_STATUS_ARCH_MISMATCH",
        13 => "CUBLAS_STATUS_EXECUTION_FAILED",
        14 => "CUBLAS_STATUS_INTERNAL_ERROR",
        NOT_SUPPORTED => "CUBLAS_STATUS_NOT_SUPPORTED",
        _ => "an unknown status",
    };
    Error::new(
        if status == ALLOC_FAILED { Kind::OutOfMemoryError } else { Kind::DeviceError },
        format!("CUDA error: {name} ({status}) when calling cuBLAS"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Layout;
    use crate::device::buffer::Buffer;

    const BASE: u64 = 1 << 20;

    /// Where matrices of a shape and strides lie, as cuBLAS is told.
    fn seen(shape: &[usize], strides: &[isize], offset: usize) -> Option<Matrices> {
        let layout = Layout::new(shape.into(), strides.into(), offset).unwrap();
        let buffer = Buffer::new(BASE, 1 << 20, None, false);
        let view = View { buffer: &buffer, dtype: DType::Float32, layout: &layout };
        let (_, [apart, ..], others) = batches([&view; 3])?;
        Matrices::of(&view, apart).filter(|_| others == Others::default())
    }

    fn lies(transposed: bool, leading: i64, apart: i64) -> Option<Matrices> {
        Some(Matrices { address: BASE, transposed, leading, apart })
    }

    #[test]
    fn rows_columns_and_batches_are_taken_where_they_lie() {
        assert_eq!(seen(&[3, 5], &[5, 1], 0), lies(false, 5, 0));
        assert_eq!(seen(&[3, 5], &[1, 3], 0), lies(true, 3, 0));
        assert_eq!(seen(&[3, 5], &[9, 1], 0), lies(false, 9, 0));
        assert_eq!(seen(&[2, 3, 5], &[15, 5, 1], 0), lies(false, 5, 15));
        assert_eq!(seen(&[4, 2, 3, 5], &[30, 15, 5, 1], 0), lies(false, 5, 15));
        // One matrix for all of a batch, and dimensions of one element.
        assert_eq!(seen(&[2, 3, 5], &[0, 5, 1], 0), lies(false, 5, 0));
        assert_eq!(seen(&[1, 5], &[7, 1], 0), lies(false, 5, 0));
        assert_eq!(seen(&[1, 5], &[1, 7], 0), lies(true, 7, 0));
        assert_eq!(seen(&[3, 1], &[2, 1], 0), lies(false, 2, 0));
        let shifted = seen(&[3, 5], &[5, 1], 10).map(|m| m.address);
        assert_eq!(shifted, Some(BASE + 40));
    }

    #[test]
    fn what_repeats_or_leaves_gaps_both_ways_is_left_to_others() {
        assert_eq!(seen(&[3, 5], &[0, 1], 0), None);
        assert_eq!(seen(&[3, 5], &[1, 0], 0), None);
        assert_eq!(seen(&[3, 5], &[20, 2], 0), None);
    }

    /// As heads of attention lie: batches whose dimensions no one step spans.
    #[test]
    fn batches_of_no_one_step_are_a_call_for_each_of_the_smaller_dimension() {
        let buffer = Buffer::new(BASE, 1 << 20, None, false);
        let heads = Layout::contiguous(&[4, 6, 7, 5]).unwrap().transpose(1, 2).unwrap();
        let rows = Layout::contiguous(&[4, 7, 6, 6]).unwrap();
        let once = Layout::contiguous(&[7, 6, 5]).unwrap().expand(&[4, 7, 6, 5]).unwrap();
        let view = |layout| View { buffer: &buffer, dtype: DType::Float16, layout };
        let (count, apart, others) = batches([&view(&rows), &view(&once), &view(&heads)]).unwrap();
        assert_eq!((count, apart), (7, [36, 30, 5]));
        assert_eq!((others.count(), others.places(0)), (4, [0; 3]));
        assert_eq!(others.places(3), [3 * 7 * 36 * 2, 0, 3 * 210 * 2]);
        let heads = Matrices::of(&view(&heads), 5).unwrap();
        assert_eq!((heads.transposed, heads.leading, heads.apart), (false, 35, 5));
    }

    /// By the columns that cuBLAS goes by, element (i, j) of a matrix lies at i + leading j, or the other way round.
    #[test]
    fn a_result_in_columns_is_the_product_turned_round() {
        let of = |shape: &[usize], strides: &[isize]| Layout::new(shape.into(), strides.into(), 0).unwrap();
        let (a, b, y) = (of(&[3, 4], &[4, 1]), of(&[4, 5], &[1, 4]), of(&[3, 5], &[1, 3]));
        let buffer = Buffer::new(BASE, 1 << 20, None, false);
        let view = |layout| View { buffer: &buffer, dtype: DType::Float32, layout };
        let product = Product {
            a: view(&a),
            b: view(&b),
            y: view(&y),
            alpha: 1.0,
            beta: 0.0,
            tf32: false,
            before: None,
        };
        let (call, others) = Call::of(&product).unwrap();
        assert_eq!(others, Others::default());
        assert_eq!((call.m, call.n, call.k, call.batch), (5, 3, 4, 1));
        // yᵀ = bᵀ aᵀ in rows: bᵀ lies in rows, aᵀ in columns.
        assert_eq!((call.a, call.b), (lies(false, 4, 0).unwrap(), lies(true, 4, 0).unwrap()));
        assert!(!call.y.transposed);
    }
}
