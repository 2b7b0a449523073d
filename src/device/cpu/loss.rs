//! `NllLoss` and its gradient.

use crate::base::{Error, Kind, Result};
use crate::device::kernel::{Launch, Reduction};

use super::access::{Dense, DenseOut, dense, missing};
use super::float::{Float, with_float};
use super::lines::{expect_shape, input_shape, output_shape};
use super::parallel::{self, SharedMut};

/// The negative log likelihood of targets: `-weight[t] * logp[i][t]`, each, added up, or over the sum of the
/// weights, which is NaN when there is none, as in PyTorch. A target that is `ignore_index` counts for nothing.
///
/// A target outside the classes is an `IndexError`.
pub(super) fn nll_loss(launch: &Launch, reduction: Reduction, ignore_index: i64) -> Result<()> {
    with_float!(launch, launch.dtype(), C => loss::<C>(launch, reduction, ignore_index))
}

/// The gradient of [`nll_loss`]: `-weight[t] * dloss` at the targets (over the total weight for a mean), zero
/// elsewhere.
pub(crate) fn nll_loss_grad(launch: &Launch, reduction: Reduction, ignore_index: i64) -> Result<()> {
    with_float!(launch, launch.dtype(), C => gradient::<C>(launch, reduction, ignore_index))
}

/// What the targets choose: a class with its weight, or nothing.
struct Targets<'a, C> {
    targets: Dense<'a, i64>,
    weights: Option<Dense<'a, C>>,
    classes: usize,
    ignore: i64,
}

impl<'a, C: Float> Targets<'a, C> {
    /// Inputs `logp` and, after it, the target and perhaps the weights.
    fn new(launch: &Launch<'a>, logp: usize, weighted: bool, ignore: i64) -> Result<Targets<'a, C>> {
        let shape = input_shape(launch, logp)?;
        let &[n, classes] = shape else {
            return Err(Error::runtime(format!("{}: log-probabilities have shape {shape:?}", launch.op)));
        };
        expect_shape(launch, "the target", input_shape(launch, logp + 1)?, &[n])?;
        let targets = dense::<i64>(launch, logp + 1)?;
        let weights = if weighted {
            expect_shape(launch, "the weight", input_shape(launch, logp + 2)?, &[classes])?;
            Some(dense::<C>(launch, logp + 2)?)
        } else {
            None
        };
        Ok(Targets { targets, weights, classes, ignore })
    }

    /// The class of sample `i` and its weight; `None` where it is ignored.
    #[inline]
    fn get(&self, i: usize) -> Result<Option<(usize, C)>> {
        let target = self.targets.get(i).copied().unwrap_or(self.ignore);
        if target == self.ignore {
            return Ok(None);
        }
        match usize::try_from(target) {
            Ok(class) if class < self.classes => {
                let weight = self.weights.as_ref().and_then(|w| w.get(class)).copied();
                Ok(Some((class, weight.unwrap_or(C::from_f64(1.0)))))
            }
            _ => Err(self.outside(target)),
        }
    }

    #[cold]
    fn outside(&self, target: i64) -> Error {
        Error::new(Kind::IndexError, format!("Target {target} is out of bounds.")).with_hint(format!(
            "the scores have {} classes, so targets run from 0 to {}",
            self.classes,
            self.classes.saturating_sub(1)
        ))
    }
}

fn loss<C: Float>(launch: &Launch, reduction: Reduction, ignore: i64) -> Result<()> {
    let logp = dense::<C>(launch, 0)?;
    let targets = Targets::<C>::new(launch, 0, launch.inputs.len() > 2, ignore)?;
    let (n, classes) = (targets.targets.len(), targets.classes);
    let mut out = DenseOut::<C>::new(launch, 0)?;
    let mut total = DenseOut::<C>::new(launch, 1)?;
    let sample = |i: usize| -> Result<(C, C)> {
        let chosen = targets.get(i)?;
        Ok(chosen.map_or((C::default(), C::default()), |(class, weight)| {
            let logp = logp.get(i * classes + class).copied().unwrap_or_default();
            (-(weight * logp), weight)
        }))
    };
    if reduction == Reduction::None {
        expect_shape(launch, "the loss", output_shape(launch, 0)?, &[n])?;
        total.fill(C::default());
        let all = SharedMut::new(&mut out);
        parallel::try_for_ranges(n, parallel::GRAIN, launch.cancel, |range| {
            // SAFETY: pieces are disjoint.
            let out = unsafe { all.slice(range.clone()) };
            out.iter_mut().zip(range).try_for_each(|(out, i)| {
                *out = sample(i)?.0;
                Ok(())
            })
        })?;
    } else {
        let sums = parallel::map_ranges(n, parallel::GRAIN, launch.cancel, |mut range| {
            range.try_fold((0.0, 0.0), |(sum, weights), i| -> Result<(f64, f64)> {
                let (loss, weight) = sample(i)?;
                Ok((sum + loss.to_f64(), weights + weight.to_f64()))
            })
        })?;
        let (mut sum, mut weights) = (0.0, 0.0);
        for piece in sums {
            let (s, w) = piece?;
            (sum, weights) = (sum + s, weights + w);
        }
        let value = if reduction == Reduction::Mean { sum / weights } else { sum };
        out.fill(C::from_f64(value));
        total.fill(C::from_f64(weights));
    }
    out.finish(launch)?;
    total.finish(launch)
}

fn gradient<C: Float>(launch: &Launch, reduction: Reduction, ignore: i64) -> Result<()> {
    let upstream = dense::<C>(launch, 0)?;
    let targets = Targets::<C>::new(launch, 1, launch.inputs.len() > 4, ignore)?;
    let (n, classes) = (targets.targets.len(), targets.classes);
    expect_shape(launch, "the gradient", output_shape(launch, 0)?, &[n, classes])?;
    let each = reduction == Reduction::None;
    if upstream.len() != if each { n } else { 1 } {
        return Err(missing(launch, "a gradient of the loss's shape as input", 0));
    }
    let scale = if reduction == Reduction::Mean {
        let total = dense::<C>(launch, launch.inputs.len().saturating_sub(1))?;
        total.first().copied().unwrap_or(C::from_f64(1.0))
    } else {
        C::from_f64(1.0)
    };
    let mut out = DenseOut::<C>::new(launch, 0)?;
    let all = SharedMut::new(&mut out);
    parallel::try_for_ranges(n, parallel::grain(classes), launch.cancel, |range| {
        // SAFETY: pieces are disjoint.
        let rows = unsafe { all.slice(range.start * classes..range.end * classes) };
        rows.fill(C::default());
        for (row, i) in rows.chunks_exact_mut(classes.max(1)).zip(range) {
            if let Some((class, weight)) = targets.get(i)? {
                let upstream = upstream.get(if each { i } else { 0 }).copied().unwrap_or_default();
                if let Some(place) = row.get_mut(class) {
                    *place = -(weight * upstream) / scale;
                }
            }
        }
        Ok(())
    })?;
    out.finish(launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DType, Layout};
    use crate::device::cpu::testing::{Sample, assert_close, launch};
    use crate::device::kernel::Kernel;

    struct Case {
        logp: Sample,
        target: Sample,
        weight: Option<Sample>,
    }

    impl Case {
        fn new(n: usize, classes: usize, weighted: bool) -> Case {
            let values = (0..).map(|i| -0.125 * f64::from(i % 31));
            Case {
                logp: Sample::new(DType::Float64, &[n, classes], values),
                target: Sample::new(DType::Int64, &[n], (0..n).map(|i| (i * 7 % classes) as f64)),
                weight: weighted
                    .then(|| Sample::new(DType::Float64, &[classes], (1..).map(|i| f64::from(i) * 0.5))),
            }
        }

        fn run(&self, reduction: Reduction) -> Result<(Vec<f64>, f64, Vec<f64>)> {
            let n = self.target.layout.numel();
            let shape: &[usize] = if reduction == Reduction::None { &[n] } else { &[] };
            let (loss, total) = (Sample::zeros(DType::Float64, shape), Sample::zeros(DType::Float64, &[]));
            let mut inputs = vec![self.logp.arg(), self.target.arg()];
            inputs.extend(self.weight.as_ref().map(Sample::arg));
            launch(
                &Kernel::NllLoss { reduction, ignore_index: -100 },
                &inputs,
                &[loss.view(), total.view()],
            )?;
            let upstream = Sample::new(DType::Float64, shape, (1..).map(f64::from));
            inputs.insert(0, upstream.arg());
            inputs.push(total.arg());
            let grad = Sample::zeros(DType::Float64, self.logp.layout.shape());
            launch(&Kernel::NllLossGrad { reduction, ignore_index: -100 }, &inputs, &[grad.view()])?;
            Ok((loss.values(), total.values()[0], grad.values()))
        }
    }

    #[test]
    fn losses_and_gradients_of_each_reduction() {
        for weighted in [false, true] {
            let mut case = Case::new(6, 5, weighted);
            case.target.write([3.0, 1.0, -100.0, 0.0, 4.0, 2.0]);
            let (logp, target) = (case.logp.values(), case.target.values());
            let weight = |t: f64| if weighted { (t + 1.0) * 0.5 } else { 1.0 };
            let each: Vec<f64> = target
                .iter()
                .enumerate()
                .map(|(i, &t)| if t < 0.0 { 0.0 } else { -weight(t) * logp[i * 5 + t as usize] })
                .collect();
            let total: f64 = target.iter().filter(|t| **t >= 0.0).map(|&t| weight(t)).sum();
            let sum: f64 = each.iter().sum();
            let grad = |scale: f64, each: bool| -> Vec<f64> {
                let at = |i: usize, c: usize| {
                    let upstream = if each { (i + 1) as f64 } else { 1.0 };
                    if target[i] == c as f64 { -weight(target[i]) * upstream / scale } else { 0.0 }
                };
                (0..6).flat_map(|i| (0..5).map(move |c| (i, c))).map(|(i, c)| at(i, c)).collect()
            };
            let (loss, none_total, g) = case.run(Reduction::None).unwrap();
            assert_close(&loss, &each, 1e-12, 0.0);
            assert_eq!(none_total, 0.0);
            assert_close(&g, &grad(1.0, true), 1e-12, 0.0);
            let (loss, sum_total, g) = case.run(Reduction::Sum).unwrap();
            assert_close(&[loss[0], sum_total], &[sum, total], 1e-12, 0.0);
            assert_close(&g, &grad(1.0, false), 1e-12, 0.0);
            let (loss, mean_total, g) = case.run(Reduction::Mean).unwrap();
            assert_close(&[loss[0], mean_total], &[sum / total, total], 1e-12, 0.0);
            assert_close(&g, &grad(total, false), 1e-12, 0.0);
        }
    }

    #[test]
    fn a_mean_of_nothing_is_nan_and_a_sum_is_zero() {
        for mut case in [Case::new(0, 3, false), Case::new(2, 3, false)] {
            case.target.write([-100.0, -100.0]);
            assert!(case.run(Reduction::Mean).unwrap().0[0].is_nan());
            let (loss, total, _) = case.run(Reduction::Sum).unwrap();
            assert_eq!((loss[0], total), (0.0, 0.0));
        }
    }

    #[test]
    fn a_target_outside_the_classes_is_named() {
        for (bad, text) in [(7.0, "Target 7 is out of bounds."), (-1.0, "Target -1 is out of bounds.")] {
            let mut case = Case::new(3, 5, false);
            case.target.write([1.0, bad, 2.0]);
            for reduction in [Reduction::None, Reduction::Mean] {
                let error = case.run(reduction).unwrap_err();
                assert_eq!(error.to_string(), format!("IndexError: {text}"));
                assert!(error.hint().unwrap().contains("5 classes"));
            }
        }
    }

    #[test]
    fn many_samples_of_transposed_scores() {
        let case = Case::new(100_000, 3, true);
        let want = case.run(Reduction::Mean).unwrap().0;
        let turned = Layout::contiguous(&[3, 100_000]).unwrap().transpose(0, 1).unwrap();
        let logp = Sample::laid_out(DType::Float64, turned, case.logp.values());
        assert_eq!(Case { logp, ..case }.run(Reduction::Mean).unwrap().0, want);
    }
}
