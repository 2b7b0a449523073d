//! What the variables and devices are now.

use rhai::Dynamic;

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

/// The variables of the scope, newest of a name only; the last value as `_`, where there is one.
pub(super) fn variables(interpreter: &Interpreter) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    let is_listed = |name: &str, value: &Dynamic| !name.is_empty() && (name != LAST || !value.is_unit());
    for (name, _, value) in interpreter.scope().iter().filter(|(name, _, value)| is_listed(name, value)) {
        if found.iter().any(|v| v.name == name) {
            continue;
        }
        let tensor = value.read_lock::<Tensor>().map(|t| t.clone());
        let summary = match &tensor {
            Some(t) => format!("{} {} {}", show(t.shape()), t.dtype(), t.device()),
            None => shortened(&value.to_string()),
        };
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

fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|c| if c == '\n' { ' ' } else { c }).take(SUMMARY).collect();
    if text.chars().count() > SUMMARY { format!("{line}…") } else { line }
}
