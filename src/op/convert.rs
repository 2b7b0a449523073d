//! Moving tensors between devices and dtypes, and out of the graph.

use crate::base::error::Kind;
use crate::base::{DType, Device, DeviceSpec, Error, Result};
use crate::device::Machine;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::args::Value;
use super::record::{one, recorded};

/// What a tensor is converted to; absent parts stay as they are.
#[derive(Clone, Copy, Default, Debug)]
pub struct Target {
    pub device: Option<DeviceSpec>,
    pub dtype: Option<DType>,
}

impl Target {
    /// Reads what `x.to(…)` takes: a device, a dtype, the name of either, or a tensor to be like.
    pub fn of(value: &Value) -> Result<Target> {
        Ok(match value {
            Value::None => Target::default(),
            Value::Device(device) => Target { device: Some(*device), dtype: None },
            Value::DType(dtype) => Target { device: None, dtype: Some(*dtype) },
            Value::Tensor(t) => Target { device: Some(t.device().into()), dtype: Some(t.dtype()) },
            Value::Str(name) => match DType::parse(name) {
                Some(dtype) => Target { device: None, dtype: Some(dtype) },
                None => Target { device: Some(name.parse()?), dtype: None },
            },
            other => {
                let text = format!("to() takes a device, a dtype or a tensor, not {}", other.describe());
                return Err(Error::type_error(text).with_hint("such as `x.to(\"cuda\")` or `x.to(float16)`"));
            }
        })
    }

    pub fn dtype(dtype: DType) -> Target {
        Target { device: None, dtype: Some(dtype) }
    }

    pub fn device(device: Device) -> Target {
        Target { device: Some(device.into()), dtype: None }
    }
}

/// `x` on another device or in another dtype; `x` itself where nothing changes and no `copy` is asked for.
///
/// Between devices the values are cast before they travel, as in PyTorch. A copy to the CPU waits for the
/// device, unless `non_blocking`.
pub fn to(x: &Tensor, target: Target, non_blocking: bool, copy: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ToCopyBackward0", run: to_grad };
    let machine = Machine::current();
    let device = target.device.map_or(x.device(), |spec| machine.resolve(spec));
    let dtype = target.dtype.unwrap_or(x.dtype());
    if device == x.device() && dtype == x.dtype() && !copy {
        return Ok(x.clone());
    }
    let run = || {
        let context = machine.context(device)?;
        if device == x.device() {
            return x.copied_like(dtype, "to");
        }
        let cast = if dtype == x.dtype() { x.clone() } else { x.copied_like(dtype, "to")? };
        cast.moved(context, non_blocking, "to")
    };
    let out = run().map_err(|e| e.in_op("to", || vec![x.operand()]))?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute((x.device(), x.dtype()))))
}

/// `x` in another dtype.
pub fn to_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { to(x, Target::dtype(dtype), false, false) }
}

/// `x` on another device.
pub fn to_device(x: &Tensor, device: Device, non_blocking: bool) -> Result<Tensor> {
    if x.device() == device { Ok(x.clone()) } else { to(x, Target::device(device), non_blocking, false) }
}

/// `x` in page-locked host memory, from which copies to a device are faster and need not wait.
pub fn pin_memory(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "PinMemoryBackward0", run: |_, g| one(g.clone()) };
    let out = x.pin_memory()?;
    Ok(if out.is(x) { out } else { recorded(out, &RULE, &[x], |_, _| ()) })
}

/// The same memory, outside the graph.
pub fn detach(x: &Tensor) -> Tensor {
    x.detach()
}

/// Asks for (or gives up) a gradient, in place.
pub fn requires_grad_(x: &Tensor, on: bool) -> Result<Tensor> {
    if on && !x.dtype().is_float() {
        let text = "only Tensors of floating point dtype can require gradients";
        return Err(Error::new(Kind::RuntimeError, text).with_hint("make it a float first: `.float()`"));
    }
    x.set_requires_grad(on)?;
    Ok(x.clone())
}

fn to_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(device, dtype): &(Device, DType) = s.attribute()?;
    one(to(g, Target { device: Some(device.into()), dtype: Some(dtype) }, false, false)?)
}
