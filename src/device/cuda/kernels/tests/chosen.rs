//! What is chosen by value, beside what the CPU chooses: places of a mask, the first of an order.

use crate::base::DType;
use crate::device::cpu::testing::Sample;
use crate::device::kernel::*;

use super::host::agree;
use super::values::{noise, turned};

const F32: DType = DType::Float32;
const I64: DType = DType::Int64;

#[test]
#[ignore = "needs a C++ compiler"]
fn places_of_masks() {
    for n in [1usize, 15, 16, 4095, 4096, 4097, 40_000] {
        let masks: [Box<dyn Fn(usize) -> bool>; 4] = [
            Box::new(|_| true),
            Box::new(|_| false),
            Box::new(|i| i * 7919 % 13 < 6),
            Box::new(move |i| i + 1 == n),
        ];
        for is in masks {
            // From the start of a word, and from one byte behind it.
            for first in 0..2 {
                let values = (0..n + first).map(|i| f64::from(u8::from(i >= first && is(i - first))));
                let all = Sample::new(DType::Bool, &[n + first], values);
                let layout = all.layout.slice(0, first, n, 1).unwrap();
                let mask = all.through(layout);
                let count = (0..n).filter(|&i| is(i)).count();
                for room in [count, count.saturating_sub(3)] {
                    let out = || vec![Sample::zeros(I64, &[room])];
                    agree(&Kernel::Places, &[mask.arg()], out, 0.0, 0.0);
                }
            }
        }
    }
}

/// Values of which many are equal, NaN, both zeros and infinities among those of floats.
fn few(dtype: DType, shape: &[usize]) -> Sample {
    let odd = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY];
    let few = noise(3).map(|v| (v * 40.0).round() / 8.0).enumerate();
    let value = |(i, v): (usize, f64)| match dtype.is_float() {
        true if i % 97 == 0 => odd[i / 97 % 5],
        true => v,
        false => v.abs(),
    };
    Sample::new(dtype, shape, few.map(value))
}

fn picked(x: &Sample, dim: usize, kept: usize) {
    let mut shape = x.layout.shape().to_vec();
    shape[dim] = kept;
    for descending in [false, true] {
        let out = || vec![turned(x.dtype, &shape, 1), Sample::zeros(I64, &shape)];
        agree(&Kernel::Sort { dim, descending }, &[x.arg()], out, 0.0, 0.0);
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn the_first_of_an_order() {
    for dtype in [F32, DType::Float64, DType::Float16, I64, DType::UInt8] {
        for (kept, shape, dim) in
            [(1, vec![3, 2500], 1), (10, vec![5000], 0), (3, vec![2100, 2], 0), (7, vec![4, 300], 1)]
        {
            picked(&few(dtype, &shape), dim, kept);
        }
    }
    let apart = Sample::new(F32, &[2, 6000], noise(11));
    for kept in [1, 256, 257, 768, 769, 1024, 1025, 5999] {
        picked(&apart, 1, kept);
        picked(&few(F32, &[2, 6000]), 1, kept);
    }
    // All alike: the first ones; and an order that is the worst for a bound by threads.
    picked(&Sample::new(F32, &[9000], std::iter::repeat(2.0)), 0, 300);
    picked(&Sample::new(F32, &[9000], std::iter::repeat(f64::NAN)), 0, 5);
    picked(&Sample::new(F32, &[9000], (0..).map(|i| f64::from(i % 512 * 100 + i / 512))), 0, 100);
    // Few lines are taken in pieces.
    for (n, kept) in [(70_000, 10), (65_536, 1000), (40_001, 1)] {
        picked(&few(F32, &[n]), 0, kept);
        picked(&Sample::new(I64, &[n, 2], noise(5).map(|v| v * 1e9)), 0, kept);
    }
}
