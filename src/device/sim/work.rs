//! What a launch asks of a simulated device.

use crate::base::DType;
use crate::device::distribution::Distribution;
use crate::device::kernel::{Arg, Conv, Kernel, KernelClass, Launch, ScatterMode, View};
use crate::device::scalar::MapOp;
use crate::device::settings::Tf32;
use crate::device::sim::rate::Rate;

use super::cost::Work;
use super::form::{Product, REDUCING_THREADS, Reduced, Scattered, WorkForm};

/// Bytes of a sector: shorter pieces that are read or written on their own take one each.
const SECTOR: usize = 32;
/// Outputs whose reductions a block of threads shares where they lie side by side.
const SIDE_BY_SIDE: u64 = 32;

/// The class, the rate, the amounts and the form by which a launch is timed. `tf32` says which float32
/// kernels use TF32.
pub fn work(launch: &Launch<'_>, tf32: Tf32) -> Work {
    let form = form(launch);
    let class = match (launch.kernel.class(), &form) {
        (KernelClass::Copy, _) if is_across(launch) => KernelClass::Transpose,
        // Rows are read at the memory's pace.
        (KernelClass::GatherElements, WorkForm::Plain) => KernelClass::GatherScatter,
        (KernelClass::GatherScatter, WorkForm::Scattered(_)) => KernelClass::GatherElements,
        (class, _) => class,
    };
    let rate = match class {
        KernelClass::Random => Rate::Int,
        _ => rate(class, compute_type(launch), tf32),
    };
    Work { class, rate, flops: arithmetic(launch), bytes: traffic(launch, class), form }
}

/// The operations that take time: those of random numbers are Philox's.
fn arithmetic(launch: &Launch<'_>) -> u64 {
    match launch.kernel {
        Kernel::Random(random) => {
            // Four numbers take ten rounds of two wide products, two exclusive ors of three and two sums, which come to
            // 8 operations with the products' halves, and 4 each to make a float. A normal one takes 10 more: for two, Box
            // and Muller take a logarithm, a root, a sine and a cosine, which run at a quarter of the rate, and four
            // multiplications.
            let each = match random.distribution {
                Distribution::Normal { .. } => 34,
                _ => 24,
            };
            launch.flops().saturating_mul(each)
        }
        _ => launch.flops(),
    }
}

/// Bytes read and written. A copy across lines costs by the sector, of which each element takes one whatever its size;
/// they are counted as those of 4 bytes, for which profiles state their efficiency.
fn traffic(launch: &Launch<'_>, class: KernelClass) -> u64 {
    match class {
        KernelClass::Transpose => launch.outputs.iter().map(|v| 8 * v.layout.numel() as u64).sum(),
        _ => launch.bytes(),
    }
}

fn form(launch: &Launch<'_>) -> WorkForm {
    let input = |i: usize| match launch.inputs.get(i) {
        Some(Arg::View(view)) => Some(view),
        _ => None,
    };
    let known = match (launch.kernel, input(0), input(1), launch.outputs.first()) {
        (Kernel::Reduce { dims, .. }, Some(x), ..) => Some(WorkForm::Reduced(reduced(x, *dims))),
        (Kernel::IndexSelect { dim, .. }, Some(table), _, Some(picked)) => {
            scattered(picked, run(picked, *dim, None), table, 1)
        }
        (Kernel::Gather { dim }, Some(table), Some(index), Some(picked)) => {
            scattered(picked, run(picked, *dim, Some(index)), table, 1)
        }
        (Kernel::Scatter { dim, mode }, Some(index), Some(source), Some(target)) => {
            let ways = if *mode == ScatterMode::Assign { 1 } else { 2 };
            scattered(source, run(source, *dim, Some(index)), target, ways)
        }
        (Kernel::IndexAdd { dim }, _, Some(source), Some(target)) => {
            scattered(source, run(source, *dim, None), target, 2)
        }
        (Kernel::Conv2d(conv), Some(x), Some(weight), Some(y)) => {
            Some(product(conv, [x, weight, y], Pass::Forward))
        }
        (Kernel::Conv2dGradInput(conv), Some(dy), Some(weight), Some(dx)) => {
            Some(product(conv, [dx, weight, dy], Pass::Input))
        }
        (Kernel::Conv2dGradWeight(conv), Some(dy), Some(x), Some(dweight)) => {
            Some(product(conv, [x, dweight, dy], Pass::Weight))
        }
        _ => None,
    };
    known.unwrap_or_default()
}

/// How a reduction over the dimensions in `dims` is shared out: a block of threads along what lies together in memory, or
/// for each few outputs that do.
fn reduced(x: &View<'_>, dims: u64) -> Reduced {
    let is_reduced = |dim: usize| dims >> dim & 1 == 1;
    let sizes = x.layout.shape().iter().enumerate();
    let count: u64 = sizes.filter(|&(dim, _)| is_reduced(dim)).map(|(_, &size)| size as u64).product();
    let outputs = (x.layout.numel() as u64).checked_div(count).unwrap_or(0);
    let fastest = lines(x).map(|(dim, _)| dim);
    match fastest.is_some_and(|dim| !is_reduced(dim)) {
        true => Reduced {
            blocks: outputs.div_ceil(SIDE_BY_SIDE),
            each: count / (REDUCING_THREADS / SIDE_BY_SIDE),
        },
        false => Reduced { blocks: outputs, each: count / REDUCING_THREADS },
    }
}

/// The dimension along which elements are neighbours in memory, and its size.
fn lines(view: &View<'_>) -> Option<(usize, usize)> {
    let sizes = view.layout.shape().iter().zip(view.layout.strides()).enumerate();
    sizes
        .filter(|(_, (size, stride))| **size > 1 && **stride == 1)
        .map(|(dim, (&size, _))| (dim, size))
        .next()
}

/// Whether a copy reads along other lines than it writes, neither of them shorter than a sector of float32.
fn is_across(launch: &Launch<'_>) -> bool {
    let (Kernel::Map { op: MapOp::Identity, .. }, [Arg::View(from)], [to]) =
        (launch.kernel, launch.inputs, launch.outputs)
    else {
        return false;
    };
    match (lines(from), lines(to)) {
        (Some((read, long)), Some((written, wide))) => read != written && long.min(wide) * 4 >= SECTOR,
        _ => false,
    }
}

/// How many elements in a row one index picks: those of the dimensions after `dim`, where the index is the same for all.
fn run(picked: &View<'_>, dim: usize, index: Option<&View<'_>>) -> usize {
    let inner = picked.layout.shape().iter().enumerate().skip(dim + 1).rev();
    let same = |dim: usize| match index {
        Some(index) => index.layout.strides().get(dim) == Some(&0),
        None => true,
    };
    inner.take_while(|&(dim, &size)| size == 1 || same(dim)).map(|(_, &size)| size).product()
}

/// Pieces of `run` elements each, anywhere in `table`, touched `ways` times; nothing where they are long enough to be
/// read or written like everything else.
fn scattered(picked: &View<'_>, run: usize, table: &View<'_>, ways: u64) -> Option<WorkForm> {
    let size = run * picked.dtype.size();
    let pieces = picked.layout.numel().checked_div(run)? as u64 * ways;
    (size < SECTOR).then(|| WorkForm::Scattered(Scattered { pieces, size: size as u64, span: table.bytes() }))
}

/// What a convolution computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    /// The gradient of its input.
    Input,
    /// The gradient of its weight.
    Weight,
}

/// The product of matrices that a convolution is, from `[x, weight, y]`.
fn product(conv: &Conv, [x, weight, y]: [&View<'_>; 3], pass: Pass) -> WorkForm {
    let size = |view: &View<'_>, dim: usize| view.layout.shape().get(dim).copied().unwrap_or(1) as u64;
    let places = |view: &View<'_>| size(view, 0) * size(view, 2) * size(view, 3);
    let groups = conv.groups.max(1) as u64;
    let (out, channels) = (size(weight, 0) / groups, size(weight, 1));
    let filter = size(weight, 2) * size(weight, 3);
    let steps = (conv.stride.iter().product::<usize>().max(1)) as u64;
    let (rows, columns, depth) = match pass {
        Pass::Forward => (places(y), out, channels * filter),
        // Of the filter, each place of the input meets what the steps leave.
        Pass::Input => (places(x), channels, out * filter.div_ceil(steps)),
        Pass::Weight => (out, channels * filter, places(y)),
    };
    let three = (size(weight, 2), size(weight, 3)) == (3, 3);
    let winograd =
        three && conv.stride == [1, 1] && conv.dilation == [1, 1] && groups == 1 && pass != Pass::Weight;
    // Four by four values for two by two results, and for the nine of a filter.
    let transformed = if winograd { 4 * (x.bytes() + y.bytes()) + weight.bytes() * 16 / 9 } else { 0 };
    WorkForm::Product(Product {
        rows,
        columns,
        depth,
        groups,
        depthwise: channels == 1 && groups > 1,
        transformed,
    })
}

/// The dtype the arithmetic is done in: the map's own, else that of the first tensor read, or written.
fn compute_type(launch: &Launch<'_>) -> DType {
    if let Kernel::Map { compute, .. } = launch.kernel {
        return *compute;
    }
    let read = launch.inputs.iter().find_map(|arg| if let Arg::View(v) = arg { Some(v.dtype) } else { None });
    read.unwrap_or_else(|| launch.dtype())
}

/// Tensor cores serve matmuls and convolutions; everything else computes half types in float32.
fn rate(class: KernelClass, dtype: DType, tf32: Tf32) -> Rate {
    let tensor_cores = matches!(class, KernelClass::Matmul | KernelClass::Convolution);
    let tf32 = match class {
        KernelClass::Matmul => tf32.matmul,
        KernelClass::Convolution => tf32.convolution,
        _ => false,
    };
    match dtype {
        DType::Float64 => Rate::Fp64,
        DType::Float32 if tf32 => Rate::Tf32,
        DType::Float16 if tensor_cores => Rate::Fp16,
        DType::BFloat16 if tensor_cores => Rate::Bf16,
        DType::Float32 | DType::Float16 | DType::BFloat16 => Rate::Fp32,
        DType::Int64 | DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8 | DType::Bool => Rate::Int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Layout, Scalar};
    use crate::device::{Buffer, Cancel, MapOp, View};

    static NOWHERE: Buffer = Buffer::new(0, 0, None, false);

    fn plain(shape: &[usize]) -> Layout {
        Layout::contiguous(shape).unwrap()
    }

    fn view(layout: &Layout, dtype: DType) -> View<'_> {
        View { buffer: &NOWHERE, dtype, layout }
    }

    fn asked(kernel: &Kernel, inputs: &[Arg<'_>], output: View<'_>, tf32: bool) -> Work {
        let tf32 = Tf32 { matmul: tf32, convolution: tf32 };
        let cancel = &Cancel::default();
        let outputs = &[output];
        work(&Launch { op: "op", kernel, inputs, outputs, stream: 0, cancel, timed: false }, tf32)
    }

    #[test]
    fn a_matmul_draws_on_the_cores_of_its_dtype() {
        let (a, b, y) = (plain(&[8, 32]), plain(&[32, 16]), plain(&[8, 16]));
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        let of = |dtype, tf32| {
            asked(&kernel, &[Arg::View(view(&a, dtype)), Arg::View(view(&b, dtype))], view(&y, dtype), tf32)
        };
        let work = of(DType::Float32, false);
        assert_eq!((work.class, work.rate), (KernelClass::Matmul, Rate::Fp32));
        assert_eq!((work.flops, work.bytes), (2 * 8 * 16 * 32, 4 * (8 * 32 + 32 * 16 + 8 * 16)));
        assert_eq!(of(DType::Float32, true).rate, Rate::Tf32);
        assert_eq!(of(DType::Float16, false).rate, Rate::Fp16);
        assert_eq!(of(DType::BFloat16, true).rate, Rate::Bf16);
        assert_eq!(of(DType::Float64, true).rate, Rate::Fp64);
    }

    #[test]
    fn halves_are_computed_in_float32_elsewhere() {
        let y = plain(&[100]);
        let add = Kernel::Map { op: MapOp::Add, params: [1.0, 0.0], compute: DType::Float16 };
        let half = Arg::View(view(&y, DType::Float16));
        let work = asked(&add, &[half, half], view(&y, DType::Float16), true);
        assert_eq!((work.class, work.rate, work.bytes), (KernelClass::Elementwise, Rate::Fp32, 600));
        let fill = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: DType::Int64 };
        let work = asked(&fill, &[Arg::Scalar(Scalar::Int(1))], view(&y, DType::Int64), false);
        assert_eq!((work.class, work.rate, work.bytes), (KernelClass::Copy, Rate::Int, 800));
    }

    #[test]
    fn memory_is_counted_where_it_is_touched() {
        let (wide, bias) = (plain(&[128, 256]), plain(&[256]).expand(&[128, 256]).unwrap());
        let add = Kernel::Map { op: MapOp::Add, params: [1.0, 0.0], compute: DType::Float32 };
        let inputs = [Arg::View(view(&wide, DType::Float32)), Arg::View(view(&bias, DType::Float32))];
        let work = asked(&add, &inputs, view(&wide, DType::Float32), false);
        assert_eq!(work.bytes, 4 * (2 * 128 * 256 + 256), "a bias that is expanded is read once");

        let (table, index, rows) = (plain(&[50_000, 64]), plain(&[32]), plain(&[32, 64]));
        let picked = 4 * 32 * 64;
        let inputs = [Arg::View(view(&table, DType::Float32)), Arg::View(view(&index, DType::Int64))];
        let select = Kernel::IndexSelect { dim: 0, from_end: true };
        let work = asked(&select, &inputs, view(&rows, DType::Float32), false);
        assert_eq!((work.class, work.bytes), (KernelClass::GatherScatter, 8 * 32 + 2 * picked));

        let inputs = [Arg::View(view(&index, DType::Int64)), Arg::View(view(&rows, DType::Float32))];
        let add = Kernel::IndexAdd { dim: 0 };
        let work = asked(&add, &inputs, view(&table, DType::Float32), false);
        assert_eq!(work.bytes, 8 * 32 + 3 * picked, "rows are read, added to and written");
    }

    /// The form and class of a float32 launch.
    fn of(kernel: &Kernel, inputs: &[(&Layout, DType)], output: &Layout) -> (WorkForm, KernelClass) {
        let inputs: Vec<Arg<'_>> =
            inputs.iter().map(|(layout, dtype)| Arg::View(view(layout, *dtype))).collect();
        let work = asked(kernel, &inputs, view(output, DType::Float32), false);
        (work.form, work.class)
    }

    const F32: DType = DType::Float32;
    const I64: DType = DType::Int64;

    #[test]
    fn a_copy_across_long_lines_is_a_transpose() {
        let copy = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: F32 };
        let turned = |shape: &[usize], order: &[usize]| plain(shape).permute(order).unwrap();
        let class = |from: &Layout| of(&copy, &[(from, F32)], &plain(from.shape())).1;
        assert_eq!(class(&turned(&[64, 32], &[1, 0])), KernelClass::Transpose);
        assert_eq!(class(&turned(&[64, 3], &[1, 0])), KernelClass::Copy, "three to a line share its sectors");
        assert_eq!(class(&turned(&[8, 64, 32], &[1, 0, 2])), KernelClass::Copy, "lines stay whole");
        assert_eq!(class(&plain(&[64]).expand(&[32, 64]).unwrap()), KernelClass::Copy);
        let from = turned(&[64, 32], &[1, 0]);
        let work =
            asked(&copy, &[Arg::View(view(&from, DType::Float16))], view(&plain(&[32, 64]), F32), false);
        assert_eq!(work.bytes, 8 * 64 * 32, "a sector an element, whatever its size");
    }

    #[test]
    fn pieces_shorter_than_a_sector_are_scattered() {
        let (table, index) = (plain(&[1000, 16]), plain(&[500, 16]));
        let gather = Kernel::Gather { dim: 0 };
        let single = WorkForm::Scattered(Scattered { pieces: 8000, size: 4, span: 64_000 });
        assert_eq!(
            of(&gather, &[(&table, F32), (&index, I64)], &index),
            (single, KernelClass::GatherElements)
        );
        let same = plain(&[500, 1]).expand(&[500, 16]).unwrap();
        let rows = of(&gather, &[(&table, F32), (&same, I64)], &index);
        assert_eq!(rows, (WorkForm::Plain, KernelClass::GatherScatter), "one index picks a row of 64 bytes");
        let (narrow, picked, five) = (plain(&[1000, 2]), plain(&[5, 2]), plain(&[5]));
        let short = WorkForm::Scattered(Scattered { pieces: 5, size: 8, span: 8_000 });
        let select =
            of(&Kernel::IndexSelect { dim: 0, from_end: true }, &[(&narrow, F32), (&five, I64)], &picked);
        assert_eq!(select, (short, KernelClass::GatherElements));
        let added = WorkForm::Scattered(Scattered { pieces: 10, size: 8, span: 8_000 });
        let add = of(&Kernel::IndexAdd { dim: 0 }, &[(&five, I64), (&picked, F32)], &narrow);
        assert_eq!(add, (added, KernelClass::ScatterAdd), "read and written");
        let assign = Kernel::Scatter { dim: 0, mode: ScatterMode::Assign };
        let set = of(&assign, &[(&index, I64), (&index, F32)], &table);
        assert_eq!(set, (single, KernelClass::GatherElements));
    }

    #[test]
    fn a_reduction_is_shared_by_what_lies_together() {
        let x = plain(&[4096, 1024]);
        let sum = |dims| Kernel::Reduce { op: crate::device::kernel::ReduceOp::Max, dims };
        let shares = |dims, y: &[usize]| match of(&sum(dims), &[(&x, F32)], &plain(y)).0 {
            WorkForm::Reduced(Reduced { blocks, each }) => (blocks, each),
            other => panic!("{other:?}"),
        };
        assert_eq!(shares(3, &[1, 1]), (1, 8192));
        assert_eq!(shares(2, &[4096, 1]), (4096, 2));
        assert_eq!(shares(1, &[1, 1024]), (32, 256));
        let empty = plain(&[0, 4]);
        assert_eq!(of(&sum(1), &[(&empty, F32)], &plain(&[1, 4])).1, KernelClass::Reduction);
    }

    #[test]
    fn a_convolution_is_a_product_in_each_pass() {
        let conv = |stride, groups| Conv { stride: [stride; 2], padding: [1, 1], dilation: [1, 1], groups };
        let (x, weight, y) = (plain(&[2, 8, 10, 10]), plain(&[16, 8, 3, 3]), plain(&[2, 16, 10, 10]));
        let product =
            |kernel: Kernel, [a, b, out]: [&Layout; 3]| match of(&kernel, &[(a, F32), (b, F32)], out) {
                (WorkForm::Product(p), KernelClass::Convolution) => p,
                other => panic!("{other:?}"),
            };
        let sizes = |p: &Product| [p.rows, p.columns, p.depth, p.groups];
        let forward = product(Kernel::Conv2d(conv(1, 1)), [&x, &weight, &y]);
        assert_eq!(sizes(&forward), [200, 16, 72, 1]);
        assert_eq!(forward.transformed, 4 * 4 * (1600 + 3200) + 4 * 1152 * 16 / 9);
        let input = product(Kernel::Conv2dGradInput(conv(1, 1)), [&y, &weight, &x]);
        assert_eq!((sizes(&input), input.transformed), ([200, 8, 144, 1], forward.transformed));
        let filters = product(Kernel::Conv2dGradWeight(conv(1, 1)), [&y, &x, &weight]);
        assert_eq!((sizes(&filters), filters.transformed), ([16, 72, 200, 1], 0));
        let halved = plain(&[2, 16, 5, 5]);
        let strided = product(Kernel::Conv2dGradInput(conv(2, 1)), [&halved, &weight, &x]);
        assert_eq!(
            (sizes(&strided), strided.transformed),
            ([200, 8, 16 * 3, 1], 0),
            "a quarter of nine, and more"
        );
        let own = product(Kernel::Conv2d(conv(1, 8)), [&x, &plain(&[8, 1, 3, 3]), &x]);
        assert!(own.depthwise && own.transformed == 0 && !forward.depthwise);
        let grouped = product(Kernel::Conv2d(conv(1, 2)), [&x, &plain(&[16, 4, 3, 3]), &y]);
        assert_eq!((sizes(&grouped), grouped.depthwise), ([200, 8, 36, 2], false));
    }

    #[test]
    fn normal_numbers_take_more_arithmetic_than_uniform_ones() {
        let y = plain(&[1000]);
        let drawn = |distribution| {
            let source = crate::device::kernel::RandomSource::Philox { seed: 0, offset: 0, most: 1 };
            let random = crate::device::kernel::Random { distribution, source };
            let work = asked(&Kernel::Random(random), &[], view(&y, F32), false);
            (work.class, work.rate, work.flops, work.bytes)
        };
        let uniform = drawn(Distribution::Uniform { low: 0.0, high: 1.0 });
        assert_eq!(uniform, (KernelClass::Random, Rate::Int, 24_000, 4_000));
        assert_eq!(drawn(Distribution::Normal { mean: 0.0, std: 1.0 }).2, 34_000);
    }
}
