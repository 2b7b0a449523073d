//! Covariance and correlation.

use crate::base::{Error, Result};
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::elementwise::arithmetic::{div, sub};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

/// The covariance matrix of variables (rows) observed together (columns).
pub(crate) fn cov(x: &Tensor, correction: f64) -> Result<Tensor> {
    if x.rank() > 2 {
        return Err(Error::runtime(format!(
            "cov(): expected input to have two or fewer dimensions but got an input with {} dimensions",
            x.rank()
        )));
    }
    let rows = if x.rank() < 2 { reshape_to(x, &[1, x.numel()])? } else { x.clone() };
    let rows = if rows.dtype().is_float() {
        rows
    } else {
        to_dtype(&rows, crate::op::core::promote::DEFAULT_FLOAT)?
    };
    let centred = sub(&rows, &crate::op::reduce::sums::mean(&rows, Some(&[1]), true)?)?;
    let count = (rows.size(1)? as f64 - correction).max(0.0);
    let out = div(&super::matmul::mm(&centred, &crate::op::shape::permute::t(&centred)?)?, count)?;
    if out.numel() == 1 { reshape_to(&out, &[]) } else { Ok(out) }
}

/// The correlation matrix of variables (rows) observed together (columns).
pub(crate) fn corrcoef(x: &Tensor) -> Result<Tensor> {
    let c = cov(x, 1.0)?;
    if c.rank() == 0 {
        return div(&c, &c);
    }
    let deviation = crate::op::elementwise::unary::sqrt(&crate::op::shape::part::diagonal(&c, 0, 0, 1)?)?;
    let scaled = div(&c, &unsqueeze(&deviation, 1)?)?;
    let scaled = div(&scaled, &unsqueeze(&deviation, 0)?)?;
    crate::op::elementwise::clamp::clamp(&scaled, Some((-1.0).into()), Some(1.0.into()))
}

const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    CovParams {
        input: kind::Tensor, "the tensor it is computed of";
        correction: kind::Scalar = 1, "what is taken from the count before dividing: 1 for a sample, 0 for the whole";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cov",
        Family::Reduce,
        "The covariance matrix of variables in rows, observed in columns.",
        CovParams::LIST,
        by_name!(CovParams, |a| to_value(cov(a.input, a.correction.as_f64()))),
    )
    .shapes("(variables, observations) -> (variables, variables); (observations) or one variable -> ()")
    .errors(&["RuntimeError: the input has more than two dimensions"])
    .example("tensor([[0.0, 2.0], [1.0, 5.0]]).cov()", "tensor([[2., 4.],\n        [4., 8.]])")
    .samples(&[Sample::of("x.cov()", MATRIX)]),
    OpDef::call(
        "corrcoef",
        Family::Reduce,
        "The correlation matrix of variables in rows, observed in columns.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(corrcoef(a.input))),
    )
    .shapes("(variables, observations) -> (variables, variables); (observations) -> ()")
    .errors(&["RuntimeError: the input has more than two dimensions"])
    .example("tensor([[0.0, 2.0], [1.0, 5.0]]).corrcoef()", "tensor([[1., 1.],\n        [1., 1.]])"),
];
