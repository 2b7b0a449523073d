//! `NllLoss` and its gradient.

use crate::base::{DType, Scalar};
use crate::device::kernel::{Arg, Kernel, Launch, Reduction, View};
use crate::device::scalar::MapOp;

use super::args::Args;
use super::cases::floats;
use super::form::forms;
use super::map;
use super::operands::{address, blocks, float, input, is_apart, is_far, key, output, per_element};
use super::plan::{Plan, Step};
use super::recipe::{BOTH, GROUP, OFF, ON, RecipeParts, WALK, ending, flag, row};

const LOSS: &str = "loss";
const LOSSES: RecipeParts = &[WALK, GROUP, LOSS];
const LOSS_GRADIENTS: RecipeParts = &[WALK, LOSS];

forms! {
    /// A loss of classes, and its gradient.
    LossForm(types) {
        Nll { each: bool in BOTH } =>
            row(ending("nll_loss", "_each", each), 3, LOSSES, [
                ("EACH_SAMPLE", flag(each)),
                ("ACROSS", OFF),
                ("TARGET", types.typed(3)),
            ]),
            floats(|d| [d, d, d, DType::Int64, d]);
        NllGrad =>
            row("nll_loss_grad", 3, LOSS_GRADIENTS, [("GRADIENT", ON), ("TARGET", types.typed(2))]),
            floats(|d| [d, d, DType::Int64, d, d]);
    }
}

pub(crate) fn nll(launch: &Launch, reduction: Reduction, ignore_index: i64) -> Option<Plan> {
    let (loss, total, logp, target) =
        (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?, input(launch, 1)?);
    let weight = input(launch, 2);
    let compute = float(loss.dtype)?;
    let (&[n, classes], &[row, class]) = (logp.layout.shape(), logp.layout.strides()) else { return None };
    let (&[targets], &[target_step]) = (target.layout.shape(), target.layout.strides()) else { return None };
    let each = reduction == Reduction::None;
    let loss_step = match (loss.layout.shape(), loss.layout.strides()) {
        (&[size], &[step]) if each && size == n => step,
        _ if !each && loss.layout.numel() == 1 => 0,
        _ => return None,
    };
    let (weight_at, weight_step) = vector(weight.as_ref(), classes)?;
    if targets != n || total.layout.numel() != 1 || !is_apart(launch, false) {
        return None;
    }
    let wide = is_far(&[logp.layout, target.layout, loss.layout]);
    let mut args = Args::new(wide);
    args.word(address(&loss))
        .word(address(&total))
        .word(address(&logp))
        .word(address(&target))
        .word(weight_at);
    args.index(n).index(classes).long(ignore_index);
    args.step(loss_step).step(row).step(class).step(target_step).step(weight_step);
    args.int(i32::from(reduction == Reduction::Mean));
    let weight = weight.map_or(logp.dtype, |w| w.dtype);
    let key = key(
        LossForm::Nll { each },
        compute,
        [loss.dtype, total.dtype, logp.dtype, target.dtype, weight],
        wide,
    );
    let (grid, threads) = if each {
        (blocks(n.max(1), 256)?.min(1 << 16), 256)
    } else {
        (1, n.next_power_of_two().clamp(32, 1024) as u32)
    };
    Plan::of(Step { key, grid: [grid, 1, 1], block: [threads, 1, 1], shared: 0, args })
}

pub(crate) fn nll_grad(launch: &Launch, reduction: Reduction, ignore_index: i64) -> Option<Plan> {
    let (dlogp, dloss, logp, target) =
        (output(launch, 0)?, input(launch, 0)?, input(launch, 1)?, input(launch, 2)?);
    let weight = if launch.inputs.len() > 4 { Some(input(launch, 3)?) } else { None };
    let total = input(launch, launch.inputs.len().checked_sub(1)?)?;
    let compute = float(dlogp.dtype)?;
    let &[n, classes] = dlogp.layout.shape() else { return None };
    let (weight_at, weight_step) = vector(weight.as_ref(), classes)?;
    let each = reduction == Reduction::None;
    let along_rows = |view: &View| match (view.layout.shape(), view.layout.strides()) {
        (&[size], &[step]) if size == n => Some(step),
        _ => None,
    };
    let slope = if each { along_rows(&dloss)? } else { 0 };
    let fits = logp.layout.shape() == [n, classes] && (each || dloss.layout.numel() == 1);
    if !fits || !is_apart(launch, false) {
        return None;
    }
    let &[row, column] = dlogp.layout.strides() else { return None };
    let (targets, wide) = (along_rows(&target)?, is_far(&[dlogp.layout, target.layout, dloss.layout]));
    let zero = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: dlogp.dtype };
    let zeros =
        Launch { kernel: &zero, inputs: &[Arg::Scalar(Scalar::Int(0))], outputs: &[dlogp], ..*launch };
    let mut plan = map::plan(&zeros, MapOp::Identity, [0.0; 2], dlogp.dtype)?;
    let divisor = if reduction == Reduction::Mean { address(&total) } else { 0 };
    let mut args = Args::new(wide);
    args.word(address(&dlogp)).word(address(&dloss)).word(address(&target)).word(weight_at).word(divisor);
    args.index(n).index(classes).long(ignore_index);
    args.step(row).step(column).step(slope).step(targets).step(weight_step);
    let weight = weight.map_or(dlogp.dtype, |w| w.dtype);
    let dtypes = [dlogp.dtype, dloss.dtype, target.dtype, weight, total.dtype];
    plan.steps.extend(per_element(key(LossForm::NllGrad, compute, dtypes, wide), n, args)?.steps);
    Some(plan)
}

/// A weight for each class: its address and step; a missing one is at 0.
fn vector(view: Option<&View>, n: usize) -> Option<(u64, isize)> {
    let Some(view) = view else { return Some((0, 0)) };
    match (view.layout.shape(), view.layout.strides()) {
        (&[size], &[step]) if size == n => Some((address(view), step)),
        _ => None,
    }
}
