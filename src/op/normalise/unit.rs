//! Vectors scaled to a norm of 1.

use crate::base::Result;
use crate::op::activation::composed::row;
use crate::op::core::def::{DefaultValue, Domain, Draw, Family, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::div;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::reduce::norms::norm;
use crate::tensor::Tensor;

/// `x` divided by its `p`-norm along a dimension, but never by less than `eps`.
pub fn normalize(x: &Tensor, p: f64, dim: i64, eps: f64) -> Result<Tensor> {
    div(x, &clamp_min(&norm(x, p, Some(&[dim]), true)?, eps.into())?)
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

/// The rows of this file.
pub static ROWS: &[OpDef] = &[row(
    "normalize",
    Family::Normalise,
    "Divides by the norm along a dimension.",
    &[
        SELF,
        Param::optional("p", ParamKind::Float, DefaultValue::Float(2.0)),
        Param::optional("dim", ParamKind::Int, DefaultValue::Int(1)),
        Param::optional("eps", ParamKind::Float, DefaultValue::Float(1e-12)),
    ],
    |a| normalize(a.tensor(0)?, a.float(1)?, a.int(2)?, a.float(3)?).map(Value::from),
)
.details("The norm counts as `eps` where it is smaller.")
.example("F::normalize(tensor([3.0, 4.0]), #{dim: 0})", "tensor([0.6000, 0.8000])")
.samples(&[Sample::of("F::normalize(x)", &[X]), Sample::of("F::normalize(x, 3.0, 0)", &[X])])];
