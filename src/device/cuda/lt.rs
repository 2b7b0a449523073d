//! Products of matrices with a bias for each column, by cuBLASLt: the bias is added where a product is written, which
//! spares its copy into the result.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use cudarc::cublas::sys::{cublasOperation_t as Operation, cudaDataType_t as Data};

use crate::base::Result;
use crate::device::kernel::View;

use super::blas::{ALLOC_FAILED, Call, Matrices, NOT_SUPPORTED, Product};
use super::call::Gpu;
use super::table::{CublasLt, Handle, LtAlgorithm, LtFound, cublas_lt};

/// cuBLASLt on a device.
pub(super) struct Lt {
    table: &'static CublasLt,
    state: Mutex<LtState>,
}

#[derive(Default)]
struct LtState {
    /// None where it could not be made.
    handle: Option<Option<usize>>,
    failed_starts: usize,
    /// Per kind of product how it is done; nothing where the library has no way.
    ways: HashMap<LtKind, Option<Way>>,
}

/// What the choice of an algorithm depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LtKind {
    sizes: [c_int; 3],
    turned: [bool; 2],
    leading: [i64; 3],
    data: c_int,
    compute: c_int,
    /// Bytes that the addresses of the factors and of the result are multiples of.
    aligned: [u32; 3],
}

/// Descriptors, as addresses, and the algorithm for them.
struct Way {
    product: usize,
    a: usize,
    b: usize,
    y: usize,
    algorithm: LtAlgorithm,
    workspace: usize,
}

/// A bias, memory for an algorithm that asks for it, and the stream.
pub(super) struct LtPlace<'a> {
    pub bias: u64,
    pub scratch: &'a dyn Fn() -> Result<u64>,
    pub scratch_bytes: usize,
    pub queue: Handle,
}

// Attributes of products and preferences, as `cublasLt.h` numbers them.
const TRANSPOSE_A: c_int = 3;
const TRANSPOSE_B: c_int = 4;
const EPILOGUE: c_int = 7;
const BIAS_POINTER: c_int = 8;
const WITH_BIAS: u32 = 4;
const MOST_WORKSPACE: c_int = 1;
const LEAST_ALIGNMENT: [c_int; 4] = [5, 6, 7, 8];

/// How often it is tried to start the library.
const MOST_STARTS: usize = 8;

/// Kinds that are remembered; more of them come of shapes that change all the time.
const REMEMBERED: usize = 4096;

/// The address of a bias that is the same for all rows of `y`.
pub(super) fn bias_of(bias: &View, y: &View) -> Option<u64> {
    let (shape, strides) = (bias.layout.shape(), bias.layout.strides());
    let ([rows @ .., columns], [steps @ .., step]) = (shape, strides) else { return None };
    let is_row = rows.iter().zip(steps).all(|(&size, &step)| step == 0 || size == 1);
    let apart = bias.buffer.address != y.buffer.address;
    let fits = apart && bias.dtype == y.dtype && Some(columns) == y.layout.shape().last();
    let address = bias.buffer.address + (bias.layout.offset() * bias.dtype.size()) as u64;
    // Algorithms read a bias sixteen bytes at a time.
    (is_row && fits && *step == 1 && address.is_multiple_of(16)).then_some(address)
}

impl Lt {
    /// None where cuBLASLt is not there.
    pub(super) fn new() -> Option<Lt> {
        cublas_lt().map(|table| Lt { table, state: Mutex::default() })
    }

    /// Enqueues a product and its bias; `false` where another way has to be taken.
    pub(super) fn product(&self, gpu: &Gpu, product: &Product, place: &LtPlace) -> Result<bool> {
        // The bias is one for each row of what the library takes for columns.
        let in_rows = product.y.layout.strides().last() == Some(&1);
        let Some((call, others)) = Call::of(product).filter(|_| in_rows) else { return Ok(false) };
        // As PyTorch, which leaves single columns and sums of one product to cuBLAS.
        if others.count() != 1 || call.batch != 1 || call.n < 2 || call.k < 2 {
            return Ok(false);
        }
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let Some(handle) = self.handle(gpu, &mut state)? else { return Ok(false) };
        let kind = LtKind::of(&call);
        if state.ways.len() >= REMEMBERED {
            self.forget(&mut state);
        }
        let known = match state.ways.entry(kind) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => match self.way(handle, &kind, place) {
                Some(way) => unknown.insert(way),
                // What failed for want of memory is asked again.
                None => return Ok(false),
            },
        };
        let Some(way) = known else { return Ok(false) };
        let scratch = if way.workspace == 0 { 0 } else { (place.scratch)()? };
        Ok(self.enqueue(handle, way, &call, product.alpha, place, scratch))
    }

    fn handle(&self, gpu: &Gpu, state: &mut LtState) -> Result<Option<Handle>> {
        if let Some(handle) = state.handle {
            return Ok(handle.map(|handle| handle as Handle));
        }
        gpu.enter()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the place lives through the call.
        match unsafe { (self.table.cublasLtCreate)(&mut handle) } {
            0 => state.handle = Some(Some(handle as usize)),
            // Where there was no memory, in whatever words, there may be some the next time.
            ALLOC_FAILED => return Ok(None),
            _ if state.failed_starts < MOST_STARTS => {
                state.failed_starts += 1;
                return Ok(None);
            }
            _ => state.handle = Some(None),
        }
        Ok(state.handle.flatten().map(|handle| handle as Handle))
    }

    /// Descriptors of a kind of product, and the algorithm that the library thinks best; within it nothing where there is
    /// none, and nothing at all where that can't be said now.
    fn way(&self, handle: Handle, kind: &LtKind, place: &LtPlace) -> Option<Option<Way>> {
        let mut way = Way { product: 0, a: 0, b: 0, y: 0, algorithm: LtAlgorithm::default(), workspace: 0 };
        // Some versions want to see a bias before they choose.
        let described = self.described(kind, &mut way) && self.set(way.product, BIAS_POINTER, &place.bias);
        let status =
            if described { self.chosen(handle, kind, place.scratch_bytes, &mut way) } else { ALLOC_FAILED };
        if status != 0 {
            self.destroy(&way);
        }
        match status {
            0 => Some(Some(way)),
            ALLOC_FAILED => None,
            _ => Some(None),
        }
    }

    fn described(&self, kind: &LtKind, way: &mut Way) -> bool {
        let table = self.table;
        let scale = if kind.data == Data::CUDA_R_64F as c_int { Data::CUDA_R_64F } else { Data::CUDA_R_32F };
        // Row-major y = a b is column-major yᵀ = bᵀ aᵀ: the factors change places.
        let [m, n, k] = kind.sizes.map(|size| size as u64);
        let turn = |turned: bool, (rows, columns): (u64, u64)| {
            if turned { (columns, rows) } else { (rows, columns) }
        };
        let matrices = [
            (&mut way.a, turn(kind.turned[0], (n, k)), kind.leading[0]),
            (&mut way.b, turn(kind.turned[1], (k, m)), kind.leading[1]),
            (&mut way.y, (n, m), kind.leading[2]),
        ];
        let made = |slot: &mut usize, create: &dyn Fn(&mut Handle) -> c_int| {
            let mut handle = std::ptr::null_mut();
            let done = create(&mut handle) == 0;
            *slot = handle as usize;
            done
        };
        // SAFETY: places live through the calls.
        let all = matrices.into_iter().all(|(slot, (rows, columns), leading)| {
            made(slot, &|to| unsafe {
                (table.cublasLtMatrixLayoutCreate)(to, kind.data, rows, columns, leading)
            })
        });
        // SAFETY: as above.
        let described = all
            && made(&mut way.product, &|to| unsafe {
                (table.cublasLtMatmulDescCreate)(to, kind.compute, scale as c_int)
            });
        let flag = |turned| if turned { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N } as c_int;
        described
            && self.set(way.product, TRANSPOSE_A, &flag(kind.turned[0]))
            && self.set(way.product, TRANSPOSE_B, &flag(kind.turned[1]))
            && self.set(way.product, EPILOGUE, &WITH_BIAS)
    }

    /// Sets an attribute of a product.
    fn set<T>(&self, product: usize, attribute: c_int, value: &T) -> bool {
        // SAFETY: the value lives through the call, which copies as many bytes as it has.
        let status = unsafe {
            (self.table.cublasLtMatmulDescSetAttribute)(
                product as Handle,
                attribute,
                std::ptr::from_ref(value).cast::<c_void>(),
                size_of::<T>(),
            )
        };
        status == 0
    }

    /// Asks for an algorithm; the status, which is that of one unsupported where there is none.
    fn chosen(&self, handle: Handle, kind: &LtKind, most: usize, way: &mut Way) -> c_int {
        let table = self.table;
        let mut preference = std::ptr::null_mut();
        // SAFETY: the place lives through the call.
        let status = unsafe { (table.cublasLtMatmulPreferenceCreate)(&mut preference) };
        if status != 0 {
            return status;
        }
        // SAFETY: values live through the calls, which copy as many bytes as they have.
        let prefer = |attribute: c_int, value: *const c_void, bytes: usize| unsafe {
            (table.cublasLtMatmulPreferenceSetAttribute)(preference, attribute, value, bytes) == 0
        };
        let [a, b, y] = kind.aligned;
        let alignments = LEAST_ALIGNMENT.into_iter().zip([a, b, y, y]);
        let preferred = prefer(MOST_WORKSPACE, (&raw const most).cast(), size_of::<usize>())
            && alignments
                .into_iter()
                .all(|(attribute, bytes)| prefer(attribute, (&raw const bytes).cast(), size_of::<u32>()));
        let (mut found, mut count) = (LtFound::default(), 0);
        let [product, a, b, y] = [way.product, way.a, way.b, way.y].map(|at| at as Handle);
        // SAFETY: descriptors are those that were made, and there is room for the one result that is asked for.
        let status = unsafe {
            (table.cublasLtMatmulAlgoGetHeuristic)(
                handle, product, a, b, y, y, preference, 1, &mut found, &mut count,
            )
        };
        // SAFETY: nobody else has the preference.
        unsafe { (table.cublasLtMatmulPreferenceDestroy)(preference) };
        (way.algorithm, way.workspace) = (found.algorithm, found.workspace);
        let is_usable = preferred && count == 1 && found.state == 0 && found.workspace <= most;
        if status == 0 && !is_usable { NOT_SUPPORTED } else { status }
    }

    fn enqueue(
        &self,
        handle: Handle,
        way: &Way,
        call: &Call,
        alpha: f64,
        place: &LtPlace,
        scratch: u64,
    ) -> bool {
        if !self.set(way.product, BIAS_POINTER, &place.bias) {
            return false;
        }
        let (wide, narrow) = ([alpha, 0.0], [alpha as f32, 0.0]);
        let factors: [*const c_void; 2] = match call.wide {
            true => [(&raw const wide[0]).cast(), (&raw const wide[1]).cast()],
            false => [(&raw const narrow[0]).cast(), (&raw const narrow[1]).cast()],
        };
        let (a, b, y) = (call.b.address, call.a.address, call.y.address);
        let [product, a_way, b_way, y_way] = [way.product, way.a, way.b, way.y].map(|at| at as Handle);
        // SAFETY: addresses, sizes and steps are those of views, which lie inside their memory; the scratch has as many
        // bytes as the algorithm asked for; numbers are read at the call.
        let status = unsafe {
            (self.table.cublasLtMatmul)(
                handle,
                product,
                factors[0],
                a,
                a_way,
                b,
                b_way,
                factors[1],
                y,
                y_way,
                y,
                y_way,
                &way.algorithm,
                scratch,
                way.workspace,
                place.queue,
            )
        };
        status == 0
    }

    fn destroy(&self, way: &Way) {
        let table = self.table;
        for layout in [way.a, way.b, way.y].into_iter().filter(|&at| at != 0) {
            // SAFETY: nobody else has the descriptor.
            unsafe { (table.cublasLtMatrixLayoutDestroy)(layout as Handle) };
        }
        if way.product != 0 {
            // SAFETY: as above.
            unsafe { (table.cublasLtMatmulDescDestroy)(way.product as Handle) };
        }
    }

    fn forget(&self, state: &mut LtState) {
        state.ways.drain().filter_map(|(_, way)| way).for_each(|way| self.destroy(&way));
    }
}

impl Drop for Lt {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.state.lock().unwrap_or_else(|e| e.into_inner()));
        self.forget(&mut state);
        if let Some(Some(handle)) = state.handle {
            // SAFETY: nobody else has the handle.
            unsafe { (self.table.cublasLtDestroy)(handle as Handle) };
        }
    }
}

impl LtKind {
    fn of(call: &Call) -> LtKind {
        let aligned = |m: &Matrices| 1 << m.address.trailing_zeros().min(8);
        let (a, b, y) = (&call.b, &call.a, &call.y);
        LtKind {
            sizes: [call.m, call.n, call.k],
            turned: [a.transposed, b.transposed],
            leading: [a.leading, b.leading, y.leading],
            data: call.kind,
            compute: call.compute,
            aligned: [aligned(a), aligned(b), aligned(y)],
        }
    }
}
