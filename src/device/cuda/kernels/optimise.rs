//! `Sgd`, `Adam`, `Unscale` and `UpdateScale`.

use crate::base::DType;
use crate::device::kernel::{Kernel, Launch, View};

use super::args::Args;
use super::cases::{floats, is_float32};
use super::compute::Compute;
use super::form::forms;
use super::operands::{address, float, input, is_apart, key, output, per_element};
use super::plan::{Plan, Step};
use super::recipe::{ON, RecipeParts, WALK, row};
use super::walk::{Order, Walk};

const OPTIMISE: RecipeParts = &[WALK, "optimise"];

forms! {
    /// Steps of optimisers and of gradient scaling.
    OptimiseForm(types) {
        Sgd => row("sgd", 3, OPTIMISE, [("SGD", ON)]), floats(|d| [d; 3]);
        Adam => row("adam", 4, OPTIMISE, [("ADAM", ON)]), floats(|d| [d; 4]).and_wide(is_float32);
        Unscale =>
            row("unscale", 1, OPTIMISE, [("UNSCALE", ON)]),
            floats(|d| [d, DType::Float32, DType::Float32]);
        UpdateScale =>
            row("update_scale", 1, OPTIMISE, []),
            floats(|d| [d, DType::Int32, d]).only(is_float32);
    }
}

pub(super) fn sgd(launch: &Launch) -> Option<Plan> {
    let Kernel::Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize, first } = *launch.kernel
    else {
        return None;
    };
    let (parameter, grad) = (output(launch, 0)?, input(launch, 0)?);
    let buffer = if momentum == 0.0 { None } else { Some(output(launch, 1)?) };
    let compute = float(parameter.dtype)?;
    if !is_apart(launch, false) {
        return None;
    }
    let layouts = [Some(parameter.layout), Some(grad.layout), buffer.map(|b| b.layout)];
    let walk = Walk::of(layouts, Order::Memory)?;
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(&parameter)).word(address(&grad)).word(buffer.as_ref().map_or(0, address));
    let sign = if maximize { -1.0 } else { 1.0 };
    for value in [-lr, momentum, 1.0 - dampening, weight_decay, sign] {
        args.parameter(compute, value);
    }
    let options = i32::from(weight_decay != 0.0) | i32::from(nesterov) << 1 | i32::from(first) << 2;
    args.int(options).walk(&walk);
    let dtypes = [parameter.dtype, grad.dtype, buffer.map_or(parameter.dtype, |b| b.dtype)];
    per_element(key(OptimiseForm::Sgd, compute, dtypes, wide), walk.count(), args)
}

pub(super) fn adam(launch: &Launch) -> Option<Plan> {
    let Kernel::Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step } = *launch.kernel
    else {
        return None;
    };
    let (parameter, grad) = (output(launch, 0)?, input(launch, 0)?);
    let (mean, square) = (output(launch, 1)?, output(launch, 2)?);
    let compute = float(parameter.dtype)?;
    if !is_apart(launch, false) {
        return None;
    }
    let views: [&View; 4] = [&parameter, &grad, &mean, &square];
    let walk = Walk::of(views.map(|v| Some(v.layout)), Order::Memory)?;
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    for view in views {
        args.word(address(view));
    }
    let exponent = step.min(i32::MAX as u64) as i32;
    let correction = |beta: f64| 1.0 - beta.powi(exponent);
    let keep = if decoupled { 1.0 - lr * weight_decay } else { 1.0 };
    let sign = if maximize { -1.0 } else { 1.0 };
    let (size, root) = (-lr / correction(beta1), correction(beta2).sqrt());
    for value in [size, root, keep, weight_decay, sign, 1.0 - beta1, beta2, 1.0 - beta2, eps] {
        args.parameter(compute, value);
    }
    let (plain, near) = (decoupled || weight_decay == 0.0, 1.0 - beta1 < 0.5);
    args.int(i32::from(plain) | i32::from(near) << 1).walk(&walk);
    per_element(key(OptimiseForm::Adam, compute, views.map(|v| v.dtype), wide), walk.count(), args)
}

pub(super) fn unscale(launch: &Launch) -> Option<Plan> {
    let (grad, found, factor) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
    let compute = float(grad.dtype)?;
    if found.layout.numel() != 1 || factor.layout.numel() != 1 || !is_apart(launch, false) {
        return None;
    }
    let walk = Walk::of([Some(grad.layout)], Order::Memory)?;
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(&grad)).word(address(&found)).word(address(&factor)).walk(&walk);
    per_element(
        key(OptimiseForm::Unscale, compute, [grad.dtype, found.dtype, factor.dtype], wide),
        walk.count(),
        args,
    )
}

pub(crate) fn update_scale(launch: &Launch, growth: f64, backoff: f64, interval: i64) -> Option<Plan> {
    let (scale, tracker, found) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
    if [&scale, &tracker, &found].iter().any(|v| v.layout.numel() != 1) {
        return None;
    }
    let mut args = Args::new(false);
    args.word(address(&scale)).word(address(&tracker)).word(address(&found));
    args.double(growth).double(backoff).long(interval);
    let key = key(OptimiseForm::UpdateScale, Compute::F32, [scale.dtype, tracker.dtype, found.dtype], false);
    Plan::of(Step { key, grid: [1, 1, 1], block: [1, 1, 1], shared: 0, args })
}
