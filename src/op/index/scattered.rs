//! Copies with a part replaced: what a view would show, written out of place.

use crate::base::{Error, Result};
use crate::op::core::args::to_value;
use crate::op::core::convert::cloned;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::fill::copy_;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::shape::part::{diagonal, select, slice};
use crate::tensor::Tensor;

/// A copy of `x` in which the part that `view` shows holds `src`, which must have its shape.
fn replaced_part(
    name: &str,
    x: &Tensor,
    src: &Tensor,
    view: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let copy = cloned(x)?;
    let part = view(&copy)?;
    if part.shape() != src.shape() {
        return Err(Error::runtime(format!(
            "{name}: expected src to have a size equal to the part it replaces, src size = {:?}, part size = {:?}",
            src.shape(),
            part.shape()
        )));
    }
    copy_(&part, src, false)?;
    Ok(copy)
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

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
        "select_scatter",
        Family::Index,
        "A copy in which one entry along a dimension is another tensor.",
        SelectScatterParams::LIST,
        by_name!(SelectScatterParams, |a| to_value(replaced_part("select_scatter()", a.input, a.src, |x| {
            select(x, a.dim, a.index)
        }))),
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
        by_name!(SliceScatterParams, |a| to_value(replaced_part("slice_scatter()", a.input, a.src, |x| {
            let (dim, size) = (x.dim(a.dim)?, x.size(a.dim)? as i64);
            let place = |at: i64| (if at < 0 { at + size } else { at }).clamp(0, size);
            let (start, end) = (place(a.start.unwrap_or(0)), place(a.end.unwrap_or(size)));
            let step = a.step.max(1);
            let length = ((end - start).max(0) as usize).div_ceil(step as usize);
            slice(x, dim, start as usize, length, step as usize)
        }))),
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
        by_name!(DiagonalScatterParams, |a| to_value(replaced_part(
            "diagonal_scatter()",
            a.input,
            a.src,
            |x| { diagonal(x, a.offset, a.dim1, a.dim2) }
        ))),
    )
    .shapes("(…, n, m), src as its diagonal -> that of the input")
    .errors(&["RuntimeError: `src` has another shape"])
    .example("zeros([2, 2]).diagonal_scatter(ones(2))", "tensor([[1., 0.],\n        [0., 1.]])")
    .samples(&[Sample::of("x.diagonal_scatter(y)", &[X, Draw::of("y", &[3], Domain::Any)])]),
];
