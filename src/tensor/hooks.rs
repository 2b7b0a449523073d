//! Functions that see a gradient on its way through the graph and may put another in its place, and tensors inside of
//! the graph that keep theirs.
//!
//! Order and place are PyTorch's: the hooks of a tensor run once per backward pass, with its whole gradient, in the
//! order in which they were registered; what `retain_grad` keeps is what they gave. Hooks of a computed tensor belong
//! to the operation that made it, so those of a value that was overwritten in place see that value's gradient.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::base::chain::drop_linked;
use crate::base::{Device, Error, Result};

use super::autograd::{Edge, Node};
use super::checkpoint::Caller;
use super::{RETAINS, Tensor, TensorInner, accumulate};

/// A hook as the layer that runs it knows it.
pub(crate) type Hook = Arc<dyn Any + Send + Sync>;

/// The hooks of one tensor or node.
pub struct Hooks {
    functions: Mutex<Vec<(u64, Hook)>>,
    /// Tensors that keep the gradient, as long as they live.
    retained: Mutex<Vec<Weak<TensorInner>>>,
}

/// Takes a hook away again.
#[derive(Clone)]
pub struct Handle {
    hooks: Weak<Hooks>,
    id: u64,
}

/// How many [`Hooks`] there are: a backward pass without any looks for none.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether there may be hooks in a graph.
pub(super) fn any() -> bool {
    LIVE.load(Ordering::Relaxed) > 0
}

impl Default for Hooks {
    fn default() -> Hooks {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Hooks { functions: Mutex::default(), retained: Mutex::default() }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
        // What a hook captured may be a tensor with hooks of its own.
        drop_linked(std::mem::take(self.functions.get_mut().unwrap_or_else(|e| e.into_inner())));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Hooks {
    fn add(self: &Arc<Hooks>, function: Hook) -> Handle {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        locked(&self.functions).push((id, function));
        Handle { hooks: Arc::downgrade(self), id }
    }

    /// The gradient after every hook.
    pub(super) fn run(&self, grad: Tensor, caller: &dyn Caller) -> Result<Tensor> {
        // A hook may take hooks away, itself among them.
        let functions: Vec<Hook> = locked(&self.functions).iter().map(|(_, f)| Arc::clone(f)).collect();
        functions.iter().try_fold(grad, |grad, function| {
            let Some((name, next)) = caller.hook(function.as_ref(), &grad)? else { return Ok(grad) };
            check(&name, &grad, &next)?;
            Ok(next)
        })
    }

    /// Adds the gradient to that of each tensor that keeps it.
    pub(super) fn retain(&self, grad: &Tensor, create_graph: bool) -> Result<()> {
        let tensors: Vec<Tensor> =
            locked(&self.retained).iter().filter_map(Weak::upgrade).map(Tensor).collect();
        for t in tensors {
            let next = match t.grad() {
                Some(before) => accumulate::add(&before, grad)?,
                None if create_graph => grad.clone(),
                None => grad.copied(grad.dtype(), "clone")?,
            };
            t.set_grad(Some(next));
        }
        Ok(())
    }

    fn keep_for(&self, t: &Tensor) {
        let weak = Arc::downgrade(&t.0);
        let mut all = locked(&self.retained);
        if !all.iter().any(|w| w.ptr_eq(&weak)) {
            all.push(weak);
        }
    }

    fn forget(&self, t: &Tensor) {
        let weak = Arc::downgrade(&t.0);
        locked(&self.retained).retain(|w| !w.ptr_eq(&weak));
    }
}

/// Fails where a hook gave a gradient that cannot take the old one's place.
fn check(name: &str, before: &Tensor, next: &Tensor) -> Result<()> {
    let class = |t: &Tensor| match t.device() {
        Device::Cpu => format!("torch.{}Tensor", t.dtype().type_name()),
        Device::Cuda(_) => format!("torch.cuda.{}Tensor", t.dtype().type_name()),
    };
    if next.dtype() != before.dtype() || next.device().is_cuda() != before.device().is_cuda() {
        let (was, got) = (class(before), class(next));
        let text = format!("hook '{name}' has changed the type of value (was {was} got {got})");
        return Err(Error::runtime(text));
    }
    if next.shape() != before.shape() {
        return Err(Error::runtime(format!("hook '{name}' has changed the size of value")).with_hint(
            format!("the gradient has shape {:?}, and the hook gave {:?}", before.shape(), next.shape()),
        ));
    }
    Ok(())
}

impl Handle {
    /// Takes the hook away; a second time does nothing.
    pub fn remove(&self) {
        if let Some(hooks) = self.hooks.upgrade() {
            let mut all = locked(&hooks.functions);
            let at = all.iter().position(|(id, _)| *id == self.id);
            // Dropped without the lock: a hook may hold tensors with hooks of their own.
            let gone = at.map(|at| all.remove(at));
            drop(all);
            drop(gone);
        }
    }
}

impl Tensor {
    /// Has every backward pass call `function` with this tensor's gradient; what it gives takes the gradient's place.
    ///
    /// An error where the tensor does not require grad.
    pub fn register_hook(&self, function: Hook) -> Result<Handle> {
        if !self.requires_grad() {
            return Err(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"));
        }
        let hooks = match self.node() {
            Some(node) => Arc::clone(node.hooks()),
            None => Arc::clone(self.auto().hooks.get_or_insert_default()),
        };
        Ok(hooks.add(function))
    }

    /// Has the backward pass keep this tensor's gradient in `.grad`, as that of a leaf is; nothing to do for a leaf.
    ///
    /// An error where the tensor does not require grad.
    pub fn retain_grad(&self) -> Result<()> {
        if !self.requires_grad() {
            return Err(Error::runtime("can't retain_grad on Tensor that has requires_grad=False"));
        }
        if let Some(node) = self.node() {
            self.0.flags.fetch_or(RETAINS, Ordering::Relaxed);
            node.hooks().keep_for(self);
        }
        Ok(())
    }

    /// Whether [`Tensor::retain_grad`] was called on this tensor, which is no leaf.
    pub fn retains_grad(&self) -> bool {
        self.flag(RETAINS)
    }

    /// The hooks of a leaf, if it has any.
    pub(super) fn leaf_hooks(&self) -> Option<Arc<Hooks>> {
        self.auto().hooks.clone()
    }

    /// The tensor was written in place: its last value's gradient is the one to keep.
    pub(super) fn retain_in(&self, before: Option<&Arc<Node>>, node: &Arc<Node>) {
        if !self.flag(RETAINS) {
            return;
        }
        if let Some(hooks) = before.and_then(|n| n.given_hooks()) {
            hooks.forget(self);
        }
        node.hooks().keep_for(self);
    }
}

/// What a backward pass over a graph with hooks has to know beforehand.
#[derive(Default)]
pub(super) struct HookPlan {
    /// Leaves with hooks, by [`Tensor::id`]: their gradient must be whole before a hook sees it.
    waiting: HashMap<usize, WaitingLeaf>,
    /// The nodes through which gradients reach a wanted tensor, where only some are wanted.
    needed: HashSet<*const Node>,
}

struct WaitingLeaf {
    leaf: Tensor,
    hooks: Arc<Hooks>,
    /// Edges to the leaf over which a gradient may still come.
    left: usize,
    sum: Option<Tensor>,
}

/// A leaf whose gradient is whole.
pub(super) struct Whole {
    pub leaf: Tensor,
    pub hooks: Arc<Hooks>,
    pub grad: Tensor,
}

impl HookPlan {
    /// Looks through the graph below `roots`. `wanted` are the nodes and the ids of the leaves that are asked for.
    pub(super) fn of<'e>(
        roots: impl Iterator<Item = &'e Edge>,
        nodes: &HashSet<*const Node>,
        leaves: &HashSet<usize>,
    ) -> HookPlan {
        let mut plan = HookPlan::default();
        let (mut seen, mut found, mut open) = (HashSet::new(), Vec::new(), Vec::new());
        for edge in roots {
            plan.meet(edge, 0, &mut open);
        }
        while let Some(node) = open.pop() {
            if seen.insert(Arc::as_ptr(&node)) {
                for (edge, _) in &node.inputs {
                    plan.meet(edge, 1, &mut open);
                }
                found.push(node);
            }
        }
        // A node's inputs are older than the node.
        found.sort_by_key(|node| node.sequence);
        for node in &found {
            let leads = node.inputs.iter().any(|(edge, _)| match edge {
                Edge::None => false,
                Edge::Leaf(leaf) => leaves.contains(&leaf.id()),
                Edge::Node(n) => nodes.contains(&Arc::as_ptr(n)) || plan.needed.contains(&Arc::as_ptr(n)),
            });
            if leads {
                plan.needed.insert(Arc::as_ptr(node));
            }
        }
        plan
    }

    fn meet(&mut self, edge: &Edge, count: usize, open: &mut Vec<Arc<Node>>) {
        match edge {
            Edge::None => {}
            Edge::Node(node) => open.push(Arc::clone(node)),
            Edge::Leaf(leaf) => {
                if let Some(waiting) = self.waiting.get_mut(&leaf.id()) {
                    waiting.left += count;
                } else if let Some(hooks) = leaf.leaf_hooks() {
                    let waiting = WaitingLeaf { leaf: leaf.clone(), hooks, left: count, sum: None };
                    self.waiting.insert(leaf.id(), waiting);
                }
            }
        }
    }

    /// Whether gradients reach a wanted tensor through the node.
    pub(super) fn needs(&self, node: &Arc<Node>) -> bool {
        self.needed.contains(&Arc::as_ptr(node))
    }

    /// Adds a gradient of a leaf that waits for the rest; gives back that of any other.
    pub(super) fn hold(&mut self, leaf: &Tensor, grad: Tensor) -> Result<Option<Tensor>> {
        let Some(waiting) = self.waiting.get_mut(&leaf.id()) else { return Ok(Some(grad)) };
        waiting.sum = Some(match waiting.sum.take() {
            Some(before) => accumulate::add(&before, &grad)?,
            None => grad,
        });
        Ok(None)
    }

    /// The leaves that no more gradient can reach once `node` is done.
    pub(crate) fn whole_after(&mut self, node: &Node) -> Vec<Whole> {
        let mut whole = Vec::new();
        for (edge, _) in &node.inputs {
            let Edge::Leaf(leaf) = edge else { continue };
            let Some(waiting) = self.waiting.get_mut(&leaf.id()) else { continue };
            waiting.left = waiting.left.saturating_sub(1);
            if waiting.left == 0 {
                whole.extend(waiting.take());
            }
        }
        whole
    }

    /// The leaves that have a gradient: those that wait for none, or all of them at the end of a pass, which leaves out
    /// parts of the graph that no gradient reaches.
    pub(super) fn whole(&mut self, all: bool) -> Vec<Whole> {
        self.waiting.values_mut().filter(|w| all || w.left == 0).filter_map(WaitingLeaf::take).collect()
    }
}

impl WaitingLeaf {
    fn take(&mut self) -> Option<Whole> {
        let grad = self.sum.take()?;
        Some(Whole { leaf: self.leaf.clone(), hooks: Arc::clone(&self.hooks), grad })
    }
}
