//! Distances between tensors.

use crate::base::{Error, Result};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, KEEPDIM, OpDef, Param, ParamKind, SELF, Sample};
use crate::tensor::Tensor;

use super::autocast;
use super::binary::sub;
use super::reduce::norm;
use super::unary::shift;

/// The `p`-norm of the difference of two tensors, a scalar.
pub fn dist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("dist", &[a, b])? {
        return dist(&casts.cast(a)?, &casts.cast(b)?, p);
    }
    norm(&sub(a, b)?, p, None, false)
}

/// The `p`-norm of `a - b + eps` along the last dimension: the distances of vectors.
pub fn pairwise_distance(a: &Tensor, b: &Tensor, p: f64, eps: f64, keepdim: bool) -> Result<Tensor> {
    if a.rank() == 0 && b.rank() == 0 {
        return Err(Error::new(
            crate::base::Kind::IndexError,
            "Dimension specified as -1 but tensor has no dimensions",
        ));
    }
    norm(&shift(&sub(a, b)?, eps)?, p, Some(&[-1]), keepdim)
}

const VECTORS: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "dist",
        Family::Reduce,
        "The norm of the difference of two tensors.",
        &[
            SELF,
            Param::required("other", ParamKind::Tensor),
            Param::optional("p", ParamKind::Float, D::Float(2.0)),
        ],
        |a| dist(a.tensor(0)?, a.tensor(1)?, a.float(2)?).map(Into::into),
    )
    .details("Shapes spread over each other.")
    .example("dist(tensor([0.0, 0.0]), tensor([3.0, 4.0]))", "tensor(5.)")
    .samples(&[Sample::of("dist(a, b)", VECTORS), Sample::of("a.dist(b, 1)", VECTORS)]),
    OpDef::call(
        "pairwise_distance",
        Family::Loss,
        "The distances of vectors: the norm of the difference along the last dimension.",
        &[
            Param::required("x1", ParamKind::Tensor),
            Param::required("x2", ParamKind::Tensor),
            Param::optional("p", ParamKind::Float, D::Float(2.0)),
            Param::optional("eps", ParamKind::Float, D::Float(1e-6)),
            KEEPDIM,
        ],
        |a| {
            pairwise_distance(a.tensor(0)?, a.tensor(1)?, a.float(2)?, a.float(3)?, a.bool(4)?)
                .map(Into::into)
        },
    )
    .forms(&[Form::Functional, Form::Function])
    .details("`eps` is added to the difference, which keeps the gradient of a distance of 0 finite.")
    .example("F::pairwise_distance(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]))", "tensor([5.0000])")
    .samples(&[
        Sample::of("F::pairwise_distance(a, b)", VECTORS),
        Sample::of("F::pairwise_distance(a, b, 1, #{keepdim: true})", VECTORS),
    ]),
];
