//! What a session lets its devices do: TF32, cuDNN's choices, determinism.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use crate::base::DeviceSpec;

/// Switches of a session, with PyTorch's defaults.
#[derive(Debug)]
pub struct Settings {
    /// float32 products may use TF32 (`matmul::allow_tf32`).
    pub matmul_tf32: AtomicBool,
    /// float32 convolutions may use TF32 (`cudnn::allow_tf32`).
    pub cudnn_tf32: AtomicBool,
    pub cudnn_enabled: AtomicBool,
    pub cudnn_benchmark: AtomicBool,
    pub cudnn_deterministic: AtomicBool,
    determinism: AtomicU8,
    /// Where new tensors lie that are not told where: see [`coded`].
    default_device: AtomicU32,
}

/// What is done about operations whose CUDA implementation is not deterministic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Determinism {
    /// They run.
    Any,
    /// They are reported, and run.
    Warn,
    /// They are errors.
    Required,
}

/// Which kernels may use TF32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tf32 {
    pub matmul: bool,
    pub convolution: bool,
}

/// A wish for a device as a number; 0 without one.
const fn coded(device: Option<DeviceSpec>) -> u32 {
    match device {
        None => 0,
        Some(DeviceSpec::Cpu) => 1,
        Some(DeviceSpec::Cuda(None)) => 2,
        Some(DeviceSpec::Cuda(Some(ordinal))) => 3 + ordinal as u32,
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            matmul_tf32: AtomicBool::new(false),
            cudnn_tf32: AtomicBool::new(true),
            cudnn_enabled: AtomicBool::new(true),
            cudnn_benchmark: AtomicBool::new(false),
            cudnn_deterministic: AtomicBool::new(false),
            determinism: AtomicU8::new(0),
            default_device: AtomicU32::new(coded(None)),
        }
    }
}

impl Settings {
    /// Makes every switch the default one.
    pub(crate) fn reset(&self) {
        self.set_all(&Settings::default());
    }

    /// The switches as they stand.
    pub(crate) fn kept(&self) -> Settings {
        let kept = Settings::default();
        kept.set_all(self);
        kept
    }

    /// Makes every switch that of `other`.
    pub(crate) fn set_all(&self, other: &Settings) {
        let switches = [
            (&self.matmul_tf32, &other.matmul_tf32),
            (&self.cudnn_tf32, &other.cudnn_tf32),
            (&self.cudnn_enabled, &other.cudnn_enabled),
            (&self.cudnn_benchmark, &other.cudnn_benchmark),
            (&self.cudnn_deterministic, &other.cudnn_deterministic),
        ];
        for (ours, theirs) in switches {
            ours.store(theirs.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.determinism.store(other.determinism.load(Ordering::Relaxed), Ordering::Relaxed);
        self.default_device.store(other.default_device.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Convolutions go by cuDNN's switch, or without cuDNN by that of the products they are made of.
    pub fn tf32(&self) -> Tf32 {
        let matmul = self.matmul_tf32.load(Ordering::Relaxed);
        let convolution = match self.cudnn_enabled.load(Ordering::Relaxed) {
            true => self.cudnn_tf32.load(Ordering::Relaxed),
            false => matmul,
        };
        Tf32 { matmul, convolution }
    }

    /// Where new tensors lie that are not told where; on the CPU without a wish.
    pub(super) fn default_device(&self) -> Option<DeviceSpec> {
        let (cpu, current) = (coded(Some(DeviceSpec::Cpu)), coded(Some(DeviceSpec::Cuda(None))));
        match self.default_device.load(Ordering::Relaxed) {
            0 => None,
            code if code == cpu => Some(DeviceSpec::Cpu),
            code if code == current => Some(DeviceSpec::Cuda(None)),
            code => Some(DeviceSpec::Cuda(u16::try_from(code - current - 1).ok())),
        }
    }

    pub(super) fn set_default_device(&self, device: Option<DeviceSpec>) {
        self.default_device.store(coded(device), Ordering::Relaxed);
    }

    /// What becomes of operations whose results vary from run to run.
    pub fn determinism(&self) -> Determinism {
        match self.determinism.load(Ordering::Relaxed) {
            0 => Determinism::Any,
            1 => Determinism::Warn,
            _ => Determinism::Required,
        }
    }

    /// Whether convolutions must do without atomics.
    pub(crate) fn is_conv_deterministic(&self) -> bool {
        self.cudnn_deterministic.load(Ordering::Relaxed) || self.determinism() != Determinism::Any
    }

    pub(crate) fn set_determinism(&self, wanted: Determinism) {
        let code = match wanted {
            Determinism::Any => 0,
            Determinism::Warn => 1,
            Determinism::Required => 2,
        };
        self.determinism.store(code, Ordering::Relaxed);
    }
}
