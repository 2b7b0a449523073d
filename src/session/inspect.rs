//! What the variables and devices are now.

use rhai::{Array, Dynamic, FnPtr, Map};

use crate::base::dims::show;
use crate::device::{Context, Machine};
use crate::script::Interpreter;
use crate::script::operands::held as held_tensors;
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::protocol::{DeviceInfo, LAST, SegmentInfo, TensorInfo, Variable};

/// Tensors within variables that are told of.
const HELD: usize = 4096;
/// The longest summary of a value, in characters.
const SUMMARY: usize = 60;
/// Items of an array or a map that it has, and how deep it looks into them.
const ITEMS: usize = 16;
const DEPTH: usize = 3;

/// The variables of the scope, newest of a name only; the last value as `_`, where there is one.
pub(super) fn variables(interpreter: &Interpreter) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    let is_listed = |name: &str, value: &Dynamic| !name.is_empty() && (name != LAST || !value.is_unit());
    for (name, _, value) in interpreter.scope().iter().filter(|(name, _, value)| is_listed(name, value)) {
        if found.iter().any(|v| v.name == name) {
            continue;
        }
        let tensor = value.read_lock::<Tensor>().map(|t| t.clone());
        let summary = shortened(&summary(interpreter, &value, 0));
        let summary = format!("{summary}{}", interpreter.note(&value));
        found.push(Variable {
            name: name.to_string(),
            type_name: type_name(&value),
            summary,
            tensor: tensor.as_ref().map(tensor_info),
        });
    }
    found.reverse();
    found
}

/// The tensors within the scope's variables, by their paths; the variables themselves are left out.
pub(super) fn held(interpreter: &Interpreter) -> Vec<(String, TensorInfo)> {
    let all = held_tensors(interpreter.scope()).into_iter();
    let within = all.filter(|(name, _)| name.contains(['.', '[']));
    within.take(HELD).map(|(name, t)| (name, tensor_info(&t))).collect()
}

/// Every device with its memory.
pub(super) fn devices(machine: &Machine) -> Vec<DeviceInfo> {
    machine.contexts().map(|c| device(c)).collect()
}

fn tensor_info(t: &Tensor) -> TensorInfo {
    TensorInfo {
        shape: t.shape().to_vec(),
        dtype: t.dtype(),
        device: t.device(),
        bytes: t.nbytes() as u64,
        address: t.storage().address(),
        requires_grad: t.requires_grad(),
        grad: t.grad().map(|g| g.nbytes() as u64),
        is_view: t.numel() < t.storage().numel() || !t.is_contiguous(),
    }
}

fn device(context: &Context) -> DeviceInfo {
    let properties = context.backend.properties();
    let pool = context.pool();
    let figures = pool.as_ref().map(|p| (p.allocated(), p.reserved(), p.peak_allocated()));
    let (allocated, reserved, peak) = figures.unwrap_or_default();
    let free = pool.as_ref().map(|p| p.mem_get_info().0);
    let segments = pool.map(|p| p.snapshot().segments).unwrap_or_default();
    DeviceInfo {
        device: context.device,
        name: properties.name.clone(),
        simulated: properties.simulated,
        clock: properties.clock,
        total: properties.total_memory,
        allocated,
        reserved,
        peak,
        free,
        segments: segments
            .iter()
            .map(|s| SegmentInfo {
                address: s.address,
                bytes: s.size,
                blocks: s
                    .blocks
                    .iter()
                    .map(|b| {
                        (b.address - s.address, b.size, b.state != crate::device::pool::BlockState::Inactive)
                    })
                    .collect(),
            })
            .collect(),
    }
}

/// A value in a line. What a tensor holds is not read for that: a device would have to be waited for.
fn summary(interpreter: &Interpreter, value: &Dynamic, depth: usize) -> String {
    if let Some(t) = value.read_lock::<Tensor>() {
        return format!("{} {} {}", show(t.shape()), t.dtype(), t.device());
    }
    let within = |item: &Dynamic| match depth < DEPTH {
        true => summary(interpreter, item, depth + 1),
        false => "…".into(),
    };
    if let Some(items) = value.read_lock::<Array>() {
        let more = if items.len() > ITEMS { ", …" } else { "" };
        let items: Vec<String> = items.iter().take(ITEMS).map(within).collect();
        return format!("[{}{more}]", items.join(", "));
    }
    if let Some(items) = value.read_lock::<Map>() {
        let more = if items.len() > ITEMS { ", …" } else { "" };
        let item = |(name, item): (&_, &Dynamic)| format!("{name}: {}", within(item));
        let items: Vec<String> = items.iter().take(ITEMS).map(item).collect();
        return format!("#{{{}{more}}}", items.join(", "));
    }
    if value.read_lock::<FnPtr>().is_some_and(|function| function.is_anonymous()) {
        return "a closure".into();
    }
    match interpreter.show(value) {
        Ok(text) => text,
        Err(_) => type_name(value),
    }
}

/// In one line, and no longer than there is room for.
fn shortened(text: &str) -> String {
    let line = text.lines().map(str::trim_start).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
