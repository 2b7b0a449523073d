//! Activations that cut a band or a side away, and draws that stay soft.

use crate::base::{DType, Error, Kind, Result, Scalar};
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::fill::replaced_if;
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{named, one};
use crate::op::core::shapes;
use crate::op::core::whole::{Whole, first};
use crate::op::elementwise::arithmetic::{add, mul, scale, shift, sub};
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::comparison::{ge, gt, le, logical_and, logical_or, lt};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{log, tanh};
use crate::op::gather::along_dim::scatter;
use crate::op::random::distributions::exponential_;
use crate::op::reduce::softmax::softmax;
use crate::op::sorting::extremum::argmax;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::dropout::{check_probability, dropout};
use super::variants::row;

/// `x` above `threshold`, `value` elsewhere.
pub(crate) fn threshold(x: &Tensor, threshold: Scalar, value: Scalar) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ThresholdBackward0", run: |_, g| one(g.clone()) };
    if x.dtype() == DType::Bool {
        return Err(Error::new(Kind::NotImplementedError, "\"threshold_cpu\" not implemented for 'Bool'"));
    }
    static KERNEL: Whole = Whole::new("threshold", "threshold_backward", "ThresholdBackward0");
    let run = move |all: &[Tensor]| {
        let x = first(all)?;
        Ok(named(masked_fill(x, &le(x, threshold)?, value)?, &RULE))
    };
    KERNEL.run(&[x], &[], Box::new(run))
}

/// `x` moved by `lambd` towards 0, and 0 where that would pass it.
pub(crate) fn softshrink(x: &Tensor, lambd: f64) -> Result<Tensor> {
    if lambd < 0.0 {
        let (most, name) = match x.dtype() {
            DType::Float64 => ("1.79769e+308", "Double"),
            DType::Float16 => ("65504", "Half"),
            DType::BFloat16 => ("3.38953e+38", "BFloat16"),
            other => ("3.40282e+38", other.type_name()),
        };
        let text = format!("lambda must be in range [0, {most}] for input dtype {name}, but found {lambd}");
        return Err(Error::runtime(text));
    }
    only_floats(x.dtype(), "softshrink_check")?;
    static KERNEL: Whole = Whole::new("softshrink", "softshrink_backward", "SoftshrinkBackward0");
    let run = move |all: &[Tensor]| {
        let x = first(all)?;
        let zero = masked_fill(x, &within(x, lambd)?, 0i64.into())?;
        let moved = where_(&gt(x, lambd)?, (&shift(x, -lambd)?).into(), (&shift(x, lambd)?).into())?;
        static RULE: Vjp = Vjp { name: "SoftshrinkBackward0", run: |_, g| one(g.clone()) };
        Ok(named(where_(&outside(x, lambd)?, (&moved).into(), (&zero).into())?, &RULE))
    };
    KERNEL.run(&[x], &[], Box::new(run))
}

/// `x`, and 0 where it is no farther from 0 than `lambd`.
pub(crate) fn hardshrink(x: &Tensor, lambd: f64) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "HardshrinkBackward0", run: |_, g| one(g.clone()) };
    only_floats(x.dtype(), "hardshrink_cpu")?;
    static KERNEL: Whole = Whole::new("hardshrink", "hardshrink_backward", "HardshrinkBackward0");
    let run = move |all: &[Tensor]| {
        let x = first(all)?;
        Ok(named(masked_fill(x, &within(x, lambd)?, 0i64.into())?, &RULE))
    };
    KERNEL.run(&[x], &[], Box::new(run))
}

fn within(x: &Tensor, bound: f64) -> Result<Tensor> {
    logical_and(&ge(x, -bound)?, &le(x, bound)?)
}

fn outside(x: &Tensor, bound: f64) -> Result<Tensor> {
    logical_or(&lt(x, -bound)?, &gt(x, bound)?)
}

/// Dropout that keeps mean and variance of what `selu` gives (Klambauer et al., 2017): what is dropped becomes the
/// value that `selu` goes to, and all is scaled and moved.
pub(crate) fn alpha_dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    check_probability(p)?;
    if !training || p == 0.0 {
        return Ok(x.clone());
    }
    if p == 1.0 {
        return mul(x, 0.0);
    }
    const LOWEST: f64 = -1.758_099_340_847_376_6;
    let kept = 1.0 - p;
    let factor = 1.0 / (kept + LOWEST * LOWEST * kept * p).sqrt();
    let ones = Tensor::full(x.shape(), 1i64.into(), x.dtype(), &x.context(), "alpha_dropout")?;
    let mask = gt(&dropout(&ones, p, true)?, 0i64)?;
    let dropped = where_(&mask, x.into(), Operand::Scalar(Scalar::Float(LOWEST)))?;
    shift(&scale(&dropped, factor)?, -factor * LOWEST * p)
}

/// A draw from a softmax by Gumbel noise (Jang et al., 2016): a distribution, or with `hard` one of its corners whose
/// gradient is the distribution's.
pub(crate) fn gumbel_softmax(logits: &Tensor, tau: f64, hard: bool, dim: i64) -> Result<Tensor> {
    let noise = Tensor::empty(logits.shape(), logits.dtype(), &logits.context(), "gumbel_softmax")?;
    let gumbels = neg(&log(&exponential_(&noise, 1.0)?)?)?;
    let soft = softmax(&scale(&add(logits, &gumbels)?, 1.0 / tau)?, dim, None)?;
    if !hard {
        return Ok(soft);
    }
    let place = argmax(&soft, Some(dim), true)?;
    let zeros = Tensor::full(soft.shape(), 0i64.into(), soft.dtype(), &soft.context(), "gumbel_softmax")?;
    let corner = scatter(&zeros, dim, &place, Operand::Scalar(1i64.into()))?;
    add(&sub(&corner, &soft.detach())?, &soft)
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

params! {
    ThresholdParams {
        input: kind::Tensor, "the tensor it is computed of";
        threshold: kind::Scalar, "what elements must be above to stay";
        value: kind::Scalar, "what the others become";
        inplace: kind::Bool = false, "writes to the tensor itself, and gives it";
    }
}

params! {
    ShrinkParams {
        input: kind::Tensor, "the tensor it is computed of";
        lambd: kind::Float = 0.5, "how far from 0 elements become 0";
    }
}

params! {
    AlphaDropoutParams {
        input: kind::Tensor, "the tensor whose elements are dropped";
        p: kind::Float = 0.5, "how likely each is dropped";
        training: kind::Bool = false, "whether any are; outside training the tensor stays as it is";
        inplace: kind::Bool = false, "writes to the tensor itself, and gives it";
    }
}

params! {
    GumbelParams {
        logits: kind::Tensor, "log-probabilities, which need not be normalised";
        tau: kind::Float = 1.0, "the temperature: the lower, the nearer to a corner";
        hard: kind::Bool = false, "gives the corner, with the gradient of what is soft";
        eps: kind::Float = 1e-10, "taken as PyTorch's, and of no effect";
        dim: kind::Dim = -1, "the dimension along which the results add up to 1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "threshold",
        Family::Activation,
        "Elements above a threshold as they are, a value in place of the others.",
        ThresholdParams::LIST,
        by_name!(ThresholdParams, |a| to_value(replaced_if(a.inplace, a.input, |x| {
            threshold(x, a.threshold, a.value)
        }))),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("F::threshold(tensor([0.5, 2.0]), 1.0, -1.0)", "tensor([-1.,  2.])")
    .samples(&[Sample::of("F::threshold(x, 0.5, 2.0)", &[X])]),
    row(
        "softshrink",
        Family::Activation,
        "Elements moved towards 0 by `lambd`, and 0 where that would pass it.",
        ShrinkParams::LIST,
        by_name!(ShrinkParams, |a| to_value(softshrink(a.input, a.lambd))),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `lambd` is negative", shapes::NO_FLOAT])
    .example("F::softshrink(tensor([-2.0, 0.2, 1.0]))", "tensor([-1.5000,  0.0000,  0.5000])")
    .samples(&[Sample::of("F::softshrink(x)", &[X])]),
    row(
        "hardshrink",
        Family::Activation,
        "Elements as they are, and 0 where they are no farther from 0 than `lambd`.",
        ShrinkParams::LIST,
        by_name!(ShrinkParams, |a| to_value(hardshrink(a.input, a.lambd))),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::hardshrink(tensor([-2.0, 0.2, 1.0]))", "tensor([-2.,  0.,  1.])")
    .samples(&[Sample::of("F::hardshrink(x)", &[X])]),
    row(
        "tanhshrink",
        Family::Activation,
        "`x - tanh(x)`.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(sub(a.input, &tanh(a.input)?))),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("F::tanhshrink(tensor([0.0, 1.0]))", "tensor([0.0000, 0.2384])")
    .samples(&[Sample::of("F::tanhshrink(x)", &[X])]),
    row(
        "alpha_dropout",
        Family::Activation,
        "Dropout that keeps the mean and the variance of what `selu` gives.",
        AlphaDropoutParams::LIST,
        by_name!(AlphaDropoutParams, |a| to_value(replaced_if(a.inplace, a.input, |x| {
            alpha_dropout(x, a.p, a.training)
        }))),
    )
    .shapes(shapes::SAME)
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: while training, the tensor holds integers or bools",
    ])
    .example("F::alpha_dropout(tensor([1.0, 2.0]), 0.5, false)", "tensor([1., 2.])"),
    row(
        "gumbel_softmax",
        Family::Activation,
        "A draw from a softmax by Gumbel noise, whose gradient reaches the logits.",
        GumbelParams::LIST,
        by_name!(GumbelParams, |a| {
            let _ = a.eps;
            to_value(gumbel_softmax(a.logits, a.tau, a.hard, a.dim))
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::gumbel_softmax(tensor([0.0, 100.0]), 1.0, true)", "tensor([0., 1.])"),
];
