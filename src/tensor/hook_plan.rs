//! Hooks within a backward pass.
//!
//! Order and place are PyTorch's: the hooks of a tensor run once per pass, with its whole gradient; what `retain_grad`
//! keeps is what they gave.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::base::Result;
use crate::base::sorted;

use super::autograd::{Edge, Node};
use super::hooks::Hooks;
use super::{Tensor, accumulate};

/// Adds a gradient to that of each tensor that keeps it.
pub(super) fn retain(hooks: &Hooks, grad: &Tensor, create_graph: bool) -> Result<()> {
    for t in hooks.retained() {
        let next = match t.grad() {
            Some(before) => accumulate::add(&before, grad)?,
            None if create_graph => grad.clone(),
            None => grad.copied(grad.dtype(), "clone")?,
        };
        t.set_grad(Some(next))?;
    }
    Ok(())
}

/// What a backward pass over a graph with hooks, or for some gradients alone, has to know beforehand.
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
        sorted::sort_by_key(&mut found, |node| node.sequence);
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
        // PyTorch's `addmm` has the bias first, and hands that one's gradient on before the weight's.
        for (edge, _) in node.inputs.iter().rev() {
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
