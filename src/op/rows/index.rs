//! Rows of gathering, scattering and sorting.

use super::{DIM, LAST_DIM, one, pair};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::{scatter, sort};

const INDEX: Param = Param::required("index", ParamKind::Tensor);
const SOURCE: Param = Param::required("src", ParamKind::Operand);
const ADDED: Param = Param::required("src", ParamKind::Tensor);
const DESCENDING: Param = Param::optional("descending", ParamKind::Bool, D::Bool(false));
const APART: &[Draw] = &[Draw::of("x", &[3, 6], Domain::Distinct)];
const SCATTERED: &[Draw] = &[
    Draw::of("x", &[4, 3], Domain::Any),
    Draw::of("i", &[5, 3], Domain::Index(4)),
    Draw::of("v", &[5, 3], Domain::Any),
];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "index_select",
        Family::Index,
        "The entries along a dimension that a vector of indices names.",
        &[SELF, DIM, INDEX],
        |a| {
            scatter::check_places(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?;
            one(scatter::index_select(a.tensor(0)?, a.int(1)?, a.tensor(2)?))
        },
    )
    .example("tensor([5, 6, 7]).index_select(0, tensor([2, 0]))", "tensor([7, 5])")
    .gradient(Gradient::Vjp("IndexSelectBackward0"))
    .samples(&[Sample::of(
        "x.index_select(0, i)",
        &[Draw::of("x", &[5, 3], Domain::Any), Draw::of("i", &[4], Domain::Index(5))],
    )]),
    OpDef::call(
        "index_add",
        Family::Index,
        "Entries added at indices along a dimension.",
        &[
            SELF,
            DIM,
            INDEX,
            Param::required("source", ParamKind::Tensor),
            Param::optional("alpha", ParamKind::Scalar, D::Int(1)),
        ],
        |a| {
            scatter::check_places(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?;
            one(scatter::index_add(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?, a.float(4)?))
        },
    )
    .in_place(|a| {
        scatter::check_places(a.tensor(0)?, a.int(1)?, a.tensor(2)?)?;
        one(scatter::index_add_(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?, a.float(4)?))
    })
    .example("zeros(3).index_add(0, tensor([1, 1]), ones(2))", "tensor([0., 2., 0.])")
    .gradient(Gradient::Vjp("IndexAddBackward0"))
    .samples(&[Sample::of(
        "x.index_add(0, i, v)",
        &[
            Draw::of("x", &[4, 3], Domain::Any),
            Draw::of("i", &[5], Domain::Index(4)),
            Draw::of("v", &[5, 3], Domain::Any),
        ],
    )]),
    OpDef::call(
        "gather",
        Family::Index,
        "Elements along a dimension, each by its own index.",
        &[SELF, DIM, INDEX],
        |a| one(scatter::gather(a.tensor(0)?, a.int(1)?, a.tensor(2)?)),
    )
    .example("tensor([[1, 2], [3, 4]]).gather(1, tensor([[0], [1]]))", "tensor([[1],\n        [4]])")
    .gradient(Gradient::Vjp("GatherBackward0"))
    .samples(&[Sample::of(
        "x.gather(1, i)",
        &[Draw::of("x", &[4, 5], Domain::Any), Draw::of("i", &[4, 3], Domain::Index(5))],
    )]),
    OpDef::call(
        "scatter",
        Family::Index,
        "Elements written along a dimension, each at its own index.",
        &[SELF, DIM, INDEX, SOURCE],
        |a| one(scatter::scatter(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.operand(3)?)),
    )
    .in_place(|a| one(scatter::scatter_(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.operand(3)?)))
    .example("zeros([1, 3]).scatter(1, tensor([[2]]), 5.0)", "tensor([[0., 0., 5.]])")
    .gradient(Gradient::Vjp("ScatterBackward0")),
    OpDef::call(
        "scatter_add",
        Family::Index,
        "Elements added along a dimension, each at its own index.",
        &[SELF, DIM, INDEX, ADDED],
        |a| one(scatter::scatter_add(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?)),
    )
    .in_place(|a| one(scatter::scatter_add_(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?)))
    .example("zeros([1, 3]).scatter_add(1, tensor([[2, 2]]), ones([1, 2]))", "tensor([[0., 0., 2.]])")
    .gradient(Gradient::Vjp("ScatterAddBackward0"))
    .samples(&[Sample::of("x.scatter_add(0, i, v)", SCATTERED)]),
    OpDef::call(
        "take_along_dim",
        Family::Index,
        "Elements along a dimension by indices as `argsort` gives them.",
        &[
            SELF,
            Param::required("indices", ParamKind::Tensor),
            Param::optional("dim", ParamKind::Int, D::None),
        ],
        |a| one(scatter::take_along_dim(a.tensor(0)?, a.tensor(1)?, a.optional_int(2))),
    )
    .example("tensor([3, 1, 2]).take_along_dim(tensor([1, 2, 0]), 0)", "tensor([1, 2, 3])"),
    OpDef::call(
        "sort",
        Family::Index,
        "Values in order along a dimension, and where they were.",
        &[SELF, LAST_DIM, DESCENDING],
        |a| pair(sort::sort(a.tensor(0)?, a.int(1)?, a.bool(2)?)),
    )
    .example("tensor([3, 1, 2]).sort().indices", "tensor([1, 2, 0])")
    .gradient(Gradient::Vjp("SortBackward0"))
    .samples(&[Sample::of("x.sort().values", APART)]),
    OpDef::call(
        "argsort",
        Family::Index,
        "The indices that would sort along a dimension.",
        &[SELF, LAST_DIM, DESCENDING],
        |a| one(sort::argsort(a.tensor(0)?, a.int(1)?, a.bool(2)?)),
    )
    .example("tensor([3, 1, 2]).argsort()", "tensor([1, 2, 0])")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call(
        "topk",
        Family::Index,
        "The largest (or smallest) k values along a dimension, and where they were.",
        &[
            SELF,
            Param::required("k", ParamKind::Int),
            LAST_DIM,
            Param::optional("largest", ParamKind::Bool, D::Bool(true)),
        ],
        |a| pair(sort::topk(a.tensor(0)?, a.int(1)?, a.int(2)?, a.bool(3)?)),
    )
    .example("tensor([3, 9, 5]).topk(2).values", "tensor([9, 5])")
    .gradient(Gradient::Vjp("TopkBackward0"))
    .samples(&[Sample::of("x.topk(2).values", APART)]),
    OpDef::call(
        "one_hot",
        Family::Index,
        "A row of zeros with a one at each index.",
        &[SELF, Param::optional("num_classes", ParamKind::Int, D::Int(-1))],
        |a| one(sort::one_hot(a.tensor(0)?, a.int(1)?)),
    )
    .forms(&[crate::op::Form::Functional])
    .example("F::one_hot(tensor([0, 2]), 3)", "tensor([[1, 0, 0],\n        [0, 0, 1]])")
    .gradient(Gradient::NoGrad("indices have no gradient")),
];
