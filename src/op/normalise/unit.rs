//! Vectors scaled to a norm of 1.

use crate::base::Result;
use crate::op::activation::variants::row;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::div;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::reduce::norms::norm;
use crate::tensor::Tensor;

/// `x` divided by its `p`-norm along a dimension, but never by less than `eps`.
pub(crate) fn normalize(x: &Tensor, p: f64, dim: i64, eps: f64) -> Result<Tensor> {
    div(x, &clamp_min(&norm(x, p, Some(&[dim]), true)?, eps.into())?)
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

params! {
    NormalizeParams {
        input: kind::Tensor, "the tensor whose vectors are scaled";
        p: kind::Float = 2.0, "which norm becomes 1: 1, 2, …";
        dim: kind::Dim = 1, "the dimension along which the vectors lie";
        eps: kind::Float = 1e-12, "the least that a vector is divided by";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[row(
    "normalize",
    Family::Normalise,
    "Divides by the norm along a dimension.",
    NormalizeParams::LIST,
    by_name!(NormalizeParams, |a| normalize(a.input, a.p, a.dim, a.eps).map(Value::from)),
)
.details("The norm counts as `eps` where it is smaller.")
.shapes(shapes::SAME)
.errors(&["IndexError: there is no such dimension, as 1 of a vector", shapes::NO_FLOAT])
.example("F::normalize(tensor([3.0, 4.0]), #{dim: 0})", "tensor([0.6000, 0.8000])")
.samples(&[Sample::of("F::normalize(x)", &[X]), Sample::of("F::normalize(x, 3.0, 0)", &[X])])];
