//! What a launch asks of a simulated device.

use crate::base::DType;
use crate::device::kernel::{Arg, Kernel, KernelClass, Launch};
use crate::device::settings::Tf32;
use crate::device::sim::rate::Rate;

use super::cost::Work;

/// The class, the rate and the amounts by which a launch is timed. `tf32` says which float32
/// kernels use TF32.
pub(super) fn work(launch: &Launch<'_>, tf32: Tf32) -> Work {
    let class = launch.kernel.class();
    Work {
        class,
        rate: rate(class, compute_type(launch), tf32),
        flops: launch.flops(),
        bytes: launch.bytes(),
    }
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

    const NOWHERE: Buffer = Buffer { address: 0, bytes: 0, host: None, pinned: false };

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
        let select = Kernel::IndexSelect { dim: 0 };
        let work = asked(&select, &inputs, view(&rows, DType::Float32), false);
        assert_eq!((work.class, work.bytes), (KernelClass::GatherScatter, 8 * 32 + 2 * picked));

        let inputs = [Arg::View(view(&index, DType::Int64)), Arg::View(view(&rows, DType::Float32))];
        let add = Kernel::IndexAdd { dim: 0 };
        let work = asked(&add, &inputs, view(&table, DType::Float32), false);
        assert_eq!(work.bytes, 8 * 32 + 3 * picked, "rows are read, added to and written");
    }
}
