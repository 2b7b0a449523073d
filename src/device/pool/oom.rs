//! The error of a request that does not fit.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::size::{PoolKind, format_size};
use super::snapshot::{BlockState, Segment, Snapshot};

/// A request that neither the cache nor the device could serve, after everything
/// cached that could be returned was returned. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// The index of the device.
    pub device: u32,
    /// The stream of the request.
    pub stream: u32,
    /// What was asked for.
    pub requested: u64,
    /// The block that needs.
    pub rounded: u64,
    /// The segment that was asked of the device, which the message names.
    pub segment: u64,
    /// The device's memory, whoever holds it.
    pub total: u64,
    /// What no one holds of it.
    pub free: u64,
    /// What the process holds besides segments; 0 where it is not known.
    pub context: u64,
    /// What this pool may reserve, where a memory fraction is set.
    pub limit: Option<u64>,
    /// What no memory fraction may raise that limit to: a lesson's bound, or a profile's fault.
    pub ceiling: Option<u64>,
    /// What tensors hold (rounded).
    pub allocated: u64,
    /// What this pool's segments hold.
    pub reserved: u64,
    /// The free bytes that stayed cached: their segments are partly in use. No block of
    /// them could serve this request, unless other streams have only just given it back.
    pub fragmentation: u64,
    /// The largest free block of the request's pool and stream.
    pub largest_cached: u64,
    /// The streams whose segments captured graphs keep, in use or not.
    pub retained: Vec<u32>,
    /// The pool's segments.
    pub snapshot: Snapshot,
}

impl OutOfMemory {
    /// PyTorch's sentence with these numbers.
    pub fn message(&self) -> String {
        let process = match self.context {
            0 => String::new(),
            context => format!(
                "Including non-PyTorch memory, this process has {} memory in use. ",
                format_size(context.saturating_add(self.reserved))
            ),
        };
        let allowed = match self.limit {
            Some(limit) => format!("{} allowed; ", format_size(limit)),
            None => String::new(),
        };
        let private = match self.kept_by_graphs() {
            0 => String::new(),
            kept => format!("with {} allocated in private pools (e.g., CUDA Graphs), ", format_size(kept)),
        };
        format!(
            "CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is free. \
             {process}{allowed}Of the allocated memory {} is allocated by PyTorch, {private}and {} is reserved by PyTorch but \
             unallocated. If reserved but unallocated memory is large try setting \
             PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for \
             Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html\
             #optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
            format_size(self.segment),
            self.device,
            format_size(self.total),
            format_size(self.free),
            format_size(self.allocated),
            format_size(self.reserved_unallocated()),
        )
    }

    /// What segments hold and tensors do not.
    pub(crate) fn reserved_unallocated(&self) -> u64 {
        self.reserved.saturating_sub(self.allocated)
    }

    /// Whether a captured graph keeps a segment, whatever is in use of it.
    pub(super) fn is_retained(&self, segment: &Segment) -> bool {
        self.retained.contains(&segment.stream)
    }

    /// What is free in segments that captured graphs keep: no other request is served from there.
    pub(super) fn kept_by_graphs(&self) -> u64 {
        let kept = self.snapshot.segments.iter().filter(|segment| self.is_retained(segment));
        let free = kept.flat_map(|s| &s.blocks).filter(|block| block.state == BlockState::Inactive);
        free.map(|block| block.size).sum()
    }

    /// What others hold of the device.
    pub fn used_by_others(&self) -> u64 {
        let held = self.total.saturating_sub(self.free);
        held.saturating_sub(self.reserved).saturating_sub(self.context)
    }

    pub(super) fn kind(&self) -> PoolKind {
        PoolKind::of(self.rounded)
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for OutOfMemory {}
