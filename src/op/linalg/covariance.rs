//! Covariance and correlation.

use crate::base::{DType, Error, Kind, Result};
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{InputParams, Maybe, by_name, kind, params};
use crate::op::core::promote::{DEFAULT_FLOAT, result_type};
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::{div, mul, scale, shift, sub};
use crate::op::reduce::sums::{min_all, sum};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

/// The covariance matrix of variables (rows) observed together (columns).
pub(crate) fn cov(x: &Tensor, correction: f64) -> Result<Tensor> {
    weighted(x, correction, None, None)
}

fn check_rank(x: &Tensor, name: &str) -> Result<()> {
    if x.rank() > 2 {
        return Err(Error::runtime(format!(
            "{name}(): expected input to have two or fewer dimensions but got an input with {} dimensions",
            x.rank()
        )));
    }
    Ok(())
}

/// As [`cov`], of observations that count so often (`frequencies`) and so much (`weights`).
fn weighted(
    x: &Tensor,
    correction: f64,
    frequencies: Option<&Tensor>,
    weights: Option<&Tensor>,
) -> Result<Tensor> {
    check_rank(x, "cov")?;
    if x.dtype() == DType::Bool {
        let text = "cov(): bool dtype is not supported for input";
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats with `.float()`")
        );
    }
    let rows = if x.rank() < 2 { reshape_to(x, &[1, x.numel()])? } else { x.clone() };
    let rows = if rows.dtype().is_float() { rows } else { to_dtype(&rows, DEFAULT_FLOAT)? };
    // Weights of a wider dtype widen what they weigh.
    let rows = match weights {
        Some(w) => to_dtype(&rows, result_type(&[(&rows).into(), w.into()]))?,
        None => rows,
    };
    if let Some(w) = weight_of(&rows, frequencies, weights)? {
        return of_weighted(&rows, &w, correction, weights, frequencies);
    }
    let centred = sub(&rows, &crate::op::reduce::sums::mean(&rows, Some(&[1]), true)?)?;
    let count = (rows.size(1)? as f64 - correction).max(0.0);
    let out = div(&super::matmul::mm(&centred, &crate::op::shape::permute::t(&centred)?)?, count)?;
    if out.numel() == 1 { reshape_to(&out, &[]) } else { Ok(out) }
}

/// How much each observation counts; none where all count alike.
fn weight_of(
    rows: &Tensor,
    frequencies: Option<&Tensor>,
    weights: Option<&Tensor>,
) -> Result<Option<Tensor>> {
    let observations = rows.size(1)?;
    for (name, w) in [("fweights", frequencies), ("aweights", weights)] {
        let Some(w) = w else { continue };
        if w.rank() > 1 {
            let text = format!("cov(): expected {name} to have one or fewer dimensions but got {name} with");
            return Err(Error::runtime(format!("{text} {} dimensions", w.rank())));
        }
        if name == "fweights" && w.dtype().is_float() {
            return Err(Error::runtime(format!(
                "cov(): expected fweights to have integral dtype but got fweights with {} dtype",
                w.dtype().type_name()
            )));
        }
        if name == "aweights" && !w.dtype().is_float() {
            return Err(Error::runtime(format!(
                "cov(): expected aweights to have floating point dtype but got aweights with {} dtype",
                w.dtype().type_name()
            )));
        }
        if w.numel() != observations {
            return Err(Error::runtime(format!(
                "cov(): expected {name} to have the same numel as there are observations in the input but got {} != \
                 {observations}",
                w.numel()
            )));
        }
        if w.numel() > 0 && min_all(&w.detach())?.item()?.as_f64() < 0.0 {
            return Err(Error::runtime(format!("cov(): {name} cannot be negative")));
        }
    }
    let as_float = |w: &Tensor| to_dtype(w, rows.dtype());
    Ok(match (frequencies, weights) {
        (None, None) => None,
        (Some(w), None) | (None, Some(w)) => Some(as_float(w)?),
        (Some(f), Some(a)) => Some(mul(&as_float(f)?, &as_float(a)?)?),
    })
}

fn of_weighted(
    rows: &Tensor,
    w: &Tensor,
    correction: f64,
    weights: Option<&Tensor>,
    frequencies: Option<&Tensor>,
) -> Result<Tensor> {
    let total = sum(w, None, false)?;
    let mean = div(&sum(&mul(rows, w)?, Some(&[1]), true)?, &total)?;
    // As NumPy has it: what correction takes from a sum of weights is their own mean weight.
    let count = match (weights, correction) {
        (_, 0.0) => total,
        (None, _) => shift(&total, -correction)?,
        (Some(a), _) => {
            let a = to_dtype(a, rows.dtype())?;
            let squares = if frequencies.is_some() { mul(w, &a)? } else { mul(&a, &a)? };
            sub(&total, &scale(&div(&sum(&squares, None, false)?, &total)?, correction)?)?
        }
    };
    let centred = sub(rows, &mean)?;
    let other = crate::op::shape::permute::t(&mul(&centred, w)?)?;
    let none = crate::op::elementwise::clamp::clamp_min(&count, 0.0.into())?;
    let out = div(&super::matmul::mm(&centred, &other)?, &none)?;
    if out.numel() == 1 { reshape_to(&out, &[]) } else { Ok(out) }
}

/// The correlation matrix of variables (rows) observed together (columns).
pub(crate) fn corrcoef(x: &Tensor) -> Result<Tensor> {
    check_rank(x, "corrcoef")?;
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
        fweights: Maybe<kind::Tensor>, "how often each observation counts, integers";
        aweights: Maybe<kind::Tensor>, "how much each observation counts";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cov",
        Family::Reduce,
        "The covariance matrix of variables in rows, observed in columns.",
        CovParams::LIST,
        by_name!(CovParams, |a| to_value(weighted(a.input, a.correction.as_f64(), a.fweights, a.aweights))),
    )
    .shapes("(variables, observations) -> (variables, variables); (observations) or one variable -> ()")
    .errors(&["RuntimeError: the input has more than two dimensions", shapes::BOOLS])
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
    .errors(&["RuntimeError: the input has more than two dimensions", shapes::BOOLS])
    .example("tensor([[0.0, 2.0], [1.0, 5.0]]).corrcoef()", "tensor([[1., 1.],\n        [1., 1.]])"),
];
