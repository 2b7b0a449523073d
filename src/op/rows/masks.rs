//! Rows of masks and of writing at indices.

use super::{list, one};
use crate::op::def::{
    DefaultValue, Domain, Draw, Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::index::{Index, index_put_};
use crate::op::masks::{masked_select, nonzero, nonzero_columns};

const MASKED: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("m", &[3, 4], Domain::Mask)];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "masked_select",
        Family::Index,
        "The elements where a mask is true, as a vector.",
        &[SELF, Param::required("mask", ParamKind::Tensor)],
        |a| one(masked_select(a.tensor(0)?, a.tensor(1)?)),
    )
    .details("The host waits for the device: the values decide how many there are.")
    .example("tensor([1, 2, 3]).masked_select(tensor([true, false, true]))", "tensor([1, 3])")
    .gradient(Gradient::Vjp("MaskedSelectBackward0"))
    .samples(&[Sample::of("x.masked_select(m)", MASKED), Sample::of("x[m]", MASKED)]),
    OpDef::call(
        "nonzero",
        Family::Index,
        "The places of elements that are not zero, one row each.",
        &[SELF, Param::optional("as_tuple", ParamKind::Bool, DefaultValue::Bool(false))],
        |a| {
            let x = a.tensor(0)?;
            if a.bool(1)? { list(nonzero_columns(x)) } else { one(nonzero(x)) }
        },
    )
    .details("With `as_tuple` an array with a vector for each dimension. The host waits for the device.")
    .example("tensor([[0, 1], [2, 0]]).nonzero()", "tensor([[0, 1],\n        [1, 0]])")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call(
        "argwhere",
        Family::Index,
        "The places of elements that are not zero, one row each.",
        &[SELF],
        |a| one(nonzero(a.tensor(0)?)),
    )
    .details("Another name of `nonzero` without options. The host waits for the device.")
    .example("(tensor([3, 5, 4]) > 3).argwhere()", "tensor([[1],\n        [2]])")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call(
        "index_put_",
        Family::Index,
        "Values written where indices say, in place.",
        &[
            SELF,
            Param::required("indices", ParamKind::Any),
            Param::required("values", ParamKind::Operand),
            Param::optional("accumulate", ParamKind::Bool, DefaultValue::Bool(false)),
        ],
        |a| one(index_put_(a.tensor(0)?, &Index::list(a.get(1))?, a.operand(2)?, a.bool(3)?)),
    )
    .forms(METHOD)
    .details(
        "With `accumulate` values are added, those of equal places as well. `x[i] = v` is `x.index_put_([i], v)`.",
    )
    .example("zeros([3]).index_put_([tensor([0, 2])], 5)", "tensor([5., 0., 5.])")
    .gradient(Gradient::Vjp("IndexPutBackward0")),
];
