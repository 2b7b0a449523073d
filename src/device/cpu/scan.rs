//! `Scan`: running sums, products and extremes.

use crate::base::Result;
use crate::device::cpu::access::missing;
use crate::device::kernel::{Arg, Launch, ScanOp};

use super::convert::{Compute, with_compute};
use super::dense::{DenseOut, dense};
use super::lines::{Lines, expect_shape, input_shape, output_shape};
use super::parallel::{self, SharedMut};

/// The running sum, product or place of an extreme along `dim`. float32 accumulates in f64, as PyTorch's `cumsum` and
/// `cumprod` do on the CPU; integers wrap around.
pub(super) fn scan(launch: &Launch, op: ScanOp, dim: usize) -> Result<()> {
    let shape = output_shape(launch, 0)?;
    expect_shape(launch, "the input", input_shape(launch, 0)?, shape)?;
    let lines = Lines::new(shape, dim);
    let dtype = launch.dtype();
    match (dtype.is_float(), op) {
        (true, ScanOp::Sum) if dtype.size() < 4 => along::<f32>(launch, lines, 0.0, |a, x| a + x),
        (true, ScanOp::Prod) if dtype.size() < 4 => along::<f32>(launch, lines, 1.0, |a, x| a * x),
        (true, ScanOp::Sum) => with_compute!(dtype, C => wide::<C>(launch, lines, 0.0, |a, x| a + x)),
        (true, ScanOp::Prod) => with_compute!(dtype, C => wide::<C>(launch, lines, 1.0, |a, x| a * x)),
        (false, ScanOp::Sum) => along::<i64>(launch, lines, 0, i64::wrapping_add),
        (false, ScanOp::Prod) => along::<i64>(launch, lines, 1, i64::wrapping_mul),
        (_, ScanOp::Largest | ScanOp::Smallest) => {
            let Some(Arg::View(x)) = launch.inputs.first() else { return Err(missing(launch, "input", 0)) };
            with_compute!(x.dtype, C => extremes::<C>(launch, lines, op == ScanOp::Largest))
        }
    }
}

/// Where the largest or smallest was last reached; NaN wins over numbers.
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn extremes<C: Compute>(launch: &Launch, lines: Lines, largest: bool) -> Result<()> {
    let start = C::from_f64(if largest { f64::NEG_INFINITY } else { f64::INFINITY });
    let step = |(best, at): (C, i64), x: C, i: usize| {
        let better = if largest { x >= best } else { x <= best };
        if better || x != x { (x, i as i64) } else { (best, at) }
    };
    run(launch, lines, (start, 0), step, |(_, at)| at)
}

fn along<C: Compute>(launch: &Launch, lines: Lines, start: C, step: impl Fn(C, C) -> C + Sync) -> Result<()> {
    run(launch, lines, start, |a, x: C, _| step(a, x), |a| a)
}

fn wide<C: Compute>(
    launch: &Launch,
    lines: Lines,
    start: f64,
    step: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<()> {
    run(launch, lines, start, |a, x: C, _| step(a, x.to_f64()), |a| C::from_f64(a))
}

/// Lines that are neighbours are walked together, so that memory is read in order.
fn run<A: Copy + Send + Sync, C: Compute, Y: Compute>(
    launch: &Launch,
    lines: Lines,
    start: A,
    step: impl Fn(A, C, usize) -> A + Sync,
    finish: impl Fn(A) -> Y + Sync,
) -> Result<()> {
    let x = dense::<C>(launch, 0)?;
    let mut y = DenseOut::<Y>::new(launch, 0)?;
    let all = SharedMut::new(&mut y);
    let Lines { size, inner, .. } = lines;
    let strips = inner.div_ceil(STRIP);
    let cost = size * inner.min(STRIP);
    parallel::try_for_ranges(lines.outer * strips, parallel::grain(cost), launch.cancel, |range| {
        for piece in range {
            let (outer, first) = (piece / strips, piece % strips * STRIP);
            if inner == 1 {
                let line = outer * size..(outer + 1) * size;
                // SAFETY: lines are disjoint.
                let to = unsafe { all.slice(line.clone()) };
                let from = x.get(line).unwrap_or(&[]);
                let (mut sum, mut at) = (start, 0);
                for (from, to) in from.chunks(parallel::GRAIN).zip(to.chunks_mut(parallel::GRAIN)) {
                    launch.cancel.check()?;
                    for (&x, y) in from.iter().zip(to) {
                        sum = step(sum, x, at);
                        at += 1;
                        *y = finish(sum);
                    }
                }
                continue;
            }
            let width = STRIP.min(inner - first);
            let mut sums = [start; STRIP];
            for i in 0..size {
                launch.cancel.check_at(i)?;
                let at = (outer * size + i) * inner + first;
                // SAFETY: strips of lines are disjoint.
                let to = unsafe { all.slice(at..at + width) };
                let from = x.get(at..at + width).unwrap_or(&[]);
                for ((sum, &x), y) in sums.iter_mut().zip(from).zip(to) {
                    *sum = step(*sum, x, i);
                    *y = finish(*sum);
                }
            }
        }
        Ok(())
    })?;
    y.finish(launch)
}

/// Lines that are walked together.
const STRIP: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::device::cpu::testing::{Sample, layouts, output};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;

    fn naive(x: &[f64], shape: &[usize], dim: usize, op: ScanOp) -> Vec<f64> {
        let lines = Lines::new(shape, dim);
        let mut y = x.to_vec();
        for line in 0..lines.count() {
            for i in 1..lines.size {
                let at = lines.start(line) + i * lines.inner;
                let before = y[at - lines.inner];
                y[at] = if op == ScanOp::Sum { before + x[at] } else { before * x[at] };
            }
        }
        y
    }

    proptest! {
        #[test]
        fn every_element_holds_what_came_before(layout in layouts(true), dim in 0usize..4, d in 0usize..9) {
            let dim = dim.min(layout.rank().saturating_sub(1));
            let x = Sample::laid_out(DType::ALL[d], layout, (0..).map(|i| f64::from(i % 3)));
            let shape = x.layout.shape().to_vec();
            for op in [ScanOp::Sum, ScanOp::Prod] {
                let got = output(&Kernel::Scan { op, dim }, &[x.arg()], x.dtype, &shape);
                prop_assert_eq!(got, naive(&x.values(), &shape, dim, op));
            }
        }
    }

    proptest! {
        #[test]
        fn extremes_are_found_where_they_were_last_reached(
            layout in layouts(true), dim in 0usize..4, d in 0usize..9, seed in 0u64..1000,
        ) {
            let dim = dim.min(layout.rank().saturating_sub(1));
            // Few different values, and NaN where there is one.
            let numbers = (seed..).map(|i| [1.0, f64::NAN, 0.0, 3.0, 1.0][(i * i % 1009 % 5) as usize]);
            let x = Sample::laid_out(DType::ALL[d], layout, numbers);
            let shape = x.layout.shape().to_vec();
            let (values, lines) = (x.values(), Lines::new(&shape, dim));
            for op in [ScanOp::Largest, ScanOp::Smallest] {
                let got = output(&Kernel::Scan { op, dim }, &[x.arg()], DType::Int64, &shape);
                for line in 0..lines.count() {
                    let mut best = 0;
                    for i in 0..lines.size {
                        let at = |i: usize| lines.start(line) + i * lines.inner;
                        let (new, old) = (values[at(i)], values[at(best)]);
                        let better = if op == ScanOp::Largest { new >= old } else { new <= old };
                        if better || new.is_nan() {
                            best = i;
                        }
                        prop_assert_eq!(got[at(i)], best as f64);
                    }
                }
            }
        }
    }

    #[test]
    fn sums_of_float32_accumulate_in_double() {
        let x = Sample::new(DType::Float32, &[3], [16_777_216.0, 1.0, 1.0]);
        let sum = Kernel::Scan { op: ScanOp::Sum, dim: 0 };
        assert_eq!(output(&sum, &[x.arg()], DType::Float32, &[3])[2], 16_777_218.0);
        assert!(output(&sum, &[Sample::zeros(DType::Int64, &[0]).arg()], DType::Int64, &[0]).is_empty());
    }
}
