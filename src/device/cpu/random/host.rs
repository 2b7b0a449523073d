//! Draws from MT19937, in PyTorch's order: `at::native::templates::cpu` and `at::*_distribution`.

use std::f64::consts::{PI, TAU};

use crate::base::dtype::Element;
use crate::base::{DType, Result, memory};
use crate::device::cpu::access::{BlockWriter, dense};
use crate::device::cpu::convert::{Compute, with_compute};
use crate::device::cpu::copy;
use crate::device::cpu::isa::{self, Isa, Work};
use crate::device::cpu::math::{Lane, Real};
use crate::device::cpu::random::fill::{BLOCK, OFTEN, arrivals, in_order, is_double};
use crate::device::cpu::strided::Strided;
use crate::device::kernel::{Arg, Distribution, Launch, View, naturals};
use crate::device::random::Mt19937;

pub(super) fn draw(
    launch: &Launch,
    output: &View,
    distribution: Distribution,
    g: &mut Mt19937,
) -> Result<()> {
    match distribution {
        Distribution::Uniform { low, high } => uniform(launch, output, low, high, g),
        Distribution::Normal { mean, std } => normal(launch, output, mean, std, g),
        Distribution::Integers { low, high } => integers(launch, output, low, high, g),
        Distribution::Bernoulli { p } | Distribution::Keep { p, .. } => with_compute!(output.dtype, C => {
            in_order(launch, output, |to: &mut [C]| {
                to.iter_mut().for_each(|to| *to = C::from_i64(i64::from(g.uniform_f64() < p)));
            })
        }),
        Distribution::BernoulliEach => each(launch, output, g),
        Distribution::Exponential { rate } => {
            transformed(launch, output, g, |u| (-u).ln_1p() * (-1.0 / rate))
        }
        Distribution::Cauchy { median, sigma } => {
            transformed(launch, output, g, |u| ((u - 0.5) * PI).tan() * sigma + median)
        }
        Distribution::Geometric { p } => {
            let factor = 1.0 / (-p).ln_1p();
            transformed(launch, output, g, |u| (u.ln() * factor).ceil())
        }
        Distribution::Rows { .. } => transformed(launch, output, g, |u| u),
        Distribution::Permutation => permutation(launch, output, g),
        Distribution::LogNormal { mean, std } => with_compute!(output.dtype, C => {
            in_order(launch, output, |to: &mut [C]| {
                to.iter_mut().for_each(|to| *to = C::from_f64((pairwise(g) * std + mean).exp()));
            })
        }),
        Distribution::Natural => {
            let (span, wide) = (naturals(output.dtype), distribution.per_call(output.dtype) == 2);
            with_compute!(output.dtype, C => {
                in_order(launch, output, |to: &mut [C]| {
                    for to in to {
                        let bits = if wide { g.next_u64() } else { u64::from(g.next_u32()) };
                        *to = C::from_i64((bits % span) as i64);
                    }
                })
            })
        }
        Distribution::Poisson => {
            let rates = dense::<f64>(launch, 0)?;
            let mut rates = rates.iter();
            with_compute!(output.dtype, C => {
                in_order(launch, output, |to: &mut [C]| {
                    for (to, &rate) in to.iter_mut().zip(rates.by_ref()) {
                        *to = C::from_f64(arrivals(rate, || g.uniform_f64()));
                    }
                })
            })
        }
    }
}

/// A function of uniform numbers in double precision.
fn transformed(launch: &Launch, output: &View, g: &mut Mt19937, value: impl Fn(f64) -> f64) -> Result<()> {
    with_compute!(output.dtype, C => {
        in_order(launch, output, |to: &mut [C]| {
            to.iter_mut().for_each(|to| *to = C::from_f64(value(g.uniform_f64())));
        })
    })
}

/// A float64 probability is held against 53 bits, any other against 24.
fn each(launch: &Launch, output: &View, g: &mut Mt19937) -> Result<()> {
    let wide = matches!(launch.inputs.first(), Some(Arg::View(p)) if p.dtype == DType::Float64);
    let chances = dense::<f64>(launch, 0)?;
    let mut chances = chances.iter();
    with_compute!(output.dtype, C => {
        in_order(launch, output, |to: &mut [C]| {
            for (to, &p) in to.iter_mut().zip(chances.by_ref()) {
                let u = if wide { g.uniform_f64() } else { f64::from(g.uniform_f32()) };
                *to = C::from_i64(i64::from(u < p));
            }
        })
    })
}

/// 24 bits of one number, or 53 of two for float64, scaled and moved in one rounding. What would round up to
/// the upper bound becomes the lower one.
fn uniform(launch: &Launch, output: &View, low: f64, high: f64, g: &mut Mt19937) -> Result<()> {
    let mut bits = [0; 2 * BLOCK];
    if is_double(output) {
        return in_order(launch, output, |to: &mut [f64]| {
            let bits = bits.get_mut(..2 * to.len()).unwrap_or(&mut []);
            g.fill(bits);
            isa::dispatch(Doubles { bits, low, high, to });
        });
    }
    let round: Option<fn(f32) -> f32> = match output.dtype {
        DType::Float16 => Some(|v| half::f16::from_f32(v).to_f32()),
        DType::BFloat16 => Some(|v| half::bf16::from_f32(v).to_f32()),
        _ => None,
    };
    let (low, high) = (low as f32, high as f32);
    in_order(launch, output, |to: &mut [f32]| {
        let bits = bits.get_mut(..to.len()).unwrap_or(&mut []);
        g.fill(bits);
        isa::dispatch(Singles { bits, low, high, to });
        if let Some(round) = round {
            to.iter_mut().filter(|v| round(**v) >= high).for_each(|v| *v = low);
        }
    })
}

struct Singles<'a> {
    bits: &'a [u32],
    low: f32,
    high: f32,
    to: &'a mut [f32],
}

impl Work for Singles<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let span = self.high - self.low;
        let (mask, scale) = ((1u32 << 24) - 1, 1.0 / (1u32 << 24) as f32);
        for (to, &bits) in self.to.iter_mut().zip(self.bits) {
            let unit = (bits & mask) as f32 * scale;
            let value = if I::FMA {
                unit.mul_add(span, self.low)
            } else {
                (f64::from(unit) * f64::from(span) + f64::from(self.low)) as f32
            };
            *to = if value >= self.high { self.low } else { value };
        }
    }
}

struct Doubles<'a> {
    bits: &'a [u32],
    low: f64,
    high: f64,
    to: &'a mut [f64],
}

impl Work for Doubles<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (pairs, _) = self.bits.as_chunks::<2>();
        for (to, &[high, low]) in self.to.iter_mut().zip(pairs) {
            let bits = ((u64::from(high) << 32) | u64::from(low)) & ((1 << 53) - 1);
            let unit = bits as f64 * (1.0 / (1u64 << 53) as f64);
            let value = unit.mul_add(self.high - self.low, self.low);
            *to = if value >= self.high { self.low } else { value };
        }
    }
}

/// Spans from 2^28 on take 64 bits to a number, to keep the remainder's bias down.
fn integers(launch: &Launch, output: &View, low: i64, high: i64, g: &mut Mt19937) -> Result<()> {
    let span = high.wrapping_sub(low) as u64;
    with_compute!(output.dtype, C => {
        in_order(launch, output, |to: &mut [C]| {
            for to in to {
                let bits = if span >= 1 << 28 { g.next_u64() } else { u64::from(g.next_u32()) };
                *to = C::from_i64(low.wrapping_add((bits % span) as i64));
            }
        })
    })
}

/// From this many places on a number has 64 bits: `u32::MAX / 20`.
const MANY: usize = 214_748_364;

/// Each place in turn is exchanged with one that is not before it.
fn permutation(launch: &Launch, output: &View, g: &mut Mt19937) -> Result<()> {
    let n = output.layout.numel();
    let mut places: Vec<i64> = memory::with_capacity(n)?;
    for start in (0..n).step_by(OFTEN) {
        launch.cancel.check()?;
        places.extend((start..n.min(start + OFTEN)).map(|i| i as i64));
    }
    for i in 0..n.saturating_sub(1) {
        if i % OFTEN == 0 {
            launch.cancel.check()?;
        }
        let left = (n - i) as u64;
        let bits = if n < MANY { u64::from(g.next_u32()) } else { g.next_u64() };
        places.swap(i, i + (bits % left) as usize);
    }
    put(launch, output, places)
}

/// Writes whole values to an output of any dtype.
fn put(launch: &Launch, output: &View, mut values: Vec<i64>) -> Result<()> {
    let to = Strided::new(output)?;
    let layout = to.as_rows()?;
    copy::between(launch.cancel, &Strided::of_slice(&mut values, &layout)?, &to)
}

/// Below 16 elements, or where they are not neighbours, values are drawn in pairs in double precision, and the
/// second of a pair waits for the next small draw. From 16 on, groups of 16 uniform numbers become normal
/// ones, and the last 16 elements are drawn once more where the number is not a multiple.
fn normal(launch: &Launch, output: &View, mean: f64, std: f64, g: &mut Mt19937) -> Result<()> {
    let filled = output.layout.numel() >= GROUP && output.layout.is_contiguous();
    match (filled, is_double(output)) {
        (true, true) => {
            let uniform = |g: &mut Mt19937, to: &mut [f64]| to.iter_mut().for_each(|v| *v = g.uniform_f64());
            groups(launch, output, g, uniform, |values| double_groups(values, mean, std))
        }
        (true, false) => {
            let uniform = |g: &mut Mt19937, to: &mut [f32]| to.iter_mut().for_each(|v| *v = g.uniform_f32());
            let (mean, std) = (mean as f32, std as f32);
            groups(launch, output, g, uniform, |values| isa::dispatch(Groups { values, mean, std }))
        }
        (false, _) => with_compute!(output.dtype, C => {
            in_order(launch, output, |to: &mut [C]| {
                to.iter_mut().for_each(|to| *to = C::from_f64(pairwise(g) * std + mean));
            })
        }),
    }
}

/// A standard normal number; its partner is kept in the generator.
fn pairwise(g: &mut Mt19937) -> f64 {
    if let Some(kept) = g.cached_normal.take() {
        return kept;
    }
    let (u, v) = (g.uniform_f64(), g.uniform_f64());
    let radius = (-2.0 * (-v).ln_1p()).sqrt();
    let (sin, cos) = (TAU * u).sin_cos();
    g.cached_normal = Some(radius * sin);
    radius * cos
}

const GROUP: usize = 16;

fn groups<C: Compute>(
    launch: &Launch,
    output: &View,
    g: &mut Mt19937,
    uniform: impl Fn(&mut Mt19937, &mut [C]),
    transform: impl Fn(&mut [C]),
) -> Result<()> {
    let n = output.layout.numel();
    // For the half types no numbers are drawn for the rest, which is drawn anew below.
    let drawn_twice = output.dtype.size() > 2;
    in_order(launch, output, |to: &mut [C]| {
        let n = if drawn_twice { to.len() } else { to.len() / GROUP * GROUP };
        let to = to.get_mut(..n).unwrap_or(&mut []);
        uniform(g, to);
        transform(to);
    })?;
    if !n.is_multiple_of(GROUP) {
        let mut last = [C::default(); GROUP];
        uniform(g, &mut last);
        transform(&mut last);
        // SAFETY: nothing else uses the output.
        unsafe { BlockWriter::<C>::new(output)?.store(n - GROUP, &last) };
    }
    Ok(())
}

/// Turns groups of 16 uniform numbers into normal ones; a shorter rest stays as it is.
struct Groups<'a> {
    values: &'a mut [f32],
    mean: f32,
    std: f32,
}

impl Work for Groups<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let lane = Lane::<f32, I>::new;
        let (mean, std) = (lane(self.mean), lane(self.std));
        for group in self.values.as_chunks_mut::<GROUP>().0 {
            let (first, second) = group.split_at_mut(GROUP / 2);
            for (u, v) in first.iter_mut().zip(second) {
                let radius = (lane(-2.0) * lane(1.0 - *u).ln()).sqrt();
                let angle = lane(TAU as f32 * *v);
                *u = (radius * angle.cos()).fma(std, mean).0;
                *v = (radius * angle.sin()).fma(std, mean).0;
            }
        }
    }
}

fn double_groups(values: &mut [f64], mean: f64, std: f64) {
    for group in values.as_chunks_mut::<GROUP>().0 {
        let (first, second) = group.split_at_mut(GROUP / 2);
        for (u, v) in first.iter_mut().zip(second) {
            let radius = (-2.0 * (1.0 - *u).ln()).sqrt();
            let (sin, cos) = (TAU * *v).sin_cos();
            *u = radius * cos * std + mean;
            *v = radius * sin * std + mean;
        }
    }
}
