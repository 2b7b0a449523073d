//! Checkpointed parts of the graph: what their rules saved is dropped after the forward pass, and computed again
//! when the backward pass asks for it.
//!
//! Semantics are those of `torch.utils.checkpoint` with `use_reentrant=False`: tensors are matched by the order
//! in which they were saved, and each may be taken out once per backward pass. A recomputation ends early, with the
//! last tensor that was saved in the forward pass.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::base::{Error, Result};

use super::Tensor;
use super::autograd::{Edge, Meta, Node, Packed, Packer, Saved, Saver, StandIn, pack_with, set_grad_mode};
use super::pass::{Caller, PassContext};
use super::stopped::STOPPED;

/// Computes a part again from its inputs. What it gives is of no interest: its rules save what is asked for.
pub(crate) type Recompute = dyn Fn(&[Tensor], &dyn Caller) -> Result<()> + Send + Sync;

/// One checkpointed call.
pub(crate) struct Frame {
    recompute: Box<Recompute>,
    /// The call's inputs; packed themselves where the call stands inside another checkpointed one.
    inputs: Saved,
    /// Ends a recomputation with the last tensor that is asked for.
    early_stop: bool,
    state: Mutex<FrameState>,
}

#[derive(Default)]
struct FrameState {
    /// Stand-ins of the forward pass in their order, and what the tensors looked like.
    places: Vec<(Weak<Dropped>, Meta)>,
    /// What a recomputation gave, by the number of the backward pass that asked for it.
    again: Option<(u64, Vec<Option<Tensor>>)>,
}

/// A saved tensor that was dropped in the forward pass.
struct Dropped {
    frame: Arc<Frame>,
    index: usize,
    /// Where the tensor stood in the graph, for gradients of gradients.
    edge: Edge,
}

/// The tensors that a recomputation saved so far, and with how many it has all it needs.
struct Again(Arc<Mutex<Vec<Tensor>>>, Option<usize>);

impl Packer for Again {
    fn pack(&self, t: &Tensor, _: Edge) -> Option<Arc<dyn StandIn>> {
        let mut found = self.0.lock().unwrap_or_else(|e| e.into_inner());
        found.push(t.detach());
        if self.1 == Some(found.len()) {
            STOPPED.set(true);
        }
        None
    }
}

impl Packer for Arc<Frame> {
    fn pack(&self, t: &Tensor, edge: Edge) -> Option<Arc<dyn StandIn>> {
        let mut state = self.state();
        let index = state.places.len();
        let place = Arc::new(Dropped { frame: Arc::clone(self), index, edge });
        state.places.push((Arc::downgrade(&place), Meta::of(t)));
        drop(state);
        Some(place)
    }
}

impl Frame {
    /// A call with `inputs`, whose rules save nothing until the guard of [`Frame::enter`] is dropped.
    pub(crate) fn new(inputs: &[Tensor], early_stop: bool, recompute: Box<Recompute>) -> Arc<Frame> {
        let mut saver = Saver::default();
        inputs.iter().for_each(|t| saver.input(t));
        let inputs = saver.finish();
        Arc::new(Frame { recompute, inputs, early_stop, state: Mutex::default() })
    }

    pub(crate) fn enter(self: &Arc<Frame>) -> Packed {
        pack_with(Rc::new(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Computes the part again for a backward pass.
    fn run(&self, pass: PassContext) -> Result<()> {
        let inputs = self.inputs.clone().unpacked(pass)?.all()?;
        let found = Arc::new(Mutex::new(Vec::new()));
        let needed = Some(self.state().places.len()).filter(|_| self.early_stop);
        {
            let _packing = pack_with(Rc::new(Again(Arc::clone(&found), needed)));
            let _mode = set_grad_mode(true);
            let before = STOPPED.replace(false);
            let result = (self.recompute)(&inputs, pass.caller);
            if !STOPPED.replace(before) {
                result?;
            }
        }
        let found = std::mem::take(&mut *found.lock().unwrap_or_else(|e| e.into_inner()));
        let mut state = self.state();
        check(&state.places, &found)?;
        let wanted =
            |(t, (place, _)): (Tensor, &(Weak<Dropped>, Meta))| (place.strong_count() > 0).then_some(t);
        let again = found.into_iter().zip(&state.places).map(wanted).collect();
        state.again = Some((pass.number, again));
        Ok(())
    }
}

impl StandIn for Dropped {
    fn unpack(&self, pass: PassContext) -> Result<Tensor> {
        let done = self.frame.state().again.as_ref().is_some_and(|(number, _)| *number == pass.number);
        if !done {
            self.frame.run(pass)?;
        }
        let mut state = self.frame.state();
        let slot = state.again.as_mut().and_then(|(_, all)| all.get_mut(self.index));
        let found = slot.and_then(Option::take).ok_or_else(|| {
            Error::runtime(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If \
                 you are calling ctx.saved_tensors in backward, make sure to do so only once.",
            )
        })?;
        drop(state);
        Ok(match &self.edge {
            Edge::Leaf(leaf) => leaf.clone(),
            Edge::Node(node) => {
                found.join(Arc::clone(node));
                found
            }
            Edge::None => found,
        })
    }

    fn release(self: Arc<Self>, found: &mut Vec<Arc<Node>>) {
        let Some(place) = Arc::into_inner(self) else { return };
        if let Edge::Node(node) = place.edge {
            found.push(node);
        }
        if let Some(frame) = Arc::into_inner(place.frame) {
            frame.inputs.nodes(found);
        }
    }
}

/// Fails where a recomputation saved other tensors than the forward pass, in PyTorch's words.
fn check(places: &[(Weak<Dropped>, Meta)], found: &[Tensor]) -> Result<()> {
    let hint = "the function must do the same each time it is called with the same inputs: look for values it \
                changes, and for random numbers that are not torch's";
    if found.len() > places.len() {
        return Err(Error::runtime(
            "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original \
             forward pass.",
        )
        .with_hint(hint));
    }
    if found.len() < places.len() {
        return Err(Error::runtime(format!(
            "torch.utils.checkpoint: A different number of tensors was saved during the original forward and \
             recomputation.\nNumber of tensors saved during forward: {}\nNumber of tensors saved during \
             recomputation: {}.",
            places.len(),
            found.len()
        ))
        .with_hint(hint));
    }
    let differ = places.iter().zip(found).enumerate().filter_map(|(i, ((place, before), t))| {
        let now = Meta::of(t);
        (place.strong_count() > 0 && now != *before).then(|| {
            format!(
                "tensor at position {i}:\nsaved metadata: {}\nrecomputed metadata: {}\n",
                shown(before),
                shown(&now)
            )
        })
    });
    let differ: String = differ.collect();
    if differ.is_empty() {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the \
         forward pass.\n{differ}."
    ))
    .with_hint(hint))
}

fn shown(meta: &Meta) -> String {
    let device = match meta.device {
        crate::base::Device::Cpu => "device(type='cpu')".to_string(),
        crate::base::Device::Cuda(i) => format!("device(type='cuda', index={i})"),
    };
    let (shape, dtype) = (&meta.shape.as_slice(), meta.dtype);
    format!("{{'shape': torch.Size({shape:?}), 'dtype': torch.{dtype}, 'device': {device}}}")
}
