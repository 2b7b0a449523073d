//! Losses as modules.

use crate::base::{Error, Result};
use crate::device::kernel::Reduction;
use crate::nn::made::constructor;
use crate::op::def::DefaultValue;
use crate::op::linalg::distance::pairwise_distance;
use crate::op::loss::classes::{Classes, cross_entropy, nll_loss};
use crate::op::loss::elements::{
    Reduced, ReducedBy, binary_cross_entropy, binary_cross_entropy_with_logits, cosine_similarity,
    huber_loss, kl_div, l1_loss, mse_loss, reduction, smooth_l1_loss,
};
use crate::op::params::{Maybe, Written, by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::Simple;
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

params! {
    pub(super) LossParams {
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    CrossEntropyParams {
        ..classes: NllParams;
        label_smoothing: kind::Float = 0.0, "the share of a target that all classes get alike";
    }
}

params! {
    NllParams {
        weight: Maybe<kind::Tensor>, "how much each class counts";
        ignore_index: kind::Int = -100, "a target that counts for nothing";
        ..loss: LossParams;
    }
}

params! {
    SmoothL1Params {
        ..loss: LossParams;
        beta: kind::Float = 1.0, "the difference from which on the loss is straight";
    }
}

params! {
    HuberParams {
        ..loss: LossParams;
        delta: kind::Float = 1.0, "the difference from which on the loss is straight";
    }
}

params! {
    BceParams {
        weight: Maybe<kind::Tensor>, "how much each element counts";
        ..loss: LossParams;
    }
}

params! {
    BceWithLogitsParams {
        weight: Maybe<kind::Tensor>, "how much each element counts";
        ..loss: LossParams;
        pos_weight: Maybe<kind::Tensor>, "how much more the positive targets of each class count";
    }
}

params! {
    KlDivParams {
        reduction: ReducedBy = "mean", "as of other losses, or \"batchmean\": the sum over the size of the batch";
        log_target: kind::Bool = false, "whether targets are logarithms of probabilities";
    }
}

params! {
    CosineSimilarityParams {
        dim: kind::Dim = 1, "the dimension along which the vectors lie";
        eps: kind::Float = 1e-8, "the least length that a vector is divided by";
    }
}

params! {
    PairwiseDistanceParams {
        p: Written<kind::Float> => DefaultValue::Float(2.0), "which norm is taken: 1, 2, …";
        eps: kind::Float = 1e-6, "a small number that is added to each difference";
        keepdim: kind::Bool = false, "whether the last dimension stays, with size 1";
    }
}

/// A loss of input, target and reduction.
fn reduced(
    name: &'static str,
    args: &Args,
    how: Reduction,
    run: impl Fn(&Tensor, &Tensor, Reduction) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Value> {
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        run(input, target, how)
    };
    Simple::new(name, call).hidden_of(args).module()
}

/// A loss over classes.
fn classes(
    name: &'static str,
    args: &Args,
    a: NllParams,
    run: impl Fn(&Tensor, &Tensor, Classes) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Value> {
    let (ignore_index, reduction) = (a.ignore_index, a.loss.reduction);
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        let weight = c.module.tensor("weight");
        let classes = Classes { weight: weight.as_ref(), ignore_index, reduction, label_smoothing: 0.0 };
        run(input, target, classes)
    };
    Simple::new(name, call).buffer("weight", a.weight).hidden_of(args).module()
}

fn make_bce(a: BceParams, args: &Args) -> Result<Value> {
    let how = a.loss.reduction;
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        binary_cross_entropy(input, target, c.module.tensor("weight").as_ref(), how)
    };
    Simple::new("BCELoss", call).buffer("weight", a.weight).hidden_of(args).module()
}

fn make_bce_logits(a: BceWithLogitsParams, args: &Args) -> Result<Value> {
    let how = a.loss.reduction;
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        let (weight, positive) = (c.module.tensor("weight"), c.module.tensor("pos_weight"));
        binary_cross_entropy_with_logits(input, target, weight.as_ref(), how, positive.as_ref())
    };
    Simple::new("BCEWithLogitsLoss", call)
        .buffer("weight", a.weight)
        .buffer("pos_weight", a.pos_weight)
        .hidden_of(args)
        .module()
}

fn make_kl(a: KlDivParams, args: &Args) -> Result<Value> {
    let (how, log_target) = (a.reduction.to_string(), a.log_target);
    if how != "batchmean" {
        reduction(&how)?;
    }
    let call = move |c: &Call| {
        let (input, target) = pair(c)?;
        kl_div(input, target, &how, log_target)
    };
    Simple::new("KLDivLoss", call).hidden_of(args).module()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "CrossEntropyLoss",
        "How far predicted scores are from the true classes.",
        CrossEntropyParams::LIST,
        by_name!(CrossEntropyParams, |a, args| {
            let label_smoothing = a.label_smoothing;
            classes("CrossEntropyLoss", args, a.classes, move |input, target, classes| {
                cross_entropy(input, target, &Classes { label_smoothing, ..classes })
            })
        }),
    )
    .shapes(shapes::CLASSES)
    .errors(shapes::CLASSES_ERRORS)
    .example("nn::CrossEntropyLoss().forward(tensor([[2.0, 0.0]]), tensor([0]))", "tensor(0.1269)"),
    constructor(
        "NLLLoss",
        "Minus the log-probability of the true class.",
        NllParams::LIST,
        by_name!(NllParams, |a, args| {
            classes("NLLLoss", args, a, |input, target, classes| nll_loss(input, target, &classes))
        }),
    )
    .shapes("(N, C, …), target (N, …) -> (), or (N, …) where reduction is \"none\"; N may be left out")
    .errors(shapes::CLASSES_ERRORS)
    .example("nn::NLLLoss()", "NLLLoss()"),
    constructor(
        "MSELoss",
        "The mean squared difference.",
        LossParams::LIST,
        by_name!(LossParams, |a, args| reduced("MSELoss", args, a.reduction, mse_loss)),
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("nn::MSELoss().forward(tensor([1.0, 2.0]), tensor([1.0, 4.0]))", "tensor(2.)"),
    constructor(
        "L1Loss",
        "The mean absolute difference.",
        LossParams::LIST,
        by_name!(LossParams, |a, args| reduced("L1Loss", args, a.reduction, l1_loss)),
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("nn::L1Loss()", "L1Loss()"),
    constructor(
        "SmoothL1Loss",
        "Squared where the difference is below `beta`, absolute above.",
        SmoothL1Params::LIST,
        by_name!(SmoothL1Params, |a, args| {
            reduced("SmoothL1Loss", args, a.loss.reduction, move |x, y, how| {
                smooth_l1_loss(x, y, how, a.beta)
            })
        }),
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("nn::SmoothL1Loss()", "SmoothL1Loss()"),
    constructor(
        "HuberLoss",
        "Squared where the difference is below `delta`, linear above.",
        HuberParams::LIST,
        by_name!(HuberParams, |a, args| {
            reduced("HuberLoss", args, a.loss.reduction, move |x, y, how| huber_loss(x, y, how, a.delta))
        }),
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("nn::HuberLoss()", "HuberLoss()"),
    constructor(
        "BCELoss",
        "How far probabilities are from targets between 0 and 1.",
        BceParams::LIST,
        by_name!(BceParams, |a, args| make_bce(a, args)),
    )
    .shapes("any, the same -> (), or the same where reduction is \"none\"")
    .errors(&[
        "ValueError: the target has another shape",
        "RuntimeError: input and target lie on different devices",
    ])
    .example("nn::BCELoss()", "BCELoss()"),
    constructor(
        "BCEWithLogitsLoss",
        "How far the sigmoid of scores is from targets between 0 and 1.",
        BceWithLogitsParams::LIST,
        by_name!(BceWithLogitsParams, |a, args| make_bce_logits(a, args)),
    )
    .shapes("any, the same -> (), or the same where reduction is \"none\"")
    .errors(&["ValueError: the target has another shape"])
    .example("nn::BCEWithLogitsLoss()", "BCEWithLogitsLoss()"),
    constructor(
        "KLDivLoss",
        "The Kullback-Leibler divergence of log-probabilities from probabilities.",
        KlDivParams::LIST,
        by_name!(KlDivParams, |a, args| make_kl(a, args)),
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("nn::KLDivLoss()", "KLDivLoss()"),
    constructor(
        "CosineSimilarity",
        "The cosine of the angle between two tensors along a dimension.",
        CosineSimilarityParams::LIST,
        by_name!(CosineSimilarityParams, |a, args| {
            let call = move |c: &Call| {
                let (x, y) = pair(c)?;
                cosine_similarity(x, y, a.dim, a.eps)
            };
            Simple::new("CosineSimilarity", call).hidden_of(args).module()
        }),
    )
    .shapes("broadcast together -> without dim")
    .errors(&[
        "IndexError: there is no such dimension, as 1 of a vector",
        shapes::NO_FLOAT,
        "RuntimeError: input and target lie on different devices",
    ])
    .example("nn::CosineSimilarity()", "CosineSimilarity()"),
    constructor(
        "PairwiseDistance",
        "The distances of vectors along the last dimension.",
        PairwiseDistanceParams::LIST,
        by_name!(PairwiseDistanceParams, |a, args| {
            let (p, written) = a.p;
            let call = move |c: &Call| {
                let (x, y) = pair(c)?;
                pairwise_distance(x, y, p, a.eps, a.keepdim)
            };
            Simple::new("PairwiseDistance", call).hidden_of(args).hidden("norm", written).module()
        }),
    )
    .shapes("(…, d), (…, d), broadcast together -> (…), or (…, 1) with keepdim")
    .errors(&[shapes::BOOLS, "RuntimeError: the shapes do not broadcast together"])
    .example("nn::PairwiseDistance()", "PairwiseDistance()"),
];
