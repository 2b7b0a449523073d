//! Where a mask is true: the one kind of result whose size the values decide, so that the host must wait.

use crate::base::{DType, Dims, Error, Result};
use crate::device::Kernel;
use crate::op::core::args::{to_list, to_value};
use crate::op::core::def::{Args, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, Maybe, by_name, kind, params};
use crate::op::core::promote::common_device;
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{floor_divide, remainder};
use crate::op::elementwise::choose;
use crate::op::elementwise::comparison::ne;
use crate::op::gather::select::{index_add, select_rows};
use crate::op::reduce::sums::sum;
use crate::op::shape::join::stack;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

/// The places of non-zero elements, one row each: `[count, rank]`.
pub fn nonzero(x: &Tensor) -> Result<Tensor> {
    let columns = nonzero_columns(x)?;
    if columns.is_empty() {
        let count = positions(x)?.numel();
        return Tensor::empty(&[count, 0], DType::Int64, &x.context(), "nonzero");
    }
    match columns.as_slice() {
        // Of a vector they are the rows already.
        [one] => unsqueeze(one, 1),
        all => stack(&all.iter().collect::<Vec<_>>(), 1),
    }
}

/// The places of non-zero elements, one vector for each dimension.
pub fn nonzero_columns(x: &Tensor) -> Result<Vec<Tensor>> {
    let mut rest = positions(x)?;
    let mut columns = Vec::new();
    for (i, &size) in x.shape().iter().enumerate().rev() {
        let size = size.max(1) as i64;
        if i == 0 {
            columns.push(rest);
            break;
        }
        columns.push(remainder(&rest, size)?);
        rest = floor_divide(&rest, size)?;
    }
    columns.reverse();
    Ok(columns)
}

/// The elements of `x` where `mask` is true, as a vector; the two are broadcast.
pub fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "MaskedSelectBackward0", run: masked_select_grad };
    let run = || {
        if mask.dtype() != DType::Bool {
            return Err(Error::runtime("masked_select: expected BoolTensor for mask")
                .with_hint("a comparison such as `x > 0` gives a mask; so does `.bool()`"));
        }
        common_device(&[Operand::Tensor(x), Operand::Tensor(mask)])?;
        let shape = crate::base::shape::broadcast(x.shape(), mask.shape())?;
        let _off = no_grad();
        let at = positions(&expand(mask, &shape)?)?;
        let flat = reshape_to(&expand(x, &shape)?, &[shape.iter().product()])?;
        let out = select_rows(&flat, 0, &at, "masked_select")?;
        Ok((out, at, shape))
    };
    let (out, at, shape) =
        run().map_err(|e: Error| e.in_op("masked_select", || vec![x.operand(), mask.operand()]))?;
    Ok(recorded(out, &RULE, &[x], |s, _| {
        s.constant(Some(&at));
        s.attribute(shape);
    }))
}

/// The places of non-zero elements in row-major order, as int64 numbers of the flattened tensor.
///
/// The host reads how many there are, so that they have a tensor of that size.
pub fn positions(x: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    let count = x.numel();
    let context = x.context();
    if count == 0 {
        return Tensor::empty(&[0], DType::Int64, &context, "nonzero");
    }
    let mask = if x.dtype() == DType::Bool { x.clone() } else { ne(x, 0i64)? };
    let flat = reshape_to(&mask.contiguous_detached()?, &[count])?;
    let total = sum(&flat, None, false)?.decided("nonzero")?.as_i64().max(0) as usize;
    let out = Tensor::empty(&[total], DType::Int64, &context, "nonzero")?;
    launch("nonzero", &Kernel::Places, &[In::Tensor(&flat)], &[&out])?;
    Ok(out)
}

fn masked_select_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = s.tensor(0)?;
    let shape: &Dims = s.attribute()?;
    let zeros = Tensor::full(&[shape.iter().product()], 0i64.into(), g.dtype(), &g.context(), "zeros")?;
    one(reshape_to(&index_add(&zeros, 0, &at, g, 1.0)?, shape)?)
}

const MASKED: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("m", &[3, 4], Domain::Mask)];

params! {
    WhereParams {
        condition: kind::Tensor, "a bool tensor that broadcasts with the operands";
        input: Maybe<kind::Operand>, "where elements are from if the condition is true";
        other: Maybe<kind::Operand>, "where elements are from if the condition is false";
    }
}

params! {
    MaskedSelectParams {
        input: kind::Tensor, "the tensor it is computed of";
        mask: kind::Tensor, "a bool tensor that broadcasts, true where elements are meant";
    }
}

params! {
    NonzeroParams {
        input: kind::Tensor, "the tensor it is computed of";
        as_tuple: kind::Bool = false, "gives a list with an index tensor for each dimension";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "where",
        Family::Index,
        "Elements of one operand where a condition is true, of another elsewhere.",
        WhereParams::LIST,
        by_name!(WhereParams, |a, args| where_row(a, args)),
    )
    .details(
        "`x.where(condition, other)` keeps `x` where the condition is true. A condition alone gives the places where \
         it is true, a vector for each dimension.",
    )
    .shapes("broadcast together; a condition alone -> a vector for each dimension")
    .errors(&["RuntimeError: the shapes do not broadcast together", "RuntimeError: the condition holds no bools"])
    .example("where(tensor([true, false]), tensor([1, 2]), 0)", "tensor([1, 0])")
    .gradient(Gradient::Vjp("WhereBackward0"))
    .samples(&[Sample::of(
        "where(m, a, b)",
        &[
            Draw::of("m", &[3, 4], Domain::Mask),
            Draw::of("a", &[3, 4], Domain::Any),
            Draw::of("b", &[4], Domain::Any),
        ],
    )]),
    OpDef::call("masked_select", Family::Index, "The elements where a mask is true, as a vector.", MaskedSelectParams::LIST, by_name!(MaskedSelectParams, |a| to_value(masked_select(a.input, a.mask))))
    .details("The host waits for the device: the values decide how many there are.")
    .shapes("input and mask broadcast together -> (elements where the mask is true)")
    .errors(&["RuntimeError: the mask does not broadcast, or holds no bools"])
    .example("tensor([1, 2, 3]).masked_select(tensor([true, false, true]))", "tensor([1, 3])")
    .gradient(Gradient::Vjp("MaskedSelectBackward0"))
    .samples(&[Sample::of("x.masked_select(m)", MASKED), Sample::of("x[m]", MASKED)]),
    OpDef::call("nonzero", Family::Index, "The places of elements that are not zero, one row each.", NonzeroParams::LIST, by_name!(NonzeroParams, |a| {
            let x = a.input;
            if a.as_tuple { to_list(places_by_dim(x)) } else { to_value(nonzero(x)) }
        }))
    .details("With `as_tuple` an array with a vector for each dimension. The host waits for the device.")
    .shapes("any of d dimensions -> (places, d), or with as_tuple d of (places)")
    .errors(&["DeviceError: work of the GPU is being captured for a graph"])
    .example("tensor([[0, 1], [2, 0]]).nonzero()", "tensor([[0, 1],\n        [1, 0]])")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call("argwhere", Family::Index, "The places of elements that are not zero, one row each.", InputParams::LIST, by_name!(InputParams, |a| to_value(nonzero(a.input))))
    .details("Another name of `nonzero` without options. The host waits for the device.")
    .shapes("any of d dimensions -> (places, d)")
    .errors(&["DeviceError: work of the GPU is being captured for a graph"])
    .example("(tensor([3, 5, 4]) > 3).argwhere()", "tensor([[1],\n        [2]])")
    .gradient(Gradient::NoGrad("the result is an index")),
];

/// The places along each dimension; a tensor without any has one.
fn places_by_dim(x: &Tensor) -> Result<Vec<Tensor>> {
    if x.rank() == 0 { Ok(vec![positions(x)?]) } else { nonzero_columns(x) }
}

/// `where(condition, a, b)`, `a.where(condition, b)` and `where(condition)`: the condition is the bool tensor.
fn where_row(a: WhereParams, args: &Args) -> Result<Value> {
    let first = a.condition;
    if a.input.is_none() && a.other.is_none() {
        return to_list(places_by_dim(first));
    }
    let missing = |name| move || args.wrong_for(name, &Value::None);
    let input = a.input.ok_or_else(missing("input"))?;
    let other = a.other.ok_or_else(missing("other"))?;
    match input {
        Operand::Tensor(condition) if first.dtype() != DType::Bool && condition.dtype() == DType::Bool => {
            to_value(choose::where_(condition, Operand::Tensor(first), other))
        }
        input => to_value(choose::where_(first, input, other)),
    }
}
