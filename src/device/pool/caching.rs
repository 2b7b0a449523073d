//! The pool: segments taken from a memory, cut into blocks and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::address::AddressMap;

use super::block::{Blocks, Id, NodeState};
use super::deferred::Deferred;
use super::free::FreeBlocks;
use super::memory::Memory;
use super::oom::OutOfMemory;
use super::size::{PoolKind, SMALL_REQUEST, rounded, segment_size};
use super::snapshot::{Fragmentation, Snapshot};
use super::stats::Stats;

/// Memory that a tensor holds. Sizes are in bytes; all 0 for a request of 0 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub address: u64,
    /// The size of the block: the request, rounded up, or more where the rest was too
    /// small to be cut off.
    pub bytes: u64,
    pub requested: u64,
    pub stream: u32,
}

/// A segment that was taken from the device (`mapped`) or returned to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentChange {
    pub address: u64,
    pub bytes: u64,
    pub mapped: bool,
    pub stream: u32,
    /// Whether the segment belongs to the small pool.
    pub small: bool,
}

/// A memory fraction outside 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidFraction(pub f64);

/// What a pool holds, counts and may take.
#[derive(Debug)]
pub(crate) struct Held {
    segments: BTreeSet<u64>,
    stats: Stats,
    fraction: Option<u64>,
}

/// A caching allocator over the memory `M` of one device.
///
/// A stream that uses a block of another stream must be recorded ([`Pool::record_stream`]):
/// the block, once freed, then stays active until that stream has come past its uses.
/// Dropping the pool returns all its segments to the memory.
#[derive(Debug)]
pub struct Pool<M: Memory> {
    pub(super) memory: M,
    pub(super) device: u32,
    /// What a fraction allows.
    pub(super) fraction: Option<u64>,
    /// What it may never go past.
    pub(super) ceiling: Option<u64>,
    pub(super) blocks: Blocks,
    pub(super) free: FreeBlocks,
    pub(super) live: AddressMap<u64, Id>,
    /// The first block of each segment, by address.
    pub(super) heads: BTreeMap<u64, Id>,
    pub(super) deferred: Deferred,
    pub(super) segments_taken: u64,
    pub(super) stats: Stats,
    pub(super) changes: Vec<SegmentChange>,
    /// Streams whose segments are kept, whether or not they are in use.
    pub(super) retained: Vec<u32>,
}

impl<M: Memory> Pool<M> {
    /// A pool that holds nothing yet of device `device_index`.
    pub fn new(memory: M, device_index: u32) -> Self {
        Self {
            memory,
            device: device_index,
            fraction: None,
            ceiling: None,
            blocks: Blocks::default(),
            free: FreeBlocks::default(),
            live: AddressMap::default(),
            heads: BTreeMap::new(),
            deferred: Deferred::default(),
            segments_taken: 0,
            stats: Stats::default(),
            changes: Vec::new(),
            retained: Vec::new(),
        }
    }

    /// Keeps the segments of `stream` although nothing in them is in use, as those of a captured graph must be.
    pub(crate) fn retain_stream(&mut self, stream: u32) {
        self.retained.push(stream);
    }

    /// Ends what [`retain_stream`](Self::retain_stream) began: the next emptying of the cache returns the segments.
    pub(crate) fn release_stream(&mut self, stream: u32) {
        self.retained.retain(|kept| *kept != stream);
    }

    /// A block of at least `bytes` bytes for work on `stream`; 0 bytes cost nothing and
    /// give the null block.
    ///
    /// # Errors
    /// When neither the cache nor the device, nor both after the cache was emptied, can
    /// serve the request.
    pub fn allocate(&mut self, bytes: u64, stream: u32) -> Result<Block, Box<OutOfMemory>> {
        if bytes == 0 {
            return Ok(Block { stream, ..Block::default() });
        }
        if !self.deferred.is_empty() {
            self.poll();
        }
        let size = rounded(bytes);
        let kind = PoolKind::of(size);
        let id = match self.free.take(kind, stream, size) {
            Some(id) => id,
            None => self.grow(bytes, stream)?,
        };
        Ok(self.occupy(id, size, bytes))
    }

    /// Takes back the block at `address`. A block that another stream has recorded
    /// stays active until that stream's work is done. Says whether there was such a
    /// block: address 0 is the null block, and always there.
    pub fn free(&mut self, address: u64) -> bool {
        if address == 0 {
            return true;
        }
        let Some(id) = self.live.remove(&address) else {
            return false;
        };
        let node = &mut self.blocks[id];
        self.stats.allocation.fall(node.kind, 1);
        self.stats.allocated_bytes.fall(node.kind, node.size);
        if node.recorded {
            node.recorded = false;
            node.state = NodeState::Pending;
            node.waits = self.deferred.wait_for(address, id, &mut self.memory);
        } else {
            self.release(id);
        }
        true
    }

    /// Notes that `stream` uses the block at `address`; its own stream need not be
    /// noted. Says whether there is such a block.
    pub fn record_stream(&mut self, address: u64, stream: u32) -> bool {
        if address == 0 {
            return true;
        }
        let Some(&id) = self.live.get(&address) else {
            return false;
        };
        let node = &mut self.blocks[id];
        if node.stream != stream {
            node.recorded = true;
            self.deferred.record(address, stream);
        }
        true
    }

    /// The stream that the block at `address` was taken for, and the others that are recorded to use it.
    pub(crate) fn owner(&self, address: u64) -> Option<(u32, Vec<u32>)> {
        let node = &self.blocks[*self.live.get(&address)?];
        let recorded = if node.recorded { self.deferred.recorded(address).to_vec() } else { Vec::new() };
        Some((node.stream, recorded))
    }

    /// Releases the freed blocks whose marks are all reached; `reached(stream, mark)`
    /// is asked for each stream in the order of its marks, until it says no.
    pub fn process(&mut self, reached: impl FnMut(u32, u64) -> bool) {
        let over = self.deferred.take(reached);
        self.settle(over);
    }

    /// Tells the pool that `stream` has done all its work so far.
    pub fn complete(&mut self, stream: u32) {
        self.process(|other, _| other == stream);
    }

    /// Waits for the freed blocks that other streams use, then returns every segment
    /// without an active block to the device.
    pub fn empty_cache(&mut self) {
        self.stats.num_sync_all_streams = self.stats.num_sync_all_streams.saturating_add(1);
        for (stream, mark) in self.deferred.last_marks() {
            self.memory.wait(stream, mark);
        }
        self.process(|_, _| true);
        self.return_segments(|_| true);
    }

    /// Returns the segments that hold nothing, as far as they are `wanted` by their address; never those of captured
    /// graphs, which go on using them.
    fn return_segments(&mut self, wanted: impl Fn(u64) -> bool) {
        for kind in [PoolKind::Large, PoolKind::Small] {
            for id in self.free.ids(kind) {
                let node = &self.blocks[id];
                if !node.is_split() && !self.retained.contains(&node.stream) && wanted(node.address) {
                    self.unmap(id);
                }
            }
        }
        self.free.shrink();
    }

    /// What it holds, counts and may take, for [`Pool::go_back`].
    pub(crate) fn held(&self) -> Held {
        Held {
            segments: self.heads.keys().copied().collect(),
            stats: self.stats.clone(),
            fraction: self.fraction,
        }
    }

    /// Gives back the segments that hold nothing and were not there before; counts what was done since as not done.
    pub(crate) fn go_back(&mut self, held: &Held) {
        for (stream, mark) in self.deferred.last_marks() {
            self.memory.wait(stream, mark);
        }
        self.process(|_, _| true);
        self.return_segments(|address| !held.segments.contains(&address));
        self.stats.go_back(&held.stats);
        self.fraction = held.fraction;
    }

    /// Has no memory fraction hold.
    pub(crate) fn lift_fraction(&mut self) {
        self.fraction = None;
    }

    /// Keeps nothing that tensors do not hold, counts anew and may take all of the memory, as in the beginning.
    pub(crate) fn begin_anew(&mut self) {
        self.empty_cache();
        self.stats.reset_peak();
        self.stats.reset_accumulated();
        self.fraction = None;
    }

    /// Every statistic, as `torch.cuda.memory_stats()` has them.
    pub fn stats(&self) -> Stats {
        self.stats.clone()
    }

    /// The bytes that tensors hold (rounded), as `torch.cuda.memory_allocated()`.
    pub fn allocated(&self) -> u64 {
        self.stats.allocated_bytes.all.current.cast_unsigned()
    }

    /// The bytes that segments hold, as `torch.cuda.memory_reserved()`.
    pub fn reserved(&self) -> u64 {
        self.stats.reserved_bytes.all.current.cast_unsigned()
    }

    /// The highest [`allocated`](Self::allocated) since the last reset of the peaks.
    pub fn peak_allocated(&self) -> u64 {
        self.stats.allocated_bytes.all.peak.cast_unsigned()
    }

    /// The highest [`reserved`](Self::reserved) since the last reset of the peaks.
    pub fn peak_reserved(&self) -> u64 {
        self.stats.reserved_bytes.all.peak.cast_unsigned()
    }

    /// As `torch.cuda.reset_peak_memory_stats()`.
    pub fn reset_peak(&mut self) {
        self.stats.reset_peak();
    }

    /// Has peaks be what they were, see [`Stats::keep_peaks`].
    pub(crate) fn keep_peaks(&mut self, mut before: Stats) {
        self.stats.keep_peaks(&mut before);
    }

    /// As `torch.cuda.reset_accumulated_memory_stats()`.
    pub(crate) fn reset_accumulated(&mut self) {
        self.stats.reset_accumulated();
    }

    /// Lets the pool reserve at most this fraction of the device's memory, as
    /// `torch.cuda.set_per_process_memory_fraction()`; what it holds already, it keeps.
    ///
    /// # Errors
    /// When the fraction is not within 0 to 1.
    pub fn set_fraction(&mut self, fraction: f64) -> Result<(), InvalidFraction> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(InvalidFraction(fraction));
        }
        // A whole number of bytes, rounded towards 0 as in the reference.
        self.fraction = Some((self.memory.total() as f64 * fraction) as u64);
        Ok(())
    }

    /// Lets the pool never reserve more than so many bytes, whatever a fraction says; what it holds already, it keeps.
    pub(crate) fn keep_within(&mut self, bytes: u64) {
        self.ceiling = Some(self.ceiling.map_or(bytes, |ceiling| ceiling.min(bytes)));
    }

    /// The bytes the pool may reserve, where a fraction or another limit is set.
    pub fn limit(&self) -> Option<u64> {
        self.fraction.into_iter().chain(self.ceiling).min()
    }

    /// The table of `torch.cuda.memory_summary()`.
    pub fn memory_summary(&self) -> String {
        self.stats.summary(self.device, false)
    }

    /// The device's free and total bytes, as `torch.cuda.mem_get_info()`: what the pool
    /// has cached is not free.
    pub fn mem_get_info(&self) -> (u64, u64) {
        (self.memory.available(), self.memory.total())
    }

    /// Bytes that the process holds of the device besides segments, as a context of CUDA does; 0 where it is not known.
    pub fn context(&self) -> u64 {
        self.memory.context()
    }

    /// How far the free memory is cut up.
    pub fn fragmentation(&self) -> Fragmentation {
        let small = self.free.largest(PoolKind::Small).min(SMALL_REQUEST);
        Fragmentation {
            split_free: self.stats.inactive_split_bytes.all.current.cast_unsigned(),
            largest_request: self.free.largest(PoolKind::Large).max(small),
        }
    }

    /// The error of a request that was refused and left the pool as it is now: what
    /// [`allocate`](Self::allocate) gives, for whoever has lost it.
    pub fn out_of_memory(&self, bytes: u64, stream: u32) -> OutOfMemory {
        let size = rounded(bytes);
        OutOfMemory {
            device: self.device,
            stream,
            requested: bytes,
            rounded: size,
            segment: segment_size(bytes),
            total: self.memory.total(),
            free: self.memory.available(),
            context: self.memory.context(),
            limit: self.limit(),
            ceiling: self.ceiling,
            allocated: self.allocated(),
            reserved: self.reserved(),
            fragmentation: self.fragmentation().split_free,
            retained: self.retained.clone(),
            largest_cached: self.free.largest_on(PoolKind::of(size), stream),
            snapshot: self.snapshot(),
        }
    }

    /// Every segment with its blocks, by address.
    pub fn snapshot(&self) -> Snapshot {
        let segments = self.heads.values().map(|&head| self.segment(head)).collect();
        Snapshot { device: self.device, segments }
    }

    /// The segments taken and returned since the last call, in order. Whoever allocates
    /// from the pool takes these too: they are kept until then.
    pub fn take_changes(&mut self) -> Vec<SegmentChange> {
        std::mem::take(&mut self.changes)
    }

    /// The memory that segments come from.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The memory that segments come from; segments of this pool must not be freed in it.
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }
}

impl<M: Memory> Drop for Pool<M> {
    fn drop(&mut self) {
        for (&address, &head) in &self.heads {
            let size = self.blocks.segment(head).map(|node| node.size).sum();
            self.memory.free(address, size);
        }
    }
}

impl fmt::Display for InvalidFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid fraction value: {:?}. Allowed range: 0~1", self.0)
    }
}

impl std::error::Error for InvalidFraction {}
