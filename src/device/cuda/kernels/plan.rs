//! What carries a launch out.

use smallvec::{SmallVec, smallvec};

use crate::device::cuda::kernels::args::Args;
use crate::device::cuda::kernels::key::Key;
use crate::device::cuda::kernels::tensor_map::{EncodedMap, TensorMap};

/// What the planner must know of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpu {
    pub multiprocessors: u32,
    pub threads_per_multiprocessor: u32,
    /// It multiplies by warpgroups from what tensor maps bring: GPUs of compute capability 9.0 alone do.
    pub wgmma: bool,
    /// Floats are added at places that an index names in one order, whichever thread comes first.
    pub in_order: bool,
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

    /// Encodes the tensor maps of all steps; whether all of them could be.
    pub(crate) fn encode(&mut self, encoded: impl Fn(&TensorMap) -> Option<EncodedMap>) -> bool {
        self.steps.iter_mut().all(|step| step.args.encode(&encoded))
    }
}
