//! How the pool serves a request: segments taken and returned, blocks cut and joined.

use super::block::{Id, Node, NodeState};
use super::caching::{Block, Pool, SegmentChange};
use super::memory::Memory;
use super::oom::OutOfMemory;
use super::size::{PoolKind, rounded, segment_size};
use super::snapshot::{BlockState, Segment, SegmentBlock};

impl<M: Memory> Pool<M> {
    /// Makes a free block active, cut to size where enough would remain.
    pub(super) fn occupy(&mut self, id: Id, size: u64, requested: u64) -> Block {
        let node = &self.blocks[id];
        let (kind, was_split, found) = (node.kind, node.is_split(), node.size);
        let remaining = found - size;
        if kind.splits(remaining) {
            let rest = self.blocks.split(id, size);
            self.free.insert(&self.blocks[rest], rest);
            if was_split {
                self.stats.inactive_split_bytes.fall(kind, size);
            } else {
                self.stats.inactive_split.rise(kind, 1);
                self.stats.inactive_split_bytes.rise(kind, remaining);
            }
        } else if was_split {
            self.stats.inactive_split.fall(kind, 1);
            self.stats.inactive_split_bytes.fall(kind, found);
        }
        let node = &mut self.blocks[id];
        node.state = NodeState::Allocated;
        node.requested = requested;
        let block = Block { address: node.address, bytes: node.size, requested, stream: node.stream };
        self.live.insert(block.address, id);
        self.stats.allocation.rise(kind, 1);
        self.stats.allocated_bytes.rise(kind, block.bytes);
        self.stats.active.rise(kind, 1);
        self.stats.active_bytes.rise(kind, block.bytes);
        self.stats.requested_bytes.rise(kind, requested);
        block
    }

    /// Makes a block free, and one with its free neighbours.
    pub(super) fn release(&mut self, mut id: Id) {
        let node = &mut self.blocks[id];
        let (kind, size) = (node.kind, node.size);
        self.stats.active.fall(kind, 1);
        self.stats.active_bytes.fall(kind, size);
        self.stats.requested_bytes.fall(kind, node.requested);
        node.requested = 0;
        node.state = NodeState::Free;
        let (before, after) = (node.before, node.after);
        let (mut joined, mut joined_bytes) = (0, 0);
        if let Some(after) = self.free_neighbour(after) {
            (joined, joined_bytes) = (1, self.blocks[after].size);
            self.blocks.join(id, after);
        }
        if let Some(before) = self.free_neighbour(before) {
            (joined, joined_bytes) = (joined + 1, joined_bytes + self.blocks[before].size);
            self.blocks.join(before, id);
            id = before;
        }
        let node = &self.blocks[id];
        self.free.insert(node, id);
        let (split, split_bytes) = if node.is_split() { (1, node.size) } else { (0, 0) };
        self.stats.inactive_split.change(kind, joined, split);
        self.stats.inactive_split_bytes.change(kind, joined_bytes, split_bytes);
    }

    /// The neighbour if it is free, taken out of the free blocks.
    fn free_neighbour(&mut self, neighbour: Option<Id>) -> Option<Id> {
        let id = neighbour?;
        let node = &self.blocks[id];
        if node.state != NodeState::Free {
            return None;
        }
        self.free.remove(node);
        Some(id)
    }

    /// A new segment as one free block, which is not among the free blocks.
    #[cold]
    pub(super) fn grow(&mut self, bytes: u64, stream: u32) -> Result<Id, Box<OutOfMemory>> {
        if let Some(id) = self.map(bytes, stream) {
            return Ok(id);
        }
        self.empty_cache();
        self.stats.num_alloc_retries = self.stats.num_alloc_retries.saturating_add(1);
        if let Some(id) = self.map(bytes, stream) {
            return Ok(id);
        }
        self.stats.num_ooms = self.stats.num_ooms.saturating_add(1);
        Err(Box::new(self.out_of_memory(bytes, stream)))
    }

    fn map(&mut self, bytes: u64, stream: u32) -> Option<Id> {
        let size = segment_size(bytes);
        if self.limit().is_some_and(|limit| self.reserved().saturating_add(size) > limit) {
            return None;
        }
        let address = self.memory.allocate(size)?;
        let kind = PoolKind::of(rounded(bytes));
        let id = self.blocks.insert(Node {
            address,
            size,
            requested: 0,
            segment: self.segments_taken,
            before: None,
            after: None,
            stream,
            waits: 0,
            kind,
            state: NodeState::Free,
            recorded: false,
        });
        self.segments_taken = self.segments_taken.saturating_add(1);
        self.heads.insert(address, id);
        self.stats.segment.rise(kind, 1);
        self.stats.reserved_bytes.rise(kind, size);
        self.stats.num_device_alloc = self.stats.num_device_alloc.saturating_add(1);
        self.note(id, true);
        Some(id)
    }

    /// Returns the segment of a free block that fills it.
    pub(super) fn unmap(&mut self, id: Id) {
        let node = &self.blocks[id];
        let (kind, address, size) = (node.kind, node.address, node.size);
        self.free.remove(node);
        self.note(id, false);
        self.heads.remove(&address);
        self.blocks.remove(id);
        self.memory.free(address, size);
        self.stats.segment.fall(kind, 1);
        self.stats.reserved_bytes.fall(kind, size);
        self.stats.num_device_free = self.stats.num_device_free.saturating_add(1);
    }

    fn note(&mut self, id: Id, mapped: bool) {
        let node = &self.blocks[id];
        self.changes.push(SegmentChange {
            address: node.address,
            bytes: node.size,
            mapped,
            stream: node.stream,
            small: node.kind.is_small(),
        });
    }

    /// Releases the freed blocks whose streams the memory knows to be done.
    #[cold]
    pub(super) fn poll(&mut self) {
        let memory = &self.memory;
        let over = self.deferred.take(|stream, mark| memory.reached(stream, mark));
        self.settle(over);
    }

    /// Ends one wait of each of these blocks, and releases those that wait no more.
    pub(super) fn settle(&mut self, over: Vec<Id>) {
        for id in over {
            let node = &mut self.blocks[id];
            node.waits = node.waits.saturating_sub(1);
            if node.waits == 0 {
                self.release(id);
            }
        }
    }

    pub(super) fn segment(&self, head: Id) -> Segment {
        let blocks: Vec<SegmentBlock> = self
            .blocks
            .segment(head)
            .map(|node| SegmentBlock {
                address: node.address,
                size: node.size,
                requested: node.requested,
                state: match node.state {
                    NodeState::Free => BlockState::Inactive,
                    NodeState::Allocated => BlockState::ActiveAllocated,
                    NodeState::Pending => BlockState::ActivePendingFree,
                },
            })
            .collect();
        let node = &self.blocks[head];
        Segment {
            address: node.address,
            size: blocks.iter().map(|block| block.size).sum(),
            stream: node.stream,
            small: node.kind.is_small(),
            sequence: node.segment,
            blocks,
        }
    }
}
