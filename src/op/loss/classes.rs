//! Losses over classes: negative log-likelihood and cross-entropy.

use crate::base::{DType, Error, Kind, Result};
use crate::device::Kernel;
use crate::device::kernel::Reduction;
use crate::op::core::def::{DefaultValue, Domain, Draw, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{one, recorded};
use crate::op::core::value::Value;
use crate::op::core::{autocast, shapes};
use crate::op::elementwise::arithmetic::{add, div, mul, scale, shift};
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::comparison::eq;
use crate::op::elementwise::sign::neg;
use crate::op::gather::along_dim::{out_of_range, same_place};
use crate::op::reduce::softmax::log_softmax;
use crate::op::reduce::sums::sum;
use crate::op::shape::permute::movedim;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor, launch};

use super::elements::{Reduced, reduced, row};
use super::pointwise::operands;

/// What losses over classes take beside input and target.
#[derive(Clone, Copy)]
pub struct Classes<'a> {
    /// One weight per class.
    pub weight: Option<&'a Tensor>,
    /// Targets of this value count for nothing.
    pub ignore_index: i64,
    pub reduction: Reduction,
    /// The share of the probability that is spread over all classes.
    pub label_smoothing: f64,
}

/// The negative of `input [n, c]` (log-probabilities; `[c]` and `[n, c, d…]` as well) at the target class.
///
/// `mean` divides by the sum of the targets' weights, as PyTorch does.
pub fn nll_loss(input: &Tensor, target: &Tensor, classes: &Classes) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("nll_loss", &[input, target])? {
        let weight = casts.cast_option(classes.weight)?;
        let classes = Classes { weight: weight.as_ref(), ..*classes };
        return nll_loss(&casts.cast(input)?, target, &classes);
    }
    let run = || -> Result<Tensor> {
        check(input, target, classes)?;
        Ok(by_class(input, target, classes)?.0)
    };
    run().map_err(|e| e.in_op("nll_loss", || operands(&[input, target])))
}

/// [`nll_loss`] of `log_softmax(input)`. A target of floats of the input's shape holds class probabilities.
pub fn cross_entropy(input: &Tensor, target: &Tensor, classes: &Classes) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("cross_entropy", &[input, target])? {
        let weight = casts.cast_option(classes.weight)?;
        let classes = Classes { weight: weight.as_ref(), ..*classes };
        return cross_entropy(&casts.cast(input)?, &casts.cast(target)?, &classes);
    }
    run_cross_entropy(input, target, classes)
        .map_err(|e| e.in_op("cross_entropy", || operands(&[input, target])))
}

fn run_cross_entropy(input: &Tensor, target: &Tensor, classes: &Classes) -> Result<Tensor> {
    let smoothing = classes.label_smoothing;
    if !(0.0..=1.0).contains(&smoothing) {
        return Err(Error::runtime(format!("label_smoothing must be between 0.0 and 1.0. Got: {smoothing}")));
    }
    let dim = i64::from(input.rank() > 1);
    if target.shape() == input.shape() && target.dtype().is_float() && input.rank() > 0 {
        same_place(input, "target", target, "wrapper_CUDA_nll_loss_forward")?;
        if classes.ignore_index >= 0 {
            return Err(Error::runtime("ignore_index is not supported for floating point target").with_hint(
                "the target holds a probability for each class: none of them stands for an index",
            ));
        }
        return probabilities(&log_softmax(input, dim, None)?, target, classes, dim);
    }
    check(input, target, classes)?;
    let logp = log_softmax(input, dim, None)?;
    let (plain, total) = by_class(&logp, target, classes)?;
    if smoothing == 0.0 {
        return Ok(plain);
    }
    let spread = smooth(&logp, target, classes, dim)?;
    let spread = match classes.reduction {
        Reduction::None => spread,
        Reduction::Sum => sum(&spread, None, false)?,
        Reduction::Mean => div(&sum(&spread, None, false)?, &total)?,
    };
    let count = input.size(dim)?.max(1) as f64;
    add(&scale(&plain, 1.0 - smoothing)?, &scale(&spread, smoothing / count)?)
}

/// The loss against all classes alike, 0 where the target is ignored.
fn smooth(logp: &Tensor, target: &Tensor, classes: &Classes, dim: i64) -> Result<Tensor> {
    let all = neg(&sum(&weighted(logp, classes, dim)?, Some(&[dim]), false)?)?;
    masked_fill(&all, &eq(target, classes.ignore_index)?, 0.0.into())
}

/// Log-probabilities times the class weights.
fn weighted(logp: &Tensor, classes: &Classes, dim: i64) -> Result<Tensor> {
    let Some(weight) = classes.weight else { return Ok(logp.clone()) };
    let mut shape = vec![1; logp.rank()];
    if let Some(size) = shape.get_mut(logp.dim(dim)?) {
        *size = weight.numel();
    }
    mul(logp, &reshape_to(weight, &shape)?)
}

/// Cross-entropy against class probabilities: `mean` is over the examples.
fn probabilities(logp: &Tensor, target: &Tensor, classes: &Classes, dim: i64) -> Result<Tensor> {
    let count = logp.size(dim)?.max(1) as f64;
    let smoothing = classes.label_smoothing;
    let target = if smoothing == 0.0 {
        target.clone()
    } else {
        shift(&scale(target, 1.0 - smoothing)?, smoothing / count)?
    };
    let each = neg(&sum(&mul(&weighted(logp, classes, dim)?, &target)?, Some(&[dim]), false)?)?;
    reduced(&each, classes.reduction)
}

/// The loss and the sum of the targets' weights.
fn by_class(logp: &Tensor, target: &Tensor, classes: &Classes) -> Result<(Tensor, Tensor)> {
    let target =
        if target.dtype() == DType::Int64 { target.detach() } else { target.copied(DType::Int64, "to")? };
    let (flat, index) = match logp.rank() {
        2 => (logp.clone(), target.clone()),
        1 => (unsqueeze(logp, 0)?, reshape_to(&target, &[1])?),
        _ => {
            let last = movedim(logp, &[1], &[-1])?;
            let count = logp.size(1)?;
            (reshape_to(&last, &[target.numel(), count])?, reshape_to(&target, &[target.numel()])?)
        }
    };
    if logp.rank() > 2 && classes.reduction != Reduction::None {
        let name = "nll_loss2d_forward_out_cuda_template";
        logp.context().shared.check_deterministic(logp.device(), name)?;
    }
    let index = index.contiguous_detached()?;
    let about = Picked { reduction: classes.reduction, ignore_index: classes.ignore_index };
    let (loss, total) = picked(&flat, &index, classes.weight, about)?;
    if classes.reduction == Reduction::None && target.rank() != 1 {
        return Ok((reshape_to(&loss, target.shape())?, total));
    }
    Ok((loss, total))
}

/// How the kernels of [`nll_loss`] are launched.
#[derive(Clone, Copy)]
struct Picked {
    reduction: Reduction,
    ignore_index: i64,
}

impl Picked {
    fn forward(self) -> Kernel {
        Kernel::NllLoss { reduction: self.reduction, ignore_index: self.ignore_index }
    }

    fn backward(self) -> Kernel {
        Kernel::NllLossGrad { reduction: self.reduction, ignore_index: self.ignore_index }
    }
}

/// `logp [n, c]` at `index [n]`: the loss, and the sum of weights.
fn picked(logp: &Tensor, index: &Tensor, weight: Option<&Tensor>, about: Picked) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp {
        name: "NllLossBackward0",
        run: |s, g| {
            let &about: &Picked = s.attribute()?;
            let (logp, index, weight, total) = (s.tensor(0)?, s.tensor(1)?, s.optional(2)?, s.tensor(3)?);
            one(picked_grad(g, &logp, &index, weight.as_ref(), &total, about)?)
        },
    };
    let context = logp.context();
    let each = [index.numel()];
    let shape: &[usize] = if about.reduction == Reduction::None { &each } else { &[] };
    let loss = Tensor::empty(shape, logp.dtype(), &context, "nll_loss")?;
    let total = Tensor::empty(&[], logp.dtype(), &context, "nll_loss")?;
    let mut inputs = vec![In::Tensor(logp), In::Tensor(index)];
    inputs.extend(weight.map(In::Tensor));
    launch("nll_loss", &about.forward(), &inputs, &[&loss, &total]).map_err(|e| {
        out_of_range(e, |target, _, count| {
            Error::new(Kind::IndexError, format!("Target {target} is out of bounds."))
                .with_hint(format!("classes run from 0 to {}", count.saturating_sub(1)))
        })
    })?;
    let loss = recorded(loss, &RULE, &[logp], |s, _| {
        s.input(logp);
        s.constant(Some(index));
        s.constant(weight);
        s.constant(Some(&total));
        s.attribute(about);
    });
    Ok((loss, total))
}

/// The gradient of the log-probabilities. It is linear in `g`, so its own gradient is the loss again.
fn picked_grad(
    g: &Tensor,
    logp: &Tensor,
    index: &Tensor,
    weight: Option<&Tensor>,
    total: &Tensor,
    about: Picked,
) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "NllLossBackwardBackward0",
        run: |s, gg| {
            let &about: &Picked = s.attribute()?;
            let (index, weight) = (s.tensor(0)?, s.optional(1)?);
            one(picked(gg, &index, weight.as_ref(), about)?.0)
        },
    };
    let out = Tensor::empty(logp.shape(), logp.dtype(), &logp.context(), "nll_loss_backward")?;
    let g_wide = if about.reduction == Reduction::None { expand(g, &[index.numel()])? } else { g.clone() };
    let mut inputs = vec![In::Tensor(&g_wide), In::Tensor(logp), In::Tensor(index)];
    inputs.extend(weight.map(In::Tensor));
    inputs.push(In::Tensor(total));
    launch("nll_loss_backward", &about.backward(), &inputs, &[&out])?;
    Ok(recorded(out, &RULE, &[g], |s, _| {
        s.constant(Some(index));
        s.constant(weight);
        s.attribute(about);
    }))
}

/// Checks shapes, dtypes and devices, in PyTorch's words.
fn check(input: &Tensor, target: &Tensor, classes: &Classes) -> Result<()> {
    same_place(input, "target", target, "wrapper_CUDA_nll_loss_forward")?;
    let batch = |t: &Tensor| t.shape().first().copied().unwrap_or(1);
    match input.rank() {
        0 => return Err(Error::value("Expected 1 or more dimensions (got 0)")),
        1 if target.numel() != 1 || target.rank() > 1 => {
            return Err(Error::value(format!(
                "For 1D input, 1D target must have size 1, but got target size: {}",
                target.numel()
            )));
        }
        1 => {}
        _ if target.rank() == 0 || batch(input) != batch(target) => {
            return Err(Error::value(format!(
                "Expected input batch_size ({}) to match target batch_size ({}).",
                batch(input),
                batch(target)
            ))
            .with_hint("one class per row of the input"));
        }
        2 if target.rank() != 1 => {
            let text = "0D or 1D target tensor expected, multi-target not supported";
            return Err(Error::runtime(text).with_hint("the target holds class numbers, one per row"));
        }
        _ => {
            let want: Vec<usize> =
                input.shape().iter().enumerate().filter(|(d, _)| *d != 1).map(|(_, &n)| n).collect();
            if target.shape() != want {
                let text = format!("Expected target size {want:?}, got {:?}", target.shape());
                let error = Error::runtime(text);
                let last = input.rank() > 1 && input.shape().starts_with(target.shape());
                return Err(if last {
                    error.with_hint("the scores of the classes lie in dimension 1: `scores.transpose(1, -1)` puts the last one there")
                } else {
                    error.with_hint(
                        "the target has the shape of the scores without dimension 1, which holds the classes",
                    )
                });
            }
        }
    }
    if !matches!(target.dtype(), DType::Int64 | DType::UInt8) {
        let text =
            format!("expected target dtype to be Long or Byte, but got {}", target.dtype().type_name());
        return Err(Error::runtime(text).with_hint("class numbers are int64: `y.long()`"));
    }
    let count = input.size(i64::from(input.rank() > 1))?;
    match classes.weight {
        Some(w) if w.shape() != [count] => Err(Error::runtime(format!(
            "weight tensor should be defined either for all {count} classes or no classes but got weight tensor of \
             shape: {:?}",
            w.shape()
        ))),
        Some(w) if w.dtype() != input.dtype() => Err(Error::runtime(format!(
            "expected scalar type {} but found {}",
            input.dtype().type_name(),
            w.dtype().type_name()
        ))),
        Some(w) => same_place(input, "weight", w, "wrapper_CUDA_nll_loss_forward"),
        None => Ok(()),
    }
}

const CLASSES: &[Draw] = &[Draw::of("x", &[6, 5], Domain::Any), Draw::of("y", &[6], Domain::Index(5))];

params! {
    NllParams {
        input: kind::Tensor, "the logarithms of the predicted probabilities, classes along dimension 1";
        target: kind::Tensor, "the true classes";
        weight: Maybe<kind::Tensor>, "how much each class counts";
        ignore_index: kind::Int = -100, "a target that counts for nothing";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    CrossEntropyParams {
        input: kind::Tensor, "the predicted scores, classes along dimension 1";
        target: kind::Tensor, "the true classes, or the probability of each";
        weight: Maybe<kind::Tensor>, "how much each class counts";
        ignore_index: kind::Int = -100, "a target that counts for nothing";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
        label_smoothing: kind::Float = 0.0, "the share of a target that all classes get alike";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "cross_entropy",
        "How far the predicted scores are from the true classes: `-log(softmax(input)[class])`.",
        CrossEntropyParams::LIST, by_name!(CrossEntropyParams, |a| {
            let CrossEntropyParams { weight, ignore_index, reduction, label_smoothing, .. } = a;
            let classes = Classes { weight, ignore_index, reduction, label_smoothing };
            cross_entropy(a.input, a.target, &classes).map(Value::from)
        }),
        "NllLossBackward0",
    )
    .details(
        "`input` holds raw scores `[n, classes]` (or `[n, classes, …]`), `target` the class numbers, or class \
         probabilities in the input's shape. Targets of `ignore_index` count for nothing; `label_smoothing` spreads \
         that share of the probability over all classes. `reduction` is \"mean\", \"sum\" or \"none\".",
    )
    .shapes(shapes::CLASSES)
    .errors(shapes::CLASSES_ERRORS)
    .example("F::cross_entropy(tensor([[2.0, 0.0]]), tensor([0]))", "tensor(0.1269)")
    .samples(&[
        Sample::of("F::cross_entropy(x, y)", CLASSES),
        Sample::of("F::cross_entropy(x, y, #{reduction: \"sum\", label_smoothing: 0.2})", CLASSES),
        Sample::of("F::cross_entropy(x, y, #{ignore_index: 2, label_smoothing: 0.1})", CLASSES),
    ]),
    row(
        "nll_loss",
        "The negative log-likelihood: minus the log-probability of the true class.",
        NllParams::LIST, by_name!(NllParams, |a| {
            let NllParams { weight, ignore_index, reduction, .. } = a;
            let classes = Classes { weight, ignore_index, reduction, label_smoothing: 0.0 };
            nll_loss(a.input, a.target, &classes).map(Value::from)
        }),
        "NllLossBackward0",
    )
    .shapes("(N, C, …), target (N, …) -> (), or (N, …) where reduction is \"none\"; (C), () -> ()")
    .errors(shapes::CLASSES_ERRORS)
    .example("F::nll_loss(tensor([[-0.5, -1.0]]), tensor([1]))", "tensor(1.)")
    .samples(&[
        Sample::of("F::nll_loss(x, y)", CLASSES),
        Sample::of("F::nll_loss(x, y, #{reduction: \"none\"})", CLASSES),
    ]),
];
