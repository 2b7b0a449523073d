//! Streams within a backward pass, as PyTorch's engine has them ("Stream semantics of backward passes").
//!
//! Each rule runs on the stream of its operation. A gradient that is taken on another stream than the one that made it
//! makes that one wait, and is recorded on it. At the end the streams that were current when the pass began wait for
//! those on which gradients of leaves, or those asked for, came to be.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::{Device, Result};
use crate::device::Context;
use crate::device::context::order::OnStream;
use crate::device::streams::Streams;

use super::Tensor;
use super::autograd::{Edge, Node, Saved};

/// The streams of a pass.
pub(super) struct PassStreams {
    /// Those that were current at its beginning.
    caller: Streams,
    /// Where the gradients of leaves are summed up, by [`Tensor::id`].
    leaves: HashMap<usize, u32>,
    /// Where gradients ended up that are the pass's result.
    ends: Vec<(Arc<Context>, u32)>,
}

/// Where gradients come from.
#[derive(Clone, Copy)]
pub(super) struct Producer<'a> {
    device: Device,
    stream: u32,
    /// The streams that were current when the operation ran: that of a leaf's device takes the leaf's gradient.
    streams: &'a Streams,
}

impl PassStreams {
    /// Of a pass that begins now.
    pub(super) fn begin() -> PassStreams {
        PassStreams { caller: Streams::current(), leaves: HashMap::new(), ends: Vec::new() }
    }

    /// Has a node's rule run on the node's stream, while the guard lives.
    pub(super) fn run<'n>(&self, node: &'n Node, context: &Arc<Context>) -> (Producer<'n>, Option<OnStream>) {
        let device = context.device;
        if !context.has_side_streams() {
            return (Producer { device, stream: 0, streams: &node.streams }, None);
        }
        let stream = context.stream_of(&node.streams);
        (Producer { device, stream, streams: &node.streams }, entered(context, stream))
    }

    /// Hands a gradient to the stream that takes it. What is done with it there is done while the guard lives.
    pub(super) fn hand(&mut self, grad: &Tensor, from: Producer, edge: &Edge) -> Result<Option<OnStream>> {
        let device = grad.device();
        if !device.is_cuda() {
            return Ok(None);
        }
        let context = grad.context();
        if !context.has_side_streams() {
            return Ok(None);
        }
        let to = match edge {
            Edge::None => return Ok(None),
            Edge::Node(node) => context.stream_of(&node.streams),
            Edge::Leaf(leaf) => {
                *self.leaves.entry(leaf.id()).or_insert_with(|| context.stream_of(from.streams))
            }
        };
        // A gradient that came from another device was copied on the stream that is current here.
        let made = if from.device == device { from.stream } else { context.stream() };
        if made != to {
            context.wait_for(to, &context, made)?;
            grad.record_stream(to);
        }
        Ok(entered(&context, to))
    }

    /// Has a leaf's gradient be worked on where it was summed up, while the guard lives.
    pub(super) fn at_leaf(&self, leaf: &Tensor) -> Option<OnStream> {
        let stream = *self.leaves.get(&leaf.id())?;
        entered(&leaf.context(), stream)
    }

    /// What was saved goes once the rule has run: memory of other streams waits for this one.
    pub(super) fn keep(&self, context: &Context, saved: &Saved) {
        if context.has_side_streams() {
            saved.record_stream(context.device, context.stream());
        }
    }

    /// Notes where a gradient ended up that is the pass's result.
    pub(super) fn end_on(&mut self, grad: &Tensor) {
        let context = grad.context();
        let stream = context.stream();
        let known = |(end, on): &(Arc<Context>, u32)| end.device == context.device && *on == stream;
        if context.has_side_streams() && !self.ends.iter().any(known) {
            self.ends.push((context, stream));
        }
    }

    /// The caller's streams wait for the results.
    pub(super) fn finish(&self) -> Result<()> {
        self.ends.iter().try_for_each(|(context, stream)| {
            let caller = context.stream_of(&self.caller);
            if caller == *stream { Ok(()) } else { context.wait_for(caller, context, *stream) }
        })
    }
}

impl<'a> Producer<'a> {
    /// Who gives a gradient from outside.
    pub(super) fn caller(grad: &Tensor, streams: &'a Streams) -> Producer<'a> {
        let context = grad.context();
        Producer { device: context.device, stream: context.stream_of(streams), streams }
    }
}

fn entered(context: &Arc<Context>, stream: u32) -> Option<OnStream> {
    (context.stream() != stream).then(|| context.on_stream(stream))
}
