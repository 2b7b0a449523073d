//! Slices sent to places along a dimension, and combined there.

use crate::base::{DType, Error, Kind, Result};
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Overlap, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::gather::along_dim::same_place;
use crate::op::gather::select::check_places;
use crate::tensor::Tensor;

use super::combined::{Combine, not_of_bools, scatter_reduce};
use super::places::{sizes_but, spread_index};

/// The slices of `source` that `at` sends to one place along `dim`, combined, and with `include_self` also with what
/// stands there.
pub(crate) fn index_reduce(x: &Tensor, a: &IndexReduceParams) -> Result<Tensor> {
    let (at, source) = (a.index, a.source);
    let how = match a.reduce {
        "prod" => Combine::Prod,
        "mean" => Combine::Mean,
        "amax" => Combine::Amax,
        "amin" => Combine::Amin,
        other => {
            let text = format!(
                "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {other}."
            );
            let error = Error::runtime(text);
            return Err(match other {
                "sum" => error.with_hint("`index_add` sums"),
                other => error.with_near(other, ["prod", "mean", "amax", "amin"]),
            });
        }
    };
    let along = x.dim(a.dim)?;
    same_place(x, "index", at, "wrapper_CUDA_index_reduce")?;
    same_place(x, "source", source, "wrapper_CUDA_index_reduce")?;
    if at.rank() > 1 {
        let text = format!(
            "index_reduce_(): Index is supposed to be a vector, but got dim: {} with type: {} and size: {:?}",
            at.rank(),
            at.dtype().type_name(),
            at.shape()
        );
        return Err(Error::new(Kind::IndexError, text));
    }
    let text = if !matches!(at.dtype(), DType::Int64 | DType::Int32) {
        let name = at.dtype().type_name();
        format!("index_reduce_(): Expected dtype int32/int64 for index but got: {name}")
    } else if source.dtype() != x.dtype() {
        format!(
            "index_reduce_(): self ({}) and source ({}) must have the same scalar type",
            x.dtype().type_name(),
            source.dtype().type_name()
        )
    } else if source.shape().get(along).copied().unwrap_or(1) != at.numel() {
        format!(
            "index_reduce_(): Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}",
            at.numel(),
            source.shape().get(along).copied().unwrap_or(1),
            a.dim
        )
    } else if sizes_but(x, along) != sizes_but(source, along) {
        format!(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {:?} \
             source.shape = {:?}",
            x.shape(),
            source.shape()
        )
    } else {
        String::new()
    };
    if !text.is_empty() {
        return Err(Error::runtime(text));
    }
    if x.dtype() == DType::Bool {
        return Err(not_of_bools("index_func_"));
    }
    check_places(x, a.dim, at, "index_reduce")?;
    let places = spread_index(&to_dtype(at, DType::Int64)?, source.shape(), along)?;
    scatter_reduce(x, a.dim, &places, source, how, a.include_self)
}

params! {
    pub(crate) IndexReduceParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "for each slice of `source`, the place that it is sent to";
        source: kind::Tensor, "the slices that are sent";
        reduce: kind::Str, "how slices at one place are combined: prod, mean, amax or amin";
        include_self: kind::Bool = true, "whether what stood there counts";
    }
}

const SENT: &[Draw] = &[
    Draw::of("x", &[4, 3], Domain::Distinct),
    Draw::of("i", &[5], Domain::Index(3)),
    Draw::of("v", &[5, 3], Domain::Distinct),
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "index_reduce",
    Family::Index,
    "Slices sent to places along a dimension and combined there.",
    IndexReduceParams::LIST,
    by_name!(IndexReduceParams, |a| to_value(index_reduce(a.input, &a))),
)
.overlap(Overlap::None)
.in_place(by_name!(IndexReduceParams, |a| to_value(replaced(a.input, |x| index_reduce(x, &a)))))
.shapes("(…, n, …), (k), (…, k, …) -> (…, n, …)")
.errors(&[
    "IndexError: there is no such place, or the index is no vector",
    "RuntimeError: there are not as many places as slices, or the slices have another shape or dtype",
    "RuntimeError: `reduce` has another name",
    "NotImplementedError: the tensor holds bools",
])
.example(
    "zeros(2).index_reduce(0, tensor([1, 1]), tensor([3.0, 5.0]), \"mean\", #{include_self: false})",
    "tensor([0., 4.])",
)
.samples(&[
    Sample::of("x.index_reduce(0, i, v, \"prod\")", SENT),
    Sample::of("x.index_reduce(0, i, v, \"mean\", #{include_self: false})", SENT),
    Sample::of("x.index_reduce(0, i, v, \"amax\")", SENT),
])];
