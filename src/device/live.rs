//! What is known of the memory that tensors hold.

use crate::base::DType;
use crate::base::event::{Sizes, Source};

/// What is known of memory that a tensor holds on an accelerator.
#[derive(Clone, Debug)]
pub struct Live {
    pub bytes: u64,
    pub requested: u64,
    pub dtype: DType,
    pub shape: Sizes,
    pub op: &'static str,
    pub source: Source,
}

/// What a new buffer is for; goes into the event and the live table.
#[derive(Clone, Copy)]
pub struct Purpose<'a> {
    pub op: &'static str,
    pub dtype: DType,
    pub shape: &'a [usize],
}

impl Purpose<'_> {
    /// What it is, where no batch changes its size.
    pub(super) fn of_no_batch(&self) -> Option<&'static str> {
        (self.op == "optimizer_state").then_some("state of the optimiser")
    }
}
