//! Long lines whose tiles tell each other what they have: sorted digit by digit, and summed up as they go.

use crate::base::{DType, Layout};
use crate::device::cpu::testing::Sample;
use crate::device::kernel::*;
use crate::device::{Buffer, Cancel};

use super::super::{Step, plan};
use super::host::{SMALL, agree, probe, run};
use super::values::{noise, tolerance, turned};

const F32: DType = DType::Float32;
const I64: DType = DType::Int64;
/// Elements of a tile whose keys have 4 bytes; of 8 bytes it has half as many.
const SORTED: usize = 6144;
const SUMMED: usize = 4096;

fn sorts(x: &Sample, dim: usize, kept: usize) {
    let mut shape = x.layout.shape().to_vec();
    shape[dim] = kept;
    for descending in [false, true] {
        let out = || vec![turned(x.dtype, &shape, 1), Sample::zeros(I64, &shape)];
        agree(&Kernel::Sort { dim, descending }, &[x.arg()], out, 0.0, 0.0);
    }
}

/// What carries a kernel out on contiguous operands.
fn steps(kernel: &Kernel, dtype: DType, shape: [usize; 2]) -> Vec<Step> {
    let layout = Layout::contiguous(&shape).unwrap();
    let memory = [1, 2, 3].map(|i: u64| Buffer::new(i << 40, 1 << 40, None, false));
    let view = |i: usize, dtype| View { buffer: &memory[i], dtype, layout: &layout };
    let (inputs, outputs) = ([Arg::View(view(0, dtype))], [view(1, dtype), view(2, I64)]);
    let outputs = &outputs[..if matches!(kernel, Kernel::Sort { .. }) { 2 } else { 1 }];
    let cancel = Cancel::default();
    let launch =
        Launch { op: "test", kernel, inputs: &inputs, outputs, stream: 0, cancel: &cancel, timed: false };
    plan(&launch, &SMALL, 1 << 44).unwrap().steps.to_vec()
}

#[test]
#[ignore = "needs a C++ compiler"]
fn sorts_of_lengths_around_tiles() {
    for n in [2049, SORTED / 2, SORTED / 2 + 1, SORTED - 1, SORTED, SORTED + 1, 7 * SORTED - 1] {
        let odd = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY];
        for dtype in [F32, DType::Float64, DType::BFloat16] {
            // Many are equal, and zeros and NaN lie in several tiles.
            let few = noise(7).map(|v| (v * 40.0).round() / 8.0).enumerate();
            let values = few.map(|(i, v)| if i % 7 == 0 { odd[i / 7 % 5] } else { v });
            sorts(&Sample::new(dtype, &[n], values), 0, n);
        }
        sorts(&Sample::new(I64, &[n], noise(9).map(|v| (v * 1e17).round())), 0, n);
        sorts(&Sample::new(DType::UInt8, &[n], noise(9).map(|v| (v * 30.0).abs().round())), 0, n);
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn sorts_leave_out_digits_that_are_the_same() {
    let n = SORTED + 100;
    sorts(&Sample::new(F32, &[n], std::iter::repeat(-2.5)), 0, n);
    sorts(&Sample::new(F32, &[n], std::iter::repeat(f64::NAN)), 0, n);
    // One, two and three of the digits between the first and the last differ, and with them the place of the keys.
    for bits in [0u64, 0x00ff_0000, 0x00ff_00ff_0000, 0xff_00ff_ff00, 0xff, u64::MAX >> 12] {
        let values =
            noise(3).map(move |v| ((v * 1e9) as i64 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) & bits);
        sorts(&Sample::new(I64, &[n], values.map(|v| v as f64)), 0, n);
    }
    // Lines leave out different ones.
    let lines = (0..3 * n).map(|i| [7.0, (i * 7919 % 1000) as f64, (i % 900) as f64 * 16_777_216.0][i / n]);
    sorts(&Sample::new(I64, &[3, n], lines), 1, n);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn sorts_of_several_long_lines() {
    for dtype in [F32, I64] {
        let few = || noise(5).map(|v| (v * 20.0).round());
        sorts(&Sample::new(dtype, &[3, 7000], few()), 1, 7000);
        sorts(&Sample::new(dtype, &[6500, 2], few()), 0, 6500);
        // The first of each line, too many to be picked.
        sorts(&Sample::new(dtype, &[2, 9000], few()), 1, 1500);
        let layout = Layout::contiguous(&[2, 16_000]).unwrap().slice(1, 1, 8000, 2).unwrap();
        sorts(&Sample::laid_out(dtype, layout, few()), 1, 8000);
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn running_sums_of_lengths_around_tiles() {
    for n in [2 * SUMMED, 2 * SUMMED + 1, 32 * SUMMED, 33 * SUMMED + 5, 65 * SUMMED - 1] {
        let whole = Sample::new(I64, &[n], noise(1).map(|v| (v * 100.0).round()));
        let sum = Kernel::Scan { op: ScanOp::Sum, dim: 0 };
        agree(&sum, &[whole.arg()], || vec![Sample::zeros(I64, &[n])], 0.0, 0.0);
        for dtype in [F32, DType::Float64, DType::BFloat16] {
            let x = Sample::new(dtype, &[n], noise(2).map(|v| v / 64.0));
            agree(&sum, &[x.arg()], || vec![Sample::zeros(dtype, &[n])], tolerance(dtype) * 4.0, 1e-4);
        }
    }
    // More groups of tiles than are looked at together, and products whose order would show.
    let n = 33 * 32 * SUMMED + 7;
    let whole = Sample::new(I64, &[n], noise(1).map(|v| (v * 100.0).round()));
    let product = Kernel::Scan { op: ScanOp::Prod, dim: 0 };
    agree(&product, &[whole.arg()], || vec![Sample::zeros(I64, &[n])], 0.0, 0.0);
    let sum = Kernel::Scan { op: ScanOp::Sum, dim: 0 };
    agree(&sum, &[whole.arg()], || vec![Sample::zeros(I64, &[n])], 0.0, 0.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn running_sums_of_several_lines_and_in_place() {
    for (shape, dim) in [(vec![3, 20_001], 1), (vec![9000, 2], 0)] {
        let sum = Kernel::Scan { op: ScanOp::Sum, dim };
        let x = Sample::new(I64, &shape, noise(4).map(|v| (v * 100.0).round()));
        agree(&sum, &[x.arg()], || vec![turned(I64, &shape, 1)], 0.0, 0.0);
        let apart = Sample::zeros(I64, &shape);
        run(&sum, &[x.arg()], &[apart.view()]);
        run(&sum, &[x.arg()], &[x.view()]);
        assert_eq!(x.values(), apart.values());
    }
}

/// What a tile finds where those before have told no more than what they have themselves: blocks that run one after
/// another never do.
#[test]
#[ignore = "needs a C++ compiler"]
fn tiles_look_back_to_the_nearest_that_knows() {
    const KNOWN: u32 = 1 << 31;
    let sort = steps(&Kernel::Sort { dim: 1, descending: false }, F32, [1, 50_000]).remove(2);
    let look_back = probe(
        sort.key,
        "looking_back",
        "extern \"C\" __global__ void looking_back(unsigned* to, const unsigned* told, unsigned long long tile) {
            to[threadIdx.x] = look_back(told + threadIdx.x, unsigned(tile));
        }",
    );
    let (tiles, digits) = (23, 256);
    // Of digit `d` tile `t` has `d + t`, and those before it begin at 1000.
    let until = |t: u32, d: u32| 1000 + (0..=t).map(|t| d + t).sum::<u32>();
    for known in [0, 1, 7, 21, 22] {
        let word = |t: u32, d: u32| if t <= known { KNOWN | until(t, d) } else { d + t + 1 };
        let told: Vec<u32> = (0..tiles).flat_map(|t| (0..digits).map(move |d| word(t, d))).collect();
        let mut to = vec![0u32; 256];
        look_back(digits, &[to.as_mut_ptr() as u64, told.as_ptr() as u64, u64::from(tiles)]);
        assert!((0..digits).zip(&to).all(|(d, &sum)| sum == until(tiles - 1, d)), "{known}: {to:?}");
    }
    let scan = steps(&Kernel::Scan { op: ScanOp::Sum, dim: 1 }, F32, [1, 50_000]).remove(1);
    let look_back = probe(
        scan.key,
        "groups_back",
        "extern \"C\" __global__ void groups_back(A* to, const Word* groups, unsigned long long group) {
            A sum = groups_before(groups, Index(group));
            if (threadIdx.x == 0) *to = sum;
        }",
    );
    let own: Vec<f64> = noise(1).take(40).collect();
    for groups in [1, 2, 31, 32, 33, 40] {
        let until: Vec<f64> = own
            .iter()
            .scan(0.0, |sum, v| {
                *sum += v;
                Some(*sum)
            })
            .take(groups)
            .collect();
        for known in groups.saturating_sub(32)..groups {
            let word = |g: usize| if g <= known { (until[g].to_bits(), 2) } else { (own[g].to_bits(), 1) };
            let told: Vec<u64> = (0..groups)
                .map(word)
                .flat_map(|(bits, what)| [bits << 32 | what, bits >> 32 << 32 | what])
                .collect();
            let mut to = 0f64;
            look_back(32, &[&raw mut to as u64, told.as_ptr() as u64, groups as u64]);
            assert_eq!(to.to_bits(), until[groups - 1].to_bits(), "{groups} {known}");
        }
    }
}

#[test]
fn long_lines_are_read_once() {
    let planned = |kernel: &Kernel, dtype, shape| {
        let steps = steps(kernel, dtype, shape);
        (steps.len(), steps.last().unwrap().key.entry())
    };
    let scans = |lines, length| planned(&Kernel::Scan { op: ScanOp::Sum, dim: 1 }, F32, [lines, length]);
    assert_eq!(scans(1, 1 << 20), (2, "cumsum_tiles_f32".into()));
    assert_eq!(scans(64, 1 << 20), (1, "cumsum_f32".into()), "lines that keep all multiprocessors busy");
    assert_eq!(scans(1, 5000), (1, "cumsum_f32".into()));
    let sorts = |dtype| planned(&Kernel::Sort { dim: 1, descending: false }, dtype, [1, 50_000]).0;
    // What they tell is cleared, digits are counted, and each is a pass.
    assert_eq!([F32, I64, DType::BFloat16, DType::Bool].map(sorts), [6, 10, 4, 3]);
}
