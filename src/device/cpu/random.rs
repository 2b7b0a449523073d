//! `Random`: draws from the host's generator bit for bit as PyTorch makes them on the CPU, and from Philox.

pub(crate) mod fill;
mod host;
mod philox;

use crate::base::{Error, Result};
use crate::device::kernel::{Distribution, Launch, Random, RandomSource};

use super::access::missing;

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
        RandomSource::Host(shared) => host::draw(launch, output, random.distribution, &mut shared.lock()),
        RandomSource::Philox { seed, offset, most } => {
            philox::draw(launch, output, random.distribution, (*seed, *offset), *most)
        }
    }
}

#[cfg(test)]
mod tests;
