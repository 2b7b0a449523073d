//! Draws from Philox, as PyTorch's kernels make them on a GPU.
//!
//! A device caps its threads by its multiprocessors, and a thread then serves several elements
//! ([`philox::threads`]); what a draw gives up to that size does not depend on the device.
//! Source: PyTorch's `aten/src/ATen/native/cuda/DistributionTemplates.h`.

use crate::base::dtype::Element;
use crate::base::{DType, Result};
use crate::device::cpu::access::dense;
use crate::device::cpu::convert::with_compute;
use crate::device::cpu::scratch::filled;
use crate::device::kernel::{Distribution, Launch, View, naturals};
use crate::device::philox::{self, Philox};

use super::{arrivals, by_place, is_double, put};

pub fn draw(
    launch: &Launch,
    output: &View,
    distribution: Distribution,
    (seed, offset): (u64, u64),
    most: u64,
) -> Result<()> {
    let g = Philox::new(seed, offset);
    let n = output.layout.numel() as u64;
    let places =
        Places { g, threads: philox::threads(n, most), per_call: distribution.per_call(output.dtype) };
    match distribution {
        Distribution::Uniform { low, high } if is_double(output) => {
            by_place(launch, output, |i| bounded(places.double(i), low, high))
        }
        Distribution::Uniform { low, high } => {
            let stored = stored(output.dtype);
            let (low, high) = (stored(low as f32), stored(high as f32));
            let range = stored(high - low);
            by_place(launch, output, |i| {
                let value = stored(places.single(i) * range + low);
                if value == high { low } else { value }
            })
        }
        Distribution::Normal { mean, std } if is_double(output) => by_place(launch, output, |i| {
            let (bits, which) = places.element(i);
            philox::normal_f64(bits).get(which).map_or(0.0, |v| v * std + mean)
        }),
        Distribution::Normal { mean, std } => by_place(launch, output, |i| {
            let (bits, which) = places.element(i);
            philox::normal_f32(bits).get(which).map_or(0.0, |v| v * std as f32 + mean as f32)
        }),
        Distribution::Integers { low, high } => {
            let span = high.wrapping_sub(low) as u64;
            with_compute!(output.dtype, C => {
                by_place(launch, output, |i| C::from_i64(low.wrapping_add((places.bits(i) % span) as i64)))
            })
        }
        Distribution::Bernoulli { p } if is_double(output) => {
            by_place(launch, output, |i| f64::from(u8::from(places.double(i) < p)))
        }
        Distribution::Bernoulli { p } => with_compute!(output.dtype, C => {
            by_place(launch, output, |i| C::from_i64(i64::from(f64::from(places.single(i)) < p)))
        }),
        Distribution::Permutation => permutation(launch, output, &places),
        Distribution::LogNormal { mean, std } => by_place(launch, output, |i| {
            let (bits, which) = places.element(i);
            if places.per_call == 2 {
                return philox::normal_f64(bits).get(which).map_or(0.0, |v| (v * std + mean).exp());
            }
            philox::normal_f32(bits).get(which).map_or(0.0, |&v| (f64::from(v) * std + mean).exp())
        }),
        Distribution::Natural => {
            let span = naturals(output.dtype);
            with_compute!(output.dtype, C => {
                by_place(launch, output, |i| C::from_i64((places.bits(i) % span) as i64))
            })
        }
        Distribution::Poisson => {
            let rates = dense::<f64>(launch, 0)?;
            by_place(launch, output, |i| {
                rates.get(i as usize).map_or(0.0, |&rate| arrivals(rate, places.g.endless(i)))
            })
        }
    }
}

struct Places {
    g: Philox,
    threads: u64,
    per_call: u64,
}

impl Places {
    fn element(&self, i: u64) -> ([u32; 4], usize) {
        self.g.element(i, self.threads, self.per_call)
    }

    fn single(&self, i: u64) -> f32 {
        let (bits, which) = self.element(i);
        bits.get(which).map_or(1.0, |&b| philox::uniform_f32(b))
    }

    fn double(&self, i: u64) -> f64 {
        let ([a, b, c, d], which) = self.element(i);
        if which == 0 { philox::uniform_f64(a, b) } else { philox::uniform_f64(c, d) }
    }

    /// 32 bits, or 64 where a call serves two elements.
    fn bits(&self, i: u64) -> u64 {
        let (bits, which) = self.element(i);
        if self.per_call == 4 {
            return bits.get(which).map_or(0, |&b| u64::from(b));
        }
        let [a, b, c, d] = bits;
        let (high, low) = if which == 0 { (a, b) } else { (c, d) };
        (u64::from(high) << 32) | u64::from(low)
    }
}

/// Rounds to what a tensor of `dtype` stores.
fn stored(dtype: DType) -> fn(f32) -> f32 {
    match dtype {
        DType::Float16 => |v| half::f16::from_f32(v).to_f32(),
        DType::BFloat16 => |v| half::bf16::from_f32(v).to_f32(),
        _ => |v| v,
    }
}

/// The upper bound, which curand's numbers can reach, becomes the lower one.
fn bounded(unit: f64, low: f64, high: f64) -> f64 {
    let value = unit * (high - low) + low;
    if value == high { low } else { value }
}

/// Places in the order of random keys.
fn permutation(launch: &Launch, output: &View, places: &Places) -> Result<()> {
    let mut keys = filled(output.layout.numel(), (0u64, 0i64))?;
    for (key, i) in keys.iter_mut().zip(0..) {
        *key = (places.bits(i), i as i64);
    }
    launch.cancel.check()?;
    keys.sort_unstable();
    put(launch, output, keys.into_iter().map(|(_, i)| i).collect())
}
