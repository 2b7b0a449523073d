//! What a pool holds at one moment: its segments, with their blocks to scale.

use serde::{Deserialize, Serialize};

/// All segments of a pool, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The index of the device.
    pub device: u32,
    pub segments: Vec<Segment>,
}

/// A stretch of device memory; its blocks fill it without a gap. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    pub address: u64,
    pub size: u64,
    /// Requests on this stream alone are served from the segment.
    pub stream: u32,
    /// Whether it belongs to the small pool.
    pub small: bool,
    /// The segment's number, in the order in which segments were taken.
    pub sequence: u64,
    pub blocks: Vec<SegmentBlock>,
}

/// A block of a segment. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentBlock {
    pub address: u64,
    pub size: u64,
    /// What was asked for, before rounding; 0 for an inactive block.
    pub requested: u64,
    pub state: BlockState,
}

/// Whether a block can serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// A tensor holds it.
    ActiveAllocated,
    /// Freed, while another stream may still use it.
    ActivePendingFree,
    /// Free.
    Inactive,
}

/// How far the free memory of a pool is cut up. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragmentation {
    /// The free blocks whose segment is partly in use: `empty_cache` cannot return them.
    pub split_free: u64,
    /// The largest request that a cached block could serve, on the stream it belongs to.
    pub largest_request: u64,
}

impl BlockState {
    /// The state's name in a PyTorch memory snapshot.
    pub fn name(self) -> &'static str {
        match self {
            Self::ActiveAllocated => "active_allocated",
            Self::ActivePendingFree => "active_pending_free",
            Self::Inactive => "inactive",
        }
    }
}

impl Segment {
    /// The bytes that tensors hold.
    pub fn allocated_size(&self) -> u64 {
        self.sum(|block| block.state == BlockState::ActiveAllocated)
    }

    /// The bytes that are not free.
    pub fn active_size(&self) -> u64 {
        self.sum(|block| block.state != BlockState::Inactive)
    }

    /// The bytes that were asked for, of the blocks that are not free.
    pub fn requested_size(&self) -> u64 {
        self.blocks.iter().map(|block| block.requested).sum()
    }

    fn sum(&self, which: impl Fn(&SegmentBlock) -> bool) -> u64 {
        self.blocks.iter().filter(|block| which(block)).map(|block| block.size).sum()
    }
}
