//! Values that every layer shares: dtypes, shapes, layouts, errors, events.

pub(crate) mod address;
pub mod base64;
pub mod chain;
pub mod dense;
pub(crate) mod dims;
pub mod dtype;
pub mod error;
pub mod event;
mod event_row;
pub mod figures;
pub mod file;
pub mod format_spec;
pub mod layout;
pub mod locale;
pub mod memory;
mod name;
pub(crate) mod name_map;
pub mod near;
pub(crate) mod packed;
pub mod python;
pub(crate) mod quota;
pub mod shape;
pub(crate) mod sorted;
pub mod stderr;
pub mod table;
pub mod text;

pub(crate) use crate::base::dims::Dims;
pub(crate) use crate::base::dims::Strides;
pub use crate::base::error::kind::{Kind, Variables};
pub use dtype::{DType, Scalar};
pub use error::{Cause, DeviceCause, Error, GradCause, Result, ShapeCause, is_of_device};
pub use layout::Layout;

use std::fmt;
use std::str::FromStr;

/// Where a tensor lives: a kind and an index, compared by value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Device {
    Cpu,
    /// A CUDA-like device, real or simulated, by ordinal.
    Cuda(u16),
}

impl Device {
    /// Whether it is a GPU, real or simulated.
    pub fn is_cuda(self) -> bool {
        matches!(self, Device::Cuda(_))
    }

    /// The direction of a copy from here: `h2d` from the host to a device, `d2h` back, `d2d` on and between devices;
    /// `h2h` within main memory.
    pub fn direction_to(self, to: Device) -> &'static str {
        match (self.is_cuda(), to.is_cuda()) {
            (false, true) => "h2d",
            (true, false) => "d2h",
            (true, true) => "d2d",
            (false, false) => "h2h",
        }
    }

    /// The ordinal of a CUDA device; 0 for the CPU.
    pub fn index(self) -> usize {
        match self {
            Device::Cpu => 0,
            Device::Cuda(i) => usize::from(i),
        }
    }

    pub(crate) fn code(self) -> u32 {
        match self {
            Device::Cpu => 0,
            Device::Cuda(i) => 1 + u32::from(i),
        }
    }

    pub(crate) fn from_code(code: u32) -> Device {
        match code {
            0 => Device::Cpu,
            i => Device::Cuda((i - 1) as u16),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(i) => write!(f, "cuda:{i}"),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Device {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Device {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Device;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a device such as \"cuda:0\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Device, E> {
                DeviceSpec::from_str(text).map(|spec| spec.on(0)).map_err(E::custom)
            }
        }
        d.deserialize_str(Text)
    }
}

/// What a learner writes for a device: `"cpu"`, `"cuda"` (the current one) or `"cuda:1"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceSpec {
    Cpu,
    Cuda(Option<u16>),
}

impl DeviceSpec {
    /// The device meant when `current` is the current CUDA device.
    pub fn on(self, current: usize) -> Device {
        match self {
            DeviceSpec::Cpu => Device::Cpu,
            DeviceSpec::Cuda(Some(i)) => Device::Cuda(i),
            DeviceSpec::Cuda(None) => Device::Cuda(current as u16),
        }
    }
}

impl From<Device> for DeviceSpec {
    fn from(device: Device) -> Self {
        match device {
            Device::Cpu => DeviceSpec::Cpu,
            Device::Cuda(i) => DeviceSpec::Cuda(Some(i)),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSpec::Cpu => f.write_str("cpu"),
            DeviceSpec::Cuda(None) => f.write_str("cuda"),
            DeviceSpec::Cuda(Some(i)) => write!(f, "cuda:{i}"),
        }
    }
}

impl FromStr for DeviceSpec {
    type Err = Error;

    /// Parses a device string with PyTorch's error texts.
    fn from_str(text: &str) -> Result<Self> {
        let (kind, index) = match text.split_once(':') {
            Some((kind, index)) => (kind, Some(index)),
            None => (text, None),
        };
        let number = match index {
            None => None,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => Some(
                digits
                    .parse::<u16>()
                    .map_err(|_| Error::from(DeviceCause::InvalidDeviceString(text.into())))?,
            ),
            Some(_) => return Err(DeviceCause::InvalidDeviceString(text.into()).into()),
        };
        match kind {
            "cpu" => match number {
                None | Some(0) => Ok(DeviceSpec::Cpu),
                Some(_) => Err(DeviceCause::InvalidDeviceString(text.into()).into()),
            },
            "cuda" => Ok(DeviceSpec::Cuda(number)),
            _ => Err(DeviceCause::UnknownDevice(text.into()).into()),
        }
    }
}
