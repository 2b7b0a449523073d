//! Result types of mixed operands, as `torch.result_type`.

use crate::base::dtype::Category;
use crate::base::{Cause, DType, Device, DeviceCause, Error, Result, Scalar};
use crate::tensor::Tensor;

use super::operand::Operand;

/// The default floating-point dtype.
pub(crate) const DEFAULT_FLOAT: DType = DType::Float32;

/// The dtype of arithmetic between operands: tensors with dimensions decide before zero-dimensional ones, and
/// those before plain numbers; a lower rank wins only with a higher category.
pub(crate) fn result_type(operands: &[Operand]) -> DType {
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
pub(crate) fn common_device(operands: &[Operand]) -> Result<Device> {
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
pub(crate) fn is_host_scalar(t: &Tensor) -> bool {
    t.rank() == 0 && t.device() == Device::Cpu
}

fn tensor<'a>(operand: &Operand<'a>) -> Option<&'a Tensor> {
    match operand {
        Operand::Tensor(t) => Some(t),
        Operand::Scalar(_) => None,
    }
}

/// A number as a dtype holds it: floats lose their fraction in integers.
pub fn cast(value: Scalar, dtype: DType) -> Scalar {
    match (dtype.category(), value) {
        (Category::Bool, v) => Scalar::Bool(v.as_f64() != 0.0),
        (Category::Int, v) => Scalar::Int(v.as_i64()),
        (Category::Float, v) => Scalar::Float(v.as_f64()),
    }
}

/// What an integer dtype holds of a whole number: it wraps around. Others are as they are.
#[inline]
pub(crate) fn wrapped(value: Scalar, dtype: DType) -> Scalar {
    let Scalar::Int(n) = value else { return value };
    Scalar::Int(match dtype {
        DType::UInt8 => i64::from(n as u8),
        DType::Int8 => i64::from(n as i8),
        DType::Int16 => i64::from(n as i16),
        DType::Int32 => i64::from(n as i32),
        _ => n,
    })
}

/// Whether integers of one dtype may not fit another.
pub(crate) fn is_narrowed(from: DType, to: DType) -> bool {
    from != to && from.category() == Category::Int && to.category() == Category::Int
}

/// [`cast`], where the number fits.
pub(crate) fn fitting(value: Scalar, dtype: DType) -> Result<Scalar> {
    check_held(value, dtype)?;
    Ok(cast(value, dtype))
}

/// A number that elements become fits their dtype, floats too: what is finite stays so.
pub(crate) fn check_held(n: Scalar, dtype: DType) -> Result<()> {
    let (name, most, shown) = match dtype {
        DType::Float16 => ("c10::Half", half::f16::MAX.to_f64(), "65504"),
        DType::BFloat16 => ("c10::BFloat16", half::bf16::MAX.to_f64(), "3.39e38"),
        DType::Float32 => ("float", f64::from(f32::MAX), "3.40e38"),
        _ => return check_fits(n, dtype),
    };
    let v = n.as_f64();
    if v.is_finite() && v.abs() > most {
        return Err(Error::runtime(format!("value cannot be converted to type {name} without overflow"))
            .with_hint(format!(
                "{dtype} holds numbers up to {shown}; `inf` and `-inf` mark what is beyond all of them"
            )));
    }
    Ok(())
}

/// Integers must fit their dtype; negative ones wrap around in uint8, as in PyTorch.
pub(crate) fn check_fits(n: Scalar, dtype: DType) -> Result<()> {
    if dtype.category() != Category::Int {
        return Ok(());
    }
    let bits = 8 * dtype.size() as u32;
    let (low, high) = match dtype {
        DType::UInt8 if matches!(n, Scalar::Float(_)) => (0.0, 255.0),
        DType::UInt8 => (-255.0, 255.0),
        _ => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0),
    };
    let v = n.as_f64();
    if matches!(n, Scalar::Float(_)) || bits < 64 {
        let fits = v >= low && (v <= high || (bits == 64 && v < -low));
        if !fits {
            let name = match dtype {
                DType::UInt8 => "uint8_t",
                DType::Int8 => "int8_t",
                DType::Int16 => "int16_t",
                DType::Int32 => "int",
                _ => "int64_t",
            };
            return Err(Error::runtime(format!("value cannot be converted to type {name} without overflow"))
                .with_hint(format!("{dtype} holds {low} to {high}")));
        }
    }
    Ok(())
}

/// `"kernel" not implemented for 'Long'`, unless the dtype is a float.
pub(crate) fn only_floats(dtype: DType, kernel: &str) -> Result<()> {
    if dtype.is_float() {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for '{}'", dtype.type_name());
    Err(Error::new(crate::base::Kind::NotImplementedError, text)
        .with_hint("convert to floats with `.float()`"))
}

/// A factor of what is added fits the dtype of the sum: a fraction doesn't fit integers, a truth value no numbers.
pub(crate) fn check_factor(name: &str, by: Scalar, sum: DType) -> Result<()> {
    let text = match (by, sum.category()) {
        (Scalar::Bool(_), Category::Int | Category::Float) => {
            format!("Boolean {name} only supported for Boolean results.")
        }
        (Scalar::Float(_), Category::Int | Category::Bool) => {
            format!("For integral input tensors, argument {name} must not be a floating point number.")
        }
        _ => return check_fits(by, sum),
    };
    Err(Error::runtime(text)
        .with_hint("convert the tensors to floats with `.float()`, or write a whole number"))
}

/// A result may be written to a tensor of its category or a higher one.
pub(crate) fn check_cast(from: DType, to: DType) -> Result<()> {
    if from.category() > to.category() {
        return Err(Cause::ResultCast { from, to }.into());
    }
    Ok(())
}
