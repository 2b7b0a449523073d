//! The launches that `scripts/calibrate.py` measures, as the operations of this program ask for them.

use serde_json::Value;
use tensorlab::base::{DType, Layout, Scalar};
use tensorlab::device::kernel::{
    Conv, Distribution, Kernel, Random, RandomSource, ReduceOp, ScatterMode, SoftmaxForm,
};
use tensorlab::device::settings::Tf32;
use tensorlab::device::sim::{Rate, Work, work};
use tensorlab::device::{Arg, Buffer, Cancel, Launch, MapOp, View};

static NOWHERE: Buffer = Buffer::new(0, 0, None, false);
const F32: DType = DType::Float32;
const I64: DType = DType::Int64;

/// An operand: a tensor that is nowhere, or a number.
pub(crate) enum Operand {
    Tensor(Layout, DType),
    Number(f64),
}

pub(crate) fn plain(shape: &[usize], dtype: DType) -> Operand {
    Operand::Tensor(Layout::contiguous(shape).unwrap(), dtype)
}

/// What the simulator makes of a launch.
pub(crate) fn asked(kernel: &Kernel, inputs: &[Operand], outputs: &[Operand], tf32: bool) -> Work {
    let arg = |operand| match operand {
        &Operand::Tensor(ref layout, dtype) => Arg::View(View { buffer: &NOWHERE, dtype, layout }),
        Operand::Number(number) => Arg::Scalar(Scalar::Float(*number)),
    };
    let inputs: Vec<Arg> = inputs.iter().map(arg).collect();
    let written = outputs.iter().filter_map(|operand| match arg(operand) {
        Arg::View(view) => Some(view),
        Arg::Scalar(_) => None,
    });
    let (outputs, cancel) = (&written.collect::<Vec<View>>()[..], &Cancel::default());
    let tf32 = Tf32 { matmul: tf32, convolution: tf32 };
    work(&Launch { op: "op", kernel, inputs: &inputs, outputs, stream: 0, cancel, timed: false }, tf32)
}

/// What the simulator makes of a recorded kernel.
pub(crate) fn work_of(row: &Value, rate: Rate) -> Work {
    let dtype = match rate {
        Rate::Fp64 => DType::Float64,
        Rate::Fp16 => DType::Float16,
        Rate::Bf16 => DType::BFloat16,
        Rate::Fp32 | Rate::Tf32 | Rate::Int => F32,
    };
    let name = row["name"].as_str().unwrap();
    if let Some(n) = name.strip_prefix("matmul ") {
        let n: usize = n.parse().unwrap();
        let square = || plain(&[n, n], dtype);
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        return asked(&kernel, &[square(), square()], &[square()], rate == Rate::Tf32);
    }
    match row.get("convolution") {
        Some(shape) => convolution(shape, dtype, rate == Rate::Tf32),
        None => streaming(name, row["n"].as_u64().unwrap() as usize),
    }
}

fn convolution(shape: &Value, dtype: DType, tf32: bool) -> Work {
    let number = |key: &str| shape[key].as_u64().unwrap() as usize;
    let (batch, channels, out) = (number("batch"), number("channels"), number("out"));
    let (size, kernel, stride, groups) =
        (number("size"), number("kernel"), number("stride"), number("groups"));
    let padding = [kernel / 2; 2];
    let conv = Conv { stride: [stride; 2], padding, dilation: [1, 1], groups };
    let x = plain(&[batch, channels, size, size], dtype);
    let weight = plain(&[out, channels / groups, kernel, kernel], dtype);
    let y = plain(&[batch, out, size / stride, size / stride], dtype);
    match shape["pass"].as_str().unwrap() {
        "forward" => asked(&Kernel::Conv2d(conv), &[x, weight], &[y], tf32),
        "input" => asked(&Kernel::Conv2dGradInput(conv), &[y, weight], &[x], tf32),
        "weight" => asked(&Kernel::Conv2dGradWeight(conv), &[y, x], &[weight], tf32),
        other => panic!("no pass of a convolution: {other}"),
    }
}

/// Kernels over `n` float32, or over rows of 1024.
fn streaming(name: &str, n: usize) -> Work {
    let flat = || plain(&[n], F32);
    let rows = || plain(&[n / 1024, 1024], F32);
    let map = |op, inputs: &[Operand]| {
        asked(&Kernel::Map { op, params: [1.0, 0.0], compute: F32 }, inputs, &[flat()], false)
    };
    let reduce = |op, dims, input: Operand, output: &[usize]| {
        asked(&Kernel::Reduce { op, dims }, &[input], &[plain(output, F32)], false)
    };
    let draw = |distribution| {
        let source = RandomSource::Philox { seed: 0, offset: 0, most: 1 };
        asked(&Kernel::Random(Random { distribution, source }), &[], &[flat()], false)
    };
    let sum = ReduceOp::Sum { scale: 1.0 };
    match name {
        "add" => map(MapOp::Add, &[flat(), flat()]),
        "exp" => map(MapOp::Exp, &[flat()]),
        "relu" => map(MapOp::Clamp, &[flat()]),
        "gelu" => map(MapOp::Gelu, &[flat()]),
        "mul_ scalar" => map(MapOp::Mul, &[flat(), Operand::Number(1.0)]),
        "clone" => map(MapOp::Identity, &[flat()]),
        "fill" => map(MapOp::Identity, &[Operand::Number(1.0)]),
        "sum" => reduce(sum, 1, flat(), &[1]),
        "max" => reduce(ReduceOp::Max, 1, flat(), &[1]),
        "sum(0)" => reduce(sum, 1, rows(), &[1, 1024]),
        "sum(1)" => reduce(sum, 2, rows(), &[n / 1024, 1]),
        "rand" => draw(Distribution::Uniform { low: 0.0, high: 1.0 }),
        "randn" => draw(Distribution::Normal { mean: 0.0, std: 1.0 }),
        _ => by_rows(name, n),
    }
}

fn by_rows(name: &str, n: usize) -> Work {
    let (count, flat) = (n / 1024, || plain(&[n], F32));
    let rows = || plain(&[count, 1024], F32);
    let each = || plain(&[count, 1], F32);
    let index = |size| plain(&[size], I64);
    match name {
        "argmax(1)" => {
            let arg = Kernel::ArgReduce { max: true, dim: 1 };
            asked(&arg, &[rows()], &[each(), plain(&[count, 1], I64)], false)
        }
        "softmax(1)" => {
            asked(&Kernel::Softmax { form: SoftmaxForm::Plain, dim: 1 }, &[rows()], &[rows()], false)
        }
        "layer_norm" => {
            let norm = Kernel::LayerNorm { eps: 1e-5, affine: false };
            asked(&norm, &[rows()], &[rows(), each(), each()], false)
        }
        "index_select rows" => {
            asked(&Kernel::IndexSelect { dim: 0, from_end: true }, &[rows(), index(count)], &[rows()], false)
        }
        "index_add rows" => asked(&Kernel::IndexAdd { dim: 0 }, &[index(count), rows()], &[rows()], false),
        "gather elements" => asked(&Kernel::Gather { dim: 0 }, &[flat(), index(n)], &[flat()], false),
        "scatter elements" | "scatter_add elements" => {
            let mode = if name == "scatter elements" { ScatterMode::Assign } else { ScatterMode::Add };
            asked(&Kernel::Scatter { dim: 0, mode }, &[index(n), flat()], &[flat()], false)
        }
        "index_select pairs" => {
            let pairs = || plain(&[n / 2, 2], F32);
            asked(
                &Kernel::IndexSelect { dim: 0, from_end: true },
                &[pairs(), index(n / 2)],
                &[pairs()],
                false,
            )
        }
        "transpose" => turned(count, F32),
        "transpose half" => turned(count, DType::Float16),
        "transpose double" => turned(count, DType::Float64),
        "to half" => copied(flat(), plain(&[n], DType::Float16)),
        other => panic!("no such kernel is known here: {other}"),
    }
}

fn turned(count: usize, dtype: DType) -> Work {
    let turned = Layout::contiguous(&[count, 1024]).unwrap().transpose(0, 1).unwrap();
    copied(Operand::Tensor(turned, dtype), plain(&[1024, count], dtype))
}

fn copied(from: Operand, to: Operand) -> Work {
    asked(&Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: F32 }, &[from], &[to], false)
}
