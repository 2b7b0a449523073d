//! What would have fitted: an out-of-memory error's state, tried again with a change.

use std::collections::{BTreeMap, BTreeSet};

use super::oom::OutOfMemory;
use super::size::{
    MEASURED_REQUEST, MIN_BLOCK, PoolKind, SMALL_REQUEST, SMALL_SEGMENT, largest_in_new_segment, rounded,
    segment_size,
};
use super::snapshot::{BlockState, Segment};

impl OutOfMemory {
    /// Whether a request of `bytes` bytes on the same stream would be served once the
    /// blocks at the addresses `released` were freed.
    pub fn would_fit(&self, bytes: u64, released: &[u64]) -> bool {
        let released = released.iter().copied().collect();
        StateChange { released, ..StateChange::none(self) }.fits(self, bytes)
    }

    /// The largest request, smaller than this one, that would be served as things
    /// stand, in bytes; `None` when no request of this stream would be.
    pub fn largest_fitting(&self) -> Option<u64> {
        self.largest_below(self.rounded)
    }

    /// The least request from which on all up to `most` would be served, where smaller ones would not: those below 10 MiB
    /// take a segment of 20 MiB, and those up to 1 MiB one of the small pool.
    pub(super) fn least_fitting(&self, most: u64) -> Option<u64> {
        let steps =
            [(MEASURED_REQUEST, MEASURED_REQUEST - MIN_BLOCK), (SMALL_REQUEST + MIN_BLOCK, SMALL_REQUEST)];
        let refused = steps.into_iter().find(|(from, below)| *from <= most && !self.would_fit(*below, &[]));
        refused.map(|(from, _)| from)
    }

    /// The largest request below `bytes` that would be served as things stand.
    pub(super) fn largest_below(&self, bytes: u64) -> Option<u64> {
        self.ceilings().into_iter().filter(|&fitting| 0 < fitting && fitting < bytes).max()
    }

    /// The largest batch that would be served, when the request was made for a batch of
    /// `batch` and its bytes grow with the batch; `None` when not even a batch of 1 would be.
    pub fn largest_batch(&self, batch: u64) -> Option<u64> {
        let (asked, batch) = (u128::from(self.requested.max(1)), u128::from(batch));
        let bytes_of = |smaller: u128| u64::try_from((asked * smaller).div_ceil(batch)).ok();
        let fitting = self.ceilings().into_iter().filter_map(|bytes| {
            let smaller = (u128::from(bytes) * batch / asked).min(batch.checked_sub(1)?);
            (smaller > 0 && self.would_fit(bytes_of(smaller)?, &[])).then_some(smaller)
        });
        fitting.max().and_then(|smaller| u64::try_from(smaller).ok())
    }

    /// The largest request that each source of memory serves: the cached blocks of both
    /// pools and a new segment of either.
    fn ceilings(&self) -> [u64; 4] {
        let room = self.room();
        [
            self.largest_run(PoolKind::Large),
            largest_in_new_segment(room),
            if room >= SMALL_SEGMENT { SMALL_REQUEST } else { 0 },
            self.largest_run(PoolKind::Small).min(SMALL_REQUEST),
        ]
    }

    /// The bytes that the pool may still take from the device.
    fn room(&self) -> u64 {
        let allowed = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.reserved));
        self.free.min(allowed)
    }

    fn largest_run(&self, kind: PoolKind) -> u64 {
        let segments = self.snapshot.segments.iter().filter(|segment| self.serves(segment, kind));
        segments.map(|segment| longest_run(segment, &BTreeSet::new())).max().unwrap_or(0)
    }

    pub(super) fn serves(&self, segment: &Segment, kind: PoolKind) -> bool {
        segment.stream == self.stream && segment.small == kind.is_small()
    }
}

/// A change to the state in which a request failed.
#[derive(Clone)]
pub(super) struct StateChange {
    /// The addresses of the blocks that were freed.
    pub released: BTreeSet<u64>,
    pub limit: Option<u64>,
    /// The device's free bytes.
    pub free: u64,
    /// There are no captured graphs.
    pub without_graphs: bool,
}

impl StateChange {
    pub(super) fn none(oom: &OutOfMemory) -> Self {
        Self { released: BTreeSet::new(), limit: oom.limit, free: oom.free, without_graphs: false }
    }

    /// Whether a request of `bytes` bytes is served in the changed state.
    pub(super) fn fits(&self, oom: &OutOfMemory, bytes: u64) -> bool {
        let size = rounded(bytes);
        let kind = PoolKind::of(size);
        let mut returned: u64 = 0;
        for segment in &oom.snapshot.segments {
            let longest = longest_run(segment, &self.released);
            if longest >= size && oom.serves(segment, kind) {
                return true;
            }
            if longest == segment.size && (self.without_graphs || !oom.is_retained(segment)) {
                returned = returned.saturating_add(segment.size);
            }
        }
        self.takes(oom, segment_size(bytes), returned)
    }

    /// Whether a segment of `size` bytes can be taken once `returned` bytes of segments
    /// were returned.
    fn takes(&self, oom: &OutOfMemory, size: u64, returned: u64) -> bool {
        let reserved = oom.reserved.saturating_sub(returned).saturating_add(size);
        self.limit.is_none_or(|limit| reserved <= limit) && size <= self.free.saturating_add(returned)
    }
}

/// The blocks that tensors hold, each with what freeing it alone would give.
pub(super) struct HeldBlocks {
    blocks: BTreeMap<u64, HeldBlock>,
}

#[derive(Clone, Copy)]
pub(super) struct HeldBlock {
    pub address: u64,
    pub size: u64,
    /// Whether the failed request would be served if this block were freed.
    pub enough: bool,
}

impl HeldBlocks {
    pub(super) fn of(oom: &OutOfMemory) -> Self {
        let change = StateChange::none(oom);
        let mut blocks = BTreeMap::new();
        for segment in &oom.snapshot.segments {
            let serves = oom.serves(segment, oom.kind());
            for (index, block) in segment.blocks.iter().enumerate() {
                if block.state != BlockState::ActiveAllocated {
                    continue;
                }
                let (before, after) = segment.blocks.split_at(index);
                let run = free_bytes(before.iter().rev()) + block.size + free_bytes(after.iter().skip(1));
                let returned = if run == segment.size && !oom.is_retained(segment) { run } else { 0 };
                let enough = serves && run >= oom.rounded || change.takes(oom, oom.segment, returned);
                blocks.insert(block.address, HeldBlock { address: block.address, size: block.size, enough });
            }
        }
        Self { blocks }
    }

    /// The held block that `address` lies in.
    pub(super) fn at(&self, address: u64) -> Option<HeldBlock> {
        let (_, &block) = self.blocks.range(..=address).next_back()?;
        (address - block.address < block.size).then_some(block)
    }
}

fn free_bytes<'a>(blocks: impl Iterator<Item = &'a super::snapshot::SegmentBlock>) -> u64 {
    blocks.take_while(|block| block.state == BlockState::Inactive).map(|block| block.size).sum()
}

/// The longest stretch of a segment that is free, or would be.
fn longest_run(segment: &Segment, released: &BTreeSet<u64>) -> u64 {
    let (mut longest, mut run) = (0, 0);
    for block in &segment.blocks {
        let free = block.state == BlockState::Inactive || released.contains(&block.address);
        run = if free { run + block.size } else { 0 };
        longest = longest.max(run);
    }
    longest
}
