//! Attention on the chip, beside the CPU's.

use crate::base::{DType, Layout};
use crate::device::cpu::testing::{Sample, launch};
use crate::device::kernel::*;

use super::host::agree;
use super::values::{noise, tolerance};

const F32: DType = DType::Float32;

/// Values of `[b, h, rows, e]` in the order of `[b, rows, h, e]`, as projections leave them.
fn heads(dtype: DType, [b, h, rows, e]: [usize; 4], seed: u64) -> Sample {
    let layout = Layout::contiguous(&[b, rows, h, e]).unwrap().transpose(1, 2).unwrap();
    Sample::laid_out(dtype, layout, noise(seed).map(|v| v / 2.0))
}

fn plain(dtype: DType, shape: &[usize], seed: u64) -> Sample {
    Sample::new(dtype, shape, noise(seed).map(|v| v / 2.0))
}

fn attended(dtype: DType, [b, h, l, s, e]: [usize; 5], views: bool, causal: bool) {
    let (to, from) = ([b, h, l, e], [b, h, s, e]);
    let made =
        |shape: [usize; 4], seed| if views { heads(dtype, shape, seed) } else { plain(dtype, &shape, seed) };
    let (q, k, v, dy) = (made(to, 1), made(from, 2), made(from, 3), made(to, 4));
    let scale = 1.0 / (e as f64).sqrt();
    let out = || vec![Sample::zeros(dtype, &to), Sample::zeros(F32, &[b, h, l])];
    let (rtol, atol) = (tolerance(dtype) * 4.0, tolerance(dtype) * 2.0);
    let forward = Kernel::Attention { scale, causal };
    agree(&forward, &[q.arg(), k.arg(), v.arg()], out, rtol, atol);
    let known = out();
    launch(&forward, &[q.arg(), k.arg(), v.arg()], &[known[0].view(), known[1].view()]).unwrap();
    let inputs = [dy.arg(), q.arg(), k.arg(), v.arg(), known[0].arg(), known[1].arg()];
    let grads = || vec![Sample::zeros(dtype, &to), Sample::zeros(dtype, &from), Sample::zeros(dtype, &from)];
    agree(&Kernel::AttentionGrad { scale, causal }, &inputs, grads, rtol, atol * 4.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn attention_of_odd_sizes_and_views() {
    let sizes =
        [[1, 2, 70, 133, 64], [2, 1, 130, 65, 40], [1, 2, 5, 70, 128], [3, 1, 1, 1, 8], [1, 1, 140, 150, 72]];
    for (i, sizes) in sizes.into_iter().enumerate() {
        for causal in [false, true] {
            let dtype = if (i % 2 == 0) != causal { DType::BFloat16 } else { DType::Float16 };
            attended(dtype, sizes, i % 2 == 0, causal);
        }
    }
}

/// Scores so far apart that one key has all, minus infinity and not a number among the values.
#[test]
#[ignore = "needs a C++ compiler"]
fn attention_of_extreme_scores() {
    let dtype = DType::BFloat16;
    let (to, from) = ([1, 1, 20, 16], [1, 1, 70, 16]);
    let (q, v) = (Sample::new(dtype, &to, noise(1).map(|v| v * 20.0)), plain(dtype, &from, 3));
    let k = Sample::new(dtype, &from, noise(2).map(|v| v * 20.0));
    let odd = || noise(1).enumerate().map(|(i, v)| if i == 35 { f64::NAN } else { v });
    let out = || vec![Sample::zeros(dtype, &to), Sample::zeros(F32, &[1, 1, 20])];
    for causal in [false, true] {
        let kernel = Kernel::Attention { scale: 1.0, causal };
        agree(&kernel, &[q.arg(), k.arg(), v.arg()], out, 0.05, 0.05);
        let q = Sample::new(dtype, &to, odd());
        agree(&kernel, &[q.arg(), k.arg(), v.arg()], out, 0.05, 0.05);
    }
}
