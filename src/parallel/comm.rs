//! One tensor over several devices, and tensors of several devices in one.

use std::sync::Arc;

use crate::base::dims::show_x;
use crate::base::{Device, Dims, Error, Result};
use crate::device::{Context, Machine};
use crate::op::core::convert::to_device;
use crate::op::core::many;
use crate::op::core::record::{one, recorded};
use crate::op::elementwise::arithmetic::add;
use crate::op::shape::split::{chunk, split_sizes};
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::assertion;

/// Copies of a tensor on each of `devices`, each part of the graph; where the tensor is already, itself.
pub fn broadcast(tensor: &Tensor, devices: &[Arc<Context>]) -> Result<Vec<Tensor>> {
    let to = |i: usize| devices.get(i).map_or(tensor.device(), |context| context.device);
    many::copies(devices.len(), tensor, |i| to_device(tensor, to(i), true))
}

/// Copies of a network's tensors of one dtype on each of `devices`, by tensor, which cross to each in one piece.
/// Gradients of the copies are summed on the first device in the order of the devices before they go on, and the first
/// copy shares the tensor's memory.
pub(super) fn broadcast_first(tensors: &[Tensor], devices: &[Arc<Context>]) -> Result<Vec<Vec<Tensor>>> {
    static ALIAS: Vjp = Vjp { name: "BroadcastBackward", run: |_, g| one(g.clone()) };
    static COPY: Vjp = Vjp { name: "BroadcastBackward", run: copy_backward };
    let alias = |of: &Tensor| recorded(of.detach(), &ALIAS, &[of], |_, _| ());
    let Some((first, others)) = devices.split_first() else { return Ok(vec![Vec::new(); tensors.len()]) };
    let crossed = others.iter().map(|context| cross(tensors, context)).collect::<Result<Vec<_>>>()?;
    let copies = tensors.iter().enumerate().map(|(i, tensor)| {
        let hub = alias(tensor);
        // The backward pass runs from the newest node: made in this order, the copies hand in their gradients from
        // the first device to the last.
        let pieces = crossed.iter().rev().filter_map(|pieces| pieces.get(i).cloned());
        let copy = |piece| recorded(piece, &COPY, &[&hub], |saver, _| saver.attribute(first.device));
        let mut copies: Vec<Tensor> = pieces.map(copy).collect();
        copies.push(alias(&hub));
        copies.reverse();
        copies
    });
    Ok(copies.collect())
}

/// The values of tensors on another device, side by side in one piece of memory where there are several.
fn cross(tensors: &[Tensor], to: &Context) -> Result<Vec<Tensor>> {
    if let [alone] = tensors {
        return Ok(vec![to_device(&alone.detach(), to.device, true)?]);
    }
    let Some(any) = tensors.iter().find(|t| t.device() != to.device) else {
        return Ok(tensors.iter().map(Tensor::detach).collect());
    };
    let flat =
        Tensor::empty(&[tensors.iter().map(Tensor::numel).sum()], any.dtype(), &any.context(), "replicate")?;
    let pieces = |flat: &Tensor| {
        let mut start = 0;
        let mut of = |t: &Tensor| {
            let piece = flat.with_layout(flat.layout().slice(0, start, t.numel(), 1)?);
            start += t.numel();
            reshape_to(&piece, t.shape())
        };
        tensors.iter().map(&mut of).collect::<Result<Vec<_>>>()
    };
    for (piece, tensor) in pieces(&flat)?.iter().zip(tensors) {
        piece.copy_values(&tensor.detach(), true)?;
    }
    pieces(&to_device(&flat, to.device, true)?)
}

fn copy_backward(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    let first: &Device = saved.attribute()?;
    one(to_device(grad, *first, true)?)
}

/// Chunks of nearly equal size along `dim`, one on each device; fewer where there is too little to go round.
pub(crate) fn scatter_tensor(tensor: &Tensor, devices: &[Arc<Context>], dim: i64) -> Result<Vec<Tensor>> {
    let pieces = chunk(tensor, devices.len() as i64, dim)?;
    pieces.iter().zip(devices).map(|(piece, context)| to_device(piece, context.device, true)).collect()
}

/// The tensors joined along `dim` on `target`. Numbers are joined to a vector.
///
/// # Errors
/// `AssertionError` for tensors on the CPU; `RuntimeError` where sizes differ elsewhere than along `dim`.
pub(crate) fn gather_tensors(tensors: &[&Tensor], target: Device, dim: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "GatherBackward", run: gather_backward };
    let Some(first) = tensors.first() else {
        return Err(Error::runtime("Expected at least one tensor to gather from"));
    };
    if tensors.iter().any(|t| !t.device().is_cuda()) {
        return Err(assertion("Gather function not implemented for CPU tensors").with_hint(
            "on the CPU `cat` joins tensors; `gather` brings them from several GPUs to one device",
        ));
    }
    let numbers = dim == 0 && tensors.iter().all(|t| t.rank() == 0);
    let flat: Vec<Dims> =
        tensors.iter().map(|t| if numbers { Dims::from_slice(&[1]) } else { t.shape().into() }).collect();
    let rank = if numbers { 1 } else { first.rank() };
    let at = crate::base::shape::wrap_dim(dim, rank)?;
    let sizes = flat.iter().map(|shape| shape.get(at).copied().unwrap_or(1)).collect::<Vec<_>>();
    let shape = gathered_shape(&flat, at, &sizes)?;
    let machine = Machine::current();
    let out = Tensor::empty(&shape, first.dtype(), machine.context(target)?, "gather")?;
    let mut start = 0;
    for ((tensor, shape), &size) in tensors.iter().zip(&flat).zip(&sizes) {
        let slice = out.with_layout(out.layout().slice(at, start, size, 1)?);
        let whole = tensor.detach();
        let source = if numbers { reshape_to(&whole, shape)? } else { whole };
        slice.copy_values(&source, true)?;
        start += size;
    }
    Ok(recorded(out, &RULE, tensors, |saver, _| {
        saver.attribute(Gathered { dim: at, sizes, devices: tensors.iter().map(|t| t.device()).collect() });
    }))
}

/// The sum of tensors of one shape, on `target`, which one of them must be on.
///
/// # Errors
/// `AssertionError` for tensors on the CPU, `ValueError` for shapes that differ, `RuntimeError` where none of
/// them is on `target`.
pub fn reduce_add(tensors: &[&Tensor], target: Device) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::value("reduce_add expects at least one tensor"));
    };
    for (i, t) in tensors.iter().enumerate() {
        if !t.device().is_cuda() {
            let text = format!("reduce_add expects all inputs to be on GPUs, but input {i} is on CPU");
            return Err(assertion(text));
        }
        if t.shape() != first.shape() {
            let text = format!(
                "input {i} has invalid size: got {}, but expected {}",
                show_x(t.shape()),
                show_x(first.shape())
            );
            return Err(Error::value(text));
        }
    }
    // As PyTorch: the last of those that are there already.
    let Some(root) = tensors.iter().rposition(|t| t.device() == target) else {
        let text = "reduce_add expects destination to be on the same GPU with one of the tensors";
        let places: Vec<String> = tensors.iter().map(|t| t.device().to_string()).collect();
        let hint = format!("the destination is {target}, the tensors are on {}", places.join(", "));
        return Err(Error::runtime(text).with_hint(hint));
    };
    let mut sum = tensors.get(root).map_or_else(|| (*first).clone(), |t| (*t).clone());
    for (_, other) in tensors.iter().enumerate().filter(|(i, _)| *i != root) {
        sum = add(&sum, &to_device(other, target, true)?)?;
    }
    Ok(sum)
}

/// What the backward pass of a gathering needs: where each part came from.
struct Gathered {
    dim: usize,
    sizes: Vec<usize>,
    devices: Vec<Device>,
}

fn gather_backward(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    let parts: &Gathered = saved.attribute()?;
    let sizes: Vec<i64> = parts.sizes.iter().map(|&size| size as i64).collect();
    let pieces = split_sizes(grad, &sizes, parts.dim as i64)?;
    let mut grads = Grads::new();
    for (i, (piece, device)) in pieces.iter().zip(&parts.devices).enumerate() {
        let there = match saved.needs(i) {
            true => Some(reshape_to(&to_device(piece, *device, true)?, saved.shape(i))?),
            false => None,
        };
        grads.push(there);
    }
    Ok(grads)
}

/// The shape of all parts together, or PyTorch's error for the first part that does not fit.
fn gathered_shape(parts: &[Dims], dim: usize, sizes: &[usize]) -> Result<Dims> {
    let Some(first) = parts.first() else { return Ok(Dims::new()) };
    for (part, &size) in parts.iter().zip(sizes) {
        let mut expected = first.clone();
        if let Some(slot) = expected.get_mut(dim) {
            *slot = size;
        }
        if *part != expected {
            let text = format!(
                "Gather got an input of invalid size: got {:?}, but expected {:?}",
                part.as_slice(),
                expected.as_slice()
            );
            return Err(Error::runtime(text).with_hint(format!(
                "parts may differ along dimension {dim} alone: `dim` says along which they are joined"
            )));
        }
    }
    let mut shape = first.clone();
    if let Some(slot) = shape.get_mut(dim) {
        *slot = sizes.iter().sum();
    }
    Ok(shape)
}
