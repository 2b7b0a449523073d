//! Times CPU kernels with their output memory reused: `cargo bench --bench kernels [-- FILTER]`.
//! Prints one line per kernel: its name, the median time and the least.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on may stop"
)]

use std::time::Instant;

use tensorlab::base::{DType, Layout, Scalar};
use tensorlab::device::cpu::memory::HostPool;
use tensorlab::device::cpu::{host_buffer, isa, run};
use tensorlab::device::kernel::{ReduceOp, SoftmaxForm};
use tensorlab::device::{Arg, Buffer, Cancel, Kernel, Launch, MapOp, View};

const N: usize = 16 << 20;
const ROWS: usize = 4096;

struct Operand {
    buffer: Buffer,
    dtype: DType,
    layout: Layout,
}

impl Operand {
    fn new(pool: &HostPool, dtype: DType, shape: &[usize]) -> Operand {
        let layout = Layout::contiguous(shape).expect("a small shape");
        let buffer = host_buffer(pool, layout.numel() * dtype.size()).expect("enough memory");
        let operand = Operand { buffer, dtype, layout };
        let one = Arg::Scalar(Scalar::Float(0.5));
        launch(&map(MapOp::Identity, dtype), &[one], &[operand.view()]);
        operand
    }

    fn view(&self) -> View<'_> {
        View { buffer: &self.buffer, dtype: self.dtype, layout: &self.layout }
    }

    fn arg(&self) -> Arg<'_> {
        Arg::View(self.view())
    }

    fn seen<'a>(&'a self, layout: &'a Layout) -> Arg<'a> {
        Arg::View(View { buffer: &self.buffer, dtype: self.dtype, layout })
    }
}

fn map(op: MapOp, compute: DType) -> Kernel {
    Kernel::Map { op, params: [1.0, 20.0], compute }
}

fn launch(kernel: &Kernel, inputs: &[Arg], outputs: &[View]) {
    let cancel = Cancel::default();
    let launch = Launch { op: "bench", kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false };
    run(&launch).expect("a kernel that works");
}

/// The median and the least of 15 times in seconds, each over `repeat` calls.
fn times(repeat: usize, mut work: impl FnMut()) -> (f64, f64) {
    for _ in 0..2 * repeat {
        work();
    }
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..repeat {
                work();
            }
            start.elapsed().as_secs_f64() / repeat as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |i: usize| times.get(i).copied().unwrap_or(f64::NAN);
    (at(7), at(0))
}

struct Bench {
    filter: String,
}

impl Bench {
    fn time(&self, name: &str, repeat: usize, work: impl FnMut()) {
        if !name.contains(&self.filter) {
            return;
        }
        let (median, least) = times(repeat, work);
        let (factor, unit) = if median < 1e-5 { (1e9, "ns") } else { (1e3, "ms") };
        println!("{name:32} {:9.3} {unit}   least {:9.3} {unit}", median * factor, least * factor);
    }
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with("--")).unwrap_or_default();
    let bench = Bench { filter };
    println!("instruction set: {}", isa::name());
    let pool = HostPool::default();
    small(&bench, &pool);
    large_maps(&bench, &pool);
    large_copies(&bench, &pool);
    large_reductions(&bench, &pool);
}

fn small(bench: &Bench, pool: &HostPool) {
    for (n, repeat) in [(4usize, 100_000), (64, 100_000), (1024, 20_000), (32_768, 1000), (131_072, 200)] {
        let [x, y, z] = [0; 3].map(|_| Operand::new(pool, DType::Float32, &[n]));
        let add = map(MapOp::Add, DType::Float32);
        bench.time(&format!("add {n}"), repeat, || launch(&add, &[x.arg(), y.arg()], &[z.view()]));
        bench.time(&format!("add scalar {n}"), repeat, || {
            launch(&add, &[x.arg(), Arg::Scalar(Scalar::Float(2.0))], &[z.view()]);
        });
        let exp = map(MapOp::Exp, DType::Float32);
        bench.time(&format!("exp {n}"), repeat, || launch(&exp, &[x.arg()], &[z.view()]));
    }
    let (x, row, z) = (
        Operand::new(pool, DType::Float32, &[128, 256]),
        Operand::new(pool, DType::Float32, &[256]),
        Operand::new(pool, DType::Float32, &[128, 256]),
    );
    let add = map(MapOp::Add, DType::Float32);
    let bias = row.layout.expand(&[128, 256]).expect("a row expands");
    bench.time("add bias 128x256", 1000, || launch(&add, &[x.arg(), row.seen(&bias)], &[z.view()]));
    let all = Kernel::Reduce { op: ReduceOp::Sum { scale: 1.0 }, dims: 1 };
    let (row4, one) = (Operand::new(pool, DType::Float32, &[4]), Operand::new(pool, DType::Float32, &[1]));
    bench.time("sum 4", 100_000, || launch(&all, &[row4.arg()], &[one.view()]));
    let columns = Kernel::Reduce { op: ReduceOp::Sum { scale: 1.0 }, dims: 1 };
    let sums = Operand::new(pool, DType::Float32, &[1, 256]);
    bench.time("sum columns 128x256", 1000, || launch(&columns, &[x.arg()], &[sums.view()]));
    let (logits, soft) =
        (Operand::new(pool, DType::Float32, &[128, 10]), Operand::new(pool, DType::Float32, &[128, 10]));
    let softmax = Kernel::Softmax { form: SoftmaxForm::Log, dim: 1 };
    bench.time("log_softmax 128x10", 1000, || launch(&softmax, &[logits.arg()], &[soft.view()]));
}

fn large_maps(bench: &Bench, pool: &HostPool) {
    let [x, y, z] = [0; 3].map(|_| Operand::new(pool, DType::Float32, &[ROWS, N / ROWS]));
    let add = map(MapOp::Add, DType::Float32);
    bench.time("16M add", 1, || launch(&add, &[x.arg(), y.arg()], &[z.view()]));
    bench.time("16M add in place", 1, || launch(&add, &[z.arg(), y.arg()], &[z.view()]));
    bench.time("16M add scalar", 1, || {
        launch(&add, &[x.arg(), Arg::Scalar(Scalar::Float(2.0))], &[z.view()]);
    });
    let turned = y.layout.transpose(0, 1).expect("two dimensions");
    bench.time("16M add transposed", 1, || launch(&add, &[x.arg(), y.seen(&turned)], &[z.view()]));
    for (name, op) in [
        ("exp", MapOp::Exp),
        ("relu", MapOp::Relu),
        ("gelu", MapOp::Gelu),
        ("gelu_tanh", MapOp::GeluTanh),
        ("silu", MapOp::Silu),
        ("tanh", MapOp::Tanh),
        ("sigmoid", MapOp::Sigmoid),
        ("log", MapOp::Log),
        ("sin", MapOp::Sin),
        ("erf", MapOp::Erf),
    ] {
        let kernel = map(op, DType::Float32);
        bench.time(&format!("16M {name}"), 1, || launch(&kernel, &[x.arg()], &[z.view()]));
    }
    let pow = map(MapOp::Pow, DType::Float32);
    bench.time("16M pow", 1, || launch(&pow, &[x.arg(), y.arg()], &[z.view()]));
}

fn large_copies(bench: &Bench, pool: &HostPool) {
    let x = Operand::new(pool, DType::Float32, &[ROWS, N / ROWS]);
    let z = Operand::new(pool, DType::Float32, &[N / ROWS, ROWS]);
    let copy = map(MapOp::Identity, DType::Float32);
    bench.time("16M clone", 1, || launch(&copy, &[x.arg()], &[z.view()]));
    let turned = x.layout.transpose(0, 1).expect("two dimensions");
    bench.time("16M transpose", 1, || launch(&copy, &[x.seen(&turned)], &[z.view()]));
    for dtype in [DType::Float16, DType::BFloat16, DType::Int64, DType::Bool] {
        let to = Operand::new(pool, dtype, &[ROWS, N / ROWS]);
        bench.time(&format!("16M float32 to {dtype}"), 1, || launch(&copy, &[x.arg()], &[to.view()]));
        bench.time(&format!("16M {dtype} to float32"), 1, || launch(&copy, &[to.arg()], &[z.view()]));
    }
}

fn large_reductions(bench: &Bench, pool: &HostPool) {
    let x = Operand::new(pool, DType::Float32, &[ROWS, N / ROWS]);
    let z = Operand::new(pool, DType::Float32, &[ROWS, N / ROWS]);
    for (name, dims, shape) in [("all", 3, [1, 1]), ("rows", 2, [ROWS, 1]), ("columns", 1, [1, N / ROWS])] {
        let to = Operand::new(pool, DType::Float32, &shape);
        for (op_name, op) in [
            ("sum", ReduceOp::Sum { scale: 1.0 }),
            ("max", ReduceOp::Max),
            ("var", ReduceOp::Var { correction: 1.0, root: false }),
        ] {
            let kernel = Kernel::Reduce { op, dims };
            bench.time(&format!("16M {op_name} {name}"), 1, || launch(&kernel, &[x.arg()], &[to.view()]));
        }
    }
    for (name, dim) in [("rows", 1), ("columns", 0)] {
        let kernel = Kernel::Softmax { form: SoftmaxForm::Plain, dim };
        bench.time(&format!("16M softmax {name}"), 1, || launch(&kernel, &[x.arg()], &[z.view()]));
        let grad = Kernel::SoftmaxGrad { log: false, dim };
        bench.time(&format!("16M softmax_grad {name}"), 1, || {
            launch(&grad, &[x.arg(), z.arg()], &[z.view()]);
        });
    }
    let (values, at) =
        (Operand::new(pool, DType::Float32, &[ROWS, 1]), Operand::new(pool, DType::Int64, &[ROWS, 1]));
    let argmax = Kernel::ArgReduce { max: true, dim: 1 };
    bench.time("16M argmax rows", 1, || launch(&argmax, &[x.arg()], &[values.view(), at.view()]));
}
