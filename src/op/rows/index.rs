//! Rows of indexing, masks and sorting.

use crate::op::def::{
    Default, Domain, Draw, Family, Form, Gradient, METHOD, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::index::{Index, index, index_put_};
use crate::op::masks::{masked_select, nonzero, nonzero_columns};
use crate::op::sort::{argsort, one_hot, sort, topk};

use super::{list, values_and_indices};

const LAST: Param = Param::optional("dim", ParamKind::Int, Default::Int(-1));
const DESCENDING: Param = Param::optional("descending", ParamKind::Bool, Default::Bool(false));
const APART: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Distinct)];
const CHOSEN: &[Draw] = &[Draw::of("x", &[5, 3], Domain::Any), Draw::of("i", &[4], Domain::Index(5))];
const MASKED: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("m", &[3, 4], Domain::Mask)];
const WHOLE: Gradient = Gradient::NoGrad("the result is an index or a count");

/// Indexing, masks and sorting.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "at",
        Family::Index,
        "Indexes several dimensions at once.",
        &[SELF, Param::required("indices", ParamKind::Any)],
        |a| Ok(index(a.tensor(0)?, &Index::list(a.get(1))?)?.into()),
    )
    .forms(METHOD)
    .details(
        "Each entry is a number, a range, an index tensor, a mask, `()` for everything, `\"...\"` for as many `()` as \
         are missing, or `\"new\"` for a new dimension of size 1. `x[i]` is `x.at([i])`.",
    )
    .example("tensor([[1, 2, 3], [4, 5, 6]]).at([(), 1..3])", "tensor([[2, 3],\n        [5, 6]])")
    .gradient(Gradient::Vjp("IndexBackward0"))
    .samples(&[Sample::of("x.at([i, 1])", CHOSEN), Sample::of("x[i]", CHOSEN), Sample::of("x.at([m])", MASKED)]),
    OpDef::call(
        "index_put_",
        Family::Index,
        "Writes values where indices say, in place.",
        &[
            SELF,
            Param::required("indices", ParamKind::Any),
            Param::required("values", ParamKind::Operand),
            Param::optional("accumulate", ParamKind::Bool, Default::Bool(false)),
        ],
        |a| Ok(index_put_(a.tensor(0)?, &Index::list(a.get(1))?, a.operand(2)?, a.bool(3)?)?.into()),
    )
    .forms(METHOD)
    .details("With `accumulate` values are added, those of equal places as well. `x[i] = v` is `x.index_put_([i], v)`.")
    .example("zeros([3]).index_put_([tensor([0, 2])], 5)", "tensor([5., 0., 5.])")
    .gradient(Gradient::Vjp("IndexPutBackward0")),
    OpDef::call(
        "masked_select",
        Family::Index,
        "The elements where a mask is true, as a vector.",
        &[SELF, Param::required("mask", ParamKind::Tensor)],
        |a| Ok(masked_select(a.tensor(0)?, a.tensor(1)?)?.into()),
    )
    .details("The host waits for the device: the values decide how many there are.")
    .example("tensor([1, 2, 3]).masked_select(tensor([true, false, true]))", "tensor([1, 3])")
    .gradient(Gradient::Vjp("MaskedSelectBackward0"))
    .samples(&[Sample::of("x.masked_select(m)", MASKED)]),
    OpDef::call(
        "nonzero",
        Family::Index,
        "The places of elements that are not zero, one row each.",
        &[SELF, Param::optional("as_tuple", ParamKind::Bool, Default::Bool(false))],
        |a| {
            let x = a.tensor(0)?;
            if a.bool(1)? { nonzero_columns(x).map(list) } else { Ok(nonzero(x)?.into()) }
        },
    )
    .details("With `as_tuple` an array with a vector for each dimension. The host waits for the device.")
    .example("tensor([[0, 1], [2, 0]]).nonzero()", "tensor([[0, 1],\n        [1, 0]])")
    .gradient(WHOLE),
    OpDef::call(
        "sort",
        Family::Index,
        "The elements in order along a dimension, and where they came from.",
        &[SELF, LAST, DESCENDING, Param::optional("stable", ParamKind::Bool, Default::Bool(false))],
        |a| sort(a.tensor(0)?, a.int(1)?, a.bool(2)?).map(values_and_indices),
    )
    .details("The result is `#{values, indices}`. Equal elements keep their order; NaN counts as the largest.")
    .example("tensor([3, 1, 2]).sort().values", "tensor([1, 2, 3])")
    .gradient(Gradient::Vjp("SortBackward0"))
    .samples(&[Sample::of("x.sort(0, true).values", APART)]),
    OpDef::call("argsort", Family::Index, "The indices that would sort a dimension.", &[SELF, LAST, DESCENDING], |a| {
        Ok(argsort(a.tensor(0)?, a.int(1)?, a.bool(2)?)?.into())
    })
    .example("tensor([3, 1, 2]).argsort()", "tensor([1, 2, 0])")
    .gradient(WHOLE),
    OpDef::call(
        "topk",
        Family::Index,
        "The `k` largest elements along a dimension in order, and where they came from.",
        &[
            SELF,
            Param::required("k", ParamKind::Int),
            LAST,
            Param::optional("largest", ParamKind::Bool, Default::Bool(true)),
            Param::optional("sorted", ParamKind::Bool, Default::Bool(true)),
        ],
        |a| topk(a.tensor(0)?, a.int(1)?, a.int(2)?, a.bool(3)?).map(values_and_indices),
    )
    .details("The result is `#{values, indices}`; the smallest where `largest` is false.")
    .example("tensor([3, 1, 2]).topk(2).values", "tensor([3, 2])")
    .gradient(Gradient::Vjp("TopkBackward0"))
    .samples(&[Sample::of("x.topk(2).values", APART)]),
    OpDef::call(
        "one_hot",
        Family::Index,
        "Classes as vectors with a single 1.",
        &[SELF, Param::optional("num_classes", ParamKind::Int, Default::Int(-1))],
        |a| Ok(one_hot(a.tensor(0)?, a.int(1)?)?.into()),
    )
    .forms(&[Form::Functional])
    .details("-1 classes means one more than the largest.")
    .example("F::one_hot(tensor([0, 2]), 3)", "tensor([[1, 0, 0],\n        [0, 0, 1]])")
    .gradient(WHOLE),
];
