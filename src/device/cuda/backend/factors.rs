//! Matrices taken apart on the device: turned so that they lie column by column, given to cuSOLVER one by one, and turned
//! back.

use std::ffi::c_int;

use smallvec::{SmallVec, smallvec};

use crate::base::dims::{Dims, Strides};
use crate::base::shape::contiguous_strides;
use crate::base::{DType, Layout, Result, memory};
use crate::device::buffer::Buffer;
use crate::device::cuda::kernels::{Plan, factor};
use crate::device::cuda::recording::not_of_a_graph;
use crate::device::cuda::solver::{FactorJob, MatrixPlace, Solver, SolverQueue, is_worth};
use crate::device::cuda::table::Handle;
use crate::device::kernel::{Arg, Factor, Kernel, Launch, View};

use super::CudaBackend;

/// A batch of matrices and what is wanted of them.
struct MatrixBatch<'a> {
    launch: &'a Launch<'a>,
    what: Factor,
    /// In order, for each matrix.
    jobs: SmallVec<[FactorJob; 2]>,
    input: View<'a>,
    count: usize,
    m: usize,
    n: usize,
    /// Columns that a matrix has room for where it is worked on.
    columns: usize,
    /// Elements beside a matrix, of `u` and of `v`; numbers of rows.
    beside: usize,
    u: usize,
    v: usize,
    pivots: usize,
}

/// Where in the borrowed memory a batch's parts begin, in bytes.
struct MatrixRoom {
    a: usize,
    beside: usize,
    u: usize,
    v: usize,
    pivots: usize,
    info: usize,
    /// A number for each matrix that is not 0 where it holds what is infinite or NaN.
    lost: usize,
    work: usize,
    total: usize,
}

/// A batch under way in a stream.
struct UnderWay<'a> {
    backend: &'a CudaBackend,
    batch: &'a MatrixBatch<'a>,
    queue: SolverQueue<'a>,
    stream: Handle,
    room: MatrixRoom,
    /// Elements to work in.
    work: c_int,
}

/// Parts of matrices in the borrowed memory, column by column.
struct MatrixPart {
    /// Where the first begins, in bytes.
    at: usize,
    rows: usize,
    columns: usize,
    /// Elements from a column to the next, and from a matrix to the next.
    down: usize,
    apart: usize,
}

impl CudaBackend {
    /// Has cuSOLVER take matrices apart; `false` where the host does, as where the library refuses a matrix or its
    /// rotations come to no end.
    pub(super) fn take_apart(&self, launch: &Launch, what: Factor, stream: Handle) -> Result<bool> {
        let Some(batch) = MatrixBatch::of(launch, what).filter(|_| is_worth(launch, what)) else {
            return Ok(false);
        };
        let Some(solver) = self.solver.get_or_init(Solver::new) else { return Ok(false) };
        not_of_a_graph("is cuSOLVER's")?;
        let queue = self.started(|| solver.queue(&self.gpu, (launch.stream, stream), batch.input.dtype))?;
        let place = batch.place(&batch.room(0), 0, 0);
        let rooms = batch.jobs.iter().map(|&job| queue.room(job, &place));
        let Some(work) = rooms.into_iter().try_fold(0, |most: c_int, room| Some(most.max(room?))) else {
            return Ok(false);
        };
        let room = batch.room(work as usize);
        let total = room.total;
        let under_way = UnderWay { backend: self, batch: &batch, queue, stream, room, work };
        let mut found = false;
        self.with_scratch(total, launch.stream, &mut |scratch| {
            let memory = Buffer::new(scratch, total, None, false);
            found = under_way.begin(&memory)? && under_way.end(&memory)? && under_way.has_ended(&memory)?;
            Ok(())
        })?;
        if !found {
            // A device that failed has no other way.
            self.gpu.memory()?;
        }
        Ok(found)
    }
}

impl UnderWay<'_> {
    /// Puts the matrices where they are worked on, and enqueues the first of what is done; `false` where the library
    /// does not take them.
    fn begin(&self, memory: &Buffer) -> Result<bool> {
        let (batch, launch) = (self.batch, self.batch.launch);
        match (batch.what, launch.outputs) {
            (Factor::Cholesky, [l]) => self.copy(Arg::View(batch.input), *l)?,
            _ => self.copy_in(memory, &batch.input, &self.matrix(batch.n))?,
        }
        if let (Factor::Solve, Some(Arg::View(b))) = (batch.what, launch.inputs.get(1)) {
            self.copy_in(memory, b, &self.right_hand_sides())?;
        }
        if batch.is_iterative() {
            let (a, lost) = (memory.address + self.room.a as u64, memory.address + self.room.lost as u64);
            let sizes = [batch.count, batch.m * batch.columns];
            self.steps(factor::watched(a, batch.input.dtype, sizes, lost))?;
        }
        self.each(memory, batch.jobs.first())
    }

    /// The rest, and results where they belong; `false` as in [`UnderWay::begin`].
    fn end(&self, memory: &Buffer) -> Result<bool> {
        let (batch, launch) = (self.batch, self.batch.launch);
        let at = |offset: usize| memory.address + offset as u64;
        let mut goes_on = true;
        match (batch.what, launch.outputs) {
            (Factor::Lu, [both, pivots, order]) => {
                self.copy_out(memory, &self.matrix(batch.n), *both)?;
                self.steps(factor::order(pivots, order, at(self.room.pivots)))?;
            }
            (Factor::Solve, [x, pivots]) => {
                let sizes = [batch.count * batch.n, batch.n];
                self.steps(factor::rows(batch.input.dtype, at(self.room.pivots), sizes))?;
                goes_on = self.each(memory, batch.jobs.get(1))?;
                self.copy_out(memory, &self.right_hand_sides(), *x)?;
                let n = batch.n;
                let diagonal = batch.laid_out(&[n], &[n + 1], n * n, self.offset(self.room.a))?;
                self.copy(Arg::View(self.lent(memory, &diagonal)), *pivots)?;
            }
            (Factor::Cholesky, [l]) => self.steps(factor::triangle(l, at(self.room.info)))?,
            (Factor::Qr, [q, r]) => {
                let k = q.layout.shape().last().copied().unwrap_or(0);
                let triangle = Kernel::Triangle { upper: true, diagonal: 0 };
                let above = self.layout(&MatrixPart { rows: k, ..self.matrix(batch.n) })?;
                let inputs = [Arg::View(self.lent(memory, &above))];
                let upper = Launch { kernel: &triangle, inputs: &inputs, outputs: &[*r], ..*launch };
                self.backend.kernel(&upper, self.stream)?;
                goes_on = self.each(memory, batch.jobs.get(1))?;
                self.copy_out(memory, &self.matrix(k), *q)?;
            }
            (Factor::Eigh, [_, vectors]) => self.copy_out(memory, &self.matrix(batch.n), *vectors)?,
            (Factor::Svd, [u, _, _]) => {
                let (m, apart) = (batch.m, batch.u);
                let left = MatrixPart { at: self.room.u, rows: m, columns: apart / m, down: m, apart };
                self.copy_out(memory, &left, *u)?;
            }
            _ => {}
        }
        Ok(goes_on)
    }

    /// Waits for what goes on until it comes to an end, and says whether it came to one for all matrices. Of a matrix
    /// with NaN the library may find values all the same.
    fn has_ended(&self, memory: &Buffer) -> Result<bool> {
        if !self.batch.is_iterative() {
            return Ok(true);
        }
        let (backend, launch) = (self.backend, self.batch.launch);
        backend.queues.synchronize(Some(launch.stream), &|| launch.cancel.check())?;
        let all_zero = |offset: usize| -> Result<bool> {
            let mut numbers = memory::filled(self.batch.count, 1 as c_int)?;
            let bytes = numbers.len() * size_of::<c_int>();
            let (to, from) = (numbers.as_mut_ptr().cast(), memory.address + offset as u64);
            // SAFETY: there is room for the bytes, and the stream is waited for before they are read.
            let code = unsafe { (backend.gpu.driver.cuMemcpyDtoHAsync_v2)(to, from, bytes, self.stream) };
            let copied = backend.queues.drain(launch.stream);
            backend.gpu.check(code).and(copied)?;
            Ok(numbers.iter().all(|&number| number == 0))
        };
        Ok(all_zero(self.room.info)? && all_zero(self.room.lost)?)
    }

    /// Some columns of the matrices that are worked on.
    fn matrix(&self, columns: usize) -> MatrixPart {
        let MatrixBatch { m, columns: all, .. } = *self.batch;
        MatrixPart { at: self.room.a, rows: m, columns, down: m, apart: m * all }
    }

    fn right_hand_sides(&self) -> MatrixPart {
        let (n, apart) = (self.batch.n, self.batch.beside);
        MatrixPart { at: self.room.beside, rows: n, columns: apart / n, down: n, apart }
    }

    /// Enqueues a job for each matrix; `false` as in [`UnderWay::begin`].
    fn each(&self, memory: &Buffer, job: Option<&FactorJob>) -> Result<bool> {
        let Some(&job) = job else { return Ok(true) };
        for i in 0..self.batch.count {
            self.batch.launch.cancel.check()?;
            let place = self.batch.place(&self.room, memory.address, i);
            if !self.queue.enqueue(job, &MatrixPlace { room: self.work, ..place }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn copy_in(&self, memory: &Buffer, from: &View, to: &MatrixPart) -> Result<()> {
        self.copy(Arg::View(*from), self.lent(memory, &self.layout(to)?))
    }

    fn copy_out(&self, memory: &Buffer, from: &MatrixPart, to: View) -> Result<()> {
        self.copy(Arg::View(self.lent(memory, &self.layout(from)?)), to)
    }

    fn copy(&self, from: Arg, to: View) -> Result<()> {
        self.backend.copy(self.batch.launch, from, to, self.stream)
    }

    fn steps(&self, plan: Option<Plan>) -> Result<()> {
        let steps = plan.into_iter().flat_map(|plan| plan.steps);
        steps.into_iter().try_for_each(|mut step| self.backend.step(&mut step, self.stream))
    }

    fn layout(&self, part: &MatrixPart) -> Result<Layout> {
        let &MatrixPart { at, rows, columns, down, apart } = part;
        self.batch.laid_out(&[rows, columns], &[1, down], apart, self.offset(at))
    }

    /// An offset in bytes as one in elements.
    fn offset(&self, bytes: usize) -> usize {
        bytes / self.batch.input.dtype.size()
    }

    fn lent<'b>(&self, buffer: &'b Buffer, layout: &'b Layout) -> View<'b> {
        View { buffer, dtype: self.batch.input.dtype, layout }
    }
}

impl<'a> MatrixBatch<'a> {
    /// What a launch asks of cuSOLVER; `None` where its views lie otherwise than such launches' do.
    fn of(launch: &'a Launch<'a>, what: Factor) -> Option<MatrixBatch<'a>> {
        let input = match launch.inputs.first() {
            Some(Arg::View(view)) => *view,
            _ => return None,
        };
        let [ref outer @ .., m, n] = *input.layout.shape() else { return None };
        let plain = |view: &View| view.dtype == input.dtype && view.layout.is_contiguous();
        let full = matches!(input.dtype, DType::Float32 | DType::Float64);
        if !full || !launch.outputs.iter().all(plain) || input.layout.numel() == 0 {
            return None;
        }
        let last = |i: usize| launch.outputs.get(i).and_then(|view| view.layout.shape().last().copied());
        let (steps, lone) = (m.min(n), launch.outputs.len() == 1);
        let count = outer.iter().product();
        let int = |size: usize| c_int::try_from(size).ok();
        let (rows, across) = (int(m)?, int(n)?);
        let batch = |job: FactorJob, columns, beside, pivots| MatrixBatch {
            launch,
            what,
            jobs: smallvec![job],
            input,
            count,
            m,
            n,
            columns,
            beside,
            u: 0,
            v: 0,
            pivots,
        };
        Some(match what {
            Factor::Lu => batch(FactorJob::Lu { m: rows, n: across }, n, 0, steps),
            Factor::Solve => {
                let p = last(0).filter(|&p| p > 0)?;
                let mut all = batch(FactorJob::Lu { m: across, n: across }, n, n.checked_mul(p)?, n);
                all.jobs.push(FactorJob::Substitute { n: across, p: int(p)? });
                all
            }
            Factor::Cholesky => batch(FactorJob::Cholesky { n: across }, 0, 0, 0),
            Factor::Qr => {
                let k = last(0)?;
                let mut all = batch(FactorJob::Qr { m: rows, n: across }, n.max(k), steps, 0);
                all.jobs.push(FactorJob::Columns { m: rows, k: int(k)?, steps: int(steps)? });
                all
            }
            Factor::Eigh => batch(FactorJob::Eigh { n: across, vectors: !lone }, n, 0, 0),
            Factor::Svd => {
                let whole = !lone && m != n && last(0)? == m && height(launch, 2)? == n;
                let (left, right) = if whole { (m, n) } else { (steps, steps) };
                if !lone && (last(0)?, height(launch, 2)?) != (left, right) {
                    return None;
                }
                let job = FactorJob::Svd { m: rows, n: across, vectors: !lone, whole };
                // Without vectors it still wants room for them.
                let v = if lone { n.checked_mul(right)? } else { 0 };
                MatrixBatch { u: m.checked_mul(left)?, v, ..batch(job, n, 0, 0) }
            }
        })
    }

    /// It goes on until it comes to an end.
    fn is_iterative(&self) -> bool {
        matches!(self.what, Factor::Eigh | Factor::Svd)
    }

    /// Values alone are asked for.
    fn is_lone(&self) -> bool {
        self.launch.outputs.len() == 1
    }

    fn room(&self, work: usize) -> MatrixRoom {
        const INT: usize = size_of::<c_int>();
        let size = self.input.dtype.size();
        let mut total = 0usize;
        let mut part = |elements: usize, bytes: usize| {
            let start = total;
            total = total.saturating_add(elements.saturating_mul(bytes)).next_multiple_of(256);
            start
        };
        let a = part(self.count.saturating_mul(self.m * self.columns), size);
        let beside = part(self.count * self.beside, size);
        let u = part(if self.is_lone() { self.u } else { self.count * self.u }, size);
        let v = part(self.v, size);
        let pivots = part(self.count * self.pivots, INT);
        let info = part(self.count, INT);
        let lost = part(self.count, INT);
        let work = part(work, size);
        MatrixRoom { a, beside, u, v, pivots, info, lost, work, total }
    }

    /// Where matrix `i` and what is found of it lie, given where the borrowed memory begins.
    fn place(&self, room: &MatrixRoom, start: u64, i: usize) -> MatrixPlace {
        let size = self.input.dtype.size();
        let at = |start: u64, elements: usize| start + (i * elements * size) as u64;
        let own = |offset: usize, elements: usize| at(start + offset as u64, elements);
        let number = |offset: usize, each: usize| start + (offset + i * each * size_of::<c_int>()) as u64;
        let output = |index: usize, elements: usize| {
            let view = self.launch.outputs.get(index);
            view.map_or(0, |view| at(view.buffer.address + (view.layout.offset() * size) as u64, elements))
        };
        let (m, n, steps) = (self.m, self.n, self.m.min(self.n));
        // Vectors that nobody asks for lie on each other.
        let u = own(room.u, if self.is_lone() { 0 } else { self.u });
        let plain = MatrixPlace {
            a: own(room.a, m * self.columns),
            beside: own(room.beside, self.beside),
            pivots: number(room.pivots, self.pivots),
            info: number(room.info, 1),
            work: start + room.work as u64,
            ..MatrixPlace::default()
        };
        match self.what {
            Factor::Cholesky => MatrixPlace { a: output(0, n * n), ..plain },
            Factor::Eigh => MatrixPlace { beside: output(0, n), ..plain },
            // Columns of `v` are rows of its transpose, which is what is asked for.
            Factor::Svd if !self.is_lone() => {
                let v = output(2, n * height(self.launch, 2).unwrap_or(steps));
                MatrixPlace { beside: output(1, steps), u, v, ..plain }
            }
            Factor::Svd => MatrixPlace { beside: output(0, steps), u, v: start + room.v as u64, ..plain },
            _ => plain,
        }
    }

    /// The batch's dimensions and those of each of its tensors, `apart` elements from one to the next.
    fn laid_out(&self, sizes: &[usize], steps: &[usize], apart: usize, offset: usize) -> Result<Layout> {
        let shape = self.input.layout.shape();
        let outer = shape.get(..shape.len().saturating_sub(2)).unwrap_or_default();
        let shape: Dims = outer.iter().chain(sizes).copied().collect();
        let between = contiguous_strides(outer);
        let strides: Strides = between
            .iter()
            .map(|step| step * apart as isize)
            .chain(steps.iter().map(|&step| step as isize))
            .collect();
        Layout::new(shape, strides, offset)
    }
}

/// The last size but one of an output.
fn height(launch: &Launch, output: usize) -> Option<usize> {
    launch.outputs.get(output).and_then(|view| view.layout.shape().iter().rev().nth(1).copied())
}
