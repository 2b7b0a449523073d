//! Rows of diagonals, grids, windows and pieces.

use super::{list, one};
use crate::base::Error;
use crate::op::args::{Args, Value};
use crate::op::autocast::whole;
use crate::op::create::{DEVICE, Make};
use crate::op::def::DefaultValue as D;
use crate::op::def::{
    DTYPE, Domain, Draw, FUNCTION, Family, Form, Gradient, METHOD, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::{joins, movement, shapes};
use crate::tensor::Tensor;

const V: &[Draw] = &[Draw::of("x", &[4], Domain::Any)];
const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const X: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];
const VECTORS: &[Draw] = &[Draw::of("a", &[2], Domain::Any), Draw::of("b", &[3], Domain::Any)];
const MATRICES: &[Draw] = &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[3, 2], Domain::Any)];
const OFFSET: Param = Param::optional("offset", ParamKind::Int, D::Int(0));
const DIAGONAL: Param = Param::optional("diagonal", ParamKind::Int, D::Int(0));
const TENSORS: Param = Param::required("tensors", ParamKind::Tensors);
const REQUIRES_GRAD: Param = Param::optional("requires_grad", ParamKind::Bool, D::Bool(false));
const PIN_MEMORY: Param = Param::optional("pin_memory", ParamKind::Bool, D::Bool(false));
const TRIANGLE: &[Param] = &[
    Param::required("row", ParamKind::Int),
    Param::required("col", ParamKind::Int),
    OFFSET,
    DTYPE,
    DEVICE,
    REQUIRES_GRAD,
    PIN_MEMORY,
];
const PIECES: &[Param] = &[SELF, Param::required("indices_or_sections", ParamKind::Ints)];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "diag",
        Family::Movement,
        "A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.",
        &[SELF, DIAGONAL],
        |a| one(shapes::diag(a.tensor(0)?, a.int(1)?)),
    )
    .example("tensor([1, 2]).diag()", "tensor([[1, 0],\n        [0, 2]])")
    .samples(&[Sample::of("x.diag(1)", V), Sample::of("x.diag(-1)", M)]),
    OpDef::call(
        "diagflat",
        Family::Movement,
        "All elements as the diagonal of a matrix.",
        &[SELF, OFFSET],
        |a| one(shapes::diagflat(a.tensor(0)?, a.int(1)?)),
    )
    .example("tensor([1, 2]).diagflat()", "tensor([[1, 0],\n        [0, 2]])")
    .samples(&[Sample::of("x.diagflat()", V)]),
    OpDef::call(
        "diag_embed",
        Family::Movement,
        "The last dimension as diagonals of new matrices.",
        &[
            SELF,
            OFFSET,
            Param::optional("dim1", ParamKind::Int, D::Int(-2)),
            Param::optional("dim2", ParamKind::Int, D::Int(-1)),
        ],
        |a| one(shapes::diag_embed(a.tensor(0)?, a.int(1)?, a.int(2)?, a.int(3)?)),
    )
    .example("tensor([[1, 2]]).diag_embed()", "tensor([[[1, 0],\n         [0, 2]]])")
    .samples(&[Sample::of("x.diag_embed(1)", M), Sample::of("x.diag_embed(-1, 0, 2)", M)]),
    OpDef::call("trace", Family::Reduce, "The sum of a matrix's diagonal.", &[SELF], |a| {
        one(whole("trace", [a.tensor(0)?], |[x]| shapes::trace(x)))
    })
    .example("tensor([[1, 2], [3, 4]]).trace()", "tensor(5)")
    .samples(&[Sample::of("x.trace()", M)]),
    OpDef::call(
        "rot90",
        Family::Movement,
        "A quarter turn, `k` times over, in the plane of two dimensions.",
        &[
            SELF,
            Param::optional("k", ParamKind::Int, D::Int(1)),
            Param::optional("dims", ParamKind::Ints, D::Ints(&[0, 1])),
        ],
        |a| one(shapes::rot90(a.tensor(0)?, a.int(1)?, &a.ints(2)?)),
    )
    .example("tensor([[1, 2], [3, 4]]).rot90()", "tensor([[2, 4],\n        [1, 3]])")
    .samples(&[Sample::of("x.rot90()", M), Sample::of("x.rot90(3, [0, 2])", X)]),
    OpDef::call("fliplr", Family::Movement, "Columns in reverse order.", &[SELF], |a| {
        one(joins::flip(at_least(a.tensor(0)?, 2)?, &[1]))
    })
    .example("tensor([[1, 2], [3, 4]]).fliplr()", "tensor([[2, 1],\n        [4, 3]])")
    .samples(&[Sample::of("x.fliplr()", M)]),
    OpDef::call("flipud", Family::Movement, "Rows in reverse order.", &[SELF], |a| {
        one(joins::flip(at_least(a.tensor(0)?, 1)?, &[0]))
    })
    .example("tensor([[1, 2], [3, 4]]).flipud()", "tensor([[3, 4],\n        [1, 2]])")
    .samples(&[Sample::of("x.flipud()", M)]),
    OpDef::call(
        "unfold",
        Family::Movement,
        "Windows along a dimension as a new last dimension, sharing memory.",
        &[
            SELF,
            Param::required("dimension", ParamKind::Int),
            Param::required("size", ParamKind::Int),
            Param::required("step", ParamKind::Int),
        ],
        |a| one(shapes::unfold(a.tensor(0)?, a.int(1)?, a.int(2)?, a.int(3)?)),
    )
    .forms(METHOD)
    .example("arange(4).unfold(0, 2, 1)", "tensor([[0, 1],\n        [1, 2],\n        [2, 3]])")
    .gradient(Gradient::Vjp("UnfoldBackward0"))
    .samples(&[Sample::of("x.unfold(1, 3, 1)", M), Sample::of("x.unfold(0, 2, 1)", X)]),
    OpDef::call(
        "as_strided",
        Family::Movement,
        "The memory under a tensor seen with other sizes, strides and offset.",
        &[
            SELF,
            Param::required("size", ParamKind::Ints),
            Param::required("stride", ParamKind::Ints),
            Param::optional("storage_offset", ParamKind::Int, D::None),
        ],
        |a| one(shapes::as_strided(a.tensor(0)?, &a.ints(1)?, &a.ints(2)?, a.optional_int(3))),
    )
    .example("arange(6).as_strided([2, 2], [3, 1])", "tensor([[0, 1],\n        [3, 4]])")
    .gradient(Gradient::Vjp("AsStridedBackward0"))
    .samples(&[Sample::of("x.clone().as_strided([2, 3], [3, 1], 1)", M)]),
    OpDef::call(
        "unflatten",
        Family::Movement,
        "One dimension split into several; one size may be -1.",
        &[SELF, Param::required("dim", ParamKind::Int), Param::required("sizes", ParamKind::Ints)],
        |a| one(shapes::unflatten(a.tensor(0)?, a.int(1)?, &a.ints(2)?)),
    )
    .example("zeros([2, 6]).unflatten(1, [2, -1]).shape", "[2, 2, 3]")
    .samples(&[Sample::of("x.unflatten(2, [2, 2])", X)]),
    OpDef::call(
        "tril_indices",
        Family::Create,
        "The rows and columns of the lower triangle of a matrix.",
        TRIANGLE,
        |a| one(shapes::triangle_indices(a.int(0)?, a.int(1)?, a.int(2)?, false, &Make::from_args(a, 3)?)),
    )
    .forms(FUNCTION)
    .example("tril_indices(2, 2)", "tensor([[0, 1, 1],\n        [0, 0, 1]])")
    .gradient(Gradient::NoGrad("the result is made of places")),
    OpDef::call(
        "triu_indices",
        Family::Create,
        "The rows and columns of the upper triangle of a matrix.",
        TRIANGLE,
        |a| one(shapes::triangle_indices(a.int(0)?, a.int(1)?, a.int(2)?, true, &Make::from_args(a, 3)?)),
    )
    .forms(FUNCTION)
    .example("triu_indices(2, 2)", "tensor([[0, 0, 1],\n        [0, 1, 1]])")
    .gradient(Gradient::NoGrad("the result is made of places")),
    OpDef::call(
        "meshgrid",
        Family::Movement,
        "The coordinates of a grid: each vector along a dimension of its own.",
        &[TENSORS, Param::optional("indexing", ParamKind::Str, D::Str("ij"))],
        |a| list(shapes::meshgrid(&a.tensors(0)?, a.str(1)?)),
    )
    .forms(FUNCTION)
    .details("With `indexing` of \"xy\" the first two dimensions are exchanged.")
    .example("meshgrid([tensor([1, 2]), tensor([3, 4])])[0]", "tensor([[1, 1],\n        [2, 2]])")
    .samples(&[Sample::of("meshgrid([a, b])[1]", VECTORS)]),
    OpDef::call(
        "cartesian_prod",
        Family::Movement,
        "Every choice of one element from each vector, a row each.",
        &[TENSORS],
        |a| one(shapes::cartesian_prod(&a.tensors(0)?)),
    )
    .forms(FUNCTION)
    .example(
        "cartesian_prod([tensor([1, 2]), tensor([3, 4])])",
        "tensor([[1, 3],\n        [1, 4],\n        [2, 3],\n        [2, 4]])",
    )
    .samples(&[Sample::of("cartesian_prod([a, b])", VECTORS)]),
    OpDef::call(
        "block_diag",
        Family::Movement,
        "Matrices along the diagonal of a larger one.",
        &[TENSORS],
        |a| one(shapes::block_diag(&a.tensors(0)?)),
    )
    .forms(FUNCTION)
    .example("block_diag([tensor([[1]]), tensor([[2, 3]])])", "tensor([[1, 0, 0],\n        [0, 2, 3]])")
    .samples(&[Sample::of("block_diag([a, b])", MATRICES)]),
    OpDef::call(
        "tensor_split",
        Family::Movement,
        "Pieces along a dimension: so many, or cut before each of some places.",
        &[
            SELF,
            Param::required("indices_or_sections", ParamKind::Any),
            Param::optional("dim", ParamKind::Int, D::Int(0)),
        ],
        |a| pieces(a, a.int(2)?),
    )
    .example("arange(5).tensor_split(2)", "[tensor([0, 1, 2]), tensor([3, 4])]")
    .samples(&[Sample::of("x.tensor_split(2, 1)[0]", M)]),
    OpDef::call("hsplit", Family::Movement, "Pieces side by side.", PIECES, |a| {
        pieces(a, i64::from(a.tensor(0)?.rank() > 1))
    })
    .example("arange(4).hsplit(2)", "[tensor([0, 1]), tensor([2, 3])]")
    .samples(&[Sample::of("x.hsplit(2)[1]", M)]),
    OpDef::call("vsplit", Family::Movement, "Pieces on top of each other.", PIECES, |a| pieces(a, 0))
        .example("arange(4).reshape([2, 2]).vsplit(2)[0]", "tensor([[0, 1]])")
        .samples(&[Sample::of("x.vsplit([1])[1]", M)]),
    OpDef::call("atleast_1d", Family::Movement, "At least one dimension.", &[SELF], |a| {
        one(shapes::at_least(a.tensor(0)?, 1))
    })
    .forms(FUNCTION)
    .example("atleast_1d(tensor(3))", "tensor([3])"),
    OpDef::call("atleast_2d", Family::Movement, "At least two dimensions.", &[SELF], |a| {
        one(shapes::at_least(a.tensor(0)?, 2))
    })
    .forms(FUNCTION)
    .example("atleast_2d(tensor([3, 4]))", "tensor([[3, 4]])"),
    OpDef::call("atleast_3d", Family::Movement, "At least three dimensions.", &[SELF], |a| {
        one(shapes::at_least(a.tensor(0)?, 3))
    })
    .forms(FUNCTION)
    .example("atleast_3d(tensor([3, 4])).shape", "[1, 2, 1]"),
    OpDef::call("dstack", Family::Movement, "Tensors joined along the third dimension.", &[TENSORS], |a| {
        let deep = a.tensors(0)?.iter().map(|t| shapes::at_least(t, 3)).collect::<Result<Vec<_>, _>>()?;
        one(joins::cat(&deep.iter().collect::<Vec<_>>(), 2))
    })
    .forms(FUNCTION)
    .example("dstack([tensor([1, 2]), tensor([3, 4])])", "tensor([[[1, 3],\n         [2, 4]]])")
    .samples(&[Sample::of("dstack([a, a])", VECTORS)]),
    OpDef::call("column_stack", Family::Movement, "Vectors as columns, beside matrices.", &[TENSORS], |a| {
        let columns = a.tensors(0)?.iter().map(|t| column(t)).collect::<Result<Vec<_>, _>>()?;
        one(joins::cat(&columns.iter().collect::<Vec<_>>(), 1))
    })
    .forms(FUNCTION)
    .example("column_stack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 3],\n        [2, 4]])")
    .samples(&[Sample::of("column_stack([a, a])", VECTORS)]),
    OpDef::call(
        "kron",
        Family::Matmul,
        "Kronecker's product: each element of one tensor times all of another.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| one(shapes::kron(a.tensor(0)?, a.tensor(1)?)),
    )
    .example("tensor([1, 2]).kron(tensor([1, 10]))", "tensor([ 1, 10,  2, 20])")
    .samples(&[Sample::of("a.kron(b)", MATRICES)]),
    OpDef::call(
        "cross",
        Family::Matmul,
        "The vector product of three-element vectors along a dimension.",
        &[SELF, Param::required("other", ParamKind::Tensor), Param::optional("dim", ParamKind::Int, D::None)],
        |a| one(shapes::cross(a.tensor(0)?, a.tensor(1)?, a.optional_int(2))),
    )
    .details("Without `dim` along the first dimension of size 3.")
    .example("tensor([1, 0, 0]).cross(tensor([0, 1, 0]), 0)", "tensor([0, 0, 1])")
    .samples(&[Sample::of(
        "a.cross(b, 1)",
        &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[2, 3], Domain::Any)],
    )]),
    OpDef::call(
        "tensordot",
        Family::Matmul,
        "The sum over pairs of dimensions of a product.",
        &[
            Param::required("a", ParamKind::Tensor),
            Param::required("b", ParamKind::Tensor),
            Param::optional("dims", ParamKind::Any, D::Int(2)),
        ],
        tensordot,
    )
    .forms(FUNCTION)
    .details("`dims` is how many of the last of `a` and the first of `b`, or two arrays of dimensions.")
    .example("tensordot(ones([2, 3]), ones([3, 2]), 1)", "tensor([[3., 3.],\n        [3., 3.]])")
    .samples(&[Sample::of("tensordot(a, b, [[0], [1]])", MATRICES)]),
    OpDef::call(
        "vander",
        Family::Create,
        "Powers of a vector's elements, a column each.",
        &[
            SELF,
            Param::optional("N", ParamKind::Int, D::None),
            Param::optional("increasing", ParamKind::Bool, D::Bool(false)),
        ],
        |a| {
            let increasing = a.bool(2)?;
            one(whole("vander", [a.tensor(0)?], |[x]| shapes::vander(x, a.optional_int(1), increasing)))
        },
    )
    .forms(FUNCTION)
    .example("vander(tensor([1, 2, 3]))", "tensor([[1, 1, 1],\n        [4, 2, 1],\n        [9, 3, 1]])")
    .samples(&[Sample::of("vander(x)", V)]),
    OpDef::call(
        "unravel_index",
        Family::Index,
        "Places in a flattened tensor as places in its dimensions, a tensor for each.",
        &[Param::required("indices", ParamKind::Tensor), Param::required("shape", ParamKind::Ints)],
        |a| list(shapes::unravel_index(a.tensor(0)?, &a.ints(1)?)),
    )
    .forms(FUNCTION)
    .example("unravel_index(tensor([5]), [2, 3])", "[tensor([1]), tensor([2])]")
    .gradient(Gradient::NoGrad("the result is made of places")),
    OpDef::call("moveaxis", Family::Movement, "Another name of `movedim`.", MOVED, |a| {
        one(movement::movedim(a.tensor(0)?, &a.ints(1)?, &a.ints(2)?))
    })
    .example("zeros([2, 3, 4]).moveaxis(0, 2).shape", "[3, 4, 2]"),
    OpDef::call(
        "swapdims",
        Family::Movement,
        "Another name of `transpose`.",
        &[SELF, Param::required("dim0", ParamKind::Int), Param::required("dim1", ParamKind::Int)],
        |a| one(movement::transpose(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    )
    .example("zeros([2, 3]).swapdims(0, 1).shape", "[3, 2]"),
    OpDef::call("H", Family::Movement, "The transpose of a matrix, sharing memory.", &[SELF], |a| {
        one(movement::matrix_transpose(a.tensor(0)?))
    })
    .forms(&[Form::Property])
    .example("zeros([2, 3]).H.shape", "[3, 2]"),
];

const MOVED: &[Param] =
    &[SELF, Param::required("source", ParamKind::Ints), Param::required("destination", ParamKind::Ints)];

/// A tensor of so many dimensions, or more.
fn at_least(x: &Tensor, rank: usize) -> crate::base::Result<&Tensor> {
    if x.rank() >= rank {
        return Ok(x);
    }
    Err(crate::base::Error::runtime(format!("Input must be >= {rank}-d.")))
}

fn column(t: &Tensor) -> crate::base::Result<Tensor> {
    if t.rank() > 1 { Ok(t.clone()) } else { movement::reshape_to(t, &[t.numel(), 1]) }
}

/// An array cuts before its places, a number asks for so many pieces.
fn pieces(a: &Args, dim: i64) -> crate::base::Result<Value> {
    let one_number = matches!(a.get(1), Value::Scalar(_));
    let parts = match a.get(1) {
        Value::Tensor(t) => t.to_i64s("tensor_split")?,
        _ => a.ints(1)?,
    };
    list(shapes::tensor_split(a.tensor(0)?, &parts, one_number, dim))
}

fn tensordot(a: &Args) -> crate::base::Result<Value> {
    let (x, y) = (a.tensor(0)?, a.tensor(1)?);
    let numbers = |v: &Value| -> Option<Vec<i64>> {
        match v {
            Value::List(items) => items
                .iter()
                .map(|i| match i {
                    Value::Scalar(crate::base::Scalar::Int(i)) => Some(*i),
                    _ => None,
                })
                .collect(),
            Value::Scalar(crate::base::Scalar::Int(i)) => Some(vec![*i]),
            _ => None,
        }
    };
    let pair = match a.get(2) {
        Value::Scalar(crate::base::Scalar::Int(n)) => {
            let rank = x.rank() as i64;
            if *n < 0 || *n > rank || *n > y.rank() as i64 {
                let text = format!(
                    "tensordot expects dims >= 0 and no more than the tensors have, but got dims={n}"
                );
                return Err(crate::base::Error::runtime(text));
            }
            Some(((rank - n..rank).collect(), (0..*n).collect()))
        }
        Value::List(both) => match both.as_slice() {
            [left, right] => numbers(left).zip(numbers(right)),
            _ => None,
        },
        _ => None,
    };
    let Some((left, right)) = pair else { return Err(a.wrong(2, a.get(2))) };
    let (left, right): (Vec<i64>, Vec<i64>) = (left, right);
    one(shapes::tensordot(x, y, &left, &right))
}

/// Rows that share a name with another.
pub static HOMONYMS: &[OpDef] = &[OpDef::call(
    "cross",
    Family::Matmul,
    "The vector product of three-element vectors along a dimension, the last where none is named.",
    &[SELF, Param::required("other", ParamKind::Tensor), Param::optional("dim", ParamKind::Int, D::Int(-1))],
    |a| {
        let (x, y) = (a.tensor(0)?, a.tensor(1)?);
        if x.rank() != y.rank() {
            return Err(Error::runtime("linalg.cross: inputs must have the same number of dimensions.")
                .with_hint(format!("they have {} and {}", x.rank(), y.rank())));
        }
        let dim = a.int(2)?;
        if x.size(dim)? != 3 || y.size(dim)? != 3 {
            return Err(Error::runtime(format!(
                "linalg.cross: inputs dimension {dim} must have length 3. Got {} and {}",
                x.size(dim)?,
                y.size(dim)?
            )));
        }
        one(shapes::cross(x, y, Some(dim)))
    },
)
.forms(&[Form::Of("linalg")])
.example("linalg::cross(tensor([1, 0, 0]), tensor([0, 1, 0]))", "tensor([0, 0, 1])")
.samples(&[Sample::of(
    "linalg::cross(a, b)",
    &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[1, 3], Domain::Any)],
)])];
