//! Which GPU a call means.

use std::sync::Arc;

use crate::base::{Cause, Device, DeviceCause, DeviceSpec, Error, Kind, Result};
use crate::device::{Context, Machine};
use crate::op::params::{Maybe, kind, params};
use crate::op::{Family, Form, OpDef};
use crate::script::call::Call;

params! {
    pub(crate) DeviceParams {
        device: Maybe<kind::Device>, "the GPU, as 0, \"cuda:0\" or a device; the current one where it is not given";
    }
}

/// When a function of the current GPU fails.
pub(crate) const NO_GPU: &str = "RuntimeError: there is no GPU";
/// When a function that works on a GPU fails.
pub(crate) const WORKED_ERRORS: &[&str] = &["DeviceError: there is no such GPU", NOT_CPU];
/// When a function that only looks at a GPU fails.
pub(crate) const LOOKED_ERRORS: &[&str] = &["AssertionError: there is no such GPU", NOT_CPU];
/// When a function waits for a GPU whose work is only written down.
pub(crate) const CAPTURED: &str = "DeviceError: work is being captured for a graph";
/// When a function of a GPU is given another device.
pub(crate) const NOT_CPU: &str = "ValueError: the device is the CPU";

/// A function that works on one GPU, which may be named.
pub(crate) const fn asked(name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Cuda, summary, DeviceParams::LIST)
        .forms(&[Form::Of("cuda")])
        .errors(WORKED_ERRORS)
}

/// As [`asked`], of one that only looks.
pub(crate) const fn seen(name: &'static str, summary: &'static str) -> OpDef {
    asked(name, summary).errors(LOOKED_ERRORS)
}

/// The GPU that a function looks at.
pub(crate) fn looked_up(call: &Call) -> Result<Arc<Context>> {
    known_gpu(call.machine(), DeviceParams::of(&call.args)?.device, "Invalid device id")
}

/// The GPU that a function works on.
pub(crate) fn worked_on(call: &Call) -> Result<Arc<Context>> {
    gpu(call.machine(), DeviceParams::of(&call.args)?.device)
}

/// The accelerator that is named, or the current one.
pub(crate) fn gpu(machine: &Machine, device: Option<DeviceSpec>) -> Result<Arc<Context>> {
    match machine.resolve(device.unwrap_or(DeviceSpec::Cuda(None))) {
        Device::Cpu => Err(Error::value("Expected a cuda device, but got: cpu")
            .with_hint("this is a function of GPUs: name one as 0 or \"cuda:0\"")),
        device => machine.context(device).map(Arc::clone),
    }
}

/// As [`gpu`], with the error of functions that only look.
pub(crate) fn known_gpu(machine: &Machine, device: Option<DeviceSpec>, text: &str) -> Result<Arc<Context>> {
    gpu(machine, device).map_err(|e| match e.cause() {
        Cause::Device(DeviceCause::InvalidOrdinal { count, .. }) => {
            let last = count.saturating_sub(1);
            Error::new(Kind::AssertionError, text).with_hint(format!("devices are numbered from 0 to {last}"))
        }
        _ => e,
    })
}

pub(crate) struct CurrentDevice {
    pub(super) machine: Arc<Machine>,
    pub(super) before: usize,
}

impl Drop for CurrentDevice {
    fn drop(&mut self) {
        // The ordinal was current, so it exists.
        let _ = self.machine.set_current_gpu(self.before);
    }
}
