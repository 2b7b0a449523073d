//! The devices of one session, entered per thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::event::Bus;
use crate::base::{DType, Device, DeviceCause, DeviceSpec, Error, Result};
use crate::device::chance::ChanceState;
use crate::device::examine::examining;
use crate::device::settings::Settings;
use crate::device::shared::Shared;

use super::backend::Backend;
use super::context::Context;
use super::cpu::CpuBackend;
use super::distribution::Distribution;
use super::kernel::RandomSource;
use super::philox_state::PhiloxState;
use super::random;

/// The CPU, the accelerators, and what they share: one per session.
pub struct Machine {
    pub shared: Arc<Shared>,
    cpu: Arc<Context>,
    gpus: Vec<Arc<Context>>,
    current: AtomicUsize,
    /// The CPU generator.
    pub generator: random::Shared,
    /// The generators of the accelerators, by ordinal.
    philox: Vec<PhiloxState>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Machine>>> = const { RefCell::new(None) };
}

/// While it lives, new tensors lie on another device.
#[must_use = "the default is the earlier one again when it is dropped"]
pub(crate) struct DefaultDevice {
    machine: Arc<Machine>,
    before: Option<DeviceSpec>,
}

impl Drop for DefaultDevice {
    fn drop(&mut self) {
        self.machine.shared.settings.set_default_device(self.before);
    }
}

impl Machine {
    /// A machine with the CPU and the accelerators that `make` gives; this computer's CPU where it gives none.
    pub fn new(
        make: impl FnOnce(&Arc<Shared>) -> (Option<Box<dyn Backend>>, Vec<Box<dyn Backend>>),
    ) -> Arc<Machine> {
        let shared = Arc::new(Shared::new());
        let (cpu, gpus) = make(&shared);
        Machine::with(cpu, gpus, shared)
    }

    /// As [`new`](Machine::new), where making the accelerators may fail.
    pub(crate) fn try_new(
        gpus: impl FnOnce(&Arc<Shared>) -> Result<Vec<Box<dyn Backend>>>,
    ) -> Result<Arc<Machine>> {
        let shared = Arc::new(Shared::new());
        let gpus = gpus(&shared)?;
        Ok(Machine::with(None, gpus, shared))
    }

    fn with(cpu: Option<Box<dyn Backend>>, gpus: Vec<Box<dyn Backend>>, shared: Arc<Shared>) -> Arc<Machine> {
        let cpu = cpu.unwrap_or_else(|| Box::new(CpuBackend::new(Arc::clone(&shared))));
        let context = |backend| Context::new(backend, Arc::clone(&shared));
        let gpus: Vec<_> = gpus.into_iter().map(context).collect();
        let (_, host) = shared.time();
        shared.set_both_clocks(gpus.iter().any(|gpu| gpu.backend.properties().clock != host));
        Arc::new(Machine {
            philox: gpus.iter().map(|gpu| generator(gpu, random::DEFAULT_SEED)).collect(),
            cpu: context(cpu),
            gpus,
            current: AtomicUsize::new(0),
            generator: random::Shared::new(random::DEFAULT_SEED),
            shared,
        })
    }

    /// A machine without accelerators.
    pub fn cpu_only() -> Arc<Machine> {
        Machine::new(|_| (None, Vec::new()))
    }

    /// The same devices with generators of its own, seeded afresh: for a thread whose draws must not depend on
    /// what others draw.
    pub fn seeded(&self, seed: u64) -> Arc<Machine> {
        Arc::new(Machine {
            shared: Arc::clone(&self.shared),
            cpu: Arc::clone(&self.cpu),
            gpus: self.gpus.clone(),
            current: AtomicUsize::new(self.current_gpu()),
            generator: random::Shared::new(seed),
            philox: self.gpus.iter().map(|gpu| generator(gpu, seed)).collect(),
        })
    }

    /// The same devices, with the CPU's draws taken from `generator`.
    pub(crate) fn drawing_from(&self, generator: random::Shared) -> Arc<Machine> {
        let seed = generator.lock().seed();
        Arc::new(Machine {
            shared: Arc::clone(&self.shared),
            cpu: Arc::clone(&self.cpu),
            gpus: self.gpus.clone(),
            current: AtomicUsize::new(self.current_gpu()),
            generator,
            philox: self.gpus.iter().map(|gpu| self::generator(gpu, seed)).collect(),
        })
    }

    /// Makes this the thread's machine until the guard is dropped.
    pub fn enter(self: &Arc<Self>) -> Entered {
        Entered(CURRENT.with(|c| c.borrow_mut().replace(Arc::clone(self))))
    }

    /// The thread's machine; a CPU-only one where none was entered.
    pub fn current() -> Arc<Machine> {
        CURRENT.with(|c| Arc::clone(c.borrow_mut().get_or_insert_with(Machine::cpu_only)))
    }

    /// The host.
    pub fn cpu(&self) -> &Arc<Context> {
        &self.cpu
    }

    /// The GPUs, by ordinal.
    pub fn gpus(&self) -> &[Arc<Context>] {
        &self.gpus
    }

    /// Where its events are sent and read.
    pub fn bus(&self) -> &Arc<Bus> {
        &self.shared.bus
    }

    /// All devices, the CPU first.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = &Arc<Context>> {
        std::iter::once(&self.cpu).chain(&self.gpus)
    }

    /// The context of a device, or PyTorch's error for an ordinal that does not exist.
    pub fn context(&self, device: Device) -> Result<&Arc<Context>> {
        match device {
            Device::Cpu => Ok(&self.cpu),
            Device::Cuda(i) => self.gpus.get(usize::from(i)).ok_or_else(|| self.no_such_gpu(usize::from(i))),
        }
    }

    #[cold]
    fn no_such_gpu(&self, ordinal: usize) -> Error {
        match self.gpus.len() {
            0 => DeviceCause::NoGpu { hidden: self.shared.hides_gpus() }.into(),
            count => DeviceCause::InvalidOrdinal { ordinal, count }.into(),
        }
    }

    /// The device a learner's words mean now.
    pub fn resolve(&self, spec: DeviceSpec) -> Device {
        spec.on(self.current_gpu())
    }

    /// Tells of everything that was enqueued, waiting for it where its times are not known yet.
    ///
    /// # Errors
    /// What went wrong on a device meanwhile.
    pub(crate) fn settle(&self) -> Result<()> {
        self.gpus.iter().try_for_each(|gpu| gpu.settle())
    }

    /// The ordinal that `cuda` means.
    pub(crate) fn current_gpu(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Where new tensors lie that are not told where. What a learner chose for that is no matter of a check's.
    pub(crate) fn default_device(&self) -> Option<DeviceSpec> {
        if examining() { None } else { self.shared.settings.default_device() }
    }

    /// Has new tensors lie there until the guard is dropped.
    pub(crate) fn with_default_device(self: &Arc<Self>, device: DeviceSpec) -> DefaultDevice {
        let before = self.shared.settings.default_device();
        self.shared.settings.set_default_device(Some(device));
        DefaultDevice { machine: Arc::clone(self), before }
    }

    /// Has new tensors lie there from now on.
    pub(crate) fn set_default_device(&self, device: DeviceSpec) {
        self.shared.settings.set_default_device(Some(device));
    }

    /// Makes an accelerator current and gives the one that was.
    pub fn set_current_gpu(&self, ordinal: usize) -> Result<usize> {
        if ordinal >= self.gpus.len() {
            return Err(self.no_such_gpu(ordinal));
        }
        Ok(self.current.swap(ordinal, Ordering::Relaxed))
    }

    /// Makes everything as it was in the beginning, but for what tensors hold: the first accelerator and its default
    /// stream are current, generators stand at their seed, switches as they were, nothing is cached, counts and
    /// peaks begin anew, all memory may be taken, and nothing was warned of.
    pub fn reset(&self) {
        self.current.store(0, Ordering::Relaxed);
        self.manual_seed(random::DEFAULT_SEED);
        self.shared.settings.reset();
        self.shared.chance.restart();
        self.shared.forget_warnings();
        self.cpu.begin_anew();
        for gpu in &self.gpus {
            gpu.set_stream(0);
            gpu.begin_anew();
        }
    }

    /// What code sets beside its values, as it is now.
    pub(crate) fn modes(&self) -> Modes {
        Modes {
            current: self.current_gpu(),
            streams: self.gpus.iter().map(|gpu| gpu.stream()).collect(),
            philox: self.philox.iter().map(PhiloxState::get).collect(),
            settings: self.shared.settings.kept(),
            chance: self.shared.chance.state(),
        }
    }

    /// Makes it so again.
    pub(crate) fn set_modes(&self, modes: &Modes) {
        self.current.store(modes.current, Ordering::Relaxed);
        for (gpu, stream) in self.gpus.iter().zip(&modes.streams) {
            gpu.set_stream(*stream);
        }
        self.philox.iter().zip(&modes.philox).for_each(|(g, at)| g.set(*at));
        self.shared.settings.set_all(&modes.settings);
        self.shared.chance.set_state(&modes.chance);
    }

    /// Limits the bytes that tensors hold in main memory, and those that are taken from each accelerator.
    pub(crate) fn limit_memory(&self, host: Option<u64>, accelerator: Option<u64>) {
        if let Some(bytes) = host {
            self.cpu.backend.limit_memory(bytes);
        }
        if let Some(bytes) = accelerator {
            self.gpus.iter().for_each(|gpu| gpu.backend.limit_memory(bytes));
        }
    }

    /// Fixes what simulated GPUs leave to chance, the order in which their atomics add: what is done from now on repeats
    /// with the same seed. A machine begins with it fixed.
    pub fn fix_chance(&self, seed: u64) {
        self.shared.chance.fix(seed);
    }

    /// Leaves to chance from now on what simulated GPUs do: as on hardware, nothing repeats to the last bit.
    pub fn leave_to_chance(&self) {
        self.shared.chance.vary();
    }

    /// Seeds every generator, as `torch.manual_seed`.
    pub fn manual_seed(&self, seed: u64) {
        *self.generator.lock() = random::Mt19937::new(seed);
        self.philox.iter().for_each(|g| g.seed(seed));
    }

    /// Seeds one accelerator's generator, as `torch.cuda.manual_seed`; all of them without an ordinal.
    pub fn seed_gpus(&self, ordinal: Option<usize>, seed: u64) {
        let chosen = |i: &usize| ordinal.is_none_or(|o| o == *i);
        self.philox.iter().enumerate().filter(|(i, _)| chosen(i)).for_each(|(_, g)| g.seed(seed));
    }

    /// Where all generators stand.
    pub(crate) fn random_state(&self) -> RandomState {
        let host = self.generator.lock().clone();
        RandomState { host, philox: self.philox.iter().map(PhiloxState::get).collect() }
    }

    /// Takes all generators back to where they stood.
    pub(crate) fn set_random_state(&self, state: &RandomState) {
        *self.generator.lock() = state.host.clone();
        self.philox.iter().zip(&state.philox).for_each(|(g, at)| g.set(*at));
    }

    /// The seed and offset of an accelerator's generator.
    pub fn generator_state(&self, device: Device) -> Option<(u64, u64)> {
        self.philox.get(device.index()).filter(|_| device.is_cuda()).map(PhiloxState::get)
    }

    /// Puts an accelerator's generator where it was.
    pub fn set_generator_state(&self, device: Device, state: (u64, u64)) {
        if let Some(generator) = self.philox.get(device.index()).filter(|_| device.is_cuda()) {
            generator.set(state);
        }
    }

    /// Where a draw of `n` elements of `dtype` on `device` takes its numbers from. The next draw takes others.
    pub(crate) fn random_source(
        &self,
        device: Device,
        n: usize,
        distribution: &Distribution,
        dtype: DType,
    ) -> RandomSource {
        match self.philox.get(device.index()).filter(|_| device.is_cuda()) {
            Some(generator) => generator.draw(n as u64, distribution, dtype),
            None => RandomSource::Host(self.generator.clone()),
        }
    }
}

/// Where the generators of a machine stand.
#[derive(Clone)]
pub(crate) struct RandomState {
    host: random::Mt19937,
    philox: Vec<(u64, u64)>,
}

/// What code sets beside its values: the current device and streams, where the accelerators' generators and chance stand,
/// switches.
pub(crate) struct Modes {
    current: usize,
    streams: Vec<u32>,
    philox: Vec<(u64, u64)>,
    settings: Settings,
    chance: ChanceState,
}

fn generator(gpu: &Context, seed: u64) -> PhiloxState {
    let properties = gpu.backend.properties();
    PhiloxState::new(seed, properties.multiprocessors, properties.threads_per_multiprocessor)
}

/// Leaves a machine when dropped, back to the one before.
pub struct Entered(Option<Arc<Machine>>);

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.0.take();
        CURRENT.with(|c| *c.borrow_mut() = before);
    }
}
