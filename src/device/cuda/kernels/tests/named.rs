//! Elements at places that another tensor names, beside what the CPU does with them.

use crate::base::{DType, Scalar};
use crate::device::cpu::testing::Sample;
use crate::device::kernel::*;

use super::super::Gpu;
use super::host::{SMALL, agree, agree_on};
use super::values::{sample, tolerance, turned};

const F32: DType = DType::Float32;
const I64: DType = DType::Int64;

#[test]
#[ignore = "needs a C++ compiler"]
fn sums_in_the_order_of_the_index_are_the_hosts() {
    const IN_ORDER: Gpu = Gpu { in_order: true, ..SMALL };
    for dtype in [F32, DType::Float64, DType::Float16, DType::BFloat16] {
        // Short lists are sorted in shared memory, long ones digit by digit.
        for n in [300, 5000] {
            let rows = Sample::new(I64, &[n], (0..).map(|i| f64::from(i * 7 % 4)));
            let source = sample(dtype, &[n, 3], 5);
            let out = || vec![turned(dtype, &[4, 3], 1)];
            let add = Kernel::IndexAdd { dim: 0 };
            agree_on(&IN_ORDER, &add, &[rows.arg(), source.arg()], out, 0.0, 0.0);
            agree_on(&IN_ORDER, &add, &[rows.arg(), Arg::Scalar(Scalar::Float(0.3))], out, 0.0, 0.0);
            let index = Sample::new(I64, &[n, 2], (0..).map(|i| f64::from(i * 5 % 3)));
            let scatter = Kernel::Scatter { dim: 0, mode: ScatterMode::Add };
            agree_on(&IN_ORDER, &scatter, &[index.arg(), source.arg()], out, 0.0, 0.0);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn rows_of_bags_are_the_hosts() {
    let index = Sample::new(I64, &[12], (0..).map(|i| f64::from(i * 5 % 7)));
    // An empty bag, and a start that only ends the last one.
    let starts = Sample::new(I64, &[5], [0.0, 3.0, 3.0, 9.0, 11.0]);
    for dtype in [F32, DType::Float64, DType::Float16, DType::BFloat16] {
        for table in [sample(dtype, &[7, 5], 2), turned(dtype, &[7, 5], 3)] {
            for (mode, padding) in [(Bag::Sum, -1), (Bag::Mean, 3), (Bag::Max, -1), (Bag::Max, 2)] {
                let out = || {
                    let places = (mode == Bag::Max).then(|| Sample::zeros(I64, &[4, 5]));
                    std::iter::once(Sample::zeros(dtype, &[4, 5])).chain(places).collect()
                };
                let kernel = Kernel::EmbeddingBag { mode, padding };
                agree(&kernel, &[table.arg(), index.arg(), starts.arg()], out, tolerance(dtype), 0.0);
            }
            let weights = sample(dtype, &[12], 4);
            let kernel = Kernel::EmbeddingBag { mode: Bag::Sum, padding: -1 };
            let inputs = [table.arg(), index.arg(), starts.arg(), weights.arg()];
            agree(&kernel, &inputs, || vec![Sample::zeros(dtype, &[4, 5])], tolerance(dtype), 1e-6);
        }
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn elements_at_named_places() {
    for dtype in [F32, DType::Float16, DType::BFloat16, I64, DType::Int8, DType::Int16, DType::Bool] {
        // Atomics round each sum that comes by.
        let sums = if dtype.is_float() { tolerance(dtype) * 16.0 } else { 0.0 };
        let x = turned(dtype, &[6, 5, 4], 1);
        let rows = Sample::new(I64, &[3], [4.0, -1.0, 0.0]);
        let out = || vec![Sample::zeros(dtype, &[6, 3, 4])];
        agree(&Kernel::IndexSelect { dim: 1, from_end: true }, &[x.arg(), rows.arg()], out, 0.0, 0.0);
        // Rows of whole words, and rows that are not.
        for n in [32, 33] {
            let (table, out) = (sample(dtype, &[6, n], 4), || vec![Sample::zeros(dtype, &[3, n])]);
            agree(&Kernel::IndexSelect { dim: 0, from_end: true }, &[table.arg(), rows.arg()], out, 0.0, 0.0);
        }
        let source = sample(dtype, &[6, 3, 4], 2);
        let out = || vec![turned(dtype, &[6, 5, 4], 3)];
        agree(&Kernel::IndexAdd { dim: 1 }, &[rows.arg(), source.arg()], out, tolerance(dtype), sums);
        agree(
            &Kernel::IndexAdd { dim: 1 },
            &[rows.arg(), Arg::Scalar(Scalar::Int(2))],
            out,
            tolerance(dtype),
            0.0,
        );
        if dtype.is_float() {
            // Half types would stop at 256 and 2048.
            let (same, ones) = (
                Sample::new(I64, &[3000], std::iter::repeat(1.0)),
                Sample::new(dtype, &[3000, 2], std::iter::repeat(1.0)),
            );
            let out = || vec![Sample::zeros(dtype, &[4, 2])];
            agree(&Kernel::IndexAdd { dim: 0 }, &[same.arg(), ones.arg()], out, tolerance(dtype), 0.0);
        }
        let index = Sample::new(DType::Int32, &[2, 5, 3], (0..).map(|i| f64::from(i * 5 % 6)));
        agree(
            &Kernel::Gather { dim: 0 },
            &[x.arg(), index.arg()],
            || vec![Sample::zeros(dtype, &[2, 5, 3])],
            0.0,
            0.0,
        );
        let index = Sample::new(I64, &[6, 2, 3], (0..).map(|i| f64::from(i % 5)));
        let source = Sample::new(dtype, &[6, 2, 4], (0..).map(|i| f64::from(i % 3)));
        let add = Kernel::Scatter { dim: 1, mode: ScatterMode::Add };
        agree(&add, &[index.arg(), source.arg()], out, tolerance(dtype), sums);
        for mode in [ScatterMode::Multiply, ScatterMode::Maximum, ScatterMode::Minimum] {
            let combine = Kernel::Scatter { dim: 1, mode };
            agree(&combine, &[index.arg(), source.arg()], out, tolerance(dtype), sums);
        }
        let apart = Sample::new(I64, &[6, 2, 3], (0..).map(|i| f64::from(i / 3 % 2)));
        let assign = Kernel::Scatter { dim: 1, mode: ScatterMode::Assign };
        agree(&assign, &[apart.arg(), source.arg()], out, 0.0, 0.0);
        agree(&assign, &[apart.arg(), Arg::Scalar(Scalar::Float(1.0))], out, 0.0, 0.0);
    }
    let (table, index) = (sample(F32, &[9, 4], 1), Sample::new(I64, &[6], [8.0, 0.0, 3.0, 3.0, -9.0, 1.0]));
    agree(
        &Kernel::IndexSelect { dim: 0, from_end: true },
        &[table.arg(), index.arg()],
        || vec![Sample::zeros(F32, &[2, 3, 4])],
        0.0,
        0.0,
    );
}
