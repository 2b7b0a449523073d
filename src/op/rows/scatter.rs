//! Rows that choose and write by index tensors.

use crate::op::def::{DIM, Default, Domain, Draw, Family, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::scatter::{
    gather, index_add, index_add_, index_select, scatter, scatter_, scatter_add, scatter_add_, take_along_dim,
};

const INDEX: Param = Param::required("index", ParamKind::Tensor);
const ALPHA: Param = Param::optional("alpha", ParamKind::Scalar, Default::Int(1));
const ROWS_OF: &[Draw] = &[
    Draw::of("x", &[5, 3], Domain::Any),
    Draw::of("i", &[4], Domain::Index(5)),
    Draw::of("v", &[4, 3], Domain::Any),
];
const PLACES: &[Draw] = &[
    Draw::of("x", &[4, 5], Domain::Any),
    Draw::of("i", &[4, 3], Domain::Index(4)),
    Draw::of("v", &[4, 3], Domain::Any),
];

/// Choosing and writing along one dimension.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "index_select",
        Family::Index,
        "The slices along a dimension that an index vector names, in its order.",
        &[SELF, DIM, INDEX],
        |a| Ok(index_select(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).index_select(0, tensor([1, 1]))", "tensor([[3, 4],\n        [3, 4]])")
    .gradient(Gradient::Vjp("IndexSelectBackward0"))
    .samples(&[Sample::of("x.index_select(0, i)", ROWS_OF)]),
    OpDef::call(
        "index_add",
        Family::Index,
        "The tensor with slices added where an index vector says.",
        &[SELF, DIM, INDEX, Param::required("source", ParamKind::Tensor), ALPHA],
        |a| Ok(index_add(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?, a.float(4)?)?.into()),
    )
    .in_place(|a| Ok(index_add_(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?, a.float(4)?)?.into()))
    .example("zeros([3]).index_add(0, tensor([0, 0, 2]), ones([3]))", "tensor([2., 0., 1.])")
    .gradient(Gradient::Vjp("IndexAddBackward0"))
    .samples(&[Sample::of("x.index_add(0, i, v)", ROWS_OF)]),
    OpDef::call(
        "gather",
        Family::Index,
        "Elements chosen along a dimension: `y[i][j] = x[i][index[i][j]]` for the last of two.",
        &[SELF, DIM, INDEX],
        |a| Ok(gather(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).gather(1, tensor([[1], [0]]))", "tensor([[2],\n        [3]])")
    .gradient(Gradient::Vjp("GatherBackward0"))
    .samples(&[Sample::of("x.gather(1, i)", PLACES)]),
    OpDef::call(
        "take_along_dim",
        Family::Index,
        "`gather` with the other dimensions broadcast; without `dim` over the flattened tensor.",
        &[
            SELF,
            Param::required("indices", ParamKind::Tensor),
            Param::optional("dim", ParamKind::Int, Default::None),
        ],
        |a| Ok(take_along_dim(a.tensor(0)?, a.tensor(1)?, a.optional_int(2))?.into()),
    )
    .example("tensor([[3, 1], [2, 4]]).take_along_dim(tensor([[0]]), 1)", "tensor([[3],\n        [2]])")
    .gradient(Gradient::Vjp("GatherBackward0"))
    .samples(&[Sample::of("x.take_along_dim(i, 1)", PLACES)]),
    OpDef::call(
        "scatter",
        Family::Index,
        "The tensor with values written along a dimension where an index tensor says.",
        &[SELF, DIM, INDEX, Param::required("src", ParamKind::Operand)],
        |a| Ok(scatter(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.operand(3)?)?.into()),
    )
    .in_place(|a| Ok(scatter_(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.operand(3)?)?.into()))
    .example("zeros([1, 3]).scatter(1, tensor([[2]]), 5)", "tensor([[0., 0., 5.]])")
    .gradient(Gradient::Vjp("ScatterBackward0"))
    .samples(&[Sample::of(
        "x.scatter(1, i, v)",
        &[
            Draw::of("x", &[4, 5], Domain::Any),
            Draw::of("i", &[4, 1], Domain::Index(5)),
            Draw::of("v", &[4, 1], Domain::Any),
        ],
    )]),
    OpDef::call(
        "scatter_add",
        Family::Index,
        "The tensor with values added along a dimension where an index tensor says.",
        &[SELF, DIM, INDEX, Param::required("src", ParamKind::Tensor)],
        |a| Ok(scatter_add(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?)?.into()),
    )
    .in_place(|a| Ok(scatter_add_(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?)?.into()))
    .example("zeros([3]).scatter_add(0, tensor([0, 0, 2]), ones([3]))", "tensor([2., 0., 1.])")
    .gradient(Gradient::Vjp("ScatterAddBackward0"))
    .samples(&[Sample::of("x.scatter_add(1, i, v)", PLACES)]),
];
