//! Attention on the chip, beside the CPU's.

use crate::base::{DType, Layout};
use crate::device::Cancel;
use crate::device::cpu::testing::{Sample, launch};
use crate::device::kernel::*;

use super::super::{Gpu, plan};
use super::host::{HOPPER, SMALL, agree, agree_on};
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

fn attended(gpu: &Gpu, dtype: DType, [b, h, l, s, e]: [usize; 5], views: bool, causal: bool) {
    let (to, from) = ([b, h, l, e], [b, h, s, e]);
    let made =
        |shape: [usize; 4], seed| if views { heads(dtype, shape, seed) } else { plain(dtype, &shape, seed) };
    let (q, k, v, dy) = (made(to, 1), made(from, 2), made(from, 3), made(to, 4));
    let scale = 1.0 / (e as f64).sqrt();
    let out = || vec![Sample::zeros(dtype, &to), Sample::zeros(F32, &[b, h, l])];
    let (rtol, atol) = (tolerance(dtype) * 4.0, tolerance(dtype) * 2.0);
    let forward = Kernel::Attention { scale, causal };
    agree_on(gpu, &forward, &[q.arg(), k.arg(), v.arg()], out, rtol, atol);
    let known = out();
    launch(&forward, &[q.arg(), k.arg(), v.arg()], &[known[0].view(), known[1].view()]).unwrap();
    let inputs = [dy.arg(), q.arg(), k.arg(), v.arg(), known[0].arg(), known[1].arg()];
    let grads = || vec![Sample::zeros(dtype, &to), Sample::zeros(dtype, &from), Sample::zeros(dtype, &from)];
    agree_on(gpu, &Kernel::AttentionGrad { scale, causal }, &inputs, grads, rtol, atol * 4.0);
}

#[test]
#[ignore = "needs a C++ compiler"]
fn attention_of_odd_sizes_and_views() {
    let sizes =
        [[1, 2, 70, 133, 64], [2, 1, 130, 65, 40], [1, 2, 5, 70, 128], [3, 1, 1, 1, 8], [1, 1, 140, 150, 72]];
    for (i, sizes) in sizes.into_iter().enumerate() {
        for causal in [false, true] {
            let dtype = if (i % 2 == 0) != causal { DType::BFloat16 } else { DType::Float16 };
            attended(&SMALL, dtype, sizes, i % 2 == 0, causal);
        }
    }
}

/// Where warpgroups multiply: tiles that are whole and not, more of them than there is room for, and blocks of one row.
#[test]
#[ignore = "needs a C++ compiler"]
fn attention_by_warpgroups() {
    let sizes = [
        [1, 2, 130, 133, 64],
        [2, 1, 129, 500, 64],
        [1, 2, 5, 70, 128],
        [3, 1, 1, 1, 64],
        [1, 1, 200, 350, 128],
        [1, 1, 300, 65, 128],
        [1, 1, 260, 64, 64],
    ];
    for (i, sizes) in sizes.into_iter().enumerate() {
        for causal in [false, true] {
            let dtype = if (i % 2 == 0) != causal { DType::BFloat16 } else { DType::Float16 };
            attended(&HOPPER, dtype, sizes, i % 2 == 0, causal);
        }
    }
}

/// Which kernels a shape's passes are, with queries whose batch is repeated or not.
fn names(gpu: &Gpu, e: usize, repeated: bool) -> Vec<String> {
    let plan_of = |kernel: &Kernel, inputs: &[Arg], outputs: &[View]| {
        let cancel = Cancel::default();
        let launch = Launch { op: "test", kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false };
        plan(&launch, gpu, 0).unwrap().steps.iter().map(|step| step.key.entry()).collect::<Vec<_>>()
    };
    let (dtype, shape) = (DType::Float16, [2, 3, 40, e]);
    let of = || plain(dtype, &shape, 1);
    let one = plain(dtype, &[1, 3, 40, e], 1);
    let expanded = one.layout.expand(&shape).unwrap();
    let wide = one.through(expanded);
    let (q, k, v, y) = (if repeated { wide } else { of() }, of(), of(), of());
    let lse = Sample::zeros(F32, &shape[..3]);
    let (scale, causal) = (1.0, false);
    let forward = Kernel::Attention { scale, causal };
    let mut names = plan_of(&forward, &[q.arg(), k.arg(), v.arg()], &[y.view(), lse.view()]);
    let (dy, dq, dk, dv) = (of(), of(), of(), of());
    let inputs = [dy.arg(), q.arg(), k.arg(), v.arg(), y.arg(), lse.arg()];
    names.extend(plan_of(
        &Kernel::AttentionGrad { scale, causal },
        &inputs,
        &[dq.view(), dk.view(), dv.view()],
    ));
    names
}

#[test]
fn warpgroups_attend_where_tensor_maps_reach() {
    let count = |gpu, e, repeated| {
        let names = names(gpu, e, repeated);
        (names.len(), names.iter().filter(|name| name.contains("wgmma")).count())
    };
    assert_eq!(count(&HOPPER, 64, false), (4, 3));
    assert_eq!(count(&HOPPER, 128, false), (4, 3));
    assert_eq!(count(&HOPPER, 40, false), (4, 0), "another width");
    assert_eq!(count(&HOPPER, 64, true), (4, 0), "steps of nothing");
    assert_eq!(count(&SMALL, 64, false), (4, 0));
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
