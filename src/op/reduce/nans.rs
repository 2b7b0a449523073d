//! Sums and means that leave NaN out.

use crate::base::{DType, Result};
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::div;
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::predicates::{isnan, logical_not};
use crate::tensor::Tensor;

use super::sums::sum;

/// The sum of the elements that are numbers.
pub(crate) fn nansum(
    x: &Tensor,
    dims: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    let _paused = crate::tensor::autocast::pause();
    super::sums::sum_as(&without_nan(x)?, dims, keepdim, dtype)
}

/// The mean of the elements that are numbers.
pub(crate) fn nanmean(
    x: &Tensor,
    dims: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    only_floats(dtype.unwrap_or(x.dtype()), "nanmean")?;
    let _paused = crate::tensor::autocast::pause();
    let count = {
        let _off = no_grad();
        sum(&logical_not(&isnan(x)?)?, dims, keepdim)?
    };
    div(&nansum(x, dims, keepdim, dtype)?, &count)
}

fn without_nan(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return Ok(x.clone());
    }
    let nan = {
        let _off = no_grad();
        isnan(x)?
    };
    masked_fill(x, &nan, 0i64.into())
}

const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    NansumParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "nansum",
        Family::Reduce,
        "The sum of the elements that are no NaN.",
        NansumParams::LIST,
        by_name!(NansumParams, |a| to_value(nansum(a.input, a.dim.as_deref(), a.keepdim, a.dtype))),
    )
    .shapes(shapes::REDUCED)
    .example("tensor([1.0, 0.0 / 0.0, 2.0]).nansum()", "tensor(3.)")
    .samples(&[Sample::of("x.nansum(1)", MATRIX)]),
    OpDef::call(
        "nanmean",
        Family::Reduce,
        "The mean of the elements that are no NaN.",
        NansumParams::LIST,
        by_name!(NansumParams, |a| to_value(nanmean(a.input, a.dim.as_deref(), a.keepdim, a.dtype))),
    )
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([1.0, 0.0 / 0.0, 2.0]).nanmean()", "tensor(1.5000)")
    .samples(&[Sample::of("x.nanmean(1)", MATRIX)]),
];
