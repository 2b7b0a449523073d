//! Draws from Philox, as PyTorch's kernels make them on a GPU.
//!
//! A device caps its threads by its multiprocessors, and a thread then serves several elements
//! ([`philox::threads`]); what a draw gives up to that size does not depend on the device.
//! Source: PyTorch's `aten/src/ATen/native/cuda/DistributionTemplates.h`.

use std::f64::consts::PI;

use crate::base::dtype::Element;
use crate::base::{DType, Result};
use crate::device::cpu::access::dense;
use crate::device::cpu::convert::with_compute;
use crate::device::cpu::random::fill::{OFTEN, arrivals, by_place, is_double};
use crate::device::cpu::sort::long_line;
use crate::device::kernel::{Distribution, Launch, View, naturals};
use crate::device::philox::{self, Philox};

pub(super) fn draw(
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
        Distribution::Uniform { low, high } => uniform(launch, output, &places, low, high),
        Distribution::Normal { mean, std } => normal(launch, output, &places, mean, std),
        Distribution::LogNormal { mean, std } => log_normal(launch, output, &places, mean, std),
        Distribution::Exponential { rate } => exponential(launch, output, &places, rate),
        Distribution::Cauchy { median, sigma } => cauchy(launch, output, &places, median, sigma),
        Distribution::Geometric { p } => geometric(launch, output, &places, p),
        Distribution::Integers { low, high } => {
            let span = high.wrapping_sub(low) as u64;
            with_compute!(output.dtype, C => {
                by_place(launch, output, |i| C::from_i64(low.wrapping_add((places.bits(i) % span) as i64)))
            })
        }
        Distribution::Natural => {
            let span = naturals(output.dtype);
            with_compute!(output.dtype, C => {
                by_place(launch, output, |i| C::from_i64((places.bits(i) % span) as i64))
            })
        }
        Distribution::Bernoulli { p } => bernoulli(launch, output, &places, p),
        Distribution::BernoulliEach => each(launch, output, &g),
        Distribution::Keep { p, wide, vector } => {
            let p = if wide { p } else { f64::from(p as f32) };
            by_place(launch, output, |i| {
                let bits = if vector > 1 { places.neighbour(i, vector) } else { places.one(i) };
                i64::from(f64::from(philox::uniform_f32(bits)) < p)
            })
        }
        Distribution::Rows { width, dtype } => rows(launch, output, &g, width, dtype),
        Distribution::Permutation => permutation(launch, output, &places, (seed, offset), most),
        Distribution::Poisson => {
            let rates = dense::<f64>(launch, 0)?;
            by_place(launch, output, |i| rates.get(i as usize).map_or(0.0, |&rate| poisson(&g, i, rate)))
        }
    }
}

fn uniform(launch: &Launch, output: &View, places: &Places, low: f64, high: f64) -> Result<()> {
    if is_double(output) {
        return by_place(launch, output, |i| bounded(places.double(i), low, high));
    }
    let stored = stored(output.dtype);
    let (low, high) = (stored(low as f32), stored(high as f32));
    let range = stored(high - low);
    by_place(launch, output, |i| {
        let value = stored(places.single(i).mul_add(range, low));
        if value == high { low } else { value }
    })
}

fn normal(launch: &Launch, output: &View, places: &Places, mean: f64, std: f64) -> Result<()> {
    let (mean_single, std_single) = (mean as f32, std as f32);
    let double = |v: f64| v.mul_add(std, mean);
    let single = move |v: f32| v.mul_add(std_single, mean_single);
    transformed(launch, output, places, BaseDistribution::Normal, double, single)
}

fn log_normal(launch: &Launch, output: &View, places: &Places, mean: f64, std: f64) -> Result<()> {
    let (mean_single, std_single) = (mean as f32, std as f32);
    let double = |v: f64| v.mul_add(std, mean).exp();
    let single = move |v: f32| v.mul_add(std_single, mean_single).exp();
    transformed(launch, output, places, BaseDistribution::Normal, double, single)
}

fn exponential(launch: &Launch, output: &View, places: &Places, rate: f64) -> Result<()> {
    let factor = -1.0 / rate as f32;
    let double = |u: f64| -1.0 / rate * below_zero(u);
    let single = move |u: f32| factor * below_zero_single(u);
    transformed(launch, output, places, BaseDistribution::Uniform, double, single)
}

fn cauchy(launch: &Launch, output: &View, places: &Places, median: f64, sigma: f64) -> Result<()> {
    let (median_single, sigma_single) = (median as f32, sigma as f32);
    let inside = |u: f32| u.clamp(f32::EPSILON, 1.0 - f32::EPSILON);
    let double = |u: f64| (PI * (u - 0.5)).tan().mul_add(sigma, median);
    let single = move |u: f32| (PI as f32 * (inside(u) - 0.5)).tan().mul_add(sigma_single, median_single);
    transformed(launch, output, places, BaseDistribution::Uniform, double, single)
}

fn geometric(launch: &Launch, output: &View, places: &Places, p: f64) -> Result<()> {
    let below = (1.0 - p as f32).ln();
    let double = |u: f64| (u.ln() / (-p).ln_1p()).ceil();
    let single = move |u: f32| (u.ln() / below).ceil();
    transformed(launch, output, places, BaseDistribution::Uniform, double, single)
}

fn bernoulli(launch: &Launch, output: &View, places: &Places, p: f64) -> Result<()> {
    let p_single = p as f32;
    let double = |u: f64| f64::from(u8::from(u < p));
    let single = move |u: f32| f32::from(u8::from(u < p_single));
    transformed(launch, output, places, BaseDistribution::Uniform, double, single)
}

/// Numbers for each row of a draw without replacement, `width` to a row.
fn rows(launch: &Launch, output: &View, g: &Philox, width: u64, dtype: DType) -> Result<()> {
    let (width, stored) = (width.max(1), stored(dtype));
    let threads = width.next_multiple_of(THREADS_TO_A_ROW);
    by_place(launch, output, |i| {
        let (row, sample) = (i / width, i % width);
        let [bits, ..] = g.draw(row % philox::MOST_ROWS * threads + sample, row / philox::MOST_ROWS);
        f64::from(stored(philox::uniform_f32(bits)))
    })
}

/// Threads that serve a row of PyTorch's `multinomial` come in blocks of this many.
const THREADS_TO_A_ROW: u64 = 128;

/// What is drawn before it is transformed.
#[derive(Clone, Copy)]
enum BaseDistribution {
    Uniform,
    Normal,
}

/// A function of each element's number, in double precision for float64 and in single precision for all else.
fn transformed(
    launch: &Launch,
    output: &View,
    places: &Places,
    part: BaseDistribution,
    double: impl Fn(f64) -> f64 + Sync,
    single: impl Fn(f32) -> f32 + Sync,
) -> Result<()> {
    if is_double(output) {
        return by_place(launch, output, |i| match part {
            BaseDistribution::Uniform => double(places.double(i)),
            BaseDistribution::Normal => {
                let (bits, which) = places.element(i);
                philox::normal_f64(bits).get(which).map_or(0.0, |&v| double(v))
            }
        });
    }
    with_compute!(output.dtype, C => {
        by_place(launch, output, |i| C::from_f64(f64::from(match part {
            BaseDistribution::Uniform => single(places.single(i)),
            BaseDistribution::Normal => {
                let (bits, which) = places.element(i);
                philox::normal_f32(bits).get(which).map_or(0.0, |&v| single(v))
            }
        })))
    })
}

/// The logarithm of a number up to 1, kept off zero, so that no waiting time is zero.
fn below_zero(u: f64) -> f64 {
    if u >= 1.0 - f64::EPSILON / 2.0 { -f64::EPSILON / 2.0 } else { u.ln() }
}

fn below_zero_single(u: f32) -> f32 {
    if u >= 1.0 - f32::EPSILON / 2.0 { -f32::EPSILON / 2.0 } else { u.ln() }
}

/// Each thread serves four neighbours, once.
fn each(launch: &Launch, output: &View, g: &Philox) -> Result<()> {
    let chances = dense::<f64>(launch, 0)?;
    let rounded: fn(f64) -> f64 = if is_double(output) { |p| p } else { |p| f64::from(p as f32) };
    with_compute!(output.dtype, C => {
        by_place(launch, output, |i| {
            let bits = g.draw(i / 4, 0).get(i as usize % 4).copied().unwrap_or(0);
            let p = chances.get(i as usize).map_or(0.0, |&p| rounded(p));
            C::from_i64(i64::from(f64::from(philox::uniform_f32(bits)) <= p))
        })
    })
}

/// As `curand_poisson`: below a mean of 64 by counting arrivals in single precision, above 4000 by a normal number.
/// Between them curand inverts a fitted curve; numbers of the same distribution stand in for it.
fn poisson(g: &Philox, thread: u64, rate: f64) -> f64 {
    if rate > 4000.0 {
        let [normal, _] = philox::normal_f64(g.draw(thread, 0));
        return (rate.sqrt().mul_add(normal, rate) + 0.5).max(0.0).floor();
    }
    if rate >= 64.0 {
        return arrivals(rate, g.endless(thread));
    }
    let mut next = g.each(thread);
    let (mut left, mut count) = ((rate as f32).exp(), 0.0);
    loop {
        left *= philox::uniform_f32(next());
        if left.is_nan() || left <= 1.0 {
            return count;
        }
        count += 1.0;
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

    /// The one number of element `i`, where a call serves four.
    fn one(&self, i: u64) -> u32 {
        let (bits, which) = self.element(i);
        bits.get(which).copied().unwrap_or(u32::MAX)
    }

    /// The number of element `i` where each thread serves `vector` neighbours in a turn, four of them by one call.
    fn neighbour(&self, i: u64, vector: u64) -> u32 {
        let (group, place) = (i / vector, i % vector);
        let call = group / self.threads * vector.div_ceil(4) + place / 4;
        self.g.draw(group % self.threads, call).get(place as usize % 4).copied().unwrap_or(u32::MAX)
    }

    fn single(&self, i: u64) -> f32 {
        philox::uniform_f32(self.one(i))
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
    let value = unit.mul_add(high - low, low);
    if value == high { low } else { value }
}

/// Places in the order of random keys of as many bits as make equal ones unlikely. Where keys are equal all the same,
/// their places are shuffled by numbers from behind those of the keys.
///
/// Source: PyTorch's `aten/src/ATen/native/cuda/Randperm.cu`.
fn permutation(
    launch: &Launch,
    output: &View,
    places: &Places,
    (seed, offset): (u64, u64),
    most: u64,
) -> Result<()> {
    let n = output.layout.numel();
    let bits = key_bits(n as f64);
    let mut keys = long_line(launch, n, |i| (key_of(places.bits(i as u64), bits), i))?;
    let behind = offset.wrapping_add(philox::used(n as u64, most, places.per_call));
    let parting = Philox::new(seed, behind);
    let mut start = 0u64;
    for (group, equal) in keys.chunk_by_mut(|a, b| a.0 == b.0).enumerate() {
        if group % OFTEN == 0 {
            launch.cancel.check()?;
        }
        let mut next = parting.each(start);
        for i in (1..equal.len()).rev() {
            equal.swap(i, next() as usize % (i + 1));
        }
        start += equal.len() as u64;
    }
    with_compute!(output.dtype, C => {
        by_place(launch, output, |at| C::from_i64(keys.get(at as usize).map_or(0, |&(_, i)| i as i64)))
    })
}

/// The bits of a key for `n` places: with so many, all keys differ with a probability of 0.9.
fn key_bits(n: f64) -> u32 {
    let spread = n - (6.0 * n * n + 1.0) / (12.0 * 0.9f64.ln());
    (spread.log2().ceil() as u32).clamp(1, 64)
}

/// A key in the order in which keys are sorted: by its low bits, the highest of 32 or 64 being a sign.
fn key_of(drawn: u64, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    if bits <= 32 {
        let key = (drawn % u64::from(u32::MAX)).wrapping_add(i32::MIN as u64);
        let sign = if bits == 32 { 1 << 31 } else { 0 };
        return (key ^ sign) & mask;
    }
    let key = (drawn % u64::MAX).wrapping_add(i64::MIN as u64);
    let sign = if bits == 64 { 1 << 63 } else { 0 };
    (key ^ sign) & mask
}
