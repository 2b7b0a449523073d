//! Numbers as fractions and powers of 2.

use crate::base::{DType, Error, Result};
use crate::device::MapOp;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::record::{no_grad, one};
use crate::op::core::spec::{Gives, Keep, Refusal, Unary};
use crate::op::core::value::Value;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::arithmetic::div;
use super::unary::exp2;

static MANTISSA: Unary = {
    static RULE: Vjp = Vjp {
        name: "FrexpBackward0",
        run: |s, g| {
            let power = EXPONENT.apply(&s.tensor(0)?.detach(), [0.0; 2])?;
            one(div(g, &exp2(&power)?)?)
        },
    };
    spec(MapOp::Mantissa, Keep::Input, Some(&RULE))
};
static EXPONENT: Unary = spec(MapOp::Exponent, Keep::Nothing, None);

const fn spec(op: MapOp, keep: Keep, rule: Option<&'static Vjp>) -> Unary {
    let rule = match rule {
        Some(rule) => Some(rule as _),
        None => None,
    };
    Unary { name: "frexp", op, gives: Gives::Same, keep, rule, refusal: Refusal::ByName }
}

/// Each element as a fraction from a half up to 1, and the power of 2 that it is multiplied by.
pub fn frexp(x: &Tensor) -> Result<(Tensor, Tensor)> {
    if !x.dtype().is_float() {
        return Err(Error::runtime("torch.frexp() only supports floating-point dtypes")
            .with_hint("convert it with `.float()`"));
    }
    let power = {
        let _off = no_grad();
        to_dtype(&EXPONENT.apply(x, [0.0; 2])?, DType::Int32)?
    };
    Ok((MANTISSA.apply(x, [0.0; 2])?, power))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "frexp",
    Family::Elementwise,
    "Each element as a fraction and a power of 2: a map of `mantissa` and `exponent`.",
    InputParams::LIST,
    by_name!(InputParams, |a| {
        let (fraction, power) = frexp(a.input)?;
        Ok(Value::Map(vec![("mantissa", fraction.into()), ("exponent", power.into())]))
    }),
)
.details("`mantissa * 2 ** exponent` is the element again. Fractions are from a half up to 1, or 0; exponents are int32.")
.shapes("any -> two of the same")
.errors(&["RuntimeError: the input holds no floats"])
.example("frexp(tensor([3.0, -8.0])).mantissa", "tensor([ 0.7500, -0.5000])")
.gradient(Gradient::Vjp("FrexpBackward0"))
.samples(&[Sample::of("frexp(x).mantissa", &[Draw::of("x", &[3, 4], Domain::Any)])])];
