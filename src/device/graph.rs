//! Work that is captured once and then launched again as one: CUDA graphs.
//!
//! Between [`Context::begin_capture`] and [`Context::end_capture`] nothing runs on a device: kernels and copies are
//! written down with the memory they use. Memory that is taken meanwhile comes from segments of the graph's own,
//! so a replay finds the same memory again: within a capture freed blocks serve later requests, as in PyTorch's
//! private pools, and nobody else is given them while the graph lives.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::base::{DType, Device, Error, Kind, Layout, Result, Scalar};

use super::backend::{Buffer, GraphWork, Transfer};
use super::context::Context;
use super::kernel::{Arg, Kernel, Launch, RandomSource, View};
use super::machine::Machine;
use super::storage::Storage;

/// Pools of graphs are numbered from here, beside those of streams.
pub(crate) const GRAPH_POOLS: u32 = 1 << 16;

/// A kernel's input as it is written down.
pub enum Captured<'a> {
    View(&'a Arc<Storage>, &'a Layout),
    Scalar(Scalar),
}

/// What is being captured on a device.
pub(super) struct Recorder {
    pub pool: u32,
    /// Something that is not permitted was tried.
    pub invalid: bool,
    nodes: Vec<Node>,
    slots: Vec<GraphSlot>,
    /// Slots by where their bytes are.
    places: HashMap<u64, usize>,
}

/// Memory that a captured kernel uses.
enum GraphSlot {
    /// Held by a tensor, as far as is known.
    Alive(Weak<Storage>),
    Held(Arc<Storage>),
    /// Given back during the capture: the pool has the address again, the graph keeps the bytes.
    Kept(Buffer),
}

#[derive(Clone)]
struct ViewPlace {
    slot: usize,
    dtype: DType,
    layout: Layout,
}

enum Input {
    View(ViewPlace),
    Scalar(Scalar),
}

enum Node {
    Launch { op: &'static str, kernel: Kernel, inputs: Vec<Input>, outputs: Vec<ViewPlace> },
    Copy { from: (Device, usize, usize), to: (Device, usize, usize), bytes: usize },
}

/// A captured graph of one device.
pub struct Graph {
    context: Arc<Context>,
    pool: u32,
    nodes: Vec<Node>,
    slots: Vec<GraphSlot>,
    /// The seed and offset of the device's generator when the capture began, and the numbers it drew.
    random: (u64, u64, u64),
}

impl Recorder {
    pub(super) fn new(pool: u32) -> Recorder {
        Recorder { pool, invalid: false, nodes: Vec::new(), slots: Vec::new(), places: HashMap::new() }
    }

    pub(super) fn launch(
        &mut self,
        op: &'static str,
        kernel: &Kernel,
        inputs: &[Captured],
        outputs: &[(&Arc<Storage>, &Layout)],
    ) {
        let inputs = inputs
            .iter()
            .map(|input| match input {
                Captured::View(storage, layout) => Input::View(self.place(storage, layout)),
                Captured::Scalar(s) => Input::Scalar(*s),
            })
            .collect();
        let outputs = outputs.iter().map(|(storage, layout)| self.place(storage, layout)).collect();
        self.nodes.push(Node::Launch { op, kernel: kernel.clone(), inputs, outputs });
    }

    /// A copy of `bytes` from an offset in one storage to an offset in another.
    pub(super) fn copy(&mut self, from: (&Arc<Storage>, usize), to: (&Arc<Storage>, usize), bytes: usize) {
        let mut end = |(storage, offset): (&Arc<Storage>, usize)| {
            let slot = self.slot(storage);
            // Memory of the host is the graph's from now on: no hook tells when it goes.
            if !storage.device().is_cuda()
                && let Some(held) = self.slots.get_mut(slot)
            {
                *held = GraphSlot::Held(Arc::clone(storage));
            }
            (storage.device(), slot, offset)
        };
        let (from, to) = (end(from), end(to));
        self.nodes.push(Node::Copy { from, to, bytes });
    }

    /// Keeps the bytes of a buffer that captured work uses; gives back what the pool is to have.
    pub(super) fn keep(&mut self, buffer: Buffer) -> Buffer {
        let Some(slot) = self.places.remove(&key(&buffer)) else { return buffer };
        let Some(slot) = self.slots.get_mut(slot) else { return buffer };
        let address_alone =
            Buffer { address: buffer.address, bytes: buffer.bytes, host: None, pinned: false };
        *slot = GraphSlot::Kept(buffer);
        address_alone
    }

    fn place(&mut self, storage: &Arc<Storage>, layout: &Layout) -> ViewPlace {
        ViewPlace { slot: self.slot(storage), dtype: storage.dtype(), layout: layout.clone() }
    }

    fn slot(&mut self, storage: &Arc<Storage>) -> usize {
        let key = key(storage.place().buffer());
        let slots = &mut self.slots;
        *self.places.entry(key).or_insert_with(|| {
            slots.push(GraphSlot::Alive(Arc::downgrade(storage)));
            slots.len() - 1
        })
    }
}

/// Where a buffer's bytes are: addresses of a simulated device come round again, those behind them do not.
fn key(buffer: &Buffer) -> u64 {
    buffer.host.as_ref().map_or(buffer.address, |block| block.as_ptr() as u64)
}

impl Graph {
    pub(super) fn new(context: &Arc<Context>, recorder: Recorder, random: (u64, u64, u64)) -> Graph {
        let hold = |slot| match slot {
            GraphSlot::Alive(storage) => storage.upgrade().map_or_else(
                || GraphSlot::Kept(Buffer { address: 0, bytes: 0, host: None, pinned: false }),
                GraphSlot::Held,
            ),
            held => held,
        };
        let slots = recorder.slots.into_iter().map(hold).collect();
        Graph { context: Arc::clone(context), pool: recorder.pool, nodes: recorder.nodes, slots, random }
    }

    /// How many kernels and copies it holds.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was captured.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The GPU that it was captured on.
    pub fn device(&self) -> Device {
        self.context.device
    }

    /// Launches everything again on the device's current stream, in the order of the capture. The host pays for one
    /// launch. Random kernels draw new numbers.
    pub fn replay(&self, machine: &Machine) -> Result<()> {
        if self.context.is_capturing() {
            return Err(not_permitted("replaying a graph"));
        }
        let kernels = self.kernels(machine);
        let guards: Vec<_> = self
            .slots
            .iter()
            .map(|slot| if let GraphSlot::Held(storage) = slot { Some(storage.place()) } else { None })
            .collect();
        let buffer = |slot: usize| match (self.slots.get(slot), guards.get(slot)) {
            (Some(GraphSlot::Kept(buffer)), _) => buffer,
            (_, Some(Some(guard))) => guard.buffer(),
            _ => &NOWHERE,
        };
        fn view<'a>(buffer: &'a Buffer, place: &'a ViewPlace) -> View<'a> {
            View { buffer, dtype: place.dtype, layout: &place.layout }
        }
        let args: Vec<(Vec<Arg>, Vec<View>)> = self
            .nodes
            .iter()
            .map(|node| match node {
                Node::Launch { inputs, outputs, .. } => (
                    inputs
                        .iter()
                        .map(|input| match input {
                            Input::View(place) => Arg::View(view(buffer(place.slot), place)),
                            Input::Scalar(s) => Arg::Scalar(*s),
                        })
                        .collect(),
                    outputs.iter().map(|place| view(buffer(place.slot), place)).collect(),
                ),
                Node::Copy { .. } => (Vec::new(), Vec::new()),
            })
            .collect();
        let stream = self.context.stream();
        let target_stream = |device: Device| machine.context(device).map_or(0, |c| c.stream());
        let work: Vec<GraphWork> = self
            .nodes
            .iter()
            .zip(&args)
            .zip(&kernels)
            .filter_map(|((node, (inputs, outputs)), kernel)| match node {
                Node::Launch { op, .. } => Some(GraphWork::Launch(Launch {
                    op,
                    kernel: kernel.as_ref()?,
                    inputs,
                    outputs,
                    stream,
                    cancel: &self.context.shared.cancel,
                    timed: self.context.shared.bus.listening(),
                })),
                Node::Copy { from, to, bytes } => Some(GraphWork::Copy(Transfer {
                    from: (from.0, buffer(from.1), from.2),
                    to: (to.0, buffer(to.1), to.2),
                    bytes: *bytes,
                    non_blocking: true,
                    stream,
                    target_stream: target_stream(to.0),
                })),
            })
            .collect();
        self.context.replay(stream, &work)
    }

    /// The kernels with the generator's present state in those that draw.
    fn kernels(&self, machine: &Machine) -> Vec<Option<Kernel>> {
        let (_, begun, drawn) = self.random;
        let (now_seed, now) = machine.generator_state(self.context.device).unwrap_or((0, 0));
        if drawn > 0 {
            machine.set_generator_state(self.context.device, (now_seed, now.wrapping_add(drawn)));
        }
        let renewed = |kernel: &Kernel| match kernel {
            Kernel::Random(random) => {
                let mut random = random.clone();
                if let RandomSource::Philox { seed, offset, .. } = &mut random.source {
                    *offset = offset.wrapping_sub(begun).wrapping_add(now);
                    *seed = now_seed;
                }
                Kernel::Random(random)
            }
            other => other.clone(),
        };
        let kernel = |node: &Node| match node {
            Node::Launch { kernel, .. } => Some(renewed(kernel)),
            Node::Copy { .. } => None,
        };
        self.nodes.iter().map(kernel).collect()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        for slot in self.slots.drain(..) {
            if let GraphSlot::Kept(buffer) = slot {
                // The pool has the address already.
                self.context.backend.free(Buffer { address: 0, ..buffer });
            }
        }
        if let Some(mut pool) = self.context.pool() {
            pool.release_stream(self.pool);
        }
    }
}

static NOWHERE: Buffer = Buffer { address: 0, bytes: 0, host: None, pinned: false };

/// CUDA's error for the end of a capture in which something failed.
#[cold]
pub(super) fn invalidated() -> Error {
    let text = "CUDA error: operation failed due to a previous error during capture\n\
        Search for `cudaErrorStreamCaptureInvalidated' in \
        https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n\
        CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be \
        incorrect.\n\
        For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n";
    Error::new(Kind::DeviceError, text)
        .with_hint("the closure caught an error of its own and went on: what is not permitted ends a capture")
}

/// CUDA's error for what waits for a device, or needs it at once, while its work is only being written down.
#[cold]
pub(super) fn not_permitted(what: &str) -> Error {
    let text = "CUDA error: operation not permitted when stream is capturing\n\
        Search for `cudaErrorStreamCaptureUnsupported' in \
        https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n\
        CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be \
        incorrect.\n\
        For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n";
    Error::new(Kind::DeviceError, text).with_hint(format!(
        "{what} needs the device now, but during cuda::graph(|| …) its work is only written down: do it before the \
         capture, or after a replay"
    ))
}
