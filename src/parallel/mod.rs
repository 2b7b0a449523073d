//! Several devices: spreading a batch, a tensor or a network over them, and bringing the results together.
//!
//! Named and defined as `torch.nn.parallel` and `torch.cuda.comm`. Everything here takes part in the graph, so the
//! gradients of a network's replicas add up in the network itself.

mod comm;
mod data_parallel;
mod rows;
mod spread;

pub use comm::{broadcast, reduce_add};
pub use data_parallel::{DataParallel, replicate};
pub use rows::ROWS;
pub use spread::{gather, scatter};

use std::sync::Arc;

use crate::base::{Device, DeviceCause, DeviceSpec, Error, Kind, Result, Scalar};
use crate::device::{Context, Machine};
use crate::op::def::documented;
use crate::op::{OpDef, Value};

/// Every row of this layer.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    ROWS.iter()
}

const _: [&[OpDef]; 1] = documented([ROWS]);

/// A device as a list of devices names it: an ordinal, a string or a device.
///
/// # Errors
/// `TypeError` for anything else, and what naming an unknown device gives.
pub(crate) fn device_of(value: &Value) -> Result<Device> {
    let spec = match value {
        Value::Scalar(Scalar::Int(-1)) => DeviceSpec::Cpu,
        Value::Scalar(Scalar::Int(i)) => match u16::try_from(*i) {
            Ok(i) => DeviceSpec::Cuda(Some(i)),
            Err(_) => return Err(DeviceCause::InvalidDeviceId.into()),
        },
        Value::Device(device) => *device,
        Value::Str(name) => name.parse()?,
        other => {
            let text =
                format!("a device is a number or a string such as \"cuda:1\", not {}", other.describe());
            return Err(Error::type_error(text));
        }
    };
    Ok(Machine::current().resolve(spec))
}

/// The accelerators that an array names, in its order.
pub(crate) fn accelerators(given: &Value) -> Result<Vec<Arc<Context>>> {
    let machine = Machine::current();
    let Value::List(items) = given else {
        let text = format!("devices are an array such as [0, 1], not {}", given.describe());
        return Err(Error::type_error(text));
    };
    let one = |value: &Value| match device_of(value)? {
        Device::Cpu => Err(Error::value("Expected a cuda device, but got: cpu")
            .with_hint("these devices are GPUs, such as [0, 1] or [\"cuda:0\", \"cuda:1\"]")),
        device => machine.context(device).map(Arc::clone),
    };
    items.iter().map(one).collect()
}

/// Runs `f` with `context` as the current accelerator.
fn on_device<T>(context: &Context, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let machine = Machine::current();
    let before = machine.set_current_gpu(context.device.index())?;
    let result = f();
    machine.set_current_gpu(before)?;
    result
}

fn assertion(text: impl Into<String>) -> Error {
    Error::new(Kind::AssertionError, text)
}
