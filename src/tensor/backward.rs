//! The backward pass: from the newest node to the oldest, each gradient summed once and freed early.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::error::kind::Kind;
use crate::base::{DeviceCause, Error, GradCause, Result};
use crate::device::streams::Streams;

use super::autograd::{Edge, Grads, Meta, Node, Saved, Watch, grad_enabled, set_grad_mode, watch};
use super::backward_streams::{PassStreams, Producer};
use super::hook_plan::{HookPlan, Whole, retain};
use super::pass::{Caller, NoCaller, PassContext};
use super::{Tensor, accumulate, flat, hooks};

/// Options of a backward pass, as `torch.autograd.backward` has them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pass {
    /// Keep what was saved for another pass.
    pub retain_graph: bool,
    /// Record the pass itself, for second derivatives. Implies `retain_graph`.
    pub create_graph: bool,
}

impl Tensor {
    /// Accumulates gradients of this tensor into the leaves it was computed from.
    ///
    /// `grad` defaults to 1 for a tensor of one element; any other shape needs it.
    pub fn backward(&self, grad: Option<&Tensor>, pass: Pass) -> Result<()> {
        self.backward_by(grad, pass, &NoCaller)
    }

    /// [`Tensor::backward`] where `caller` runs checkpointed functions again.
    pub(crate) fn backward_by(&self, grad: Option<&Tensor>, pass: Pass, caller: &dyn Caller) -> Result<()> {
        let seed = self.seed(grad)?;
        let mut run = BackwardRun::new(pass, None, caller);
        run.start(self, seed);
        run.finish().map(|_| ())
    }

    /// Gradients with respect to `inputs`, without touching any `.grad`.
    pub fn grads_of(
        outputs: &[&Tensor],
        inputs: &[&Tensor],
        seeds: &[Option<&Tensor>],
        pass: Pass,
    ) -> Result<Vec<Option<Tensor>>> {
        Tensor::grads_of_by(outputs, inputs, seeds, pass, &NoCaller)
    }

    /// [`Tensor::grads_of`] where `caller` runs checkpointed functions again.
    pub(crate) fn grads_of_by(
        outputs: &[&Tensor],
        inputs: &[&Tensor],
        seeds: &[Option<&Tensor>],
        pass: Pass,
        caller: &dyn Caller,
    ) -> Result<Vec<Option<Tensor>>> {
        let wanted = inputs.iter().map(|t| GradTarget::of(t)).collect::<Result<Vec<_>>>()?;
        let mut run = BackwardRun::new(pass, Some(wanted), caller);
        for (i, output) in outputs.iter().enumerate() {
            let seed = output.seed(seeds.get(i).copied().flatten())?;
            run.start(output, seed);
        }
        run.finish()
    }

    fn seed(&self, grad: Option<&Tensor>) -> Result<Tensor> {
        if !self.requires_grad() {
            return Err(GradCause::NoGradFn.into());
        }
        match grad {
            Some(g) if g.shape() != self.shape() => Err(Error::runtime(format!(
                "Mismatch in shape: grad_output[0] has a shape of torch.Size({:?}) and output[0] has a shape of \
                 torch.Size({:?}).",
                g.shape(),
                self.shape()
            ))),
            Some(g) if g.device() != self.device() => {
                Err(DeviceCause::TwoDevices { first: self.device(), second: g.device() }.into())
            }
            Some(g) => Ok(g.clone()),
            None if self.numel() == 1 => {
                Tensor::full(self.shape(), 1i64.into(), self.dtype(), &self.context(), "ones_like")
            }
            None => Err(GradCause::NonScalarBackward.into()),
        }
    }
}

/// A tensor whose gradient is asked for.
#[derive(Clone)]
enum GradTarget {
    Node(Arc<Node>),
    Leaf(Tensor),
}

impl GradTarget {
    fn of(t: &Tensor) -> Result<GradTarget> {
        match t.edge() {
            Edge::Node(node) => Ok(GradTarget::Node(node)),
            Edge::Leaf(leaf) => Ok(GradTarget::Leaf(leaf)),
            Edge::None => Err(Error::runtime("One of the differentiated Tensors does not require grad")),
        }
    }
}

/// A node waiting for its turn; the newest goes first.
struct Ready(Arc<Node>);

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.0.sequence == other.0.sequence
    }
}

impl Eq for Ready {}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.sequence.cmp(&other.0.sequence)
    }
}

struct BackwardRun<'a> {
    pass: Pass,
    checkpoints: PassContext<'a>,
    wanted: Option<Vec<GradTarget>>,
    results: Vec<Option<Tensor>>,
    roots: Vec<(Edge, Meta, Tensor)>,
    /// Set where there may be hooks in the graph, or only some gradients are asked for.
    plan: Option<HookPlan>,
    grads: HashMap<*const Node, Tensor>,
    queue: BinaryHeap<Ready>,
    streams: PassStreams,
}

impl<'a> BackwardRun<'a> {
    fn new(pass: Pass, wanted: Option<Vec<GradTarget>>, caller: &'a dyn Caller) -> BackwardRun<'a> {
        let results = vec![None; wanted.as_ref().map_or(0, Vec::len)];
        let checkpoints = PassContext::new(caller);
        BackwardRun {
            pass,
            checkpoints,
            wanted,
            results,
            roots: Vec::new(),
            plan: None,
            grads: HashMap::new(),
            queue: BinaryHeap::new(),
            streams: PassStreams::begin(),
        }
    }

    fn start(&mut self, output: &Tensor, seed: Tensor) {
        self.roots.push((output.edge(), Meta::of(output), seed));
    }

    fn finish(mut self) -> Result<Vec<Option<Tensor>>> {
        let (_mode, _paused) = (self.mode(), super::autocast::pause());
        let keep = self.pass.retain_graph || self.pass.create_graph;
        let roots = std::mem::take(&mut self.roots);
        self.plan = (hooks::any() || self.wanted.is_some()).then(|| self.planned(&roots));
        // As in PyTorch, whoever calls holds the first gradients until the end.
        let _held: SmallVec<[Tensor; 1]> = roots.iter().map(|(.., seed)| seed.clone()).collect();
        let caller = Streams::current();
        for (edge, meta, seed) in roots {
            let from = Producer::caller(&seed, &caller);
            self.deliver(&edge, &meta, seed, from)?;
        }
        self.settle(|plan| plan.whole(false))?;
        while let Some(Ready(node)) = self.queue.pop() {
            let Some(grad) = self.grads.remove(&Arc::as_ptr(&node)) else { continue };
            let context = grad.context();
            let (from, on_stream) = self.streams.run(&node, &context);
            let grad = self.passed(&node, grad)?;
            if !self.goes_on(&node) {
                continue;
            }
            let saved = node.saved(keep).map_err(|e| made_at(e, &node))?;
            // What is computed again lies beside what was kept.
            let kept = if saved.is_packed() { addresses(&saved) } else { Vec::new() };
            let saved = saved.unpacked(self.checkpoints).map_err(|e| e.while_holding(|| kept))?;
            let grads = context
                .shared
                .staying(|| node.rule.backward_by(&saved, &grad, self.checkpoints.caller))
                .map_err(|e| e.while_holding(|| addresses(&saved)))
                .map_err(|e| made_at(e.in_op(node.rule.name(), Vec::new), &node))?;
            if watch() == Watch::Nan {
                check_nan(&node, &grads)?;
            }
            let grads = if self.pass.create_graph { flat::joined(&node, grads) } else { grads };
            self.streams.keep(&context, &saved);
            drop(saved);
            drop(grad);
            for ((edge, meta), grad) in node.inputs.iter().zip(grads) {
                if let Some(grad) = grad {
                    self.deliver(edge, meta, grad, from)?;
                }
            }
            self.settle(|plan| plan.whole_after(&node))?;
            drop(on_stream);
        }
        self.settle(|plan| plan.whole(true))?;
        self.streams.finish()?;
        Ok(self.results)
    }

    fn planned(&self, roots: &[(Edge, Meta, Tensor)]) -> HookPlan {
        let (mut nodes, mut leaves) = (HashSet::new(), HashSet::new());
        for target in self.wanted.iter().flatten() {
            match target {
                GradTarget::Node(node) => nodes.insert(Arc::as_ptr(node)),
                GradTarget::Leaf(leaf) => leaves.insert(leaf.id()),
            };
        }
        HookPlan::of(roots.iter().map(|(edge, ..)| edge), &nodes, &leaves)
    }

    /// The gradient of a node's output on its way into the node: noted where it is asked for, and past the hooks.
    fn passed(&mut self, node: &Arc<Node>, grad: Tensor) -> Result<Tensor> {
        let hooks = node.given_hooks().filter(|_| self.plan.is_some());
        let Some(hooks) = hooks.map(Arc::clone) else {
            self.note_wanted(node, &grad);
            return Ok(grad);
        };
        // PyTorch notes what is passed on before the hooks, and what ends here behind them.
        let goes_on = self.goes_on(node);
        if goes_on {
            self.note_wanted(node, &grad);
        } else if !self.is_wanted(node) {
            return Ok(grad);
        }
        let grad = hooks.run(grad, self.checkpoints.caller).map_err(|e| made_at(e, node))?;
        retain(&hooks, &grad, self.pass.create_graph)?;
        self.streams.end_on(&grad);
        if !goes_on {
            self.note_wanted(node, &grad);
        }
        Ok(grad)
    }

    /// Whether a gradient that is asked for lies behind the node.
    fn goes_on(&self, node: &Arc<Node>) -> bool {
        self.wanted.is_none() || self.plan.as_ref().is_some_and(|plan| plan.needs(node))
    }

    /// Hands on the gradients of leaves that waited for the rest.
    fn settle(&mut self, whole: impl FnOnce(&mut HookPlan) -> Vec<Whole>) -> Result<()> {
        let Some(plan) = &mut self.plan else { return Ok(()) };
        for Whole { leaf, hooks, grad } in whole(plan) {
            let asked = self.wanted.iter().flatten().any(|t| matches!(t, GradTarget::Leaf(t) if t.is(&leaf)));
            if self.wanted.is_none() || asked {
                let _there = self.streams.at_leaf(&leaf);
                let grad = hooks.run(grad, self.checkpoints.caller)?;
                self.add_to_leaf(&leaf, grad)?;
                if self.wanted.is_none() {
                    hooks.accumulated()?;
                }
            }
        }
        Ok(())
    }

    fn mode(&self) -> super::autograd::GradMode {
        set_grad_mode(self.pass.create_graph && grad_enabled())
    }

    /// Hands a gradient to where it goes, summed to the input's shape and cast to its dtype.
    fn deliver(&mut self, edge: &Edge, meta: &Meta, grad: Tensor, from: Producer) -> Result<()> {
        if matches!(edge, Edge::None) {
            return Ok(());
        }
        // A second handle would keep a leaf from taking the gradient over.
        let grad =
            if grad.shape() == &meta.shape[..] { grad } else { accumulate::sum_to(&grad, &meta.shape)? };
        let grad = if grad.dtype() == meta.dtype { grad } else { accumulate::cast_to(&grad, meta.dtype)? };
        let _there = self.streams.hand(&grad, from, edge)?;
        match edge {
            Edge::None => Ok(()),
            Edge::Leaf(leaf) => self.deliver_leaf(leaf, grad),
            Edge::Node(node) => {
                let key = Arc::as_ptr(node);
                match self.grads.remove(&key) {
                    Some(before) => {
                        let sum = accumulate::add(&before, &grad)?;
                        self.grads.insert(key, sum);
                    }
                    None => {
                        self.grads.insert(key, grad);
                        self.queue.push(Ready(Arc::clone(node)));
                    }
                }
                Ok(())
            }
        }
    }

    fn deliver_leaf(&mut self, leaf: &Tensor, grad: Tensor) -> Result<()> {
        let grad = match &mut self.plan {
            Some(plan) => plan.hold(leaf, grad)?,
            None => Some(grad),
        };
        grad.map_or(Ok(()), |grad| self.add_to_leaf(leaf, grad))
    }

    fn add_to_leaf(&mut self, leaf: &Tensor, grad: Tensor) -> Result<()> {
        self.streams.end_on(&grad);
        if let Some(wanted) = &self.wanted {
            for (target, slot) in wanted.iter().zip(&mut self.results) {
                if matches!(target, GradTarget::Leaf(t) if t.is(leaf)) {
                    *slot = Some(match slot.take() {
                        Some(before) => accumulate::add(&before, &grad)?,
                        None => grad.clone(),
                    });
                }
            }
            return Ok(());
        }
        accumulate_grad(leaf, grad, self.pass.create_graph)
    }

    fn is_wanted(&self, node: &Arc<Node>) -> bool {
        self.wanted.iter().flatten().any(|t| matches!(t, GradTarget::Node(n) if Arc::ptr_eq(n, node)))
    }

    fn note_wanted(&mut self, node: &Arc<Node>, grad: &Tensor) {
        if self.is_wanted(node) {
            self.streams.end_on(grad);
        }
        for (target, slot) in self.wanted.iter().flatten().zip(&mut self.results) {
            if matches!(target, GradTarget::Node(n) if Arc::ptr_eq(n, node)) {
                *slot = Some(grad.clone());
            }
        }
    }
}

/// Where the memory lies that a pass holds for a node.
fn addresses(saved: &Saved) -> Vec<u64> {
    let mut found = Vec::new();
    saved.each(|tensor| found.push(tensor.storage().address()));
    found
}

/// Names the forward line of a node that failed.
fn made_at(error: Error, node: &Node) -> Error {
    if node.line == 0 {
        return error;
    }
    let is_full = error.kind() == Kind::OutOfMemoryError;
    let more = if is_full { "; later steps of the backward pass may need more" } else { "" };
    error.with_note(|| format!("the gradient is that of the operation in line {}{more}", node.line))
}

/// An error where a rule gave NaN.
fn check_nan(node: &Node, grads: &Grads) -> Result<()> {
    let _off = set_grad_mode(false);
    for (i, grad) in grads.iter().enumerate() {
        let Some(grad) = grad.as_ref().filter(|g| g.dtype().is_float() && g.numel() > 0 && g.has_values())
        else {
            continue;
        };
        if accumulate::has_nan(grad)? {
            let text = format!("Function '{}' returned nan values in its {i}th output.", node.rule.name());
            return Err(made_at(Error::runtime(text), node));
        }
    }
    Ok(())
}

/// Adds a gradient to a leaf's `.grad`. A gradient that nobody else holds and that lies in memory as the leaf does is
/// taken over, as `torch::autograd::AccumulateGrad` does; otherwise it is copied, to lie so.
fn accumulate_grad(leaf: &Tensor, grad: Tensor, create_graph: bool) -> Result<()> {
    let next = match leaf.grad() {
        Some(before) if create_graph => accumulate::add(&before, &grad)?,
        Some(before) => return accumulate::add_into(&before, &grad),
        None if create_graph => grad,
        None if leaf.is_contiguous() || !leaf.layout().is_dense() => match grad.is_sole_owner() {
            true if grad.is_contiguous() => grad,
            _ => grad.copied(grad.dtype(), "clone")?,
        },
        None => {
            let layout = leaf.layout().dense_like()?;
            let fits = grad.is_sole_owner() && grad.layout().strides() == layout.strides();
            if fits { grad } else { grad.copied_in(layout, "clone")? }
        }
    };
    leaf.set_grad(Some(next))
}
