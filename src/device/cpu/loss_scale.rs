//! `Unscale` and `UpdateScale`: the two steps of gradient scaling, after PyTorch's
//! `_amp_foreach_non_finite_check_and_unscale_` and `_amp_update_scale_`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::Result;
use crate::device::kernel::Launch;

use super::access::{DenseOut, dense};
use super::convert::Compute;
use super::float::{Float, with_float};
use super::parallel::{self, SharedMut};

/// Multiplies a gradient by the inverse scale in place, and notes what is not finite.
pub(super) fn unscale(launch: &Launch) -> Result<()> {
    with_float!(launch, launch.dtype(), C => unscale_as::<C>(launch))
}

fn unscale_as<C: Compute + Float>(launch: &Launch) -> Result<()> {
    let factor = first(&dense::<C>(launch, 0)?);
    let mut grad = DenseOut::<C>::with_values(launch, 0)?;
    let mut found_inf = DenseOut::<f32>::with_values(launch, 1)?;
    let n = grad.len();
    let found = AtomicBool::new(false);
    let all = SharedMut::new(&mut grad);
    parallel::for_ranges(n, parallel::GRAIN, launch.cancel, |range| {
        // SAFETY: pieces are disjoint.
        let part = unsafe { all.slice(range) };
        let mut finite = true;
        for value in part {
            // Infinities and NaN times 0 are NaN.
            finite &= *value * C::default() == C::default();
            *value = *value * factor;
        }
        if !finite {
            found.store(true, Ordering::Relaxed);
        }
    })?;
    if let (true, Some(flag)) = (found.into_inner(), found_inf.first_mut()) {
        *flag = 1.0;
    }
    found_inf.finish(launch)?;
    grad.finish(launch)
}

/// Backs the scale off after an overflow; lets it grow after `interval` steps without one.
pub(super) fn update(launch: &Launch, growth: f64, backoff: f64, interval: i64) -> Result<()> {
    let overflowed = first(&dense::<f32>(launch, 0)?) != 0.0;
    let mut scale = DenseOut::<f32>::with_values(launch, 0)?;
    let mut tracker = DenseOut::<i64>::with_values(launch, 1)?;
    if let (Some(scale), Some(steps)) = (scale.first_mut(), tracker.first_mut()) {
        if overflowed {
            (*scale, *steps) = ((f64::from(*scale) * backoff) as f32, 0);
        } else if *steps + 1 == interval {
            // A scale that would overflow itself stays.
            let grown = (f64::from(*scale) * growth) as f32;
            *scale = if grown.is_finite() { grown } else { *scale };
            *steps = 0;
        } else {
            *steps += 1;
        }
    }
    scale.finish(launch)?;
    tracker.finish(launch)
}

fn first<C: Copy + Default>(values: &[C]) -> C {
    values.first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::base::DType;
    use crate::device::Kernel;
    use crate::device::cpu::testing::{Sample, launch};

    #[test]
    fn gradients_are_unscaled_and_overflow_is_noticed_in_any_piece() {
        let inverse = Sample::new(DType::Float32, &[], [0.25]);
        for dtype in [DType::Float32, DType::Float64, DType::Float16, DType::BFloat16] {
            for bad in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
                let n = 70_000;
                let grad = Sample::new(dtype, &[n], std::iter::repeat_n(2.0, n));
                let found = Sample::zeros(DType::Float32, &[]);
                launch(&Kernel::Unscale, &[inverse.arg()], &[grad.view(), found.view()]).unwrap();
                assert_eq!(grad.values(), vec![0.5; n]);
                assert_eq!(found.values(), [0.0]);
                let mut grad = grad;
                grad.write((0..n).map(|i| if i == n - 1 { bad } else { 1.0 }));
                launch(&Kernel::Unscale, &[inverse.arg()], &[grad.view(), found.view()]).unwrap();
                assert_eq!(found.values(), [1.0], "{dtype} {bad}");
            }
        }
    }

    #[test]
    fn the_scale_backs_off_and_grows() {
        let scale = Sample::new(DType::Float32, &[], [8.0]);
        let tracker = Sample::zeros(DType::Int32, &[]);
        let kernel = Kernel::UpdateScale { growth: 2.0, backoff: 0.5, interval: 2 };
        let mut seen = Vec::new();
        for overflow in [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0] {
            let found = Sample::new(DType::Float32, &[], [overflow]);
            launch(&kernel, &[found.arg()], &[scale.view(), tracker.view()]).unwrap();
            seen.push((scale.values()[0], tracker.values()[0]));
        }
        assert_eq!(
            seen,
            [(8.0, 1.0), (16.0, 0.0), (8.0, 0.0), (8.0, 1.0), (4.0, 0.0), (4.0, 1.0), (8.0, 0.0)]
        );
    }

    #[test]
    fn a_scale_never_grows_to_infinity() {
        let scale = Sample::new(DType::Float32, &[], [f64::from(f32::MAX)]);
        let tracker = Sample::zeros(DType::Int32, &[]);
        let kernel = Kernel::UpdateScale { growth: 2.0, backoff: 0.5, interval: 1 };
        let found = Sample::zeros(DType::Float32, &[]);
        launch(&kernel, &[found.arg()], &[scale.view(), tracker.view()]).unwrap();
        assert_eq!(scale.values(), [f64::from(f32::MAX)]);
    }
}
