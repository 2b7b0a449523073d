//! How operations join the graph: a new result, or a tensor written in place.

use smallvec::SmallVec;

use crate::base::{DType, Dims, Result, Scalar};
use crate::device::live::{OF_A_LEAF, meant};
use crate::device::settings::Determinism;
use crate::tensor::Tensor;
use crate::tensor::autograd::{GradMode, Grads, Meta, Node, Rule, Saver, needs_graph, set_grad_mode};
use crate::tensor::flat;

/// `out`, recorded as made by `rule` from `inputs` where any of them takes part in the graph.
#[inline]
pub fn recorded(
    out: Tensor,
    rule: &'static dyn Rule,
    inputs: &[&Tensor],
    save: impl FnOnce(&mut Saver, &Tensor),
) -> Tensor {
    if needs_graph(inputs) { out.record(rule, inputs, save) } else { out }
}

/// Writes to `x` in place under autograd. The rule's inputs are `x` (its old value) and `others`; `save` sees
/// the state before the change.
pub fn in_place(
    x: &Tensor,
    others: &[&Tensor],
    rule: &'static dyn Rule,
    save: impl FnOnce(&mut Saver),
    write: impl FnOnce() -> Result<()>,
) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 4]> = std::iter::once(x).chain(others.iter().copied()).collect();
    let tracked = x.dtype().is_float() && needs_graph(&inputs);
    x.check_inplace(tracked)?;
    others.iter().try_for_each(|read| x.check_partial_overlap(read))?;
    let node = tracked.then(|| Node::new(rule, &inputs, save));
    write()?;
    x.finish_inplace(node);
    Ok(x.clone())
}

/// Nothing is recorded while the guard lives.
pub fn no_grad() -> GradMode {
    set_grad_mode(false)
}

/// `out`, of which `x` is a part whose gradient is zeros.
pub(crate) fn beside(out: Tensor, x: &Tensor) -> Tensor {
    if needs_graph(&[x]) { flat::beside(out, &x.edge(), &Meta::of(x)) } else { out }
}

/// A gradient list of one.
pub fn one(grad: Tensor) -> Result<Grads> {
    Ok([Some(grad)].into_iter().collect())
}

/// The gradient as it is; an error where determinism is required and `name`, PyTorch's function for it on CUDA, has
/// no deterministic implementation.
pub(crate) fn undetermined(grad: &Tensor, name: &str) -> Result<Grads> {
    check_deterministic(grad, name)?;
    one(grad.clone())
}

/// PyTorch's error for `name`, its function on CUDA, where determinism is required of a result on a GPU.
pub(crate) fn check_deterministic(on: &Tensor, name: &str) -> Result<()> {
    on.context().shared.check_deterministic(on.device(), name)
}

/// The same of what writes to places in any order, on every device: of what comes to one place, one stays.
pub(crate) fn check_places(on: &Tensor, name: &str) -> Result<()> {
    let hint = "which of several elements for one place stays is not fixed; use_deterministic_algorithms(false) allows that";
    on.context().shared.check_deterministic_anywhere(name, hint)
}

/// `out`, made of several operations, as one of the name of `rule`, which hands its gradient on: it calls [`undetermined`]
/// or is flat.
pub(crate) fn named(out: Tensor, rule: &'static dyn Rule) -> Tensor {
    if needs_graph(&[&out]) { out.detach().record(rule, &[&out], |_, _| ()) } else { out }
}

/// Fills memory that nothing was written to, where determinism is asked for: with NaN, or with the largest number.
pub(crate) fn determined(x: Tensor) -> Result<Tensor> {
    if x.context().shared.settings.determinism() != Determinism::Any {
        let value = match x.dtype().whole_range() {
            None => Scalar::Float(f64::NAN),
            Some(_) if x.dtype() == DType::Bool => Scalar::Bool(true),
            Some((_, most)) => Scalar::Int(most),
        };
        x.fill(value, "fill_")?;
    }
    Ok(x)
}

/// Whether something else is computed on a GPU where determinism is asked for, in place of what has no deterministic
/// gradient.
pub(crate) fn wants_determinism(x: &Tensor) -> bool {
    x.device().is_cuda() && x.context().shared.settings.determinism() != Determinism::Any
}

/// A gradient list of two.
pub fn two(first: Option<Tensor>, second: Option<Tensor>) -> Result<Grads> {
    Ok([first, second].into_iter().collect())
}

/// Runs `f` only where input `i` wants a gradient.
pub fn wanted(
    saved: &crate::tensor::autograd::Saved,
    i: usize,
    f: impl FnOnce() -> Result<Tensor>,
) -> Result<Option<Tensor>> {
    if !saved.needs(i) {
        return Ok(None);
    }
    if saved.is_leaf(i) { meant(OF_A_LEAF, f).map(Some) } else { f().map(Some) }
}

/// `shape` with the masked dimensions 1.
pub(crate) fn kept_shape(shape: &[usize], mask: u64) -> Dims {
    shape.iter().enumerate().map(|(i, &d)| if in_mask(mask, i) { 1 } else { d }).collect()
}

/// Whether bit `i` is set.
pub(crate) fn in_mask(mask: u64, i: usize) -> bool {
    u32::try_from(i).ok().and_then(|i| 1u64.checked_shl(i)).is_some_and(|bit| mask & bit != 0)
}
