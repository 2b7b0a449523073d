//! Reductions against one-by-one sums in f64.

use proptest::prelude::*;

use crate::base::dtype::Element;
use crate::base::{DType, Layout};
use crate::device::View;
use crate::device::cpu::isa;
use crate::device::cpu::testing::{Sample, assert_close, launch, layouts, output};
use crate::device::kernel::{Kernel, ReduceOp};
use crate::with_element;

const OPS: [ReduceOp; 11] = [
    ReduceOp::Sum { scale: 1.0 },
    ReduceOp::Sum { scale: 0.25 },
    ReduceOp::Prod,
    ReduceOp::Max,
    ReduceOp::Min,
    ReduceOp::All,
    ReduceOp::Any,
    ReduceOp::Norm2,
    ReduceOp::Var { correction: 1.0, root: false },
    ReduceOp::Var { correction: 0.0, root: true },
    ReduceOp::LogSumExp,
];

fn kernel(op: ReduceOp, dims: u64) -> Kernel {
    Kernel::Reduce { op, dims }
}

fn naive(op: ReduceOp, xs: &[f64]) -> f64 {
    let n = xs.len() as f64;
    let truth = |x: &f64| *x != 0.0;
    match op {
        ReduceOp::Sum { scale } => scale * xs.iter().sum::<f64>(),
        ReduceOp::Prod => xs.iter().product(),
        ReduceOp::Max => xs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ReduceOp::Min => xs.iter().copied().fold(f64::INFINITY, f64::min),
        ReduceOp::All => f64::from(u8::from(xs.iter().all(truth))),
        ReduceOp::Any => f64::from(u8::from(xs.iter().any(truth))),
        ReduceOp::Norm2 => xs.iter().map(|x| x * x).sum::<f64>().sqrt(),
        ReduceOp::Var { correction, root } => {
            let mean = xs.iter().sum::<f64>() / n;
            let v = xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - correction).max(0.0);
            if root { v.sqrt() } else { v }
        }
        ReduceOp::LogSumExp => xs.iter().map(|x| x.exp()).sum::<f64>().ln(),
    }
}

/// For each output in row-major order, the values it folds, in row-major order.
fn groups(layout: &Layout, values: &[f64], reduced: impl Fn(usize) -> bool) -> Vec<Vec<f64>> {
    let shape = layout.shape();
    let kept: Vec<usize> = shape.iter().enumerate().map(|(d, &n)| if reduced(d) { 1 } else { n }).collect();
    let mut groups = vec![Vec::new(); kept.iter().product()];
    for (i, &value) in values.iter().enumerate() {
        let (mut rest, mut at, mut step) = (i, 0, 1);
        for (d, &n) in shape.iter().enumerate().rev() {
            if !reduced(d) {
                at += rest % n * step;
                step *= n;
            }
            rest /= n;
        }
        groups[at].push(value);
    }
    groups
}

fn kept_shape(layout: &Layout, reduced: impl Fn(usize) -> bool) -> Vec<usize> {
    layout.shape().iter().enumerate().map(|(d, &n)| if reduced(d) { 1 } else { n }).collect()
}

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::Float64 => 1e-12,
        DType::Float32 => 1e-5,
        DType::Float16 => 2e-3,
        DType::BFloat16 => 1e-2,
        _ => 0.0,
    }
}

/// What an op writes for an input of a dtype.
fn result_dtype(op: ReduceOp, dtype: DType) -> DType {
    match op {
        ReduceOp::All | ReduceOp::Any => DType::Bool,
        ReduceOp::Sum { scale: 1.0 } | ReduceOp::Prod if !dtype.is_float() => DType::Int64,
        _ => dtype,
    }
}

fn fits(op: ReduceOp, dtype: DType) -> bool {
    let exact = matches!(op, ReduceOp::Sum { scale: 1.0 } | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min);
    dtype.is_float() || exact || matches!(op, ReduceOp::All | ReduceOp::Any)
}

fn small_numbers() -> impl Iterator<Item = f64> {
    (0..).map(|i| f64::from(i * 7 % 11) * 0.5 - 2.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn reductions_agree_with_one_by_one(
        layout in layouts(true), mask in 0u64..16, o in 0..OPS.len(), d in 0usize..10,
    ) {
        let (op, dtype) = (OPS[o], DType::ALL[d]);
        let reduced = |dim: usize| mask >> dim & 1 == 1;
        let none = layout.shape().iter().enumerate().any(|(d, &n)| n == 0 && reduced(d));
        if !fits(op, dtype) || none && matches!(op, ReduceOp::Max | ReduceOp::Min) {
            return Ok(());
        }
        let low = if dtype == DType::UInt8 { 1 } else { -1 };
        let products = (1..).map(|i| if i % 200 == 0 { 3.0 } else { f64::from(if i % 3 == 0 { low } else { 1 }) });
        let x = match op {
            ReduceOp::Prod => Sample::laid_out(dtype, layout, products),
            _ => Sample::laid_out(dtype, layout, small_numbers()),
        };
        let to = result_dtype(op, dtype);
        let got = output(&kernel(op, mask), &[x.arg()], to, &kept_shape(&x.layout, reduced));
        let rounded = |v: f64| with_element!(to, T => T::from_f64(v).to_f64());
        let groups = groups(&x.layout, &x.values(), reduced);
        // Products of many repeated integers wrap around.
        let wrapped = |g: &Vec<f64>| g.iter().fold(1i64, |all, v| all.wrapping_mul(*v as i64)) as f64;
        let is_wrapped = matches!(op, ReduceOp::Prod) && to == DType::Int64;
        let one = |g: &Vec<f64>| if is_wrapped { wrapped(g) } else { rounded(naive(op, g)) };
        let want: Vec<f64> = groups.iter().map(one).collect();
        let tolerance = tolerance(to);
        assert_close(&got, &want, tolerance, tolerance);
    }

    #[test]
    fn arg_reductions_find_the_first(
        layout in layouts(true), d in 0usize..10, dim in 0usize..4, max in any::<bool>(),
    ) {
        if layout.shape().get(dim).is_none_or(|&n| n == 0) {
            return Ok(());
        }
        let x = Sample::laid_out(DType::ALL[d], layout, small_numbers());
        let shape = kept_shape(&x.layout, |d| d == dim);
        let (values, indices) = (Sample::zeros(x.dtype, &shape), Sample::zeros(DType::Int64, &shape));
        launch(&Kernel::ArgReduce { max, dim }, &[x.arg()], &[values.view(), indices.view()]).unwrap();
        let groups = groups(&x.layout, &x.values(), |d| d == dim);
        for ((group, value), index) in groups.iter().zip(values.values()).zip(indices.values()) {
            let best = naive(if max { ReduceOp::Max } else { ReduceOp::Min }, group);
            prop_assert_eq!(value, best);
            prop_assert_eq!(index as usize, group.iter().position(|&x| x == best).unwrap());
        }
    }
}

/// Shapes large enough to be cut in pieces, over outputs and over the input.
#[test]
fn large_reductions_agree_with_one_by_one() {
    for (shape, turn) in [
        (vec![700, 301], false),
        (vec![3, 70_001], false),
        (vec![70_001, 3], false),
        (vec![40, 50, 90], true),
    ] {
        let mut layout = Layout::contiguous(&shape).unwrap();
        if turn {
            layout = layout.transpose(0, 2).unwrap();
        }
        let x = Sample::laid_out(DType::Float32, layout, (0..).map(|i| f64::from(i % 1009) * 0.01 - 5.0));
        for mask in 0..1 << shape.len() {
            let reduced = |dim: usize| mask >> dim & 1 == 1;
            let kept = kept_shape(&x.layout, reduced);
            let groups = groups(&x.layout, &x.values(), reduced);
            for op in OPS.into_iter().filter(|op| *op != ReduceOp::Prod) {
                let to = result_dtype(op, x.dtype);
                let got = output(&kernel(op, mask), &[x.arg()], to, &kept);
                let want: Vec<f64> = groups.iter().map(|g| naive(op, g)).collect();
                assert_close(&got, &want, 1e-5, 1e-4);
            }
        }
    }
}

/// Widths around the vectors that cover a narrow row, and rows with and without a gap between them.
#[test]
fn every_column_of_narrow_rows_is_folded_once() {
    let widths = (1..=20).chain([31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 96, 97, 100, 127, 128, 129, 300]);
    let shapes: Vec<_> = widths.flat_map(|w| [1, 7, 8, 41, 300].map(|rows| (rows, w))).collect();
    isa::on_each(|name| {
        for &(rows, width) in &shapes {
            for (gap, dtype) in
                [(0, DType::Float32), (3, DType::Float32), (0, DType::Int64), (0, DType::Float64)]
            {
                let whole = Layout::contiguous(&[rows, width + gap]).unwrap();
                let numbers = (0..).map(|i| f64::from(i * 37 % 1013 - 500));
                let layout = whole.slice(1, gap, width, 1).unwrap();
                let x = Sample::laid_out(dtype, whole, numbers).through(layout);
                let groups = groups(&x.layout, &x.values(), |dim| dim == 0);
                for op in [OPS[0], ReduceOp::Max, OPS[8]].into_iter().filter(|&op| fits(op, dtype)) {
                    let got = output(&kernel(op, 1), &[x.arg()], dtype, &[1, width]);
                    let want: Vec<f64> = groups.iter().map(|g| naive(op, g)).collect();
                    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs() || a.is_nan() && b.is_nan();
                    let wrong = got.iter().zip(&want).position(|(&a, &b)| !close(a, b));
                    assert_eq!(wrong, None, "{op:?} of {rows} x {width}, gap {gap}, {dtype}, {name}");
                }
            }
        }
    });
}

/// Lengths around the vectors and blocks of a row, rows with and without a gap between them, and single columns.
#[test]
fn every_value_of_a_row_is_folded_once() {
    let lengths: Vec<usize> =
        (1..=70).chain([95, 96, 127, 128, 129, 143, 144, 250, 256, 300, 1100]).collect();
    isa::on_each(|name| {
        for &length in &lengths {
            for (gap, dtype) in [
                (0, DType::Float32),
                (3, DType::Float32),
                (0, DType::BFloat16),
                (1, DType::Float64),
                (0, DType::Int64),
            ] {
                let whole = Layout::contiguous(&[5, length + gap]).unwrap();
                let layout = whole.slice(1, gap, length, 1).unwrap();
                let numbers = (0..).map(|i| f64::from(i * 37 % 101 - 50) / 8.0);
                let x = Sample::laid_out(dtype, whole, numbers).through(layout);
                let groups = groups(&x.layout, &x.values(), |dim| dim == 1);
                for op in OPS.into_iter().filter(|&op| op != ReduceOp::Prod && fits(op, dtype)) {
                    let to = result_dtype(op, dtype);
                    let got = output(&kernel(op, 2), &[x.arg()], to, &[5, 1]);
                    let close = tolerance(to).max(1e-12);
                    for (got, want) in got.iter().zip(groups.iter().map(|g| naive(op, g))) {
                        let same = (got - want).abs() <= close * want.abs().max(1.0);
                        let both = !got.is_finite() && !want.is_finite();
                        assert!(
                            same || both,
                            "{op:?} of {length}, gap {gap}, {dtype}, {name}: {got}, not {want}"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn extremes_see_every_place_and_give_nan_before_infinity() {
    isa::on_each(|name| {
        for dtype in [DType::Float32, DType::Float64, DType::Float16] {
            for (length, op) in (1..=70).flat_map(|n| [(n, ReduceOp::Max), (n, ReduceOp::Min)]) {
                let sign = if op == ReduceOp::Max { 1.0 } else { -1.0 };
                let others = [-f64::INFINITY * sign, -0.0, -3.5 * sign];
                for (special, other) in [f64::NAN, -f64::NAN, sign * f64::INFINITY, sign * 2.5]
                    .into_iter()
                    .flat_map(|special| others.map(|other| (special, other)))
                {
                    // One row for each place of what wins.
                    let numbers =
                        (0..length * length).map(|i| if i % (length + 1) == 0 { special } else { other });
                    let x = Sample::new(dtype, &[length, length], numbers);
                    let got = output(&kernel(op, 2), &[x.arg()], dtype, &[length, 1]);
                    let right = |v: &f64| *v == special || v.is_nan() && special.is_nan();
                    assert!(got.iter().all(right), "{op:?} of {length} {dtype}, {special}, {name}: {got:?}");
                }
            }
        }
    });
}

#[test]
fn the_first_of_equals_and_nan_win_far_into_a_long_row() {
    let n = 200_000;
    let mut numbers = vec![0.0; n];
    numbers[150_000] = 3.0;
    numbers[150_001] = 3.0;
    let find = |numbers: &[f64]| {
        let x = Sample::new(DType::Float32, &[1, n], numbers.iter().copied());
        let (value, index) = (Sample::zeros(x.dtype, &[1, 1]), Sample::zeros(DType::Int64, &[1, 1]));
        launch(&Kernel::ArgReduce { max: true, dim: 1 }, &[x.arg()], &[value.view(), index.view()]).unwrap();
        (value.values()[0], index.values()[0])
    };
    assert_eq!(find(&numbers), (3.0, 150_000.0));
    numbers[170_000] = f64::NAN;
    numbers[180_000] = f64::NAN;
    let (value, index) = find(&numbers);
    assert!(value.is_nan());
    assert_eq!(index, 170_000.0);
}

#[test]
fn sums_of_many_values_stay_accurate() {
    let n = 1 << 20;
    let x = Sample::new(DType::Float32, &[n, 1], (0..).map(|i| 0.1 + f64::from(i % 7) * 1e-3));
    let exact: f64 = x.values().iter().sum();
    for (shape, mask) in [(vec![n, 1], 1u64), (vec![1 << 10, 1 << 10], 1), (vec![1 << 10, 1 << 10], 2)] {
        let layout = Layout::contiguous(&shape).unwrap();
        let view = View { layout: &layout, ..x.view() };
        let sums = output(
            &kernel(ReduceOp::Sum { scale: 1.0 }, mask),
            &[crate::device::Arg::View(view)],
            DType::Float64,
            &kept_shape(&layout, |d| mask >> d & 1 == 1),
        );
        let total: f64 = sums.iter().sum();
        assert!((total - exact).abs() < 1e-12 * exact, "{shape:?}: {total} for {exact}");
        let one = output(&kernel(ReduceOp::Sum { scale: 1.0 }, 3), &[x.arg()], DType::Float32, &[1, 1]);
        assert!((one[0] - exact).abs() < 1e-7 * exact, "{} for {exact}", one[0]);
    }
}

#[test]
fn variance_does_not_cancel() {
    let x = Sample::new(DType::Float32, &[1000], (0..).map(|i| 10_000.0 + f64::from(i % 2)));
    let var = output(&kernel(OPS[8], 1), &[x.arg()], DType::Float32, &[1]);
    assert_close(&var, &[0.250_250_25], 1e-6, 0.0);
}

#[test]
fn edges_follow_pytorch() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let reduce = |op, values: &[f64]| {
        let x = Sample::new(DType::Float32, &[values.len()], values.iter().copied());
        output(&kernel(op, 1), &[x.arg()], result_dtype(op, x.dtype), &[1])[0]
    };
    assert!(reduce(ReduceOp::Max, &[1.0, nan, 2.0]).is_nan());
    assert!(reduce(ReduceOp::Min, &[nan, 1.0]).is_nan());
    assert_eq!(reduce(ReduceOp::LogSumExp, &[inf, inf]), inf);
    assert_eq!(reduce(ReduceOp::LogSumExp, &[-inf, -inf]), -inf);
    assert_eq!(reduce(ReduceOp::LogSumExp, &[1000.0, 1000.0]), f64::from((1000.0 + 2f64.ln()) as f32));
    assert_eq!(reduce(ReduceOp::All, &[1.0, nan]), 1.0);
    assert!(reduce(OPS[8], &[1.0]).is_nan());
    assert!(reduce(OPS[8], &[1.0, nan]).is_nan());
    let empty = [
        (ReduceOp::Sum { scale: 1.0 }, 0.0),
        (ReduceOp::Prod, 1.0),
        (ReduceOp::All, 1.0),
        (ReduceOp::Any, 0.0),
        (ReduceOp::Norm2, 0.0),
        (ReduceOp::LogSumExp, -inf),
    ];
    for (op, want) in empty {
        assert_eq!(reduce(op, &[]), want, "{op:?}");
    }
    assert!(reduce(OPS[8], &[]).is_nan());
}

#[test]
fn the_largest_of_nothing_is_an_error() {
    let error = |shape: &[usize], mask: u64| {
        let x = Sample::zeros(DType::Float32, shape);
        let y = Sample::zeros(DType::Float32, &kept_shape(&x.layout, |d| mask >> d & 1 == 1));
        launch(&kernel(ReduceOp::Max, mask), &[x.arg()], &[y.view()]).unwrap_err().message()
    };
    let whole = "test(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction \
                 dim with the 'dim' argument.";
    assert_eq!(error(&[0], 1), whole);
    assert_eq!(error(&[2, 0], 3), whole);
    assert_eq!(error(&[2, 0], 2), "test(): Expected reduction dim 1 to have non-zero size.");
    let x = Sample::zeros(DType::Float32, &[0, 3]);
    let y = Sample::zeros(DType::Float32, &[0, 1]);
    launch(&kernel(ReduceOp::Max, 2), &[x.arg()], &[y.view()]).unwrap();
}

#[test]
fn results_do_not_depend_on_threads() {
    let x = Sample::new(DType::Float32, &[300, 1000], (0..).map(|i| f64::from(i).sin()));
    let sum = |mask, shape: &[usize]| output(&kernel(OPS[0], mask), &[x.arg()], DType::Float32, shape);
    let (all, columns) = (sum(3, &[1, 1]), sum(1, &[1, 1000]));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| sum(3, &[1, 1])), all);
    assert_eq!(one.install(|| sum(1, &[1, 1000])), columns);
}
