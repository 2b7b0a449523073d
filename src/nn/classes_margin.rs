//! Losses of margins between classes, and of likelihoods, as modules.

use crate::base::Result;
use crate::nn::made::constructor;
use crate::op::loss::classes_margin::{
    MULTI_ERRORS, MULTILABEL_ERRORS, MultiMargin, multi_margin_loss, multilabel_margin_loss,
};
use crate::op::loss::margins::{Poisson, gaussian_nll_loss, multilabel_soft_margin_loss, poisson_nll_loss};
use crate::op::params::{Maybe, by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};

use super::activation::Simple;
use super::loss::LossParams;
use super::margins::inputs;
use super::module::Call;

params! {
    MultiMarginParams {
        p: kind::Int = 1, "1, or 2 for squares";
        margin: kind::Float = 1.0, "how much greater the true class's score is to be than the others";
        weight: Maybe<kind::Tensor>, "how much each class counts";
        ..loss: LossParams;
    }
}

params! {
    MultiLabelSoftMarginParams {
        weight: Maybe<kind::Tensor>, "how much each class counts";
        ..loss: LossParams;
    }
}

params! {
    PoissonNllParams {
        log_input: kind::Bool = true, "whether the input is the logarithm of the rates";
        full: kind::Bool = false, "whether Stirling's term is added, which the input has no part in";
        eps: kind::Float = 1e-8, "a small number that is added to the rates before their logarithm is taken";
        ..loss: LossParams;
    }
}

params! {
    GaussianNllParams {
        full: kind::Bool = false, "whether the constant of the distribution is added";
        eps: kind::Float = 1e-6, "the least that a variance counts as";
        ..loss: LossParams;
    }
}

fn make_multi_margin(a: MultiMarginParams, args: &Args) -> Result<Value> {
    let (p, margin, how) = (a.p, a.margin, a.loss.reduction);
    let run = move |c: &Call| {
        let [x, target] = inputs(c)?;
        let weight = c.module.tensor("weight");
        multi_margin_loss(x, target, MultiMargin { p, margin, weight: weight.as_ref() }, how)
    };
    Simple::new("MultiMarginLoss", run).buffer("weight", a.weight).hidden_of(args).module()
}

fn make_multilabel_soft_margin(a: MultiLabelSoftMarginParams, args: &Args) -> Result<Value> {
    let how = a.loss.reduction;
    let run = move |c: &Call| {
        let [x, target] = inputs(c)?;
        multilabel_soft_margin_loss(x, target, c.module.tensor("weight").as_ref(), how)
    };
    Simple::new("MultiLabelSoftMarginLoss", run).buffer("weight", a.weight).hidden_of(args).module()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "MultiMarginLoss",
        "How far the true class's score is from being greater than the others by a margin.",
        MultiMarginParams::LIST,
        by_name!(MultiMarginParams, |a, args| make_multi_margin(a, args)),
    )
    .shapes("(N, C), target (N) -> (), or (N) where reduction is \"none\"; (C), () -> ()")
    .errors(MULTI_ERRORS)
    .example("nn::MultiMarginLoss().forward(tensor([[0.1, 0.2, 0.4, 0.8]]), tensor([3]))", "tensor(0.3250)"),
    constructor(
        "MultiLabelMarginLoss",
        "How far the scores of several true classes are from being greater than those of all others by 1.",
        LossParams::LIST,
        by_name!(LossParams, |a, args| {
            let run = move |c: &Call| {
                let [x, target] = inputs(c)?;
                multilabel_margin_loss(x, target, a.reduction)
            };
            Simple::new("MultiLabelMarginLoss", run).hidden_of(args).module()
        }),
    )
    .details("A row of the target begins with its true classes; a -1 ends them.")
    .shapes("(N, C), target (N, C) -> (), or (N) where reduction is \"none\"; (C), (C) -> ()")
    .errors(MULTILABEL_ERRORS)
    .example("nn::MultiLabelMarginLoss()", "MultiLabelMarginLoss()"),
    constructor(
        "MultiLabelSoftMarginLoss",
        "Scores of several classes that may all be true, against 0 and 1 for each.",
        MultiLabelSoftMarginParams::LIST,
        by_name!(MultiLabelSoftMarginParams, |a, args| make_multilabel_soft_margin(a, args)),
    )
    .shapes("(…, C), (…, C) -> (), or (…) where reduction is \"none\"")
    .errors(&[shapes::NO_FLOAT, shapes::NO_BROADCAST])
    .example("nn::MultiLabelSoftMarginLoss()", "MultiLabelSoftMarginLoss()"),
    constructor(
        "PoissonNLLLoss",
        "The negative log-likelihood of counts under Poisson's distribution.",
        PoissonNllParams::LIST,
        by_name!(PoissonNllParams, |a, args| {
            let by = Poisson { log_input: a.log_input, full: a.full, eps: a.eps };
            let run = move |c: &Call| {
                let [x, target] = inputs(c)?;
                poisson_nll_loss(x, target, by, a.loss.reduction)
            };
            Simple::new("PoissonNLLLoss", run).hidden_of(args).module()
        }),
    )
    .shapes(shapes::LOSS)
    .errors(&[shapes::BOOLS, shapes::NO_BROADCAST])
    .example("nn::PoissonNLLLoss().forward(tensor([0.0, 1.0]), tensor([1.0, 2.0]))", "tensor(0.8591)"),
    constructor(
        "GaussianNLLLoss",
        "The negative log-likelihood of targets under normal distributions with given variances.",
        GaussianNllParams::LIST,
        by_name!(GaussianNllParams, |a, args| {
            let run = move |c: &Call| {
                let [x, target, var] = inputs(c)?;
                gaussian_nll_loss(x, target, var, (a.full, a.eps), a.loss.reduction)
            };
            Simple::new("GaussianNLLLoss", run).hidden_of(args).module()
        }),
    )
    .details("It is called with input, target and variances.")
    .shapes("(…, D), target (…, D), var (…, D), (…, 1) or (…) -> (), or (…, D) where reduction is \"none\"")
    .errors(&[
        "ValueError: the variances have another shape, or one is negative",
        shapes::BOOLS,
        shapes::NO_BROADCAST,
    ])
    .example(
        "nn::GaussianNLLLoss().forward(tensor([1.0, 2.0]), tensor([1.0, 4.0]), tensor([1.0, 2.0]))",
        "tensor(0.6733)",
    ),
];
