//! `autocast`: a region in which operations choose their precision. Which do is in `op::autocast`.

use crate::base::{DType, DeviceCause, Error, Result};
use crate::device::Machine;
use crate::tensor::autocast::{AutocastMode, On, Region, enter, settings};

/// What a region of autocast is asked for; absent parts are what holds around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Autocast {
    on: On,
    mode: AutocastMode,
    cache_enabled: bool,
}

impl Autocast {
    /// A region for `device_type`, `cuda` or `cpu`. `dtype` is the lower precision: float16 on CUDA devices and
    /// bfloat16 on the CPU unless given. The second value is a warning: the region then does nothing.
    ///
    /// Follows `torch.autocast.__init__`. An unknown device type is an error.
    pub fn new(
        device_type: &str,
        dtype: Option<DType>,
        enabled: bool,
        cache_enabled: Option<bool>,
    ) -> Result<(Autocast, Option<String>)> {
        let on = kind(device_type)?;
        let around = settings();
        let dtype = dtype.unwrap_or(around.mode(on).dtype);
        let why_not = if enabled { refusal(on, dtype) } else { None };
        let mode = AutocastMode { enabled: enabled && why_not.is_none(), dtype };
        let cache_enabled = cache_enabled.unwrap_or(around.cache_enabled);
        Ok((Autocast { on, mode, cache_enabled }, why_not))
    }

    /// Autocast as asked for, until the guard is dropped.
    pub fn enter(&self) -> Region {
        let mut next = settings().with(self.on, self.mode);
        next.cache_enabled = self.cache_enabled;
        enter(next)
    }
}

/// Whether autocast is on for a device type.
pub fn is_enabled(device_type: &str) -> Result<bool> {
    Ok(settings().mode(kind(device_type)?).enabled)
}

/// The lower precision of a device type.
pub fn dtype(device_type: &str) -> Result<DType> {
    Ok(settings().mode(kind(device_type)?).dtype)
}

/// Why a region does nothing, in PyTorch's words.
fn refusal(on: On, dtype: DType) -> Option<String> {
    let name = match on {
        On::Cuda if Machine::current().gpus().is_empty() => {
            return Some("CUDA is not available or torch_xla is imported. Disabling autocast.".into());
        }
        // PyTorch takes any dtype here; casting to integers is never meant.
        On::Cuda if dtype.is_float() => return None,
        On::Cuda => "CUDA",
        On::Cpu if matches!(dtype, DType::BFloat16 | DType::Float16) => return None,
        On::Cpu => "CPU",
    };
    Some(format!(
        "In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only \
         supports dtypes of torch.bfloat16, torch.float16 currently."
    ))
}

fn kind(device_type: &str) -> Result<On> {
    match device_type.split_once(':').map_or(device_type, |(kind, _)| kind) {
        "cuda" => Ok(On::Cuda),
        "cpu" => Ok(On::Cpu),
        "xpu" | "mtia" | "maia" | "hpu" | "mps" | "xla" => {
            Err(Error::runtime(format!("User specified an unsupported autocast device_type '{device_type}'"))
                .with_hint("autocast takes \"cuda\" or \"cpu\""))
        }
        _ => Err(DeviceCause::UnknownDevice(device_type.to_string()).into()),
    }
}
