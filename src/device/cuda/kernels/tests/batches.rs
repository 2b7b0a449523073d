//! Channels of batches, and copies that turn dimensions about one another, against what the CPU computes.

use crate::base::{DType, Layout, Scalar};
use crate::device::cpu::testing::Sample;
use crate::device::kernel::*;
use crate::device::scalar::MapOp;

use super::host::agree;
use super::values::{noise, tolerance};

const F32: DType = DType::Float32;

#[test]
#[ignore = "needs a C++ compiler"]
fn batch_norms_and_their_gradients() {
    // Planes in packs, of lengths that packs do not fill, of one value, with channels beside one another, many and few.
    for (shape, turn) in [
        ([5, 3, 32], false),
        ([3, 40, 7], false),
        ([300, 70, 1], false),
        ([4, 6, 9], true),
        ([2, 1, 20_000], false),
        ([1, 2, 4096], false),
    ] {
        let (n, channels, size) = (shape[0], shape[1], shape[2]);
        let batch = |dtype: DType, seed: u64| {
            let layout = match turn {
                true => Layout::contiguous(&[n, size, channels]).unwrap().transpose(1, 2).unwrap(),
                false => Layout::contiguous(&shape).unwrap(),
            };
            Sample::laid_out(dtype, layout, noise(seed))
        };
        let numbers = |dtype: DType, seed: u64| Sample::new(dtype, &[channels], noise(seed).map(|v| v + 2.0));
        for dtype in [F32, DType::Float64, DType::BFloat16] {
            let kept = if dtype == DType::Float64 { dtype } else { F32 };
            let (x, w, b) = (batch(dtype, 1), numbers(kept, 2), numbers(dtype, 3));
            let one = |number| Arg::Scalar(Scalar::Float(number));
            for (inputs, running) in [
                (vec![x.arg(), one(1.0), one(0.0)], false),
                (vec![x.arg(), w.arg(), one(0.0)], false),
                (vec![x.arg(), w.arg(), b.arg()], true),
            ] {
                let out = || {
                    let mut out = vec![batch(dtype, 9), numbers(kept, 8), numbers(kept, 7)];
                    if running {
                        out.extend([numbers(dtype, 5), numbers(kept, 6)]);
                    }
                    out
                };
                let kernel = Kernel::BatchNorm { eps: 1e-5, momentum: 0.25 };
                agree(&kernel, &inputs, out, tolerance(dtype) * 8.0, tolerance(dtype) * 8.0);
            }
            let (dy, mean, rstd) = (batch(dtype, 4), numbers(kept, 5), numbers(kept, 6));
            let inputs = [dy.arg(), x.arg(), mean.arg(), rstd.arg(), w.arg()];
            for training in [false, true] {
                for outputs in [1, 3] {
                    let out = || {
                        let mut out = vec![batch(dtype, 9), numbers(kept, 8), numbers(kept, 7)];
                        out.truncate(outputs);
                        out
                    };
                    agree(&Kernel::BatchNormGrad { training }, &inputs, out, 2e-2, 2e-2);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn copies_that_turn_dimensions() {
    let map = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: F32 };
    for dtype in [F32, DType::Float64, DType::Float16, DType::UInt8] {
        // Whole tiles, edges, and batches of them, turned about one another in each way.
        for (shape, order) in [
            ([1, 128, 64], [0, 2, 1]),
            ([1, 100, 131], [0, 2, 1]),
            ([3, 70, 17], [0, 2, 1]),
            ([40, 3, 66], [2, 1, 0]),
            ([65, 5, 16], [1, 2, 0]),
            ([20, 4, 90], [2, 0, 1]),
        ] {
            let layout = Layout::contiguous(&shape).unwrap().permute(&order).unwrap();
            let x = Sample::laid_out(dtype, layout.clone(), noise(1).map(|v| (v * 100.0).round()));
            agree(&map, &[x.arg()], || vec![Sample::zeros(dtype, layout.shape())], 0.0, 0.0);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn tensors_one_after_another() {
    for (dtype, dim) in [(F32, 0), (F32, 1), (DType::Float16, 2), (DType::Int64, 1), (DType::Bool, 2)] {
        let sized = |size: usize| {
            let mut shape = [3, 5, 16];
            shape[dim] = size;
            shape
        };
        let a = Sample::new(dtype, &sized(4), noise(1).map(|v| (v * 100.0).round()));
        let reversed: Vec<usize> = sized(7).into_iter().rev().collect();
        let turned = Layout::contiguous(&reversed).unwrap().permute(&[2, 1, 0]).unwrap();
        let b = Sample::laid_out(dtype, turned, noise(2).map(|v| (v * 9.0).round()));
        let none = Sample::zeros(dtype, &sized(0));
        let inputs = [a.arg(), none.arg(), b.arg(), a.arg()];
        agree(&Kernel::Join { dim }, &inputs, || vec![Sample::zeros(dtype, &sized(15))], 0.0, 0.0);
    }
}
