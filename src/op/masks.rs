//! Where a mask is true: the one kind of result whose size the values decide, so that the host must wait.

use crate::base::{DType, Dims, Error, Result, Scalar};
use crate::device::Kernel;
use crate::device::kernel::ScatterMode;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{Tensor, launch};

use super::binary::{floor_divide, mul, ne, remainder};
use super::def::Operand;
use super::joins::stack;
use super::movement::{reshape_to, select, slice};
use super::promote::common_device;
use super::record::{no_grad, one, recorded};
use super::scan::cumsum;
use super::scatter::{index_add, select_rows, write};

/// The places of non-zero elements, one row each: `[count, rank]`.
pub fn nonzero(x: &Tensor) -> Result<Tensor> {
    let columns = nonzero_columns(x)?;
    if columns.is_empty() {
        let count = positions(x)?.numel();
        return Tensor::empty(&[count, 0], DType::Int64, &x.context(), "nonzero");
    }
    stack(&columns.iter().collect::<Vec<_>>(), 1)
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
/// Each true element takes the next free slot, by a running count; the false ones share a slot that is dropped.
/// The host reads how many there are.
pub fn positions(x: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    let count = x.numel();
    let context = x.context();
    if count == 0 {
        return Tensor::empty(&[0], DType::Int64, &context, "nonzero");
    }
    let mask = if x.dtype() == DType::Bool { x.clone() } else { ne(x, 0i64)? };
    let flat = reshape_to(&mask, &[count])?;
    let slots = cumsum(&flat, 0, None)?;
    let total = select(&slots, 0, -1)?.item()?.as_i64().max(0) as usize;
    let slots = mul(&slots, &flat)?;
    let places = Tensor::empty(&[count], DType::Int64, &context, "nonzero")?;
    launch("nonzero", &Kernel::Arange { start: Scalar::Int(0), step: Scalar::Int(1) }, &[], &[&places])?;
    let out = Tensor::empty(&[total + 1], DType::Int64, &context, "nonzero")?;
    write("nonzero", &out, 0, &slots, Operand::Tensor(&places), ScatterMode::Assign)?;
    slice(&out, 0, 1, total, 1)
}

fn masked_select_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let at = s.tensor(0)?;
    let shape: &Dims = s.attribute()?;
    let zeros = Tensor::full(&[shape.iter().product()], 0i64.into(), g.dtype(), &g.context(), "zeros")?;
    one(reshape_to(&index_add(&zeros, 0, &at, g, 1.0)?, shape)?)
}
