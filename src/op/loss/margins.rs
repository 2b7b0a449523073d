//! Losses of margins, rankings and distributions, composed of other operations.

use crate::base::{DType, Error, Result};
use crate::device::kernel::Reduction;
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, OpDef, Param, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::{check_cast, to_float};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::elementwise::arithmetic::{add, div, mul, scale, shift, sub};
use crate::op::elementwise::binary::{minimum, xlogy};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::elementwise::comparison::eq;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{exp, log, square};
use crate::op::linalg::distance::pairwise_distance;
use crate::op::reduce::sums::sum;
use crate::tensor::Tensor;

use super::elements::{PairParams, Reduced, reduced};

/// `max(0, -target * (a - b) + margin)`: 0 where the larger is larger by the margin. `target` is 1 or -1.
pub fn margin_ranking_loss(
    a: &Tensor,
    b: &Tensor,
    target: &Tensor,
    margin: f64,
    how: Reduction,
) -> Result<Tensor> {
    if a.rank() != b.rank() || a.rank() != target.rank() {
        return Err(Error::runtime(format!(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: \
             torch.Size({:?}), input2: torch.Size({:?}), target: torch.Size({:?}) ",
            a.shape(),
            b.shape(),
            target.shape()
        )));
    }
    let each = clamp_min(&shift(&mul(&neg(target)?, &sub(a, b)?)?, margin)?, 0i64.into())?;
    reduced(&each, how)
}

/// `x` where the target is 1, `max(0, margin - x)` where it is -1.
pub fn hinge_embedding_loss(x: &Tensor, target: &Tensor, margin: f64, how: Reduction) -> Result<Tensor> {
    let zero = Operand::from(0.0);
    let far = clamp_min(&shift(&neg(x)?, margin)?, 0i64.into())?;
    let far = where_(&eq(target, 1i64)?, zero, Operand::Tensor(&far))?;
    let near = where_(&eq(target, -1i64)?, zero, Operand::Tensor(x))?;
    reduced(&add(&far, &near)?, how)
}

/// One minus the cosine of two vectors where the target is 1, `max(0, cosine - margin)` where it is -1.
pub fn cosine_embedding_loss(
    a: &Tensor,
    b: &Tensor,
    target: &Tensor,
    margin: f64,
    how: Reduction,
) -> Result<Tensor> {
    if a.shape() != b.shape() || target.rank() + 1 != a.rank() || !matches!(a.rank(), 1 | 2) {
        return Err(Error::runtime(format!(
            "{}D target tensor expects {}D input tensors, but found inputs with sizes {:?} and {:?}.",
            target.rank(),
            target.rank() + 1,
            a.shape(),
            b.shape()
        )));
    }
    const EPS: f64 = 1e-12;
    let sums = |t: &Tensor| sum(t, Some(&[-1]), false);
    let lengths = mul(&shift(&sums(&square(a)?)?, EPS)?, &shift(&sums(&square(b)?)?, EPS)?)?;
    let cosine = div(&sums(&mul(a, b)?)?, &crate::op::elementwise::unary::sqrt(&lengths)?)?;
    let zero = Operand::from(0.0);
    let alike = shift(&neg(&cosine)?, 1.0)?;
    let unlike = clamp_min(&shift(&cosine, -margin)?, 0i64.into())?;
    let each = add(
        &where_(&eq(target, 1i64)?, Operand::Tensor(&alike), zero)?,
        &where_(&eq(target, -1i64)?, Operand::Tensor(&unlike), zero)?,
    )?;
    reduced(&each, how)
}

/// What [`triplet_margin_loss`] measures by.
#[derive(Clone, Copy)]
pub struct Triplet {
    pub margin: f64,
    pub p: f64,
    pub eps: f64,
    pub swap: bool,
}

/// `max(0, distance(anchor, positive) - distance(anchor, negative) + margin)`; with `swap` the negative counts from the
/// anchor or the positive, whichever is nearer.
pub fn triplet_margin_loss(
    [anchor, positive, negative]: [&Tensor; 3],
    by: Triplet,
    how: Reduction,
) -> Result<Tensor> {
    if by.margin <= 0.0 {
        let text = format!("margin must be greater than 0, got {}", crate::base::python::float(by.margin));
        return Err(Error::value(text));
    }
    let [a, p, n] = [anchor, positive, negative].map(Tensor::rank);
    if a != p || a != n {
        return Err(Error::runtime(format!(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: \
             anchor {a}D, positive {p}D, and negative {n}D inputs"
        )));
    }
    let distance = |a: &Tensor, b: &Tensor| pairwise_distance(a, b, by.p, by.eps, false);
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if by.swap {
        far = minimum(&far, &distance(positive, negative)?)?;
    }
    reduced(&clamp_min(&shift(&sub(&near, &far)?, by.margin)?, 0i64.into())?, how)
}

/// `log(1 + exp(-target * x))` for targets 1 and -1.
pub fn soft_margin_loss(x: &Tensor, target: &Tensor, how: Reduction) -> Result<Tensor> {
    check_cast(to_float(x.dtype()), x.dtype())?;
    static KERNEL: Whole =
        Whole::new("soft_margin_loss", "soft_margin_loss_backward", "SoftMarginLossBackward0");
    let run = move |all: &[Tensor]| match all {
        [x, target] => {
            let product = neg(&mul(x, target)?)?;
            reduced(&crate::op::elementwise::unary::log1p(&exp(&product)?)?, how)
        }
        _ => first(all).cloned(),
    };
    KERNEL.run(&[x, target], &[], Box::new(run))
}

/// The binary cross-entropy of each class of `[n, classes]`, weighted, and its mean over the classes.
pub fn multilabel_soft_margin_loss(
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    how: Reduction,
) -> Result<Tensor> {
    use crate::op::activation::variants::logsigmoid;
    let yes = mul(target, &logsigmoid(x)?)?;
    let no = mul(&shift(&neg(target)?, 1.0)?, &logsigmoid(&neg(x)?)?)?;
    let mut each = neg(&add(&yes, &no)?)?;
    if let Some(weight) = weight {
        each = mul(&each, weight)?;
    }
    // In the order of PyTorch's, whose autocast sums in float32.
    let classes = x.shape().last().map_or(1, |&classes| classes) as f64;
    reduced(&div(&sum(&each, Some(&[-1]), false)?, classes)?, how)
}

/// How [`poisson_nll_loss`] reads its input.
#[derive(Clone, Copy)]
pub struct Poisson {
    /// The input is the logarithm of the rate.
    pub log_input: bool,
    /// Stirling's approximation of `log(target!)` is added where the target is above 1.
    pub full: bool,
    pub eps: f64,
}

/// The negative log-likelihood of counts under Poisson's distribution.
pub fn poisson_nll_loss(x: &Tensor, target: &Tensor, by: Poisson, how: Reduction) -> Result<Tensor> {
    let mut each = if by.log_input {
        sub(&exp(x)?, &mul(target, x)?)?
    } else {
        sub(x, &mul(target, &log(&shift(x, by.eps)?)?)?)?
    };
    if by.full {
        let half = scale(&log(&scale(target, 2.0 * std::f64::consts::PI)?)?, 0.5)?;
        let stirling = add(&sub(&xlogy(target, target)?, target)?, &half)?;
        let large = crate::op::elementwise::comparison::gt(target, 1i64)?;
        each = add(&each, &where_(&large, Operand::Tensor(&stirling), Operand::from(0.0))?)?;
    }
    reduced(&each, how)
}

/// Whether shapes agree but for one dimension, in which the second has a size of 1.
fn one_less(whole: &[usize], part: &[usize]) -> bool {
    let others: usize = whole.iter().zip(part).filter(|(a, b)| a != b).map(|(_, b)| *b).sum();
    whole.len() == part.len() && others == 1
}

/// The negative log-likelihood of targets under normal distributions with means `x` and variances `var`, which count as
/// `eps` where they are smaller. `full` adds the constant.
pub fn gaussian_nll_loss(
    x: &Tensor,
    target: &Tensor,
    var: &Tensor,
    (full, eps): (bool, f64),
    how: Reduction,
) -> Result<Tensor> {
    if !var.dtype().is_float() {
        let name = if var.dtype() == DType::Int64 { "long int" } else { var.dtype().c_name() };
        let text = format!("result type Float can't be cast to the desired output type {name}");
        return Err(Error::runtime(text).with_hint("convert it with `.float()`"));
    }
    let var = if var.shape() == x.shape() {
        var.clone()
    } else if var.shape() == x.shape().get(..x.rank().saturating_sub(1)).unwrap_or(&[]) {
        crate::op::shape::view::unsqueeze(var, -1)?
    } else if one_less(x.shape(), var.shape()) {
        var.clone()
    } else {
        return Err(Error::value("var is of incorrect size"));
    };
    if var.numel() > 0 {
        let _off = crate::op::core::record::no_grad();
        if crate::op::reduce::sums::min_all(&var)?.item()?.as_f64() < 0.0 {
            return Err(Error::value("var has negative entry/entries"));
        }
    }
    // The bound holds for the values; the gradient passes as if it were not there.
    let bounded = {
        let _off = crate::op::core::record::no_grad();
        sub(&clamp_min(&var, eps.into())?, &var)?
    };
    let var = add(&var, &bounded)?;
    let squared = div(&square(&sub(x, target)?)?, &var)?;
    let mut each = scale(&add(&log(&var)?, &squared)?, 0.5)?;
    if full {
        each = shift(&each, 0.5 * (2.0 * std::f64::consts::PI).ln())?;
    }
    reduced(&each, how)
}

pub(crate) const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Loss, summary, params, run).forms(FUNCTIONAL)
}

const A: Draw = Draw::of("a", &[4, 3], Domain::Any);
const B: Draw = Draw::of("b", &[4, 3], Domain::Any);
const C: Draw = Draw::of("c", &[4, 3], Domain::Positive);

params! {
    MarginRankingParams {
        input1: kind::Tensor, "the scores that should be greater where the target is 1";
        input2: kind::Tensor, "the scores that should be greater where the target is -1";
        target: kind::Tensor, "which of both should be greater: 1 or -1";
        margin: kind::Float = 0.0, "how much greater the one is to be than the other";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    HingeEmbeddingParams {
        input: kind::Tensor, "the distances of pairs";
        target: kind::Tensor, "1 where they should be small, -1 where they should be large";
        margin: kind::Float = 1.0, "the distance from which on nothing is lost where the target is -1";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    CosineEmbeddingParams {
        input1: kind::Tensor, "the vectors on one side";
        input2: kind::Tensor, "the vectors on the other side";
        target: kind::Tensor, "1 where a pair should point the same way, -1 where it should not";
        margin: kind::Float = 0.0, "the cosine up to which nothing is lost where the target is -1";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    TripletMarginParams {
        anchor: kind::Tensor, "the examples that the others are compared with";
        positive: kind::Tensor, "examples that should be near them";
        negative: kind::Tensor, "examples that should be far from them";
        margin: kind::Float = 1.0, "how much further the negative example is to be than the positive one";
        p: kind::Float = 2.0, "which norm distances are: 1, 2, …";
        eps: kind::Float = 1e-6, "a small number that is added to each difference";
        swap: kind::Bool = false, "whether the positive example's distance from the negative one counts, if less";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    MultilabelSoftMarginParams {
        input: kind::Tensor, "the predicted scores, a column for each class";
        target: kind::Tensor, "1 for each class that is true, 0 for the others";
        weight: Maybe<kind::Tensor>, "how much each class counts";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    PoissonNllParams {
        input: kind::Tensor, "the predicted rates, or their logarithms";
        target: kind::Tensor, "the counts that were seen";
        log_input: kind::Bool = true, "whether the input is the logarithm of the rates";
        full: kind::Bool = false, "whether Stirling's term is added, which the input has no part in";
        eps: kind::Float = 1e-8, "a small number that is added to the rates before their logarithm is taken";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

params! {
    GaussianNllParams {
        input: kind::Tensor, "the predicted means";
        target: kind::Tensor, "the values that were seen";
        var: kind::Operand, "the predicted variances, or one number for all";
        full: kind::Bool = false, "whether the constant of the distribution is added";
        eps: kind::Float = 1e-6, "the least that a variance counts as";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "margin_ranking_loss",
        "How far the order of two inputs is from the one that a target of 1 or -1 asks for.",
        MarginRankingParams::LIST, by_name!(MarginRankingParams, |a| {
            let of = [a.input1, a.input2, a.target];
            to_value(whole("margin_ranking_loss", of, |[x, y, t]| margin_ranking_loss(x, y, t, a.margin, a.reduction)))
        }),
    )
    .details("`max(0, -target * (input1 - input2) + margin)`.")
    .shapes("three of as many dimensions, broadcast together -> (), or that shape where reduction is \"none\"")
    .errors(&["RuntimeError: the inputs differ in how many dimensions they have", shapes::BOOLS, shapes::NO_BROADCAST])
    .example("F::margin_ranking_loss(tensor([1.0, 3.0]), tensor([2.0, 1.0]), tensor([1, 1]))", "tensor(0.5000)")
    .samples(&[Sample::of("F::margin_ranking_loss(a, b, where(m, 1, -1), 0.3)", &[A, B, Draw::of("m", &[4, 3], Domain::Mask)])]),
    row(
        "hinge_embedding_loss",
        "Distances that should be small where the target is 1, and above a margin where it is -1.",
        HingeEmbeddingParams::LIST, by_name!(HingeEmbeddingParams, |a| {
            let of = [a.input, a.target];
            to_value(whole("hinge_embedding_loss", of, |[x, t]| hinge_embedding_loss(x, t, a.margin, a.reduction)))
        }),
    )
    .shapes(shapes::LOSS)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("F::hinge_embedding_loss(tensor([0.5, 0.5]), tensor([1, -1]))", "tensor(0.5000)")
    .samples(&[Sample::of("F::hinge_embedding_loss(a, where(m, 1, -1))", &[A, Draw::of("m", &[4, 3], Domain::Mask)])]),
    row(
        "cosine_embedding_loss",
        "Vectors that should point the same way where the target is 1, and apart where it is -1.",
        CosineEmbeddingParams::LIST, by_name!(CosineEmbeddingParams, |a| {
            let of = [a.input1, a.input2, a.target];
            to_value(whole("cosine_embedding_loss", of, |[x, y, t]| cosine_embedding_loss(x, y, t, a.margin, a.reduction)))
        }),
    )
    .shapes("(N, D), (N, D), (N) -> (), or (N) where reduction is \"none\"; (D), (D), () -> ()")
    .errors(&["RuntimeError: the target has not one dimension less than the inputs"])
    .example(
        "F::cosine_embedding_loss(tensor([[1.0, 0.0]]), tensor([[0.0, 1.0]]), tensor([1]))",
        "tensor(1.)",
    )
    .samples(&[Sample::of("F::cosine_embedding_loss(a, b, where(m, 1, -1), -0.2)", &[A, B, Draw::of("m", &[4], Domain::Mask)])]),
    row(
        "triplet_margin_loss",
        "How much nearer an anchor is to a negative example than to a positive one, with a margin.",
        TripletMarginParams::LIST, by_name!(TripletMarginParams, |a| {
            let by = Triplet { margin: a.margin, p: a.p, eps: a.eps, swap: a.swap };
            let of = [a.anchor, a.positive, a.negative];
            to_value(whole("triplet_margin_loss", of, |all| triplet_margin_loss(all, by, a.reduction)))
        }),
    )
    .details("With `swap` the negative counts from the anchor or the positive, whichever is nearer.")
    .shapes("three (…, D), broadcast together -> (), or (…) where reduction is \"none\"")
    .errors(shapes::DIFFERENCE_ERRORS)
    .example(
        "F::triplet_margin_loss(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]), tensor([[0.0, 2.0]]))",
        "tensor(4.0000)",
    )
    .samples(&[
        Sample::of("F::triplet_margin_loss(a, b, c)", &[A, B, C]),
        Sample::of("F::triplet_margin_loss(a, b, c, #{swap: true, reduction: \"sum\"})", &[A, B, C]),
    ]),
    row(
        "soft_margin_loss",
        "`log(1 + exp(-target * input))` for targets 1 and -1.",
        PairParams::LIST, by_name!(PairParams, |a| {
            to_value(whole("soft_margin_loss", [a.input, a.target], |[x, t]| soft_margin_loss(x, t, a.reduction)))
        }),
    )
    .shapes(shapes::LOSS)
    .errors(&[shapes::NO_BROADCAST])
    .example("F::soft_margin_loss(tensor([0.0]), tensor([1.0]))", "tensor(0.6931)")
    .samples(&[Sample::of("F::soft_margin_loss(a, where(m, 1, -1))", &[A, Draw::of("m", &[4, 3], Domain::Mask)])]),
    row(
        "multilabel_soft_margin_loss",
        "Scores of several classes that may all be true, against 0 and 1 for each.",
        MultilabelSoftMarginParams::LIST, by_name!(MultilabelSoftMarginParams, |a| multilabel_soft_margin_loss(a.input, a.target, a.weight, a.reduction).map(Value::from)),
    )
    .shapes("(…, C), (…, C) -> (), or (…) where reduction is \"none\"")
    .errors(&[shapes::NO_FLOAT, shapes::NO_BROADCAST])
    .example(
        "F::multilabel_soft_margin_loss(tensor([[0.0, 0.0]]), tensor([[1.0, 0.0]]))",
        "tensor(0.6931)",
    )
    .samples(&[Sample::of("F::multilabel_soft_margin_loss(a, (b > 0).float(), c)", &[A, B, C])]),
    row(
        "poisson_nll_loss",
        "The negative log-likelihood of counts under Poisson's distribution.",
        PoissonNllParams::LIST, by_name!(PoissonNllParams, |a| {
            let by = Poisson { log_input: a.log_input, full: a.full, eps: a.eps };
            to_value(whole("poisson_nll_loss", [a.input, a.target], |[x, t]| poisson_nll_loss(x, t, by, a.reduction)))
        }),
    )
    .details("The input is the logarithm of the rate, or with `log_input` false the rate; `full` adds Stirling's term.")
    .shapes(shapes::LOSS)
    .errors(&[shapes::BOOLS, shapes::NO_BROADCAST])
    .example("F::poisson_nll_loss(tensor([0.0, 1.0]), tensor([1.0, 2.0]))", "tensor(0.8591)")
    .samples(&[
        Sample::of("F::poisson_nll_loss(a, c)", &[A, C]),
        Sample::of("F::poisson_nll_loss(c, c + 1.5, #{log_input: false, full: true})", &[C]),
    ]),
    row(
        "gaussian_nll_loss",
        "The negative log-likelihood of targets under normal distributions with given variances.",
        GaussianNllParams::LIST, by_name!(GaussianNllParams, |a| {
            let held;
            let var = match a.var {
                Operand::Tensor(var) => var,
                Operand::Scalar(n) => {
                    held = Tensor::full(a.input.shape(), n, a.input.dtype(), &a.input.context(), "gaussian_nll_loss")?;
                    &held
                }
            };
            gaussian_nll_loss(a.input, a.target, var, (a.full, a.eps), a.reduction).map(Value::from)
        }),
    )
    .details("`full` adds the constant of the distribution; variances count as `eps` where they are smaller.")
    .shapes("(…, D), target (…, D), var (…, D), (…, 1) or (…) -> (), or (…, D) where reduction is \"none\"")
    .errors(&["ValueError: the variances have another shape, or one is negative", shapes::BOOLS, shapes::NO_BROADCAST])
    .example(
        "F::gaussian_nll_loss(tensor([1.0, 2.0]), tensor([1.0, 4.0]), tensor([1.0, 2.0]))",
        "tensor(0.6733)",
    )
    .samples(&[Sample::of("F::gaussian_nll_loss(a, b, c)", &[A, B, C])]),
];
