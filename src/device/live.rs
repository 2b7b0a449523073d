//! What is known of the memory that tensors hold.

use std::cell::Cell;

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
    /// What it is for, where no batch changes its size.
    pub of_no_batch: Option<&'static str>,
}

/// What a new buffer is for; goes into the event and the live table.
#[derive(Clone, Copy)]
pub struct Purpose<'a> {
    pub op: &'static str,
    pub dtype: DType,
    pub shape: &'a [usize],
}

impl Purpose<'_> {
    /// What it is for, in words, where no batch changes its size.
    pub(super) fn of_no_batch(&self) -> Option<&'static str> {
        match self.op {
            "optimizer_state" => Some("as the state of the optimiser, whose size no batch changes"),
            _ => MEANT.get(),
        }
    }
}

/// Memory for weights and buffers.
pub const OF_A_MODULE: &str = "for a weight or a buffer of a module, whose size no batch changes";

/// Memory for the gradient of a leaf.
pub const OF_A_LEAF: &str = "for the gradient of a leaf, which is as large as the leaf";

thread_local! {
    static MEANT: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Runs `work`, whose memory is meant for `what`.
pub fn meant<R>(what: &'static str, work: impl FnOnce() -> R) -> R {
    let _before = Before(MEANT.replace(Some(what)));
    work()
}

/// Puts back what memory was meant for.
struct Before(Option<&'static str>);

impl Drop for Before {
    fn drop(&mut self) {
        MEANT.set(self.0);
    }
}
