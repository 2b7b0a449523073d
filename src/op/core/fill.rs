//! Writing values in place: filling, zeroing, copying.

use crate::base::shape::broadcast;
use crate::base::{Error, Result, Scalar};
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::promote::check_cast;
use crate::op::core::shapes;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::convert::{cloned, to_device};
use super::def::{Family, Gradient, METHOD, OpDef};
use super::operand::Operand;
use super::promote::{cast, fitting};
use super::record::{in_place, two, wanted};
use crate::tensor::autograd::needs_graph;

/// Writes `value` to every element.
pub fn fill_(x: &Tensor, value: Operand) -> Result<Tensor> {
    let other = match value {
        Operand::Tensor(t) => t,
        Operand::Scalar(_) => x,
    };
    if let Some(once) = unrepeated(x, other)? {
        return fill_(&once, value).map(|_| x.clone());
    }
    static NUMBER: Vjp = Vjp { name: "FillBackward2", run: |s, g| two(flat(s, g)?, None) };
    static TENSOR: Vjp = Vjp { name: "FillBackward3", run: copy_grad };
    match value {
        Operand::Scalar(n) => {
            let number = fitting(n, x.dtype())?;
            in_place(x, &[], &NUMBER, |_| (), || x.fill(number, "fill_"))
        }
        Operand::Tensor(t) if t.rank() == 0 => {
            // One number of its own is read before it is written.
            let own = if x.shares_storage(t) { Some(cloned(t)?) } else { None };
            let (t, device) = (own.as_ref().unwrap_or(t), t.device());
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
    static RULE: Vjp = Vjp { name: "ZeroBackward0", run: |s, g| two(flat(s, g)?, None) };
    if let Some(once) = unrepeated(x, x)? {
        return zero_(&once).map(|_| x.clone());
    }
    in_place(x, &[], &RULE, |_| (), || x.fill(cast(Scalar::Int(0), x.dtype()), "zero_"))
}

/// Each place once of a tensor that repeats some, as `expand` makes it, where nothing is recorded of it and `other`: one
/// value for all can be written there.
fn unrepeated(x: &Tensor, other: &Tensor) -> Result<Option<Tensor>> {
    let repeats = |(&size, &step): (&usize, &isize)| size > 1 && step == 0;
    if !x.shape().iter().zip(x.layout().strides()).any(repeats) || needs_graph(&[x, other]) {
        return Ok(None);
    }
    x.check_untouched()?;
    let mut layout = x.layout().clone();
    for d in 0..x.rank() {
        if layout.strides().get(d) == Some(&0) && layout.shape().get(d) > Some(&1) {
            layout = layout.slice(d, 0, 1, 1)?;
        }
    }
    Ok(Some(x.with_layout(layout)))
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

/// What stood there before has a gradient of zeros.
fn flat(s: &Saved, g: &Tensor) -> Result<Option<Tensor>> {
    wanted(s, 0, || Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like"))
}

fn copy_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    two(flat(s, g)?, wanted(s, 1, || to_device(g, *s.attribute()?, false))?)
}

/// `x = f(x)` in place, for functions made of others: the rule of each sees the value before the change.
pub(crate) fn replaced(x: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let before =
        if crate::tensor::autograd::grad_enabled() && x.dtype().is_float() { cloned(x)? } else { x.clone() };
    let y = f(&before)?;
    check_cast(y.dtype(), x.dtype())?;
    copy_(x, &y, false)
}

/// `x` with the shape of `f(x)`, a view of it.
pub(crate) fn reshaped(x: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    x.become_view(&f(x)?)
}

/// `f(x)`, in the place of `x` where a call asks for that.
pub(crate) fn replaced_if(
    inplace: bool,
    x: &Tensor,
    f: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if inplace { replaced(x, f) } else { f(x) }
}

params! {
    CopyParams {
        input: kind::Tensor, "the tensor that is written to";
        src: kind::Tensor, "the tensor that values come from; it broadcasts";
        non_blocking: kind::Bool = false, "does not wait for the copy where source memory is page-locked";
    }
}

params! {
    FillParams {
        input: kind::Tensor, "the tensor that is written to";
        value: kind::Operand, "the number that is written";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "copy_",
        Family::Move,
        "Writes another tensor's values here, broadcast, cast and moved as needed.",
        CopyParams::LIST,
        by_name!(CopyParams, |a| Ok(copy_(a.input, a.src, a.non_blocking)?.into())),
    )
    .forms(METHOD)
    .shapes("any -> the same; `src` is broadcast to it")
    .errors(&["RuntimeError: `src` does not broadcast to the tensor"])
    .across()
    .example("zeros([2]).copy_(tensor([1, 2]))", "tensor([1., 2.])")
    .gradient(Gradient::Vjp("CopyBackwards")),
    OpDef::call(
        "fill_",
        Family::Move,
        "Writes one value everywhere.",
        FillParams::LIST,
        by_name!(FillParams, |a| Ok(fill_(a.input, a.value)?.into())),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: the value is a tensor with dimensions"])
    .across()
    .example("zeros([2]).fill_(3)", "tensor([3., 3.])")
    .gradient(Gradient::Vjp("FillBackward2")),
    OpDef::call(
        "zero_",
        Family::Move,
        "Writes zero everywhere.",
        InputParams::LIST,
        by_name!(InputParams, |a| Ok(zero_(a.input)?.into())),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .example("ones([2]).zero_()", "tensor([0., 0.])")
    .gradient(Gradient::Vjp("ZeroBackward0")),
];
