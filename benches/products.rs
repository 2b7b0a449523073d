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

fn main() {
    let pool = HostPool::default();
    products(&pool);
}
