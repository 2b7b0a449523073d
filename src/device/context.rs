//! A device in use: its backend, and the one place where memory, launches and copies become events.

mod notes;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::event::{Body, Bus, Clock, Sizes, Source, Span};
use crate::base::{DType, Device, Error, Kind, Layout, Result};

use super::backend::{Backend, Buffer, Cancel, DevicePool, GraphWork, Mark, Moved, Refusal, Transfer};
use super::cpu::clock::HostClock;
use super::cpu::memory::HostPool;
use super::graph::{Captured, GRAPH_POOLS, Graph, Recorder, invalidated, not_permitted};
use super::kernel::{Arg, Kernel, Launch, View};
use super::machine::Machine;
use super::settings::Settings;
use super::storage::Storage;

/// Gives the variables that hold tensors, each with the address of any element of its tensor.
pub type Names = dyn Fn() -> Vec<(u64, String)> + Send + Sync;

/// What all devices of a machine share.
pub struct Shared {
    pub bus: Arc<Bus>,
    pub cancel: Cancel,
    /// Page-locked host memory, kept for reuse as PyTorch's caching host allocator keeps it.
    pub pinned: HostPool,
    pub settings: Settings,
    source: AtomicU64,
    clock: HostClock,
    names: Mutex<Option<Arc<Names>>>,
    warnings: Warnings,
}

impl Shared {
    /// Of a new session, with nothing recorded.
    pub fn new() -> Shared {
        Shared {
            bus: Arc::default(),
            cancel: Cancel::default(),
            pinned: HostPool::of_prepared(),
            settings: Settings::default(),
            source: AtomicU64::new(0),
            clock: HostClock::default(),
            names: Mutex::default(),
            warnings: Warnings::default(),
        }
    }

    /// Says who knows the variables' names; asked only when memory runs out.
    pub fn set_names(&self, names: Option<Arc<Names>>) {
        *self.names.lock().unwrap_or_else(|e| e.into_inner()) = names;
    }

    /// Says where warnings go.
    pub(crate) fn set_warner(&self, warner: Option<Arc<Warner>>) {
        *self.warnings.warner.lock().unwrap_or_else(|e| e.into_inner()) = warner;
    }

    /// Warns of what is allowed but seldom meant. A line says the same thing once.
    pub fn warn(&self, text: &str) {
        let Source { cell, line } = self.source();
        let new = {
            let mut said = self.warnings.said.lock().unwrap_or_else(|e| e.into_inner());
            said.insert((cell, line, text.to_string()))
        };
        let warner = self.warnings.warner.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if let Some(warner) = warner.filter(|_| new) {
            warner(text);
        }
    }

    /// The variables that hold tensors, with addresses; none where nobody knows.
    pub fn names(&self) -> Vec<(u64, String)> {
        let names = self.names.lock().unwrap_or_else(|e| e.into_inner()).clone();
        names.map(|ask| ask()).unwrap_or_default()
    }

    /// The script line that is running.
    pub fn source(&self) -> Source {
        let packed = self.source.load(Ordering::Relaxed);
        Source { cell: (packed >> 32) as u32, line: packed as u32 }
    }

    pub(crate) fn set_source(&self, source: Source) {
        let packed = (u64::from(source.cell) << 32) | u64::from(source.line);
        self.source.store(packed, Ordering::Relaxed);
    }

    /// Notes the line that runs, unless this thread [works aside](work_aside).
    #[inline]
    pub fn set_line(&self, line: u32) {
        if ASIDE.get() > 0 {
            return;
        }
        let packed = self.source.load(Ordering::Relaxed);
        self.source.store((packed & !0xffff_ffff) | u64::from(line), Ordering::Relaxed);
    }

    /// Nanoseconds since the machine was made, measured.
    #[inline]
    pub fn nanos(&self) -> u64 {
        self.clock.nanos()
    }

    /// The measured span from `start` until now.
    pub(crate) fn span_since(&self, start: u64) -> Span {
        Span { start, nanos: self.nanos().saturating_sub(start), clock: Clock::Measured }
    }
}

/// Takes a warning's text.
pub(crate) type Warner = dyn Fn(&str) + Send + Sync;

#[derive(Default)]
struct Warnings {
    warner: Mutex<Option<Arc<Warner>>>,
    said: Mutex<HashSet<(u32, u32, String)>>,
}

thread_local! {
    /// 0 on the script's own thread.
    static ASIDE: Cell<u32> = const { Cell::new(0) };
}

/// From now on events of this thread carry the line that the script's own thread is at: it is the one that waits.
/// What it computes on the CPU is told apart by `number`, from 1.
pub(crate) fn work_aside(number: u32) {
    ASIDE.set(number.max(1));
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}

/// What is known of memory that a tensor holds on an accelerator.
#[derive(Clone, Debug)]
pub struct Live {
    pub bytes: u64,
    pub requested: u64,
    pub dtype: DType,
    pub shape: Sizes,
    pub op: &'static str,
    pub source: Source,
}

/// What a new buffer is for; goes into the event and the live table.
#[derive(Clone, Copy)]
pub struct Purpose<'a> {
    pub op: &'static str,
    pub dtype: DType,
    pub shape: &'a [usize],
}

/// A device in use.
pub struct Context {
    pub device: Device,
    pub backend: Box<dyn Backend>,
    pub shared: Arc<Shared>,
    stream: AtomicU32,
    live: Mutex<HashMap<u64, Live>>,
    late: Mutex<Vec<notes::Late>>,
    capturing: AtomicBool,
    recorder: Mutex<Option<Recorder>>,
    graphs: AtomicU32,
}

impl Context {
    /// A device with its backend, its pool and its events.
    pub fn new(backend: Box<dyn Backend>, shared: Arc<Shared>) -> Arc<Context> {
        Arc::new(Context {
            device: backend.device(),
            backend,
            shared,
            stream: AtomicU32::new(0),
            live: Mutex::default(),
            late: Mutex::default(),
            capturing: AtomicBool::new(false),
            recorder: Mutex::default(),
            graphs: AtomicU32::new(0),
        })
    }

    /// The stream that work goes to; 0 is the default stream.
    pub fn stream(&self) -> u32 {
        self.stream.load(Ordering::Relaxed)
    }

    /// Makes `stream` current and gives the one that was.
    pub fn set_stream(&self, stream: u32) -> u32 {
        self.stream.swap(stream, Ordering::Relaxed)
    }

    /// The caching allocator, where the device has one.
    pub fn pool(&self) -> Option<MutexGuard<'_, DevicePool>> {
        self.backend.pool().map(|p| p.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// Bytes that tensors hold, and bytes taken from the device; both 0 without a pool.
    pub fn memory(&self) -> (u64, u64) {
        self.pool().map_or((0, 0), |p| (p.allocated(), p.reserved()))
    }

    /// Takes memory. Out of memory is an error with the remedy that the state allows.
    pub fn allocate(&self, bytes: usize, purpose: Purpose) -> Result<Buffer> {
        match self.backend.allocate(bytes, self.pool_stream()) {
            Ok(buffer) => {
                if self.device.is_cuda() || self.shared.bus.listening() {
                    self.note_alloc(&buffer, bytes as u64, purpose);
                }
                Ok(buffer)
            }
            Err(refusal) => Err(self.refused(refusal, bytes)),
        }
    }

    /// Takes page-locked memory for this host, for copies to and from `accelerator`.
    pub(crate) fn allocate_pinned(
        &self,
        accelerator: &Context,
        bytes: usize,
        purpose: Purpose,
    ) -> Result<Buffer> {
        if bytes == 0 {
            return Ok(Buffer { address: 0, bytes: 0, host: None, pinned: false });
        }
        let pinned = &self.shared.pinned;
        match pinned.take_prepared(bytes, |block| accelerator.backend.page_lock(block)) {
            Ok(block) => {
                let (address, capacity) = (block.as_ptr() as u64, block.capacity());
                let buffer = Buffer { address, bytes: capacity, host: Some(block), pinned: true };
                if self.shared.bus.listening() {
                    self.note_alloc(&buffer, bytes as u64, purpose);
                }
                Ok(buffer)
            }
            Err(error) => Err(self.refused(error.into(), bytes)),
        }
    }

    /// Takes memory that is no tensor's, for as long as a copy takes: no event tells of it, and it goes back
    /// to the backend.
    pub fn scratch(&self, bytes: usize) -> Result<Buffer> {
        self.backend.allocate(bytes, self.pool_stream()).map_err(|refusal| self.refused(refusal, bytes))
    }

    /// Gives memory back.
    pub fn free(&self, buffer: Buffer) {
        let buffer = if self.is_capturing() { self.kept(buffer) } else { buffer };
        if !self.device.is_cuda() && !self.shared.bus.listening() {
            return self.backend.free(buffer);
        }
        let (address, bytes) = (buffer.address, buffer.bytes as u64);
        if self.device.is_cuda() {
            self.live_table().remove(&address);
        }
        self.backend.free(buffer);
        self.shared.bus.emit(self.shared.source(), || {
            let (allocated, reserved) = self.memory();
            Body::Free { device: self.device, address, bytes, allocated, reserved }
        });
    }

    /// What tensors hold on this accelerator, by address.
    pub fn live(&self) -> Vec<(u64, Live)> {
        let mut all: Vec<_> = self.live_table().iter().map(|(a, l)| (*a, l.clone())).collect();
        all.sort_by_key(|(address, _)| *address);
        all
    }

    /// Notes that `stream` uses the memory at `address`: once freed, it is not given out again before that
    /// stream has come past its work so far (`Tensor.record_stream`).
    pub fn record_stream(&self, address: u64, stream: u32) {
        if let Some(mut pool) = self.pool() {
            pool.record_stream(address, stream);
        }
    }

    /// Launches a kernel on the current stream; none where there is nothing to write.
    pub fn launch(&self, op: &'static str, kernel: &Kernel, inputs: &[Arg], outputs: &[View]) -> Result<()> {
        if outputs.iter().all(|view| view.layout.numel() == 0) {
            return Ok(());
        }
        let timed = self.shared.bus.listening();
        let launch =
            Launch { op, kernel, inputs, outputs, stream: self.stream(), cancel: &self.shared.cancel, timed };
        let when = self.backend.launch(&launch)?;
        if timed {
            self.note_launch(&launch, when);
        }
        Ok(())
    }

    /// Copies bytes between this accelerator and another memory. Where the host was held, the caller says why
    /// with [`waited`](Context::waited).
    pub fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        self.check_not_capturing("a copy that the host waits for")?;
        let moved = self.backend.transfer(transfer)?;
        self.note_copy(transfer, moved.pinned, moved.waited.is_some(), moved.when);
        if moved.waited.is_some() {
            self.note_late();
        }
        Ok(moved)
    }

    /// Waits for a stream or the whole device. `implicit` when the script did not ask for it.
    pub fn synchronize(&self, stream: Option<u32>, cause: &'static str, implicit: bool) -> Result<()> {
        if !self.device.is_cuda() {
            return Ok(());
        }
        self.check_not_capturing("waiting for the device")?;
        let span = self.backend.synchronize(stream)?;
        self.note_late();
        self.note_sync(cause, implicit, span);
        Ok(())
    }

    /// Tells of all work so far, waiting for it where that is not known yet.
    pub(crate) fn settle(&self) -> Result<()> {
        if !self.has_late() || self.is_capturing() {
            return Ok(());
        }
        let waited = self.backend.synchronize(None);
        self.note_late();
        if waited.as_ref().is_err_and(|error| error.kind() == Kind::DeviceError) {
            // A device that failed gives no times any more; the next cell need not hear of it again.
            self.forget_late();
        }
        waited.map(|_| ())
    }

    /// Waits for a recorded mark.
    pub fn synchronize_mark(&self, mark: Mark, cause: &'static str) -> Result<()> {
        self.check_not_capturing("waiting for an event")?;
        let span = self.backend.synchronize_mark(mark)?;
        self.note_late();
        self.note_sync(cause, false, span);
        Ok(())
    }

    /// Notes that the host waited for this accelerator although the script did not ask for it.
    pub fn waited(&self, cause: &'static str, span: Span) {
        self.note_sync(cause, true, span);
    }

    /// Returns unused cached segments to the device.
    pub fn empty_cache(&self) {
        if let Some(mut pool) = self.pool() {
            pool.empty_cache();
        }
        self.note_segments();
    }

    /// Begins counting peaks anew, from what is held now.
    pub fn reset_peak(&self) {
        if let Some(mut pool) = self.pool() {
            pool.reset_peak();
        }
        self.shared.bus.emit(self.shared.source(), || Body::PeakReset { device: self.device });
    }

    fn live_table(&self) -> MutexGuard<'_, HashMap<u64, Live>> {
        self.live.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The error of a request for memory. Out of memory comes with the remedy that the state allows.
    #[cold]
    fn refused(&self, refusal: Refusal, bytes: usize) -> Error {
        self.note_segments();
        let error = match refusal {
            Refusal::OutOfMemory(full) => super::oom::explain(self, &full),
            Refusal::Other(error) => error,
        };
        if error.kind() == Kind::OutOfMemoryError {
            self.shared.bus.emit(self.shared.source(), || Body::OutOfMemory {
                device: self.device,
                requested: bytes as u64,
                message: error.message(),
            });
        }
        error
    }
}

/// Capturing work instead of running it; see [`Graph`].
impl Context {
    /// Whether work is being written down instead of run.
    #[inline]
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::Relaxed)
    }

    /// The error of what needs the device at once, while a graph is captured.
    #[inline]
    pub(crate) fn check_not_capturing(&self, what: &str) -> Result<()> {
        if !self.is_capturing() {
            return Ok(());
        }
        if let Some(recorder) = self.recorder().as_mut() {
            recorder.invalid = true;
        }
        Err(not_permitted(what))
    }

    /// Starts to write work down instead of running it. The device's work so far is waited for, as PyTorch does.
    ///
    /// # Errors
    /// Where a capture is under way, or the device is not an accelerator.
    pub(crate) fn begin_capture(&self) -> Result<()> {
        self.check_not_capturing("another capture")?;
        if !self.device.is_cuda() {
            return Err(Error::runtime("a graph is captured on a GPU")
                .with_hint("`--devices sim:t4` gives a simulated one"));
        }
        self.synchronize(None, "cuda::graph", true)?;
        let pool = GRAPH_POOLS.saturating_add(self.graphs.fetch_add(1, Ordering::Relaxed)).saturating_add(1);
        if let Some(mut shared) = self.pool() {
            shared.retain_stream(pool);
        }
        *self.recorder() = Some(Recorder::new(pool));
        self.capturing.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the capture that [`begin_capture`](Context::begin_capture) began at the generator's state `begun`, and
    /// gives the graph.
    pub(crate) fn end_capture(self: &Arc<Self>, machine: &Machine, begun: (u64, u64)) -> Result<Graph> {
        self.capturing.store(false, Ordering::Relaxed);
        let taken = self.recorder().take();
        let drawn = machine.generator_state(self.device).map_or(0, |(_, now)| now.wrapping_sub(begun.1));
        machine.set_generator_state(self.device, begun);
        match taken {
            Some(recorder) if recorder.invalid => {
                drop(Graph::new(self, recorder, (0, 0, 0)));
                Err(invalidated())
            }
            Some(recorder) => Ok(Graph::new(self, recorder, (begun.0, begun.1, drawn))),
            None => Err(Error::runtime("no capture is under way")),
        }
    }

    /// Writes a launch down, while a graph is captured.
    pub(crate) fn capture_launch(
        &self,
        op: &'static str,
        kernel: &Kernel,
        inputs: &[Captured],
        outputs: &[(&Arc<Storage>, &Layout)],
    ) {
        if let Some(recorder) = self.recorder().as_mut()
            && outputs.iter().any(|(_, layout)| layout.numel() > 0)
        {
            recorder.launch(op, kernel, inputs, outputs);
        }
    }

    /// Writes a copy down, while a graph is captured.
    pub(crate) fn capture_copy(
        &self,
        from: (&Arc<Storage>, usize),
        to: (&Arc<Storage>, usize),
        bytes: usize,
    ) {
        if let Some(recorder) = self.recorder().as_mut() {
            recorder.copy(from, to, bytes);
        }
    }

    /// Launches captured work as one.
    pub fn replay(&self, stream: u32, work: &[GraphWork]) -> Result<()> {
        let ran = self.backend.replay(stream, work)?;
        if self.shared.bus.listening() {
            for (part, when) in work.iter().zip(ran) {
                match part {
                    GraphWork::Launch(launch) => self.note_launch(launch, when),
                    GraphWork::Copy(transfer) => {
                        let pinned = transfer.from.1.pinned || transfer.to.1.pinned;
                        self.note_copy(transfer, pinned, false, when);
                    }
                }
            }
        }
        Ok(())
    }

    /// The stream whose memory serves requests: a graph has its own.
    fn pool_stream(&self) -> u32 {
        if !self.is_capturing() {
            return self.stream();
        }
        self.recorder().as_ref().map_or_else(|| self.stream(), |recorder| recorder.pool)
    }

    fn kept(&self, buffer: Buffer) -> Buffer {
        match self.recorder().as_mut() {
            Some(recorder) => recorder.keep(buffer),
            None => buffer,
        }
    }

    fn recorder(&self) -> MutexGuard<'_, Option<Recorder>> {
        self.recorder.lock().unwrap_or_else(|e| e.into_inner())
    }
}
