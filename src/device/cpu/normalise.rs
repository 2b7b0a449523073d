//! `LayerNorm` and its gradient.

use crate::base::{Error, Result};
use crate::device::kernel::Launch;

use super::access::{Dense, DenseOut, dense};
use super::float::{Float, with_float};
use super::isa::{self, Isa, Work};
use super::lines::{expect_shape, input_shape, output_shape};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

/// Each row less its mean, over the root of its variance plus `eps`; then times the weight and plus the bias,
/// where given. The variance is that of the whole row, summed in a second pass over the differences.
pub(super) fn layer_norm(launch: &Launch, eps: f64) -> Result<()> {
    with_float!(launch, launch.dtype(), C => forward::<C>(launch, eps))
}

/// The gradients of [`layer_norm`] by its input and, where asked for, its weight and bias.
pub(crate) fn layer_norm_grad(launch: &Launch, affine: bool) -> Result<()> {
    with_float!(launch, launch.dtype(), C => backward::<C>(launch, affine))
}

fn rows_and_width(launch: &Launch, input: usize) -> Result<(usize, usize)> {
    match input_shape(launch, input)? {
        &[rows, n] => Ok((rows, n)),
        shape => Err(Error::runtime(format!("{}: rows have shape {shape:?}", launch.op))),
    }
}

/// An optional vector of `n` elements.
fn vector<'a, C: Float>(launch: &Launch<'a>, input: usize, n: usize) -> Result<Option<Dense<'a, C>>> {
    if input >= launch.inputs.len() {
        return Ok(None);
    }
    expect_shape(launch, "a parameter", input_shape(launch, input)?, &[n])?;
    dense(launch, input).map(Some)
}

fn forward<C: Float>(launch: &Launch, eps: f64) -> Result<()> {
    let (rows, n) = rows_and_width(launch, 0)?;
    let x = dense::<C>(launch, 0)?;
    let (weight, bias) = (vector::<C>(launch, 1, n)?, vector::<C>(launch, 2, n)?);
    expect_shape(launch, "the output", output_shape(launch, 0)?, &[rows, n])?;
    let mut y = DenseOut::<C>::new(launch, 0)?;
    let (mut means, mut rstds) = (DenseOut::<C>::new(launch, 1)?, DenseOut::<C>::new(launch, 2)?);
    expect_shape(launch, "the mean", output_shape(launch, 1)?, &[rows])?;
    expect_shape(launch, "the deviation", output_shape(launch, 2)?, &[rows])?;
    let (to_y, to_mean, to_rstd) =
        (SharedMut::new(&mut y), SharedMut::new(&mut means), SharedMut::new(&mut rstds));
    parallel::for_ranges(rows, parallel::grain(4 * n), launch.cancel, |range| {
        // SAFETY: pieces have rows of their own.
        let (y, mean, rstd) = unsafe {
            (
                to_y.slice(range.start * n..range.end * n),
                to_mean.slice(range.clone()),
                to_rstd.slice(range.clone()),
            )
        };
        isa::dispatch(NormaliseRows {
            x: x.get(range.start * n..range.end * n).unwrap_or(&[]),
            weight: weight.as_deref(),
            bias: bias.as_deref(),
            n,
            eps: C::from_f64(eps),
            y,
            mean,
            rstd,
        });
    })?;
    y.finish(launch)?;
    means.finish(launch)?;
    rstds.finish(launch)
}

struct NormaliseRows<'a, C> {
    x: &'a [C],
    weight: Option<&'a [C]>,
    bias: Option<&'a [C]>,
    n: usize,
    eps: C,
    y: &'a mut [C],
    mean: &'a mut [C],
    rstd: &'a mut [C],
}

impl<C: Float> Work for NormaliseRows<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.n.max(1);
        let rows = self.x.chunks_exact(n).zip(self.y.chunks_exact_mut(n));
        // Rows without elements have no mean.
        self.mean.fill(C::from_f64(f64::NAN));
        self.rstd.fill(C::from_f64(f64::NAN));
        for ((x, y), (mean, rstd)) in rows.zip(self.mean.iter_mut().zip(self.rstd.iter_mut())) {
            let m = C::from_f64(sum(x, |v| v) / n as f64);
            let variance = sum(x, |v| (v - m) * (v - m)) / n as f64;
            let r = C::from_f64(1.0) / (C::from_f64(variance) + self.eps).sqrt();
            (*mean, *rstd) = (m, r);
            match (self.weight, self.bias) {
                (Some(weight), Some(bias)) => {
                    for (((y, &x), &w), &b) in y.iter_mut().zip(x).zip(weight).zip(bias) {
                        *y = (x - m) * r * w + b;
                    }
                }
                (Some(weight), None) => {
                    for ((y, &x), &w) in y.iter_mut().zip(x).zip(weight) {
                        *y = (x - m) * r * w;
                    }
                }
                _ => {
                    for (y, &x) in y.iter_mut().zip(x) {
                        *y = (x - m) * r;
                    }
                }
            }
        }
    }
}

/// Lanes of a sum.
const LANES: usize = 32;

/// The sum of a function of the elements: in lanes over short stretches, whose sums are added in f64.
#[inline(always)]
pub(super) fn sum<C: Float>(x: &[C], f: impl Fn(C) -> C) -> f64 {
    let mut total = 0.0;
    for stretch in x.chunks(STRETCH) {
        let mut lanes = [C::default(); LANES];
        let (whole, rest) = stretch.as_chunks::<LANES>();
        for chunk in whole {
            for (lane, &v) in lanes.iter_mut().zip(chunk) {
                *lane = *lane + f(v);
            }
        }
        total += rest.iter().map(|&v| f(v).to_f64()).sum::<f64>();
        total += lanes.iter().map(|v| v.to_f64()).sum::<f64>();
    }
    total
}

/// As [`sum`], of a function of two rows.
#[inline(always)]
pub(super) fn sum_of_two<C: Float>(x: &[C], y: &[C], f: impl Fn(C, C) -> C) -> f64 {
    let mut total = 0.0;
    for (x, y) in x.chunks(STRETCH).zip(y.chunks(STRETCH)) {
        let mut lanes = [C::default(); LANES];
        let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        for (x, y) in xs.iter().zip(ys) {
            for ((lane, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
                *lane = *lane + f(x, y);
            }
        }
        total += x_rest.iter().zip(y_rest).map(|(&x, &y)| f(x, y).to_f64()).sum::<f64>();
        total += lanes.iter().map(|v| v.to_f64()).sum::<f64>();
    }
    total
}

/// Elements that a lane-wise sum goes over before it is taken up in f64.
const STRETCH: usize = 2048;

/// Row blocks whose parameter gradients are summed apart, so that the sums do not depend on the threads.
const BLOCKS: usize = 32;

fn backward<C: Float>(launch: &Launch, affine: bool) -> Result<()> {
    let (rows, n) = rows_and_width(launch, 1)?;
    expect_shape(launch, "the gradient", input_shape(launch, 0)?, &[rows, n])?;
    let [dy, x, mean, rstd] = [0, 1, 2, 3].map(|i| dense::<C>(launch, i));
    let (dy, x, mean, rstd) = (dy?, x?, mean?, rstd?);
    let weight = if affine { vector::<C>(launch, 4, n)? } else { None };
    let mut dx = DenseOut::<C>::new(launch, 0)?;
    expect_shape(launch, "the input's gradient", output_shape(launch, 0)?, &[rows, n])?;
    let to_dx = SharedMut::new(&mut dx);
    let by_parameter = launch.outputs.len() > 1;
    let sums = if by_parameter { 2 * n } else { 0 };
    let height = parallel::grain(4 * n).max(rows.div_ceil(BLOCKS));
    let blocks = parallel::map_ranges(rows, height, launch.cancel, |range| -> Result<Vec<C>> {
        let mut sums = zeros::<C>(sums)?;
        let mut scaled = zeros::<C>(if weight.is_some() { n } else { 0 })?;
        let at = range.start * n..range.end * n;
        isa::dispatch(GradientRows {
            dy: dy.get(at.clone()).unwrap_or(&[]),
            x: x.get(at.clone()).unwrap_or(&[]),
            mean: mean.get(range.clone()).unwrap_or(&[]),
            rstd: rstd.get(range).unwrap_or(&[]),
            weight: weight.as_deref(),
            n,
            // SAFETY: pieces have rows of their own.
            dx: unsafe { to_dx.slice(at) },
            sums: &mut sums,
            scaled: &mut scaled,
        });
        Ok(sums)
    })?;
    dx.finish(launch)?;
    let mut total = zeros::<C>(sums)?;
    for block in blocks {
        for (total, part) in total.iter_mut().zip(block?) {
            *total = *total + part;
        }
    }
    for (i, part) in total.chunks_exact(n.max(1)).enumerate().take(launch.outputs.len() - 1) {
        let mut out = DenseOut::<C>::new(launch, 1 + i)?;
        expect_shape(launch, "a parameter's gradient", output_shape(launch, 1 + i)?, &[n])?;
        out.copy_from_slice(part);
        out.finish(launch)?;
    }
    Ok(())
}

struct GradientRows<'a, C> {
    dy: &'a [C],
    x: &'a [C],
    mean: &'a [C],
    rstd: &'a [C],
    weight: Option<&'a [C]>,
    n: usize,
    dx: &'a mut [C],
    /// Of the weight's gradient, then of the bias's; empty where neither is asked for.
    sums: &'a mut [C],
    /// Room for a row, where there is a weight.
    scaled: &'a mut [C],
}

impl<C: Float> Work for GradientRows<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.n.max(1);
        let (dweight, dbias) = self.sums.split_at_mut(self.sums.len() / 2);
        let scaled = self.scaled;
        let rows = self.dy.chunks_exact(n).zip(self.x.chunks_exact(n)).zip(self.dx.chunks_exact_mut(n));
        for (((dy, x), dx), (&m, &r)) in rows.zip(self.mean.iter().zip(self.rstd)) {
            let normal = |x: C| (x - m) * r;
            for (((w, b), &x), &dy) in dweight.iter_mut().zip(dbias.iter_mut()).zip(x).zip(dy) {
                *w = *w + dy * normal(x);
                *b = *b + dy;
            }
            let g: &[C] = match self.weight {
                Some(weight) => {
                    for ((g, &dy), &w) in scaled.iter_mut().zip(dy).zip(weight) {
                        *g = dy * w;
                    }
                    scaled
                }
                None => dy,
            };
            let mean_g = C::from_f64(sum(g, |v| v) / n as f64);
            let mean_gx = C::from_f64(sum_of_two(g, x, |g, x| g * normal(x)) / n as f64);
            for ((dx, &g), &x) in dx.iter_mut().zip(g).zip(x) {
                *dx = r * (g - mean_g - normal(x) * mean_gx);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::base::{DType, Layout};
    use crate::device::cpu::testing::{Sample, assert_close, launch, noise};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;

    /// y, mean, rstd.
    fn naive(x: &[f64], n: usize, w: Option<&[f64]>, b: Option<&[f64]>, eps: f64) -> [Vec<f64>; 3] {
        let mut out = [vec![], vec![], vec![]];
        for row in x.chunks(n) {
            let mean = row.iter().sum::<f64>() / n as f64;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
            let rstd = 1.0 / (variance + eps).sqrt();
            out[0].extend(
                row.iter()
                    .enumerate()
                    .map(|(i, v)| (v - mean) * rstd * w.map_or(1.0, |w| w[i]) + b.map_or(0.0, |b| b[i])),
            );
            out[1].push(mean);
            out[2].push(rstd);
        }
        out
    }

    fn forward(x: &Sample, parameters: &[&Sample], dtype: DType) -> [Sample; 3] {
        let [rows, _] = x.layout.shape()[..] else { panic!() };
        let outs = [
            Sample::zeros(dtype, x.layout.shape()),
            Sample::zeros(dtype, &[rows]),
            Sample::zeros(dtype, &[rows]),
        ];
        let inputs: Vec<_> = [x].iter().chain(parameters).map(|s| s.arg()).collect();
        let kernel = Kernel::LayerNorm { eps: 1e-5, affine: !parameters.is_empty() };
        launch(&kernel, &inputs, &[outs[0].view(), outs[1].view(), outs[2].view()]).unwrap();
        outs
    }

    proptest! {
        #[test]
        fn rows_are_normalised(rows in 0usize..5, n in 1usize..100, parameters in 0usize..3, seed in any::<u64>(), turned in any::<bool>()) {
            let layout = if turned { Layout::contiguous(&[n, rows]).unwrap().transpose(0, 1).unwrap() } else { Layout::contiguous(&[rows, n]).unwrap() };
            let x = Sample::laid_out(DType::Float64, layout, noise(seed));
            let (w, b) = (Sample::new(DType::Float64, &[n], noise(1)), Sample::new(DType::Float64, &[n], noise(2)));
            let got = forward(&x, &[&w, &b][..parameters], DType::Float64);
            let (wv, bv) = (w.values(), b.values());
            let want = naive(&x.values(), n, (parameters > 0).then_some(&wv), (parameters > 1).then_some(&bv), 1e-5);
            for (got, want) in got.iter().zip(&want) {
                assert_close(&got.values(), want, 1e-9, 1e-12);
            }
        }

        #[test]
        fn gradients_follow_finite_differences(rows in 1usize..4, n in 1usize..20, seed in any::<u64>()) {
            let x = Sample::new(DType::Float64, &[rows, n], noise(seed));
            let (w, b) = (Sample::new(DType::Float64, &[n], noise(1)), Sample::new(DType::Float64, &[n], noise(2)));
            let dy = Sample::new(DType::Float64, &[rows, n], noise(3));
            let [_, mean, rstd] = forward(&x, &[&w, &b], DType::Float64);
            let outs = [Sample::zeros(DType::Float64, &[rows, n]), Sample::zeros(DType::Float64, &[n]), Sample::zeros(DType::Float64, &[n])];
            let inputs = [dy.arg(), x.arg(), mean.arg(), rstd.arg(), w.arg()];
            launch(&Kernel::LayerNormGrad { affine: true }, &inputs, &[outs[0].view(), outs[1].view(), outs[2].view()]).unwrap();
            let value = |x: &[f64], w: &[f64], b: &[f64]| -> f64 {
                naive(x, n, Some(w), Some(b), 1e-5)[0].iter().zip(dy.values()).map(|(y, d)| y * d).sum()
            };
            let at = [x.values(), w.values(), b.values()];
            for (which, got) in outs.iter().enumerate() {
                for (i, got) in got.values().into_iter().enumerate() {
                    let moved = |step: f64| {
                        let mut at = at.clone();
                        at[which][i] += step;
                        value(&at[0], &at[1], &at[2])
                    };
                    let want = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    prop_assert!((got - want).abs() < 1e-4 * (1.0 + want.abs()), "{which} {i}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn a_large_mean_does_not_drown_the_variance() {
        let n = 5000;
        let x = Sample::new(DType::Float32, &[2, n], noise(7).map(|v| 1000.0 + v));
        let got = forward(&x, &[], DType::Float32);
        let want = naive(&x.values(), n, None, None, 1e-5);
        assert_close(&got[1].values(), &want[1], 1e-7, 0.0);
        assert_close(&got[2].values(), &want[2], 1e-5, 0.0);
    }

    #[test]
    fn many_rows_in_half_precision() {
        let (rows, n) = (3000, 48);
        let x = Sample::new(DType::BFloat16, &[rows, n], noise(3));
        let got = forward(&x, &[], DType::BFloat16);
        let want = naive(&x.values(), n, None, None, 1e-5);
        assert_close(&got[0].values(), &want[0], 1e-2, 1e-2);
        let dy = Sample::new(DType::Float32, &[rows, n], noise(4));
        let outs = [
            Sample::zeros(DType::Float32, &[rows, n]),
            Sample::zeros(DType::Float32, &[n]),
            Sample::zeros(DType::Float32, &[n]),
        ];
        let inputs = [dy.arg(), x.arg(), got[1].arg(), got[2].arg()];
        launch(
            &Kernel::LayerNormGrad { affine: false },
            &inputs,
            &[outs[0].view(), outs[1].view(), outs[2].view()],
        )
        .unwrap();
        let mut sums = vec![0.0; n];
        for row in dy.values().chunks(n) {
            sums.iter_mut().zip(row).for_each(|(s, v)| *s += v);
        }
        assert_close(&outs[2].values(), &sums, 1e-4, 1e-3);
    }
}
