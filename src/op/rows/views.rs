//! Rows of views and joins under other names, or like another tensor.

use super::one;
use crate::base::Result;
use crate::op::def::{FUNCTION, Family, METHOD, OpDef, PROPERTY, Param, ParamKind, SELF};
use crate::op::joins::{cat, repeat};
use crate::op::movement::{
    expand_to, flatten, matrix_transpose, reshape, reshape_to, transpose, unsqueeze, view,
};
use crate::tensor::Tensor;

const OTHER: Param = Param::required("other", ParamKind::Tensor);
const TENSORS: Param = Param::required("tensors", ParamKind::Tensors);

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "view_as",
        Family::Movement,
        "`view` with the shape of another tensor.",
        &[SELF, OTHER],
        |a| one(view(a.tensor(0)?, &sizes(a.tensor(1)?))),
    )
    .forms(METHOD)
    .example("arange(4).view_as(ones([2, 2]))", "tensor([[0, 1],\n        [2, 3]])"),
    OpDef::call(
        "reshape_as",
        Family::Movement,
        "`reshape` with the shape of another tensor.",
        &[SELF, OTHER],
        |a| one(reshape(a.tensor(0)?, &sizes(a.tensor(1)?))),
    )
    .forms(METHOD)
    .example("arange(4).reshape_as(ones([2, 2]))", "tensor([[0, 1],\n        [2, 3]])"),
    OpDef::call(
        "expand_as",
        Family::Movement,
        "`expand` to the shape of another tensor.",
        &[SELF, OTHER],
        |a| one(expand_to(a.tensor(0)?, &sizes(a.tensor(1)?))),
    )
    .forms(METHOD)
    .example("tensor([1, 2]).expand_as(zeros([2, 2]))", "tensor([[1, 2],\n        [1, 2]])"),
    OpDef::call(
        "broadcast_to",
        Family::Movement,
        "Another name of `expand`.",
        &[SELF, Param::required("size", ParamKind::Sizes)],
        |a| one(expand_to(a.tensor(0)?, &a.ints(1)?)),
    )
    .example("tensor([1, 2]).broadcast_to([2, 2])", "tensor([[1, 2],\n        [1, 2]])"),
    OpDef::call("ravel", Family::Movement, "All elements as a vector.", &[SELF], |a| {
        one(flatten(a.tensor(0)?, 0, -1))
    })
    .example("tensor([[1, 2], [3, 4]]).ravel()", "tensor([1, 2, 3, 4])"),
    OpDef::call(
        "swapaxes",
        Family::Movement,
        "Another name of `transpose`.",
        &[SELF, Param::required("dim0", ParamKind::Int), Param::required("dim1", ParamKind::Int)],
        |a| one(transpose(a.tensor(0)?, a.int(1)?, a.int(2)?)),
    )
    .example("tensor([[1, 2], [3, 4]]).swapaxes(0, 1)", "tensor([[1, 3],\n        [2, 4]])"),
    OpDef::call("mT", Family::Movement, "The last two dimensions swapped, sharing memory.", &[SELF], |a| {
        one(matrix_transpose(a.tensor(0)?))
    })
    .forms(PROPERTY)
    .example("tensor([[[1, 2], [3, 4]]]).mT", "tensor([[[1, 3],\n         [2, 4]]])"),
    OpDef::call(
        "tile",
        Family::Movement,
        "As `repeat`, and dimensions that are not named stay as they are.",
        &[SELF, Param::required("dims", ParamKind::Sizes)],
        |a| {
            let (x, mut dims) = (a.tensor(0)?, a.ints(1)?);
            while dims.len() < x.rank() {
                dims.insert(0, 1);
            }
            one(repeat(x, &dims))
        },
    )
    .example("tensor([[1], [2]]).tile([2])", "tensor([[1, 1],\n        [2, 2]])"),
    OpDef::call(
        "concat",
        Family::Movement,
        "Another name of `cat`.",
        &[TENSORS, Param::optional("dim", ParamKind::Int, crate::op::def::DefaultValue::Int(0))],
        |a| one(cat(&a.tensors(0)?, a.int(1)?)),
    )
    .forms(FUNCTION)
    .example("concat([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])"),
    OpDef::call("hstack", Family::Movement, "Tensors joined side by side.", &[TENSORS], |a| {
        one(hstack(&a.tensors(0)?))
    })
    .forms(FUNCTION)
    .example("hstack([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])"),
    OpDef::call("vstack", Family::Movement, "Tensors joined on top of each other.", &[TENSORS], |a| {
        one(vstack(&a.tensors(0)?))
    })
    .forms(FUNCTION)
    .example("vstack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])"),
];

fn sizes(x: &Tensor) -> Vec<i64> {
    x.shape().iter().map(|&d| d as i64).collect()
}

fn hstack(tensors: &[&Tensor]) -> Result<Tensor> {
    let all = tensors
        .iter()
        .map(|t| if t.rank() == 0 { reshape_to(t, &[1]) } else { Ok((*t).clone()) })
        .collect::<Result<Vec<_>>>()?;
    let dim = if all.first().is_some_and(|t| t.rank() == 1) { 0 } else { 1 };
    cat(&all.iter().collect::<Vec<_>>(), dim)
}

fn vstack(tensors: &[&Tensor]) -> Result<Tensor> {
    let all = tensors
        .iter()
        .map(|t| match t.rank() {
            0 => reshape_to(t, &[1, 1]),
            1 => unsqueeze(t, 0),
            _ => Ok((*t).clone()),
        })
        .collect::<Result<Vec<_>>>()?;
    cat(&all.iter().collect::<Vec<_>>(), 0)
}
