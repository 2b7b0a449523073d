//! Matrices taken apart by cuSOLVER, one by one. They lie column by column.

use std::collections::HashMap;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::sync::Mutex;

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::{Arg, Factor, Launch, View};

use super::call::Gpu;
use super::table::{Cusolver, Handle, Routines, cusolver};

const ALLOC_FAILED: c_int = 2;
const AS_IT_IS: c_int = 0;
const LOWER: c_int = 0;
const UPPER: c_int = 1;

/// Products below which the host is done with a matrix before a library has been through its columns: an estimate, of
/// eliminations and reflections, and of values and vectors.
const WORTH: [usize; 2] = [128 * 128 * 128, 256 * 256 * 256];

/// cuSOLVER on a device: a handle per stream, and what `gesvdj` says of how it was done there.
pub(super) struct Solver {
    table: &'static Cusolver,
    handles: Mutex<HashMap<u32, (usize, usize)>>,
}

/// What is found of a matrix, and its sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum FactorJob {
    /// Both triangles in the matrix's place, and for each step the row that it chose, from 1.
    Lu { m: c_int, n: c_int },
    /// Solutions in the place of `p` right-hand sides, by what [`FactorJob::Lu`] found.
    Substitute { n: c_int, p: c_int },
    /// The upper factor `r` with `rᵀ r = a`, in the place of the upper triangle.
    Cholesky { n: c_int },
    /// The triangle and the reflections that [`FactorJob::Columns`] makes `q` of, in the matrix's place.
    Qr { m: c_int, n: c_int },
    /// The first `k` columns of `q` in the place of as many reflections as there are `steps`.
    Columns { m: c_int, k: c_int, steps: c_int },
    /// Eigenvalues of the symmetric matrix in the lower triangle, ascending; vectors in its place.
    Eigh { n: c_int, vectors: bool },
    /// Singular values, descending; `u` and `v`, whole or as many columns as there are values.
    Svd { m: c_int, n: c_int, vectors: bool, whole: bool },
}

/// Addresses of a matrix and of what is found of it; 0 for what a job has not.
#[derive(Clone, Copy, Default)]
pub(super) struct MatrixPlace {
    pub a: u64,
    /// Right-hand sides, what scales reflections, or values.
    pub beside: u64,
    pub u: u64,
    pub v: u64,
    pub pivots: u64,
    /// 0 where all went well.
    pub info: u64,
    pub work: u64,
    /// How many elements there are to work in.
    pub room: c_int,
}

/// cuSOLVER in a stream, for one type of numbers.
pub(super) struct SolverQueue<'a> {
    handle: Handle,
    rotations: Handle,
    routines: &'static Routines,
    solver: PhantomData<&'a Solver>,
}

/// Whether a matrix is worth its way through a library of the device.
pub(super) fn is_worth(launch: &Launch, what: Factor) -> bool {
    let Some(Arg::View(View { layout, .. })) = launch.inputs.first() else { return false };
    let [.., m, n] = *layout.shape() else { return false };
    let [direct, iterative] = WORTH;
    let least = if matches!(what, Factor::Eigh | Factor::Svd) { iterative } else { direct };
    m.saturating_mul(n).saturating_mul(m.min(n)) >= least
}

impl Solver {
    /// None where cuSOLVER is not there.
    pub(super) fn new() -> Option<Solver> {
        cusolver().map(|table| Solver { table, handles: Mutex::default() })
    }

    /// cuSOLVER in a stream, started when it is first needed.
    pub(super) fn queue(
        &self,
        gpu: &Gpu,
        (stream, queue): (u32, Handle),
        dtype: DType,
    ) -> Result<SolverQueue<'_>> {
        let routines = if dtype == DType::Float64 { &self.table.double } else { &self.table.single };
        let mut handles = self.handles.lock().unwrap_or_else(|e| e.into_inner());
        let (handle, rotations) = match handles.get(&stream) {
            Some(known) => *known,
            None => {
                gpu.enter()?;
                let started = self.start(queue)?;
                handles.insert(stream, started);
                started
            }
        };
        let (handle, rotations) = (handle as Handle, rotations as Handle);
        Ok(SolverQueue { handle, rotations, routines, solver: PhantomData })
    }

    fn start(&self, queue: Handle) -> Result<(usize, usize)> {
        let calls = &self.table.calls;
        let (mut handle, mut rotations) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the places live through the calls, and the stream as long as the handle.
        unsafe {
            check((calls.cusolverDnCreate)(&mut handle))?;
            let set = check((calls.cusolverDnSetStream)(handle, queue))
                .and_then(|()| check((calls.cusolverDnCreateGesvdjInfo)(&mut rotations)));
            if let Err(error) = set {
                (calls.cusolverDnDestroy)(handle);
                return Err(error);
            }
        }
        Ok((handle as usize, rotations as usize))
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        for (_, (handle, rotations)) in self.handles.lock().unwrap_or_else(|e| e.into_inner()).drain() {
            // SAFETY: nobody else has them.
            unsafe {
                (self.table.calls.cusolverDnDestroyGesvdjInfo)(rotations as Handle);
                (self.table.calls.cusolverDnDestroy)(handle as Handle);
            }
        }
    }
}

impl SolverQueue<'_> {
    /// How many elements a job works in; `None` where the library does no such job.
    pub(super) fn room(&self, job: FactorJob, at: &MatrixPlace) -> Option<c_int> {
        let (r, handle, mut room) = (self.routines, self.handle, 0);
        // SAFETY: the place lives through the call; addresses are not followed.
        let status = unsafe {
            match job {
                FactorJob::Lu { m, n } => (r.getrf_bufferSize)(handle, m, n, at.a, m, &mut room),
                FactorJob::Substitute { .. } => 0,
                FactorJob::Cholesky { n } => (r.potrf_bufferSize)(handle, UPPER, n, at.a, n, &mut room),
                FactorJob::Qr { m, n } => (r.geqrf_bufferSize)(handle, m, n, at.a, m, &mut room),
                FactorJob::Columns { m, k, steps } => {
                    (r.orgqr_bufferSize)(handle, m, k, steps, at.a, m, at.beside, &mut room)
                }
                FactorJob::Eigh { n, vectors } => {
                    (r.syevd_bufferSize)(handle, vectors.into(), LOWER, n, at.a, n, at.beside, &mut room)
                }
                FactorJob::Svd { m, n, vectors, whole } => (r.gesvdj_bufferSize)(
                    handle,
                    vectors.into(),
                    (!whole).into(),
                    m,
                    n,
                    at.a,
                    m,
                    at.beside,
                    at.u,
                    m,
                    at.v,
                    n,
                    &mut room,
                    self.rotations,
                ),
            }
        };
        (status == 0 && room >= 0).then_some(room)
    }

    /// Enqueues a job; `false` where the library refuses, as some versions do where a matrix holds NaN. It may wait for
    /// parts of the job.
    pub(super) fn enqueue(&self, job: FactorJob, at: &MatrixPlace) -> bool {
        let (r, handle) = (self.routines, self.handle);
        let MatrixPlace { a, beside, u, v, pivots, info, work, room } = *at;
        // SAFETY: the addresses are those of memory for as many elements as the sizes say, on the queue's device.
        let status = unsafe {
            match job {
                FactorJob::Lu { m, n } => (r.getrf)(handle, m, n, a, m, work, pivots, info),
                FactorJob::Substitute { n, p } => {
                    (r.getrs)(handle, AS_IT_IS, n, p, a, n, pivots, beside, n, info)
                }
                FactorJob::Cholesky { n } => (r.potrf)(handle, UPPER, n, a, n, work, room, info),
                FactorJob::Qr { m, n } => (r.geqrf)(handle, m, n, a, m, beside, work, room, info),
                FactorJob::Columns { m, k, steps } => {
                    (r.orgqr)(handle, m, k, steps, a, m, beside, work, room, info)
                }
                FactorJob::Eigh { n, vectors } => {
                    (r.syevd)(handle, vectors.into(), LOWER, n, a, n, beside, work, room, info)
                }
                FactorJob::Svd { m, n, vectors, whole } => (r.gesvdj)(
                    handle,
                    vectors.into(),
                    (!whole).into(),
                    m,
                    n,
                    a,
                    m,
                    beside,
                    u,
                    m,
                    v,
                    n,
                    work,
                    room,
                    info,
                    self.rotations,
                ),
            }
        };
        status == 0
    }
}

fn check(status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        ALLOC_FAILED => Err(Error::new(Kind::OutOfMemoryError, "cuSOLVER found no memory to start with")
            .with_hint("free tensors that are needed no more, or call cuda::empty_cache()")),
        status => Err(Error::new(Kind::DeviceError, format!("cuSOLVER error: status {status}"))),
    }
}
