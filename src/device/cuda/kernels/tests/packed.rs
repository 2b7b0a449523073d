//! What is read and written several elements at a time, beside what the CPU makes of it.

use crate::base::DType;
use crate::device::cpu::testing::Sample;
use crate::device::kernel::*;
use crate::device::scalar::MapOp;

use super::host::agree;
use super::values::{reduced, sample, tolerance};

const F32: DType = DType::Float32;
const I64: DType = DType::Int64;

/// Neighbours are read sixteen bytes at a time, through gaps as well.
#[test]
#[ignore = "needs a C++ compiler"]
fn reductions_of_neighbours() {
    for dtype in [F32, DType::Float16, DType::Float64, DType::UInt8, I64] {
        let (all, gaps) = (sample(dtype, &[4, 3, 112], 5), sample(dtype, &[4, 3, 144], 6));
        let middle = gaps.layout.slice(2, 16, 112, 1).unwrap();
        let gaps = gaps.through(middle);
        for x in [all.arg(), gaps.arg()] {
            for op in
                [ReduceOp::Sum { scale: 1.0 }, ReduceOp::Max, ReduceOp::Var { correction: 1.0, root: false }]
            {
                let is_whole = matches!(dtype, I64 | DType::UInt8);
                if is_whole && matches!(op, ReduceOp::Var { .. }) {
                    continue;
                }
                let to = if is_whole && !matches!(op, ReduceOp::Max) { I64 } else { dtype };
                for dims in [4, 5] {
                    let out = || vec![Sample::zeros(to, &reduced(&[4, 3, 112], dims))];
                    agree(&Kernel::Reduce { op, dims }, &[x], out, tolerance(dtype) * 40.0, 2e-5);
                }
            }
        }
    }
    let huge = Sample::new(F32, &[64], (0..).map(|i| 1e25 * f64::from(1 + i % 2)));
    let spread = Kernel::Reduce { op: ReduceOp::Var { correction: 0.0, root: true }, dims: 1 };
    agree(&spread, &[huge.arg()], || vec![Sample::zeros(F32, &[1])], 1e-4, 0.0);
}

/// Of a bias over all rows, and of columns side by side.
#[test]
#[ignore = "needs a C++ compiler"]
fn copies_of_rows_of_whole_words() {
    let copy = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: F32 };
    for dtype in [F32, DType::BFloat16, DType::Bool, DType::Float64] {
        for first in [0, 8, 3] {
            let wide = sample(dtype, &[1, 24], 3);
            let row = wide.layout.slice(1, first, 16, 1).unwrap().expand(&[5, 16]).unwrap();
            let row = wide.through(row);
            agree(&copy, &[row.arg()], || vec![Sample::zeros(dtype, &[5, 16])], 0.0, 0.0);
        }
    }
}
