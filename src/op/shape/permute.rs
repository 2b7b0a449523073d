//! Views with dimensions in another order.

use smallvec::SmallVec;

use crate::base::dims::show;
use crate::base::shape::wrap_dim;
use crate::base::{Error, Result};
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, PROPERTY, Sample};
use crate::op::core::fill::reshaped;
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::record::one;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::view::{VIEW, viewed, viewed_with};

/// Swaps two dimensions.
pub fn transpose(x: &Tensor, a: i64, b: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "TransposeBackward0",
        run: |s, g| {
            let &(a, b): &(usize, usize) = s.attribute()?;
            one(transpose(g, a as i64, b as i64)?)
        },
    };
    let (a, b) = (x.dim(a)?, x.dim(b)?);
    if x.rank() == 0 {
        return Ok(viewed(x, x.layout().clone(), &VIEW));
    }
    Ok(viewed_with(x, x.layout().transpose(a, b)?, &RULE, (a, b)))
}

/// The transpose of a matrix; vectors and scalars as they are.
pub fn t(x: &Tensor) -> Result<Tensor> {
    match x.rank() {
        0 | 1 => Ok(viewed(x, x.layout().clone(), &VIEW)),
        2 => Ok(viewed(x, x.layout().transpose(0, 1)?, &T)),
        n => Err(Error::runtime(format!("t() expects a tensor with <= 2 dimensions, but self is {n}D"))
            .with_hint("`x.transpose(a, b)` swaps two dimensions of any tensor")),
    }
}

/// Reorders dimensions.
pub fn permute(x: &Tensor, order: &[i64]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "PermuteBackward0",
        run: |s, g| {
            let order: &SmallVec<[usize; 6]> = s.attribute()?;
            let mut back: Vec<(usize, i64)> = order.iter().copied().zip(0i64..).collect();
            back.sort_unstable();
            one(permute(g, &back.iter().map(|(_, i)| *i).collect::<Vec<_>>())?)
        },
    };
    if order.len() != x.rank() {
        return Err(Error::runtime(format!(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired \
             ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
            x.rank(),
            order.len()
        )));
    }
    let wrapped: SmallVec<[usize; 6]> =
        order.iter().map(|&d| wrap_dim(d, x.rank())).collect::<Result<_>>()?;
    let mut seen = wrapped.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != wrapped.len() {
        return Err(Error::runtime("permute(): duplicate dims are not allowed."));
    }
    Ok(viewed_with(x, x.layout().permute(&wrapped)?, &RULE, wrapped))
}

/// Moves dimensions to other places; the others keep their order.
pub fn movedim(x: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    if source.len() != destination.len() {
        return Err(Error::runtime(format!(
            "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as \
             destination ({} dims)",
            show(source),
            show(destination)
        )));
    }
    let (from, to) =
        (distinct(x, source, "movedim", "source")?, distinct(x, destination, "movedim", "destination")?);
    let mut rest = (0..x.rank()).filter(|d| !from.contains(d));
    let order: Vec<i64> = (0..x.rank())
        .filter_map(|place| match to.iter().position(|&t| t == place) {
            Some(i) => from.get(i).copied(),
            None => rest.next(),
        })
        .map(|d| d as i64)
        .collect();
    permute(x, &order)
}

/// All dimensions in reverse order.
pub fn reversed(x: &Tensor) -> Result<Tensor> {
    permute(x, &(0..x.rank() as i64).rev().collect::<Vec<_>>())
}

/// Swaps the last two dimensions.
pub fn matrix_transpose(x: &Tensor) -> Result<Tensor> {
    if x.rank() < 2 {
        let text = format!(
            "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.",
            x.rank()
        );
        return Err(Error::runtime(text));
    }
    transpose(x, -2, -1)
}

fn distinct(x: &Tensor, dims: &[i64], op: &str, which: &str) -> Result<Vec<usize>> {
    let wrapped: Vec<usize> = dims.iter().map(|&d| x.dim(d)).collect::<Result<_>>()?;
    if wrapped.iter().enumerate().any(|(i, d)| wrapped.iter().take(i).any(|e| e == d)) {
        return Err(Error::runtime(format!("{op}: repeated dim in `{which}` ({})", show(dims))));
    }
    Ok(wrapped)
}

static T: Vjp = Vjp { name: "TBackward0", run: |_, g| one(t(g)?) };

const X: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];
const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    TransposeParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim0: kind::Dim, "the first of the two dimensions";
        dim1: kind::Dim, "the other dimension";
    }
}

params! {
    PermuteParams {
        input: kind::Tensor, "the tensor it is computed of";
        dims: kind::Sizes, "all dimensions, in their new order";
    }
}

params! {
    MovedimParams {
        input: kind::Tensor, "the tensor it is computed of";
        source: kind::Dims, "the dimensions that move";
        destination: kind::Dims, "where each of them goes";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "transpose",
        Family::Movement,
        "Two dimensions swapped, sharing memory.",
        TransposeParams::LIST,
        by_name!(TransposeParams, |a| to_value(transpose(a.input, a.dim0, a.dim1))),
    )
    .shapes("(…, n, …, m, …) -> (…, m, …, n, …)")
    .example("zeros([2, 3]).transpose(0, 1).shape", "[3, 2]")
    .in_place(by_name!(TransposeParams, |a| to_value(reshaped(a.input, |x| transpose(x, a.dim0, a.dim1)))))
    .gradient(Gradient::Vjp("TransposeBackward0"))
    .samples(&[Sample::of("x.transpose(0, 2)", X)]),
    OpDef::call(
        "t",
        Family::Movement,
        "The transpose of a matrix, sharing memory.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(t(a.input))),
    )
    .shapes("(n, m) -> (m, n); (n) and () stay as they are")
    .errors(&["RuntimeError: the input has more than two dimensions"])
    .example("tensor([[1, 2], [3, 4]]).t()", "tensor([[1, 3],\n        [2, 4]])")
    .in_place(by_name!(InputParams, |a| to_value(reshaped(a.input, t))))
    .gradient(Gradient::Vjp("TransposeBackward0"))
    .samples(&[Sample::of("x.t()", M)]),
    OpDef::call(
        "T",
        Family::Movement,
        "All dimensions in reverse order, sharing memory.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(reversed(a.input))),
    )
    .forms(&[Form::Property])
    .shapes("(n, m, …, p) -> (p, …, m, n)")
    .example("zeros([2, 3]).T.shape", "[3, 2]")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.T", M)]),
    OpDef::call(
        "permute",
        Family::Movement,
        "Dimensions in another order, sharing memory.",
        PermuteParams::LIST,
        by_name!(PermuteParams, |a| to_value(permute(a.input, &a.dims))),
    )
    .shapes("(n_0, n_1, …) -> (n_dims[0], n_dims[1], …)")
    .errors(&[
        "RuntimeError: `dims` does not name each dimension once",
        "IndexError: the tensor has no such dimension as one of `dims`",
    ])
    .example("zeros([2, 3, 4]).permute([2, 0, 1]).shape", "[4, 2, 3]")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.permute([2, 0, 1])", X)]),
    OpDef::call(
        "movedim",
        Family::Movement,
        "Dimensions moved to other places, sharing memory.",
        MovedimParams::LIST,
        by_name!(MovedimParams, |a| to_value(movedim(a.input, &a.source, &a.destination))),
    )
    .shapes("(…) -> the same sizes in another order")
    .errors(&["RuntimeError: `source` and `destination` have different lengths"])
    .example("zeros([2, 3, 4]).movedim(0, 2).shape", "[3, 4, 2]")
    .samples(&[Sample::of("x.movedim(0, 2)", X)]),
    OpDef::call(
        "swapaxes",
        Family::Movement,
        "Another name of `transpose`.",
        TransposeParams::LIST,
        by_name!(TransposeParams, |a| to_value(transpose(a.input, a.dim0, a.dim1))),
    )
    .shapes("(…, n, …, m, …) -> (…, m, …, n, …)")
    .example("tensor([[1, 2], [3, 4]]).swapaxes(0, 1)", "tensor([[1, 3],\n        [2, 4]])")
    .in_place(by_name!(TransposeParams, |a| to_value(reshaped(a.input, |x| transpose(x, a.dim0, a.dim1))))),
    OpDef::call(
        "mT",
        Family::Movement,
        "The last two dimensions swapped, sharing memory.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(matrix_transpose(a.input))),
    )
    .forms(PROPERTY)
    .shapes("(…, n, m) -> (…, m, n)")
    .errors(&["RuntimeError: the input has fewer than two dimensions"])
    .example("tensor([[[1, 2], [3, 4]]]).mT", "tensor([[[1, 3],\n         [2, 4]]])"),
    OpDef::call(
        "moveaxis",
        Family::Movement,
        "Another name of `movedim`.",
        MovedimParams::LIST,
        by_name!(MovedimParams, |a| to_value(movedim(a.input, &a.source, &a.destination))),
    )
    .shapes("(…) -> the same sizes in another order")
    .errors(&["RuntimeError: `source` and `destination` have different lengths"])
    .example("zeros([2, 3, 4]).moveaxis(0, 2).shape", "[3, 4, 2]"),
    OpDef::call(
        "swapdims",
        Family::Movement,
        "Another name of `transpose`.",
        TransposeParams::LIST,
        by_name!(TransposeParams, |a| to_value(transpose(a.input, a.dim0, a.dim1))),
    )
    .shapes("(…, n, …, m, …) -> (…, m, …, n, …)")
    .example("zeros([2, 3]).swapdims(0, 1).shape", "[3, 2]")
    .in_place(by_name!(TransposeParams, |a| to_value(reshaped(a.input, |x| transpose(x, a.dim0, a.dim1))))),
    OpDef::call(
        "H",
        Family::Movement,
        "The transpose of a matrix, sharing memory.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(matrix_transpose(a.input))),
    )
    .forms(&[Form::Property])
    .shapes("(…, n, m) -> (…, m, n)")
    .errors(&["RuntimeError: the input has fewer than two dimensions"])
    .example("zeros([2, 3]).H.shape", "[3, 2]"),
];
