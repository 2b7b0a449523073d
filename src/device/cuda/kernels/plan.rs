//! What carries a launch out.

use smallvec::{SmallVec, smallvec};

use crate::device::cuda::kernels::args::Args;
use crate::device::cuda::kernels::key::Key;

/// What the planner must know of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpu {
    pub multiprocessors: u32,
    pub threads_per_multiprocessor: u32,
}

/// One launch of a compiled kernel.
#[derive(Clone, Debug)]
pub struct Step {
    pub key: Key,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of shared memory beside what the kernel declares.
    pub shared: u32,
    pub args: Args,
}

/// Kernels in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub steps: SmallVec<[Step; 1]>,
}

impl Plan {
    pub(super) fn of(step: Step) -> Option<Plan> {
        Some(Plan { steps: smallvec![step] })
    }
}
