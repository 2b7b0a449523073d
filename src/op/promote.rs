//! Result types of mixed operands, as `torch.result_type`.

use crate::base::dtype::Category;
use crate::base::{DType, Device, DeviceCause, Result};
use crate::tensor::Tensor;

use super::def::Operand;

/// The default floating-point dtype.
pub const DEFAULT_FLOAT: DType = DType::Float32;

/// The dtype of arithmetic between operands: tensors with dimensions decide before zero-dimensional ones, and
/// those before plain numbers; a lower rank wins only with a higher category.
pub fn result_type(operands: &[Operand]) -> DType {
    let mut by_rank: [Option<DType>; 3] = [None; 3];
    for operand in operands {
        let (rank, dtype) = match operand {
            Operand::Tensor(t) if t.rank() > 0 => (0, t.dtype()),
            Operand::Tensor(t) => (1, t.dtype()),
            Operand::Scalar(s) => (2, s.default_dtype()),
        };
        if let Some(slot) = by_rank.get_mut(rank) {
            *slot = Some(slot.map_or(dtype, |d| d.promote(dtype)));
        }
    }
    let lift = |high: Option<DType>, low: Option<DType>| match (high, low) {
        (Some(h), Some(l)) if l.category() > h.category() => Some(h.promote(l)),
        (Some(h), _) => Some(h),
        (None, l) => l,
    };
    let [dims, zero, number] = by_rank;
    lift(dims, lift(zero, number)).unwrap_or(DEFAULT_FLOAT)
}

/// Integers and bools become the default float, as true division and `exp` have it.
pub fn to_float(dtype: DType) -> DType {
    if dtype.category() == Category::Float { dtype } else { DEFAULT_FLOAT }
}

/// The device of an elementwise op: all tensors on one, but for zero-dimensional CPU tensors.
///
/// PyTorch names the GPU before the CPU, and otherwise the first operand first.
pub fn common_device(operands: &[Operand]) -> Result<Device> {
    let mut found: Option<Device> = None;
    for t in operands.iter().filter_map(tensor) {
        if is_host_scalar(t) {
            continue;
        }
        match found {
            None => found = Some(t.device()),
            Some(d) if d != t.device() => {
                let (first, second) = if d == Device::Cpu { (t.device(), d) } else { (d, t.device()) };
                return Err(DeviceCause::TwoDevices { first, second }.into());
            }
            Some(_) => {}
        }
    }
    Ok(found.unwrap_or(Device::Cpu))
}

/// A zero-dimensional CPU tensor: may join an op on any device.
pub fn is_host_scalar(t: &Tensor) -> bool {
    t.rank() == 0 && t.device() == Device::Cpu
}

fn tensor<'a>(operand: &Operand<'a>) -> Option<&'a Tensor> {
    match operand {
        Operand::Tensor(t) => Some(t),
        Operand::Scalar(_) => None,
    }
}
