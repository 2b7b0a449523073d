//! Work that is written down instead of run, with the memory it uses.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use crate::base::{DType, Device, Error, Kind, Layout, Scalar};

use super::buffer::Buffer;
use super::kernel::Kernel;
use super::races::StreamStep;

/// Pools of graphs are numbered from here, beside those of streams.
pub(crate) const GRAPH_POOLS: u32 = 1 << 16;

/// What holds memory that captured work uses: a storage.
pub trait Holder: Send + Sync {
    /// Where the memory is.
    fn device(&self) -> Device;

    /// What it is read as.
    fn dtype(&self) -> DType;

    /// The memory, which stays in its place while the guard lives.
    fn held(&self) -> Box<dyn Deref<Target = Buffer> + '_>;
}

/// A kernel's input as it is written down.
pub enum Captured<'a> {
    View(Arc<dyn Holder>, &'a Layout),
    Scalar(Scalar),
}

/// What is being captured on a device.
pub(crate) struct Recorder {
    pub pool: u32,
    /// Something that is not permitted was tried.
    pub invalid: bool,
    /// Where it began in the order of the streams, where that is watched.
    pub(super) begun: Option<StreamStep>,
    /// A stream that joined the capture and has work which the capture's own stream does not wait for.
    pub(super) unjoined: Option<u32>,
    pub(super) nodes: Vec<CapturedWork>,
    pub(super) slots: Vec<GraphSlot>,
    /// Slots by where their bytes are.
    places: HashMap<u64, usize>,
}

/// Memory that a captured kernel uses.
pub(super) enum GraphSlot {
    /// Held by a tensor, as far as is known.
    Alive(Weak<dyn Holder>),
    Held(Arc<dyn Holder>),
    /// Given back during the capture: the pool has the address again, the graph keeps the bytes.
    Kept(Buffer),
}

/// Where a kernel reads or writes.
#[derive(Clone)]
pub(super) struct ViewPlace {
    pub slot: usize,
    pub dtype: DType,
    pub layout: Layout,
}

/// A kernel's input, by the slot of its memory.
pub(super) enum CapturedInput {
    View(ViewPlace),
    Scalar(Scalar),
}

/// A part of a graph.
pub(super) enum CapturedWork {
    Launch { op: &'static str, kernel: Kernel, inputs: Vec<CapturedInput>, outputs: Vec<ViewPlace> },
    Copy { from: (Device, usize, usize), to: (Device, usize, usize), bytes: usize },
}

impl Recorder {
    pub(super) fn new(pool: u32, begun: Option<StreamStep>) -> Recorder {
        Recorder {
            pool,
            invalid: false,
            begun,
            unjoined: None,
            nodes: Vec::new(),
            slots: Vec::new(),
            places: HashMap::new(),
        }
    }

    pub(super) fn launch(
        &mut self,
        op: &'static str,
        kernel: &Kernel,
        inputs: &[Captured],
        outputs: &[(Arc<dyn Holder>, &Layout)],
    ) {
        let inputs = inputs
            .iter()
            .map(|input| match input {
                Captured::View(holder, layout) => CapturedInput::View(self.place(holder, layout)),
                Captured::Scalar(s) => CapturedInput::Scalar(*s),
            })
            .collect();
        let outputs = outputs.iter().map(|(holder, layout)| self.place(holder, layout)).collect();
        self.nodes.push(CapturedWork::Launch { op, kernel: kernel.clone(), inputs, outputs });
    }

    /// A copy of `bytes` from an offset in one storage to an offset in another.
    pub(super) fn copy(
        &mut self,
        from: (Arc<dyn Holder>, usize),
        to: (Arc<dyn Holder>, usize),
        bytes: usize,
    ) {
        let mut end = |(holder, offset): (Arc<dyn Holder>, usize)| {
            let slot = self.slot(&holder);
            let device = holder.device();
            // Memory of the host is the graph's from now on: no hook tells when it goes.
            if !device.is_cuda()
                && let Some(held) = self.slots.get_mut(slot)
            {
                *held = GraphSlot::Held(holder);
            }
            (device, slot, offset)
        };
        let (from, to) = (end(from), end(to));
        self.nodes.push(CapturedWork::Copy { from, to, bytes });
    }

    /// Keeps the bytes of a buffer that captured work uses; gives back what the pool is to have.
    pub(super) fn keep(&mut self, buffer: Buffer) -> Buffer {
        let Some(slot) = self.places.remove(&key(&buffer)) else { return buffer };
        let Some(slot) = self.slots.get_mut(slot) else { return buffer };
        let address_alone = Buffer::new(buffer.address, buffer.bytes, None, false);
        *slot = GraphSlot::Kept(buffer);
        address_alone
    }

    fn place(&mut self, holder: &Arc<dyn Holder>, layout: &Layout) -> ViewPlace {
        ViewPlace { slot: self.slot(holder), dtype: holder.dtype(), layout: layout.clone() }
    }

    fn slot(&mut self, holder: &Arc<dyn Holder>) -> usize {
        let key = key(&holder.held());
        let slots = &mut self.slots;
        *self.places.entry(key).or_insert_with(|| {
            slots.push(GraphSlot::Alive(Arc::downgrade(holder)));
            slots.len() - 1
        })
    }
}

/// Where a buffer's bytes are: addresses of a simulated device come round again, those behind them do not.
fn key(buffer: &Buffer) -> u64 {
    buffer.host.as_ref().map_or(buffer.address, |block| block.as_ptr() as u64)
}

/// CUDA's error for what waits for a device, or needs it at once, while its work is only being written down.
#[cold]
pub(super) fn not_permitted(what: &str) -> Error {
    failed("operation not permitted when stream is capturing", "cudaErrorStreamCaptureUnsupported").with_hint(
        format!(
            "{what} needs the device now, but during cuda::graph(|| …) its work is only written down: do it before the \
             capture, or after a replay"
        ),
    )
}

/// CUDA's error for the end of a capture in which something failed.
#[cold]
pub(super) fn invalidated() -> Error {
    failed("operation failed due to a previous error during capture", "cudaErrorStreamCaptureInvalidated")
        .with_hint("the closure caught an error of its own and went on: what is not permitted ends a capture")
}

/// CUDA's error for the end of a capture that another stream is still part of.
#[cold]
pub(super) fn unjoined(stream: u32) -> Error {
    failed("capturing stream has unjoined work", "cudaErrorStreamCaptureUnjoined").with_hint(format!(
        "stream {stream} waited for the stream that is captured, and so its work is part of the graph: before the closure \
         ends, have the captured stream wait for it in turn, with `wait_stream`"
    ))
}

fn failed(what: &str, name: &str) -> Error {
    let text = format!(
        "CUDA error: {what}\n\
        Search for `{name}' in \
        https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n\
        CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be \
        incorrect.\n\
        For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    );
    Error::new(Kind::DeviceError, text)
}
