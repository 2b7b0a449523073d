//! Rows of views, joins and rearrangements.

use super::{ANY_DIM, list, one};
use crate::base::Result;
use crate::op::args::{Args, Value};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::{joins, movement};

const X: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];
const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const SHAPE: &[Param] = &[SELF, Param::required("shape", ParamKind::Sizes)];
const TENSORS: Param = Param::required("tensors", ParamKind::Tensors);
const DIM0: Param = Param::optional("dim", ParamKind::Int, D::Int(0));
const DIM: Param = Param::required("dim", ParamKind::Int);
const DIAGONAL: &[Param] = &[SELF, Param::optional("diagonal", ParamKind::Int, D::Int(0))];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "reshape",
        Family::Movement,
        "The same elements in another shape; one size may be -1.",
        SHAPE,
        |a| one(movement::reshape(a.tensor(0)?, &a.ints(1)?)),
    )
    .details("A view where strides allow it, a copy elsewhere.")
    .example("arange(4).reshape([2, 2])", "tensor([[0, 1],\n        [2, 3]])")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.reshape([4, -1])", X)]),
    OpDef::call(
        "view",
        Family::Movement,
        "The same elements in another shape, sharing memory.",
        SHAPE,
        |a| one(movement::view(a.tensor(0)?, &a.ints(1)?)),
    )
    .forms(&[Form::Method])
    .example("arange(4).view([2, 2]).shape", "[2, 2]")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.view([6, 4])", X)]),
    OpDef::call(
        "transpose",
        Family::Movement,
        "Two dimensions swapped, sharing memory.",
        &[SELF, Param::required("dim0", ParamKind::Int), Param::required("dim1", ParamKind::Int)],
        |a| one(movement::transpose(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    )
    .example("zeros([2, 3]).transpose(0, 1).shape", "[3, 2]")
    .gradient(Gradient::Vjp("TransposeBackward0"))
    .samples(&[Sample::of("x.transpose(0, 2)", X)]),
    OpDef::call("t", Family::Movement, "The transpose of a matrix, sharing memory.", &[SELF], |a| {
        one(movement::t(a.tensor(0)?))
    })
    .example("tensor([[1, 2], [3, 4]]).t()", "tensor([[1, 3],\n        [2, 4]])")
    .gradient(Gradient::Vjp("TransposeBackward0"))
    .samples(&[Sample::of("x.t()", M)]),
    OpDef::call("T", Family::Movement, "All dimensions in reverse order, sharing memory.", &[SELF], |a| {
        one(movement::reversed(a.tensor(0)?))
    })
    .forms(&[Form::Property])
    .example("zeros([2, 3]).T.shape", "[3, 2]")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.T", M)]),
    OpDef::call(
        "permute",
        Family::Movement,
        "Dimensions in another order, sharing memory.",
        &[SELF, Param::required("dims", ParamKind::Sizes)],
        |a| one(movement::permute(a.tensor(0)?, &a.ints(1)?)),
    )
    .example("zeros([2, 3, 4]).permute([2, 0, 1]).shape", "[4, 2, 3]")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.permute([2, 0, 1])", X)]),
    OpDef::call(
        "movedim",
        Family::Movement,
        "Dimensions moved to other places, sharing memory.",
        &[SELF, Param::required("source", ParamKind::Ints), Param::required("destination", ParamKind::Ints)],
        |a| one(movement::movedim(a.tensor(0)?, &a.ints(1)?, &a.ints(2)?)),
    )
    .example("zeros([2, 3, 4]).movedim(0, 2).shape", "[3, 4, 2]")
    .samples(&[Sample::of("x.movedim(0, 2)", X)]),
    OpDef::call(
        "flatten",
        Family::Movement,
        "Dimensions merged into one.",
        &[
            SELF,
            Param::optional("start_dim", ParamKind::Int, D::Int(0)),
            Param::optional("end_dim", ParamKind::Int, D::Int(-1)),
        ],
        |a| one(movement::flatten(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    )
    .example("zeros([2, 3, 4]).flatten(1).shape", "[2, 12]")
    .samples(&[Sample::of("x.flatten(1)", X)]),
    OpDef::call("unsqueeze", Family::Movement, "A dimension of size 1 inserted.", &[SELF, DIM], |a| {
        one(movement::unsqueeze(a.tensor(0)?, a.int(1)?))
    })
    .example("zeros([3]).unsqueeze(0).shape", "[1, 3]")
    .gradient(Gradient::Vjp("UnsqueezeBackward0"))
    .samples(&[Sample::of("x.unsqueeze(1)", M)]),
    OpDef::call(
        "squeeze",
        Family::Movement,
        "Dimensions of size 1 removed: all of them, or those named.",
        &[SELF, Param::optional("dim", ParamKind::Ints, D::None)],
        |a| one(movement::squeeze(a.tensor(0)?, a.optional_ints(1)?.as_deref())),
    )
    .example("zeros([1, 3, 1]).squeeze().shape", "[3]")
    .gradient(Gradient::Vjp("SqueezeBackward0"))
    .samples(&[Sample::of("x.unsqueeze(0).squeeze()", M)]),
    OpDef::call(
        "expand",
        Family::Movement,
        "Dimensions of size 1 stretched without copying; -1 keeps a size.",
        &[SELF, Param::required("size", ParamKind::Sizes)],
        |a| one(movement::expand_to(a.tensor(0)?, &a.ints(1)?)),
    )
    .forms(&[Form::Method])
    .example("tensor([1, 2]).expand([2, 2])", "tensor([[1, 2],\n        [1, 2]])")
    .gradient(Gradient::Vjp("ExpandBackward0"))
    .samples(&[Sample::of("x.expand([2, 3, 4])", M)]),
    OpDef::call(
        "repeat",
        Family::Movement,
        "The tensor tiled so many times along each dimension.",
        &[SELF, Param::required("repeats", ParamKind::Sizes)],
        |a| one(joins::repeat(a.tensor(0)?, &a.ints(1)?)),
    )
    .forms(&[Form::Method])
    .example("tensor([1, 2]).repeat(2)", "tensor([1, 2, 1, 2])")
    .samples(&[Sample::of("x.repeat([2, 3])", M)]),
    OpDef::call(
        "repeat_interleave",
        Family::Movement,
        "Each element so many times in a row.",
        &[SELF, Param::required("repeats", ParamKind::Int), ANY_DIM],
        |a| one(joins::repeat_interleave(a.tensor(0)?, a.int(1)?, a.optional_int(2))),
    )
    .example("tensor([1, 2]).repeat_interleave(2)", "tensor([1, 1, 2, 2])")
    .samples(&[Sample::of("x.repeat_interleave(2, 1)", M)]),
    OpDef::call(
        "flip",
        Family::Movement,
        "The order along dimensions reversed, in a copy.",
        &[SELF, Param::required("dims", ParamKind::Sizes)],
        |a| one(joins::flip(a.tensor(0)?, &a.ints(1)?)),
    )
    .example("tensor([1, 2, 3]).flip(0)", "tensor([3, 2, 1])")
    .gradient(Gradient::Vjp("FlipBackward0"))
    .samples(&[Sample::of("x.flip([0, 1])", M)]),
    OpDef::call(
        "roll",
        Family::Movement,
        "Elements rotated along dimensions, or in the flattened tensor.",
        &[
            SELF,
            Param::required("shifts", ParamKind::Ints),
            Param::optional("dims", ParamKind::Ints, D::Ints(&[])),
        ],
        |a| one(joins::roll(a.tensor(0)?, &a.ints(1)?, &a.ints(2)?)),
    )
    .example("tensor([1, 2, 3]).roll(1)", "tensor([3, 1, 2])")
    .samples(&[Sample::of("x.roll(1, 0)", M)]),
    OpDef::call("tril", Family::Movement, "The lower triangle; the rest is zero.", DIAGONAL, |a| {
        one(joins::tril(a.tensor(0)?, a.int(1)?))
    })
    .example("ones([2, 2]).tril()", "tensor([[1., 0.],\n        [1., 1.]])")
    .gradient(Gradient::Vjp("TrilBackward0"))
    .samples(&[Sample::of("x.tril()", M)]),
    OpDef::call("triu", Family::Movement, "The upper triangle; the rest is zero.", DIAGONAL, |a| {
        one(joins::triu(a.tensor(0)?, a.int(1)?))
    })
    .example("ones([2, 2]).triu()", "tensor([[1., 1.],\n        [0., 1.]])")
    .gradient(Gradient::Vjp("TriuBackward0"))
    .samples(&[Sample::of("x.triu(1)", M)]),
    OpDef::call(
        "narrow",
        Family::Movement,
        "So many elements along a dimension from a start, sharing memory.",
        &[SELF, DIM, Param::required("start", ParamKind::Int), Param::required("length", ParamKind::Int)],
        |a| one(movement::narrow(a.tensor(0)?, a.int(1)?, a.int(2)?, a.int(3)?)),
    )
    .example("tensor([1, 2, 3, 4]).narrow(0, 1, 2)", "tensor([2, 3])")
    .gradient(Gradient::Vjp("SliceBackward0"))
    .samples(&[Sample::of("x.narrow(1, 1, 2)", M)]),
    OpDef::call(
        "select",
        Family::Movement,
        "The sub-tensor at an index of a dimension, sharing memory.",
        &[SELF, DIM, Param::required("index", ParamKind::Int)],
        |a| one(movement::select(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    )
    .example("tensor([[1, 2], [3, 4]]).select(1, 0)", "tensor([1, 3])")
    .gradient(Gradient::Vjp("SelectBackward0"))
    .samples(&[Sample::of("x.select(0, 1)", M)]),
    OpDef::call(
        "diagonal",
        Family::Movement,
        "The diagonal of two dimensions, sharing memory.",
        &[
            SELF,
            Param::optional("offset", ParamKind::Int, D::Int(0)),
            Param::optional("dim1", ParamKind::Int, D::Int(0)),
            Param::optional("dim2", ParamKind::Int, D::Int(1)),
        ],
        |a| one(movement::diagonal(a.tensor(0)?, a.int(1)?, a.int(2)?, a.int(3)?)),
    )
    .example("tensor([[1, 2], [3, 4]]).diagonal()", "tensor([1, 4])")
    .gradient(Gradient::Vjp("DiagonalBackward0"))
    .samples(&[Sample::of("x.diagonal()", M)]),
    OpDef::call(
        "contiguous",
        Family::Movement,
        "The tensor itself where it is row-major, else a row-major copy.",
        &[SELF],
        |a| one(movement::contiguous(a.tensor(0)?)),
    )
    .forms(&[Form::Method])
    .example("zeros([2, 3]).t().contiguous().stride()", "[2, 1]")
    .samples(&[Sample::of("x.t().contiguous()", M)]),
    OpDef::call(
        "clone",
        Family::Movement,
        "A copy with memory of its own, in the order of the original's.",
        &[SELF],
        |a| one(movement::clone(a.tensor(0)?)),
    )
    .example("tensor([1, 2]).clone()", "tensor([1, 2])")
    .gradient(Gradient::Vjp("CloneBackward0"))
    .samples(&[Sample::of("x.clone()", M)]),
    OpDef::call(
        "split",
        Family::Movement,
        "Pieces along a dimension: of one size, or of the sizes listed.",
        &[SELF, Param::required("split_size", ParamKind::Any), DIM0],
        split,
    )
    .example("arange(5).split(2).len()", "3")
    .samples(&[Sample::of("x.split(2)[1]", M)]),
    OpDef::call(
        "chunk",
        Family::Movement,
        "So many pieces of nearly equal size along a dimension.",
        &[SELF, Param::required("chunks", ParamKind::Int), DIM0],
        |a| list(joins::chunk(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    )
    .example("arange(6).chunk(3)[1]", "tensor([2, 3])")
    .samples(&[Sample::of("x.chunk(2, 1)[1]", M)]),
    OpDef::call("unbind", Family::Movement, "The sub-tensors along a dimension.", &[SELF, DIM0], |a| {
        list(joins::unbind(a.tensor(0)?, a.int(1)?))
    })
    .example("tensor([[1, 2], [3, 4]]).unbind()[1]", "tensor([3, 4])")
    .samples(&[Sample::of("x.unbind(1)[2]", M)]),
    OpDef::call(
        "cat",
        Family::Movement,
        "Tensors joined along an existing dimension.",
        &[TENSORS, DIM0],
        |a| one(joins::cat(&a.tensors(0)?, a.int(1)?)),
    )
    .forms(&[Form::Function])
    .example("cat([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])")
    .gradient(Gradient::Vjp("CatBackward0"))
    .samples(&[Sample::of("cat([x, x * 2], 1)", M)]),
    OpDef::call(
        "stack",
        Family::Movement,
        "Tensors of one shape joined along a new dimension.",
        &[TENSORS, DIM0],
        |a| one(joins::stack(&a.tensors(0)?, a.int(1)?)),
    )
    .forms(&[Form::Function])
    .example("stack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])")
    .samples(&[Sample::of("stack([x, x * 2], 1)", M)]),
];

fn split(a: &Args) -> Result<Value> {
    match a.get(1) {
        Value::List(_) => list(joins::split_sizes(a.tensor(0)?, &a.ints(1)?, a.int(2)?)),
        _ => list(joins::split(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    }
}
