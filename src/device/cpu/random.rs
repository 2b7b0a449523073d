//! `Random`: draws from the host's generator bit for bit as PyTorch makes them on the CPU, and from Philox.

pub(crate) mod fill;
mod host;
mod philox;

use crate::base::{DType, Error, Result, Scalar};
use crate::device::distribution::kept_scale;
use crate::device::kernel::{Arg, Distribution, Kernel, Launch, Random, RandomSource};
use crate::device::scalar::MapOp;

use super::access::missing;
use super::map;

/// Fills the output in row-major order.
pub(super) fn random(launch: &Launch, random: &Random) -> Result<()> {
    let Some(output) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    if let Distribution::Integers { low, high } = random.distribution
        && low >= high
    {
        return Err(Error::runtime(format!(
            "random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )));
    }
    match &random.source {
        RandomSource::Host(shared) => host::draw(launch, output, random.distribution, &mut shared.lock())?,
        RandomSource::Philox { seed, offset, most } => {
            philox::draw(launch, output, random.distribution, (*seed, *offset), *most)?;
        }
    }
    match random.distribution {
        Distribution::Keep { p, .. } => {
            let y = launch.outputs.get(1).map_or(DType::Float32, |y| y.dtype);
            drop_rest(launch, kept_scale(p, y, matches!(random.source, RandomSource::Host(_))))
        }
        _ => Ok(()),
    }
}

/// Of the input what is kept, times `scale`, where the launch asks for it.
fn drop_rest(launch: &Launch, scale: f64) -> Result<()> {
    let (Some(&x), [kept, y]) = (launch.inputs.first(), launch.outputs) else { return Ok(()) };
    let inputs = [Arg::Scalar(Scalar::Float(0.0)), x, Arg::View(*kept)];
    let kernel = Kernel::Map { op: MapOp::Addcmul, params: [scale, 0.0], compute: y.dtype };
    let rest = Launch { kernel: &kernel, inputs: &inputs, outputs: &[*y], ..*launch };
    map::map(&rest, MapOp::Addcmul, [scale, 0.0], y.dtype)
}

#[cfg(test)]
mod tests;
