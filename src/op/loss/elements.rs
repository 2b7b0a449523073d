//! Losses: element by element, between distributions and between directions, and the rows of all losses.

use crate::base::shape::broadcast;
use crate::base::{DType, Error, Result};
use crate::device::kernel::Reduction;
use crate::op::core::def::{
    Args, BOTH, DefaultValue, Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Param, Sample,
};
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::promote::check_cast;
use crate::op::core::record::no_grad;
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::core::{autocast, shapes};
use crate::op::elementwise::arithmetic::{add, div, mul, scale, sub};
use crate::op::elementwise::binary::xlogy;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{abs, exp, log1p, relu};
use crate::op::reduce::norms::norm;
use crate::op::reduce::sums::{mean, sum};
use crate::op::sorting::running::aminmax;
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;

use super::pointwise::{ABSOLUTE, HUBER, LOGIT, PROBABILITY, SMOOTH, SQUARED};

/// `none`, `mean` or `sum`.
pub fn reduction(name: &str) -> Result<Reduction> {
    match name {
        "none" => Ok(Reduction::None),
        "mean" => Ok(Reduction::Mean),
        "sum" => Ok(Reduction::Sum),
        _ => Err(Error::value(format!("{name} is not a valid value for reduction"))
            .with_hint("reductions are \"mean\", \"sum\" and \"none\"")),
    }
}

/// A loss of each element, reduced with recorded operations.
pub fn reduced(each: &Tensor, reduction: Reduction) -> Result<Tensor> {
    match reduction {
        Reduction::None => Ok(each.clone()),
        Reduction::Mean => mean(each, None, false),
        Reduction::Sum => sum(each, None, false),
    }
}

/// `(input - target)²`
pub fn mse_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    note_sizes(input, target);
    SQUARED.apply(input, target, reduction, 0.0)
}

/// `|input - target|`
pub fn l1_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    note_sizes(input, target);
    let whole = |t: &Tensor| !t.dtype().is_float();
    if (whole(input) && whole(target)) || [input, target].iter().any(|t| t.dtype() == DType::Bool) {
        return reduced(&abs(&sub(input, target)?)?, reduction);
    }
    if input.device().is_cuda() {
        // As PyTorch composes it there, which keeps the difference.
        if let Some(casts) = autocast::enter("l1_loss", &[input, target])? {
            let (input, target) = (casts.cast(input)?, casts.cast(target)?);
            return reduced(&abs(&sub(&input, &target)?)?, reduction);
        }
        return reduced(&abs(&sub(input, target)?)?, reduction);
    }
    ABSOLUTE.apply(input, target, reduction, 0.0)
}

/// Warns of sizes that spread over each other: the loss is then of all pairs.
fn note_sizes(input: &Tensor, target: &Tensor) {
    if input.shape() == target.shape() {
        return;
    }
    let context = input.context();
    let line = context.shared.source().line;
    let place = if line > 0 { format!(" (in line {line})") } else { String::new() };
    context.shared.warn(&format!(
        "Using a target size (torch.Size({:?})) that is different to the input size (torch.Size({:?})). This will \
         likely lead to incorrect results due to broadcasting. Please ensure they have the same size.{place}",
        target.shape(),
        input.shape()
    ));
}

/// Squared below `beta` (and divided by it), absolute above.
pub fn smooth_l1_loss(input: &Tensor, target: &Tensor, reduction: Reduction, beta: f64) -> Result<Tensor> {
    if beta < 0.0 {
        return Err(Error::runtime("smooth_l1_loss does not support negative values for beta."));
    }
    if beta == 0.0 {
        return l1_loss(input, target, reduction);
    }
    note_sizes(input, target);
    SMOOTH.apply(input, target, reduction, beta)
}

/// Squared below `delta`, linear above.
pub fn huber_loss(input: &Tensor, target: &Tensor, reduction: Reduction, delta: f64) -> Result<Tensor> {
    if delta <= 0.0 {
        return Err(Error::runtime("huber_loss does not support non-positive values for delta."));
    }
    note_sizes(input, target);
    HUBER.apply(input, target, reduction, delta)
}

/// Cross-entropy of probabilities `input` against `target`; logarithms are kept above -100.
pub fn binary_cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("binary_cross_entropy", &[input, target])? {
        let weight = casts.cast_option(weight)?;
        let (input, target) = (casts.cast(input)?, casts.cast(target)?);
        return binary_cross_entropy(&input, &target, weight.as_ref(), reduction);
    }
    if input.shape() != target.shape() {
        return Err(Error::value(format!(
            "Using a target size (torch.Size({:?})) that is different to the input size (torch.Size({:?})) is \
             deprecated. Please ensure they have the same size.",
            target.shape(),
            input.shape()
        )));
    }
    if input.dtype() != target.dtype() {
        let (found, expected) = (target.dtype().type_name(), input.dtype().type_name());
        return Err(Error::runtime(format!("Found dtype {found} but expected {expected}"))
            .with_hint(format!("targets are of the input's dtype: `target.to({})`", input.dtype())));
    }
    let of = match weight {
        None => reduction,
        Some(_) => Reduction::None,
    };
    let found = PROBABILITY.apply(input, target, of, 0.0)?;
    probabilities(&found, [("input", input), ("target", target)])?;
    match weight {
        None => Ok(found),
        Some(w) => reduced(&mul(&found, w)?, reduction),
    }
}

/// Fails where targets are not floats: PyTorch writes `(1 - target) * input` into the first of them.
fn check_targets(input: &Tensor, target: &Tensor) -> Result<()> {
    let hint = || format!("targets are floats here: `target.to({})`", input.dtype());
    if target.dtype() == DType::Bool {
        let no_difference = |e: Error| Error::new(e.kind(), e.message()).with_hint(hint());
        sub(target, target).map_err(no_difference)?;
    }
    check_cast(input.dtype().promote(target.dtype()), target.dtype()).map_err(|e| e.with_hint(hint()))
}

/// Fails where a result on the CPU is made of what is no probability. One number says it: no logarithm of such an input
/// is a number.
fn probabilities(found: &Tensor, all: [(&str, &Tensor); 2]) -> Result<()> {
    let _off = no_grad();
    for (name, x) in all {
        if x.device().is_cuda() || x.numel() == 0 {
            continue;
        }
        if name == "input" && found.rank() == 0 && !found.item()?.as_f64().is_nan() {
            continue;
        }
        let (least, most) = aminmax(x, None, false)?;
        if !(least.item()?.as_f64() >= 0.0 && most.item()?.as_f64() <= 1.0) {
            return Err(Error::runtime(format!("all elements of {name} should be between 0 and 1"))
                .with_hint(
                    "`sigmoid` makes probabilities; `binary_cross_entropy_with_logits` takes any number",
                ));
        }
    }
    Ok(())
}

/// Cross-entropy of `sigmoid(input)` against `target`, without overflow. `pos_weight` weighs the positive class.
pub fn binary_cross_entropy_with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
    pos_weight: Option<&Tensor>,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("binary_cross_entropy_with_logits", &[input, target])? {
        let (weight, positive) = (casts.cast_option(weight)?, casts.cast_option(pos_weight)?);
        let (input, target) = (casts.cast(input)?, casts.cast(target)?);
        let (weight, positive) = (weight.as_ref(), positive.as_ref());
        return binary_cross_entropy_with_logits(&input, &target, weight, reduction, positive);
    }
    if input.shape() != target.shape() {
        return Err(Error::value(format!(
            "Target size (torch.Size({:?})) must be the same as input size (torch.Size({:?}))",
            target.shape(),
            input.shape()
        ))
        .with_hint(match input.numel() == target.numel() {
            true => "one of them has a dimension of one that the other lacks: `x.squeeze(1)` drops it, `y.unsqueeze(1)` adds it",
            false => "there is one target for each score",
        }));
    }
    check_targets(input, target)?;
    if weight.is_none() && pos_weight.is_none() {
        return LOGIT.apply(input, target, reduction, 0.0);
    }
    static KERNEL: Whole = Whole::new(
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy_with_logits_backward",
        "BinaryCrossEntropyWithLogitsBackward0",
    );
    let weighted = weight.is_some();
    let run = move |all: &[Tensor]| match all {
        [input, target, first, second] => weighed(input, target, Some(first), reduction, Some(second)),
        [input, target, only] if weighted => weighed(input, target, Some(only), reduction, None),
        [input, target, only] => weighed(input, target, None, reduction, Some(only)),
        _ => first(all).cloned(),
    };
    let inputs: Vec<&Tensor> =
        [Some(input), Some(target), weight, pos_weight].into_iter().flatten().collect();
    KERNEL.run(&inputs, &[], Box::new(run))
}

/// [`binary_cross_entropy_with_logits`] by weights, made of other functions.
fn weighed(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
    pos_weight: Option<&Tensor>,
) -> Result<Tensor> {
    let mut each = match pos_weight {
        None => LOGIT.apply(input, target, Reduction::None, 0.0)?,
        Some(p) => {
            let share = add(&mul(&sub(p, 1.0)?, target)?, 1.0)?;
            let soft = add(&log1p(&exp(&neg(&abs(input)?)?)?)?, &relu(&neg(input)?)?)?;
            add(&mul(&sub(1.0, target)?, input)?, &mul(&share, &soft)?)?
        }
    };
    if let Some(w) = weight {
        each = mul(&each, w)?;
    }
    reduced(&each, reduction)
}

/// `target * (log(target) - input)`, or `exp(target) * (target - input)` of a logarithmic target. `batchmean`
/// divides the sum by the batch size.
pub fn kl_div(input: &Tensor, target: &Tensor, how: &str, log_target: bool) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("kl_div", &[input, target])? {
        return kl_div(&casts.cast(input)?, &casts.cast(target)?, how, log_target);
    }
    if !input.dtype().is_float() || !target.dtype().is_float() {
        return Err(Error::runtime("kl_div: Integral inputs not supported.")
            .with_hint("convert to floats with `.float()`"));
    }
    let batch = how == "batchmean";
    if how == "mean" {
        input.context().shared.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides \
             only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the \
             same as 'batchmean' in the next major release.",
        );
    }
    let how = if batch { Reduction::Sum } else { reduction(how)? };
    let each = if log_target {
        mul(&exp(target)?, &sub(target, input)?)?
    } else {
        // 0 * log(0) is 0 here; its gradient is NaN, as PyTorch's.
        sub(&xlogy(target, target)?, &mul(target, input)?)?
    };
    let loss = reduced(&each, how)?;
    if !batch {
        return Ok(loss);
    }
    scale(&loss, 1.0 / input.shape().first().copied().unwrap_or(1) as f64)
}

/// The cosine of the angle between two tensors along `dim`; norms are kept above `eps`.
pub fn cosine_similarity(a: &Tensor, b: &Tensor, dim: i64, eps: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("cosine_similarity", &[a, b])? {
        return cosine_similarity(&casts.cast(a)?, &casts.cast(b)?, dim, eps);
    }
    let shape = broadcast(a.shape(), b.shape())?;
    let (a, b) = (expand(a, &shape)?, expand(b, &shape)?);
    let unit = |x: &Tensor| -> Result<Tensor> {
        div(x, &clamp_min(&norm(x, 2.0, Some(&[dim]), true)?, eps.into())?)
    };
    sum(&mul(&unit(&a)?, &unit(&b)?)?, Some(&[dim]), false)
}

pub(crate) const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
    rule: &'static str,
) -> OpDef {
    OpDef::call(name, Family::Loss, summary, params, run)
        .forms(FUNCTIONAL)
        .gradient(Gradient::Vjp(rule))
        .details("`reduction` is \"mean\", \"sum\" or \"none\".")
}

const PAIR: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[3, 4], Domain::Inside)];

kinds! {
    /// How a loss becomes one number, by its name.
    pub Reduced(Str) => Reduction, |args: &Args, at| reduction(args.str(at)?),
        "ValueError: `reduction` has another name";
    /// The name itself, which may be one that the loss alone has.
    pub ReducedBy(Str) => &'a str, |args: &'a Args, at| args.str(at), "ValueError: `reduction` has another name";
}

impl ReducedBy {
    pub const fn or(name: &'static str) -> DefaultValue {
        DefaultValue::Str(name)
    }
}

params! {
    /// Input, target and how their losses become one.
    pub PairParams {
        input: kind::Tensor, "what was predicted";
        target: kind::Tensor, "what it should have been";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    SmoothL1Params {
        ..pair: PairParams;
        beta: kind::Float = 1.0, "the difference from which on the loss is straight";
    }
}

params! {
    HuberParams {
        ..pair: PairParams;
        delta: kind::Float = 1.0, "the difference from which on the loss is straight";
    }
}

params! {
    BceParams {
        input: kind::Tensor, "what was predicted";
        target: kind::Tensor, "what it should have been: numbers from 0 to 1";
        weight: Maybe<kind::Tensor>, "how much each element counts";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    BceWithLogitsParams {
        ..elements: BceParams;
        pos_weight: Maybe<kind::Tensor>, "how much more the positive targets of each class count";
    }
}

params! {
    KlDivParams {
        input: kind::Tensor, "the logarithms of the predicted probabilities";
        target: kind::Tensor, "the probabilities that they should have been";
        reduction: ReducedBy = "mean", "as of other losses, or \"batchmean\": the sum over the size of the batch";
        log_target: kind::Bool = false, "whether targets are logarithms of probabilities";
    }
}

params! {
    CosineSimilarityParams {
        x1: kind::Tensor, "the vectors on one side";
        x2: kind::Tensor, "the vectors on the other side, in a shape that broadcasts with theirs";
        dim: kind::Dim = 1, "the dimension along which the vectors lie";
        eps: kind::Float = 1e-8, "the least length that a vector is divided by";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "mse_loss",
        "The mean squared difference.",
        PairParams::LIST,
        by_name!(PairParams, |a| mse_loss(a.input, a.target, a.reduction).map(Value::from)),
        "MseLossBackward0",
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("F::mse_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]))", "tensor(2.)")
    .samples(&[
        Sample::of("F::mse_loss(a, b)", PAIR),
        Sample::of("F::mse_loss(a, b, #{reduction: \"none\"})", PAIR),
    ]),
    row(
        "l1_loss",
        "The mean absolute difference.",
        PairParams::LIST,
        by_name!(PairParams, |a| l1_loss(a.input, a.target, a.reduction).map(Value::from)),
        "L1LossBackward0",
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("F::l1_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]))", "tensor(1.)")
    .samples(&[Sample::of("F::l1_loss(a, b)", PAIR)]),
    row(
        "smooth_l1_loss",
        "Squared where the difference is below `beta`, absolute above.",
        SmoothL1Params::LIST,
        by_name!(SmoothL1Params, |SmoothL1Params { pair, beta, .. }| smooth_l1_loss(
            pair.input,
            pair.target,
            pair.reduction,
            beta
        )
        .map(Value::from)),
        "SmoothL1LossBackward0",
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("F::smooth_l1_loss(tensor([0.0]), tensor([3.0]))", "tensor(2.5000)")
    .samples(&[Sample::of("F::smooth_l1_loss(a, b, #{beta: 0.7})", PAIR)]),
    row(
        "huber_loss",
        "Squared where the difference is below `delta`, linear above.",
        HuberParams::LIST,
        by_name!(HuberParams, |HuberParams { pair, delta, .. }| huber_loss(
            pair.input,
            pair.target,
            pair.reduction,
            delta
        )
        .map(Value::from)),
        "HuberLossBackward0",
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("F::huber_loss(tensor([0.0]), tensor([3.0]))", "tensor(2.5000)")
    .samples(&[Sample::of("F::huber_loss(a, b, #{delta: 0.7})", PAIR)]),
    row(
        "binary_cross_entropy",
        "How far probabilities are from targets between 0 and 1.",
        BceParams::LIST,
        by_name!(BceParams, |a| binary_cross_entropy(a.input, a.target, a.weight, a.reduction)
            .map(Value::from)),
        "BinaryCrossEntropyBackward0",
    )
    .shapes("any, the same -> (), or the same where reduction is \"none\"")
    .errors(&["ValueError: the target has another shape"])
    .example("F::binary_cross_entropy(tensor([0.5]), tensor([1.0]))", "tensor(0.6931)")
    .samples(&[Sample::of("F::binary_cross_entropy(a.sigmoid(), b.sigmoid())", PAIR)]),
    row(
        "binary_cross_entropy_with_logits",
        "How far the sigmoid of scores is from targets between 0 and 1.",
        BceWithLogitsParams::LIST,
        by_name!(BceWithLogitsParams, |BceWithLogitsParams { elements: a, pos_weight, .. }| {
            binary_cross_entropy_with_logits(a.input, a.target, a.weight, a.reduction, pos_weight)
                .map(Value::from)
        }),
        "BinaryCrossEntropyWithLogitsBackward0",
    )
    .shapes("any, the same -> (), or the same where reduction is \"none\"")
    .errors(&["ValueError: the target has another shape"])
    .example("F::binary_cross_entropy_with_logits(tensor([0.0]), tensor([1.0]))", "tensor(0.6931)")
    .samples(&[
        Sample::of("F::binary_cross_entropy_with_logits(a, b)", PAIR),
        Sample::of("F::binary_cross_entropy_with_logits(a, b, #{pos_weight: b.exp()})", PAIR),
    ]),
    row(
        "kl_div",
        "The Kullback-Leibler divergence of log-probabilities `input` from probabilities `target`.",
        KlDivParams::LIST,
        by_name!(KlDivParams, |a| kl_div(a.input, a.target, a.reduction, a.log_target).map(Value::from)),
        "KlDivBackward0",
    )
    .gradient(Gradient::Composite)
    .details("`reduction` is \"mean\", \"sum\", \"none\", or \"batchmean\", which is the divergence proper.")
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("F::kl_div(tensor([0.5, 0.5]).log(), tensor([1.0, 0.0]), \"sum\")", "tensor(0.6931)")
    .samples(&[Sample::of("F::kl_div(a.log_softmax(-1), b.softmax(-1), #{reduction: \"batchmean\"})", PAIR)]),
    row(
        "cosine_similarity",
        "The cosine of the angle between two tensors along a dimension.",
        CosineSimilarityParams::LIST,
        by_name!(CosineSimilarityParams, |a| cosine_similarity(a.x1, a.x2, a.dim, a.eps).map(Value::from)),
        "",
    )
    .forms(BOTH)
    .gradient(Gradient::Composite)
    .details("1 for the same direction, -1 for opposite ones. Norms are kept above `eps`.")
    .shapes("broadcast together -> without dim")
    .errors(&["IndexError: there is no such dimension, as 1 of a vector"])
    .example("F::cosine_similarity(tensor([[1.0, 0.0]]), tensor([[1.0, 1.0]]))", "tensor([0.7071])")
    .samples(&[Sample::of("F::cosine_similarity(a, b)", PAIR)]),
];
