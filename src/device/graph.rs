//! Work that is captured once and then launched again as one: CUDA graphs.
//!
//! Between [`Context::begin_capture`] and [`Graph::end_capture`] nothing runs on a device: kernels and copies are
//! written down with the memory they use. Memory that is taken meanwhile comes from segments of the graph's own,
//! so a replay finds the same memory again: within a capture freed blocks serve later requests, as in PyTorch's
//! private pools, and nobody else is given them while the graph lives.

use std::sync::{Arc, Mutex};

use crate::base::{Device, Error, Result};
use crate::device::buffer::Buffer;

use super::backend::{GraphCache, GraphWork, Transfer};
use super::capture::{CapturedInput, CapturedWork, GraphSlot, Recorder, ViewPlace};
use super::capture::{invalidated, not_permitted, unjoined};
use super::context::Context;
use super::kernel::{Arg, Kernel, Launch, RandomSource, View};
use super::machine::Machine;

/// A captured graph of one device.
pub struct Graph {
    context: Arc<Context>,
    pool: u32,
    nodes: Vec<CapturedWork>,
    slots: Vec<GraphSlot>,
    /// The seed and offset of the device's generator when the capture began, and the numbers it drew.
    random: (u64, u64, u64),
    /// What the backend keeps from one replay to the next.
    kept: Mutex<GraphCache>,
}

impl Graph {
    /// Ends the capture that [`Context::begin_capture`] began at the generator's state `begun`.
    ///
    /// # Errors
    /// Where something failed meanwhile, or no capture is under way.
    pub(crate) fn end_capture(context: &Arc<Context>, machine: &Machine, begun: (u64, u64)) -> Result<Graph> {
        let taken = context.end_capture();
        let drawn = machine.generator_state(context.device).map_or(0, |(_, now)| now.wrapping_sub(begun.1));
        machine.set_generator_state(context.device, begun);
        let Some(recorder) = taken else { return Err(Error::runtime("no capture is under way")) };
        let failed = match (recorder.invalid, recorder.unjoined) {
            (true, _) => Some(invalidated()),
            (false, open) => open.map(unjoined),
        };
        // Where it failed, its memory goes back with it.
        let graph = Graph::new(context, recorder, (begun.0, begun.1, drawn));
        failed.map_or(Ok(graph), Err)
    }

    fn new(context: &Arc<Context>, recorder: Recorder, random: (u64, u64, u64)) -> Graph {
        let hold = |slot| match slot {
            GraphSlot::Alive(storage) => storage
                .upgrade()
                .map_or_else(|| GraphSlot::Kept(Buffer::new(0, 0, None, false)), GraphSlot::Held),
            held => held,
        };
        let slots = recorder.slots.into_iter().map(hold).collect();
        Graph {
            context: Arc::clone(context),
            pool: recorder.pool,
            nodes: recorder.nodes,
            slots,
            random,
            kept: Mutex::default(),
        }
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
            .map(|slot| if let GraphSlot::Held(holder) = slot { Some(holder.held()) } else { None })
            .collect();
        let buffer = |slot: usize| match (self.slots.get(slot), guards.get(slot)) {
            (Some(GraphSlot::Kept(buffer)), _) => buffer,
            (_, Some(Some(guard))) => guard,
            _ => &NOWHERE,
        };
        fn view<'a>(buffer: &'a Buffer, place: &'a ViewPlace) -> View<'a> {
            View { buffer, dtype: place.dtype, layout: &place.layout }
        }
        let args: Vec<(Vec<Arg>, Vec<View>)> = self
            .nodes
            .iter()
            .map(|node| match node {
                CapturedWork::Launch { inputs, outputs, .. } => (
                    inputs
                        .iter()
                        .map(|input| match input {
                            CapturedInput::View(place) => Arg::View(view(buffer(place.slot), place)),
                            CapturedInput::Scalar(s) => Arg::Scalar(*s),
                        })
                        .collect(),
                    outputs.iter().map(|place| view(buffer(place.slot), place)).collect(),
                ),
                CapturedWork::Copy { .. } => (Vec::new(), Vec::new()),
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
                CapturedWork::Launch { op, .. } => Some(GraphWork::Launch(Launch {
                    op,
                    kernel: kernel.as_ref()?,
                    inputs,
                    outputs,
                    stream,
                    cancel: &self.context.shared.cancel,
                    timed: self.context.shared.bus.listening(),
                })),
                CapturedWork::Copy { from, to, bytes } => Some(GraphWork::Copy(Transfer {
                    from: (from.0, buffer(from.1), from.2),
                    to: (to.0, buffer(to.1), to.2),
                    bytes: *bytes,
                    non_blocking: true,
                    stream,
                    target_stream: target_stream(to.0),
                })),
            })
            .collect();
        let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        self.context.replay(stream, &work, &mut kept)
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
        let kernel = |node: &CapturedWork| match node {
            CapturedWork::Launch { kernel, .. } => Some(renewed(kernel)),
            CapturedWork::Copy { .. } => None,
        };
        self.nodes.iter().map(kernel).collect()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // Before the memory that it works on.
        self.kept.get_mut().unwrap_or_else(|e| e.into_inner()).take();
        for slot in self.slots.drain(..) {
            if let GraphSlot::Kept(buffer) = slot {
                // The pool has the address already.
                self.context.backend.free(Buffer::new(0, buffer.bytes, buffer.host, buffer.pinned));
            }
        }
        if let Some(mut pool) = self.context.pool() {
            pool.release_stream(self.pool);
        }
    }
}

static NOWHERE: Buffer = Buffer::new(0, 0, None, false);
