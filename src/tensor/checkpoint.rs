//! Checkpointed parts of the graph: what their rules saved is dropped after the forward pass, and computed again
//! when the backward pass asks for it.
//!
//! Semantics are those of `torch.utils.checkpoint` with `use_reentrant=False`: tensors are matched by the order
//! in which they were saved, and each may be taken out once per backward pass. A recomputation ends early, with the
//! last tensor that was saved in the forward pass.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::base::{Error, Result};

use super::Tensor;
use super::autograd::{Edge, Meta, Node, Saved, Saver, set_grad_mode};

/// Computes a part again from its inputs. What it gives is of no interest: its rules save what is asked for.
pub(crate) type Recompute = dyn Fn(&[Tensor], &dyn Caller) -> Result<()> + Send + Sync;

/// What runs functions of a higher layer, such as closures of a script, while a backward pass goes on.
pub trait Caller {
    fn call(&self, function: &dyn std::any::Any, inputs: &[Tensor]) -> Result<()>;

    /// Calls a hook with a gradient: its name and the gradient it gave, if it gave one.
    fn hook(&self, function: &dyn std::any::Any, grad: &Tensor) -> Result<Option<(String, Tensor)>>;
}

/// A [`Caller`] where no script is running.
pub(crate) struct NoCaller;

impl Caller for NoCaller {
    fn call(&self, _: &dyn std::any::Any, _: &[Tensor]) -> Result<()> {
        Err(Error::runtime("a checkpointed function of a script cannot run again where no script is running"))
    }

    fn hook(&self, _: &dyn std::any::Any, _: &Tensor) -> Result<Option<(String, Tensor)>> {
        Err(Error::runtime("a hook of a script cannot run where no script is running"))
    }
}

/// A backward pass: its number, and who runs functions for it.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    pub number: u64,
    pub caller: &'a dyn Caller,
}

impl<'a> Pass<'a> {
    /// A pass with a number of its own.
    pub fn new(caller: &'a dyn Caller) -> Pass<'a> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Pass { number: NUMBER.fetch_add(1, Ordering::Relaxed), caller }
    }
}

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
    places: Vec<(Weak<StandIn>, Meta)>,
    /// What a recomputation gave, by the number of the backward pass that asked for it.
    again: Option<(u64, Vec<Option<Tensor>>)>,
}

/// Stands in a node for a saved tensor.
pub(crate) struct StandIn {
    frame: Arc<Frame>,
    index: usize,
    /// Where the tensor stood in the graph, for gradients of gradients.
    edge: Edge,
}

/// What happens to tensors that rules save on this thread.
#[derive(Clone)]
enum Packing {
    Forward(Arc<Frame>),
    /// The tensors saved so far, and with how many the recomputation has all it needs.
    Again(Arc<Mutex<Vec<Tensor>>>, Option<usize>),
}

thread_local! {
    /// Whether anything is packed: read for every saved tensor, so it stands alone.
    static ON: Cell<bool> = const { Cell::new(false) };
    static PACKING: RefCell<Vec<Packing>> = const { RefCell::new(Vec::new()) };
    /// A recomputation has all it needs: what it would compute from here on is of no use.
    static STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// Ends a recomputation that has all it needs, at its next operation.
#[inline]
pub(super) fn check_stopped() -> Result<()> {
    if STOPPED.get() { Err(Error::runtime("the recomputation has all that it needs")) } else { Ok(()) }
}

/// Whether a recomputation on this thread is over, and its function only has to return.
pub(crate) fn is_stopped() -> bool {
    STOPPED.get()
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
        Packed::push(Packing::Forward(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Computes the part again for a backward pass.
    fn run(&self, pass: Pass) -> Result<()> {
        let inputs = self.inputs.clone().unpacked(pass)?.all()?;
        let found = Arc::new(Mutex::new(Vec::new()));
        let needed = Some(self.state().places.len()).filter(|_| self.early_stop);
        {
            let _packing = Packed::push(Packing::Again(Arc::clone(&found), needed));
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
            |(t, (place, _)): (Tensor, &(Weak<StandIn>, Meta))| (place.strong_count() > 0).then_some(t);
        let again = found.into_iter().zip(&state.places).map(wanted).collect();
        state.again = Some((pass.number, again));
        Ok(())
    }
}

impl StandIn {
    /// The tensor, computed again where this pass has not yet done so.
    pub(crate) fn unpack(&self, pass: Pass) -> Result<Tensor> {
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
}

impl StandIn {
    /// Moves the nodes that this keeps alive to `found`, where nothing else holds it.
    pub(super) fn nodes(place: Arc<StandIn>, found: &mut Vec<Arc<Node>>) {
        let Some(place) = Arc::into_inner(place) else { return };
        if let Edge::Node(node) = place.edge {
            found.push(node);
        }
        if let Some(frame) = Arc::into_inner(place.frame) {
            frame.inputs.nodes(found);
        }
    }
}

/// Ends a checkpointed call, or its recomputation, when dropped.
pub struct Packed(());

impl Packed {
    fn push(packing: Packing) -> Packed {
        PACKING.with_borrow_mut(|all| all.push(packing));
        ON.set(true);
        Packed(())
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        let last = PACKING.with_borrow_mut(|all| {
            let last = all.pop();
            ON.set(!all.is_empty());
            last
        });
        drop(last);
    }
}

/// What a node keeps of a tensor that its rule saves: a stand-in within a checkpointed call.
#[inline]
pub(super) fn pack(t: &Tensor, edge: impl FnOnce() -> Edge) -> Option<Arc<StandIn>> {
    if ON.get() { pack_now(t, edge()) } else { None }
}

fn pack_now(t: &Tensor, edge: Edge) -> Option<Arc<StandIn>> {
    let packing = PACKING.with_borrow(|all| all.last().cloned())?;
    match packing {
        Packing::Forward(frame) => {
            let mut state = frame.state();
            let index = state.places.len();
            let place = Arc::new(StandIn { frame: Arc::clone(&frame), index, edge });
            state.places.push((Arc::downgrade(&place), Meta::of(t)));
            drop(state);
            Some(place)
        }
        Packing::Again(found, needed) => {
            let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
            found.push(t.detach());
            if needed == Some(found.len()) {
                STOPPED.set(true);
            }
            None
        }
    }
}

/// Fails where a recomputation saved other tensors than the forward pass, in PyTorch's words.
fn check(places: &[(Weak<StandIn>, Meta)], found: &[Tensor]) -> Result<()> {
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
