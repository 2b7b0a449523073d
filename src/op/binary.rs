//! Arithmetic and comparisons of two operands, with broadcasting, promotion and gradient rules.

use crate::base::{Error, Result, Scalar};
use crate::device::MapOp;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::args::{Args, Value};
use super::def::{
    DefaultValue, Domain, Draw, Family, Form, Forward, Gradient, InPlace, OpDef, Operand, Param, ParamKind,
    Receiver, SELF, Sample, Torch,
};
use super::elementwise::{Binary, Gives, Keep, MapAttribute, Side};
use super::unary::{log, neg, reciprocal, scale, sign};

macro_rules! binary {
    ($(
        $fn:ident $map:ident $family:ident $gives:ident, $grad:tt, $forms:tt, ($left:ident, $right:ident),
        $summary:literal, $code:literal => $shown:literal;
    )*) => {
        $(
            #[doc = $summary]
            pub fn $fn<'a, 'b>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'b>>) -> Result<Tensor> {
                specs::$map.apply(a.into(), b.into(), binary!(@params $fn))
            }
        )*

        #[allow(non_upper_case_globals, reason = "named as the map they launch")]
        pub mod specs {
            use super::*;
            $(
                pub static $map: Binary = Binary {
                    name: stringify!($fn),
                    op: MapOp::$map,
                    gives: Gives::$gives,
                    keep: binary!(@keep $grad),
                    rule: binary!(@rule $map $grad),
                };
            )*
        }

        /// The rows of this family.
        pub static ROWS: &[OpDef] = &[$(
            OpDef {
                name: stringify!($fn),
                family: Family::$family,
                receiver: Receiver::None,
                forms: &binary!(@forms $forms),
                params: binary!(@options $fn),
                summary: $summary,
                details: "Operands are broadcast and promoted; a number may stand for either.",
                shapes: "",
                errors: &[],
                torch: Torch::Same,
                example: ($code, $shown),
                forward: Forward::Binary(&specs::$map),
                in_place: binary!(@in_place $gives),
                gradient: binary!(@gradient $map $grad),
                samples: &[Sample {
                    call: concat!("a.", stringify!($fn), "(b)"),
                    inputs: &[
                        Draw { name: "a", shape: &[3, 4], domain: Domain::$left },
                        Draw { name: "b", shape: &[4], domain: Domain::$right },
                    ],
                }],
            },
        )*];
    };
    (@options add) => { WITH_ALPHA };
    (@options sub) => { WITH_ALPHA };
    (@options div) => { WITH_ROUNDING };
    (@options $fn:ident) => { &[SELF, OTHER] };
    (@params add) => { [1.0, 0.0] };
    (@params sub) => { [1.0, 0.0] };
    (@params $fn:ident) => { [0.0; 2] };
    (@keep (none)) => { Keep::Nothing };
    (@keep ($keep:ident $rule:expr)) => { Keep::$keep };
    (@rule $map:ident (none)) => { None };
    (@rule $map:ident ($keep:ident $rule:expr)) => {{
        static RULE: Vjp = Vjp { name: concat!(stringify!($map), "Backward0"), run: $rule };
        Some(&RULE)
    }};
    (@forms [$($op:literal)?]) => { [Form::Method, Form::Function $(, Form::Operator($op))?] };
    (@in_place Bool) => { InPlace::None };
    (@in_place $gives:ident) => { InPlace::Map };
    (@gradient $map:ident (none)) => { Gradient::NoGrad("the result is bool or piecewise constant") };
    (@gradient $map:ident $grad:tt) => { Gradient::Vjp(concat!(stringify!($map), "Backward0")) };
}

const OTHER: Param = Param::required("other", ParamKind::Operand);
const WITH_ALPHA: &[Param] =
    &[SELF, OTHER, Param::optional("alpha", ParamKind::Scalar, DefaultValue::Int(1))];
const WITH_ROUNDING: &[Param] =
    &[SELF, OTHER, Param::optional("rounding_mode", ParamKind::Str, DefaultValue::None)];

binary! {
    add Add Binary Same, (Nothing add_grad), ["+"], (Any, Any),
        "Sum, element by element.", "tensor([1, 2]) + 1.5" => "tensor([2.5000, 3.5000])";
    sub Sub Binary Number, (Nothing sub_grad), ["-"], (Any, Any),
        "Difference, element by element.", "tensor([1, 2]) - tensor([[3], [4]])" => "tensor([[-2, -1],\n        [-3, -2]])";
    mul Mul Binary Same, (Cross mul_grad), ["*"], (Any, Any),
        "Product, element by element.", "tensor([1.0, 2.0]) * 3" => "tensor([3., 6.])";
    div Div Binary Float, (Quotient div_grad), ["/"], (Any, Positive),
        "True quotient, element by element: integers give floats.", "tensor([1, 2]) / 4" => "tensor([0.2500, 0.5000])";
    floor_divide FloorDiv Binary Number, (none), [], (Any, Positive),
        "Quotient rounded down.", "tensor([7, -7]).floor_divide(2)" => "tensor([ 3, -4])";
    remainder Remainder Binary Number, (Both remainder_grad), ["%"], (Any, Positive),
        "Remainder with the divisor's sign, as Python's `%`.", "tensor([7, -7]) % 3" => "tensor([1, 2])";
    fmod Fmod Binary Number, (Both fmod_grad), [], (Any, Positive),
        "Remainder with the dividend's sign, as C's `fmod`.", "tensor([7, -7]).fmod(3)" => "tensor([ 1, -1])";
    pow Pow Binary Number, (Both pow_grad), ["**"], (Positive, Any),
        "Power, element by element.", "tensor([1.0, 2.0, 3.0]) ** 2" => "tensor([1., 4., 9.])";
    atan2 Atan2 Binary Float, (Both atan2_grad), [], (Any, Positive),
        "The angle of the point (other, input), in radians.", "tensor([1.0]).atan2(tensor([1.0]))" => "tensor([0.7854])";
    maximum Maximum Binary Same, (Both maximum_grad), [], (Any, Any),
        "The larger of two elements; NaN wins.", "tensor([1, 5]).maximum(tensor([3, 2]))" => "tensor([3, 5])";
    minimum Minimum Binary Same, (Both minimum_grad), [], (Any, Any),
        "The smaller of two elements; NaN wins.", "tensor([1, 5]).minimum(tensor([3, 2]))" => "tensor([1, 2])";
    copysign Copysign Binary Float, (Both copysign_grad), [], (Any, Any),
        "The size of one element with the sign of another.", "tensor([1.0, 2.0]).copysign(tensor([-1.0, 3.0]))" => "tensor([-1.,  2.])";
    hypot Hypot Binary Same, (Both hypot_grad), [], (Any, Any),
        "`sqrt(input² + other²)`, without overflow.", "tensor([3.0]).hypot(tensor([4.0]))" => "tensor([5.])";
    xlogy Xlogy Binary Float, (Both xlogy_grad), [], (Any, Positive),
        "`input * log(other)`, 0 where `input` is.", "tensor([0.0, 2.0]).xlogy(tensor([0.0, 1.0]))" => "tensor([0., 0.])";
    logaddexp Logaddexp Binary Same, (Both logaddexp_grad), [], (Any, Any),
        "`log(exp(input) + exp(other))`, without overflow.", "tensor([0.0]).logaddexp(tensor([0.0]))" => "tensor([0.6931])";
    heaviside Heaviside Binary Same, (none), [], (Any, Any),
        "0 below zero, 1 above, and `other` at zero.", "tensor([-1.0, 0.0, 2.0]).heaviside(tensor(0.5))" => "tensor([0.0000, 0.5000, 1.0000])";
    bitwise_and BitAnd Binary Same, (none), ["&"], (Mask, Mask),
        "The bits that are set in both; for masks, whether both are true.", "tensor([12, 10]).bitwise_and(6)" => "tensor([4, 2])";
    bitwise_or BitOr Binary Same, (none), ["|"], (Mask, Mask),
        "The bits that are set in either; for masks, whether one is true.", "tensor([12, 10]).bitwise_or(6)" => "tensor([14, 14])";
    bitwise_xor BitXor Binary Same, (none), ["^"], (Mask, Mask),
        "The bits in which two numbers differ; for masks, whether exactly one is true.", "tensor([12, 10]).bitwise_xor(6)" => "tensor([10, 12])";
    bitwise_left_shift ShiftLeft Binary Same, (none), ["<<"], (Any, Any),
        "Bits moved up: `input * 2**other`.", "tensor([1, 3]).bitwise_left_shift(2)" => "tensor([ 4, 12])";
    bitwise_right_shift ShiftRight Binary Same, (none), [">>"], (Any, Any),
        "Bits moved down: `input / 2**other`, rounded down.", "tensor([8, -3]).bitwise_right_shift(1)" => "tensor([ 4, -2])";
    eq Eq Compare Bool, (none), ["=="], (Any, Any),
        "Whether elements are equal.", "tensor([1, 2]) == 2" => "tensor([False,  True])";
    ne Ne Compare Bool, (none), ["!="], (Any, Any),
        "Whether elements differ.", "tensor([1, 2]) != 2" => "tensor([ True, False])";
    lt Lt Compare Bool, (none), ["<"], (Any, Any),
        "Whether elements are less.", "tensor([1, 2]) < 2" => "tensor([ True, False])";
    le Le Compare Bool, (none), ["<="], (Any, Any),
        "Whether elements are less or equal.", "tensor([1, 2]) <= 1" => "tensor([ True, False])";
    gt Gt Compare Bool, (none), [">"], (Any, Any),
        "Whether elements are greater.", "tensor([1, 2]) > 1" => "tensor([False,  True])";
    ge Ge Compare Bool, (none), [">="], (Any, Any),
        "Whether elements are greater or equal.", "tensor([1, 2]) >= 2" => "tensor([False,  True])";
    logical_and LogicalAnd Compare Bool, (none), [], (Any, Any),
        "Whether both elements are non-zero.", "tensor([1, 0]).logical_and(tensor([1, 1]))" => "tensor([ True, False])";
    logical_or LogicalOr Compare Bool, (none), [], (Any, Any),
        "Whether either element is non-zero.", "tensor([1, 0]).logical_or(tensor([0, 0]))" => "tensor([ True, False])";
    logical_xor LogicalXor Compare Bool, (none), [], (Any, Any),
        "Whether exactly one element is non-zero.", "tensor([1, 0]).logical_xor(tensor([1, 1]))" => "tensor([False,  True])";
}

/// The operands of a map as its rule sees them: tensors are saved in order, a number in the attribute.
struct Sides {
    left: Option<usize>,
    right: Option<usize>,
    number: Option<Scalar>,
}

fn sides(saved: &Saved) -> Result<Sides> {
    Ok(match saved.attribute::<MapAttribute>()?.number {
        None => Sides { left: Some(0), right: Some(1), number: None },
        Some(Side::Right(n)) => Sides { left: Some(0), right: None, number: Some(n) },
        Some(Side::Left(n)) => Sides { left: None, right: Some(0), number: Some(n) },
    })
}

impl Sides {
    /// An operand for recorded arithmetic.
    fn operand(&self, at: Option<usize>, saved: &Saved) -> Result<HeldOperand> {
        match (at, self.number) {
            (Some(i), _) => Ok(HeldOperand::Tensor(saved.tensor(i)?)),
            (None, Some(n)) => Ok(HeldOperand::Scalar(n)),
            (None, None) => Err(Error::runtime("an operand of a gradient rule is missing")),
        }
    }

    /// Collects the gradients of the tensor operands in input order.
    fn grads(
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

enum HeldOperand {
    Tensor(Tensor),
    Scalar(Scalar),
}

impl HeldOperand {
    fn get(&self) -> Operand<'_> {
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
    quotient_grad(s, g, super::unary::floor)
}

fn fmod_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    quotient_grad(s, g, super::unary::trunc)
}

/// `a - whole(a / b) * b` changes by `-whole(a / b)` with `b`.
fn quotient_grad(s: &Saved, g: &Tensor, whole: fn(&Tensor) -> Result<Tensor>) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || Ok(g.clone()),
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            neg(&mul(g, &whole(&div(a.get(), b.get())?)?)?)
        },
    )
}

fn pow_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || pow_base_grad(g, &at.operand(at.left, s)?, &at.operand(at.right, s)?),
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            let y = pow(a.get(), b.get())?;
            let ln = match &a {
                HeldOperand::Tensor(a) => log(a)?,
                HeldOperand::Scalar(n) => {
                    Tensor::full(&[], n.as_f64().ln().into(), g.dtype(), &g.context(), "log")?
                }
            };
            let raw = mul(g, &mul(&y, &ln)?)?;
            // 0 ** b has no finite logarithm; its derivative is 0 for b >= 0.
            let at_zero = eq(a.get(), Operand::Scalar(Scalar::Int(0)))?;
            super::select::where_(&at_zero, Operand::Scalar(Scalar::Float(0.0)), Operand::Tensor(&raw))
        },
    )
}

fn pow_base_grad(g: &Tensor, base: &HeldOperand, exponent: &HeldOperand) -> Result<Tensor> {
    match exponent {
        HeldOperand::Scalar(n) if n.as_f64() == 0.0 => {
            Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like")
        }
        HeldOperand::Scalar(n) => {
            let n = n.as_f64();
            let lower = if n == 2.0 { None } else { Some(pow(base.get(), n - 1.0)?) };
            match (lower, base) {
                (Some(lower), _) => mul(g, &scale(&lower, n)?),
                (None, HeldOperand::Tensor(x)) => mul(g, &scale(x, n)?),
                (None, HeldOperand::Scalar(x)) => scale(g, n * x.as_f64()),
            }
        }
        HeldOperand::Tensor(e) => {
            let lower = pow(base.get(), &super::unary::shift(e, -1.0)?)?;
            mul(g, &mul(e, &lower)?)
        }
    }
}

fn atan2_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    let over = || -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        reciprocal(&add(&mul(a.get(), a.get())?, &mul(b.get(), b.get())?)?)
    };
    at.grads(
        s,
        || mul(&mul(g, at.operand(at.right, s)?.get())?, &over()?),
        || neg(&mul(&mul(g, at.operand(at.left, s)?.get())?, &over()?)?),
    )
}

/// The size's sign changes with the other operand's; at 0 there is no slope.
fn copysign_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            let one = Operand::Scalar(Scalar::Float(1.0));
            let turned = mul(Operand::Tensor(&specs::Copysign.apply(one, b.get(), [0.0; 2])?), g)?;
            match &a {
                HeldOperand::Tensor(a) => mul(&turned, &sign(a)?),
                HeldOperand::Scalar(n) => scale(&turned, n.as_f64().signum()),
            }
        },
        || Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like"),
    )
}

fn hypot_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    let over = || -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        div(g, &hypot(a.get(), b.get())?)
    };
    at.grads(
        s,
        || mul(&over()?, at.operand(at.left, s)?.get()),
        || mul(&over()?, at.operand(at.right, s)?.get()),
    )
}

fn xlogy_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    at.grads(
        s,
        || {
            let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
            let nonzero = ne(a.get(), Operand::Scalar(Scalar::Int(0)))?;
            mul(g, &xlogy(&nonzero, b.get())?)
        },
        || div(&mul(g, at.operand(at.left, s)?.get())?, at.operand(at.right, s)?.get()),
    )
}

fn logaddexp_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = sides(s)?;
    let share = |toward: f64| -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        mul(g, &super::unary::sigmoid(&scale(&sub(a.get(), b.get())?, toward)?)?)
    };
    at.grads(s, || share(1.0), || share(-1.0))
}

fn maximum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    extremum_grad(s, g, 1.0)
}

fn minimum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    extremum_grad(s, g, -1.0)
}

/// The winner takes the gradient; equals share it.
fn extremum_grad(s: &Saved, g: &Tensor, direction: f64) -> Result<Grads> {
    let at = sides(s)?;
    let half = |toward: f64| -> Result<Tensor> {
        let (a, b) = (at.operand(at.left, s)?, at.operand(at.right, s)?);
        let order = sign(&sub(a.get(), b.get())?)?;
        mul(g, &super::unary::shift(&scale(&order, 0.5 * direction * toward)?, 0.5)?)
    };
    at.grads(s, || half(1.0), || half(-1.0))
}

/// A binary row with its options: an `alpha` for sums, a `rounding_mode` for quotients.
pub fn with_options(args: &Args, in_place: bool) -> Result<Tensor> {
    static TRUNC: Binary =
        Binary { name: "div", op: MapOp::TruncDiv, gives: Gives::Number, keep: Keep::Nothing, rule: None };
    let Forward::Binary(spec) = args.def.forward else { return Err(Error::runtime("not a binary row")) };
    let (mut spec, mut params) = (spec, [0.0; 2]);
    match args.def.params.get(2).map(|p| p.name) {
        Some("alpha") => params = [args.float(2)?, 0.0],
        Some("rounding_mode") if !args.is_none(2) => {
            spec = match args.str(2)? {
                "floor" => &specs::FloorDiv,
                "trunc" => &TRUNC,
                other => {
                    return Err(Error::runtime(format!(
                        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'"
                    )));
                }
            };
        }
        _ => {}
    }
    match (args.get(0), in_place) {
        (Value::Tensor(x), true) => spec.apply_in_place(x, args.operand(1)?, params),
        _ => spec.apply(args.operand(0)?, args.operand(1)?, params),
    }
}

/// Rows with an `alpha` option: `a + alpha * b`.
pub static ALPHA_ROWS: &[OpDef] = &[OpDef {
    name: "rsub",
    family: Family::Binary,
    receiver: Receiver::None,
    forms: &[Form::Method, Form::Function],
    params: &[
        SELF,
        Param::required("other", ParamKind::Operand),
        Param::optional("alpha", ParamKind::Scalar, DefaultValue::Int(1)),
    ],
    summary: "`other - alpha * input`.",
    details: "",
    shapes: "",
    errors: &[],
    torch: Torch::Same,
    example: ("tensor([1, 2]).rsub(10)", "tensor([9, 8])"),
    forward: Forward::Call(rsub),
    in_place: InPlace::None,
    gradient: Gradient::Composite,
    samples: &[],
}];

fn rsub(args: &Args) -> Result<Value> {
    let alpha = args.float(2)?;
    specs::Sub.apply(args.operand(1)?, args.operand(0)?, [alpha, 0.0]).map(Value::from)
}
