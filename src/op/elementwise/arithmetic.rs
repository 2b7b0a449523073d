//! Sums, differences, products, quotients and remainders, with their gradient rules.

use crate::base::{Error, Result, Scalar};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Family, OpDef};
use crate::op::core::operand::Operand;
use crate::op::core::params::by_name;
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::core::spec::{Binary, Gives, Keep, MapAttribute, Params, Side, Writes};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::declare::{AlphaParams, NO_DIFFERENCE, PairParams, RoundingParams, binary, twin};
use super::sign::neg;

binary! {
    add Add Binary Same with AlphaParams, (Nothing add_grad), ["+"], (Any, Any),
        "Sum, element by element.", "tensor([1, 2]) + 1.5" => "tensor([2.5000, 3.5000])";
    sub Sub Binary Number with AlphaParams or NO_DIFFERENCE, (Nothing sub_grad), ["-"], (Any, Any),
        "Difference, element by element.", "tensor([1, 2]) - tensor([[3], [4]])" => "tensor([[-2, -1],\n        [-3, -2]])";
    mul Mul Binary Same, (Cross mul_grad), ["*"], (Any, Any),
        "Product, element by element.", "tensor([1.0, 2.0]) * 3" => "tensor([3., 6.])";
    div Div Binary Float with RoundingParams, (Quotient div_grad), ["/"], (Any, Positive),
        "True quotient, element by element: integers give floats.", "tensor([1, 2]) / 4" => "tensor([0.2500, 0.5000])";
    floor_divide FloorDiv Binary Number, (unknown), [], (Any, Positive),
        "Quotient rounded down.", "tensor([7, -7]).floor_divide(2)" => "tensor([ 3, -4])";
    remainder Remainder Binary Number, (Both remainder_grad), ["%"], (Any, Positive),
        "Remainder with the divisor's sign, as Python's `%`.", "tensor([7, -7]) % 3" => "tensor([1, 2])";
    fmod Fmod Binary Number, (Both fmod_grad), [], (Any, Positive),
        "Remainder with the dividend's sign, as C's `fmod`.", "tensor([7, -7]).fmod(3)" => "tensor([ 1, -1])";
}

/// The operands of a map as its rule sees them: tensors are saved in order, a number in the attribute.
pub(crate) struct Sides {
    pub left: Option<usize>,
    pub right: Option<usize>,
    number: Option<Scalar>,
}

pub(crate) fn sides(saved: &Saved) -> Result<Sides> {
    Ok(match saved.attribute::<MapAttribute>()?.number {
        None => Sides { left: Some(0), right: Some(1), number: None },
        Some(Side::Right(n)) => Sides { left: Some(0), right: None, number: Some(n) },
        Some(Side::Left(n)) => Sides { left: None, right: Some(0), number: Some(n) },
    })
}

impl Sides {
    /// An operand for recorded arithmetic.
    pub(crate) fn operand(&self, at: Option<usize>, saved: &Saved) -> Result<HeldOperand> {
        match (at, self.number) {
            (Some(i), _) => Ok(HeldOperand::Tensor(saved.tensor(i)?)),
            (None, Some(n)) => Ok(HeldOperand::Scalar(n)),
            (None, None) => Err(Error::runtime("an operand of a gradient rule is missing")),
        }
    }

    /// Collects the gradients of the tensor operands in input order.
    pub(crate) fn grads(
        &self,
        saved: &Saved,
        left: impl FnOnce() -> Result<Tensor>,
        right: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Grads> {
        let mut grads = Grads::new();
        if let Some(i) = self.left {
            grads.push(if saved.needs(i) { Some(left()?) } else { None });
        }
        if let Some(i) = self.right {
            grads.push(if saved.needs(i) { Some(right()?) } else { None });
        }
        Ok(grads)
    }
}

pub(crate) enum HeldOperand {
    Tensor(Tensor),
    Scalar(Scalar),
}

impl HeldOperand {
    pub(crate) fn get(&self) -> Operand<'_> {
        match self {
            HeldOperand::Tensor(t) => Operand::Tensor(t),
            HeldOperand::Scalar(s) => Operand::Scalar(*s),
        }
    }
}

fn alpha(saved: &Saved) -> Result<f64> {
    Ok(saved.attribute::<MapAttribute>()?.params[0])
}

fn scaled(grad: &Tensor, factor: f64) -> Result<Tensor> {
    if factor == 1.0 { Ok(grad.clone()) } else { scale(grad, factor) }
}

fn add_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    sides(s)?.grads(s, || Ok(g.clone()), || scaled(g, alpha(s)?))
}

fn sub_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    sides(s)?.grads(s, || Ok(g.clone()), || neg(&scaled(g, alpha(s)?)?))
}

fn mul_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(s, || mul(g, at.operand(at.right, s)?.get()), || mul(g, at.operand(at.left, s)?.get()))
}

fn div_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || div(g, at.operand(at.right, s)?.get()),
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            neg(&div(&mul(g, &div(a.get(), b.get())?)?, b.get())?)
        },
    )
}

fn remainder_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    // In one step: `floor(a / b)` of a quotient that was rounded up to a whole number is one too many.
    quotient_grad(s, g, |a, b| {
        let _off = no_grad();
        floor_divide(a, b)
    })
}

fn fmod_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    quotient_grad(s, g, |a, b| super::rounding::trunc(&div(a, b)?))
}

/// `a - whole(a / b) * b` changes by `-whole(a / b)` with `b`.
fn quotient_grad(s: &Saved, g: &Tensor, whole: fn(Operand, Operand) -> Result<Tensor>) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || Ok(g.clone()),
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            neg(&mul(g, &whole(a.get(), b.get())?)?)
        },
    )
}

/// What is rounded changes with nothing.
fn rounded_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let zeros = || Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like");
    sides(s)?.grads(s, zeros, zeros)
}

impl RoundingParams<'_> {
    /// What the kernel gets where a call has no options.
    pub const NONE: Params = PairParams::NONE;

    /// Runs the call, rounded as it asks for.
    pub fn run(self, spec: &'static Binary, how: Writes) -> Result<Tensor> {
        static RULE: Vjp = Vjp { name: "DivBackward2", run: rounded_grad };
        static FLOOR: Binary = Binary { rule: Some(&RULE), ..specs::FloorDiv };
        static TRUNC: Binary = Binary {
            op: MapOp::TruncDiv,
            gives: Gives::Number,
            keep: Keep::Nothing,
            rule: Some(&RULE),
            ..specs::Div
        };
        let spec = match self.rounding_mode {
            None => spec,
            Some("floor") => &FLOOR,
            Some("trunc") => &TRUNC,
            Some(other) => {
                return Err(Error::runtime(format!(
                    "{} expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'",
                    spec.name
                )));
            }
        };
        self.pair.run(spec, how)
    }
}

/// `a / b` of whole numbers, rounded towards 0.
pub(crate) fn whole_quotient<'a>(a: &Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static WHOLE: Binary =
        Binary { op: MapOp::TruncDiv, gives: Gives::Number, keep: Keep::Nothing, rule: None, ..specs::Div };
    WHOLE.apply(a.into(), b.into(), [0.0; 2])
}

/// `x * factor`
pub fn scale(x: &Tensor, factor: f64) -> Result<Tensor> {
    mul(x, factor)
}

/// `x + by`
pub fn shift(x: &Tensor, by: f64) -> Result<Tensor> {
    add(x, by)
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    OpDef::call(
        "rsub",
        Family::Binary,
        "`other - alpha * input`.",
        AlphaParams::LIST,
        by_name!(AlphaParams, |a| to_value(a.reversed(&specs::Sub))),
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::DIFFERENCE_ERRORS)
    .example("tensor([1, 2]).rsub(10)", "tensor([9, 8])"),
    twin(
        "subtract",
        "Another name of `sub`.",
        &specs::Sub,
        (AlphaParams::LIST, |args, how| AlphaParams::of(args)?.run(&specs::Sub, how)),
        ("tensor([3]).subtract(1)", "tensor([2])"),
    )
    .errors(shapes::DIFFERENCE_ERRORS),
    twin(
        "multiply",
        "Another name of `mul`.",
        &specs::Mul,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Mul, how)),
        ("tensor([3]).multiply(2)", "tensor([6])"),
    ),
    twin(
        "divide",
        "Another name of `div`.",
        &specs::Div,
        (RoundingParams::LIST, |args, how| RoundingParams::of(args)?.run(&specs::Div, how)),
        ("tensor([3]).divide(2)", "tensor([1.5000])"),
    ),
    twin(
        "true_divide",
        "Another name of `div` that rounds nothing.",
        &specs::Div,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Div, how)),
        ("tensor([3]).true_divide(2)", "tensor([1.5000])"),
    ),
];
