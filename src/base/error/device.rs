//! Why a device, or what is said of one, fails.

use crate::base::{Device, figures};

use crate::base::error::kind::{Kind, Teller};

/// How PyTorch begins where there is no GPU, and what it says where there are only hidden ones.
const NO_DRIVER: &str = "Found no NVIDIA driver on your system";
const NO_GPUS: &str = "No CUDA GPUs are available";

/// Whether an error, by the name of its kind and its text, is one of a device that is missing or has failed.
pub fn is_of_device(kind: &str, message: &str) -> bool {
    let missing = [NO_DRIVER, NO_GPUS].iter().any(|text| message.starts_with(text));
    kind == Kind::DeviceError.to_string() || missing && kind == Kind::RuntimeError.to_string()
}

/// A device is wrong, missing, full or broken.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceCause {
    /// Elementwise operands on two devices, in the order PyTorch names them.
    TwoDevices {
        first: Device,
        second: Device,
    },
    /// An argument of `method` off the device of the others.
    ArgumentDevice {
        argument: &'static str,
        is_on: Device,
        others: Device,
        /// PyTorch's own name for it, such as `wrapper_CUDA_mm`.
        method: &'static str,
    },
    /// An index tensor on a GPU for a tensor on another device.
    IndexDevice {
        indexed: Device,
    },
    InvalidDeviceString(String),
    UnknownDevice(String),
    InvalidOrdinal {
        ordinal: usize,
        count: usize,
    },
    InvalidDeviceId,
    /// There is no GPU at all.
    NoGpu {
        /// `CUDA_VISIBLE_DEVICES` hides those that there are.
        hidden: bool,
    },
    /// The device's memory is full; the text comes from the allocator's numbers.
    OutOfMemory {
        device: Device,
        message: String,
        hint: String,
        /// Says the hint again once more is known.
        teller: Teller,
    },
    /// The host refused memory.
    HostMemory {
        bytes: usize,
    },
    /// Tensors in main memory would hold more than they may.
    HostLimit {
        bytes: usize,
        held: u64,
        limit: u64,
    },
    /// A fault of a device that lasts until the session restarts.
    DeviceFault {
        device: Device,
        message: String,
    },
}

/// What is said of operands on two devices, with what moves the one and the other.
pub(super) fn moved([one, other]: &[String; 2]) -> String {
    format!(
        "move one of them first, for example {one} or {other}: a copy between devices is never made silently"
    )
}

impl DeviceCause {
    pub(super) fn kind(&self) -> Kind {
        match self {
            DeviceCause::InvalidOrdinal { .. } | DeviceCause::DeviceFault { .. } => Kind::DeviceError,
            DeviceCause::InvalidDeviceId => Kind::AssertionError,
            DeviceCause::OutOfMemory { .. }
            | DeviceCause::HostMemory { .. }
            | DeviceCause::HostLimit { .. } => Kind::OutOfMemoryError,
            DeviceCause::TwoDevices { .. }
            | DeviceCause::ArgumentDevice { .. }
            | DeviceCause::IndexDevice { .. }
            | DeviceCause::InvalidDeviceString(_)
            | DeviceCause::UnknownDevice(_)
            | DeviceCause::NoGpu { .. } => Kind::RuntimeError,
        }
    }

    pub(super) fn message(&self) -> String {
        const SAME: &str = "Expected all tensors to be on the same device, but";
        match self {
            DeviceCause::TwoDevices { first, second } => {
                format!("{SAME} found at least two devices, {first} and {second}!")
            }
            DeviceCause::ArgumentDevice { argument, is_on, others, method } => format!(
                "{SAME} got {argument} is on {is_on}, different from other tensors on {others} (when checking \
                 argument in method {method})"
            ),
            DeviceCause::IndexDevice { indexed } => format!(
                "indices should be either on cpu or on the same device as the indexed tensor ({indexed})"
            ),
            DeviceCause::InvalidDeviceString(text) => format!("Invalid device string: '{text}'"),
            DeviceCause::UnknownDevice(text) => format!(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, \
                 lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: {text}"
            ),
            DeviceCause::InvalidOrdinal { .. } => "CUDA error: invalid device ordinal\n\
                 GPU device may be out of range, do you have enough GPUs?\n"
                .into(),
            DeviceCause::InvalidDeviceId => "Invalid device id".into(),
            DeviceCause::NoGpu { hidden: false } => format!(
                "{NO_DRIVER}. Please check that you have an NVIDIA GPU and installed a driver from \
                 http://www.nvidia.com/Download/index.aspx"
            ),
            DeviceCause::NoGpu { hidden: true } => NO_GPUS.into(),
            DeviceCause::OutOfMemory { message, .. } | DeviceCause::DeviceFault { message, .. } => {
                message.clone()
            }
            DeviceCause::HostMemory { bytes } => {
                format!("DefaultCPUAllocator: can't allocate memory: you tried to allocate {bytes} bytes.")
            }
            DeviceCause::HostLimit { bytes, held, limit } => format!(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate {bytes} bytes. Tensors in main \
                 memory hold {}; {} are allowed.",
                figures::bytes(*held),
                figures::bytes(*limit)
            ),
        }
    }

    /// What to do about it, where that can be said.
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            DeviceCause::TwoDevices { first, second } => {
                moved(&[format!("`b.to(\"{first}\")`"), format!("`a.to(\"{second}\")`")])
            }
            DeviceCause::ArgumentDevice { argument, others, .. } => {
                format!("move `{argument}` with `.to(\"{others}\")`, or the others to its device")
            }
            DeviceCause::IndexDevice { indexed } => format!("move the index with `.to(\"{indexed}\")`"),
            DeviceCause::InvalidOrdinal { count, .. } => format!(
                "there {} here: `cuda:0`{}",
                if *count == 1 { "is 1 CUDA device".into() } else { format!("are {count} CUDA devices") },
                if *count > 1 { format!(" to `cuda:{}`", count - 1) } else { String::new() }
            ),
            DeviceCause::NoGpu { hidden: false } => {
                "there is no GPU to use here: `--devices sim:t4` (Alt-D in the lab) gives a simulated one, and `tensorlab doctor` says \
                 what a real one needs"
                    .into()
            }
            DeviceCause::NoGpu { hidden: true } => {
                "`CUDA_VISIBLE_DEVICES` hides them: unset it, or have it name those to use, as `0,1`".into()
            }
            DeviceCause::UnknownDevice(_) => {
                "of these, `cpu` and `cuda` alone are here: \"cpu\", \"cuda\" or \"cuda:0\"".into()
            }
            DeviceCause::InvalidDeviceString(_) => {
                "a device is written \"cpu\", \"cuda\" or \"cuda:0\"".into()
            }
            DeviceCause::OutOfMemory { hint, .. } => hint.clone(),
            DeviceCause::DeviceFault { device, .. } => format!(
                "{device} stays in this state until the session restarts; what failed may stand before the line \
                 named here, for work is queued"
            ),
            DeviceCause::HostLimit { .. } => {
                "use smaller tensors, or `drop(x)` what is no longer needed; the limit is the lesson's".into()
            }
            DeviceCause::HostMemory { .. } => {
                "the host has no such memory left, in which simulated GPUs have theirs as well: use smaller tensors, or `drop(x)` \
                 what is no longer needed"
                    .into()
            }
            DeviceCause::InvalidDeviceId => return None,
        })
    }
}
