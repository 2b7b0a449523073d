//! A device in use: its backend, and the one place where memory, launches and copies become events.

mod late;
mod notes;
pub(crate) mod order;
mod recorded;
mod workspace;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::address::AddressMap;
use crate::base::event::{Body, Span};
use crate::base::{Device, Error, Kind, Layout, Result, sorted};
use crate::device::beside::{count, is_beside, is_unseen};
use crate::device::buffer::Buffer;
use crate::device::cpu::copy_values;
use crate::device::live::{Live, Purpose};
use crate::device::shared::{ASIDE, Shared};

use super::backend::{Backend, DevicePool, GraphCache, GraphWork, Moved, Refusal, Transfer, When};
use super::capture::{Captured, GRAPH_POOLS, Holder, Recorder, not_permitted};
use super::kernel::{Arg, Kernel, Launch, View};
use super::streams::{current, next_id, note_used, set_current, thread_token};

use late::Late;
pub(crate) use recorded::Foreseen;
pub use recorded::Recorded;

use super::oom::LiveTable;

/// A device in use.
pub struct Context {
    pub device: Device,
    pub backend: Box<dyn Backend>,
    pub shared: Arc<Shared>,
    live: Arc<LiveTable>,
    /// The line that took memory last: its cell and its number.
    asked_last: AtomicU64,
    /// Tells contexts apart, those of other machines as well.
    id: u64,
    /// Another stream than the default one was current.
    side_streams: AtomicBool,
    /// What is read and written is watched: on a simulated device.
    watched: bool,
    late: Mutex<Vec<Late>>,
    /// The thread that captures a graph; 0 where none does.
    capturing: AtomicU64,
    recorder: Mutex<Option<Recorder>>,
    graphs: AtomicU32,
}

impl Context {
    /// A device with its backend, its pool and its events.
    pub fn new(backend: Box<dyn Backend>, shared: Arc<Shared>) -> Arc<Context> {
        Arc::new(Context {
            device: backend.device(),
            watched: backend.device().is_cuda() && backend.properties().simulated,
            backend,
            shared,
            live: Arc::default(),
            asked_last: AtomicU64::new(0),
            id: next_id(),
            side_streams: AtomicBool::new(false),
            late: Mutex::default(),
            capturing: AtomicU64::new(0),
            recorder: Mutex::default(),
            graphs: AtomicU32::new(0),
        })
    }

    /// The stream that the thread's work goes to; 0 is the default stream.
    #[inline]
    pub fn stream(&self) -> u32 {
        // Most programs have the default one alone, and never ask the thread.
        if self.side_streams.load(Ordering::Relaxed) { current(self.id) } else { 0 }
    }

    /// Makes `stream` the thread's current one and gives the one that was.
    pub fn set_stream(&self, stream: u32) -> u32 {
        let before = self.stream();
        if before != stream {
            self.side_streams.fetch_or(stream != 0, Ordering::Relaxed);
            set_current(self.id, stream);
        }
        before
    }

    /// Whether another stream than the default one was ever current.
    #[inline]
    pub(crate) fn has_side_streams(&self) -> bool {
        self.side_streams.load(Ordering::Relaxed)
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
        self.check_not_in_worker()?;
        if self.watched && is_beside() {
            return self.backend.unseen(bytes);
        }
        match self.backend.allocate(bytes, self.pool_stream()) {
            Ok(buffer) => {
                self.watch_taken(&buffer);
                if self.device.is_cuda() || self.shared.bus.listening() {
                    self.note_alloc(&buffer, bytes as u64, purpose);
                }
                Ok(buffer)
            }
            Err(refusal) => Err(self.refused(refusal, bytes, purpose.of_no_batch())),
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
            return Ok(Buffer::new(0, 0, None, false));
        }
        let pinned = &self.shared.pinned;
        match pinned.take_prepared(bytes, |block| accelerator.backend.page_lock(block)) {
            Ok(block) => {
                let capacity = block.capacity();
                self.backend.takes_pinned(capacity as u64);
                let address = self.shared.host_addresses.of(block.as_ptr() as u64, capacity);
                let buffer = Buffer::new(address, capacity, Some(block), true);
                if self.shared.bus.listening() {
                    self.note_alloc(&buffer, bytes as u64, purpose);
                }
                Ok(buffer)
            }
            Err(error) => Err(self.refused(error.into(), bytes, None)),
        }
    }

    /// Takes memory that is no tensor's, for as long as a copy takes: no event tells of it, and it goes back
    /// to the backend.
    pub fn scratch(&self, bytes: usize) -> Result<Buffer> {
        self.backend.allocate(bytes, self.pool_stream()).map_err(|refusal| self.refused(refusal, bytes, None))
    }

    /// Gives memory back.
    pub fn free(&self, buffer: Buffer) {
        if is_unseen(&buffer) {
            return self.backend.free(buffer);
        }
        if self.watched || buffer.pinned {
            self.watch_free(&buffer);
        }
        let buffer = if self.is_captured() { self.kept(buffer) } else { buffer };
        if !self.device.is_cuda() && !self.shared.bus.listening() {
            return self.backend.free(buffer);
        }
        let (address, bytes) = (buffer.address, buffer.bytes as u64);
        if self.device.is_cuda() {
            self.live_table().remove(&address);
        }
        self.backend.free(buffer);
        // What has no bytes was never told to be there.
        if address == 0 {
            return;
        }
        self.shared.bus.emit(self.shared.source(), || {
            let (allocated, reserved) = self.memory();
            Body::Free { device: self.device, address, bytes, allocated, reserved }
        });
    }

    /// A loader's workers are processes of their own in PyTorch, and forked ones have no accelerator. Here they are threads
    /// that race each other: what they did to a device would differ from run to run.
    fn check_not_in_worker(&self) -> Result<()> {
        if ASIDE.get() == 0 || !self.device.is_cuda() {
            return Ok(());
        }
        let text = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the \
                    'spawn' start method";
        Err(Error::runtime(text).with_hint(
            "the workers of a loader give CPU tensors: copy each batch in the loop, `b.to(\"cuda\", #{non_blocking: true})` \
             with `pin_memory: true`, or load without workers, `num_workers: 0`",
        ))
    }

    /// What tensors hold on this accelerator, by address.
    pub fn live(&self) -> Vec<(u64, Live)> {
        let mut all: Vec<_> = self.live_table().iter().map(|(a, l)| (*a, l.clone())).collect();
        sorted::sort_by_key(&mut all, |(address, _)| *address);
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
        self.note_used();
        if outputs.iter().all(|view| view.layout.numel() == 0) {
            return Ok(());
        }
        let timed = self.shared.bus.listening();
        let launch =
            Launch { op, kernel, inputs, outputs, stream: self.stream(), cancel: &self.shared.cancel, timed };
        if is_beside() {
            count(launch.flops());
            return self.backend.compute(&launch);
        }
        if self.device.is_cuda() {
            self.check_not_in_worker()?;
            return self.launch_with_workspace(&launch);
        }
        // A kernel that refuses an index has read it.
        self.watch_pinned(&launch);
        let when = self.backend.launch(&launch)?;
        if timed {
            self.note_launch(&launch, when);
        }
        Ok(())
    }

    /// On an accelerator, whose libraries need memory to work in.
    fn launch_with_workspace(&self, launch: &Launch) -> Result<()> {
        let workspace = self.take_workspace(launch)?;
        let when = self.backend.launch(launch);
        if let Ok(when) = when {
            self.watch_launch(launch);
            if launch.timed {
                self.note_launch(launch, when);
                self.note_hold();
            }
        }
        self.give_workspace(workspace);
        when.map(|_| ())
    }

    /// Copies bytes between this accelerator and another memory. Where the host waited for bytes to arrive at it, the
    /// caller says why with [`waited`](Context::waited).
    pub fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        if is_beside() {
            copy_values(transfer);
            return Ok(Moved { when: When::Unknown, pinned: false, blocking: false, waited: None });
        }
        self.note_used();
        self.check_not_in_worker()?;
        self.check_not_capturing("a copy that the host waits for")?;
        let moved = self.backend.transfer(transfer)?;
        self.watch_copy(transfer, moved.blocking);
        self.note_copy(transfer, moved.pinned, moved.blocking, moved.when);
        if let Some(span) = moved.waited {
            self.note_copy_hold(transfer, moved.blocking, span);
        }
        if moved.blocking {
            self.note_late();
        }
        self.note_hold();
        Ok(moved)
    }

    /// Waits for a stream or the whole device. `implicit` when the script did not ask for it.
    pub fn synchronize(&self, stream: Option<u32>, cause: &'static str, implicit: bool) -> Result<()> {
        if !self.device.is_cuda() {
            return Ok(());
        }
        self.check_not_in_worker()?;
        self.check_not_capturing("waiting for the device")?;
        let span = self.backend.synchronize(stream)?;
        self.watch_wait(stream);
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

    /// The pool's figures as they are now, for [`Context::keep_peaks`].
    pub(crate) fn peaks(&self) -> Option<super::pool::Stats> {
        self.pool().map(|pool| pool.stats().clone())
    }

    /// Has peaks be what they were before something that does not count.
    pub(crate) fn keep_peaks(&self, before: Option<super::pool::Stats>) {
        if let (Some(mut pool), Some(before)) = (self.pool(), before) {
            pool.keep_peaks(before);
        }
    }

    /// What the pool holds, counts and may take, for [`Context::go_back`].
    pub(crate) fn held(&self) -> Option<super::pool::Held> {
        self.pool().map(|pool| pool.held())
    }

    /// Has no memory fraction hold, until [`Context::go_back`].
    pub(crate) fn lift_fraction(&self) {
        if let Some(mut pool) = self.pool() {
            pool.lift_fraction();
        }
    }

    /// Gives back what was reserved since, and has the pool's figures be what they were.
    pub(crate) fn go_back(&self, held: Option<super::pool::Held>) {
        if let (Some(mut pool), Some(held)) = (self.pool(), held) {
            pool.go_back(&held);
        }
        self.note_segments();
    }

    /// Has the pool be as in the beginning, but for what tensors hold.
    pub(crate) fn begin_anew(&self) {
        if let Some(mut pool) = self.pool() {
            pool.begin_anew();
        }
        self.backend.begin_anew();
        self.note_segments();
        self.shared.bus.emit(self.shared.source(), || Body::PeakReset { device: self.device });
    }

    fn live_table(&self) -> MutexGuard<'_, AddressMap<u64, Live>> {
        self.live.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The error of a request for memory, and of what for if no batch changes its size. Out of memory comes with the remedy
    /// that the state allows.
    #[cold]
    fn refused(&self, refusal: Refusal, bytes: usize, of_no_batch: Option<&'static str>) -> Error {
        self.note_segments();
        // What the message names.
        let mut figure = None;
        let error = match refusal {
            Refusal::OutOfMemory(full) => {
                figure = Some(full.segment);
                let source = self.shared.source();
                let request = super::oom::Request {
                    source,
                    of_no_batch,
                    is_first: self.asked_last.load(Ordering::Relaxed) != source.place(),
                };
                super::oom::explain(self.device, &full, &self.live, request)
            }
            Refusal::Other(error) => error,
        };
        let requested = figure.unwrap_or(bytes as u64);
        if error.kind() == Kind::OutOfMemoryError {
            self.shared.bus.emit(self.shared.source(), || Body::OutOfMemory {
                device: self.device,
                requested,
                message: error.message(),
            });
        }
        error
    }
}

/// Capturing work instead of running it; see [`Graph`](super::Graph).
impl Context {
    /// Whether this thread's work is being written down instead of run.
    #[inline]
    fn note_used(&self) {
        if let Device::Cuda(gpu) = self.device {
            note_used(gpu);
        }
    }

    pub(crate) fn is_capturing(&self) -> bool {
        let thread = self.capturing.load(Ordering::Relaxed);
        thread != 0 && thread == thread_token()
    }

    /// Whether some thread captures a graph.
    #[inline]
    fn is_captured(&self) -> bool {
        self.capturing.load(Ordering::Relaxed) != 0
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
        let thread = thread_token();
        if self.capturing.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Err(not_permitted("a capture while another thread captures on this device"));
        }
        let pool = GRAPH_POOLS.saturating_add(self.graphs.fetch_add(1, Ordering::Relaxed)).saturating_add(1);
        if let Some(mut shared) = self.pool() {
            shared.retain_stream(pool);
        }
        let begun = self.watched.then(|| self.shared.races.begin_capture(self.device, self.stream()));
        *self.recorder() = Some(Recorder::new(pool, begun));
        Ok(())
    }

    /// Ends the capture that [`begin_capture`](Context::begin_capture) began, and gives what was written down.
    pub(super) fn end_capture(&self) -> Option<Recorder> {
        let mut taken = self.recorder().take();
        if let Some(recorder) = &mut taken {
            recorder.unjoined = recorder.begun.and_then(|begun| self.shared.races.unjoined(begun));
        }
        // What was written down has not run.
        self.watch_wait(None);
        self.capturing.store(0, Ordering::Relaxed);
        taken
    }

    /// Writes a launch down, while a graph is captured.
    pub(crate) fn capture_launch(
        &self,
        op: &'static str,
        kernel: &Kernel,
        inputs: &[Captured],
        outputs: &[(Arc<dyn Holder>, &Layout)],
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
        from: (Arc<dyn Holder>, usize),
        to: (Arc<dyn Holder>, usize),
        bytes: usize,
    ) {
        if let Some(recorder) = self.recorder().as_mut() {
            recorder.copy(from, to, bytes);
        }
    }

    /// Launches captured work as one; `kept` is the graph's from one replay to the next.
    pub fn replay(&self, stream: u32, work: &[GraphWork], kept: &mut GraphCache) -> Result<()> {
        let ran = self.backend.replay(stream, work, kept)?;
        self.watch_replay(work);
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
            self.note_hold();
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
