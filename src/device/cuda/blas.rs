//! Products of matrices by cuBLAS.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use cudarc::cublas::sys::{
    cublasComputeType_t as Compute, cublasGemmAlgo_t, cublasOperation_t as Operation, cudaDataType_t as Data,
};

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::View;

use super::call::Gpu;
use super::table::{Cublas, Handle, cublas};

const AS_IT_IS: c_int = Operation::CUBLAS_OP_N as c_int;
const TRANSPOSED: c_int = Operation::CUBLAS_OP_T as c_int;
const BY_HEURISTIC: c_int = cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT as c_int;

/// cuBLAS on a device: a handle per stream, as PyTorch has them.
pub(crate) struct Blas {
    table: &'static Cublas,
    handles: Mutex<HashMap<u32, usize>>,
}

/// A matrix, or equally spaced ones, as cuBLAS addresses them: column by column.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Matrices {
    address: u64,
    transposed: bool,
    /// Elements from one column to the next.
    leading: i64,
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
    pub(super) fn product(&self, gpu: &Gpu, stream: (u32, Handle), product: &Product) -> Result<bool> {
        let Some(call) = Call::of(product) else { return Ok(false) };
        if let Some(before) = product.before {
            before()?;
        }
        let handle = self.handle(gpu, stream)?;
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
        check(status).map(|()| true)
    }

    fn handle(&self, gpu: &Gpu, (stream, queue): (u32, Handle)) -> Result<Handle> {
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

struct Call {
    m: c_int,
    n: c_int,
    k: c_int,
    batch: c_int,
    a: Matrices,
    b: Matrices,
    y: Matrices,
    kind: c_int,
    compute: c_int,
    /// Factors are read as double.
    wide: bool,
}

impl Call {
    fn of(product: &Product) -> Option<Call> {
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
        let y = Matrices::of(&product.y)?;
        let int = |n: usize| c_int::try_from(n).ok();
        let batch: usize = product.y.layout.shape().iter().rev().skip(2).product();
        let call = Call {
            m: int(*m)?,
            n: int(*n)?,
            k: int(*k)?,
            batch: int(batch)?,
            a: Matrices::of(&product.a)?,
            b: Matrices::of(&product.b)?,
            y,
            kind: kind as c_int,
            compute: compute as c_int,
            wide: dtype == DType::Float64,
        };
        // A result that lies column by column is the product of the other two, the other way round.
        Some(if call.y.transposed { call.turned() } else { call })
    }

    /// `yᵀ = bᵀ aᵀ`.
    fn turned(self) -> Call {
        let turn = |m: Matrices| Matrices { transposed: !m.transposed, ..m };
        Call { m: self.n, n: self.m, a: turn(self.b), b: turn(self.a), y: turn(self.y), ..self }
    }
}

impl Matrices {
    /// Row-major matrices count as lying as they are: their columns are cuBLAS's rows.
    fn of(view: &View) -> Option<Matrices> {
        let layout = view.layout;
        let ([batch @ .., rows, columns], [steps @ .., down, across]) = (layout.shape(), layout.strides())
        else {
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
        Some(Matrices { address, transposed, leading, apart: apart(batch, steps)? })
    }
}

/// The one step between matrices, where there is one.
fn apart(batch: &[usize], steps: &[isize]) -> Option<i64> {
    let mut step: Option<(i64, i64)> = None;
    for (&size, &stride) in batch.iter().zip(steps).rev() {
        if size == 1 {
            continue;
        }
        let (size, stride) = (size as i64, stride as i64);
        step = match step {
            None => Some((stride, stride * size)),
            Some((first, next)) if next == stride => Some((first, next * size)),
            Some(_) => return None,
        };
    }
    Some(step.map_or(0, |(first, _)| first))
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
        3 => "CUBLAS_STATUS_ALLOC_FAILED",
        7 => "CUBLAS_STATUS_INVALID_VALUE",
        8 => "CUBLAS_STATUS_ARCH_MISMATCH",
        13 => "CUBLAS_STATUS_EXECUTION_FAILED",
        14 => "CUBLAS_STATUS_INTERNAL_ERROR",
        15 => "CUBLAS_STATUS_NOT_SUPPORTED",
        _ => "an unknown status",
    };
    Error::new(
        Kind::DeviceError,
        format!("CUDA error: {name} ({status}) when calling `cublasGemmStridedBatchedEx`"),
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
        Matrices::of(&View { buffer: &buffer, dtype: DType::Float32, layout: &layout })
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
        assert_eq!(seen(&[4, 2, 3, 5], &[15, 60, 5, 1], 0), None);
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
        let call = Call::of(&product).unwrap();
        assert_eq!((call.m, call.n, call.k, call.batch), (5, 3, 4, 1));
        // yᵀ = bᵀ aᵀ in rows: bᵀ lies in rows, aᵀ in columns.
        assert_eq!((call.a, call.b), (lies(false, 4, 0).unwrap(), lies(true, 4, 0).unwrap()));
        assert!(!call.y.transposed);
    }
}
