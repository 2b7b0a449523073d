//! Draws from the generator of a tensor's device.

use std::sync::Arc;

use crate::base::dense::order;
use crate::base::{DType, Device, Error, Layout, Result};
use crate::device::kernel::{Distribution, Random};
use crate::device::random::Generator;
use crate::device::{Context, Kernel, Machine};
use crate::op::core::def::Args;
use crate::op::core::params::{Maybe, kinds, params};
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::tensor::{In, Tensor, launch};

kinds! {
    /// A generator of the script's own.
    pub Own(Object) => &'a Generator, own;
}

params! {
    /// What every draw takes, last.
    pub group Drawing {
        generator: Maybe<Own>, "draws from a `Generator` of one's own instead of the session's";
    }
}

fn own<'a>(args: &'a Args, at: usize) -> Result<&'a Generator> {
    let given = args.get(at);
    let generator = if let Value::Object(object) = given { object.get::<Generator>() } else { None };
    generator.ok_or_else(|| {
        let text = format!(
            "{}(): argument 'generator' must be a Generator, not {}",
            args.def.name,
            given.describe()
        );
        Error::type_error(text).with_hint("`Generator().manual_seed(0)` makes one")
    })
}

/// Runs `draw`, whose draws on `device` come from the generator that is named, if one is.
///
/// # Errors
/// It is a generator of another kind of device.
pub fn drawing<T>(source: &Drawing, device: Device, draw: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(Generator(shared)) = source.generator else { return draw() };
    if device.is_cuda() {
        let text = "Expected a 'cuda' device type for generator but found 'cpu'";
        return Err(Error::runtime(text).with_hint("`cuda::manual_seed(0)` seeds the draws of a device"));
    }
    let machine = Machine::current().drawing_from(shared.clone());
    let _here = machine.enter();
    draw()
}

/// [`drawing`] of a new tensor.
pub fn making<T>(source: &Drawing, make: &Make, draw: impl FnOnce() -> Result<T>) -> Result<T> {
    let device = make.device(&Machine::current());
    drawing(source, device, draw)
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
pub(crate) fn draw_into(x: &Tensor, distribution: Distribution, op: &'static str) -> Result<()> {
    if x.numel() == 0 {
        return Ok(());
    }
    if x.is_contiguous() {
        return draw_from(x, distribution, &[], op);
    }
    // In the order of its memory, as PyTorch's iterator goes.
    let turned = x.with_layout(x.layout().permute(&order(x.shape(), &[x.layout().strides()]))?);
    let apart = x.device() == Device::Cpu && matches!(distribution, Distribution::Normal { .. });
    if !(apart && turned.is_contiguous()) {
        return draw_from(&turned, distribution, &[], op);
    }
    // What is row-major gets its normal numbers in groups on the CPU, anything else one by one.
    let room = Tensor::empty(&[x.numel(), 2], x.dtype(), &x.context(), op)?;
    let column = room.with_layout(room.layout().select(1, 0)?);
    draw_from(&column, distribution, &[], op)?;
    turned
        .with_layout(Layout::new([x.numel()][..].into(), [1][..].into(), x.layout().offset())?)
        .assign(&column, op)
}

/// Draws what dropout keeps of `x`, and drops the rest: the bools and the result, both row-major.
pub(crate) fn dropped(x: &Tensor, keep: Distribution, op: &'static str) -> Result<(Tensor, Tensor)> {
    let kept = Tensor::empty(x.shape(), DType::Bool, &x.context(), op)?;
    let out = Tensor::empty(x.shape(), x.dtype(), &x.context(), op)?;
    let source = Machine::current().random_source(x.device(), x.numel(), &keep, DType::Bool);
    let random = Random { distribution: keep, source };
    launch(op, &Kernel::Random(random), &[In::Tensor(x)], &[&kept, &out])?;
    Ok((kept, out))
}

/// [`draw_into`] where the distribution takes an input.
pub(crate) fn draw_from(
    x: &Tensor,
    distribution: Distribution,
    inputs: &[&Tensor],
    op: &'static str,
) -> Result<()> {
    let source = Machine::current().random_source(x.device(), x.numel(), &distribution, x.dtype());
    let inputs: Vec<_> = inputs.iter().map(|&t| t.into()).collect();
    launch(op, &Kernel::Random(Random { distribution, source }), &inputs, &[x])
}
