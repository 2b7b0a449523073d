//! Values written into a tensor at places of it flattened, and along its diagonal.

use crate::base::{DType, Error, Kind, Result, Scalar};
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, METHOD, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{check_deterministic, check_places};
use crate::op::core::shapes;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{add, remainder};
use crate::op::elementwise::choose::{masked_fill_, where_};
use crate::op::elementwise::comparison::{eq, logical_and, lt};
use crate::op::gather::along_dim::beyond;
use crate::op::gather::select::index_add;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

use super::places::index_copy;

/// A copy of `x` with the elements of `source` at places in it flattened, or added to what is there.
fn put(x: &Tensor, index: &Tensor, source: &Tensor, accumulate: bool) -> Result<Tensor> {
    if index.dtype() != DType::Int64 {
        let text = format!("put_(): Expected a long tensor for index, but got {}", index.dtype().type_name());
        return Err(Error::runtime(text).with_hint("convert it with `.long()`"));
    }
    if x.dtype() != source.dtype() {
        return Err(Error::runtime(format!(
            "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
            x.dtype().type_name(),
            source.dtype().type_name()
        )));
    }
    if index.numel() != source.numel() {
        return Err(Error::new(
            Kind::IndexError,
            format!(
                "put_(): Expected source and index to have the same number of elements, but got source.numel() = {}, \
                 index.numel() = {}",
                source.numel(),
                index.numel()
            ),
        ));
    }
    let size = x.numel();
    if size == 0 && index.numel() > 0 {
        return Err(Error::new(Kind::IndexError, "put_(): Tried to put elements into an empty tensor"));
    }
    if let Some(bad) = beyond(index, -(size as i64), size as i64, "put")? {
        let text = format!("out of range: tried to access index {bad} on a tensor of {size} elements.");
        return Err(Error::new(Kind::IndexError, text));
    }
    let (flat, index) = (reshape_to(x, &[size])?, reshape_to(index, &[index.numel()])?);
    let source = reshape_to(source, &[index.numel()])?;
    let from_end = add(&index, size as i64)?;
    let index = where_(&lt(&index, 0i64)?, (&from_end).into(), (&index).into())?;
    let out = if accumulate {
        index_add(&flat, 0, &index, &source, 1.0)?
    } else {
        index_copy(&flat, 0, &index, &source)?
    };
    reshape_to(&out, x.shape())
}

fn put_(a: &PutParams) -> Result<Tensor> {
    match a.accumulate {
        true => check_deterministic(a.input, "put_")?,
        false => check_places(a.input, "put_")?,
    }
    [a.index, a.source].into_iter().try_for_each(|read| a.input.check_overlap(read))?;
    replaced(a.input, |x| put(x, a.index, a.source, a.accumulate))
}

/// Writes a number where all indices are the same; with `wrap` a tall matrix has further diagonals below.
fn fill_diagonal_(x: &Tensor, value: Scalar, wrap: bool) -> Result<Tensor> {
    let (Some(&least), true) = (x.shape().iter().min(), x.rank() > 1) else {
        return Err(Error::runtime("dimensions must larger than 1"));
    };
    if x.rank() > 2 && x.shape().iter().any(|&size| size != least) {
        return Err(Error::runtime("all dimensions of input must be of equal length"));
    }
    // How far it is from one of the diagonal to the next, counted in elements.
    let (step, count) =
        x.shape().iter().rev().fold((0, 1), |(step, size), &next| (step + size, size * next as i64));
    let end = if wrap && x.rank() == 2 { count } else { least as i64 * step };
    let make = Make { device: Some(x.device().into()), ..Make::default() };
    let places = arange(0i64.into(), count.into(), 1i64.into(), &make)?;
    let chosen = logical_and(&eq(&remainder(&places, step)?, 0i64)?, &lt(&places, end)?)?;
    masked_fill_(x, &reshape_to(&chosen, x.shape())?, value)
}

params! {
    PutParams {
        input: kind::Tensor, "the tensor that is written to";
        index: kind::Tensor, "places in it flattened; negative ones count from the end";
        source: kind::Tensor, "what is written, an element for each place";
        accumulate: kind::Bool = false, "adds to what is there, where otherwise it is replaced";
    }
}

params! {
    FillDiagonalParams {
        input: kind::Tensor, "the tensor that is written to";
        fill_value: kind::Scalar, "the number that is written";
        wrap: kind::Bool = false, "whether the diagonal of a tall matrix starts anew below its end";
    }
}

const PLACES: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("y", &[3], Domain::Any)];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "put_",
        Family::Index,
        "Writes elements at places in the flattened tensor.",
        PutParams::LIST,
        by_name!(PutParams, |a| to_value(put_(&a))),
    )
    .forms(METHOD)
    .shapes("any, index and source of as many elements as each other -> that of the input")
    .errors(&[
        "IndexError: an index lies outside of the tensor, or there are more of them than elements of `source`, or fewer",
        "RuntimeError: `index` is not int64, or `source` has another dtype than the input",
        "RuntimeError: determinism is asked for, unless it adds on the CPU",
    ])
    .example("zeros(3).put_(tensor([0, -1]), tensor([1.0, 2.0]))", "tensor([1., 0., 2.])")
    .samples(&[
        Sample::of("x.clone().put_(tensor([0, -1, 5]), y)", PLACES),
        Sample::of("x.clone().put_(tensor([0, 5, 5]), y, true)", PLACES),
    ]),
    OpDef::call(
        "fill_diagonal_",
        Family::Index,
        "Writes a number along the main diagonal.",
        FillDiagonalParams::LIST,
        by_name!(FillDiagonalParams, |a| to_value(fill_diagonal_(a.input, a.fill_value, a.wrap))),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&[
        "RuntimeError: the tensor has fewer than two dimensions, or more and they are not all as large as each other",
    ])
    .example("zeros([2, 2]).fill_diagonal_(3)", "tensor([[3., 0.],\n        [0., 3.]])")
    .gradient(Gradient::Vjp("MaskedFillBackward0"))
    .samples(&[Sample::of("x.clone().fill_diagonal_(2.0)", &[Draw::of("x", &[4, 3], Domain::Any)])]),
];
