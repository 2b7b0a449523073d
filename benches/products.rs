//! Times of products, convolutions and the other heavy kernels: `cargo bench --bench products [FILTER]`.
//!
//! With `RAYON_NUM_THREADS=1` the clock is the thread's processor time, which other programs disturb less.
//!
//! One line per case: name, least and median time in microseconds, and GFLOP/s of the least time. The cases
//! are those of `scripts/compare_kernels.py`, which times PyTorch beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on may stop"
)]

use std::time::{Duration, Instant};

use tensorlab::base::{DType, Layout};
use tensorlab::device::cpu::memory::HostPool;
use tensorlab::device::kernel::{Conv, Distribution, Random, RandomSource, ScanOp, Window};
use tensorlab::device::random::Shared;
use tensorlab::device::{Arg, Buffer, Cancel, Kernel, Launch, View};

/// A tensor of small numbers.
struct Tensor {
    buffer: Buffer,
    dtype: DType,
    layout: Layout,
}

impl Tensor {
    fn new(pool: &HostPool, dtype: DType, shape: &[usize]) -> Tensor {
        let layout = Layout::contiguous(shape).unwrap();
        let buffer = tensorlab::device::cpu::host_buffer(pool, layout.numel().max(1) * dtype.size()).unwrap();
        let mut tensor = Tensor { buffer, dtype: DType::Float32, layout };
        tensor.fill(dtype);
        tensor
    }

    fn fill(&mut self, dtype: DType) {
        let n = self.layout.numel();
        let value = |i: usize| (i * 7919 % 1021) as f32 / 1021.0 - 0.5;
        let bytes: Vec<u8> = match dtype {
            DType::Float32 => (0..n).flat_map(|i| value(i).to_le_bytes()).collect(),
            DType::Float64 => (0..n).flat_map(|i| f64::from(value(i)).to_le_bytes()).collect(),
            DType::BFloat16 => (0..n).flat_map(|i| half::bf16::from_f32(value(i)).to_le_bytes()).collect(),
            DType::Float16 => (0..n).flat_map(|i| half::f16::from_f32(value(i)).to_le_bytes()).collect(),
            DType::Int64 => (0..n).flat_map(|i| ((i * 7919 % 10) as i64).to_le_bytes()).collect(),
            other => panic!("no values for {other}"),
        };
        self.dtype = dtype;
        assert!(self.buffer.host.as_ref().unwrap().write(0, &bytes));
    }

    fn turned(mut self) -> Tensor {
        self.layout = self.layout.transpose(self.layout.rank() - 2, self.layout.rank() - 1).unwrap();
        self
    }

    fn view(&self) -> View<'_> {
        View { buffer: &self.buffer, dtype: self.dtype, layout: &self.layout }
    }
}

fn run(kernel: &Kernel, inputs: &[&Tensor], outputs: &[&Tensor]) {
    let cancel = Cancel::default();
    let inputs: Vec<Arg> = inputs.iter().map(|t| Arg::View(t.view())).collect();
    let outputs: Vec<View> = outputs.iter().map(|t| t.view()).collect();
    let launch = Launch {
        op: "bench",
        kernel,
        inputs: &inputs,
        outputs: &outputs,
        stream: 0,
        cancel: &cancel,
        timed: false,
    };
    tensorlab::device::cpu::run(&launch).unwrap();
}

/// Runs a case for half a second.
fn time(name: &str, flops: usize, mut work: impl FnMut()) {
    if std::env::args().skip(1).any(|a| !a.starts_with('-') && !name.contains(&a)) {
        return;
    }
    work();
    let start = Instant::now();
    let mut times = Vec::new();
    while start.elapsed() < Duration::from_millis(500) || times.len() < 5 {
        let start = seconds();
        work();
        times.push(seconds() - start);
    }
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("{name:40} {:12.1} {:12.1} {:9.1}", least * 1e6, median * 1e6, flops as f64 / least / 1e9);
}

/// Seconds on the clock that is meant.
fn seconds() -> f64 {
    let clock =
        if rayon::current_num_threads() == 1 { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a place for the result.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn products(pool: &HostPool) {
    use DType::*;
    let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
    let sizes = [
        (64, 64, 64),
        (128, 64, 256),
        (64, 128, 256),
        (128, 256, 10),
        (256, 256, 256),
        (512, 512, 512),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (1, 1024, 1024),
        (4, 1024, 1024),
        (16, 1024, 1024),
        (1024, 1024, 1),
        (1024, 1024, 4),
        (2048, 32, 2048),
        (32, 8192, 32),
    ];
    for (m, k, n) in sizes {
        for (form, a_turned, b_turned) in [("nn", false, false), ("nt", false, true), ("tn", true, false)] {
            let a = if a_turned {
                Tensor::new(pool, Float32, &[k, m]).turned()
            } else {
                Tensor::new(pool, Float32, &[m, k])
            };
            let b = if b_turned {
                Tensor::new(pool, Float32, &[n, k]).turned()
            } else {
                Tensor::new(pool, Float32, &[k, n])
            };
            let y = Tensor::new(pool, Float32, &[m, n]);
            time(&format!("matmul {m}x{k}x{n} {form}"), 2 * m * k * n, || run(&kernel, &[&a, &b], &[&y]));
        }
    }
    for dtype in [Float64, BFloat16, Float16] {
        for size in [256, 1024] {
            let [a, b, y] = std::array::from_fn(|_| Tensor::new(pool, dtype, &[size, size]));
            time(&format!("matmul {size} {dtype}"), 2 * size * size * size, || {
                run(&kernel, &[&a, &b], &[&y])
            });
        }
    }
    for (batch, m, k, n) in [(64, 128, 32, 128), (512, 16, 16, 16), (8, 512, 64, 512)] {
        let a = Tensor::new(pool, Float32, &[batch, m, k]);
        let b = Tensor::new(pool, Float32, &[batch, k, n]);
        let y = Tensor::new(pool, Float32, &[batch, m, n]);
        time(&format!("bmm {batch}x{m}x{k}x{n}"), 2 * batch * m * k * n, || run(&kernel, &[&a, &b], &[&y]));
    }
}

fn convolutions(pool: &HostPool) {
    let cases = [
        (32, 32, 64, 28, 3, 1, 1, 1),
        (32, 1, 32, 28, 3, 1, 1, 1),
        (8, 64, 64, 56, 3, 1, 1, 1),
        (8, 256, 256, 14, 3, 1, 1, 1),
        (8, 512, 512, 7, 3, 1, 1, 1),
        (8, 64, 128, 56, 3, 2, 1, 1),
        (8, 3, 64, 224, 7, 2, 3, 1),
        (8, 256, 64, 56, 1, 1, 0, 1),
        (8, 64, 64, 56, 3, 1, 1, 64),
        (1, 64, 64, 112, 3, 1, 1, 1),
    ];
    for (n, c, o, size, k, stride, padding, groups) in cases {
        let out = (size + 2 * padding - k) / stride + 1;
        let x = Tensor::new(pool, DType::Float32, &[n, c, size, size]);
        let w = Tensor::new(pool, DType::Float32, &[o, c / groups, k, k]);
        let bias = Tensor::new(pool, DType::Float32, &[o]);
        let y = Tensor::new(pool, DType::Float32, &[n, o, out, out]);
        let conv = Conv { stride: [stride; 2], padding: [padding; 2], dilation: [1, 1], groups };
        let name = |what: &str| format!("conv {what} {c}>{o} {k}x{k}/{stride} {n}x{size}x{size} g{groups}");
        let flops = 2 * n * o * out * out * c / groups * k * k;
        let kernels = [Kernel::Conv2d(conv), Kernel::Conv2dGradInput(conv), Kernel::Conv2dGradWeight(conv)];
        time(&name("y"), flops, || run(&kernels[0], &[&x, &w, &bias], &[&y]));
        time(&name("dx"), flops, || run(&kernels[1], &[&y, &w], &[&x]));
        time(&name("dw"), flops, || run(&kernels[2], &[&y, &x], &[&w]));
    }
}

fn others(pool: &HostPool) {
    let image = Tensor::new(pool, DType::Float32, &[32, 64, 28, 28]);
    let small = Tensor::new(pool, DType::Float32, &[32, 64, 14, 14]);
    let places = Tensor::new(pool, DType::Int64, &[32, 64, 14, 14]);
    let window =
        Window { size: [2; 2], stride: [2; 2], padding: [0; 2], dilation: [1; 2], count_include_pad: true };
    time("max_pool 2x2 32x64x28x28", 0, || run(&Kernel::MaxPool2d(window), &[&image], &[&small, &places]));
    time("max_pool 2x2 32x64x28x28 dx", 0, || {
        run(&Kernel::MaxPool2dGrad(window), &[&small, &places], &[&image])
    });
    time("avg_pool 2x2 32x64x28x28", 0, || run(&Kernel::AvgPool2d(window), &[&image], &[&small]));
    time("avg_pool 2x2 32x64x28x28 dx", 0, || run(&Kernel::AvgPool2dGrad(window), &[&small], &[&image]));

    let (rows, n) = (4096, 768);
    let [x, y, dy, dx] = std::array::from_fn(|_| Tensor::new(pool, DType::Float32, &[rows, n]));
    let [w, b, dw, db] = std::array::from_fn(|_| Tensor::new(pool, DType::Float32, &[n]));
    let [mean, rstd] = std::array::from_fn(|_| Tensor::new(pool, DType::Float32, &[rows]));
    let norm = Kernel::LayerNorm { eps: 1e-5, affine: true };
    time("layer_norm 4096x768", 0, || run(&norm, &[&x, &w, &b], &[&y, &mean, &rstd]));
    let grad = Kernel::LayerNormGrad { affine: true };
    time("layer_norm 4096x768 dx dw db", 0, || run(&grad, &[&dy, &x, &mean, &rstd, &w], &[&dx, &dw, &db]));

    let million = 1 << 20;
    let table = Tensor::new(pool, DType::Float32, &[10_000, 256]);
    let index = Tensor::new(pool, DType::Int64, &[16_384]);
    let rows = Tensor::new(pool, DType::Float32, &[16_384, 256]);
    time("index_select 16384x256", 0, || {
        run(&Kernel::IndexSelect { dim: 0, from_end: true }, &[&table, &index], &[&rows])
    });
    time("index_add 16384x256", 0, || run(&Kernel::IndexAdd { dim: 0 }, &[&index, &rows], &[&table]));

    let [p, g, m, v] = std::array::from_fn(|_| Tensor::new(pool, DType::Float32, &[million]));
    let places = Tensor::new(pool, DType::Int64, &[million]);
    let sort = Kernel::Sort { dim: 0, descending: false };
    time("sort 1M", 0, || run(&sort, &[&p], &[&g, &places]));
    time("cumsum 1M", 0, || run(&Kernel::Scan { op: ScanOp::Sum, dim: 0 }, &[&p], &[&g]));
    let sgd = Kernel::Sgd {
        lr: 1e-6,
        momentum: 0.9,
        dampening: 0.0,
        weight_decay: 0.0,
        nesterov: false,
        maximize: false,
        first: false,
    };
    time("sgd momentum 1M", 0, || run(&sgd, &[&g], &[&p, &m]));
    let adam = Kernel::Adam {
        lr: 1e-6,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.0,
        decoupled: false,
        maximize: false,
        step: 10,
    };
    v.buffer.host.as_ref().unwrap().write(0, &vec![0; million * 4]);
    time("adam 1M", 0, || run(&adam, &[&g], &[&p, &m, &v]));

    let source = RandomSource::Host(Shared::new(0));
    let draws = [
        ("rand 1M", Distribution::Uniform { low: 0.0, high: 1.0 }),
        ("randn 1M", Distribution::Normal { mean: 0.0, std: 1.0 }),
        ("bernoulli 1M", Distribution::Bernoulli { p: 0.5 }),
    ];
    for (name, distribution) in draws {
        let kernel = Kernel::Random(Random { distribution, source: source.clone() });
        time(name, 0, || run(&kernel, &[], &[&p]));
    }
    let kernel = Kernel::Random(Random { distribution: Distribution::Permutation, source });
    time("randperm 1M", 0, || run(&kernel, &[], &[&places]));
}

fn main() {
    let pool = HostPool::default();
    products(&pool);
    convolutions(&pool);
    others(&pool);
}
