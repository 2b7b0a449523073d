//! The CPU of a machine with simulated GPUs: this computer's kernels and memory, and the time of a host profile.

use std::sync::{Arc, Mutex};

use crate::base::event::{Body, Clock, Source, Span};
use crate::base::{Device, Result};
use crate::device::backend::{
    Backend, DevicePool, Exchange, Mark, Moved, Properties, Refusal, Transfer, When,
};
use crate::device::buffer::Buffer;
use crate::device::cpu::memory::HostBlock;
use crate::device::cpu::{CpuBackend, copy_values, run};
use crate::device::host_time::{Entry, HostThread, HostTime, Ledger, note_pinned, note_unpinned, note_work};
use crate::device::kernel::{Arg, Kernel, Launch};
use crate::device::settings::Tf32;
use crate::device::shared::Shared;

use super::cores::cpu_kernel;
use super::cost::{Work, copy_within};
use super::host::HostProfile;
use super::memory::SharedClock;
use super::work;

/// The host as a backend.
pub(super) struct HostBackend {
    cpu: CpuBackend,
    clock: SharedClock,
    properties: Properties,
    /// For a worker, whose kernels have one core.
    profile: HostProfile,
    shared: Arc<Shared>,
}

impl HostBackend {
    /// The host of a machine, whose time the machine goes by from now on.
    pub(super) fn start(
        profile: &HostProfile,
        clock: &SharedClock,
        shared: &Arc<Shared>,
    ) -> Box<dyn Backend> {
        shared.set_host_time(Arc::new(ModelledHost { clock: clock.clone() }));
        let cpu = CpuBackend::new(Arc::clone(shared));
        let name = format!("{} (simulated host)", profile.name);
        let properties =
            Properties { name, simulated: true, clock: Clock::Modelled, ..cpu.properties().clone() };
        Box::new(HostBackend {
            cpu,
            clock: clock.clone(),
            properties,
            profile: profile.clone(),
            shared: Arc::clone(shared),
        })
    }

    /// Whether what a launch writes has no values: nothing does that is made of memory without them, and where they
    /// are left out on the devices, many random numbers, such as a large model's weights, are not drawn here either.
    fn leaves_out(&self, launch: &Launch) -> bool {
        let bytes = || launch.outputs.iter().map(|out| out.layout.numel() * out.dtype.size()).sum::<usize>();
        let is_drawn = matches!(launch.kernel, Kernel::Random(_))
            && launch.outputs.iter().all(|out| out.dtype.is_float())
            && !self.shared.has_values()
            && bytes() >= MANY_DRAWN;
        if is_drawn {
            launch.outputs.iter().for_each(|out| out.buffer.set_hollow(true));
        }
        is_drawn || without_values(launch)
    }

    /// When work takes place that the calling thread does now.
    fn charge(&self, work: &Work) -> Span {
        if note_work_of(&self.profile, work) {
            // Known once the batch is taken.
            return Span::modelled(0, 0);
        }
        let when = self.clock.lock().host_kernel(work);
        Span::modelled(when.start, when.end)
    }
}

/// Bytes of random numbers that are not drawn where values are left out.
const MANY_DRAWN: usize = 1 << 20;

/// Whether a launch reads memory without values: what it writes has none then either.
fn without_values(launch: &Launch) -> bool {
    let is_hollow = |arg: &Arg| matches!(arg, Arg::View(view) if view.buffer.is_hollow());
    let hollow = launch.inputs.iter().any(is_hollow);
    if hollow {
        launch.outputs.iter().for_each(|out| out.buffer.set_hollow(true));
    }
    hollow
}

/// Notes a kernel in the calling thread's ledger, where it keeps one.
fn note_work_of(profile: &HostProfile, work: &Work) -> bool {
    note_work(|| cpu_kernel(profile, work, 1))
}

impl Backend for HostBackend {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize, stream: u32) -> std::result::Result<Buffer, Refusal> {
        self.cpu.allocate(bytes, stream)
    }

    fn limit_memory(&self, bytes: u64) {
        self.cpu.limit_memory(bytes);
    }

    fn free(&self, buffer: Buffer) {
        if buffer.pinned && !note_unpinned(buffer.bytes as u64) {
            self.clock.lock().gives_pinned(buffer.bytes as u64);
        }
        self.cpu.free(buffer);
    }

    /// Which piece of memory serves again depends on how far real threads got, so that the clock counts for itself.
    fn takes_pinned(&self, bytes: u64) {
        if !note_pinned(bytes) {
            let mut clock = self.clock.lock();
            let nanos = clock.pins(bytes);
            clock.host_work(nanos);
        }
    }

    fn begin_anew(&self) {
        self.clock.lock().forget_pinned();
    }

    fn page_lock(&self, block: &HostBlock) -> Result<()> {
        self.cpu.page_lock(block)
    }

    fn has_lstm_cell(&self) -> bool {
        true
    }

    fn pool(&self) -> Option<&Mutex<DevicePool>> {
        None
    }

    /// Computes, and always gives the modelled span: time passes whether or not anyone looks.
    fn launch(&self, launch: &Launch) -> Result<When> {
        let when = self.charge(&work::work(launch, Tf32::default()));
        if !self.leaves_out(launch) {
            run(launch)?;
        }
        Ok(When::Ran(when))
    }

    fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        let when = self.charge(&copy_within(transfer.bytes as u64));
        copy_values(transfer);
        Ok(Moved { when: When::Ran(when), pinned: false, blocking: true, waited: Some(when) })
    }

    /// Through memory that both processes have: each step is a copy on one core.
    fn exchange(&self, exchange: &Exchange) -> Result<Option<Span>> {
        let step = |bytes| cpu_kernel(&self.profile, &copy_within(bytes), 1);
        let steps = exchange.steps.saturating_mul(step(exchange.bytes));
        let length = steps.saturating_add(exchange.hops.saturating_mul(step(0)));
        Ok(Some(Span::modelled(exchange.ready, exchange.ready.saturating_add(length))))
    }

    fn compute(&self, launch: &Launch) -> Result<()> {
        if self.leaves_out(launch) { Ok(()) } else { run(launch) }
    }

    fn create_stream(&self) -> Result<u32> {
        self.cpu.create_stream()
    }

    fn record(&self, stream: u32) -> Result<Mark> {
        Ok(Mark { device: Device::Cpu, stream, value: self.now() })
    }

    fn wait(&self, stream: u32, mark: Mark) -> Result<()> {
        self.cpu.wait(stream, mark)
    }

    fn query(&self, mark: Mark) -> Result<bool> {
        self.cpu.query(mark)
    }

    fn elapsed(&self, from: Mark, to: Mark) -> Result<f64> {
        self.cpu.elapsed(from, to)
    }

    fn synchronize(&self, _stream: Option<u32>) -> Result<Span> {
        let now = self.now();
        Ok(Span::modelled(now, now))
    }

    fn synchronize_mark(&self, _mark: Mark) -> Result<Span> {
        self.synchronize(None)
    }

    fn now(&self) -> u64 {
        self.clock.lock().now()
    }
}

/// The host's side of the machine's clock.
struct ModelledHost {
    clock: SharedClock,
}

impl HostTime for ModelledHost {
    fn now(&self) -> u64 {
        self.clock.lock().now()
    }

    fn seen(&self) -> u64 {
        self.clock.look().now()
    }

    fn cores(&self) -> usize {
        self.clock.lock().host().cpu.cores as usize
    }

    fn sleep(&self, nanos: u64) {
        self.clock.lock().sleep(nanos);
    }

    fn wait_until(&self, time: u64) -> Span {
        let mut clock = self.clock.lock();
        let start = clock.now();
        clock.wait_until(time);
        Span::modelled(start, clock.now())
    }

    fn crowd(&self, workers: i32) {
        self.clock.lock().crowd(workers);
    }

    fn begin_thread(&self) -> HostThread {
        self.clock.lock().spawn()
    }

    fn run_thread(&self, thread: HostThread) {
        let known = self.clock.lock().switch(thread);
        debug_assert!(known.is_ok(), "a thread runs between its beginning and its end");
    }

    fn end_thread(&self, thread: HostThread) {
        let known = self.clock.lock().join(thread);
        debug_assert!(known.is_ok(), "a thread ends once, while another runs");
    }

    fn replay(&self, start: u64, ledger: Ledger, tell: &mut dyn FnMut(Source, Body)) -> u64 {
        let mut at = start;
        for entry in ledger.entries {
            let mut clock = self.clock.lock();
            match entry {
                Entry::Sleep(nanos) => at = at.saturating_add(nanos),
                Entry::Pinned(bytes) => match clock.pins(bytes) {
                    0 => {}
                    nanos => at = clock.worker_takes(at, nanos).end,
                },
                Entry::Unpinned(bytes) => clock.gives_pinned(bytes),
                Entry::Steps(steps) => {
                    let nanos = (steps as f64 * clock.host().step).ceil() as u64;
                    at = clock.worker_takes(at, nanos).end;
                }
                Entry::Work(nanos, event) => {
                    let when = clock.worker_takes(at, nanos);
                    drop(clock);
                    at = when.end;
                    if let Some((source, mut body)) = event.map(|event| *event) {
                        if let Body::Launch { span: ran, .. } | Body::Copy { span: ran, .. } = &mut body {
                            *ran = Span::modelled(when.start, when.end);
                        }
                        tell(source, body);
                    }
                }
            }
        }
        at
    }
}
