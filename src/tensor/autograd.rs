//! The graph: nodes with their rules, what they saved, and how tensors join it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use smallvec::SmallVec;

use crate::base::{DType, Device, Dims, Error, GradCause, Result};
use crate::device::streams::Streams;

use super::Tensor;
use super::hooks::Hooks;
pub(crate) use super::pass::Grads;
use super::pass::{Caller, PassContext};

/// How the gradient of an op is computed. Rules are static; what varies is saved in the node.
pub trait Rule: Send + Sync {
    /// PyTorch's name, such as `MulBackward0`.
    fn name(&self) -> &'static str;

    /// Vector-Jacobian product: gradients of the inputs from the output's. Shapes may still be broadcast:
    /// the engine sums them to the inputs' shapes.
    fn backward(&self, saved: &Saved, grad: &Tensor) -> Result<Grads>;

    /// Whether a pass that frees what was saved frees something where no tensor was, so that no other may come.
    fn holds_more(&self) -> bool {
        true
    }

    /// [`Rule::backward`] of a rule that `caller` computes.
    fn backward_by(&self, saved: &Saved, grad: &Tensor, _caller: &dyn Caller) -> Result<Grads> {
        self.backward(saved, grad)
    }
}

/// A rule that is a function.
pub struct Vjp {
    pub name: &'static str,
    pub run: fn(&Saved, &Tensor) -> Result<Grads>,
}

impl Rule for Vjp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, saved: &Saved, grad: &Tensor) -> Result<Grads> {
        (self.run)(saved, grad)
    }

    fn holds_more(&self) -> bool {
        // PyTorch saves a factor that is a number as a tensor, and what an average is taken of.
        const SAVING: [&str; 6] = [
            "MulBackward0",
            "DivBackward0",
            "AvgPool2DBackward0",
            "AvgPool3DBackward0",
            "AdaptiveAvgPool2DBackward0",
            "AdaptiveAvgPool3DBackward0",
        ];
        SAVING.contains(&self.name)
    }
}

/// Where a gradient goes.
#[derive(Clone)]
pub enum Edge {
    None,
    Node(Arc<Node>),
    /// A leaf that accumulates.
    Leaf(Tensor),
}

/// What the gradient of an input must look like.
#[derive(Clone, PartialEq, Debug)]
pub struct Meta {
    pub shape: Dims,
    pub dtype: DType,
    pub device: Device,
}

impl Meta {
    /// Shape, dtype and device of a tensor.
    pub fn of(t: &Tensor) -> Meta {
        Meta { shape: Dims::from_slice(t.shape()), dtype: t.dtype(), device: t.device() }
    }
}

/// One operation in the graph. Has one differentiable output.
pub struct Node {
    pub rule: &'static dyn Rule,
    /// Creation order; backward runs from the largest.
    pub sequence: u64,
    pub inputs: SmallVec<[(Edge, Meta); 3]>,
    /// The script line that made it.
    pub line: u32,
    /// The streams that were current then: that of the output's device runs the rule, that of a leaf's device takes the
    /// leaf's gradient.
    pub(super) streams: Streams,
    saved: Mutex<Option<Saved>>,
    hooks: OnceLock<Arc<Hooks>>,
}

/// What a rule kept from the forward pass.
#[derive(Clone, Default)]
pub struct Saved {
    tensors: SmallVec<[Option<SavedTensor>; 3]>,
    attribute: Option<Arc<dyn Any + Send + Sync>>,
    needs: SmallVec<[bool; 3]>,
    shapes: SmallVec<[Dims; 2]>,
    node: Option<Weak<Node>>,
    /// The node of an operation that wrote to a part of a tensor, and what that one saved.
    inner: Option<(Arc<Node>, Option<Box<Saved>>)>,
}

#[derive(Clone)]
struct SavedTensor {
    tensor: KeptTensor,
    version: u32,
    /// Set for the node's own output, which is kept without its node so that no cycle forms.
    output: bool,
    made_by: Option<&'static str>,
}

#[derive(Clone)]
enum KeptTensor {
    Tensor(Tensor),
    /// Dropped in a checkpointed call, to be computed again.
    Packed(Arc<dyn StandIn>),
}

/// Stands in a node for a saved tensor, until a backward pass asks for it.
pub(super) trait StandIn: Send + Sync {
    /// The tensor, computed again where this pass has not yet done so.
    fn unpack(&self, pass: PassContext) -> Result<Tensor>;

    /// Moves the nodes that this keeps alive to `found`, where nothing else holds it.
    fn release(self: Arc<Self>, found: &mut Vec<Arc<Node>>);
}

/// What becomes of tensors that rules save, as `torch.autograd.graph.saved_tensors_hooks` has it.
pub(super) trait Packer {
    /// What the node keeps in the tensor's place; `edge` is where the tensor stands in the graph.
    fn pack(&self, t: &Tensor, edge: Edge) -> Option<Arc<dyn StandIn>>;
}

thread_local! {
    /// Whether anything is packed: read for every saved tensor, so it stands alone.
    static PACKS: Cell<bool> = const { Cell::new(false) };
    static PACKERS: RefCell<Vec<Rc<dyn Packer>>> = const { RefCell::new(Vec::new()) };
}

/// Gives what rules save on this thread to `packer` until the guard is dropped.
pub(super) fn pack_with(packer: Rc<dyn Packer>) -> Packed {
    PACKERS.with_borrow_mut(|all| all.push(packer));
    PACKS.set(true);
    Packed(())
}

/// Takes the last packer away when dropped.
pub struct Packed(());

impl Drop for Packed {
    fn drop(&mut self) {
        let last = PACKERS.with_borrow_mut(|all| {
            let last = all.pop();
            PACKS.set(!all.is_empty());
            last
        });
        drop(last);
    }
}

#[inline]
fn pack(t: &Tensor, edge: impl FnOnce() -> Edge) -> Option<Arc<dyn StandIn>> {
    if PACKS.get() { pack_now(t, edge()) } else { None }
}

fn pack_now(t: &Tensor, edge: Edge) -> Option<Arc<dyn StandIn>> {
    PACKERS.with_borrow(|all| all.last().cloned())?.pack(t, edge)
}

static SEQUENCE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static GRAD_MODE: Cell<bool> = const { Cell::new(true) };
}

/// Whether operations are recorded.
#[inline]
pub(crate) fn grad_enabled() -> bool {
    GRAD_MODE.with(Cell::get)
}

/// Sets grad mode until the guard is dropped.
pub fn set_grad_mode(on: bool) -> GradMode {
    GradMode(GRAD_MODE.with(|c| c.replace(on)))
}

/// Restores grad mode when dropped.
pub struct GradMode(bool);

impl Drop for GradMode {
    fn drop(&mut self) {
        GRAD_MODE.with(|c| c.set(self.0));
    }
}

/// How closely the backward pass is watched, as `torch.autograd.detect_anomaly` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watch {
    Off,
    /// The error of a tensor that was modified in place says that the pass was watched.
    Lines,
    /// That, and NaN in a gradient is an error.
    Nan,
}

thread_local! {
    static WATCH: Cell<Watch> = const { Cell::new(Watch::Off) };
}

/// How the backward pass is watched.
pub fn watch() -> Watch {
    WATCH.with(Cell::get)
}

/// Sets how the backward pass is watched until the guard is dropped.
pub(crate) fn set_watch(how: Watch) -> WatchGuard {
    WatchGuard(WATCH.with(|c| c.replace(how)))
}

/// Restores the watch when dropped.
pub(crate) struct WatchGuard(Watch);

impl Drop for WatchGuard {
    fn drop(&mut self) {
        WATCH.with(|c| c.set(self.0));
    }
}

/// Whether an op on these inputs must be recorded.
#[inline]
pub(crate) fn needs_graph(inputs: &[&Tensor]) -> bool {
    inputs.iter().any(|t| t.requires_grad()) && grad_enabled()
}

/// Collects what a rule needs in its backward pass.
#[derive(Default)]
pub struct Saver {
    saved: Saved,
}

impl Saver {
    /// Keeps an input.
    pub fn input(&mut self, t: &Tensor) {
        let made_by = t.node().map(|n| n.rule.name());
        let tensor = match pack(t, || t.edge()) {
            Some(place) => KeptTensor::Packed(place),
            None => KeptTensor::Tensor(t.clone()),
        };
        self.saved.tensors.push(Some(SavedTensor { version: t.version(), tensor, output: false, made_by }));
    }

    /// Keeps a tensor that takes no part in the graph, or nothing.
    pub(crate) fn constant(&mut self, t: Option<&Tensor>) {
        self.saved.tensors.push(t.map(|t| SavedTensor {
            version: t.version(),
            tensor: apart(t),
            output: false,
            made_by: None,
        }));
    }

    /// Keeps the output itself.
    pub fn output(&mut self, t: &Tensor) {
        let (tensor, version) = (apart(t), t.version());
        self.saved.tensors.push(Some(SavedTensor { tensor, version, output: true, made_by: None }));
    }

    /// Keeps the node of an operation that this one contains.
    pub(super) fn inner(&mut self, node: &Arc<Node>) {
        self.saved.inner = Some((Arc::clone(node), None));
    }

    /// What was kept.
    pub fn finish(self) -> Saved {
        self.saved
    }

    /// Keeps any value.
    pub fn attribute<T: Any + Send + Sync>(&mut self, value: T) {
        self.saved.attribute = Some(Arc::new(value));
    }
}

/// A tensor outside the graph, as a node keeps it.
fn apart(t: &Tensor) -> KeptTensor {
    match pack(t, || Edge::None) {
        Some(place) => KeptTensor::Packed(place),
        None => KeptTensor::Tensor(t.detach()),
    }
}

impl Saved {
    /// The `i`-th saved tensor, or an error where it was changed in place since.
    pub fn tensor(&self, i: usize) -> Result<Tensor> {
        self.optional(i)?
            .ok_or_else(|| Error::runtime("a gradient rule asks for a tensor that was not saved"))
    }

    /// The `i`-th saved tensor, if one was given.
    pub(crate) fn optional(&self, i: usize) -> Result<Option<Tensor>> {
        let Some(Some(kept)) = self.tensors.get(i) else { return Ok(None) };
        let KeptTensor::Tensor(tensor) = &kept.tensor else {
            return Err(Error::runtime("a saved tensor of a checkpointed call was not computed again"));
        };
        if tensor.version() != kept.version {
            return Err(self.modified(kept, tensor));
        }
        let node = self.node.as_ref().and_then(Weak::upgrade);
        match node {
            Some(node) if kept.output && grad_enabled() => {
                let again = tensor.detach();
                again.join(node);
                Ok(Some(again))
            }
            _ => Ok(Some(tensor.clone())),
        }
    }

    /// All saved tensors.
    pub fn all(&self) -> Result<Vec<Tensor>> {
        (0..self.tensors.len()).map(|i| self.tensor(i)).collect()
    }

    /// All that was saved, and nothing where nothing was given.
    pub(super) fn kept(&self) -> Result<Vec<Option<Tensor>>> {
        (0..self.tensors.len()).map(|i| self.optional(i)).collect()
    }

    /// With every tensor that a checkpointed call dropped computed again.
    pub fn unpacked(mut self, pass: PassContext) -> Result<Saved> {
        for kept in self.tensors.iter_mut().flatten() {
            if let KeptTensor::Packed(place) = &kept.tensor {
                let tensor = place.unpack(pass)?;
                kept.version = tensor.version();
                kept.tensor = KeptTensor::Tensor(tensor);
            }
        }
        if let Some((node, saved)) = &mut self.inner {
            *saved = Some(Box::new(node.saved(true)?.unpacked(pass)?));
        }
        Ok(self)
    }

    /// Whether something has to be computed again.
    pub(super) fn is_packed(&self) -> bool {
        self.tensors.iter().flatten().any(|kept| matches!(kept.tensor, KeptTensor::Packed(_)))
    }

    /// Goes through the tensors.
    pub(super) fn each(&self, mut look: impl FnMut(&Tensor)) {
        for kept in self.tensors.iter().flatten() {
            if let KeptTensor::Tensor(tensor) = &kept.tensor {
                look(tensor);
            }
        }
    }

    /// Whether there are tensors that go with it.
    fn holds_tensors(&self) -> bool {
        let inner = self.inner.as_ref().and_then(|(_, saved)| saved.as_ref());
        self.tensors.iter().any(Option::is_some) || inner.is_some_and(|saved| saved.holds_tensors())
    }

    /// The operation that this one contains, and what it saved.
    pub(super) fn inner(&self) -> Result<(&Node, &Saved)> {
        match &self.inner {
            Some((node, Some(saved))) => Ok((node, saved)),
            _ => Err(Error::runtime("a gradient rule asks for an operation that was not saved")),
        }
    }

    /// The saved value of type `T`.
    pub fn attribute<T: Any + Send + Sync>(&self) -> Result<&T> {
        self.attribute
            .as_deref()
            .and_then(|a| (a as &dyn Any).downcast_ref())
            .ok_or_else(|| Error::runtime("a gradient rule asks for a value that was not saved"))
    }

    /// Moves the nodes that this keeps alive to `found`.
    pub(super) fn nodes(self, found: &mut Vec<Arc<Node>>) {
        for kept in self.tensors.into_iter().flatten() {
            match kept.tensor {
                KeptTensor::Tensor(t) => found.extend(t.auto().node.clone()),
                KeptTensor::Packed(place) => place.release(found),
            }
        }
        found.extend(self.inner.map(|(node, _)| node));
    }

    /// Has memory of `device` that goes with this not serve anybody else before `stream` has done its work so far.
    pub(super) fn record_stream(&self, device: Device, stream: u32) {
        let tensors = || {
            self.tensors.iter().flatten().filter_map(|kept| match &kept.tensor {
                KeptTensor::Tensor(tensor) => Some(tensor),
                KeptTensor::Packed(_) => None,
            })
        };
        for tensor in tensors().filter(|t| t.device() == device) {
            if tensor.is_held_by(tensors().filter(|t| t.is(tensor)).count()) {
                tensor.record_stream(stream);
            }
        }
    }

    /// Whether input `i` wants a gradient.
    pub fn needs(&self, i: usize) -> bool {
        self.needs.get(i).copied().unwrap_or(false)
    }

    /// Whether the gradient of input `i` goes to a leaf.
    pub fn is_leaf(&self, i: usize) -> bool {
        let node = self.node.as_ref().and_then(Weak::upgrade);
        node.is_some_and(|node| matches!(node.inputs.get(i), Some((Edge::Leaf(_), _))))
    }

    /// Where input `i` lies, while its node is there.
    pub(super) fn device(&self, i: usize) -> Option<Device> {
        let node = self.node.as_ref().and_then(Weak::upgrade)?;
        node.inputs.get(i).map(|(_, meta)| meta.device)
    }

    /// The shape of input `i`.
    pub fn shape(&self, i: usize) -> &[usize] {
        self.shapes.get(i).map_or(&[], |d| d.as_slice())
    }

    fn modified(&self, kept: &SavedTensor, t: &Tensor) -> Error {
        let node = self.node.as_ref().and_then(Weak::upgrade);
        let of = if kept.output { node.map(|n| n.rule.name()) } else { kept.made_by };
        GradCause::ModifiedInPlace {
            dtype: t.dtype(),
            device: t.device(),
            shape: t.shape().into(),
            of: of.map(|of| of.trim_end_matches("Backward0")),
            is_trained: t.requires_grad() && t.is_leaf(),
            version: t.version(),
            expected: kept.version,
            watched: watch() != Watch::Off,
        }
        .into()
    }
}

impl Node {
    /// Makes a node whose inputs are `inputs`.
    pub fn new(rule: &'static dyn Rule, inputs: &[&Tensor], save: impl FnOnce(&mut Saver)) -> Arc<Node> {
        let mut saver = Saver::default();
        save(&mut saver);
        Node::with(rule, inputs, saver.saved)
    }

    /// In one place, however many ways there are to fill what is saved.
    #[inline(never)]
    fn with(rule: &'static dyn Rule, inputs: &[&Tensor], mut saved: Saved) -> Arc<Node> {
        saved.needs = inputs.iter().map(|t| t.requires_grad()).collect();
        saved.shapes = inputs.iter().map(|t| Dims::from_slice(t.shape())).collect();
        let line = inputs.first().map_or(0, |t| t.storage().place().context.shared.source().line);
        Arc::new_cyclic(|me| {
            saved.node = Some(me.clone());
            Node {
                rule,
                sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed),
                inputs: inputs.iter().map(|t| (t.edge(), Meta::of(t))).collect(),
                line,
                streams: Streams::current(),
                saved: Mutex::new(Some(saved)),
                hooks: OnceLock::new(),
            }
        })
    }

    /// What sees the gradient of the output.
    pub(super) fn hooks(&self) -> &Arc<Hooks> {
        self.hooks.get_or_init(Arc::default)
    }

    /// [`Node::hooks`], where there are any.
    pub(super) fn given_hooks(&self) -> Option<&Arc<Hooks>> {
        self.hooks.get()
    }

    /// The output was written in place by this very op: its saved copy is current again.
    pub(crate) fn output_written(&self) {
        let mut slot = self.saved.lock().unwrap_or_else(|e| e.into_inner());
        for kept in slot.iter_mut().flat_map(|s| s.tensors.iter_mut()).flatten().filter(|k| k.output) {
            kept.version += 1;
        }
    }

    /// Goes through the tensors that are saved.
    pub(super) fn each_saved(&self, mut look: impl FnMut(&Tensor)) {
        let saved = self.saved.lock().unwrap_or_else(|e| e.into_inner());
        saved.iter().for_each(|saved| saved.each(&mut look));
    }

    /// The node of an operation that this one contains.
    pub(super) fn inner_node(&self) -> Option<Arc<Node>> {
        let saved = self.saved.lock().unwrap_or_else(|e| e.into_inner());
        saved.as_ref().and_then(|saved| saved.inner.as_ref()).map(|(node, _)| Arc::clone(node))
    }

    /// What was saved: kept for another pass, or taken out so that it is freed after this one. Where no tensor was saved
    /// nothing is freed, and as in PyTorch another pass may come.
    pub fn saved(&self, keep: bool) -> Result<Saved> {
        let mut slot = self.saved.lock().unwrap_or_else(|e| e.into_inner());
        let frees = self.rule.holds_more() || slot.as_ref().is_some_and(Saved::holds_tensors);
        let saved = if keep || !frees { slot.clone() } else { slot.take() };
        saved.ok_or_else(|| GradCause::BackwardTwice.into())
    }
}

/// Long chains are dropped one node at a time, so that depth costs no stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut queue: Vec<Arc<Node>> = Vec::new();
        let collect = |inputs: &mut SmallVec<[(Edge, Meta); 3]>, saved: &Mutex<Option<Saved>>| {
            let mut found: Vec<Arc<Node>> = Vec::new();
            for (edge, _) in inputs.drain(..) {
                if let Edge::Node(node) = edge {
                    found.push(node);
                }
            }
            let taken = saved.lock().unwrap_or_else(|e| e.into_inner()).take();
            taken.into_iter().for_each(|s| s.nodes(&mut found));
            found
        };
        queue.extend(collect(&mut self.inputs, &self.saved));
        while let Some(node) = queue.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                queue.extend(collect(&mut node.inputs, &node.saved));
            }
        }
    }
}
