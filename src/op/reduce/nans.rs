//! Sums and means that leave NaN out.

use crate::base::{DType, Result};
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::div;
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::numbers::nan_to_num;
use crate::op::elementwise::predicates::{isnan, logical_not};
use crate::op::shape::view::spread;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::sums::{Over, any, sum, sum_as};

/// The sum of the elements that are numbers.
pub(crate) fn nansum(
    x: &Tensor,
    dims: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NansumBackward0", run: nansum_grad };
    let _paused = crate::tensor::autocast::pause();
    if !x.dtype().is_float() {
        return sum_as(x, dims, keepdim, dtype);
    }
    let over = Over::of(x, dims, keepdim)?;
    let out = {
        let _off = no_grad();
        match sum_without_nan(x, over, || sum_as(x, dims, keepdim, dtype))? {
            Some(out) => out,
            None => {
                let numbers = nan_to_num(x, 0.0, Some(f64::INFINITY), Some(f64::NEG_INFINITY))?;
                sum_as(&numbers, dims, keepdim, dtype)?
            }
        }
    };
    Ok(recorded(out, &RULE, &[x], |s, _| {
        s.input(x);
        s.attribute(over);
    }))
}

/// The plain sum, where that is no NaN: then no element is one, and the elements are read once. A GPU would have to be
/// waited for to know.
fn sum_without_nan(x: &Tensor, over: Over, sum: impl Fn() -> Result<Tensor>) -> Result<Option<Tensor>> {
    // Of few elements each, the sums would take as long to look at as the elements.
    if x.device().is_cuda() || over.count(x) < 8 || x.numel() == 0 || !x.has_values() {
        return Ok(None);
    }
    let sum = sum()?;
    // In whole numbers NaN is not seen.
    let nan =
        sum.dtype().is_float().then(|| any(&isnan(&sum)?, None, false)?.decided("nansum")).transpose()?;
    Ok(if nan.is_some_and(|nan| nan.as_f64() == 0.0) { Some(sum) } else { None })
}

fn nansum_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let over: &Over = s.attribute()?;
    let nan = {
        let _off = no_grad();
        isnan(&x)?
    };
    one(masked_fill(&spread(g, x.shape(), over.mask)?, &nan, 0i64.into())?)
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
    .gradient(Gradient::Vjp("NansumBackward0"))
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
