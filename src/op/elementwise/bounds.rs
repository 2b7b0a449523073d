//! Clamping between bounds that are tensors, and the rows of both kinds.

use crate::base::{Error, Result, Scalar};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::map::{ternary, ternary_into};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::{check_cast, result_type};
use crate::op::core::record::{in_place, one, recorded, wanted};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Saver, Vjp};

use super::arithmetic::scale;
use super::binary::{maximum, minimum, share};
use super::choose::{masked_fill, where_};
use super::clamp;
use super::comparison::{eq, gt, le, logical_and, logical_or, lt};

/// `x` kept between two bounds that spread over its shape; an absent one is open. NaN in any of them stays.
///
/// # Errors
/// Neither bound is given; shapes that do not spread; two devices.
pub fn clamp(x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampBackward0", run: both_grad };
    run(x, low, high, &RULE)
}

/// `x`, or `low` where it is less.
pub fn clamp_min(x: &Tensor, low: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampMinBackward1", run: both_grad };
    run(x, Some(low), None, &RULE)
}

/// `x`, or `high` where it is more.
pub fn clamp_max(x: &Tensor, high: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ClampMaxBackward1", run: both_grad };
    run(x, None, Some(high), &RULE)
}

/// [`clamp`] in place: the bounds spread over `x`, and its dtype holds what comes out.
pub fn clamp_(x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<Tensor> {
    let all = operands(x, low, high)?;
    check_cast(result_type(&all), x.dtype())?;
    if let (Some(low), Some(high), false) = (low, high, grows(&all)) {
        static RULE: Vjp = Vjp { name: "ClampBackward0", run: both_grad };
        let before =
            if recorded_in(&[x, low, high]) { crate::op::core::convert::cloned(x)? } else { x.clone() };
        let compute = result_type(&all);
        return in_place(
            x,
            &[low, high],
            &RULE,
            |s| save(s, &before, Some(low), Some(high)),
            || {
                ternary_into(
                    x,
                    "clamp_",
                    MapOp::Between,
                    [x.into(), low.into(), high.into()],
                    compute,
                    [0.0; 2],
                )
            },
        );
    }
    replaced(x, |before| {
        let y = clamp(before, low, high)?;
        if y.shape() != x.shape() {
            let text = format!(
                "output with shape {:?} doesn't match the broadcast shape {:?}",
                x.shape(),
                y.shape()
            );
            return Err(Error::runtime(text));
        }
        Ok(y)
    })
}

fn recorded_in(all: &[&Tensor]) -> bool {
    crate::tensor::autograd::needs_graph(all)
}

/// Whether a bound is larger than what it bounds.
fn grows(all: &[Operand]) -> bool {
    let shapes: Vec<&[usize]> =
        all.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(t.shape()) } else { None }).collect();
    let Some((x, bounds)) = shapes.split_first() else { return false };
    bounds.iter().any(|b| crate::base::shape::broadcast(x, b).map_or(true, |wide| wide.as_slice() != *x))
}

fn operands<'a>(
    x: &'a Tensor,
    low: Option<&'a Tensor>,
    high: Option<&'a Tensor>,
) -> Result<Vec<Operand<'a>>> {
    let bounds: Vec<&Tensor> = low.into_iter().chain(high).collect();
    if bounds.is_empty() {
        return Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None"));
    }
    Ok(std::iter::once(x).chain(bounds).map(Operand::Tensor).collect())
}

fn run(x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>, rule: &'static Vjp) -> Result<Tensor> {
    let dtype = result_type(&operands(x, low, high)?);
    let out = {
        let _off = crate::op::core::record::no_grad();
        match (low, high) {
            (Some(low), Some(high)) => {
                ternary("clamp", MapOp::Between, [x.into(), low.into(), high.into()], dtype, [0.0; 2])?
            }
            (Some(low), None) => maximum(x, low)?,
            (_, Some(high)) => minimum(x, high)?,
            (None, None) => x.clone(),
        }
    };
    let inputs: Vec<&Tensor> = std::iter::once(x).chain(low).chain(high).collect();
    Ok(recorded(out, rule, &inputs, |s, _| save(s, x, low, high)))
}

fn save(s: &mut Saver, x: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) {
    s.input(x);
    low.into_iter().chain(high).for_each(|t| s.input(t));
    s.attribute((low.is_some(), high.is_some()));
}

/// The gradient goes to what an element came from; an element at one bound shares it with it, and one at two that are the
/// same keeps it. Where the bounds are the wrong way round, the upper one has won. As in PyTorch 2.15.
fn both_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(has_low, has_high): &(bool, bool) = s.attribute()?;
    let x = s.tensor(0)?;
    let low = has_low.then(|| s.tensor(1)).transpose()?;
    let high = has_high.then(|| s.tensor(if has_low { 2 } else { 1 })).transpose()?;
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(bound), None) => return one_grad(s, g, (&x, &bound), |x, bound| lt(x, bound)),
        (None, Some(bound)) => return one_grad(s, g, (&x, &bound), |x, bound| gt(x, bound)),
        (None, None) => return one(g.clone()),
    };
    let zero = || Operand::Scalar(0i64.into());
    let (below, above, ordered) = (lt(&x, &low)?, gt(&x, &high)?, lt(&low, &high)?);
    let at = |bound: &Tensor| logical_and(&eq(&x, bound)?, &ordered);
    let half = scale(g, 0.5)?;
    let of_bound = |wins: &Tensor, bound: &Tensor| {
        let shared = where_(&at(bound)?, (&half).into(), zero())?;
        where_(wins, g.into(), (&shared).into())
    };
    let mut grads = Grads::new();
    grads.push(wanted(s, 0, || {
        let shared = where_(&logical_or(&at(&low)?, &at(&high)?)?, (&half).into(), g.into())?;
        masked_fill(&shared, &logical_or(&below, &above)?, 0i64.into())
    })?);
    grads.push(wanted(s, 1, || of_bound(&logical_and(&below, &le(&low, &high)?)?, &low))?);
    grads.push(wanted(s, 2, || of_bound(&logical_or(&above, &lt(&high, &low)?)?, &high))?);
    Ok(grads)
}

/// That of the larger or the smaller of an element and its only bound; `loses` says where it is the bound.
fn one_grad(
    s: &Saved,
    g: &Tensor,
    (x, bound): (&Tensor, &Tensor),
    loses: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Grads> {
    let mut grads = Grads::new();
    grads.push(wanted(s, 0, || share(g, (x.into(), bound.into()), &loses(x, bound)?))?);
    grads.push(wanted(s, 1, || share(g, (bound.into(), x.into()), &loses(bound, x)?))?);
    Ok(grads)
}

const X: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const THREE: &[Draw] = &[
    Draw::of("a", &[3, 4], Domain::Any),
    Draw::of("b", &[4], Domain::Any),
    Draw::of("c", &[3, 4], Domain::Positive),
];
const CLAMP: OpDef = OpDef::call(
    "clamp",
    Family::Elementwise,
    "Each element, held between two bounds.",
    ClampParams::LIST,
    by_name!(ClampParams, |a| to_value(clamped(a.input, a.min, a.max))),
)
.shapes("any -> the same; bounds that are tensors and the input are broadcast together")
.errors(&[
    "RuntimeError: there is neither a least nor a largest",
    "TypeError: one bound is a tensor and the other a number",
])
    .in_place(by_name!(ClampParams, |a| to_value(clamped_(a.input, a.min, a.max))))
    .details(
        "Bounds are numbers, or tensors that spread over each other; an absent one is open. The gradient goes to what an \
         element came from: the tensor or a bound.",
    )
    .gradient(Gradient::Vjp("ClampBackward1"))
    .samples(&[
        Sample::of("x.clamp(-0.55, 0.75)", X),
        Sample::of("a.clamp(b, c)", THREE),
        Sample::of("a.clamp(#{max: b})", THREE),
    ]);

enum Bounds<'a> {
    Numbers(Option<Scalar>, Option<Scalar>),
    Tensors(Option<&'a Tensor>, Option<&'a Tensor>),
}

params! {
    ClampParams {
        input: kind::Tensor, "the tensor it is computed of";
        min: Maybe<kind::Operand>, "the lower bound; none where it is absent";
        max: Maybe<kind::Operand>, "the upper bound; none where it is absent";
    }
}

params! {
    ClampMinParams {
        input: kind::Tensor, "the tensor it is computed of";
        min: kind::Operand, "the lower bound";
    }
}

params! {
    ClampMaxParams {
        input: kind::Tensor, "the tensor it is computed of";
        max: kind::Operand, "the upper bound";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    CLAMP.named("clamp").example("tensor([-2, 0, 5]).clamp(-1, 1)", "tensor([-1,  0,  1])"),
    CLAMP
        .named("clip")
        .summary("Another name of `clamp`.")
        .example("tensor([-2, 0, 5]).clip(tensor([0, 1, 2]), ())", "tensor([0, 1, 5])"),
    OpDef::call(
        "clamp_min",
        Family::Elementwise,
        "Each element, not below a bound.",
        ClampMinParams::LIST,
        by_name!(ClampMinParams, |a| match a.min {
            Operand::Tensor(low) => to_value(clamp_min(a.input, low)),
            Operand::Scalar(low) => to_value(clamp::clamp_min(a.input, low)),
        }),
    )
    .in_place(by_name!(ClampMinParams, |a| to_value(clamped_(a.input, Some(a.min), None))))
    .shapes("any -> the same; a bound that is a tensor and the input are broadcast together")
    .example("tensor([-2, 5]).clamp_min(0)", "tensor([0, 5])")
    .gradient(Gradient::Vjp("ClampMinBackward0"))
    .samples(&[Sample::of("x.clamp_min(0.15)", X), Sample::of("a.clamp_min(b)", THREE)]),
    OpDef::call(
        "clamp_max",
        Family::Elementwise,
        "Each element, not above a bound.",
        ClampMaxParams::LIST,
        by_name!(ClampMaxParams, |a| match a.max {
            Operand::Tensor(high) => to_value(clamp_max(a.input, high)),
            Operand::Scalar(high) => to_value(clamp::clamp_max(a.input, high)),
        }),
    )
    .in_place(by_name!(ClampMaxParams, |a| to_value(clamped_(a.input, None, Some(a.max)))))
    .shapes("any -> the same; a bound that is a tensor and the input are broadcast together")
    .example("tensor([-2, 5]).clamp_max(0)", "tensor([-2,  0])")
    .gradient(Gradient::Vjp("ClampMaxBackward0"))
    .samples(&[Sample::of("x.clamp_max(0.15)", X), Sample::of("a.clamp_max(b)", THREE)]),
];

fn clamped(x: &Tensor, low: Option<Operand>, high: Option<Operand>) -> Result<Tensor> {
    match of_one_kind(low, high)? {
        Bounds::Numbers(low, high) => clamp::clamp(x, low, high),
        Bounds::Tensors(low, high) => clamp(x, low, high),
    }
}

pub(crate) fn clamped_(x: &Tensor, low: Option<Operand>, high: Option<Operand>) -> Result<Tensor> {
    match of_one_kind(low, high)? {
        Bounds::Numbers(low, high) => clamp::clamp_(x, low, high),
        Bounds::Tensors(low, high) => clamp_(x, low, high),
    }
}

fn of_one_kind<'a>(low: Option<Operand<'a>>, high: Option<Operand<'a>>) -> Result<Bounds<'a>> {
    use Operand::{Scalar as N, Tensor as T};
    Ok(match (low, high) {
        (Some(N(low)), Some(N(high))) => Bounds::Numbers(Some(low), Some(high)),
        (Some(N(low)), None) => Bounds::Numbers(Some(low), None),
        (None, Some(N(high))) => Bounds::Numbers(None, Some(high)),
        (None, None) => Bounds::Numbers(None, None),
        (Some(T(low)), Some(T(high))) => Bounds::Tensors(Some(low), Some(high)),
        (Some(T(low)), None) => Bounds::Tensors(Some(low), None),
        (None, Some(T(high))) => Bounds::Tensors(None, Some(high)),
        _ => {
            let text = "clamp(): 'min' and 'max' must be two tensors or two numbers, not one of each";
            return Err(Error::type_error(text).with_hint("`tensor(1.0)` makes a tensor of a number"));
        }
    })
}
