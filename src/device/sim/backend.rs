//! One simulated GPU as a backend: values computed for real by the CPU's kernels, capacity and time modelled.
//!
//! Memory comes from the caching allocator over made-up addresses; the values behind an address lie in host
//! memory, and bytes are copied at once, whenever a copy ends on the clock. All devices of a machine share one
//! clock, and with it the host's time: what one device makes the host wait, the others see. The host's own work
//! is not modelled: script code and CPU tensors take no time here, so only calls to a device move the clock,
//! and the same calls give the same times on every computer.
//!
//! TF32 and tensor cores change times, never values: float32 is computed in float32.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Device, DeviceCause, Error, Kind, Result, event, memory};
use crate::device::backend::{
    Backend, DevicePool, GraphWork, Hold, Mark, Moved, Properties, Refusal, Transfer, Vitals, When,
};
use crate::device::buffer::Buffer;
use crate::device::cpu::memory::{HostBlock, HostPool};
use crate::device::cpu::{copy_bytes, run};
use crate::device::kernel::Launch;
use crate::device::pool::{Block, Pool};
use crate::device::shared::Shared;

use super::clock::{self, Clock, ClockError, CopySpan, StreamId};
use super::cost::{self, Direction};
use super::fault::SimFault;
use super::memory::{DeviceMemory, SharedClock};
use super::profile::Profile;
use super::work;

/// PyTorch hands out this many streams of a device in turn, besides the default one.
const STREAMS: u32 = 32;

/// The devices of a simulated machine, one per profile, in the order of their ordinals.
pub fn devices(profiles: Vec<Profile>, shared: &Arc<Shared>) -> Vec<Box<dyn Backend>> {
    let clock = SharedClock::new(Clock::new(profiles.clone()));
    let values = Arc::new(HostPool::default());
    let device = |(ordinal, profile): (usize, &Profile)| -> Box<dyn Backend> {
        Box::new(SimBackend::new(ordinal, profile, &clock, &values, shared))
    };
    profiles.iter().enumerate().map(device).collect()
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
        Ok(span(start, clock.now()))
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

    /// Host memory for the values of a block.
    fn host_memory(&self, block: &Block) -> Result<HostBlock> {
        let taken = usize::try_from(block.bytes).ok().and_then(|bytes| self.values.take(bytes).ok());
        taken.ok_or_else(|| {
            let text = format!(
                "this computer has no {} bytes of memory left for the values of {} (simulated)",
                block.bytes, self.device
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
            return Ok(Buffer { address: 0, bytes: 0, host: None, pinned: false });
        }
        drop(self.working_clock()?);
        let block = self.lock_pool().allocate(bytes as u64, stream)?;
        match self.host_memory(&block) {
            Ok(host) => {
                let bytes = block.bytes as usize;
                Ok(Buffer { address: block.address, bytes, host: Some(host), pinned: false })
            }
            Err(error) => {
                self.lock_pool().free(block.address);
                Err(error.into())
            }
        }
    }

    fn free(&self, buffer: Buffer) {
        let known = self.lock_pool().free(buffer.address);
        debug_assert!(known, "a buffer is freed once");
        if let Some(block) = buffer.host {
            self.values.give(block);
        }
    }

    fn page_lock(&self, block: &HostBlock) -> Result<()> {
        let mut clock = self.working_clock()?;
        clock.pin(self.device.index(), block.capacity() as u64).map_err(refused)
    }

    fn pool(&self) -> Option<&Mutex<DevicePool>> {
        Some(&self.pool)
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
        let work = work::work(launch, self.shared.settings.tf32());
        let when = self.working_clock()?.launch(self.at(launch.stream), &work).map_err(refused)?;
        if self.fault.launched(when.end) {
            run(launch)?;
        }
        Ok(When::Ran(span(when.start, when.end)))
    }

    /// All parts are timed first, as one launch of the host, and then computed in their order.
    fn replay(&self, stream: u32, work: &[GraphWork]) -> Result<Vec<When>> {
        let tf32 = self.shared.settings.tf32();
        let mut clock = self.working_clock()?;
        let mut timed = memory::with_capacity(work.len())?;
        let queued = clock.graph(self.at(stream), |clock| {
            for part in work {
                timed.push(match part {
                    GraphWork::Launch(launch) => {
                        let when = clock.launch(self.at(launch.stream), &work::work(launch, tf32))?;
                        span(when.start, when.end)
                    }
                    GraphWork::Copy(transfer) => {
                        let (when, _) = self.schedule(clock, transfer)?;
                        span(when.start, when.end)
                    }
                });
            }
            Ok(())
        });
        queued.map_err(refused)?;
        drop(clock);
        for (part, span) in work.iter().zip(&timed) {
            match part {
                GraphWork::Launch(launch) if self.fault.launched(span.end()) => run(launch)?,
                GraphWork::Copy(transfer) if !self.fault.is_due() => copy_bytes(transfer),
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
            copy_bytes(transfer);
        }
        let held = when.blocking || when.host_waited > 0;
        let waited = held.then(|| span(now.saturating_sub(when.host_waited), now));
        Ok(Moved { when: When::Ran(span(when.start, when.end)), pinned, blocking: when.blocking, waited })
    }

    fn take_hold(&self) -> Option<Hold> {
        let held = self.clock.lock().take_held(self.device.index())?;
        Some((held.cause, span(held.start, held.end)))
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

fn span(start: u64, end: u64) -> event::Span {
    event::Span { start, nanos: end.saturating_sub(start), clock: event::Clock::Modelled }
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
