//! Every scalar function: its CUDA expression beside its closure on the CPU.

use crate::base::DType;
use crate::device::cpu::testing::{Sample, launch};
use crate::device::kernel::Kernel;
use crate::device::scalar::MapOp;

use super::host::run;

/// Numbers of every size and sign, ends of ranges, and what is none.
fn numbers(dtype: DType, turn: usize) -> Vec<f64> {
    let grid = (-40..=40).map(|i| f64::from(i) * 0.37);
    let odd = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30, 1e-8, 88.0, -88.0, 1e6, -1e6, 1e30, -1e30];
    let none = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut all: Vec<f64> = match dtype {
        DType::Int64 => (-40..=40).map(f64::from).chain([62.0, 63.0, -64.0, 1000.0, -77777.0]).collect(),
        _ => grid.chain(odd).chain(none).collect(),
    };
    // Each operand meets the others' numbers in another order.
    let n = all.len();
    all.rotate_left(turn * 31 % n);
    all
}

#[test]
#[ignore = "needs a C++ compiler"]
fn every_scalar_function_is_the_hosts() {
    let mut apart = Vec::new();
    for op in MapOp::ALL {
        let mut computed = 0;
        let divides = matches!(op, MapOp::FloorDiv | MapOp::TruncDiv | MapOp::Remainder | MapOp::Fmod);
        for dtype in [DType::Float32, DType::Float64, DType::Int64] {
            let inputs: Vec<Sample> = (0..op.arity())
                .map(|k| {
                    let mut all = numbers(dtype, k);
                    // Integers are not divided by 0.
                    if divides && k == 1 && dtype == DType::Int64 {
                        all.iter_mut().filter(|v| **v == 0.0).for_each(|v| *v = 7.0);
                    }
                    Sample::new(dtype, &[all.len()], all)
                })
                .collect();
            let shape = [numbers(dtype, 0).len()];
            let params = if *op == MapOp::Polygamma { [3.0, 0.0] } else { [0.7, 2.0] };
            let kernel = Kernel::Map { op: *op, params, compute: dtype };
            let args: Vec<_> = inputs.iter().map(Sample::arg).collect();
            let (want, got) = (Sample::zeros(dtype, &shape), Sample::zeros(dtype, &shape));
            if launch(&kernel, &args, &[want.view()]).is_err() {
                continue;
            }
            computed += 1;
            run(&kernel, &args, &[got.view()]);
            let bound = if dtype == DType::Float64 { 1e-11 } else { 2e-5 };
            for (i, (a, b)) in got.values().into_iter().zip(want.values()).enumerate() {
                let near = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= bound * (1.0 + b.abs());
                if !near {
                    let of: Vec<f64> = inputs.iter().map(|x| x.values()[i]).collect();
                    apart.push(format!("{op:?} {dtype} of {of:?}: {a}, on the CPU {b}"));
                    break;
                }
            }
        }
        assert!(computed > 0, "{op:?} is computed in no dtype");
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}
