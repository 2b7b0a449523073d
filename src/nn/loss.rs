//! Losses as modules.

use crate::base::{Error, Result};
use crate::device::kernel::Reduction;
use crate::op::def::DefaultValue;
use crate::op::distance::pairwise_distance;
use crate::op::loss::{
    binary_cross_entropy, binary_cross_entropy_with_logits, cosine_similarity, huber_loss, kl_div, l1_loss,
    mse_loss, reduction, smooth_l1_loss,
};
use crate::op::nll::{Classes, cross_entropy, nll_loss};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::linear::constructor;
use super::module::Call;

/// Input and target, and no more.
fn pair<'a>(c: &'a Call) -> Result<(&'a Tensor, &'a Tensor)> {
    match c.inputs {
        [input, target] => Ok((input, target)),
        many => {
            let text =
                format!("{}.forward() takes an input and a target, not {}", c.module.name(), many.len());
            Err(Error::type_error(text))
        }
    }
}

/// A loss of input, target and reduction.
fn reduced(
    name: &'static str,
    a: &Args,
    at: usize,
    run: impl Fn(&Tensor, &Tensor, Reduction) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Value> {
    let how = reduction(a.str(at)?)?;
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        run(input, target, how)
    };
    Simple::new(name, call).hidden("reduction", a.get(at)).module()
}

/// A loss over classes: weight, ignore_index, reduction, and label_smoothing where there is one.
fn classes(name: &'static str, a: &Args, smooth: bool) -> Result<Value> {
    type Run = fn(&Tensor, &Tensor, &Classes) -> Result<Tensor>;
    let run: Run = if smooth { cross_entropy } else { nll_loss };
    let (ignore_index, reduction) = (a.int(1)?, reduction(a.str(2)?)?);
    let label_smoothing = if smooth { a.float(3)? } else { 0.0 };
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        let weight = c.module.tensor("weight");
        run(input, target, &Classes { weight: weight.as_ref(), ignore_index, reduction, label_smoothing })
    };
    let simple = Simple::new(name, call)
        .buffer("weight", a.optional_tensor(0))
        .hidden("ignore_index", a.get(1))
        .hidden("reduction", a.get(2));
    if smooth { simple.hidden("label_smoothing", a.get(3)).module() } else { simple.module() }
}

fn make_bce(a: &Args) -> Result<Value> {
    let how = reduction(a.str(1)?)?;
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        binary_cross_entropy(input, target, c.module.tensor("weight").as_ref(), how)
    };
    Simple::new("BCELoss", call).buffer("weight", a.optional_tensor(0)).hidden("reduction", a.get(1)).module()
}

fn make_bce_logits(a: &Args) -> Result<Value> {
    let how = reduction(a.str(1)?)?;
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        let (weight, positive) = (c.module.tensor("weight"), c.module.tensor("pos_weight"));
        binary_cross_entropy_with_logits(input, target, weight.as_ref(), how, positive.as_ref())
    };
    Simple::new("BCEWithLogitsLoss", call)
        .buffer("weight", a.optional_tensor(0))
        .buffer("pos_weight", a.optional_tensor(2))
        .hidden("reduction", a.get(1))
        .module()
}

fn make_kl(a: &Args) -> Result<Value> {
    let (how, log_target) = (a.str(0)?.to_string(), a.bool(1)?);
    if how != "batchmean" {
        reduction(&how)?;
    }
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        kl_div(input, target, &how, log_target)
    };
    Simple::new("KLDivLoss", call).hidden("reduction", a.get(0)).hidden("log_target", a.get(1)).module()
}

const REDUCTION: Param = Param::optional("reduction", ParamKind::Str, DefaultValue::Str("mean"));
const WEIGHT: Param = Param::optional("weight", ParamKind::Tensor, DefaultValue::None);
const IGNORE: Param = Param::optional("ignore_index", ParamKind::Int, DefaultValue::Int(-100));

const fn number(name: &'static str, default: f64) -> Param {
    Param::optional(name, ParamKind::Float, DefaultValue::Float(default))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "CrossEntropyLoss",
        "How far predicted scores are from the true classes.",
        &[WEIGHT, IGNORE, REDUCTION, number("label_smoothing", 0.0)],
        |a| classes("CrossEntropyLoss", a, true),
    )
    .example("nn::CrossEntropyLoss().forward(tensor([[2.0, 0.0]]), tensor([0]))", "tensor(0.1269)"),
    constructor(
        "NLLLoss",
        "Minus the log-probability of the true class.",
        &[WEIGHT, IGNORE, REDUCTION],
        |a| classes("NLLLoss", a, false),
    )
    .example("nn::NLLLoss()", "NLLLoss()"),
    constructor("MSELoss", "The mean squared difference.", &[REDUCTION], |a| {
        reduced("MSELoss", a, 0, mse_loss)
    })
    .example("nn::MSELoss().forward(tensor([1.0, 2.0]), tensor([1.0, 4.0]))", "tensor(2.)"),
    constructor("L1Loss", "The mean absolute difference.", &[REDUCTION], |a| {
        reduced("L1Loss", a, 0, l1_loss)
    })
    .example("nn::L1Loss()", "L1Loss()"),
    constructor(
        "SmoothL1Loss",
        "Squared where the difference is below `beta`, absolute above.",
        &[REDUCTION, number("beta", 1.0)],
        |a| {
            let beta = a.float(1)?;
            reduced("SmoothL1Loss", a, 0, move |x, y, how| smooth_l1_loss(x, y, how, beta))
        },
    )
    .example("nn::SmoothL1Loss()", "SmoothL1Loss()"),
    constructor(
        "HuberLoss",
        "Squared where the difference is below `delta`, linear above.",
        &[REDUCTION, number("delta", 1.0)],
        |a| {
            let delta = a.float(1)?;
            reduced("HuberLoss", a, 0, move |x, y, how| huber_loss(x, y, how, delta))
        },
    )
    .example("nn::HuberLoss()", "HuberLoss()"),
    constructor(
        "BCELoss",
        "How far probabilities are from targets between 0 and 1.",
        &[WEIGHT, REDUCTION],
        make_bce,
    )
    .example("nn::BCELoss()", "BCELoss()"),
    constructor(
        "BCEWithLogitsLoss",
        "How far the sigmoid of scores is from targets between 0 and 1.",
        &[WEIGHT, REDUCTION, Param::optional("pos_weight", ParamKind::Tensor, DefaultValue::None)],
        make_bce_logits,
    )
    .example("nn::BCEWithLogitsLoss()", "BCEWithLogitsLoss()"),
    constructor(
        "KLDivLoss",
        "The Kullback-Leibler divergence of log-probabilities from probabilities.",
        &[REDUCTION, Param::optional("log_target", ParamKind::Bool, DefaultValue::Bool(false))],
        make_kl,
    )
    .example("nn::KLDivLoss()", "KLDivLoss()"),
    constructor(
        "CosineSimilarity",
        "The cosine of the angle between two tensors along a dimension.",
        &[Param::optional("dim", ParamKind::Int, DefaultValue::Int(1)), number("eps", 1e-8)],
        |a| {
            let (dim, eps) = (a.int(0)?, a.float(1)?);
            let call = move |c: &Call| {
                let (x, y) = pair(c)?;
                cosine_similarity(x, y, dim, eps)
            };
            Simple::new("CosineSimilarity", call).hidden("dim", a.get(0)).hidden("eps", a.get(1)).module()
        },
    )
    .example("nn::CosineSimilarity()", "CosineSimilarity()"),
    constructor(
        "PairwiseDistance",
        "The distances of vectors along the last dimension.",
        &[
            number("p", 2.0),
            number("eps", 1e-6),
            Param::optional("keepdim", ParamKind::Bool, DefaultValue::Bool(false)),
        ],
        |a| {
            let (p, eps, keepdim) = (a.float(0)?, a.float(1)?, a.bool(2)?);
            let call = move |c: &Call| {
                let (x, y) = pair(c)?;
                pairwise_distance(x, y, p, eps, keepdim)
            };
            Simple::new("PairwiseDistance", call)
                .hidden("norm", a.get(0))
                .hidden("eps", a.get(1))
                .hidden("keepdim", a.get(2))
                .module()
        },
    )
    .example("nn::PairwiseDistance()", "PairwiseDistance()"),
];
