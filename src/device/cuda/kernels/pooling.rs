//! `MaxPool2d`, `AvgPool2d` and their gradients.

use crate::base::DType;
use crate::device::kernel::{Kernel, Launch, View, Window};

use super::args::Args;
use super::cases::all;
use super::compute::{Compute, Types};
use super::form::forms;
use super::operands::{address, input, is_apart, is_far, key, output, per_element};
use super::plan::Plan;
use super::recipe::{BOTH, OFF, ON, RecipeParts, WALK, ending, flag, row};

const POOL: RecipeParts = &[WALK, "pool"];

forms! {
    /// Windows of planes.
    PoolForm(types) {
        Max =>
            row("max_pool2d", 3, POOL, [("MAX_POOL", ON), ("COUNT_PADDING", OFF), ("LEAST", least(types))]),
            all(|d| [d, DType::Int64, d]);
        MaxGrad =>
            row("max_pool2d_grad", 3, POOL, [("MAX_POOL_GRAD", ON), ("COUNT_PADDING", OFF)]),
            all(|d| [d, d, DType::Int64]);
        Average { padding: bool in BOTH } =>
            row(ending("avg_pool2d", "_with_padding", padding), 2, POOL, [
                ("AVERAGE_POOL", ON),
                ("COUNT_PADDING", flag(padding)),
            ]),
            all(|d| [d; 2]);
        AverageGrad { padding: bool in BOTH } =>
            row(ending("avg_pool2d_grad", "_with_padding", padding), 2, POOL, [
                ("COUNT_PADDING", flag(padding)),
            ]),
            all(|d| [d; 2]);
    }
}

/// What every maximum begins with.
fn least(types: &Types) -> &'static str {
    if types.compute == Compute::I64 { "(-0x7fffffffffffffffll - 1)" } else { "T(-INFINITY)" }
}

pub(crate) fn plan(launch: &Launch) -> Option<Plan> {
    let (first, given) = (output(launch, 0)?, input(launch, 0)?);
    match launch.kernel {
        Kernel::MaxPool2d(window) => {
            let indices = output(launch, 1)?;
            pool(launch, PoolForm::Max, window, (&given, &first), &[&first, &indices, &given])
        }
        Kernel::MaxPool2dGrad(window) => {
            let indices = input(launch, 1)?;
            pool(launch, PoolForm::MaxGrad, window, (&first, &given), &[&first, &given, &indices])
        }
        Kernel::AvgPool2d(window) => {
            let form = PoolForm::Average { padding: window.count_include_pad };
            pool(launch, form, window, (&given, &first), &[&first, &given])
        }
        Kernel::AvgPool2dGrad(window) => {
            let form = PoolForm::AverageGrad { padding: window.count_include_pad };
            pool(launch, form, window, (&first, &given), &[&first, &given])
        }
        _ => None,
    }
}

/// A thread to each element of the first of the operands; `large` and `small` are the planes before and after.
fn pool(
    launch: &Launch,
    form: PoolForm,
    window: &Window,
    (large, small): (&View, &View),
    operands: &[&View],
) -> Option<Plan> {
    let (&[images, channels, h, w], &[n, c, oh, ow]) = (large.layout.shape(), small.layout.shape()) else {
        return None;
    };
    let empty = [window.size, window.stride, window.dilation].concat().contains(&0);
    let fits =
        |v: &&&View| v.layout.shape() == large.layout.shape() || v.layout.shape() == small.layout.shape();
    if [n, c] != [images, channels] || empty || operands.iter().any(|v| !fits(&v)) || !is_apart(launch, false)
    {
        return None;
    }
    let first = *operands.first()?;
    let mut wide = false;
    for view in operands {
        wide |= is_far(&[view.layout]);
    }
    let mut args = Args::new(wide);
    for view in operands {
        args.word(address(view));
    }
    args.index(first.layout.numel()).index(channels);
    axis(&mut args, window, 0, h, oh)?;
    axis(&mut args, window, 1, w, ow)?;
    args.structure();
    for view in operands {
        for &stride in view.layout.strides() {
            args.member(stride as u64);
        }
    }
    let compute = Compute::of(first.dtype);
    let key = match *operands {
        [a, b, c] => key(form, compute, [a.dtype, b.dtype, c.dtype], wide),
        [a, b] => key(form, compute, [a.dtype, b.dtype], wide),
        _ => return None,
    };
    per_element(key, first.layout.numel(), args)
}

/// An axis as `kernels/pool.cuh` has it; `None` where a place would not fit its integers.
fn axis(args: &mut Args, window: &Window, axis: usize, size: usize, pooled: usize) -> Option<()> {
    let of = |pair: &[usize; 2]| pair.get(axis).copied();
    let [length, stride] = [of(&window.size)?, of(&window.stride)?];
    let [padding, dilation] = [of(&window.padding)?, of(&window.dilation)?];
    let reach = pooled.checked_mul(stride)?.checked_add(length.checked_mul(dilation)?)?;
    if reach.checked_add(size)?.checked_add(padding.checked_mul(2)?)? > i32::MAX as usize / 2 {
        return None;
    }
    args.structure();
    for value in [size, pooled, length, stride, padding, dilation] {
        args.member_int(i32::try_from(value).ok()?);
    }
    Some(())
}
