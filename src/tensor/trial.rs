//! What would end with some handles of tensors, found out without dropping any.
//!
//! Handles are counted as they are dropped in thought; what has none left ends, and with it what it held: a tensor its
//! storage, gradient and node, a node what it saved for the backward pass.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::device::Storage;
use crate::tensor::autograd::{Edge, Node};
use crate::tensor::{Tensor, TensorInner};

/// Handles by the addresses of what they are of.
pub(crate) type Handles = HashMap<usize, usize>;

/// What would end.
#[derive(Default)]
pub(crate) struct Ended {
    /// Addresses of memory.
    pub memory: Vec<u64>,
    /// How many handles would be gone of what others still hold.
    pub left: Handles,
}

/// What would end if the owners of some of `all`, which are handles beside those of their owners, dropped theirs: those at
/// the places `dropped`. `lost` are handles that were there when it matters and are not any more.
pub(crate) fn ended(all: &[Tensor], dropped: &[usize], lost: &Handles) -> Ended {
    let mut beside = Handles::new();
    for tensor in all {
        *beside.entry(key(&tensor.0)).or_default() += 1;
    }
    let mut trial = Trial { beside, ..Trial::of(lost) };
    for tensor in dropped.iter().filter_map(|&at| all.get(at)) {
        trial.drop_tensor(&tensor.0);
        while let Some(next) = trial.waiting.pop() {
            match next {
                Ending::Tensor(tensor) => trial.end_tensor(&tensor),
                Ending::Node(node) => trial.end_node(&node),
            }
        }
    }
    trial.outcome()
}

/// Addresses of memory that the graph behind a tensor keeps, but for nodes that were looked at before.
pub(crate) fn kept_by_graph(tensor: &Tensor, seen: &mut HashSet<usize>) -> Vec<u64> {
    let mut found = Vec::new();
    let mut waiting: Vec<Arc<Node>> = tensor.node().into_iter().collect();
    while let Some(node) = waiting.pop() {
        if !seen.insert(key(&node)) {
            continue;
        }
        node.each_saved(|kept| found.push(kept.storage().address()));
        let next = node.inputs.iter().filter_map(|(edge, _)| match edge {
            Edge::Node(node) => Some(Arc::clone(node)),
            _ => None,
        });
        waiting.extend(next.chain(node.inner_node()));
    }
    found
}

enum Ending {
    Tensor(Arc<TensorInner>),
    Node(Arc<Node>),
}

/// Something with the handles of it that were dropped in thought. One more handle is here.
struct Met<T> {
    it: Arc<T>,
    dropped: usize,
}

struct Trial<'l> {
    beside: Handles,
    lost: &'l Handles,
    tensors: HashMap<usize, Met<TensorInner>>,
    nodes: HashMap<usize, Met<Node>>,
    storages: HashMap<usize, Met<Storage>>,
    waiting: Vec<Ending>,
    memory: Vec<u64>,
    ended: HashSet<usize>,
}

impl<'l> Trial<'l> {
    fn of(lost: &'l Handles) -> Trial<'l> {
        Trial {
            beside: Handles::new(),
            lost,
            tensors: HashMap::new(),
            nodes: HashMap::new(),
            storages: HashMap::new(),
            waiting: Vec::new(),
            memory: Vec::new(),
            ended: HashSet::new(),
        }
    }

    fn drop_tensor(&mut self, tensor: &Arc<TensorInner>) {
        let beside = self.beside.get(&key(tensor)).copied().unwrap_or(0);
        if drops_last(&mut self.tensors, tensor, beside, self.lost) && self.ended.insert(key(tensor)) {
            self.waiting.push(Ending::Tensor(Arc::clone(tensor)));
        }
    }

    fn drop_node(&mut self, node: &Arc<Node>, beside: usize) {
        if drops_last(&mut self.nodes, node, beside, self.lost) && self.ended.insert(key(node)) {
            self.waiting.push(Ending::Node(Arc::clone(node)));
        }
    }

    fn end_tensor(&mut self, tensor: &Arc<TensorInner>) {
        let storage = &tensor.storage;
        if drops_last(&mut self.storages, storage, 0, self.lost) && self.ended.insert(key(storage)) {
            self.memory.push(storage.address());
        }
        let auto = tensor.auto.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(grad) = &auto.grad {
            self.drop_tensor(&grad.0);
        }
        if let Some((base, _)) = &auto.base {
            self.drop_tensor(&base.0);
        }
        if let Some(node) = &auto.node {
            self.drop_node(node, 0);
        }
    }

    fn end_node(&mut self, node: &Arc<Node>) {
        for (edge, _) in &node.inputs {
            match edge {
                Edge::Node(node) => self.drop_node(node, 0),
                Edge::Leaf(leaf) => self.drop_tensor(&leaf.0),
                Edge::None => {}
            }
        }
        node.each_saved(|kept| self.drop_tensor(&kept.0));
        if let Some(inner) = node.inner_node() {
            // One more handle was just made.
            self.drop_node(&inner, 1);
        }
    }

    fn outcome(self) -> Ended {
        let ended = self.ended;
        let all = self.tensors.iter().map(|(at, met)| (*at, met.dropped));
        let all = all.chain(self.nodes.iter().map(|(at, met)| (*at, met.dropped)));
        let all = all.chain(self.storages.iter().map(|(at, met)| (*at, met.dropped)));
        Ended { left: all.filter(|(at, _)| !ended.contains(at)).collect(), memory: self.memory }
    }
}

/// Drops a handle in thought; says whether it was the last.
fn drops_last<T>(met: &mut HashMap<usize, Met<T>>, it: &Arc<T>, beside: usize, lost: &Handles) -> bool {
    let known = met.entry(key(it)).or_insert_with(|| Met { it: Arc::clone(it), dropped: 0 });
    known.dropped += 1;
    let others = Arc::strong_count(&known.it) + lost.get(&key(it)).copied().unwrap_or(0);
    others <= 1 + beside + known.dropped
}

fn key<T>(it: &Arc<T>) -> usize {
    Arc::as_ptr(it) as usize
}
