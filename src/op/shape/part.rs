//! Views of a part: ranges, sub-tensors, diagonals.

use smallvec::SmallVec;

use crate::base::dims::show;
use crate::base::{DType, Dims, Error, Kind, Layout, Result, Scalar, ShapeCause};
use crate::device::hold_reserve;
use crate::op::core::args::to_value;
use crate::op::core::def::{Args, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, kinds, params};
use crate::op::core::record::one;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp, needs_graph};

use super::view::viewed_with;

/// `length` elements along `dim` from `start`.
pub fn narrow(x: &Tensor, dim: i64, start: i64, length: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::runtime("narrow() cannot be applied to a 0-dim tensor."));
    }
    let dim = x.dim(dim)?;
    let size = x.shape().get(dim).copied().unwrap_or(1) as i64;
    if start < -size || start > size {
        return Err(Error::new(
            Kind::IndexError,
            format!("start out of range (expected to be in range of [-{size}, {size}], but got {start})"),
        ));
    }
    if length < 0 {
        return Err(Error::runtime("narrow(): length must be non-negative."));
    }
    let from = if start < 0 { start + size } else { start };
    if length > size - from {
        return Err(Error::runtime(format!(
            "start ({start}) + length ({length}) exceeds dimension size ({size})."
        )));
    }
    slice(x, dim, from as usize, length as usize, 1)
}

/// Every `step`-th of the elements along `dim`, `length` of them from `start`; bounds are the caller's.
pub fn slice(x: &Tensor, dim: usize, start: usize, length: usize, step: usize) -> Result<Tensor> {
    cut(x, Cut::Slice { dim, start, length, step })
}

/// The sub-tensor at `index` of `dim`.
pub fn select(x: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::new(Kind::IndexError, "select() cannot be applied to a 0-dim tensor."));
    }
    let dim = x.dim(dim)?;
    match place(x, dim, index) {
        Some(index) => cut(x, Cut::Select { dim, index }),
        None => Err(Error::new(
            Kind::IndexError,
            format!(
                "select(): index {index} out of range for tensor of size {} at dimension {dim}",
                show(x.shape())
            ),
        )),
    }
}

/// The sub-tensor at `index` of `dim`, as `x[index]` has it: errors speak of the index into dimension `named`.
pub(crate) fn at_index(x: &Tensor, dim: usize, index: i64, named: usize) -> Result<Tensor> {
    match place(x, dim, index) {
        Some(index) => cut(x, Cut::Select { dim, index }),
        None => {
            let size = x.shape().get(dim).copied().unwrap_or(1);
            Err(ShapeCause::IndexOutOfBounds { index, dim: named, size }.into())
        }
    }
}

/// A possibly negative index into a dimension, where it is inside.
fn place(x: &Tensor, dim: usize, index: i64) -> Option<usize> {
    let size = x.shape().get(dim).copied().unwrap_or(1) as i64;
    let at = if index < 0 { index.checked_add(size)? } else { index };
    (0..size).contains(&at).then_some(at as usize)
}

/// Elements `[i, i + offset]` of two dimensions, as the last dimension.
pub fn diagonal(x: &Tensor, offset: i64, a: i64, b: i64) -> Result<Tensor> {
    let (a, b) = (x.dim(a)?, x.dim(b)?);
    if a == b || x.rank() < 2 {
        return Err(Error::runtime(format!("diagonal dimensions cannot be identical {a}, {b}")));
    }
    cut(x, Cut::Diagonal { offset, a, b })
}

/// A part of a tensor, by what was asked for.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Slice { dim: usize, start: usize, length: usize, step: usize },
    Select { dim: usize, index: usize },
    Diagonal { offset: i64, a: usize, b: usize },
}

impl Cut {
    fn of(self, layout: &Layout) -> Result<Layout> {
        match self {
            Cut::Slice { dim, start, length, step } => layout.slice(dim, start, length, step),
            Cut::Select { dim, index } => layout.select(dim, index),
            Cut::Diagonal { offset, a, b } => diagonal_layout(layout, offset, a, b),
        }
    }

    fn rule(self) -> &'static Vjp {
        static SLICE: Vjp = Vjp { name: "SliceBackward0", run: cut_grad };
        static SELECT: Vjp = Vjp { name: "SelectBackward0", run: cut_grad };
        static DIAGONAL: Vjp = Vjp { name: "DiagonalBackward0", run: cut_grad };
        match self {
            Cut::Slice { .. } => &SLICE,
            Cut::Select { .. } => &SELECT,
            Cut::Diagonal { .. } => &DIAGONAL,
        }
    }
}

/// A view of part of a tensor: its gradient is zero outside.
fn cut(x: &Tensor, part: Cut) -> Result<Tensor> {
    // Views by the hundred thousand take no tensor's memory, but a node each.
    hold_reserve()?;
    Ok(viewed_with(x, part.of(x.layout())?, part.rule(), part))
}

fn diagonal_layout(layout: &Layout, offset: i64, a: usize, b: usize) -> Result<Layout> {
    let at = |d: usize| {
        let size = layout.shape().get(d).copied().unwrap_or(1) as i64;
        (size, layout.strides().get(d).copied().unwrap_or(0))
    };
    let ((rows, row_step), (columns, column_step)) = (at(a), at(b));
    let (down, right) = (offset.saturating_neg().max(0), offset.max(0));
    let length = (rows - down.min(rows)).min(columns - right.min(columns)).max(0) as usize;
    let kept = (0..layout.rank()).filter(|&i| i != a && i != b);
    let (mut shape, mut strides): (Dims, SmallVec<[isize; 6]>) =
        kept.filter_map(|i| Some((*layout.shape().get(i)?, *layout.strides().get(i)?))).unzip();
    shape.push(length);
    strides.push(row_step + column_step);
    let moved = if length == 0 { 0 } else { down as isize * row_step + right as isize * column_step };
    Layout::new(shape, strides, (layout.offset() as isize + moved) as usize)
}

fn cut_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let part: &Cut = s.attribute()?;
    let whole = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "slice_backward")?;
    one(put(whole, *part, g)?)
}

/// `whole` (zeros) with `g` written to a part.
fn put(whole: Tensor, part: Cut, g: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "SliceScatterBackward0",
        run: |s, g| {
            let part: &Cut = s.attribute()?;
            one(cut(g, *part)?)
        },
    };
    whole.with_layout(part.of(whole.layout())?).assign(g, "slice_backward")?;
    Ok(if needs_graph(&[g]) { whole.record(&RULE, &[g], |s, _| s.attribute(part)) } else { whole })
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

kinds! {
    /// A place: a number, or a tensor of no dimensions with a whole number.
    Start(Operand) => i64, |args: &Args, at| match args.operand(at)? {
        Operand::Tensor(t) if t.rank() == 0 && !t.dtype().is_float() && t.dtype() != DType::Bool => {
            t.item().map(Scalar::as_i64)
        }
        Operand::Tensor(_) => Err(Error::runtime("start must be an 0-dim integral Tensor.")),
        Operand::Scalar(Scalar::Int(n)) => Ok(n),
        Operand::Scalar(_) => Err(args.wrong(at, args.get(at))),
    };
}

params! {
    NarrowParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        start: Start, "the first place that is kept, a number or a tensor of one";
        length: kind::Int, "how many places are kept";
    }
}

params! {
    SelectParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Int, "the places along the dimension, as whole numbers";
    }
}

params! {
    DiagonalParams {
        input: kind::Tensor, "the tensor it is computed of";
        offset: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
        dim1: kind::Dim = 0, "the first dimension of the planes";
        dim2: kind::Int = 1, "the second dimension of the planes";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "narrow",
        Family::Movement,
        "So many elements along a dimension from a start, sharing memory.",
        NarrowParams::LIST,
        by_name!(NarrowParams, |a| to_value(narrow(a.input, a.dim, a.start, a.length))),
    )
    .shapes("(…, n, …) -> (…, length, …)")
    .errors(&[
        "RuntimeError: start and length reach behind the dimension",
        "RuntimeError: `start` is a tensor, but not of one whole number",
    ])
    .example("tensor([1, 2, 3, 4]).narrow(0, 1, 2)", "tensor([2, 3])")
    .gradient(Gradient::Vjp("SliceBackward0"))
    .samples(&[Sample::of("x.narrow(1, 1, 2)", M)]),
    OpDef::call(
        "select",
        Family::Movement,
        "The sub-tensor at an index of a dimension, sharing memory.",
        SelectParams::LIST,
        by_name!(SelectParams, |a| to_value(select(a.input, a.dim, a.index))),
    )
    .shapes("(…, n, …) -> (…, …), without dim")
    .errors(&["IndexError: the index lies outside of the dimension"])
    .example("tensor([[1, 2], [3, 4]]).select(1, 0)", "tensor([1, 3])")
    .gradient(Gradient::Vjp("SelectBackward0"))
    .samples(&[Sample::of("x.select(0, 1)", M)]),
    OpDef::call(
        "diagonal",
        Family::Movement,
        "The diagonal of two dimensions, sharing memory.",
        DiagonalParams::LIST,
        by_name!(DiagonalParams, |a| to_value(diagonal(a.input, a.offset, a.dim1, a.dim2))),
    )
    .shapes("(…, n, …, m, …) -> (…, length of the diagonal), without dim1 and dim2")
    .errors(&["RuntimeError: `dim1` and `dim2` are the same"])
    .example("tensor([[1, 2], [3, 4]]).diagonal()", "tensor([1, 4])")
    .gradient(Gradient::Vjp("DiagonalBackward0"))
    .samples(&[Sample::of("x.diagonal()", M)]),
];
