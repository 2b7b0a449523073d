//! One simulated GPU as a backend: values computed for real by the CPU's kernels, capacity and time modelled.
//!
//! Memory comes from the caching allocator over made-up addresses; the values behind an address lie in host
//! memory, and bytes are copied at once, whenever a copy ends on the clock. All devices of a machine share one
//! clock with the host (`host_backend`): what one device makes the host wait, the others see, and the same program
//! gives the same times on every computer.
//!
//! A machine that leaves out values computes none, and takes no host memory for them: all else is the same.
//!
//! TF32 and tensor cores change times, never values: float32 is computed in float32.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Device, DeviceCause, Error, Kind, Result, event, memory};
use crate::device::backend::{
    Backend, DevicePool, Exchange, GraphCache, GraphWork, Hold, Mark, Moved, Properties, Refusal, Transfer,
    Vitals, When, Workspace,
};
use crate::device::beside::{is_beside, is_unseen, unseen_address};
use crate::device::buffer::Buffer;
use crate::device::cpu::memory::{HostBlock, HostPool};
use crate::device::cpu::{copy_values, run, run_in_order};
use crate::device::kernel::{Arg, Kernel, KernelClass, Launch};
use crate::device::pool::Pool;
use crate::device::shared::Shared;

use super::clock::{self, Clock, ClockError, CopySpan, Held, StreamId};
use super::cost::{self, Direction};
use super::fault::SimFault;
use super::host::Host;
use super::host_backend::HostBackend;
use super::memory::{DeviceMemory, SharedClock};
use super::plan::{Plan, Planner};
use super::profile::Profile;

/// PyTorch hands out this many streams of a device in turn, besides the default one.
const STREAMS: u32 = 32;

/// The simulated part of a machine: the host, where its time is modelled, and one device per profile, in the order of
/// their ordinals.
pub fn devices(
    profiles: Vec<Profile>,
    host: &Host,
    shared: &Arc<Shared>,
) -> (Option<Box<dyn Backend>>, Vec<Box<dyn Backend>>) {
    let clock = Clock::new(profiles.clone(), host.profile.clone());
    let clock = SharedClock::new(clock, Arc::clone(shared.steps()));
    let values = Arc::new(HostPool::default());
    let device = |(ordinal, profile): (usize, &Profile)| -> Box<dyn Backend> {
        Box::new(SimBackend::new(ordinal, profile, &clock, &values, shared))
    };
    let gpus = profiles.iter().enumerate().map(device).collect();
    shared.host_addresses.make_up();
    let cpu = (!host.measured).then(|| HostBackend::start(&host.profile, &clock, shared));
    (cpu, gpus)
}

/// A simulated GPU.
pub(crate) struct SimBackend {
    device: Device,
    properties: Properties,
    clock: SharedClock,
    pool: Mutex<DevicePool>,
    /// Where the values lie; one for all devices of the machine.
    values: Arc<HostPool>,
    shared: Arc<Shared>,
    streams: AtomicU32,
    fault: SimFault,
    planner: Planner,
    /// Watts without work, and with nothing but work.
    power: Option<[f64; 2]>,
}

impl SimBackend {
    fn new(
        ordinal: usize,
        profile: &Profile,
        clock: &SharedClock,
        values: &Arc<HostPool>,
        shared: &Arc<Shared>,
    ) -> SimBackend {
        let device = Device::Cuda(ordinal as u16);
        let memory = DeviceMemory::new(profile.device.memory, profile.device.context, ordinal, clock.clone());
        let mut pool: DevicePool = Pool::new(Box::new(memory), ordinal as u32);
        if let Some(fraction) = profile.faults.memory_fraction {
            pool.keep_within((profile.device.memory as f64 * fraction) as u64);
        }
        SimBackend {
            device,
            properties: properties(profile),
            clock: clock.clone(),
            pool: Mutex::new(pool),
            values: Arc::clone(values),
            shared: Arc::clone(shared),
            streams: AtomicU32::new(0),
            fault: SimFault::new(device, profile.faults.fail_at_launch),
            planner: Planner::new(profile),
            power: profile.power.as_ref().map(|power| [power.idle, power.limit]),
        }
    }

    fn at(&self, stream: u32) -> StreamId {
        StreamId { device: self.device.index(), stream }
    }

    fn lock_pool(&self) -> MutexGuard<'_, DevicePool> {
        self.pool.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The clock, unless the device has failed by now.
    fn working_clock(&self) -> Result<MutexGuard<'_, Clock>> {
        let clock = self.clock.lock();
        self.fault.check(clock.now())?;
        Ok(clock)
    }

    /// Lets the host wait, and says how long it took.
    fn wait_for(
        &self,
        wait: impl FnOnce(&mut Clock) -> std::result::Result<u64, ClockError>,
    ) -> Result<event::Span> {
        let mut clock = self.working_clock()?;
        let start = clock.now();
        wait(&mut clock).map_err(refused)?;
        self.fault.check(clock.now())?;
        Ok(event::Span::modelled(start, clock.now()))
    }

    /// Queues a launch's kernels, as one operation of the stream.
    fn queue(
        &self,
        clock: &mut Clock,
        stream: u32,
        plan: &Plan,
    ) -> std::result::Result<clock::Span, ClockError> {
        let at = self.at(stream);
        if plan.before.is_empty() {
            return clock.launch(at, &plan.work);
        }
        clock.graph(at, |clock| self.parts(clock, stream, plan))
    }

    /// Runs a launch's kernels one after another.
    fn parts(
        &self,
        clock: &mut Clock,
        stream: u32,
        plan: &Plan,
    ) -> std::result::Result<clock::Span, ClockError> {
        let at = self.at(stream);
        let mut first = None;
        for work in &plan.before {
            first.get_or_insert(clock.launch(at, work)?.start);
        }
        let own = clock.launch(at, &plan.work)?;
        Ok(clock::Span { start: first.unwrap_or(own.start), end: own.end })
    }

    /// Lets cuDNN look for a convolution's fastest algorithm, where it is to: each is run, and waited for.
    fn search(&self, clock: &mut Clock, launch: &Launch) -> std::result::Result<Option<Held>, ClockError> {
        let Some(search) = self.planner.search(launch, &self.shared.settings) else { return Ok(None) };
        let (at, start) = (self.at(launch.stream), clock.now());
        for work in &search.works {
            for _ in 0..search.trials {
                clock.launch(at, work)?;
            }
            clock.synchronize_stream(at)?;
        }
        Ok(Some(Held { device: self.device.index(), cause: "cudnn.benchmark", start, end: clock.now() }))
    }

    /// The order in which a launch adds, where chance decides it.
    fn chance(&self, plan: &Plan) -> Option<u64> {
        plan.by_chance.then(|| self.shared.chance.draw(self.device.index()))
    }

    /// Memory for a library: bytes that nobody reads.
    fn library_memory(&self, bytes: u64, stream: u32) -> std::result::Result<Buffer, Refusal> {
        drop(self.working_clock()?);
        let block = self.lock_pool().allocate(bytes, stream)?;
        Ok(Buffer::new(block.address, block.bytes as usize, None, false))
    }

    /// When the copy runs, by the directions of its ends.
    fn schedule(
        &self,
        clock: &mut Clock,
        transfer: &Transfer,
    ) -> std::result::Result<(CopySpan, bool), ClockError> {
        let (from, to, bytes) = (transfer.from.0, transfer.to.0, transfer.bytes as u64);
        let stream = |device: Device, stream| StreamId { device: device.index(), stream };
        let (direction, pinned) = match (from, to) {
            (Device::Cpu, _) => (Direction::H2D, transfer.from.1.pinned),
            (_, Device::Cpu) => (Direction::D2H, transfer.to.1.pinned),
            _ => {
                let (from, to) = (stream(from, transfer.stream), stream(to, transfer.target_stream));
                return Ok((clock.copy_peer(from, to, bytes)?, false));
            }
        };
        let copy = cost::Transfer { direction, bytes, pinned };
        let when = clock.copy(self.at(transfer.stream), &copy, transfer.non_blocking);
        Ok((when?, pinned))
    }

    /// Host memory for so many bytes of values.
    fn host_memory(&self, bytes: u64) -> Result<HostBlock> {
        let taken = usize::try_from(bytes).ok().and_then(|bytes| self.values.take(bytes).ok());
        taken.ok_or_else(|| {
            let text = format!(
                "this computer has no {bytes} bytes of memory left for the values of {} (simulated)",
                self.device
            );
            Error::new(Kind::OutOfMemoryError, text).with_hint(
                "a simulated device computes every value, and keeps it in main memory: use less of it",
            )
        })
    }
}

impl Backend for SimBackend {
    fn device(&self) -> Device {
        self.device
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize, stream: u32) -> std::result::Result<Buffer, Refusal> {
        if bytes == 0 {
            return Ok(Buffer::new(0, 0, None, false));
        }
        drop(self.working_clock()?);
        let block = self.lock_pool().allocate(bytes as u64, stream)?;
        if !self.shared.has_values() {
            let buffer = Buffer::new(block.address, block.bytes as usize, None, false);
            buffer.set_hollow(true);
            return Ok(buffer);
        }
        match self.host_memory(block.bytes) {
            Ok(host) => {
                let bytes = block.bytes as usize;
                Ok(Buffer::new(block.address, bytes, Some(host), false))
            }
            Err(error) => {
                self.lock_pool().free(block.address);
                Err(error.into())
            }
        }
    }

    fn unseen(&self, bytes: usize) -> Result<Buffer> {
        if bytes == 0 || !self.shared.has_values() {
            let address = if bytes == 0 { 0 } else { unseen_address(bytes) };
            let buffer = Buffer::new(address, bytes, None, false);
            buffer.set_hollow(bytes > 0);
            return Ok(buffer);
        }
        Ok(Buffer::new(unseen_address(bytes), bytes, Some(self.host_memory(bytes as u64)?), false))
    }

    fn free(&self, buffer: Buffer) {
        if !is_unseen(&buffer) {
            let known = self.lock_pool().free(buffer.address);
            debug_assert!(known, "a buffer is freed once");
        }
        if let Some(block) = buffer.host {
            self.values.give(block);
        }
    }

    fn page_lock(&self, block: &HostBlock) -> Result<()> {
        let mut clock = self.working_clock()?;
        if self.shared.host_time().is_some() {
            // The host's side charges for it: see `takes_pinned`.
            return Ok(());
        }
        clock.pin(self.device.index(), block.capacity() as u64).map_err(refused)
    }

    fn pool(&self) -> Option<&Mutex<DevicePool>> {
        Some(&self.pool)
    }

    fn workspace(&self, launch: &Launch) -> std::result::Result<Option<Workspace>, Refusal> {
        let settings = &self.shared.settings;
        match launch.kernel.class() {
            KernelClass::Convolution => {
                let take = |bytes| self.library_memory(bytes, launch.stream).ok();
                let taken = self.planner.workspace(launch, settings, take);
                Ok(taken.map(|(buffer, requested, search)| Workspace {
                    buffer,
                    requested,
                    owner: "cudnn workspace",
                    search,
                }))
            }
            KernelClass::Matmul => {
                let (requested, owner) = blas_workspace(launch, self.properties.capability);
                let buffer = self.library_memory(requested, launch.stream)?;
                Ok(Some(Workspace { buffer, requested, owner, search: false }))
            }
            _ => Ok(None),
        }
    }

    fn begin_anew(&self) {
        self.planner.forget();
        self.streams.store(0, Ordering::Relaxed);
    }

    /// Power lies between that without work and the limit as utilisation does between none and all.
    fn vitals(&self) -> Vitals {
        let utilisation = self.clock.lock().utilisation(self.device.index()).ok();
        let power =
            self.power.zip(utilisation).map(|([idle, limit], share)| [idle + (limit - idle) * share, limit]);
        Vitals { utilisation, power, ..Vitals::default() }
    }

    /// Computes at once, and always gives the modelled span: time passes whether or not anyone looks.
    fn launch(&self, launch: &Launch) -> Result<When> {
        let mut clock = self.working_clock()?;
        let searched = self.search(&mut clock, launch).map_err(refused)?;
        let plan = self.planner.plan(launch, &self.shared.settings);
        let when = self.queue(&mut clock, launch.stream, &plan).map_err(refused)?;
        if let Some(held) = searched {
            clock.tell_of(held);
        }
        drop(clock);
        if self.fault.launched(when.end) && self.shared.has_values() {
            run_in_order(launch, self.chance(&plan))?;
        }
        Ok(When::Ran(event::Span::modelled(when.start, when.end)))
    }

    /// All parts are timed first, as one launch of the host, and then computed in their order.
    fn replay(&self, stream: u32, work: &[GraphWork], _kept: &mut GraphCache) -> Result<Vec<When>> {
        let plan = |part: &GraphWork| match part {
            GraphWork::Launch(launch) => Some(self.planner.plan(launch, &self.shared.settings)),
            GraphWork::Copy(_) => None,
        };
        let plans = memory::collected(work.iter().map(plan))?;
        let mut clock = self.working_clock()?;
        let mut timed = memory::with_capacity(work.len())?;
        let queued = clock.graph(self.at(stream), |clock| {
            for (part, plan) in work.iter().zip(&plans) {
                timed.push(match (part, plan) {
                    (GraphWork::Launch(launch), Some(plan)) => {
                        let when = self.parts(clock, launch.stream, plan)?;
                        event::Span::modelled(when.start, when.end)
                    }
                    (GraphWork::Launch(_), None) => continue,
                    (GraphWork::Copy(transfer), _) => {
                        let (when, _) = self.schedule(clock, transfer)?;
                        event::Span::modelled(when.start, when.end)
                    }
                });
            }
            Ok(())
        });
        queued.map_err(refused)?;
        drop(clock);
        for ((part, plan), span) in work.iter().zip(&plans).zip(&timed) {
            match part {
                GraphWork::Launch(launch) if self.fault.launched(span.end()) && self.shared.has_values() => {
                    run_in_order(launch, plan.as_ref().and_then(|plan| self.chance(plan)))?;
                }
                GraphWork::Copy(transfer) if !self.fault.is_due() => copy_values(transfer),
                _ => {}
            }
        }
        Ok(timed.into_iter().map(When::Ran).collect())
    }

    fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        let mut clock = self.working_clock()?;
        let (when, pinned) = self.schedule(&mut clock, transfer).map_err(refused)?;
        let now = clock.now();
        drop(clock);
        if when.blocking {
            self.fault.check(now)?;
        }
        if !self.fault.is_due() {
            copy_values(transfer);
        }
        let held = when.blocking || when.host_waited > 0;
        let waited = held.then(|| event::Span::modelled(now.saturating_sub(when.host_waited), now));
        Ok(Moved {
            when: When::Ran(event::Span::modelled(when.start, when.end)),
            pinned,
            blocking: when.blocking,
            waited,
        })
    }

    fn exchange(&self, exchange: &Exchange) -> Result<Option<event::Span>> {
        let span = self.working_clock()?.exchange(exchange).map_err(refused)?;
        self.fault.check(span.end)?;
        Ok(Some(event::Span::modelled(span.start, span.end)))
    }

    fn compute(&self, launch: &Launch) -> Result<()> {
        match self.shared.has_values() {
            // A part of a kernel, whose sums come in as little an order as the kernel's own.
            true if is_beside() => {
                run_in_order(launch, self.chance(&self.planner.plan(launch, &self.shared.settings)))
            }
            true => run(launch),
            false => Ok(()),
        }
    }

    fn take_hold(&self) -> Option<Hold> {
        let held = self.clock.lock().take_held(self.device.index())?;
        Some((held.cause, event::Span::modelled(held.start, held.end)))
    }

    fn create_stream(&self) -> Result<u32> {
        Ok(1 + self.streams.fetch_add(1, Ordering::Relaxed) % STREAMS)
    }

    fn record(&self, stream: u32) -> Result<Mark> {
        let mark = self.working_clock()?.record(self.at(stream)).map_err(refused)?;
        Ok(Mark { device: self.device, stream, value: mark.time })
    }

    fn wait(&self, stream: u32, mark: Mark) -> Result<()> {
        self.working_clock()?.wait_event(self.at(stream), on_clock(mark)).map_err(refused)
    }

    fn query(&self, mark: Mark) -> Result<bool> {
        self.working_clock()?.query(on_clock(mark)).map_err(refused)
    }

    fn elapsed(&self, from: Mark, to: Mark) -> Result<f64> {
        self.working_clock()?.elapsed(on_clock(from), on_clock(to)).map_err(refused)
    }

    fn synchronize(&self, stream: Option<u32>) -> Result<event::Span> {
        self.wait_for(|clock| match stream {
            Some(stream) => clock.synchronize_stream(self.at(stream)),
            None => clock.synchronize_device(self.device.index()),
        })
    }

    fn synchronize_mark(&self, mark: Mark) -> Result<event::Span> {
        self.wait_for(|clock| clock.synchronize_mark(on_clock(mark)))
    }

    fn now(&self) -> u64 {
        self.clock.lock().now()
    }

    fn worked(&self) -> u64 {
        self.clock.lock().worked(self.device.index())
    }
}

/// What PyTorch 2.15 gives cuBLAS to work in, and which of its libraries: cuBLASLt serves a product with a row added to
/// it, of more than one row and one column (`addmm` and `linear` with a bias).
fn blas_workspace(launch: &Launch, capability: (u32, u32)) -> (u64, &'static str) {
    const LT: u64 = 1 << 20;
    const FROM_HOPPER: u64 = 4096 * 8 * 1024;
    const BEFORE: u64 = (2 * 4096 + 8 * 16) * 1024;
    if let (Kernel::Matmul { beta: 1.0, .. }, [Arg::View(a), _, Arg::View(added)]) =
        (launch.kernel, launch.inputs)
        && let (&[m, k], &[0, 1]) = (a.layout.shape(), added.layout.strides())
        && m > 1
        && k > 1
    {
        return (LT, "cublasLt workspace");
    }
    (if capability >= (9, 0) { FROM_HOPPER } else { BEFORE }, "cublas workspace")
}

fn properties(profile: &Profile) -> Properties {
    let device = &profile.device;
    Properties {
        name: profile.name.clone(),
        simulated: true,
        total_memory: device.memory,
        capability: device.compute_capability,
        multiprocessors: device.sm_count,
        threads_per_multiprocessor: device.threads_per_sm,
        l2_cache: device.l2_cache,
        peer_access: profile.peer.access,
        clock: event::Clock::Modelled,
    }
}

fn on_clock(mark: Mark) -> clock::Mark {
    clock::Mark { at: StreamId { device: mark.device.index(), stream: mark.stream }, time: mark.value }
}

/// A clock's refusal as PyTorch puts it.
fn refused(error: ClockError) -> Error {
    match error {
        ClockError::NoDevice { device, count } => {
            DeviceCause::InvalidOrdinal { ordinal: device, count }.into()
        }
        ClockError::NotReached { .. } => {
            Error::runtime("Both events must be completed before calculating elapsed time.")
                .with_hint("wait for the later one first: `end.synchronize()`")
        }
        ClockError::DifferentDevices { .. } => Error::runtime("CUDA error: invalid resource handle")
            .with_hint("time runs from one event to another of the same device"),
        ClockError::NoThread { .. } | ClockError::CannotJoin { .. } => Error::runtime(error.to_string()),
    }
}
