//! Margins between the scores of classes, composed of other operations.

use crate::base::{DType, Error, Result};
use crate::device::kernel::Reduction;
use crate::op::core::autocast::whole;
use crate::op::core::def::{DefaultValue, Domain, Draw, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{add, mul, scale, shift, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{eq, ge};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{relu, square};
use crate::op::gather::along_dim::{beyond, gather, same_place};
use crate::op::gather::select::index_select;
use crate::op::reduce::products::cumprod;
use crate::op::reduce::sums::{any, sum};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

use super::elements::{PairParams, Reduced, reduced};
use super::margins::row;

/// What [`multi_margin_loss`] measures by.
#[derive(Clone, Copy)]
pub(crate) struct MultiMargin<'a> {
    /// 1 or 2.
    pub p: i64,
    pub margin: f64,
    /// `[classes]`
    pub weight: Option<&'a Tensor>,
}

/// `Σ max(0, margin - x[y] + x[j]) ** p / classes` over the classes `j` other than the true one `y`.
pub(crate) fn multi_margin_loss(
    x: &Tensor,
    target: &Tensor,
    by: MultiMargin,
    how: Reduction,
) -> Result<Tensor> {
    if !matches!(by.p, 1 | 2) {
        return Err(Error::value("only p == 1 and p == 2 supported"));
    }
    let (n, classes) = scores(x)?;
    if let Some(w) = by.weight.filter(|w| w.rank() != 1) {
        return Err(
            Error::value("weight must be one-dimensional").with_hint(format!("it is {:?}", w.shape()))
        );
    }
    if target.numel() != n || target.rank() > 1 {
        return Err(Error::runtime(format!(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). \
             Expected target size [{n}], but got {:?}. Input has shape {:?}.",
            target.shape(),
            x.shape()
        )));
    }
    if let Some(w) = by.weight.filter(|w| w.shape() != [classes]) {
        let text = format!("inconsistent weight size, expected {classes} but got {:?}", w.shape());
        return Err(Error::runtime(text));
    }
    numbered(x, target)?;
    known("multi_margin_loss", target, (0, classes), "target out of range")?;
    static KERNEL: Whole =
        Whole::new("multi_margin_loss", "multi_margin_loss_backward", "MultiMarginLossBackward0");
    let (p, margin) = (by.p, by.margin);
    let run = move |all: &[Tensor]| match all {
        [x, target, weight @ ..] => gaps(x, target, (p, margin, weight.first()), how),
        _ => first(all).cloned(),
    };
    let inputs: Vec<&Tensor> = [Some(x), Some(target), by.weight].into_iter().flatten().collect();
    KERNEL.run(&inputs, &[], Box::new(run))
}

fn gaps(
    x: &Tensor,
    target: &Tensor,
    (p, margin, weight): (i64, f64, Option<&Tensor>),
    how: Reduction,
) -> Result<Tensor> {
    let (n, classes) = scores(x)?;
    let (rows, column) = (reshape_to(x, &[n, classes])?, reshape_to(target, &[n, 1])?);
    let own = gather(&rows, 1, &column)?;
    let mut each = relu(&shift(&sub(&rows, &own)?, margin)?)?;
    if p == 2 {
        each = square(&each)?;
    }
    if let Some(w) = weight {
        each = mul(&each, &unsqueeze(&index_select(w, 0, &reshape_to(target, &[n])?)?, 1)?)?;
    }
    let others = where_(&eq(&column, &numbers(classes, x)?)?, Operand::from(0.0), Operand::Tensor(&each))?;
    let losses = scale(&sum(&others, Some(&[1]), false)?, 1.0 / classes as f64)?;
    reduced(&reshape_to(&losses, target.shape())?, how)
}

/// `Σ max(0, 1 - x[y] + x[j]) / classes` over the true classes `y`, those of the target before the first -1, and all
/// other classes `j`.
pub(crate) fn multilabel_margin_loss(x: &Tensor, target: &Tensor, how: Reduction) -> Result<Tensor> {
    let (_, classes) = scores(x)?;
    if target.shape() != x.shape() {
        let text =
            format!("inconsistent target size: {:?} for input of size: {:?}", target.shape(), x.shape());
        return Err(Error::runtime(text));
    }
    numbered(x, target)?;
    known("multilabel_margin_loss", target, (-1, classes), "argument #2 'target' is out of range")?;
    static KERNEL: Whole = Whole::new(
        "multilabel_margin_loss",
        "multilabel_margin_loss_backward",
        "MultilabelMarginLossBackward0",
    );
    let run = move |all: &[Tensor]| match all {
        [x, target] => labelled(x, target, how),
        _ => first(all).cloned(),
    };
    KERNEL.run(&[x, target], &[(x.shape(), x.dtype())], Box::new(run))
}

fn labelled(x: &Tensor, target: &Tensor, how: Reduction) -> Result<Tensor> {
    let (n, classes) = scores(x)?;
    let (rows, labels) = (reshape_to(x, &[n, classes])?, reshape_to(target, &[n, classes])?);
    let told = eq(&cumprod(&ge(&labels, 0i64)?, 1, None)?, 1i64)?;
    let (absent, first) = (Operand::from(-1i64), Operand::from(0i64));
    let known = where_(&told, Operand::Tensor(&labels), absent)?;
    let own = gather(&rows, 1, &where_(&told, Operand::Tensor(&labels), first)?)?;
    let is_own = any(&eq(&unsqueeze(&known, 2)?, &numbers(classes, x)?)?, Some(&[1]), false)?;
    let gaps = relu(&shift(&add(&neg(&unsqueeze(&own, 2)?)?, &unsqueeze(&rows, 1)?)?, 1.0)?)?;
    let zero = Operand::from(0.0);
    let gaps = where_(&unsqueeze(&told, 2)?, Operand::Tensor(&gaps), zero)?;
    let gaps = where_(&unsqueeze(&is_own, 1)?, zero, Operand::Tensor(&gaps))?;
    let losses = scale(&sum(&gaps, Some(&[1, 2]), false)?, 1.0 / classes as f64)?;
    let shape = if x.rank() == 2 { vec![n] } else { Vec::new() };
    reduced(&reshape_to(&losses, &shape)?, how)
}

/// How many examples and classes there are in `[n, classes]` or `[classes]`.
fn scores(x: &Tensor) -> Result<(usize, usize)> {
    match *x.shape() {
        [] => Ok((1, 1)),
        [classes] if classes > 0 => Ok((1, classes)),
        [n, classes] if classes > 0 => Ok((n, classes)),
        _ => Err(Error::runtime(format!(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {:?}",
            x.shape()
        ))),
    }
}

fn numbered(x: &Tensor, target: &Tensor) -> Result<()> {
    same_place(x, "target", target, "wrapper_CUDA_multi_margin_loss")?;
    if target.dtype() == DType::Int64 {
        return Ok(());
    }
    let text = format!("expected scalar type Long but found {}", target.dtype().type_name());
    Err(Error::runtime(text).with_hint("classes are numbers: convert them with `.long()`"))
}

/// Each class of a target is one of those there are.
fn known(
    op: &'static str,
    target: &Tensor,
    (least, classes): (i64, usize),
    text: &'static str,
) -> Result<()> {
    match beyond(target, least, classes as i64, op)? {
        None => Ok(()),
        Some(class) => {
            let hint = format!("there are {classes} classes, from 0 on, and the target holds {class}");
            Err(Error::runtime(text).with_hint(hint))
        }
    }
}

/// 0 to `count`, beside `x`.
fn numbers(count: usize, x: &Tensor) -> Result<Tensor> {
    let make = Make { device: Some(x.device().into()), ..Make::default() };
    arange(0i64.into(), (count as i64).into(), 1i64.into(), &make)
}

params! {
    MultiMarginParams {
        input: kind::Tensor, "the predicted scores, a column for each class";
        target: kind::Tensor, "the true classes";
        p: kind::Int = 1, "1, or 2 for squares";
        margin: kind::Float = 1.0, "how much greater the true class's score is to be than the others";
        weight: Maybe<kind::Tensor>, "how much each class counts";
        reduction: Reduced => DefaultValue::Str("mean"), "what becomes of all losses: \"mean\", \"sum\" or \"none\"";
    }
}

const X: Draw = Draw::of("x", &[4, 5], Domain::Any);
const Y: Draw = Draw::of("y", &[4], Domain::Index(5));

/// When losses of margins between classes fail.
pub(crate) const MULTI_ERRORS: &[&str] = &[
    "ValueError: `p` is neither 1 nor 2",
    "RuntimeError: the target is not int64, has another size, or holds a class that is not below C",
];
/// When losses of several true classes fail.
pub(crate) const MULTILABEL_ERRORS: &[&str] =
    &["RuntimeError: the target is not int64, has another shape, or holds a class that is not below C"];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "multi_margin_loss",
        "How far the true class's score is from being greater than the others by a margin.",
        MultiMarginParams::LIST,
        by_name!(MultiMarginParams, |a| {
            let MultiMarginParams { p, margin, reduction, .. } = a;
            let run = |x: &Tensor| {
                multi_margin_loss(x, a.target, MultiMargin { p, margin, weight: a.weight }, reduction)
            };
            whole("multi_margin_loss", [a.input], |[x]| run(x)).map(Value::from)
        }),
    )
    .details(
        "`Σ max(0, margin - x[y] + x[j]) ** p / classes` over the classes `j` other than the true one, `y`.",
    )
    .shapes("(N, C), target (N) -> (), or (N) where reduction is \"none\"; (C), () -> ()")
    .errors(MULTI_ERRORS)
    .example("F::multi_margin_loss(tensor([[0.1, 0.2, 0.4, 0.8]]), tensor([3]))", "tensor(0.3250)")
    .samples(&[
        Sample::of("F::multi_margin_loss(x, y)", &[X, Y]),
        Sample::of(
            "F::multi_margin_loss(x, y, #{p: 2, margin: 0.7, weight: w, reduction: \"none\"})",
            &[X, Y, Draw::of("w", &[5], Domain::Any)],
        ),
    ]),
    row(
        "multilabel_margin_loss",
        "How far the scores of several true classes are from being greater than those of all others by 1.",
        PairParams::LIST,
        by_name!(PairParams, |a| {
            let run = |x: &Tensor| multilabel_margin_loss(x, a.target, a.reduction);
            whole("multilabel_margin_loss", [a.input], |[x]| run(x)).map(Value::from)
        }),
    )
    .details("A row of the target begins with its true classes; a -1 ends them.")
    .shapes("(N, C), target (N, C) -> (), or (N) where reduction is \"none\"; (C), (C) -> ()")
    .errors(MULTILABEL_ERRORS)
    .example(
        "F::multilabel_margin_loss(tensor([[0.1, 0.2, 0.4, 0.8]]), tensor([[3, 0, -1, 1]]))",
        "tensor(0.8500)",
    )
    .samples(&[Sample::of(
        "F::multilabel_margin_loss(x, tensor([[3, 0, -1, 1, 2], [1, -1, 0, 0, 0]]))",
        &[Draw::of("x", &[2, 5], Domain::Any)],
    )]),
];
