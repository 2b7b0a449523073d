//! Diagonals: as matrices, of matrices, and their sums.

use crate::base::dims::show;
use crate::base::shape::wrap_dim;
use crate::base::{DType, Dims, Error, Result, memory};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, FUNCTION, Family, OpDef, Sample};
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::shapes;
use crate::op::gather::select::index_add;
use crate::op::reduce::sums::sum;
use crate::op::shape::join::cat;
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::movedim;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

/// A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.
pub(crate) fn diag(x: &Tensor, offset: i64) -> Result<Tensor> {
    match x.rank() {
        1 => diag_embed(x, offset, -2, -1),
        2 => crate::op::core::convert::cloned(&diagonal(x, offset, 0, 1)?),
        n => Err(Error::runtime(format!("diag(): Supports 1D or 2D tensors. Got {n}D"))),
    }
}

/// The last dimension as diagonals of new matrices in the dimensions `a` and `b`.
pub(crate) fn diag_embed(x: &Tensor, offset: i64, a: i64, b: i64) -> Result<Tensor> {
    let rank = x.rank() + 1;
    let (a, b) = (wrap_dim(a, rank)?, wrap_dim(b, rank)?);
    if a == b {
        return Err(Error::runtime(format!("diagonal dimensions cannot be identical {a}, {b}")));
    }
    let length = x.size(-1)?;
    let shift = offset.unsigned_abs() as usize;
    let size = length + shift;
    // Each entry stands at `shift` columns (or rows) from the edge: row * size + column of a flat matrix.
    let mut flat: Dims = x.shape().into();
    flat.pop();
    let rows: Dims = flat.clone();
    flat.push(memory::count::<u8>(&[size, size])?);
    let zeros = Tensor::full(&flat, 0i64.into(), x.dtype(), &x.context(), "diag_embed")?;
    let first = if offset >= 0 { shift } else { shift * size };
    let steps = Tensor::empty(&[length], DType::Int64, &x.context(), "diag_embed")?;
    let kernel =
        crate::device::Kernel::Arange { start: (first as i64).into(), step: (size as i64 + 1).into() };
    crate::tensor::launch("diag_embed", &kernel, &[], &[&steps])?;
    let filled = index_add(&zeros, -1, &steps, x, 1.0)?;
    let square: Dims = rows.iter().copied().chain([size, size]).collect();
    movedim(&reshape_to(&filled, &square)?, &[-2, -1], &[a as i64, b as i64])
}

/// The elements as the diagonal of a matrix.
pub fn diagflat(x: &Tensor, offset: i64) -> Result<Tensor> {
    diag_embed(&reshape_to(x, &[x.numel()])?, offset, -2, -1)
}

/// The sum of a matrix's diagonal.
pub fn trace(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::Bool {
        return Err(Error::new(
            crate::base::Kind::NotImplementedError,
            "\"trace\" not implemented for 'Bool'",
        )
        .with_hint("convert it with `.int()`"));
    }
    if x.rank() != 2 {
        return Err(Error::runtime(format!(
            "trace: expected a matrix, but got tensor with dim {}",
            x.rank()
        ))
        .with_hint(format!(
            "this tensor has shape {}; `x.diagonal(0, -2, -1).sum(-1)` gives the traces of a batch",
            show(x.shape())
        )));
    }
    sum(&diagonal(x, 0, 0, 1)?, None, false)
}

/// Matrices along the diagonal of a larger one.
pub(crate) fn block_diag(blocks: &[&Tensor]) -> Result<Tensor> {
    let matrices = blocks
        .iter()
        .map(|b| match b.rank() {
            0 | 1 => reshape_to(b, &[1, b.numel()]),
            2 => Ok((*b).clone()),
            n => Err(Error::runtime(format!(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input 0 has {n} dimensions"
            ))),
        })
        .collect::<Result<Vec<_>>>()?;
    let columns: i64 = matrices.iter().map(|m| m.shape().get(1).copied().unwrap_or(0) as i64).sum();
    let mut rows = memory::with_capacity(matrices.len())?;
    let mut before = 0;
    for m in &matrices {
        let width = m.size(1)? as i64;
        let pad = [before, columns - before - width];
        rows.push(super::pad::constant(m, &pad, 0i64.into())?);
        before += width;
    }
    match rows.is_empty() {
        true => Tensor::empty(
            &[1, 0],
            crate::op::core::promote::DEFAULT_FLOAT,
            crate::device::Machine::current().cpu(),
            "block_diag",
        ),
        false => cat(&rows.iter().collect::<Vec<_>>(), 0),
    }
}

const V: &[Draw] = &[Draw::of("x", &[4], Domain::Any)];
const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const MATRICES: &[Draw] = &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[3, 2], Domain::Any)];

params! {
    DiagParams {
        input: kind::Tensor, "the tensor it is computed of";
        diagonal: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
    }
}

params! {
    DiagflatParams {
        input: kind::Tensor, "the tensor it is computed of";
        offset: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
    }
}

params! {
    DiagEmbedParams {
        input: kind::Tensor, "the tensor it is computed of";
        offset: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
        dim1: kind::Dim = -2, "the first dimension of the planes";
        dim2: kind::Int = -1, "the second dimension of the planes";
    }
}

params! {
    BlockDiagParams {
        tensors: kind::TensorRun, "the blocks, from the upper left on, one after the other or in an array";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "diag",
        Family::Movement,
        "A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.",
        DiagParams::LIST,
        by_name!(DiagParams, |a| to_value(diag(a.input, a.diagonal))),
    )
    .shapes("(n) -> (n + abs(diagonal), n + abs(diagonal)); (n, m) -> (length of the diagonal)")
    .errors(&["RuntimeError: the input is neither a vector nor a matrix"])
    .example("tensor([1, 2]).diag()", "tensor([[1, 0],\n        [0, 2]])")
    .samples(&[Sample::of("x.diag(1)", V), Sample::of("x.diag(-1)", M)]),
    OpDef::call(
        "diagflat",
        Family::Movement,
        "All elements as the diagonal of a matrix.",
        DiagflatParams::LIST,
        by_name!(DiagflatParams, |a| to_value(diagflat(a.input, a.offset))),
    )
    .shapes("any of n elements -> (n + abs(offset), n + abs(offset))")
    .example("tensor([1, 2]).diagflat()", "tensor([[1, 0],\n        [0, 2]])")
    .samples(&[Sample::of("x.diagflat()", V)]),
    OpDef::call(
        "diag_embed",
        Family::Movement,
        "The last dimension as diagonals of new matrices.",
        DiagEmbedParams::LIST,
        by_name!(DiagEmbedParams, |a| to_value(diag_embed(a.input, a.offset, a.dim1, a.dim2))),
    )
    .shapes("(…, n) -> (…, n + abs(offset), n + abs(offset)), the last two at `dim1` and `dim2`")
    .errors(&["RuntimeError: `dim1` and `dim2` are the same"])
    .example("tensor([[1, 2]]).diag_embed()", "tensor([[[1, 0],\n         [0, 2]]])")
    .samples(&[Sample::of("x.diag_embed(1)", M), Sample::of("x.diag_embed(-1, 0, 2)", M)]),
    OpDef::call(
        "trace",
        Family::Reduce,
        "The sum of a matrix's diagonal.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(whole("trace", [a.input], |[x]| trace(x)))),
    )
    .shapes("(n, m) -> ()")
    .errors(&["RuntimeError: the input is no matrix", shapes::BOOLS])
    .example("tensor([[1, 2], [3, 4]]).trace()", "tensor(5)")
    .samples(&[Sample::of("x.trace()", M)]),
    OpDef::call(
        "block_diag",
        Family::Movement,
        "Matrices along the diagonal of a larger one.",
        BlockDiagParams::LIST,
        by_name!(BlockDiagParams, |a| to_value(block_diag(&a.tensors))),
    )
    .forms(FUNCTION)
    .shapes("(n_1, m_1), (n_2, m_2), … -> (n_1 + n_2 + …, m_1 + m_2 + …); a vector is a row, a number (1, 1)")
    .errors(&["RuntimeError: an input has more than two dimensions"])
    .example("block_diag([tensor([[1]]), tensor([[2, 3]])])", "tensor([[1, 0, 0],\n        [0, 2, 3]])")
    .samples(&[Sample::of("block_diag([a, b])", MATRICES)]),
];
