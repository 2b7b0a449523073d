//! Blocks, and the segments they make up.
#![allow(
    clippy::indexing_slicing,
    reason = "an `Id` is an index this table gave out; it is dropped with the block it names"
)]

use std::ops::{Index, IndexMut};

use super::size::PoolKind;

/// Names a block of a [`Blocks`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    Free,
    Allocated,
    /// Freed, while other streams may still use it.
    Pending,
}

/// A stretch of a segment; `before` and `after` are its neighbours in the segment.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub address: u64,
    pub size: u64,
    /// What was asked for; 0 when the block is free.
    pub requested: u64,
    /// The number of the segment, in the order in which segments were taken.
    pub segment: u64,
    pub before: Option<Id>,
    pub after: Option<Id>,
    pub stream: u32,
    /// How many streams a pending block still waits for.
    pub waits: u32,
    pub kind: PoolKind,
    pub state: NodeState,
    /// Whether another stream has recorded the block.
    pub recorded: bool,
}

impl Node {
    /// Whether the block shares its segment with another.
    #[inline]
    pub(super) fn is_split(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }
}

/// All blocks of a pool.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    nodes: Vec<Node>,
    spare: Vec<Id>,
}

impl Blocks {
    #[inline]
    pub(super) fn insert(&mut self, node: Node) -> Id {
        match self.spare.pop() {
            Some(id) => {
                self.nodes[id.0] = node;
                id
            }
            None => {
                self.nodes.push(node);
                Id(self.nodes.len() - 1)
            }
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, id: Id) {
        self.spare.push(id);
    }

    /// Cuts a block after `size` bytes; the block stays the front, and the rest is a
    /// new free block.
    #[inline]
    pub(super) fn split(&mut self, id: Id, size: u64) -> Id {
        let front = &mut self.nodes[id.0];
        let rest = Node {
            address: front.address + size,
            size: front.size - size,
            requested: 0,
            before: Some(id),
            waits: 0,
            state: NodeState::Free,
            recorded: false,
            ..*front
        };
        front.size = size;
        let after = front.after;
        let rest = self.insert(rest);
        self.nodes[id.0].after = Some(rest);
        if let Some(after) = after {
            self.nodes[after.0].before = Some(rest);
        }
        rest
    }

    /// Joins a block with the one after it, whose name ends.
    #[inline]
    pub(super) fn join(&mut self, id: Id, after: Id) {
        let (size, last) = (self.nodes[after.0].size, self.nodes[after.0].after);
        let node = &mut self.nodes[id.0];
        node.size += size;
        node.after = last;
        if let Some(last) = last {
            self.nodes[last.0].before = Some(id);
        }
        self.remove(after);
    }

    /// The blocks of the segment that begins with `head`, by address.
    pub(super) fn segment(&self, head: Id) -> impl Iterator<Item = &Node> {
        std::iter::successors(Some(&self[head]), |node| node.after.map(|id| &self[id]))
    }
}

impl Index<Id> for Blocks {
    type Output = Node;

    #[inline]
    fn index(&self, id: Id) -> &Node {
        &self.nodes[id.0]
    }
}

impl IndexMut<Id> for Blocks {
    #[inline]
    fn index_mut(&mut self, id: Id) -> &mut Node {
        &mut self.nodes[id.0]
    }
}
