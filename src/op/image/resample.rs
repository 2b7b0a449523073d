//! Resizing by weights: each element of a result is a weighted sum of elements along one dimension of the input.

use crate::base::{DType, Result, Scalar, memory};
use crate::device::poll;
use crate::op::core::convert::to_dtype;
use crate::op::elementwise::arithmetic::shift;
use crate::op::elementwise::clamp::clamp;
use crate::op::elementwise::rounding::floor;
use crate::op::linalg::matmul::matmul;
use crate::op::shape::permute::transpose;
use crate::tensor::Tensor;

/// What the weights are computed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Filter {
    /// The mean of the elements that a result's element covers.
    Area,
    /// Between the two nearest.
    Linear,
    /// Of the four nearest.
    Cubic,
    /// `sin(x) / x` under a window, of the six nearest.
    Lanczos,
}

/// How one dimension becomes another size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resampling {
    pub from: usize,
    pub to: usize,
    /// How far the result's elements are apart in the input.
    pub step: f64,
    pub align: bool,
    /// A smaller result's elements take in all that they cover.
    pub antialias: bool,
}

/// `x` with its dimensions from the third on resized, the last first. Bytes are rounded after each dimension.
pub(super) fn resampled(x: &Tensor, filter: Filter, plans: &[Resampling]) -> Result<Tensor> {
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    let bytes = x.dtype() == DType::UInt8;
    let wide = match x.dtype() {
        DType::Float32 | DType::Float64 => x.clone(),
        _ => to_dtype(x, DType::Float32)?,
    };
    let mut out = wide;
    for (i, plan) in plans.iter().enumerate().rev() {
        let weights = placed(&weights(filter, plan, bytes)?, plan, &out)?;
        out = along(&out, i as i64 + 2, &weights)?;
        if bytes {
            out = clamp(&floor(&shift(&out, 0.5)?)?, Some(0i64.into()), Some(255i64.into()))?;
        }
    }
    if out.dtype() == x.dtype() { Ok(out) } else { to_dtype(&out, x.dtype()) }
}

/// The weights as a matrix `[from, to]` beside a tensor.
fn placed(weights: &[Scalar], plan: &Resampling, beside: &Tensor) -> Result<Tensor> {
    let matrix = transpose(&Tensor::from_numbers(weights, &[plan.to, plan.from], beside.dtype())?, 0, 1)?;
    if beside.device().is_cuda() { matrix.moved(&beside.context(), false, "interpolate") } else { Ok(matrix) }
}

fn along(x: &Tensor, dim: i64, weights: &Tensor) -> Result<Tensor> {
    transpose(&matmul(&transpose(x, dim, -1)?, weights)?, dim, -1)
}

/// A row of weights for each element of the result.
fn weights(filter: Filter, plan: &Resampling, bytes: bool) -> Result<Vec<Scalar>> {
    let count = memory::count::<Scalar>(&[plan.to, plan.from])?;
    let mut all: Vec<f64> = memory::with_capacity(count)?;
    for i in 0..plan.to {
        poll::at(i)?;
        let (first, taps) = plan.taps(filter, i);
        let start = all.len();
        all.resize(start + plan.from, 0.0);
        for (k, tap) in taps.into_iter().enumerate() {
            // What lies outside of the input is its outermost element.
            let at = first.saturating_add(k as i64).clamp(0, plan.from.saturating_sub(1) as i64);
            if let Some(weight) = all.get_mut(start + at as usize) {
                *weight += tap;
            }
        }
    }
    let largest = all.iter().fold(0.0f64, |most, w| most.max(*w));
    let unit = if bytes { unit(largest) } else { 0.0 };
    let rounded = |w: f64| if bytes { (w * unit).round() / unit } else { w };
    let mut numbers: Vec<Scalar> = memory::with_capacity(count)?;
    numbers.extend(all.into_iter().map(|w| Scalar::Float(rounded(w))));
    Ok(numbers)
}

/// Weights of bytes are kept in 16 bits, in parts as small as their largest allows.
fn unit(largest: f64) -> f64 {
    let fits = |bits: &i32| 0.5 + largest * f64::from(2i32.pow(*bits as u32 + 1)) < f64::from(1 << 15);
    let bits = (0..22).take_while(fits).count() as i32;
    2f64.powi(bits)
}

impl Resampling {
    /// The first element that a result's element is made of, and the weights from there on.
    fn taps(&self, filter: Filter, i: usize) -> (i64, Vec<f64>) {
        match filter {
            Filter::Area => self.covered(i),
            _ if self.antialias => self.spread(filter, i),
            _ => self.nearest(filter, i),
        }
    }

    fn covered(&self, i: usize) -> (i64, Vec<f64>) {
        let (i, from, to) = (i as u128, self.from as u128, self.to as u128);
        let (start, end) = (i * from / to, ((i + 1) * from).div_ceil(to));
        let count = (end - start) as usize;
        (start as i64, vec![1.0 / count as f64; count])
    }

    fn nearest(&self, filter: Filter, i: usize) -> (i64, Vec<f64>) {
        let place = if self.align { i as f64 * self.step } else { (i as f64 + 0.5) * self.step - 0.5 };
        let place = if filter == Filter::Linear { place.max(0.0) } else { place };
        let first = (place.floor() as i64).min(self.from as i64 - 1);
        let share = (place - first as f64).min(1.0);
        if filter == Filter::Linear {
            return (first, vec![1.0 - share, share]);
        }
        let taps = [share + 1.0, share, 1.0 - share, 2.0 - share].map(|d| cubic(d, -0.75));
        (first - 1, taps.to_vec())
    }

    fn spread(&self, filter: Filter, i: usize) -> (i64, Vec<f64>) {
        let wide = self.step.max(1.0);
        let (half, of): (f64, fn(f64) -> f64) = match filter {
            Filter::Cubic => (2.0, |d| cubic(d, -0.5)),
            Filter::Lanczos => (3.0, lanczos),
            _ => (1.0, |d| (1.0 - d).max(0.0)),
        };
        let (support, centre) = (half * wide, self.step * (i as f64 + 0.5));
        let start = ((centre - support + 0.5) as i64).max(0);
        let end = ((centre + support + 0.5) as i64).min(self.from as i64);
        let taps: Vec<f64> = (start..end).map(|j| of(((j as f64 - centre + 0.5) / wide).abs())).collect();
        let total: f64 = taps.iter().sum();
        let whole = if total == 0.0 { 1.0 } else { total };
        (start, taps.into_iter().map(|w| w / whole).collect())
    }
}

/// Keys' cubic at a distance from 0.
fn cubic(d: f64, a: f64) -> f64 {
    if d <= 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    } else {
        0.0
    }
}

/// `sin(x) / x` under the middle of another three times as wide.
fn lanczos(d: f64) -> f64 {
    let wave =
        |x: f64| if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) };
    if d < 3.0 { wave(d) * wave(d / 3.0) } else { 0.0 }
}
