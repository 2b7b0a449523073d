//! Rows that join, split and reorder.

use crate::base::{Error, Result, Scalar};
use crate::op::args::{Args, Value};
use crate::op::def::{
    Default, Domain, Draw, FUNCTION, Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::joins::{
    cat, chunk, flip, repeat, repeat_interleave, roll, split, split_sizes, stack, tril, triu, unbind,
};
use crate::op::movement::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

use super::list;

const TENSORS: Param = Param::required("tensors", ParamKind::Tensors);
const DIM0: Param = Param::optional("dim", ParamKind::Int, Default::Int(0));
const DIAGONAL: Param = Param::optional("diagonal", ParamKind::Int, Default::Int(0));
const X34: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const PAIR: &[Draw] = &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[2, 3], Domain::Any)];

/// Joining, splitting and reordering.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cat",
        Family::Movement,
        "Joins tensors along an existing dimension.",
        &[TENSORS, DIM0],
        |a| Ok(cat(&a.tensors(0)?, a.int(1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("cat([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])")
    .gradient(Gradient::Vjp("CatBackward0"))
    .samples(&[Sample::of("cat([a, b], 1)", PAIR)]),
    OpDef::call("concat", Family::Movement, "Another name of `cat`.", &[TENSORS, DIM0], |a| {
        Ok(cat(&a.tensors(0)?, a.int(1)?)?.into())
    })
    .forms(FUNCTION)
    .example("concat([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])"),
    OpDef::call(
        "stack",
        Family::Movement,
        "Joins tensors of one shape along a new dimension.",
        &[TENSORS, DIM0],
        |a| Ok(stack(&a.tensors(0)?, a.int(1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("stack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])")
    .gradient(Gradient::Vjp("StackBackward0"))
    .samples(&[Sample::of("stack([a, b], 1)", PAIR)]),
    OpDef::call("hstack", Family::Movement, "Joins tensors side by side.", &[TENSORS], |a| {
        Ok(hstack(&a.tensors(0)?)?.into())
    })
    .forms(FUNCTION)
    .example("hstack([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])"),
    OpDef::call("vstack", Family::Movement, "Joins tensors on top of each other.", &[TENSORS], |a| {
        Ok(vstack(&a.tensors(0)?)?.into())
    })
    .forms(FUNCTION)
    .example("vstack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])"),
    OpDef::call(
        "split",
        Family::Movement,
        "Pieces of a size along `dim`, or of the sizes in an array; views.",
        &[SELF, Param::required("split_size", ParamKind::Any), DIM0],
        split_row,
    )
    .example("arange(5).split(2)[2]", "tensor([4])")
    .gradient(Gradient::Vjp("SliceBackward0"))
    .samples(&[Sample::of("x.split(2)[1]", X34)]),
    OpDef::call(
        "chunk",
        Family::Movement,
        "At most `chunks` pieces of one size along `dim`, the last smaller; views.",
        &[SELF, Param::required("chunks", ParamKind::Int), DIM0],
        |a| Ok(list(chunk(a.tensor(0)?, a.int(1)?, a.int(2)?)?)),
    )
    .example("arange(5).chunk(2)[0]", "tensor([0, 1, 2])")
    .gradient(Gradient::Vjp("SliceBackward0"))
    .samples(&[Sample::of("x.chunk(2, 1)[1]", X34)]),
    OpDef::call("unbind", Family::Movement, "The sub-tensors along `dim`; views.", &[SELF, DIM0], |a| {
        Ok(list(unbind(a.tensor(0)?, a.int(1)?)?))
    })
    .example("tensor([[1, 2], [3, 4]]).unbind()[1]", "tensor([3, 4])")
    .gradient(Gradient::Vjp("SelectBackward0"))
    .samples(&[Sample::of("x.unbind(1)[2]", X34)]),
    OpDef::call(
        "repeat",
        Family::Movement,
        "Tiles the tensor along each dimension; missing leading dimensions are added.",
        &[SELF, Param::required("repeats", ParamKind::Sizes)],
        |a| Ok(repeat(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .forms(METHOD)
    .example("tensor([1, 2]).repeat([2, 2])", "tensor([[1, 2, 1, 2],\n        [1, 2, 1, 2]])")
    .gradient(Gradient::Vjp("RepeatBackward0"))
    .samples(&[Sample::of("x.repeat([2, 1, 3])", X34)]),
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
            Ok(repeat(x, &dims)?.into())
        },
    )
    .example("tensor([[1], [2]]).tile([2])", "tensor([[1, 1],\n        [2, 2]])"),
    OpDef::call(
        "repeat_interleave",
        Family::Movement,
        "Repeats each element in place, or each slice along `dim`.",
        &[
            SELF,
            Param::required("repeats", ParamKind::Int),
            Param::optional("dim", ParamKind::Int, Default::None),
        ],
        |a| Ok(repeat_interleave(a.tensor(0)?, a.int(1)?, a.optional_int(2))?.into()),
    )
    .example("tensor([1, 2]).repeat_interleave(2)", "tensor([1, 1, 2, 2])")
    .samples(&[Sample::of("x.repeat_interleave(2, 1)", X34)]),
    OpDef::call(
        "flip",
        Family::Movement,
        "Reverses the order along dimensions, in a copy.",
        &[SELF, Param::required("dims", ParamKind::Sizes)],
        |a| Ok(flip(a.tensor(0)?, &a.ints(1)?)?.into()),
    )
    .example("tensor([1, 2, 3]).flip([0])", "tensor([3, 2, 1])")
    .gradient(Gradient::Vjp("FlipBackward0"))
    .samples(&[Sample::of("x.flip([0, 1])", X34)]),
    OpDef::call(
        "roll",
        Family::Movement,
        "Rotates elements along dimensions; without `dims` over the flattened tensor.",
        &[
            SELF,
            Param::required("shifts", ParamKind::Ints),
            Param::optional("dims", ParamKind::Ints, Default::Ints(&[])),
        ],
        |a| Ok(roll(a.tensor(0)?, &a.ints(1)?, &a.ints(2)?)?.into()),
    )
    .example("tensor([1, 2, 3]).roll(1, 0)", "tensor([3, 1, 2])")
    .gradient(Gradient::Vjp("RollBackward0"))
    .samples(&[Sample::of("x.roll(1, 1)", X34)]),
    OpDef::call(
        "tril",
        Family::Movement,
        "The part of the last two dimensions on and below a diagonal; zero elsewhere.",
        &[SELF, DIAGONAL],
        |a| Ok(tril(a.tensor(0)?, a.int(1)?)?.into()),
    )
    .example("ones([2, 2]).tril()", "tensor([[1., 0.],\n        [1., 1.]])")
    .gradient(Gradient::Vjp("TrilBackward0"))
    .samples(&[Sample::of("x.tril()", X34)]),
    OpDef::call(
        "triu",
        Family::Movement,
        "The part of the last two dimensions on and above a diagonal; zero elsewhere.",
        &[SELF, DIAGONAL],
        |a| Ok(triu(a.tensor(0)?, a.int(1)?)?.into()),
    )
    .example("ones([2, 2]).triu(1)", "tensor([[0., 1.],\n        [0., 0.]])")
    .gradient(Gradient::Vjp("TriuBackward0"))
    .samples(&[Sample::of("x.triu(1)", X34)]),
];

fn split_row(a: &Args) -> Result<Value> {
    let (x, dim) = (a.tensor(0)?, a.int(2)?);
    match a.get(1) {
        Value::Scalar(Scalar::Int(size)) => split(x, *size, dim).map(list),
        Value::List(_) => split_sizes(x, &a.ints(1)?, dim).map(list),
        other => {
            let text = format!(
                "split(): argument 'split_size' must be an integer or an array of them, not {}",
                other.describe()
            );
            Err(Error::type_error(text))
        }
    }
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
