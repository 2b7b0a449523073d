//! Copies with a part replaced: what a view would show, written out of place.

use crate::base::{Dims, Error, Result};
use crate::op::core::args::to_value;
use crate::op::core::convert::{clone, to_dtype};
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::shapes;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::shape::part::{diagonal, select, slice};
use crate::op::shape::permute::movedim;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

use super::brackets::index_put_;
use super::indices::Index;
use super::places::index_copy;

/// Fails unless `src` has the shape of the part that it replaces.
fn check(name: &str, part: &Tensor, src: &Tensor) -> Result<()> {
    if part.shape() == src.shape() {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{name}: expected src to have a size equal to the part it replaces, src size = {:?}, part size = {:?}",
        src.shape(),
        part.shape()
    )))
}

/// A copy of `x` with `src` at places along a dimension: from a first one on, so far from each other, before an end.
fn put(x: &Tensor, dim: i64, [first, end, step]: [i64; 3], src: &Tensor) -> Result<Tensor> {
    let make = Make { device: Some(x.device().into()), ..Make::default() };
    let index = arange(first.into(), end.into(), step.into(), &make)?;
    index_copy(x, dim, &index, &to_dtype(src, x.dtype())?)
}

fn select_scatter(x: &Tensor, src: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    check("select_scatter()", &select(x, dim, index)?, src)?;
    let place = if index < 0 { index + x.size(dim)? as i64 } else { index };
    put(x, dim, [place, place + 1, 1], &unsqueeze(src, x.dim(dim)? as i64)?)
}

fn slice_scatter(a: &SliceScatterParams) -> Result<Tensor> {
    let (x, size) = (a.input, a.input.size(a.dim)? as i64);
    let place = |at: i64| (if at < 0 { at + size } else { at }).clamp(0, size);
    let start = place(a.start.unwrap_or(0));
    let end = place(a.end.unwrap_or(size)).max(start);
    let Some(step) = usize::try_from(a.step).ok().filter(|step| *step > 0) else {
        return Err(Error::runtime("slice step must be positive"));
    };
    let length = ((end - start) as usize).div_ceil(step);
    check("slice_scatter()", &slice(x, x.dim(a.dim)?, start as usize, length, step)?, a.src)?;
    put(x, a.dim, [start, end, a.step], a.src)
}

/// Where the last two dimensions are one, a diagonal is a range with a step.
fn diagonal_scatter(a: &DiagonalScatterParams) -> Result<Tensor> {
    check("diagonal_scatter()", &diagonal(a.input, a.offset, a.dim1, a.dim2)?, a.src)?;
    let moved = movedim(a.input, &[a.dim1, a.dim2], &[-2, -1])?;
    let columns = moved.size(-1)? as i64;
    // Beyond every row and column the diagonal is empty.
    let down = a.offset.saturating_neg().max(0).saturating_mul(columns);
    let first = down.saturating_add(a.offset.max(0));
    let end = first.saturating_add(a.src.size(-1)? as i64 * (columns + 1));
    let shape: Dims = moved.shape().into();
    let whole: usize = shape.iter().rev().take(2).product();
    let lines: Dims = shape.iter().copied().take(shape.len() - 2).chain([whole]).collect();
    let flat = put(&reshape_to(&moved, &lines)?, -1, [first, end, columns + 1], a.src)?;
    movedim(&reshape_to(&flat, &shape)?, &[-2, -1], &[a.dim1, a.dim2])
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

params! {
    IndexPutParams {
        input: kind::Tensor, "the tensor that is copied";
        indices: kind::Any, "index tensors, one for each dimension";
        values: kind::Operand, "what is written there; it broadcasts";
        accumulate: kind::Bool = false, "adds to what is there, where otherwise it is replaced";
    }
}

params! {
    SelectScatterParams {
        input: kind::Tensor, "the tensor that is copied";
        src: kind::Tensor, "what is written";
        dim: kind::Dim, "the dimension it is written across; negative ones count from the end";
        index: kind::Int, "the place along it";
    }
}

params! {
    SliceScatterParams {
        input: kind::Tensor, "the tensor that is copied";
        src: kind::Tensor, "what is written";
        dim: kind::Dim = 0, "the dimension it is written along; negative ones count from the end";
        start: Maybe<kind::Int>, "the first place that is written";
        end: Maybe<kind::Int>, "the place before which writing ends";
        step: kind::Int = 1, "how far from one place to the next";
    }
}

params! {
    DiagonalScatterParams {
        input: kind::Tensor, "the tensor that is copied";
        src: kind::Tensor, "what is written";
        offset: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
        dim1: kind::Dim = 0, "the dimension of the rows";
        dim2: kind::Dim = 1, "the dimension of the columns";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "index_put",
        Family::Index,
        "A copy with values written where indices say.",
        IndexPutParams::LIST,
        by_name!(IndexPutParams, |a| {
            let copy = clone(a.input)?;
            to_value(index_put_(&copy, &Index::list(a.indices)?, a.values, a.accumulate))
        }),
    )
    .details("`indices` is a list with an index tensor, or a mask, for each of the first dimensions.")
    .shapes("any -> the same; values are broadcast to what the indices pick")
    .errors(&["IndexError: an index lies outside of its dimension", shapes::NO_BROADCAST])
    .example("zeros(3).index_put([tensor([2, 0])], tensor([1.0, 2.0]))", "tensor([2., 0., 1.])")
    .samples(&[Sample::of("x.index_put([tensor([2, 0])], y)", &[X, Draw::of("y", &[4], Domain::Any)])]),
    OpDef::call(
        "select_scatter",
        Family::Index,
        "A copy in which one entry along a dimension is another tensor.",
        SelectScatterParams::LIST,
        by_name!(SelectScatterParams, |a| to_value(select_scatter(a.input, a.src, a.dim, a.index))),
    )
    .shapes("(…, n, …), src without dim -> that of the input")
    .errors(&["RuntimeError: `src` has another shape", "IndexError: the index lies outside of the dimension"])
    .example("zeros([2, 2]).select_scatter(ones(2), 0, 1)", "tensor([[0., 0.],\n        [1., 1.]])")
    .samples(&[Sample::of("x.select_scatter(y, 0, 1)", &[X, Draw::of("y", &[4], Domain::Any)])]),
    OpDef::call(
        "slice_scatter",
        Family::Index,
        "A copy in which a range along a dimension is another tensor.",
        SliceScatterParams::LIST,
        by_name!(SliceScatterParams, |a| to_value(slice_scatter(&a))),
    )
    .shapes("(…, n, …), src as the range -> that of the input")
    .errors(&["RuntimeError: `src` has another shape"])
    .example("zeros(4).slice_scatter(ones(2), 0, 1, 3)", "tensor([0., 1., 1., 0.])")
    .samples(&[Sample::of("x.slice_scatter(y, 1, 0, 4, 2)", &[X, Draw::of("y", &[3, 2], Domain::Any)])]),
    OpDef::call(
        "diagonal_scatter",
        Family::Index,
        "A copy in which a diagonal is another tensor.",
        DiagonalScatterParams::LIST,
        by_name!(DiagonalScatterParams, |a| to_value(diagonal_scatter(&a))),
    )
    .shapes("(…, n, m), src as its diagonal -> that of the input")
    .errors(&["RuntimeError: `src` has another shape"])
    .example("zeros([2, 2]).diagonal_scatter(ones(2))", "tensor([[1., 0.],\n        [0., 1.]])")
    .samples(&[Sample::of("x.diagonal_scatter(y)", &[X, Draw::of("y", &[3], Domain::Any)])]),
];
