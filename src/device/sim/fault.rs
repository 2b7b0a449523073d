//! A device that fails on request.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::{Device, DeviceCause, Error, Result};

/// The failure of a device at its n-th launch, as hardware fails: the launch itself returns, the error comes
/// from the first call after the device has got there, and every call after it gives the same one.
#[derive(Debug)]
pub(super) struct SimFault {
    device: Device,
    /// The launch, counted from 1.
    at_launch: Option<u64>,
    launches: AtomicU64,
    /// The modelled time at which the device fails, once it must.
    due: OnceLock<u64>,
}

impl SimFault {
    pub(super) fn new(device: Device, at_launch: Option<u64>) -> SimFault {
        SimFault { device, at_launch, launches: AtomicU64::new(0), due: OnceLock::new() }
    }

    /// The error, if the device has failed by `now`.
    #[inline]
    pub(super) fn check(&self, now: u64) -> Result<()> {
        match self.due.get() {
            Some(due) if *due <= now => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// Counts a launch that ends at `end`. Says whether it computes: the one that fails does not, and none does
    /// behind it.
    pub(super) fn launched(&self, end: u64) -> bool {
        let Some(at) = self.at_launch else { return true };
        if self.launches.fetch_add(1, Ordering::Relaxed).saturating_add(1) >= at {
            self.due.get_or_init(|| end);
        }
        !self.is_due()
    }

    /// Whether the device has failed or is about to: nothing that is queued now does anything.
    pub(crate) fn is_due(&self) -> bool {
        self.due.get().is_some()
    }

    /// PyTorch's text for an illegal memory access.
    #[cold]
    fn error(&self) -> Error {
        let message = "CUDA error: an illegal memory access was encountered\n\
            Search for `cudaErrorIllegalAddress' in \
            https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n\
            CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below \
            might be incorrect.\n\
            For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n";
        DeviceCause::DeviceFault { device: self.device, message: message.into() }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_comes_when_the_device_gets_there_and_stays() {
        let fault = SimFault::new(Device::Cuda(1), Some(3));
        assert!(fault.launched(10) && fault.launched(20) && !fault.is_due());
        assert!(!fault.launched(30), "the third launch fails");
        assert!(!fault.launched(40), "and the ones behind it");
        assert!(fault.check(29).is_ok());
        for now in [30, 31, u64::MAX] {
            let error = fault.check(now).unwrap_err();
            let text = "CUDA error: an illegal memory access was encountered\n";
            assert!(error.message().starts_with(text), "{error}");
            assert!(matches!(
                error.cause(),
                crate::base::Cause::Device(DeviceCause::DeviceFault { device: Device::Cuda(1), .. })
            ));
        }
    }

    #[test]
    fn a_device_without_a_wish_for_it_never_fails() {
        let fault = SimFault::new(Device::Cuda(0), None);
        assert!((0..1000).all(|end| fault.launched(end)));
        assert!(fault.check(u64::MAX).is_ok());
    }
}
