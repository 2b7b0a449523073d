//! Draws from the generator of a tensor's device.

use std::sync::Arc;

use crate::base::{DType, Device, DeviceSpec, Error, Result};
use crate::device::kernel::{Distribution, Random};
use crate::device::random::Generator;
use crate::device::{Context, Kernel, Machine};
use crate::op::core::def::{Args, DefaultValue as Fallback, Param, ParamKind};
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::tensor::{Tensor, launch};

/// Draws from a generator of the script's own instead of the session's.
pub const GENERATOR: Param = Param::optional("generator", ParamKind::Object, Fallback::None);

/// Runs `draw`, whose draws on `device` come from the generator that argument `i` names, if it names one.
///
/// # Errors
/// The argument is no generator, or one of another kind of device.
pub fn drawing<T>(a: &Args, i: usize, device: Device, draw: impl FnOnce() -> Result<T>) -> Result<T> {
    let generator = match a.get(i) {
        Value::None => return draw(),
        Value::Object(object) => object.get::<Generator>(),
        _ => None,
    };
    let Some(Generator(shared)) = generator else {
        let text = format!(
            "{}(): argument 'generator' must be a Generator, not {}",
            a.def.name,
            a.get(i).describe()
        );
        return Err(Error::type_error(text).with_hint("`Generator().manual_seed(0)` makes one"));
    };
    if device.is_cuda() {
        let text = "Expected a 'cuda' device type for generator but found 'cpu'";
        return Err(Error::runtime(text).with_hint("`cuda::manual_seed(0)` seeds the draws of a device"));
    }
    let machine = Machine::current().drawing_from(shared.clone());
    let _here = machine.enter();
    draw()
}

/// [`drawing`] of a new tensor.
pub fn making<T>(a: &Args, i: usize, make: &Make, draw: impl FnOnce() -> Result<T>) -> Result<T> {
    let device = Machine::current().resolve(make.device.unwrap_or(DeviceSpec::Cpu));
    drawing(a, i, device, draw)
}

/// A new tensor of drawn values.
pub fn drawn(
    shape: &[usize],
    dtype: DType,
    context: &Arc<Context>,
    distribution: Distribution,
    op: &'static str,
) -> Result<Tensor> {
    let out = Tensor::empty(shape, dtype, context, op)?;
    draw_into(&out, distribution, op)?;
    Ok(out)
}

/// Fills a tensor with drawn values, without a trace in the graph and without a version.
pub fn draw_into(x: &Tensor, distribution: Distribution, op: &'static str) -> Result<()> {
    if x.numel() == 0 {
        return Ok(());
    }
    draw_from(x, distribution, &[], op)
}

/// [`draw_into`] where the distribution takes an input.
pub fn draw_from(x: &Tensor, distribution: Distribution, inputs: &[&Tensor], op: &'static str) -> Result<()> {
    let source = Machine::current().random_source(x.device(), x.numel(), &distribution, x.dtype());
    let inputs: Vec<_> = inputs.iter().map(|&t| t.into()).collect();
    launch(op, &Kernel::Random(Random { distribution, source }), &inputs, &[x])
}
