//! Writing values in place: filling, zeroing, copying.

use crate::base::shape::broadcast;
use crate::base::{Error, Result, Scalar};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::binary::specs;
use super::convert::to_device;
use super::def::Operand;
use super::record::{in_place, two, wanted};
use super::select::cast;

/// Writes `value` to every element.
pub fn fill_(x: &Tensor, value: Operand) -> Result<Tensor> {
    static NUMBER: Vjp = Vjp { name: "FillBackward2", run: |_, _| two(None, None) };
    static TENSOR: Vjp = Vjp { name: "FillBackward3", run: copy_grad };
    match value {
        Operand::Scalar(n) => in_place(x, &[], &NUMBER, |_| (), || x.fill(cast(n, x.dtype()), "fill_")),
        Operand::Tensor(t) if t.rank() == 0 => {
            let device = t.device();
            in_place(x, &[t], &TENSOR, |s| s.attribute(device), || x.copy_values(t, false))
        }
        Operand::Tensor(t) => Err(Error::runtime(format!(
            "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
            t.rank()
        ))),
    }
}

/// Writes zero to every element.
pub fn zero_(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ZeroBackward0", run: |_, _| two(None, None) };
    in_place(x, &[], &RULE, |_| (), || x.fill(cast(Scalar::Int(0), x.dtype()), "zero_"))
}

/// Writes another tensor's values, broadcast, cast and moved as needed.
pub fn copy_(x: &Tensor, source: &Tensor, non_blocking: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "CopyBackwards", run: copy_grad };
    let run = || {
        let common = broadcast(x.shape(), source.shape())?;
        if common.as_slice() != x.shape() {
            let text =
                format!("output with shape {:?} doesn't match the broadcast shape {common:?}", x.shape());
            return Err(Error::runtime(text));
        }
        let device = source.device();
        in_place(x, &[source], &RULE, |s| s.attribute(device), || x.copy_values(source, non_blocking))
    };
    run().map_err(|e| e.in_op("copy_", || vec![x.operand(), source.operand()]))
}

/// `x[…] = value` for a view: a number fills it, a tensor is copied; `accumulate` adds.
pub fn assign_(view: &Tensor, value: Operand, accumulate: bool) -> Result<Tensor> {
    match value {
        value if accumulate => specs::Add.apply_in_place(view, value, [1.0, 0.0]),
        Operand::Tensor(t) => copy_(view, t, false),
        number => fill_(view, number),
    }
}

fn copy_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    two(None, wanted(s, 1, || to_device(g, *s.attribute()?, false))?)
}
