//! How a tensor stands in the graph: what made it, where its gradient goes, what is called with it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::chain::Link;
use crate::base::{Error, GradCause, Result};
use crate::device::examine::examining;

use super::autograd::{Edge, Node, Rule, Saver};
use super::hooks::{After, Handle, Hook, Hooks};
use super::{PARAMETER, RETAINS, TRACKED, Tensor, VIEW, inplace};

impl Tensor {
    /// Requires grad, itself or through what it was computed from.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.flag(TRACKED) || (self.flag(VIEW) && self.base_tracked())
    }

    /// A leaf has no node: it was not computed from anything that requires grad.
    pub fn is_leaf(&self) -> bool {
        self.node().is_none()
    }

    /// What a module takes as a parameter: a leaf that requires gradients, or that was a parameter before it was frozen.
    pub(crate) fn is_parameter(&self) -> bool {
        self.is_leaf() && (self.requires_grad() || self.flag(PARAMETER))
    }

    /// Notes that it is a parameter.
    pub(crate) fn mark_parameter(&self) {
        self.0.flags.fetch_or(PARAMETER, Ordering::Relaxed);
    }

    /// Asks for (or gives up) a gradient of a leaf.
    pub fn set_requires_grad(&self, on: bool) -> Result<()> {
        if on && !self.dtype().is_float() {
            return Err(GradCause::RequiresGradDtype.into());
        }
        // A method called on the flag hands it back.
        if examining() && on == self.requires_grad() {
            return Ok(());
        }
        self.storage().check_own()?;
        if !on && self.node().is_some() {
            return Err(Error::runtime(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable \
                 in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
            ));
        }
        self.set_tracked(on);
        Ok(())
    }

    /// What backward passes gathered, where they did.
    pub fn grad(&self) -> Option<Tensor> {
        self.auto().grad.as_deref().cloned()
    }

    ///
    /// # Errors
    /// A check runs, and the tensor is the learner's.
    pub(crate) fn set_grad(&self, grad: Option<Tensor>) -> Result<()> {
        // A method called on the gradient hands it back.
        let same = match (&grad, &self.auto().grad) {
            (Some(new), Some(old)) => new.is(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        if same {
            return Ok(());
        }
        self.storage().check_own()?;
        let before = std::mem::replace(&mut self.auto().grad, grad.map(Link::new));
        // What it leads on to may be long, and is dropped without the lock.
        drop(before);
        Ok(())
    }

    /// Drops the gradient, or fills it with zeros.
    ///
    /// # Errors
    /// A check runs that has not made the tensor.
    pub(crate) fn reset_grad(&self, set_to_none: bool) -> Result<()> {
        if set_to_none {
            return self.set_grad(None);
        }
        if let Some(grad) = self.grad() {
            grad.fill(0i64.into(), "zero_")?;
            grad.bump_version();
        }
        Ok(())
    }

    /// The node that made this tensor, renewed where its base was written in place since.
    pub fn node(&self) -> Option<Arc<Node>> {
        let mut auto = self.auto();
        if let Some((base, seen)) = &auto.base
            && *seen != self.version()
            && base.requires_grad()
        {
            let base = base.clone();
            let node = inplace::view_node(&base, self.layout());
            auto.base = Some((base, self.version()));
            let before = auto.node.replace(Arc::clone(&node));
            self.set_tracked(true);
            self.retain_in(before.as_ref(), &node);
        }
        auto.node.clone()
    }

    /// Where this tensor's gradient goes.
    pub fn edge(&self) -> Edge {
        if !self.requires_grad() {
            return Edge::None;
        }
        match self.node() {
            Some(node) => Edge::Node(node),
            None => Edge::Leaf(self.clone()),
        }
    }

    /// Makes `node` the one that made this tensor.
    pub fn join(&self, node: Arc<Node>) {
        let before = self.auto().node.replace(Arc::clone(&node));
        self.set_tracked(true);
        self.retain_in(before.as_ref(), &node);
    }

    /// Takes this tensor out of the graph, as `Tensor.detach_`.
    ///
    /// # Errors
    /// It is a view, whose gradient belongs to its base, or a check runs that has not made it.
    pub(crate) fn detach_in_place(&self) -> Result<()> {
        self.storage().check_own()?;
        if self.flag(VIEW) {
            return Err(Error::runtime("Can't detach views in-place. Use detach() instead.")
                .with_hint("`x.detach()` is the same memory outside the graph"));
        }
        let before = self.auto().node.take();
        self.set_tracked(false);
        drop(before);
        Ok(())
    }

    /// Records an op: `self` came from `inputs` by `rule`. Call where [`needs_graph`] holds.
    pub fn record(
        self,
        rule: &'static dyn Rule,
        inputs: &[&Tensor],
        save: impl FnOnce(&mut Saver, &Tensor),
    ) -> Tensor {
        if self.dtype().is_float() {
            let node = Node::new(rule, inputs, |saver| save(saver, &self));
            self.join(node);
        }
        self
    }
}

/// Hooks, and gradients that are kept.
impl Tensor {
    /// Has every backward pass call `function` with this tensor's gradient; what it gives takes the gradient's place.
    ///
    /// An error where the tensor does not require grad.
    pub fn register_hook(&self, function: Hook) -> Result<Handle> {
        if !self.requires_grad() {
            return Err(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"));
        }
        self.storage().check_own()?;
        let hooks = match self.node() {
            Some(node) => Arc::clone(node.hooks()),
            None => Arc::clone(self.auto().hooks.get_or_insert_default()),
        };
        Ok(hooks.add(function))
    }

    /// Has every backward pass that adds to this leaf's gradient call `after`, once all of it is there.
    ///
    /// # Errors
    /// A check runs, and the leaf is the learner's.
    pub(crate) fn after_accumulation(&self, after: After) -> Result<()> {
        self.storage().check_own()?;
        let hooks = Arc::clone(self.auto().hooks.get_or_insert_default());
        hooks.add_after(after);
        Ok(())
    }

    /// The leaves that gradients of `outputs` reach, by [`Tensor::id`].
    pub(crate) fn leaves_behind(outputs: &[&Tensor]) -> HashSet<usize> {
        let (mut leaves, mut seen, mut open) = (HashSet::new(), HashSet::new(), Vec::new());
        let mut edges: Vec<Edge> = outputs.iter().map(|t| t.edge()).collect();
        loop {
            for edge in edges.drain(..) {
                match edge {
                    Edge::None => {}
                    Edge::Leaf(leaf) => {
                        leaves.insert(leaf.id());
                    }
                    Edge::Node(node) if seen.insert(Arc::as_ptr(&node)) => open.push(node),
                    Edge::Node(_) => {}
                }
            }
            let Some(node) = open.pop() else { return leaves };
            edges.extend(node.inputs.iter().map(|(edge, _)| edge.clone()));
        }
    }

    /// Has the backward pass keep this tensor's gradient in `.grad`, as that of a leaf is; nothing to do for a leaf.
    ///
    /// An error where the tensor does not require grad.
    pub fn retain_grad(&self) -> Result<()> {
        if !self.requires_grad() {
            return Err(Error::runtime("can't retain_grad on Tensor that has requires_grad=False"));
        }
        self.storage().check_own()?;
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

    /// What was registered as a hook of this leaf.
    pub(crate) fn leaf_functions(&self) -> Vec<Hook> {
        self.leaf_hooks().map(|hooks| hooks.functions()).unwrap_or_default()
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
