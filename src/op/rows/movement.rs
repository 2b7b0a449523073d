//! Rows of views.

use crate::op::def::{
    DIM, Default, Domain, Draw, Family, Gradient, METHOD, OpDef, PROPERTY, Param, ParamKind, SELF, Sample,
};
use crate::op::movement::{
    cloned, contiguous, diagonal, expand_to, flatten, matrix_transpose, movedim, narrow, permute, reshape,
    reversed, select, squeeze, t, transpose, unsqueeze, view,
};

const X34: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const X234: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];

/// Views, and the copies that make memory row-major.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "view",
        Family::Movement,
        "The same elements under another shape, without copying.",
        &[SELF, Param::required("shape", ParamKind::Sizes)],
        |a| Ok(view(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .forms(METHOD)
    .details("One size may be -1 and is worked out. Memory that does not allow the shape is an error: see `reshape`.")
    .example("arange(6).view([2, 3])", "tensor([[0, 1, 2],\n        [3, 4, 5]])")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.view([2, -1])", X34)]),
    OpDef::call(
        "reshape",
        Family::Movement,
        "The same elements under another shape: a view where memory allows it, a copy elsewhere.",
        &[SELF, Param::required("shape", ParamKind::Sizes)],
        |a| Ok(reshape(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .example("arange(6).reshape([3, -1])", "tensor([[0, 1],\n        [2, 3],\n        [4, 5]])")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.t().reshape([2, 6])", X34)]),
    OpDef::call(
        "view_as",
        Family::Movement,
        "`view` with the shape of another tensor.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| Ok(view(a.tensor(0)?, &sizes(a.tensor(1)?))?.into()),
    )
    .forms(METHOD)
    .example("arange(4).view_as(ones([2, 2]))", "tensor([[0, 1],\n        [2, 3]])"),
    OpDef::call(
        "reshape_as",
        Family::Movement,
        "`reshape` with the shape of another tensor.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| Ok(reshape(a.tensor(0)?, &sizes(a.tensor(1)?))?.into()),
    )
    .forms(METHOD)
    .example("arange(4).reshape_as(ones([2, 2]))", "tensor([[0, 1],\n        [2, 3]])"),
    OpDef::call(
        "flatten",
        Family::Movement,
        "Merges dimensions `start_dim` to `end_dim` into one.",
        &[
            SELF,
            Param::optional("start_dim", ParamKind::Int, Default::Int(0)),
            Param::optional("end_dim", ParamKind::Int, Default::Int(-1)),
        ],
        |a| Ok(flatten(a.tensor(0)?, a.int(1)?, a.int(2)?)?.into()),
    )
    .example("arange(8).reshape([2, 2, 2]).flatten(1)", "tensor([[0, 1, 2, 3],\n        [4, 5, 6, 7]])")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.flatten(1)", X234)]),
    OpDef::call("ravel", Family::Movement, "All elements as a vector.", &[SELF], |a| {
        Ok(flatten(a.tensor(0)?, 0, -1)?.into())
    })
    .example("tensor([[1, 2], [3, 4]]).ravel()", "tensor([1, 2, 3, 4])"),
    OpDef::call(
        "transpose",
        Family::Movement,
        "Swaps two dimensions; a view.",
        &[SELF, Param::required("dim0", ParamKind::Int), Param::required("dim1", ParamKind::Int)],
        |a| Ok(transpose(a.tensor(0)?, a.int(1)?, a.int(2)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).transpose(0, 1)", "tensor([[1, 3],\n        [2, 4]])")
    .gradient(Gradient::Vjp("TransposeBackward0"))
    .samples(&[Sample::of("x.transpose(0, 2)", X234)]),
    OpDef::call(
        "swapaxes",
        Family::Movement,
        "Another name of `transpose`.",
        &[SELF, Param::required("dim0", ParamKind::Int), Param::required("dim1", ParamKind::Int)],
        |a| Ok(transpose(a.tensor(0)?, a.int(1)?, a.int(2)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).swapaxes(0, 1)", "tensor([[1, 3],\n        [2, 4]])"),
    OpDef::call("t", Family::Movement, "The transpose of a matrix; vectors as they are.", &[SELF], |a| {
        Ok(t(a.tensor(0)?)?.into())
    })
    .example("tensor([[1, 2], [3, 4]]).t()", "tensor([[1, 3],\n        [2, 4]])")
    .gradient(Gradient::Vjp("TBackward0"))
    .samples(&[Sample::of("x.t()", X34)]),
    OpDef::call("T", Family::Movement, "All dimensions in reverse order; a view.", &[SELF], |a| {
        Ok(reversed(a.tensor(0)?)?.into())
    })
    .forms(PROPERTY)
    .example("tensor([[1, 2], [3, 4]]).T", "tensor([[1, 3],\n        [2, 4]])")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.T", X34)]),
    OpDef::call("mT", Family::Movement, "The last two dimensions swapped; a view.", &[SELF], |a| {
        Ok(matrix_transpose(a.tensor(0)?)?.into())
    })
    .forms(PROPERTY)
    .example("tensor([[[1, 2], [3, 4]]]).mT", "tensor([[[1, 3],\n         [2, 4]]])"),
    OpDef::call(
        "permute",
        Family::Movement,
        "Reorders dimensions; a view.",
        &[SELF, Param::required("dims", ParamKind::Sizes)],
        |a| Ok(permute(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .example("zeros([2, 3, 4]).permute([2, 0, 1]).shape", "[4, 2, 3]")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.permute([2, 0, 1])", X234)]),
    OpDef::call(
        "movedim",
        Family::Movement,
        "Moves dimensions to other places; the others keep their order.",
        &[SELF, Param::required("source", ParamKind::Ints), Param::required("destination", ParamKind::Ints)],
        |a| Ok(movedim(a.tensor(0)?, &a.ints(1)?, &a.ints(2)?)?.into()),
    )
    .example("zeros([2, 3, 4]).movedim(0, 2).shape", "[3, 4, 2]")
    .gradient(Gradient::Vjp("PermuteBackward0"))
    .samples(&[Sample::of("x.movedim(0, 2)", X234)]),
    OpDef::call("unsqueeze", Family::Movement, "Inserts a dimension of size 1.", &[SELF, DIM], |a| {
        Ok(unsqueeze(a.tensor(0)?, a.int(1)?)?.into())
    })
    .example("tensor([1, 2]).unsqueeze(1)", "tensor([[1],\n        [2]])")
    .gradient(Gradient::Vjp("UnsqueezeBackward0"))
    .samples(&[Sample::of("x.unsqueeze(1)", X34)]),
    OpDef::call(
        "squeeze",
        Family::Movement,
        "Removes dimensions of size 1: all of them, or those given.",
        &[SELF, Param::optional("dim", ParamKind::Ints, Default::None)],
        |a| Ok(squeeze(a.tensor(0)?, a.optional_ints(1)?.as_deref())?.into()),
    )
    .example("tensor([[[1], [2]]]).squeeze()", "tensor([1, 2])")
    .gradient(Gradient::Vjp("SqueezeBackward0"))
    .samples(&[Sample::of("x.squeeze(1)", &[Draw::of("x", &[3, 1, 2], Domain::Any)])]),
    OpDef::call(
        "expand",
        Family::Movement,
        "Stretches dimensions of size 1 without copying; -1 keeps a size.",
        &[SELF, Param::required("size", ParamKind::Sizes)],
        |a| Ok(expand_to(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .forms(METHOD)
    .example("tensor([[1], [2]]).expand([-1, 3])", "tensor([[1, 1, 1],\n        [2, 2, 2]])")
    .gradient(Gradient::Vjp("ExpandBackward0"))
    .samples(&[Sample::of("x.expand([2, 3, 4])", &[Draw::of("x", &[3, 1], Domain::Any)])]),
    OpDef::call(
        "expand_as",
        Family::Movement,
        "`expand` to the shape of another tensor.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| Ok(expand_to(a.tensor(0)?, &sizes(a.tensor(1)?))?.into()),
    )
    .forms(METHOD)
    .example("tensor([1, 2]).expand_as(zeros([2, 2]))", "tensor([[1, 2],\n        [1, 2]])"),
    OpDef::call(
        "broadcast_to",
        Family::Movement,
        "Another name of `expand`.",
        &[SELF, Param::required("size", ParamKind::Sizes)],
        |a| Ok(expand_to(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .example("tensor([1, 2]).broadcast_to([2, 2])", "tensor([[1, 2],\n        [1, 2]])"),
    OpDef::call(
        "narrow",
        Family::Movement,
        "`length` elements along `dim` from `start`; a view.",
        &[
            SELF,
            DIM,
            Param::required("start", ParamKind::Int),
            Param::required("length", ParamKind::Int),
        ],
        |a| Ok(narrow(a.tensor(0)?, a.int(1)?, a.int(2)?, a.int(3)?)?.into()),
    )
    .example("arange(5).narrow(0, 1, 3)", "tensor([1, 2, 3])")
    .gradient(Gradient::Vjp("SliceBackward0"))
    .samples(&[Sample::of("x.narrow(1, 1, 2)", X34)]),
    OpDef::call(
        "select",
        Family::Movement,
        "The sub-tensor at `index` of `dim`; a view.",
        &[SELF, DIM, Param::required("index", ParamKind::Int)],
        |a| Ok(select(a.tensor(0)?, a.int(1)?, a.int(2)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).select(0, 1)", "tensor([3, 4])")
    .gradient(Gradient::Vjp("SelectBackward0"))
    .samples(&[Sample::of("x.select(0, 1)", X34)]),
    OpDef::call(
        "diagonal",
        Family::Movement,
        "The diagonal of two dimensions as the last dimension; a view.",
        &[
            SELF,
            Param::optional("offset", ParamKind::Int, Default::Int(0)),
            Param::optional("dim1", ParamKind::Int, Default::Int(0)),
            Param::optional("dim2", ParamKind::Int, Default::Int(1)),
        ],
        |a| Ok(diagonal(a.tensor(0)?, a.int(1)?, a.int(2)?, a.int(3)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).diagonal()", "tensor([1, 4])")
    .gradient(Gradient::Vjp("DiagonalBackward0"))
    .samples(&[Sample::of("x.diagonal(1)", X34)]),
    OpDef::call(
        "contiguous",
        Family::Movement,
        "The tensor itself where its memory is row-major, else a copy that is.",
        &[SELF],
        |a| Ok(contiguous(a.tensor(0)?)?.into()),
    )
    .forms(METHOD)
    .example("tensor([[1, 2], [3, 4]]).t().contiguous().stride()", "[2, 1]")
    .gradient(Gradient::Vjp("CloneBackward0"))
    .samples(&[Sample::of("x.t().contiguous()", X34)]),
    OpDef::call("clone", Family::Movement, "A copy that gradients pass through.", &[SELF], |a| {
        Ok(cloned(a.tensor(0)?)?.into())
    })
    .example("tensor([1, 2]).clone()", "tensor([1, 2])")
    .gradient(Gradient::Vjp("CloneBackward0"))
    .samples(&[Sample::of("x.clone()", X34)]),
];

fn sizes(x: &crate::tensor::Tensor) -> Vec<i64> {
    x.shape().iter().map(|&d| d as i64).collect()
}
