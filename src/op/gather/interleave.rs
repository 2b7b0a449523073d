//! Elements repeated in place, each so often as a number or a tensor of counts says.

use crate::base::shape::checked_sizes;
use crate::base::{DType, Dims, Error, Kind, Result, memory};
use crate::device::poll;
use crate::op::core::args::to_value;
use crate::op::core::convert::cloned;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;

use super::select::index_select;

/// Repeats each element, or each slice along `dim`, `times` in place of one.
pub fn repeat_interleave(x: &Tensor, times: i64, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim else { return repeat_interleave(&reshape_to(x, &[x.numel()])?, times, Some(0)) };
    let dim = x.dim(dim)?;
    let times = usize::try_from(times).map_err(|_| negative())?;
    let mut wide: Dims = x.shape().into();
    wide.insert((dim + 1).min(wide.len()), times);
    let mut shape: Dims = x.shape().into();
    if let Some(size) = shape.get_mut(dim) {
        *size = size.saturating_mul(times);
    }
    let stretched = expand(&unsqueeze(x, dim as i64 + 1)?, &wide)?;
    reshape_to(&cloned(&stretched)?, &shape)
}

/// Repeats each element, or each slice along `dim`, as often as its count says; one count is for all.
pub(crate) fn repeat_by(
    x: &Tensor,
    counts: &Tensor,
    dim: Option<i64>,
    output_size: Option<i64>,
) -> Result<Tensor> {
    let Some(dim) = dim else {
        return repeat_by(&reshape_to(x, &[x.numel()])?, counts, Some(0), output_size);
    };
    if x.rank() == 0 {
        let text = format!("Dimension specified as {dim} but tensor has no dimensions");
        return Err(Error::new(Kind::IndexError, text));
    }
    if counts.rank() > 1 {
        return Err(Error::runtime("repeats must be 0-dim or 1-dim tensor"));
    }
    let (along, size) = (x.dim(dim)?, x.size(dim)?);
    if counts.numel() != 1 && counts.numel() != size {
        return Err(Error::runtime(format!(
            "repeats must have the same size as input along dim, but got repeats.size(0) = {} and input.size({along}) \
             = {size}",
            counts.numel()
        )));
    }
    let counts = expand(&reshape_to(counts, &[counts.numel()])?, &[size])?;
    index_select(x, dim, &places(&counts, output_size)?)
}

/// The place of each count as often as it says.
pub(crate) fn places(counts: &Tensor, output_size: Option<i64>) -> Result<Tensor> {
    if counts.rank() != 1 {
        return Err(Error::runtime("repeat_interleave only accept 1D vector as repeat"));
    }
    if !matches!(counts.dtype(), DType::Int64 | DType::Int32) {
        let text = format!("\"repeat_interleave_cpu\" not implemented for '{}'", counts.dtype().type_name());
        return Err(Error::new(Kind::NotImplementedError, text)
            .with_hint("counts are whole numbers: convert them with `.long()`"));
    }
    let times = counts.to_i64s("repeat_interleave")?;
    if times.iter().any(|&n| n < 0) {
        return Err(negative());
    }
    let total = times.iter().fold(0i64, |sum, &n| sum.saturating_add(n));
    if output_size.is_some_and(|size| size != total) {
        return Err(Error::runtime("allocated size does not match required size")
            .with_hint(format!("`output_size` is what the counts add up to, here {total}")));
    }
    let sizes = checked_sizes(&[total])?;
    let mut all: Vec<i64> = memory::with_capacity(memory::count::<i64>(&sizes)?)?;
    for (place, &n) in times.iter().enumerate() {
        poll::at(place)?;
        all.extend(std::iter::repeat_n(place as i64, n as usize));
    }
    let index = Tensor::from_i64(&all, &[all.len()])?;
    let index = if index.dtype() == counts.dtype() {
        index
    } else {
        index.copied(counts.dtype(), "repeat_interleave")?
    };
    if counts.device().is_cuda() {
        index.moved(&counts.context(), false, "repeat_interleave")
    } else {
        Ok(index)
    }
}

fn negative() -> Error {
    Error::runtime("repeats can not be negative")
}

/// A call with what it gives: without counts the tensor is itself the counts.
fn called(a: &RepeatInterleaveParams) -> Result<Tensor> {
    match a.repeats {
        None => places(a.input, a.output_size),
        Some(Operand::Tensor(counts)) => repeat_by(a.input, counts, a.dim, a.output_size),
        Some(Operand::Scalar(times)) => {
            let out = repeat_interleave(a.input, times.as_i64(), a.dim)?;
            let size = out.size(a.dim.unwrap_or(0))? as i64;
            match a.output_size {
                Some(wrong) if wrong != size => Err(Error::runtime(format!(
                    "repeat_interleave: Invalid output_size, expected {size} but got {wrong}"
                ))),
                _ => Ok(out),
            }
        }
    }
}

params! {
    RepeatInterleaveParams {
        input: kind::Tensor, "the tensor it is computed of, or the counts where they are all that is given";
        repeats: Maybe<kind::Operand>, "how often each element is given: a number, or a tensor with a count for each";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
        output_size: Maybe<kind::Int>, "how long the dimension becomes; a call with another size fails";
    }
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const COUNTED: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("n", &[3], Domain::Index(4))];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "repeat_interleave",
        Family::Movement,
        "Each element so many times in a row.",
        RepeatInterleaveParams::LIST,
        by_name!(RepeatInterleaveParams, |a| to_value(called(&a))),
    )
    .details(
        "A tensor of counts has one for each element along `dim`, or one for all. Of counts alone it gives the place of \
         each as often as it says.",
    )
    .shapes("any of n elements -> (n repeats), or with `dim` (…, n repeats, …); with counts their sum")
    .errors(&[
        "RuntimeError: a number of repeats is negative",
        "RuntimeError: there are neither one nor as many counts as elements along the dimension",
        "RuntimeError: `output_size` is not what comes out",
        "NotImplementedError: counts are no whole numbers of 32 or 64 bits",
    ])
    .example("tensor([1, 2]).repeat_interleave(tensor([1, 3]))", "tensor([1, 2, 2, 2])")
    .samples(&[
        Sample::of("x.repeat_interleave(2, 1)", M),
        Sample::of("x.repeat_interleave(n, 0)", COUNTED),
    ]),
];
