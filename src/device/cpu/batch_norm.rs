//! `BatchNorm` and its gradient: channel by channel, each while it is in the cache.

mod columns;
mod planes;

use std::ops::Range;

use crate::base::Result;
use crate::device::kernel::{Arg, Launch};

use super::access::{Dense, DenseOut, dense};
use super::float::{Float, with_float};
use super::isa::{self, Isa, Work};
use super::lines::{expect_shape, input_shape, output_shape};
use super::normalise::{sum, sum_of_two};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

use columns::{NormaliseRows, Room, SlopeRows};
use planes::Planes;

/// Each channel less its mean, over the root of its variance plus `eps`, times its weight, plus its bias. The running
/// statistics, where they are among the outputs, follow by `momentum`.
pub(super) fn batch_norm(launch: &Launch, eps: f64, momentum: f64) -> Result<()> {
    with_float!(launch, launch.dtype(), C => forward::<C>(launch, eps, momentum))
}

/// The gradients of [`batch_norm`] by its input and, where asked for, its weight and bias. Statistics that were given,
/// and not computed while `training`, do not follow the input.
pub(super) fn batch_norm_grad(launch: &Launch, training: bool) -> Result<()> {
    with_float!(launch, launch.dtype(), C => backward::<C>(launch, training))
}

/// A number for each channel, or none where the launch has a scalar in its place.
fn parameter<'a, C: Float>(launch: &Launch<'a>, input: usize, batch: Planes) -> Result<Option<Dense<'a, C>>> {
    if !matches!(launch.inputs.get(input), Some(Arg::View(_))) {
        return Ok(None);
    }
    expect_shape(launch, "a parameter", input_shape(launch, input)?, &[batch.channels])?;
    dense(launch, input).map(Some)
}

/// The numbers of some channels.
fn part<'a, C>(numbers: &'a Option<Dense<'_, C>>, channels: &Range<usize>) -> Option<&'a [C]> {
    numbers.as_ref().and_then(|numbers| numbers.get(channels.clone()))
}

/// Numbers for all channels that are written, or read and written.
fn numbers<'a, C: Float>(
    launch: &Launch<'a>,
    output: usize,
    batch: Planes,
    keep: bool,
) -> Result<DenseOut<'a, C>> {
    expect_shape(launch, "numbers of channels", output_shape(launch, output)?, &[batch.channels])?;
    if keep { DenseOut::with_values(launch, output) } else { DenseOut::new(launch, output) }
}

fn forward<C: Float>(launch: &Launch, eps: f64, momentum: f64) -> Result<()> {
    let batch = Planes::of(launch, 0)?;
    let x = dense::<C>(launch, 0)?;
    let (weight, bias) = (parameter::<C>(launch, 1, batch)?, parameter::<C>(launch, 2, batch)?);
    expect_shape(launch, "the output", output_shape(launch, 0)?, &[batch.n, batch.channels, batch.size])?;
    let mut y = DenseOut::<C>::new(launch, 0)?;
    let mut means = numbers::<C>(launch, 1, batch, false)?;
    let mut rstds = numbers::<C>(launch, 2, batch, false)?;
    let mut variances = zeros::<f64>(batch.channels)?;
    {
        let (to_y, to_mean) = (SharedMut::new(&mut y), SharedMut::new(&mut means));
        let (to_rstd, to_variance) = (SharedMut::new(&mut rstds), SharedMut::new(&mut variances));
        let eps = C::from_f64(eps);
        parallel::try_for_ranges(batch.channels, batch.grain(), launch.cancel, |range| -> Result<()> {
            // SAFETY: each channel is in one range.
            let (mean, rstd, variance) = unsafe {
                (to_mean.slice(range.clone()), to_rstd.slice(range.clone()), to_variance.slice(range.clone()))
            };
            let (x, y, on) = (&*x, &to_y, batch);
            if batch.is_narrow() {
                let (weight, bias) = (part(&weight, &range), part(&bias, &range));
                let room = Room::new(range.len() * batch.size)?;
                let channels = range;
                isa::dispatch(NormaliseRows {
                    x,
                    y,
                    on,
                    channels,
                    weight,
                    bias,
                    eps,
                    room,
                    mean,
                    rstd,
                    variance,
                });
                return Ok(());
            }
            let to = mean.iter_mut().zip(rstd).zip(variance);
            for (channel, ((mean, rstd), variance)) in range.zip(to) {
                let of = |all: &Option<Dense<C>>| all.as_ref().and_then(|all| all.get(channel).copied());
                let (weight, bias) = (of(&weight), of(&bias));
                (*mean, *rstd, *variance) = isa::dispatch(Normalise { x, y, on, channel, weight, bias, eps });
            }
            Ok(())
        })?;
    }
    follow::<C>(launch, batch, &means, &variances, momentum)?;
    y.finish(launch)?;
    means.finish(launch)?;
    rstds.finish(launch)
}

/// The running statistics take their share of the batch's: of the variance the unbiased estimate.
fn follow<C: Float>(
    launch: &Launch,
    batch: Planes,
    means: &[C],
    variances: &[f64],
    momentum: f64,
) -> Result<()> {
    if launch.outputs.len() < 5 {
        return Ok(());
    }
    let count = batch.count() as f64;
    let (stay, share) = (C::from_f64(1.0 - momentum), C::from_f64(momentum));
    let mut mean = numbers::<C>(launch, 3, batch, true)?;
    for (running, &now) in mean.iter_mut().zip(means) {
        *running = *running * stay + now * share;
    }
    let mut variance = numbers::<C>(launch, 4, batch, true)?;
    for (running, &now) in variance.iter_mut().zip(variances) {
        *running = *running * stay + C::from_f64(now * count / (count - 1.0)) * share;
    }
    mean.finish(launch)?;
    variance.finish(launch)
}

struct Normalise<'a, 'b, C> {
    x: &'a [C],
    y: &'a SharedMut<'b, C>,
    on: Planes,
    channel: usize,
    weight: Option<C>,
    bias: Option<C>,
    eps: C,
}

impl<C: Float> Work for Normalise<'_, '_, C> {
    /// Mean, the inverse of the deviation, and the biased variance.
    type Output = (C, C, f64);

    #[inline(always)]
    fn run<I: Isa>(self) -> (C, C, f64) {
        let count = self.on.count() as f64;
        let planes = || self.on.planes(self.channel).filter_map(|at| self.x.get(at));
        let mean = C::from_f64(planes().map(|x| sum(x, |v| v)).sum::<f64>() / count);
        let variance = planes().map(|x| sum(x, |v| (v - mean) * (v - mean))).sum::<f64>() / count;
        let rstd = C::from_f64(1.0) / (C::from_f64(variance) + self.eps).sqrt();
        let factor = self.weight.map_or(rstd, |w| w * rstd);
        let shift = self.bias.unwrap_or_default();
        for at in self.on.planes(self.channel) {
            let Some(x) = self.x.get(at.clone()) else { continue };
            // SAFETY: this work has the channel to itself.
            let y = unsafe { self.y.slice(at) };
            for (y, &x) in y.iter_mut().zip(x) {
                *y = (x - mean) * factor + shift;
            }
        }
        (mean, rstd, variance)
    }
}

fn backward<C: Float>(launch: &Launch, training: bool) -> Result<()> {
    let batch = Planes::of(launch, 1)?;
    let shape = [batch.n, batch.channels, batch.size];
    expect_shape(launch, "the gradient", input_shape(launch, 0)?, &shape)?;
    expect_shape(launch, "the input's gradient", output_shape(launch, 0)?, &shape)?;
    let (dy, x) = (dense::<C>(launch, 0)?, dense::<C>(launch, 1)?);
    let statistic = |input| {
        parameter::<C>(launch, input, batch)?.ok_or_else(|| super::access::missing(launch, "input", input))
    };
    let (mean, rstd, weight) = (statistic(2)?, statistic(3)?, parameter::<C>(launch, 4, batch)?);
    let mut dx = DenseOut::<C>::new(launch, 0)?;
    let (mut dweight, mut dbias) = (zeros::<C>(batch.channels)?, zeros::<C>(batch.channels)?);
    {
        let (to_dx, to_dweight, to_dbias) =
            (SharedMut::new(&mut dx), SharedMut::new(&mut dweight), SharedMut::new(&mut dbias));
        parallel::try_for_ranges(batch.channels, batch.grain(), launch.cancel, |range| -> Result<()> {
            // SAFETY: each channel is in one range.
            let (dweight, dbias) =
                unsafe { (to_dweight.slice(range.clone()), to_dbias.slice(range.clone())) };
            let (dy, x, dx, on) = (&*dy, &*x, &to_dx, batch);
            let (mean, rstd) =
                (mean.get(range.clone()).unwrap_or(&[]), rstd.get(range.clone()).unwrap_or(&[]));
            let weight = part(&weight, &range);
            if batch.is_narrow() {
                let room = Room::new(range.len() * batch.size)?;
                let channels = range;
                isa::dispatch(SlopeRows {
                    dy,
                    x,
                    dx,
                    on,
                    channels,
                    mean,
                    rstd,
                    weight,
                    training,
                    room,
                    dweight,
                    dbias,
                });
                return Ok(());
            }
            let numbers = mean.iter().zip(rstd).zip(dweight.iter_mut().zip(dbias));
            for (i, ((&mean, &rstd), (dweight, dbias))) in numbers.enumerate() {
                let factor = weight.and_then(|w| w.get(i)).map_or(rstd, |&w| w * rstd);
                let channel = range.start + i;
                [*dweight, *dbias] =
                    isa::dispatch(Slope { dy, x, dx, on, channel, mean, rstd, factor, training });
            }
            Ok(())
        })?;
    }
    dx.finish(launch)?;
    for (i, part) in [dweight, dbias].iter().enumerate().take(launch.outputs.len() - 1) {
        let mut out = numbers::<C>(launch, 1 + i, batch, false)?;
        out.copy_from_slice(part);
        out.finish(launch)?;
    }
    Ok(())
}

struct Slope<'a, 'b, C> {
    dy: &'a [C],
    x: &'a [C],
    dx: &'a SharedMut<'b, C>,
    on: Planes,
    channel: usize,
    mean: C,
    rstd: C,
    /// The weight over the deviation.
    factor: C,
    training: bool,
}

impl<C: Float> Work for Slope<'_, '_, C> {
    /// The gradients of the weight and of the bias.
    type Output = [C; 2];

    #[inline(always)]
    fn run<I: Isa>(self) -> [C; 2] {
        let (mean, rstd, factor) = (self.mean, self.rstd, self.factor);
        let planes = || {
            let at = self.on.planes(self.channel);
            at.filter_map(|at| Some((self.dy.get(at.clone())?, self.x.get(at)?)))
        };
        let total: f64 = planes().map(|(dy, _)| sum(dy, |g| g)).sum();
        let dot: f64 = planes().map(|(dy, x)| sum_of_two(dy, x, |g, x| g * (x - mean))).sum();
        let share = if self.training { 1.0 / self.on.count() as f64 } else { 0.0 };
        let level = C::from_f64(total * share);
        let tilt = C::from_f64(dot * share) * rstd * rstd;
        for at in self.on.planes(self.channel) {
            let (Some(dy), Some(x)) = (self.dy.get(at.clone()), self.x.get(at.clone())) else { continue };
            // SAFETY: this work has the channel to itself.
            let dx = unsafe { self.dx.slice(at) };
            for ((dx, &g), &x) in dx.iter_mut().zip(dy).zip(x) {
                *dx = factor * (g - level - (x - mean) * tilt);
            }
        }
        [C::from_f64(dot) * rstd, C::from_f64(total)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DType, Layout, Scalar};
    use crate::device::cpu::testing::{Sample, assert_close, launch, noise};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;

    struct Naive {
        y: Vec<f64>,
        mean: Vec<f64>,
        rstd: Vec<f64>,
        unbiased: Vec<f64>,
    }

    fn naive(x: &[f64], shape: [usize; 3], w: &[f64], b: &[f64]) -> Naive {
        let [n, c, m] = shape;
        let mut all = Naive { y: x.to_vec(), mean: vec![], rstd: vec![], unbiased: vec![] };
        for channel in 0..c {
            let at: Vec<usize> =
                (0..n).flat_map(|i| (0..m).map(move |j| (i * c + channel) * m + j)).collect();
            let count = at.len() as f64;
            let mean = at.iter().map(|&i| x[i]).sum::<f64>() / count;
            let spread = at.iter().map(|&i| (x[i] - mean).powi(2)).sum::<f64>();
            let rstd = 1.0 / (spread / count + 1e-5).sqrt();
            at.iter().for_each(|&i| all.y[i] = (x[i] - mean) * rstd * w[channel] + b[channel]);
            all.mean.push(mean);
            all.rstd.push(rstd);
            all.unbiased.push(spread / (count - 1.0));
        }
        all
    }

    fn batch(shape: [usize; 3], turned: bool, seed: u64) -> Sample {
        let [n, c, m] = shape;
        let layout = match turned {
            true => Layout::contiguous(&[n, m, c]).unwrap().transpose(1, 2).unwrap(),
            false => Layout::contiguous(&shape).unwrap(),
        };
        Sample::laid_out(DType::Float64, layout, noise(seed))
    }

    fn numbers(c: usize, seed: u64) -> Sample {
        Sample::new(DType::Float64, &[c], noise(seed))
    }

    proptest! {
        #[test]
        fn channels_are_normalised_and_the_running_statistics_follow(
            n in 1usize..40, c in 1usize..40, m in 1usize..40, seed in any::<u64>(), turned in any::<bool>(),
        ) {
            prop_assume!(n * m > 1);
            let shape = [n, c, m];
            let (x, w, b) = (batch(shape, turned, seed), numbers(c, 1), numbers(c, 2));
            let (running, variance) = (numbers(c, 3), numbers(c, 4));
            let before = [running.values(), variance.values()];
            let (y, mean, rstd) = (batch(shape, turned, 5), numbers(c, 6), numbers(c, 7));
            let kernel = Kernel::BatchNorm { eps: 1e-5, momentum: 0.25 };
            let outs = [y.view(), mean.view(), rstd.view(), running.view(), variance.view()];
            launch(&kernel, &[x.arg(), w.arg(), b.arg()], &outs).unwrap();
            let want = naive(&x.values(), shape, &w.values(), &b.values());
            assert_close(&y.values(), &want.y, 1e-9, 1e-9);
            assert_close(&mean.values(), &want.mean, 1e-9, 1e-12);
            assert_close(&rstd.values(), &want.rstd, 1e-9, 1e-12);
            for ((got, before), now) in [running, variance].iter().zip(before).zip([want.mean, want.unbiased]) {
                let want: Vec<f64> = before.iter().zip(now).map(|(b, n)| b * 0.75 + n * 0.25).collect();
                assert_close(&got.values(), &want, 1e-9, 1e-12);
            }
        }

        #[test]
        fn gradients_follow_finite_differences(n in 2usize..5, c in 1usize..4, m in 1usize..20, seed in any::<u64>()) {
            let shape = [n, c, m];
            let (x, w, dy) = (batch(shape, false, seed), numbers(c, 1), batch(shape, false, 3));
            let b = vec![0.5; c];
            let at = naive(&x.values(), shape, &w.values(), &b);
            let (mean, rstd) = (Sample::new(DType::Float64, &[c], at.mean), Sample::new(DType::Float64, &[c], at.rstd));
            let outs = [batch(shape, false, 5), numbers(c, 6), numbers(c, 7)];
            let inputs = [dy.arg(), x.arg(), mean.arg(), rstd.arg(), w.arg()];
            launch(&Kernel::BatchNormGrad { training: true }, &inputs, &outs.each_ref().map(Sample::view)).unwrap();
            let value = |x: &[f64], w: &[f64], b: &[f64]| -> f64 {
                naive(x, shape, w, b).y.iter().zip(dy.values()).map(|(y, d)| y * d).sum()
            };
            let at = [x.values(), w.values(), b];
            for (which, got) in outs.iter().enumerate() {
                for (i, got) in got.values().into_iter().enumerate() {
                    let moved = |step: f64| {
                        let mut at = at.clone();
                        at[which][i] += step;
                        value(&at[0], &at[1], &at[2])
                    };
                    let want = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    prop_assert!((got - want).abs() < 1e-3 * (1.0 + want.abs()), "{which} {i}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn statistics_that_were_given_are_constants() {
        let shape = [3, 2, 4];
        let (x, dy, w) = (batch(shape, false, 1), batch(shape, false, 2), numbers(2, 3));
        let (mean, rstd, dx) = (numbers(2, 4), numbers(2, 5), batch(shape, false, 6));
        let inputs = [dy.arg(), x.arg(), mean.arg(), rstd.arg(), w.arg()];
        launch(&Kernel::BatchNormGrad { training: false }, &inputs, &[dx.view()]).unwrap();
        let (w, r) = (w.values(), rstd.values());
        let want: Vec<f64> =
            dy.values().iter().enumerate().map(|(i, g)| g * w[i / 4 % 2] * r[i / 4 % 2]).collect();
        assert_close(&dx.values(), &want, 1e-12, 0.0);
    }

    #[test]
    fn a_large_mean_does_not_drown_the_variance() {
        let shape = [64, 1, 784];
        let x = Sample::new(DType::Float32, &shape, noise(7).map(|v| 1000.0 + v));
        let outs = [
            Sample::zeros(DType::Float32, &shape),
            Sample::zeros(DType::Float32, &[1]),
            Sample::zeros(DType::Float32, &[1]),
        ];
        let scalar = |v| Arg::Scalar(Scalar::Float(v));
        let kernel = Kernel::BatchNorm { eps: 1e-5, momentum: 0.1 };
        launch(&kernel, &[x.arg(), scalar(1.0), scalar(0.0)], &outs.each_ref().map(Sample::view)).unwrap();
        let want = naive(&x.values(), shape, &[1.0], &[0.0]);
        assert_close(&outs[1].values(), &want.mean, 1e-6, 0.0);
        assert_close(&outs[2].values(), &want.rstd, 1e-5, 0.0);
    }
}
