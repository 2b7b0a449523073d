//! What kernels compute, beside what the CPU does.

use crate::base::{DType, Layout, Scalar};
use crate::device::cpu::testing::{self, Sample};
use crate::device::kernel::*;
use crate::device::scalar::MapOp;

use super::host::agree;

const F32: DType = DType::Float32;
const I64: DType = DType::Int64;

pub(super) fn noise(seed: u64) -> impl Iterator<Item = f64> {
    testing::noise(seed).map(|v| v * 4.0)
}

pub(super) fn sample(dtype: DType, shape: &[usize], seed: u64) -> Sample {
    Sample::new(dtype, shape, noise(seed))
}

pub(super) fn turned(dtype: DType, shape: &[usize], seed: u64) -> Sample {
    let last = shape.len() - 1;
    let mut room = shape.to_vec();
    room.swap(0, last);
    let layout = Layout::contiguous(&room).unwrap().transpose(0, last).unwrap();
    Sample::laid_out(dtype, layout, noise(seed))
}

pub(super) fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => 1e-3,
        DType::BFloat16 => 8e-3,
        DType::Float64 => 1e-12,
        _ => 2e-6,
    }
}

/// By how much what is summed in double precision lies nearer than in single.
fn apart(dtype: DType) -> f64 {
    if dtype == DType::Float64 { 1e-7 } else { 1.0 }
}

fn map(op: MapOp, params: [f64; 2], compute: DType) -> Kernel {
    Kernel::Map { op, params, compute }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn maps_of_every_kind_of_operand() {
    for dtype in [F32, DType::Float16, DType::BFloat16, DType::Float64, I64, DType::UInt8] {
        let shape = [3, 7, 13];
        let (a, b) = (sample(dtype, &shape, 1), sample(dtype, &shape, 2));
        let out = || vec![Sample::zeros(dtype, &shape)];
        let add = map(MapOp::Add, [2.0, 0.0], dtype);
        agree(&add, &[a.arg(), b.arg()], out, tolerance(dtype), 1e-6);
        let one = Sample::laid_out(dtype, Layout::contiguous(&[13]).unwrap(), noise(3));
        let wide = one.layout.expand(&shape).unwrap();
        let spread = one.through(wide);
        agree(&add, &[turned(dtype, &shape, 1).arg(), spread.arg()], out, tolerance(dtype), 1e-6);
        agree(&add, &[a.arg(), Arg::Scalar(Scalar::Float(3.0))], out, tolerance(dtype), 1e-6);
        agree(&add, &[a.arg(), b.arg()], || vec![turned(dtype, &shape, 9)], tolerance(dtype), 1e-6);
        let flags = || vec![Sample::zeros(DType::Bool, &shape)];
        agree(&map(MapOp::Lt, [0.0; 2], dtype), &[a.arg(), b.arg()], flags, 0.0, 0.0);
        let condition = Sample::new(DType::Bool, &shape, (0..).map(|i| f64::from(i % 2)));
        agree(&map(MapOp::Where, [0.0; 2], dtype), &[condition.arg(), a.arg(), b.arg()], out, 0.0, 0.0);
    }
    let (a, b) = (sample(I64, &[40], 1), sample(I64, &[40], 5));
    for op in [MapOp::Pow, MapOp::Gcd, MapOp::Maximum, MapOp::ShiftLeft] {
        agree(&map(op, [1.0, 0.0], I64), &[a.arg(), b.arg()], || vec![Sample::zeros(I64, &[40])], 0.0, 0.0);
    }
    let square = [sample(F32, &[40], 1), sample(F32, &[40], 1)];
    let root = [square[0].arg(), Arg::Scalar(Scalar::Float(2.0))];
    agree(&map(MapOp::Pow, [0.0; 2], F32), &root, || vec![Sample::zeros(F32, &[40])], 1e-6, 0.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn casts_and_fills() {
    let odd = [f64::NAN, f64::INFINITY, -2.9, 300.7, -0.0, 0.5, 1e30, -1e30, 65519.9, 1.0, 6e-8];
    let copy = map(MapOp::Identity, [0.0; 2], F32);
    for from in DType::ALL {
        for to in DType::ALL {
            let x = Sample::new(from, &[11], odd);
            agree(&copy, &[x.arg()], || vec![Sample::zeros(to, &[11])], 0.0, 0.0);
        }
    }
    for to in DType::ALL {
        for value in [Scalar::Float(0.5), Scalar::Float(-2.9), Scalar::Int(300), Scalar::Bool(true)] {
            agree(&copy, &[Arg::Scalar(value)], || vec![Sample::zeros(to, &[37])], 0.0, 0.0);
            agree(&copy, &[Arg::Scalar(value)], || vec![turned(to, &[5, 3], 1)], 0.0, 0.0);
        }
    }
    let rank = Sample::laid_out(
        F32,
        Layout::contiguous(&[2, 3, 2, 3]).unwrap().permute(&[3, 1, 0, 2]).unwrap(),
        noise(1),
    );
    agree(&copy, &[rank.arg()], || vec![Sample::zeros(F32, &[3, 3, 2, 2])], 0.0, 0.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn what_is_made_of_numbers() {
    for dtype in [F32, DType::Float16, I64, DType::UInt8, DType::Float64] {
        let kernel = Kernel::Arange { start: 3i64.into(), step: (-2i64).into() };
        agree(&kernel, &[], || vec![turned(dtype, &[4, 5], 1)], 0.0, 0.0);
        let kernel = Kernel::Arange { start: 0.1.into(), step: 0.3.into() };
        agree(&kernel, &[], || vec![Sample::zeros(dtype, &[300])], 0.0, 0.0);
        for diagonal in [-1, 0, 2] {
            let x = turned(dtype, &[2, 4, 5], 3);
            for upper in [true, false] {
                let kernel = Kernel::Triangle { upper, diagonal };
                agree(&kernel, &[x.arg()], || vec![Sample::zeros(dtype, &[2, 4, 5])], 0.0, 0.0);
                agree(&kernel, &[], || vec![Sample::zeros(dtype, &[4, 6])], 0.0, 0.0);
            }
        }
    }
}

const FOLDS: [ReduceOp; 10] = [
    ReduceOp::Sum { scale: 1.0 },
    ReduceOp::Sum { scale: 0.25 },
    ReduceOp::Prod,
    ReduceOp::Max,
    ReduceOp::Min,
    ReduceOp::All,
    ReduceOp::Any,
    ReduceOp::Norm2,
    ReduceOp::Var { correction: 1.0, root: false },
    ReduceOp::LogSumExp,
];

pub(super) fn reduced(shape: &[usize], dims: u64) -> Vec<usize> {
    shape.iter().enumerate().map(|(d, &n)| if dims >> d & 1 == 1 { 1 } else { n }).collect()
}

#[test]
#[ignore = "needs a C++ compiler"]
fn reductions_of_any_dimensions() {
    for dtype in [F32, DType::BFloat16, DType::Float64, I64] {
        for op in FOLDS {
            if dtype == I64 && matches!(op, ReduceOp::Norm2 | ReduceOp::Var { .. } | ReduceOp::LogSumExp) {
                continue;
            }
            let to = if matches!(op, ReduceOp::All | ReduceOp::Any) { DType::Bool } else { dtype };
            let shape = [5, 33, 6];
            for dims in [1, 2, 4, 5, 7] {
                for x in [sample(dtype, &shape, dims), turned(dtype, &shape, dims)] {
                    let kernel = Kernel::Reduce { op, dims };
                    let out = || vec![Sample::zeros(to, &reduced(&shape, dims))];
                    agree(&kernel, &[x.arg()], out, tolerance(dtype) * 20.0, 2e-5 * apart(dtype));
                }
            }
        }
    }
    let root = Kernel::Reduce { op: ReduceOp::Var { correction: 0.0, root: true }, dims: 1 };
    let far = Sample::new(F32, &[3000], noise(4).map(|v| v + 1000.0));
    agree(&root, &[far.arg()], || vec![Sample::zeros(F32, &[1])], 1e-4, 0.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn long_lines_are_cut_and_joined() {
    for op in FOLDS {
        let x = match op {
            ReduceOp::Prod => Sample::new(F32, &[40_000], std::iter::repeat(1.0001)),
            _ => sample(F32, &[40_000], 3),
        };
        let to = if matches!(op, ReduceOp::All | ReduceOp::Any) { DType::Bool } else { F32 };
        let kernel = Kernel::Reduce { op, dims: 1 };
        agree(&kernel, &[x.arg()], || vec![Sample::zeros(to, &[1])], 1e-3, 1e-2);
    }
    let tall = sample(F32, &[9000, 3], 3);
    let kernel = Kernel::Reduce { op: ReduceOp::Sum { scale: 1.0 }, dims: 1 };
    agree(&kernel, &[tall.arg()], || vec![Sample::zeros(F32, &[1, 3])], 1e-4, 1e-2);
    let x = sample(F32, &[40_000], 7);
    let kernel = Kernel::ArgReduce { max: true, dim: 0 };
    agree(&kernel, &[x.arg()], || vec![Sample::zeros(F32, &[1]), Sample::zeros(I64, &[1])], 0.0, 0.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn infinities_and_nan_in_reductions() {
    let cases: [&[f64]; 5] = [
        &[f64::NEG_INFINITY; 3],
        &[f64::INFINITY, 1.0, -1.0],
        &[f64::NEG_INFINITY, 2.0, 3.0],
        &[1.0, f64::NAN, f64::INFINITY],
        &[-1e5, f64::NEG_INFINITY, -1e5],
    ];
    for values in cases {
        for op in FOLDS {
            let x = Sample::new(F32, &[3], values.iter().copied());
            let to = if matches!(op, ReduceOp::All | ReduceOp::Any) { DType::Bool } else { F32 };
            agree(&Kernel::Reduce { op, dims: 1 }, &[x.arg()], || vec![Sample::zeros(to, &[1])], 1e-6, 0.0);
        }
        for max in [true, false] {
            let x = Sample::new(F32, &[3, 1], values.iter().copied());
            let out = || vec![Sample::zeros(F32, &[1, 1]), Sample::zeros(I64, &[1, 1])];
            agree(&Kernel::ArgReduce { max, dim: 0 }, &[x.arg()], out, 0.0, 0.0);
        }
        for form in [SoftmaxForm::Plain, SoftmaxForm::Log, SoftmaxForm::Safe] {
            let x = Sample::new(F32, &[3], values.iter().copied());
            agree(
                &Kernel::Softmax { form, dim: 0 },
                &[x.arg()],
                || vec![Sample::zeros(F32, &[3])],
                1e-6,
                1e-7,
            );
        }
    }
    for op in FOLDS.into_iter().filter(|op| !matches!(op, ReduceOp::Max | ReduceOp::Min)) {
        let x = Sample::zeros(F32, &[0, 2]);
        let to = if matches!(op, ReduceOp::All | ReduceOp::Any) { DType::Bool } else { F32 };
        agree(&Kernel::Reduce { op, dims: 1 }, &[x.arg()], || vec![Sample::zeros(to, &[1, 2])], 0.0, 0.0);
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn places_of_the_first_largest() {
    for dtype in [F32, I64, DType::Bool] {
        let tied = (0..).map(|i| f64::from(i * 7 % 5));
        for x in [Sample::new(dtype, &[6, 50, 4], tied.clone()), turned(dtype, &[6, 50, 4], 1)] {
            for (max, dim) in [(true, 0), (false, 1), (true, 2), (true, 1)] {
                let shape = reduced(&[6, 50, 4], 1 << dim);
                let out = || vec![Sample::zeros(dtype, &shape), Sample::zeros(I64, &shape)];
                agree(&Kernel::ArgReduce { max, dim }, &[x.arg()], out, 0.0, 0.0);
            }
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn softmax_and_scans_along_any_dimension() {
    for dtype in [F32, DType::Float16, DType::Float64] {
        let apart = apart(dtype);
        let shape = [4, 70, 9];
        let (x, dy) = (sample(dtype, &shape, 1), turned(dtype, &shape, 2));
        let y = Sample::new(dtype, &shape, noise(5).map(|v| v.abs() / 8.0));
        let out = || vec![Sample::zeros(dtype, &shape)];
        for (dim, log) in [(0, true), (1, true), (1, false), (2, false)] {
            let form = if log { SoftmaxForm::Log } else { SoftmaxForm::Plain };
            agree(&Kernel::Softmax { form, dim }, &[x.arg()], out, tolerance(dtype) * 4.0, 1e-5 * apart);
            agree(
                &Kernel::SoftmaxGrad { log, dim },
                &[dy.arg(), y.arg()],
                out,
                tolerance(dtype) * 10.0,
                1e-3 * apart,
            );
        }
        for (dim, op) in [(0, ScanOp::Sum), (1, ScanOp::Prod), (2, ScanOp::Sum)] {
            agree(&Kernel::Scan { op, dim }, &[x.arg()], out, tolerance(dtype) * 4.0, 1e-2 * apart);
        }
    }
    let long = sample(F32, &[2, 9000], 1);
    let out = || vec![Sample::zeros(F32, &[2, 9000])];
    agree(&Kernel::Softmax { form: SoftmaxForm::Plain, dim: 1 }, &[long.arg()], out, 1e-4, 1e-9);
    // Lines of nothing but -inf, and one with a NaN among them; some are longer than what threads hold.
    for (shape, dim) in [([6, 20_000], 1), ([6, 9000], 1), ([6, 40], 1), ([40, 6], 0)] {
        let n = shape[1];
        let place = move |i: usize| if dim == 1 { (i / n, i % n) } else { (i % n, i / n) };
        let hidden = |(i, v): (usize, f64)| match place(i) {
            (4, 7) => f64::NAN,
            (line, at) if line % 2 == 0 || at % 3 == 0 => f64::NEG_INFINITY,
            _ => v,
        };
        let x = Sample::new(F32, &shape, noise(3).enumerate().map(hidden));
        let out = || vec![Sample::zeros(F32, &shape)];
        agree(&Kernel::Softmax { form: SoftmaxForm::Safe, dim }, &[x.arg()], out, 1e-4, 1e-9);
    }
    agree(&Kernel::Scan { op: ScanOp::Sum, dim: 1 }, &[long.arg()], out, 1e-6, 1e-6);
    // Few long lines, cut into pieces, along and across memory.
    for (shape, dim) in [(vec![70_001], 0), (vec![2, 20_000], 1), (vec![20_000, 3], 0)] {
        for dtype in [F32, I64, DType::Float16] {
            let long = sample(dtype, &shape, 1);
            let out = || vec![Sample::zeros(dtype, &shape)];
            agree(&Kernel::Scan { op: ScanOp::Sum, dim }, &[long.arg()], out, tolerance(dtype) * 4.0, 1e-2);
        }
    }
    let whole = sample(I64, &[3, 2500], 1);
    let out = || vec![Sample::zeros(I64, &[3, 2500])];
    agree(&Kernel::Scan { op: ScanOp::Sum, dim: 1 }, &[whole.arg()], out, 0.0, 0.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn layer_norms_and_their_gradients() {
    for (dtype, rows, n) in
        [(F32, 200, 40), (F32, 3, 9000), (DType::Float64, 200, 40), (DType::Float64, 3, 9000)]
    {
        let apart = apart(dtype);
        let (x, w, b) = (sample(dtype, &[rows, n], 1), sample(dtype, &[n], 2), sample(dtype, &[n], 3));
        let out = || {
            vec![
                Sample::zeros(dtype, &[rows, n]),
                Sample::zeros(dtype, &[rows]),
                Sample::zeros(dtype, &[rows]),
            ]
        };
        for inputs in [vec![x.arg()], vec![x.arg(), w.arg()], vec![x.arg(), w.arg(), b.arg()]] {
            agree(
                &Kernel::LayerNorm { eps: 1e-5, affine: inputs.len() > 1 },
                &inputs,
                out,
                1e-4 * apart,
                1e-5 * apart,
            );
        }
        let dy = turned(dtype, &[rows, n], 4);
        let (mean, rstd) = (Sample::new(dtype, &[rows], noise(5)), Sample::new(dtype, &[rows], noise(6)));
        let inputs = [dy.arg(), x.arg(), mean.arg(), rstd.arg(), w.arg()];
        for outputs in 1..4 {
            let out = || {
                let shapes: [&[usize]; 3] = [&[rows, n], &[n], &[n]];
                shapes[..outputs].iter().map(|s| Sample::zeros(dtype, s)).collect()
            };
            agree(&Kernel::LayerNormGrad { affine: true }, &inputs, out, 2e-3 * apart, 2e-2 * apart);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn losses_of_each_reduction() {
    let (n, classes) = (300, 7);
    let (logp, weight) = (turned(F32, &[n, classes], 1), Sample::new(F32, &[classes], (1..).map(f64::from)));
    let target =
        Sample::new(I64, &[n], (0..).map(|i| if i % 11 == 0 { -100.0 } else { f64::from(i * 3 % 7) }));
    let total = Sample::new(F32, &[], [5.0]);
    for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
        let shape: &[usize] = if reduction == Reduction::None { &[n] } else { &[] };
        let dloss = sample(F32, shape, 3);
        for weighted in [false, true] {
            let mut inputs = vec![logp.arg(), target.arg()];
            if weighted {
                inputs.push(weight.arg());
            }
            let kernel = Kernel::NllLoss { reduction, ignore_index: -100 };
            agree(&kernel, &inputs, || vec![Sample::zeros(F32, shape), Sample::zeros(F32, &[])], 1e-6, 0.0);
            inputs.insert(0, dloss.arg());
            inputs.push(total.arg());
            let kernel = Kernel::NllLossGrad { reduction, ignore_index: -100 };
            agree(&kernel, &inputs, || vec![Sample::zeros(F32, &[n, classes])], 1e-6, 0.0);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn the_same_random_numbers_at_the_same_places() {
    let source = || RandomSource::Philox { seed: (7 << 40) + 5, offset: 12, most: 512 };
    let draw = |distribution| Kernel::Random(Random { distribution, source: source() });
    let exact = [
        Distribution::Uniform { low: -1.0, high: 2.5 },
        Distribution::Integers { low: -5, high: 100 },
        Distribution::Integers { low: 0, high: 1 << 40 },
        Distribution::Bernoulli { p: 0.3 },
        Distribution::Natural,
    ];
    for dtype in [F32, DType::Float64, DType::Float16, DType::BFloat16] {
        for distribution in exact {
            agree(&draw(distribution), &[], || vec![turned(dtype, &[61, 53], 1)], 0.0, 0.0);
        }
        let tolerance = if dtype == DType::Float64 { 1e-12 } else { 1e-5 + 2.0 * tolerance(dtype) };
        for distribution in [
            Distribution::Normal { mean: 1.0, std: 2.0 },
            Distribution::LogNormal { mean: 0.5, std: 0.25 },
            Distribution::Exponential { rate: 1.5 },
            Distribution::Geometric { p: 0.3 },
        ] {
            agree(&draw(distribution), &[], || vec![Sample::zeros(dtype, &[3001])], tolerance, 2e-6);
        }
    }
    // Near its poles a tangent magnifies the last digit of what it is of.
    let cauchy = draw(Distribution::Cauchy { median: 0.5, sigma: 2.0 });
    agree(&cauchy, &[], || vec![Sample::zeros(DType::Float64, &[301])], 1e-9, 1e-9);
    for (vector, n) in [(1, 3001), (2, 3002), (4, 3004), (8, 3008)] {
        for wide in [false, true] {
            let keep = draw(Distribution::Keep { p: 0.7, wide, vector });
            agree(&keep, &[], || vec![Sample::zeros(DType::Bool, &[n])], 0.0, 0.0);
        }
    }
    // Dropout: what is kept, and what becomes of all, in memory order and not.
    for dtype in [F32, DType::Float64, DType::Float16] {
        for (vector, shape) in [(1, [61, 53]), (2, [61, 54]), (4, [61, 56]), (8, [61, 56])] {
            let keep = draw(Distribution::Keep { p: 0.7, wide: dtype == DType::Float64, vector });
            for x in [sample(dtype, &shape, 2), turned(dtype, &shape, 2)] {
                let out = || vec![Sample::zeros(DType::Bool, &shape), Sample::zeros(dtype, &shape)];
                agree(&keep, &[x.arg()], out, tolerance(dtype), 0.0);
            }
        }
    }
    for dtype in [I64, DType::Int32, DType::UInt8, DType::Bool] {
        for distribution in [exact[1], exact[3], exact[4]] {
            agree(&draw(distribution), &[], || vec![Sample::zeros(dtype, &[3001])], 0.0, 0.0);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn steps_of_optimisers() {
    for dtype in [F32, DType::BFloat16] {
        let shape = [7, 40];
        let grad = turned(dtype, &shape, 1);
        let state = |seed| Sample::new(dtype, &shape, noise(seed).map(f64::abs));
        for (nesterov, first, weight_decay, momentum) in
            [(false, false, 0.0, 0.0), (true, false, 0.1, 0.9), (false, true, 0.1, 0.9)]
        {
            let (lr, dampening) = (0.1, 0.25);
            let kernel =
                Kernel::Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize: first, first };
            let out = || if momentum == 0.0 { vec![state(2)] } else { vec![state(2), state(3)] };
            agree(&kernel, &[grad.arg()], out, tolerance(dtype) * 4.0, 1e-5);
        }
        for (decoupled, weight_decay, beta1) in [(false, 0.0, 0.9), (false, 0.1, 0.3), (true, 0.1, 0.9)] {
            let (lr, beta2, eps) = (0.01, 0.99, 1e-8);
            let kernel =
                Kernel::Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize: decoupled, step: 3 };
            agree(
                &kernel,
                &[grad.arg()],
                || vec![state(2), state(3), state(4)],
                tolerance(dtype) * 8.0,
                1e-5,
            );
        }
        let factor = Sample::new(F32, &[], [0.25]);
        let odd = || Sample::new(dtype, &[3], [1.0, f64::INFINITY, 2.0]);
        agree(&Kernel::Unscale, &[factor.arg()], || vec![odd(), Sample::zeros(F32, &[])], 0.0, 0.0);
        agree(&Kernel::Unscale, &[factor.arg()], || vec![state(1), Sample::zeros(F32, &[])], 0.0, 0.0);
    }
    for found in [0.0, 1.0] {
        for steps in [0.0, 1.0] {
            let found = Sample::new(F32, &[], [found]);
            let kernel = Kernel::UpdateScale { growth: 2.0, backoff: 0.5, interval: 2 };
            let out = || vec![Sample::new(F32, &[], [8.0]), Sample::new(DType::Int32, &[], [steps])];
            agree(&kernel, &[found.arg()], out, 0.0, 0.0);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn pools_of_any_window() {
    let windows = [
        ([2, 2], [2, 2], [0, 0], [1, 1]),
        ([3, 2], [1, 2], [1, 1], [2, 1]),
        ([3, 3], [2, 1], [1, 1], [1, 1]),
    ];
    let (h, w) = (9, 8);
    for (i, (size, stride, padding, dilation)) in windows.into_iter().enumerate() {
        for dtype in [F32, I64] {
            let pad = i % 2 == 0;
            let window = Window { size, stride, padding, dilation, count_include_pad: pad };
            let out =
                |a: usize, n: usize| (n + 2 * padding[a] - dilation[a] * (size[a] - 1) - 1) / stride[a] + 1;
            let small = [2, 3, out(0, h), out(1, w)];
            let x = turned(dtype, &[2, 3, h, w], 1);
            let outputs = || vec![Sample::zeros(dtype, &small), Sample::zeros(I64, &small)];
            agree(&Kernel::MaxPool2d(window), &[x.arg()], outputs, 0.0, 0.0);
            let places = outputs();
            super::host::run(&Kernel::MaxPool2d(window), &[x.arg()], &[places[0].view(), places[1].view()]);
            let dy = sample(dtype, &small, 2);
            let dx = || vec![turned(dtype, &[2, 3, h, w], 5)];
            agree(&Kernel::MaxPool2dGrad(window), &[dy.arg(), places[1].arg()], dx, 1e-6, 1e-6);
            let window = Window { dilation: [1, 1], ..window };
            let out = |a: usize, n: usize| (n + 2 * padding[a] - size[a]) / stride[a] + 1;
            let small = [2, 3, out(0, h), out(1, w)];
            agree(&Kernel::AvgPool2d(window), &[x.arg()], || vec![Sample::zeros(dtype, &small)], 1e-6, 1e-6);
            let dy = sample(dtype, &small, 2);
            agree(&Kernel::AvgPool2dGrad(window), &[dy.arg()], dx, 1e-6, 1e-6);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn products_in_any_strides() {
    for dtype in [F32, DType::Float16, I64, DType::Float64] {
        let (a, b) = (turned(dtype, &[70, 33], 1), sample(dtype, &[33, 90], 2));
        let out = || vec![sample(dtype, &[70, 90], 7)];
        agree(&Kernel::Matmul { alpha: 1.0, beta: 0.0 }, &[a.arg(), b.arg()], out, 4e-3, 1e-2);
        let c = turned(dtype, &[70, 90], 3);
        let kernel = Kernel::Matmul { alpha: 2.0, beta: 3.0 };
        agree(&kernel, &[a.arg(), b.arg(), c.arg()], out, 4e-3, 2e-2);
        let (a, b) = (turned(dtype, &[3, 5, 7], 1), sample(dtype, &[7, 4], 2));
        let spread = b.layout.expand(&[3, 7, 4]).unwrap();
        let batch = || vec![turned(dtype, &[3, 5, 4], 7)];
        agree(
            &Kernel::Matmul { alpha: 1.0, beta: 0.0 },
            &[a.arg(), b.through(spread).arg()],
            batch,
            4e-3,
            1e-2,
        );
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn convolutions_and_their_gradients() {
    for (groups, stride, padding, dilation) in
        [(1, [1, 1], [1, 1], [1, 1]), (2, [2, 1], [1, 0], [1, 2]), (4, [3, 2], [0, 2], [2, 1])]
    {
        let conv = Conv { stride, padding, dilation, groups };
        let (h, w, filter) = (11, 10, [3, 2]);
        let out =
            |a: usize, n: usize| (n + 2 * padding[a] - dilation[a] * (filter[a] - 1) - 1) / stride[a] + 1;
        let (xs, ys) = ([3, 4, h, w], [3, 8, out(0, h), out(1, w)]);
        let ws = [8, 4 / groups, 3, 2];
        let (x, weight, bias) = (turned(F32, &xs, 1), sample(F32, &ws, 2), sample(F32, &[8], 3));
        let y = || vec![Sample::zeros(F32, &ys)];
        agree(&Kernel::Conv2d(conv), &[x.arg(), weight.arg()], y, 1e-4, 1e-4);
        agree(&Kernel::Conv2d(conv), &[x.arg(), weight.arg(), bias.arg()], y, 1e-4, 1e-4);
        let dy = turned(F32, &ys, 4);
        let dx = || vec![Sample::zeros(F32, &xs)];
        agree(&Kernel::Conv2dGradInput(conv), &[dy.arg(), weight.arg()], dx, 1e-4, 1e-4);
        let dw = || vec![Sample::zeros(F32, &ws)];
        agree(&Kernel::Conv2dGradWeight(conv), &[dy.arg(), x.arg()], dw, 1e-4, 1e-3);
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn sorts_of_short_and_long_lines() {
    let all =
        [F32, DType::Float64, DType::Float16, DType::BFloat16, I64, DType::Int8, DType::UInt8, DType::Bool];
    for (shape, dim) in
        [(vec![7], 0), (vec![3, 2048], 1), (vec![33, 70], 0), (vec![9000], 0), (vec![5000, 2], 0)]
    {
        for (i, &dtype) in all.iter().enumerate() {
            // Few different values, so that many are equal, and NaN, both zeros and infinities.
            let odd = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY];
            let few = noise(3).map(|v| (v * 40.0).round() / 8.0);
            let x = if dtype.is_float() {
                Sample::new(
                    dtype,
                    &shape,
                    few.enumerate().map(|(i, v)| if i % 7 == 0 { odd[i / 7 % 5] } else { v }),
                )
            } else {
                Sample::new(dtype, &shape, few.map(f64::abs))
            };
            let out = || vec![Sample::zeros(dtype, &shape), Sample::zeros(I64, &shape)];
            agree(&Kernel::Sort { dim, descending: i % 2 == 0 }, &[x.arg()], out, 0.0, 0.0);
        }
    }
    let far = Sample::new(I64, &[5001], (0..).map(|i: i64| ((i * 7_919_777) % 10_007 - 5000) as f64 * 1e12));
    let out = || vec![Sample::zeros(I64, &[5001]), Sample::zeros(I64, &[5001])];
    agree(&Kernel::Sort { dim: 0, descending: false }, &[far.arg()], out, 0.0, 0.0);
}
