//! What declares functions of one and two operands: each with its specification, its row and its gradient rule.

use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Args, Family, Form, Forward, InPlace, OpDef, Param};
use crate::op::core::fill::replaced;
use crate::op::core::launch::{fused, operands};
use crate::op::core::params::{InputParams, Maybe, kind, params};
use crate::op::core::promote::{check_factor, result_type};
use crate::op::core::record::one;
use crate::op::core::shapes;
use crate::op::core::spec::{Binary, Gives, MapAttribute, Params, Refusal, Unary, Writes};
use crate::op::core::value::Value;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved};

macro_rules! binary {
    ($(
        $fn:ident $map:ident $family:ident $gives:ident $(with $options:ident)? $(or $refusal:expr)?,
        $grad:tt, $forms:tt, ($left:ident, $right:ident),
        $summary:literal, $code:literal => $shown:literal;
    )*) => {
        $(
            #[doc = $summary]
            pub fn $fn<'a, 'b>(
                a: impl Into<$crate::op::core::operand::Operand<'a>>,
                b: impl Into<$crate::op::core::operand::Operand<'b>>,
            ) -> $crate::base::Result<$crate::tensor::Tensor> {
                specs::$map.apply(a.into(), b.into(), specs::$map.params)
            }
        )*

        #[allow(non_upper_case_globals, reason = "named as the map they launch")]
        pub mod specs {
            use super::*;
            $(
                pub static $map: $crate::op::core::spec::Binary = $crate::op::core::spec::Binary {
                    name: stringify!($fn),
                    op: $crate::device::MapOp::$map,
                    gives: $crate::op::core::spec::Gives::$gives,
                    keep: binary!(@keep $grad),
                    rule: binary!(@rule $map $grad),
                    refusal: binary!(@refusal $($refusal)?),
                    params: <binary!(@options $($options)?)>::NONE,
                };
            )*
        }

        mod table {
            use super::specs;
            use $crate::op::elementwise::declare::names::*;

            /// The rows of these functions.
            pub(crate) static ROWS: &[OpDef] = &[$(
                OpDef {
                    name: stringify!($fn),
                    family: Family::$family,
                    receiver: Receiver::None,
                    forms: &binary!(@forms $forms),
                    params: <binary!(@options $($options)?)>::LIST,
                    summary: $summary,
                    details: "Operands are broadcast and promoted; a number may stand for either.",
                    shapes: $crate::op::core::shapes::BROADCAST,
                    errors: $crate::op::core::shapes::APART,
                    across: false,
                    changes: false,
                    overlap: $crate::op::core::def::Overlap::Whole,
                    torch: Torch::Same,
                    example: ($code, $shown),
                    forward: Forward::Binary(&specs::$map, |args, how| {
                        <binary!(@options $($options)?)>::of(args)?.run(&specs::$map, how)
                    }),
                    in_place: binary!(@in_place $map $gives $forms),
                    gradient: binary!(@gradient $map $grad),
                    samples: &[Sample {
                        call: binary!(@call $fn $forms),
                        inputs: &[
                            Draw { name: "a", shape: &[3, 4], domain: Domain::$left },
                            Draw { name: "b", shape: &[4], domain: Domain::$right },
                        ],
                    }],
                },
            )*];
        }
        pub(crate) use table::ROWS;
    };
    (@options) => { $crate::op::elementwise::declare::PairParams };
    (@options $options:ident) => { $crate::op::elementwise::declare::$options };
    (@refusal) => { $crate::op::core::spec::Refusal::ByName };
    (@refusal $refusal:expr) => { $refusal };
    (@keep (none)) => { $crate::op::core::spec::Keep::Nothing };
    (@keep (unknown)) => { $crate::op::core::spec::Keep::Nothing };
    (@keep ($keep:ident $rule:expr)) => { $crate::op::core::spec::Keep::$keep };
    (@rule $map:ident (none)) => { None };
    (@rule $map:ident (unknown)) => {{
        static RULE: $crate::tensor::autograd::Vjp = $crate::tensor::autograd::Vjp {
            name: "NotImplemented",
            run: |_, _| Err($crate::op::elementwise::declare::no_derivative(specs::$map.name)),
        };
        Some(&RULE)
    }};
    (@rule $map:ident ($keep:ident $rule:expr)) => {{
        static RULE: $crate::tensor::autograd::Vjp = $crate::tensor::autograd::Vjp {
            name: concat!(stringify!($map), "Backward0"),
            run: $rule,
        };
        Some(&RULE)
    }};
    (@call $fn:ident (in SPECIAL)) => { concat!("special::", stringify!($fn), "(a, b)") };
    (@call $fn:ident $forms:tt) => { concat!("a.", stringify!($fn), "(b)") };
    (@forms (in $forms:ident)) => { *$forms };
    (@forms [$($op:literal)?]) => { [Form::Method, Form::Function $(, Form::Operator($op))?] };
    (@in_place $map:ident $gives:ident (in SPECIAL)) => { InPlace::None };
    (@in_place $map:ident Bool $forms:tt) => {
        InPlace::Call(|args| $crate::op::elementwise::declare::overwritten(args, &specs::$map))
    };
    (@in_place $map:ident $gives:ident $forms:tt) => { InPlace::Map };
    (@gradient $map:ident (none)) => { Gradient::NoGrad("the result is bool") };
    (@gradient $map:ident (unknown)) => { Gradient::NoGrad("PyTorch has no derivative of it") };
    (@gradient $map:ident $grad:tt) => { Gradient::Vjp(concat!(stringify!($map), "Backward0")) };
}

/// What PyTorch says of the difference of two masks.
pub(crate) const NO_DIFFERENCE: Refusal = Refusal::Text(
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator \
     instead.",
);

/// What PyTorch says of a mask's negative.
pub(crate) const NO_NEGATIVE: Refusal = Refusal::Text(
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or \
     `logical_not()` operator instead.",
);

params! {
    /// Two operands.
    pub PairParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Operand, "what it is combined with, element by element";
    }
}

params! {
    /// What sums and differences take.
    pub AlphaParams {
        ..pair: PairParams;
        alpha: kind::Scalar = 1, "the factor of what is added or subtracted";
    }
}

params! {
    /// What quotients take.
    pub RoundingParams {
        ..pair: PairParams;
        rounding_mode: Maybe<kind::Str>, "`floor` rounds quotients down, `trunc` towards 0";
    }
}

impl PairParams<'_> {
    /// What the kernel gets where a call has no options.
    pub const NONE: Params = [0.0; 2];

    /// Runs the call.
    pub fn run(self, spec: &'static Binary, how: Writes) -> Result<Tensor> {
        self.with(spec, Self::NONE, how)
    }

    /// Runs the call with parameters of the kernel.
    pub fn with(self, spec: &'static Binary, params: Params, how: Writes) -> Result<Tensor> {
        match how {
            Writes::New => spec.apply(self.input.into(), self.other, params),
            Writes::First => spec.apply_in_place(self.input, self.other, params),
        }
    }
}

impl AlphaParams<'_> {
    /// What the kernel gets where a call has no options.
    pub const NONE: Params = [1.0, 0.0];

    /// Runs the call.
    pub fn run(self, spec: &'static Binary, how: Writes) -> Result<Tensor> {
        self.check(spec)?;
        let factor = self.factor();
        self.pair.with(spec, [factor, 0.0], how)
    }

    /// `other - alpha * input`
    pub fn reversed(self, spec: &'static Binary) -> Result<Tensor> {
        self.check(spec)?;
        spec.apply(self.pair.other, self.pair.input.into(), [self.factor(), 0.0])
    }

    /// The factor; of truth values it is one too.
    fn factor(&self) -> f64 {
        let factor = self.alpha.as_f64();
        let is_truth = factor != 0.0
            && factor != 1.0
            && result_type(&[self.pair.input.into(), self.pair.other]) == DType::Bool;
        if is_truth { 1.0 } else { factor }
    }

    /// The factor fits the sum. What holds bools and has no difference is refused as that first.
    fn check(&self, spec: &'static Binary) -> Result<()> {
        let both = [self.pair.input.into(), self.pair.other];
        let dtype = result_type(&both);
        if spec.gives == Gives::Number && dtype == DType::Bool {
            return Ok(());
        }
        check_factor("alpha", self.alpha, dtype).map_err(|e| e.in_op(spec.name, || operands(&both)))
    }
}

macro_rules! unary {
    ($(
        $(#[doc = $doc:literal])*
        $fn:ident $map:ident $gives:ident $(or $refusal:expr)?, $grad:tt, $domain:ident $(in $forms:ident)?,
        $summary:literal, $code:literal => $shown:literal;
    )*) => {
        $(
            #[doc = $summary]
            pub fn $fn(x: &$crate::tensor::Tensor) -> $crate::base::Result<$crate::tensor::Tensor> {
                specs::$map.apply(x, [0.0; 2])
            }
        )*

        #[allow(non_upper_case_globals, reason = "named as the map they launch")]
        mod specs {
            use super::*;
            $(
                pub(crate) static $map: $crate::op::core::spec::Unary = $crate::op::core::spec::Unary {
                    name: stringify!($fn),
                    op: $crate::device::MapOp::$map,
                    gives: $crate::op::core::spec::Gives::$gives,
                    keep: unary!(@keep $grad),
                    rule: unary!(@rule $map $grad),
                    refusal: unary!(@refusal $($refusal)?),
                };
            )*
        }

        mod table {
            use super::specs;
            use $crate::op::elementwise::declare::names::*;

            /// The rows of these functions.
            pub(crate) static ROWS: &[OpDef] = &[$(
                OpDef {
                    name: stringify!($fn),
                    family: Family::Elementwise,
                    receiver: Receiver::None,
                    forms: unary!(@forms $($forms)?),
                    params: InputParams::LIST,
                    summary: $summary,
                    details: "",
                    shapes: $crate::op::core::shapes::SAME,
                    errors: &[],
                    across: false,
                    changes: false,
                    overlap: $crate::op::core::def::Overlap::Whole,
                    torch: Torch::Same,
                    example: ($code, $shown),
                    forward: Forward::Unary(&specs::$map),
                    in_place: unary!(@in_place $gives $($forms)?),
                    gradient: unary!(@gradient $map $grad),
                    samples: &[Sample {
                        call: unary!(@call $fn $($forms)?),
                        inputs: &[Draw { name: "x", shape: &[3, 4], domain: Domain::$domain }],
                    }],
                },
            )*];
        }
        pub(crate) use table::ROWS;
    };
    (@refusal) => { $crate::op::core::spec::Refusal::ByName };
    (@refusal $refusal:expr) => { $refusal };
    (@forms) => { &[Form::Method, Form::Function] };
    (@forms $forms:ident) => { $forms };
    (@call $fn:ident SPECIAL) => { concat!("special::", stringify!($fn), "(x)") };
    (@call $fn:ident $($forms:ident)?) => { concat!("x.", stringify!($fn), "()") };
    (@keep (none)) => { $crate::op::core::spec::Keep::Nothing };
    (@keep (zero)) => { $crate::op::core::spec::Keep::Nothing };
    (@keep ($keep:ident $rule:expr)) => { $crate::op::core::spec::Keep::$keep };
    (@rule $map:ident (none)) => { None };
    (@rule $map:ident (zero)) => {{
        static RULE: $crate::tensor::autograd::Vjp = $crate::tensor::autograd::Vjp {
            name: concat!(stringify!($map), "Backward0"),
            run: $crate::op::elementwise::declare::zero_grad,
        };
        Some(&RULE)
    }};
    (@rule $map:ident ($keep:ident $rule:expr)) => {{
        static RULE: $crate::tensor::autograd::Vjp = $crate::tensor::autograd::Vjp {
            name: concat!(stringify!($map), "Backward0"),
            run: |s, g| $crate::op::core::record::one($rule(s, g)?),
        };
        Some(&RULE)
    }};
    (@in_place Bool $($forms:ident)?) => { InPlace::None };
    (@in_place $gives:ident SPECIAL) => { InPlace::None };
    (@in_place $gives:ident $($forms:ident)?) => { InPlace::Map };
    (@gradient $map:ident (none)) => { Gradient::NoGrad("the result is bool") };
    (@gradient $map:ident $grad:tt) => { Gradient::Vjp(concat!(stringify!($map), "Backward0")) };
}

type Rule = fn(&Saved, &Tensor) -> Result<Tensor>;

/// `g` times a derivative written with recorded operations.
pub const fn rule(f: Rule) -> Rule {
    f
}

/// The gradient from the first saved tensor: one launch, or `composite` while the pass is recorded.
pub(crate) fn with_input(
    op: MapOp,
    saved: &Saved,
    grad: &Tensor,
    composite: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let x = saved.tensor(0)?;
    let params = saved.attribute::<MapAttribute>()?.params;
    fused(op, grad, &[&x], params, || composite(grad, &x))
}

/// The error of a gradient that PyTorch does not have.
pub(crate) fn no_derivative(name: &str) -> Error {
    Error::new(Kind::NotImplementedError, format!("derivative for aten::{name} is not implemented"))
        .with_hint("without a gradient: `x.detach()`, or `with no_grad() { … }`")
}

pub(crate) fn zero_grad(_: &Saved, grad: &Tensor) -> Result<Grads> {
    one(Tensor::full(grad.shape(), 0i64.into(), grad.dtype(), &grad.context(), "zeros_like")?)
}

/// The answers of a comparison in the place of its first operand, as numbers of that one's dtype.
pub(crate) fn overwritten(args: &Args, spec: &'static Binary) -> Result<Value> {
    let a = PairParams::of(args)?;
    to_value(replaced(a.input, |x| spec.apply(x.into(), a.other, spec.params)))
}

/// A second name of a function of two operands, options, in-place form and all.
pub const fn twin(
    name: &'static str,
    of: &'static str,
    spec: &'static Binary,
    (params, run): (&'static [Param], fn(&Args, Writes) -> Result<Tensor>),
    (code, shown): (&'static str, &'static str),
) -> OpDef {
    let nothing = |_: &Args| Ok(Value::None);
    let row = OpDef::call(name, Family::Elementwise, of, params, nothing);
    let row = OpDef { forward: Forward::Binary(spec, run), in_place: InPlace::Map, ..row };
    row.example(code, shown).shapes(shapes::BROADCAST).errors(shapes::APART)
}

/// A second name of a function of one operand.
pub const fn twin_of_one(
    name: &'static str,
    of: &'static str,
    spec: &'static Unary,
    (code, shown): (&'static str, &'static str),
) -> OpDef {
    let nothing = |_: &Args| Ok(Value::None);
    let row = OpDef::call(name, Family::Elementwise, of, InputParams::LIST, nothing);
    OpDef { forward: Forward::Unary(spec), in_place: InPlace::Map, ..row }
        .example(code, shown)
        .shapes(shapes::SAME)
}

impl OpDef {
    /// Called as `special::name(…)` alone, where PyTorch has nothing in place.
    pub(crate) const fn special(self) -> OpDef {
        OpDef { forms: SPECIAL, in_place: InPlace::None, ..self }
    }
}

/// Called as `F::name(…)` too.
pub(crate) const FUNCTIONAL_TOO: &[Form] = &[Form::Method, Form::Function, Form::Functional];

/// Written as `-x` too.
pub(crate) const MINUS_TOO: &[Form] = &[Form::Method, Form::Function, Form::Operator("-")];

/// Called as `special::name(…)` alone.
pub(crate) const SPECIAL: &[Form] = &[Form::Of("special")];

/// Called as `special::name(…)` too.
pub(crate) const SPECIAL_TOO: &[Form] = &[Form::Method, Form::Function, Form::Of("special")];

/// What the macros' rows name, wherever they are called.
pub mod names {
    pub(crate) use super::{FUNCTIONAL_TOO, MINUS_TOO, SPECIAL, SPECIAL_TOO};
    pub(in crate::op) use super::{binary, unary};
    pub use crate::op::core::def::{
        Domain, Draw, Family, Form, Forward, Gradient, InPlace, OpDef, Receiver, Sample, Torch,
    };
    pub(crate) use crate::op::core::params::InputParams;
}

pub(in crate::op) use {binary, unary};
