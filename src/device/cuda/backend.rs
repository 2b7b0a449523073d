//! A real GPU as a backend: memory from the caching allocator over `cuMemAlloc`, kernels by NVRTC and cuBLAS, times by
//! events that are read once they are reached.

mod copies;
mod factors;
mod graphs;
mod maps;

use std::collections::{BTreeSet, HashMap};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

use cudarc::driver::sys::{CUdevice_attribute as A, CUfunction_attribute as F};

use crate::base::event::{Clock, Span};
use crate::base::{DType, Device, Error, Kind, Result};
use crate::device::backend::{
    Backend, DevicePool, GraphCache, GraphWork, Mark, Moved, Properties, Refusal, Transfer, Vitals, When,
};
use crate::device::buffer::Buffer;
use crate::device::cpu::memory::{HostBlock, HostPool, Keeper};
use crate::device::cuda::found::FoundDevice;
use crate::device::kernel::{Arg, Kernel, Launch, View};
use crate::device::pool::{OutOfMemory, Pool};
use crate::device::scalar::MapOp;
use crate::device::settings::Determinism;
use crate::device::shared::Shared;

use super::blas::{Blas, Product};
use super::call::Gpu;
use super::compile::Compiler;
use super::dnn::{Dnn, Switches};
use super::folders;
use super::host;
use super::kernels::{self, Key, Plan, Step};
use super::lt::{Lt, LtPlace, bias_of};
use super::memory::DeviceMemory;
use super::pinned::Pinned;
use super::queues::Queues;
use super::recording::not_of_a_graph;
use super::solver::{Solver, is_worth};
use super::table::{Handle, tensor_maps};

/// Scratch memory up to here stays with its stream; more comes from the allocator.
const OWN_SCRATCH: usize = 4 << 20;

/// A library that fails to start with fewer bytes free than this is taken to have found too few: cuBLAS and cuDNN with
/// their kernels take some hundred MB.
const STARTS_WITH: u64 = 256 << 20;

/// Bytes of shared memory that every kernel may have; more is asked for.
const FREE_SHARED: u32 = 48 << 10;

/// What the devices of one machine share.
struct Peers {
    gpus: Vec<Gpu>,
    queues: Vec<Arc<Queues>>,
    pinned: Pinned,
}

/// The devices that a probe found, in the order of their ordinals.
///
/// # Errors
/// `DeviceError` where one does not start, or something that all need is missing.
pub fn devices(found: &[FoundDevice], shared: &Arc<Shared>) -> Result<Vec<Box<dyn Backend>>> {
    let gpus = found.iter().map(|device| Gpu::open(device.ordinal as u16)).collect::<Result<Vec<Gpu>>>()?;
    let queues: Vec<Arc<Queues>> =
        gpus.iter().map(|gpu| Arc::new(Queues::new(*gpu, Arc::clone(shared)))).collect();
    if let Some(device) = found.first() {
        Compiler::new(device.capability).check()?;
    }
    let peers = Arc::new(Peers { pinned: Pinned::new(gpus.clone(), queues.clone()), gpus, queues });
    let keeper = Arc::clone(&peers);
    shared.pinned.keep_with(Box::new(Keeping(keeper)));
    let device = |found: &FoundDevice| -> Result<Box<dyn Backend>> {
        Ok(Box::new(CudaBackend::new(found, &peers, shared)?))
    };
    found.iter().map(device).collect()
}

/// A GPU.
pub(crate) struct CudaBackend {
    gpu: Gpu,
    limits: kernels::Gpu,
    /// Kernels of `limits.wgmma` turned out not to compile.
    lacks_wgmma: AtomicBool,
    properties: Properties,
    // Dropped before the streams: what is under way ends, then memory goes back.
    pool: Mutex<DevicePool>,
    // Large libraries, loaded when they are first needed.
    blas: OnceLock<Option<Blas>>,
    lt: OnceLock<Option<Lt>>,
    solver: OnceLock<Option<Solver>>,
    dnn: OnceLock<Option<Dnn>>,
    queues: Arc<Queues>,
    peers: Arc<Peers>,
    /// Devices that copies went to.
    reached: Mutex<BTreeSet<usize>>,
    shared: Arc<Shared>,
    compiler: Compiler,
    functions: RwLock<HashMap<Key, usize>>,
    scratch: Mutex<HashMap<u32, u64>>,
    /// For kernels that the host computes.
    values: HostPool,
}

impl CudaBackend {
    fn new(found: &FoundDevice, peers: &Arc<Peers>, shared: &Arc<Shared>) -> Result<CudaBackend> {
        let ordinal = found.ordinal as usize;
        let (Some(gpu), Some(queues)) = (peers.gpus.get(ordinal), peers.queues.get(ordinal)) else {
            return Err(Error::runtime(format!("there is no GPU {ordinal}")));
        };
        let properties = properties(gpu, found, &peers.gpus)?;
        let limits = kernels::Gpu {
            multiprocessors: properties.multiprocessors,
            threads_per_multiprocessor: properties.threads_per_multiprocessor,
            wgmma: found.capability == (9, 0) && tensor_maps().is_some(),
            in_order: false,
        };
        let memory = DeviceMemory::new(*gpu, Arc::clone(queues));
        Ok(CudaBackend {
            gpu: *gpu,
            limits,
            lacks_wgmma: AtomicBool::new(false),
            properties,
            pool: Mutex::new(Pool::new(Box::new(memory), ordinal as u32)),
            blas: OnceLock::new(),
            lt: OnceLock::new(),
            solver: OnceLock::new(),
            dnn: OnceLock::new(),
            queues: Arc::clone(queues),
            peers: Arc::clone(peers),
            reached: Mutex::default(),
            shared: Arc::clone(shared),
            compiler: Compiler::new(found.capability),
            functions: RwLock::default(),
            scratch: Mutex::default(),
            values: HostPool::default(),
        })
    }

    fn lock_pool(&self) -> MutexGuard<'_, DevicePool> {
        self.pool.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A full device, unless it failed: then it gives no memory either.
    #[cold]
    fn refusal(&self, full: Box<OutOfMemory>) -> Refusal {
        self.gpu.memory().map_or_else(Refusal::Other, |_| full.into())
    }

    fn queues_of(&self, device: Device) -> Result<&Queues> {
        let found = self.peers.queues.get(device.index()).filter(|_| device.is_cuda());
        found.map(Arc::as_ref).ok_or_else(|| Error::runtime(format!("{device} has no streams")))
    }

    /// Enqueues a launch.
    fn enqueue(&self, launch: &Launch, stream: Handle) -> Result<()> {
        if let Kernel::Matmul { alpha, beta } = launch.kernel
            && let Some(blas) = self.blas.get_or_init(Blas::new)
            && self.product(blas, launch, stream, *alpha, *beta)?
        {
            return Ok(());
        }
        if let Kernel::Factor(what) = launch.kernel
            && self.take_apart(launch, *what, stream)?
        {
            return Ok(());
        }
        let settings = &self.shared.settings;
        let convolves = matches!(
            launch.kernel,
            Kernel::Conv2d(_) | Kernel::Conv2dGradInput(_) | Kernel::Conv2dGradWeight(_)
        );
        if convolves
            && settings.cudnn_enabled.load(Ordering::Relaxed)
            && let Some(dnn) = self.dnn.get_or_init(Dnn::new)
        {
            let switches = Switches {
                tf32: settings.tf32().convolution,
                benchmark: settings.cudnn_benchmark.load(Ordering::Relaxed),
                deterministic: settings.is_conv_deterministic(),
            };
            let memory = |bytes: usize, run: &mut dyn FnMut(u64) -> Result<()>| {
                self.with_scratch(bytes, launch.stream, run)
            };
            let handle = self.started(|| dnn.handle(launch.stream, stream))?;
            let done = dnn.convolve(launch, handle, switches, &memory);
            if done.map_err(|error| self.gpu.cause_of(error))? {
                return Ok(());
            }
        }
        self.kernel(launch, stream)
    }

    /// Enqueues the kernels of a launch, or has the host compute it.
    fn kernel(&self, launch: &Launch, stream: Handle) -> Result<()> {
        let in_order = self.shared.settings.determinism() != Determinism::Any;
        let wgmma = self.limits.wgmma && !self.lacks_wgmma.load(Ordering::Relaxed);
        let gpu = kernels::Gpu { in_order, wgmma, ..self.limits };
        let bytes = kernels::scratch_bytes(launch, &gpu);
        self.with_scratch(bytes, launch.stream, &mut |scratch| {
            let mut plan = kernels::plan(launch, &gpu, scratch);
            if plan.as_mut().is_some_and(|plan| !plan.encode(maps::encoded) || !self.compiles(plan)) {
                let others = kernels::Gpu { wgmma: false, ..gpu };
                plan = kernels::plan(launch, &others, scratch);
            }
            match plan {
                Some(mut plan) => plan.steps.iter_mut().try_for_each(|step| self.step(step, stream)),
                None => self.on_host(launch, stream),
            }
        })
    }

    /// Whether kernels of one architecture's own instructions are there: compilers before CUDA 12 know no such. They are
    /// not asked again.
    fn compiles(&self, plan: &Plan) -> bool {
        let mut own = plan.steps.iter().filter(|step| step.args.has_maps());
        let Some(error) = own.find_map(|step| self.function(step).err()) else { return true };
        // A full device may have room for them later.
        if error.kind() != Kind::OutOfMemoryError {
            self.lacks_wgmma.store(true, Ordering::Relaxed);
        }
        false
    }

    fn function(&self, step: &Step) -> Result<Handle> {
        let known = self.functions.read().unwrap_or_else(|e| e.into_inner()).get(&step.key).copied();
        known.map_or_else(|| self.compile(&step.key, step.shared), |function| Ok(function as Handle))
    }

    fn step(&self, step: &mut Step, stream: Handle) -> Result<()> {
        let function = self.function(step)?;
        let ([x, y, z], [i, j, k]) = (step.grid, step.block);
        let mut arguments = step.args.pointers();
        let nothing = std::ptr::null_mut();
        // SAFETY: the arguments are what the kernel's source declares, and point to memory of the launch's views.
        let code = unsafe {
            (self.gpu.driver.cuLaunchKernel)(
                function,
                x,
                y,
                z,
                i,
                j,
                k,
                step.shared as c_uint,
                stream,
                arguments.as_mut_ptr(),
                nothing,
            )
        };
        self.gpu.check(code)
    }

    #[cold]
    fn compile(&self, key: &Key, shared: u32) -> Result<Handle> {
        let function = self.with_room(|| self.compiler.load(&self.gpu, &key.entry(), &key.source()))?;
        if shared > FREE_SHARED {
            let most = F::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int;
            // SAFETY: the function was loaded just now.
            self.gpu
                .check(unsafe { (self.gpu.driver.cuFuncSetAttribute)(function, most, shared as c_int) })?;
        }
        let mut functions = self.functions.write().unwrap_or_else(|e| e.into_inner());
        functions.insert(*key, function as usize);
        Ok(function)
    }

    #[cold]
    fn on_host(&self, launch: &Launch, stream: Handle) -> Result<()> {
        not_of_a_graph("is the host's")?;
        let (device, name) = (self.gpu.device, launch.kernel.name());
        let why = match (launch.kernel, self.solver.get()) {
            (Kernel::Factor(what), _) if !is_worth(launch, *what) => {
                format!("leaves {name} of small matrices to the host, which is sooner done")
            }
            (Kernel::Factor(_), Some(None)) => {
                format!("has no cuSOLVER for {name}, as `doctor()` tells: the host computes it")
            }
            (Kernel::Factor(_), Some(Some(_))) => {
                format!("leaves {name} to the host, as cuSOLVER found no end or does not take the matrices")
            }
            _ => format!("has no kernel for {name} here: the host computes it"),
        };
        self.shared.warn(&format!("{device} {why}, and both wait for the copies"));
        host::compute(launch, &self.gpu, stream, &self.values)
    }

    /// A product by cuBLAS; `false` where it takes no such matrices.
    fn product(&self, blas: &Blas, launch: &Launch, stream: Handle, alpha: f64, beta: f64) -> Result<bool> {
        let (Some(Arg::View(a)), Some(Arg::View(b)), Some(y)) =
            (launch.inputs.first(), launch.inputs.get(1), launch.outputs.first())
        else {
            return Ok(false);
        };
        let added = launch.inputs.get(2).filter(|_| beta != 0.0);
        let place = || added.map_or(Ok(()), |c| self.copy(launch, *c, *y, stream));
        let product = Product {
            a: *a,
            b: *b,
            y: *y,
            alpha,
            beta: if added.is_some() { beta } else { 0.0 },
            tf32: self.shared.settings.tf32().matmul,
            before: Some(&place),
        };
        if let Some(Arg::View(bias)) = added
            && self.biased(&product, beta, bias, (launch.stream, stream))?
        {
            return Ok(true);
        }
        let handle = || self.started(|| blas.handle(&self.gpu, (launch.stream, stream)));
        blas.product(&handle, &product).map_err(|error| self.gpu.cause_of(error))
    }

    /// A product whose bias is added where it is written; `false` where that can't be.
    fn biased(&self, product: &Product, beta: f64, bias: &View, (id, queue): (u32, Handle)) -> Result<bool> {
        let Some(bias) = bias_of(bias, &product.y).filter(|_| beta == 1.0) else { return Ok(false) };
        let Some(lt) = self.lt.get_or_init(Lt::new) else { return Ok(false) };
        let place = LtPlace { bias, scratch: &|| self.own_scratch(id), scratch_bytes: OWN_SCRATCH, queue };
        lt.product(&self.gpu, product, &place)
    }

    fn copy(&self, launch: &Launch, from: Arg, to: View, stream: Handle) -> Result<()> {
        let kernel = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: to.dtype };
        self.kernel(&Launch { kernel: &kernel, inputs: &[from], outputs: &[to], ..*launch }, stream)
    }

    /// Enqueues with memory that the work needs beside its tensors: a stream's own, or for much of it a block.
    fn with_scratch(
        &self,
        bytes: usize,
        stream: u32,
        enqueue: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        if bytes == 0 {
            return enqueue(0);
        }
        if bytes <= OWN_SCRATCH {
            return enqueue(self.own_scratch(stream)?);
        }
        not_of_a_graph("borrows memory")?;
        let block = self.lock_pool().allocate(bytes as u64, stream);
        let address = block.map_err(|_| self.gpu.cause_of(full(bytes)))?.address;
        let done = enqueue(address);
        // Only later work of this stream can be given the block.
        self.lock_pool().free(address);
        done
    }

    fn own_scratch(&self, stream: u32) -> Result<u64> {
        let mut all = self.scratch.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(address) = all.get(&stream) {
            return Ok(*address);
        }
        let address = self.with_room(|| {
            let mut address = 0;
            // SAFETY: the place lives through the call.
            self.gpu.check(unsafe { (self.gpu.driver.cuMemAlloc_v2)(&mut address, OWN_SCRATCH) })?;
            Ok(address)
        })?;
        all.insert(stream, address);
        Ok(address)
    }

    /// A library as it starts. One that finds no memory may say so in other words, so that whatever failed is done again
    /// once the pool has given back what it keeps.
    fn started<R>(&self, start: impl Fn() -> Result<R>) -> Result<R> {
        if let Ok(started) = start() {
            return Ok(started);
        }
        self.lock_pool().empty_cache();
        start().map_err(|error| match self.gpu.memory() {
            Ok((free, _)) if free < STARTS_WITH => Error::new(
                Kind::OutOfMemoryError,
                format!(
                    "CUDA out of memory: {free} bytes are free on {}, too few to start a library ({error})",
                    self.gpu.device
                ),
            )
            .with_hint("free tensors that are needed no more"),
            Ok(_) => error,
            Err(fault) => fault,
        })
    }

    /// What takes memory past the pool; where there is none, the pool gives back what it keeps, and it is done again.
    fn with_room<R>(&self, take: impl Fn() -> Result<R>) -> Result<R> {
        let first = take();
        if !matches!(&first, Err(error) if error.kind() == Kind::OutOfMemoryError) {
            return first;
        }
        self.lock_pool().empty_cache();
        take()
    }
}

impl Backend for CudaBackend {
    fn device(&self) -> Device {
        self.gpu.device
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Utilisation and power are NVML's to tell, which is not asked.
    fn vitals(&self) -> Vitals {
        let numbers =
            |word: &&str| word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let module = folders::kernel_module();
        let driver =
            module.as_deref().and_then(|text| text.split_whitespace().find(numbers)).map(str::to_owned);
        Vitals { driver, cuda: self.gpu.newest_cuda(), ..Vitals::default() }
    }

    fn allocate(&self, bytes: usize, stream: u32) -> std::result::Result<Buffer, Refusal> {
        if bytes == 0 {
            return Ok(Buffer::new(0, 0, None, false));
        }
        let block = self.lock_pool().allocate(bytes as u64, stream).map_err(|full| self.refusal(full))?;
        Ok(Buffer::new(block.address, block.bytes as usize, None, false))
    }

    fn free(&self, buffer: Buffer) {
        if buffer.address != 0 {
            let known = self.lock_pool().free(buffer.address);
            debug_assert!(known, "a buffer is freed once");
        }
    }

    fn page_lock(&self, block: &HostBlock) -> Result<()> {
        Pinned::lock(&self.gpu, block)
    }

    fn pool(&self) -> Option<&Mutex<DevicePool>> {
        Some(&self.pool)
    }

    fn launch(&self, launch: &Launch) -> Result<When> {
        self.gpu.enter()?;
        let stream = self.queues.stream(launch.stream)?;
        if !launch.timed {
            return self.enqueue(launch, stream).map(|()| When::Unknown);
        }
        let ((), ticket) = self.queues.timed(stream, || self.enqueue(launch, stream))?;
        Ok(When::Later(ticket))
    }

    fn replay(&self, stream: u32, work: &[GraphWork], kept: &mut GraphCache) -> Result<Vec<When>> {
        self.launch_graph(stream, work, kept)
    }

    fn attends(&self, dtype: DType, width: usize) -> bool {
        let half = matches!(dtype, DType::Float16 | DType::BFloat16);
        half && width.is_multiple_of(8) && width <= 128 && self.properties.capability >= (8, 0)
    }

    fn has_lstm_cell(&self) -> bool {
        true
    }

    fn timings(&self) -> Vec<(u64, Span)> {
        self.queues.timings()
    }

    fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        self.gpu.enter()?;
        let stream = self.queues.stream(transfer.stream)?;
        let pinned = transfer.from.1.pinned || transfer.to.1.pinned;
        let (when, waited) = self.carry_out(transfer, stream)?;
        Ok(Moved { when, pinned, blocking: waited.is_some(), waited })
    }

    fn begin_anew(&self) {
        self.queues.begin_anew();
    }

    fn create_stream(&self) -> Result<u32> {
        Ok(self.queues.next_stream())
    }

    fn record(&self, stream: u32) -> Result<Mark> {
        self.queues.record(stream, true)
    }

    fn wait(&self, stream: u32, mark: Mark) -> Result<()> {
        self.gpu.enter()?;
        self.queues_of(mark.device)?.wait(self.queues.stream(stream)?, mark)
    }

    fn query(&self, mark: Mark) -> Result<bool> {
        self.gpu.enter()?;
        self.queues.query(mark)
    }

    fn elapsed(&self, from: Mark, to: Mark) -> Result<f64> {
        self.queues.elapsed(from, to)
    }

    fn synchronize(&self, stream: Option<u32>) -> Result<Span> {
        self.gpu.enter()?;
        self.queues.synchronize(stream, &|| self.shared.cancel.check())
    }

    fn synchronize_mark(&self, mark: Mark) -> Result<Span> {
        self.gpu.enter()?;
        self.queues.synchronize_mark(mark, &|| self.shared.cancel.check())
    }

    fn now(&self) -> u64 {
        self.queues.now()
    }
}

impl Drop for CudaBackend {
    fn drop(&mut self) {
        if !self.gpu.is_started() || self.gpu.enter().is_err() {
            return;
        }
        // A device that failed has nothing to wait for.
        let _ = self.queues.synchronize(None, &|| Ok(()));
        for (_, address) in self.scratch.lock().unwrap_or_else(|e| e.into_inner()).drain() {
            // SAFETY: the device has no work that uses it.
            unsafe { (self.gpu.driver.cuMemFree_v2)(address) };
        }
    }
}

fn properties(gpu: &Gpu, found: &FoundDevice, all: &[Gpu]) -> Result<Properties> {
    let others = all.iter().filter(|other| other.device != gpu.device);
    let reached =
        others.map(|other| gpu.can_reach(other)).fold(None, |all, one| Some(all.unwrap_or(true) && one));
    Ok(Properties {
        name: found.name.clone(),
        simulated: false,
        total_memory: found.memory,
        capability: found.capability,
        multiprocessors: gpu.attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        threads_per_multiprocessor: gpu.attribute(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        l2_cache: u64::from(gpu.attribute(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        peer_access: reached.unwrap_or(false),
        clock: Clock::Measured,
    })
}

/// The keeper of the machine's page-locked memory.
struct Keeping(Arc<Peers>);

impl Keeper for Keeping {
    fn is_busy(&self, block: &HostBlock) -> bool {
        self.0.pinned.is_busy(block)
    }

    fn release(&self, block: &HostBlock) {
        self.0.pinned.release(block);
    }
}

#[cold]
fn full(bytes: usize) -> Error {
    Error::new(Kind::OutOfMemoryError, format!("no {bytes} bytes are left for a kernel's work"))
        .with_hint("free tensors that are needed no more, or call cuda::empty_cache()")
}
