//! `finfo` and `iinfo`: the limits of dtypes.

use rhai::Map;

use crate::base::{DType, Error, Result};
use crate::op::def::FUNCTION;
use crate::op::params::{Maybe, kind, params};
use crate::op::{Family, OpDef};
use crate::script::call::ScriptRow;
use crate::script::maps::map_of;

params! {
    FinfoParams {
        dtype: Maybe<kind::DType>, "what the limits are those of: a floating-point dtype; float32 where none is named";
    }
}

params! {
    IinfoParams {
        dtype: kind::DType, "what the limits are those of: an integer dtype";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script("finfo", Family::Type, "The limits of a floating-point dtype.", FinfoParams::LIST)
            .forms(FUNCTION)
            .details("A map: bits, dtype, eps, max, min, resolution, smallest_normal and tiny.")
            .errors(&["TypeError: the dtype is no floating-point one"])
            .example("finfo(float32).eps", "1.1920928955078125e-07"),
        |call| Ok(limits_of_floats(FinfoParams::of(&call.args)?.dtype.unwrap_or(DType::Float32))?.into()),
    ),
    ScriptRow::of(
        OpDef::script("iinfo", Family::Type, "The limits of an integer dtype.", IinfoParams::LIST)
            .forms(FUNCTION)
            .details("A map: bits, dtype, max and min.")
            .errors(&["TypeError: the dtype is no integer one"])
            .example("iinfo(int8).max", "127"),
        |call| Ok(limits_of_integers(IinfoParams::of(&call.args)?.dtype)?.into()),
    ),
];

/// `torch.finfo`: what a dtype's bits come to, by the widths of exponent and fraction.
fn limits_of_floats(dtype: DType) -> Result<Map> {
    // The bits behind the point, the greatest exponent, and decimal digits that last.
    let (fraction, exponent, digits) = match dtype {
        DType::Float16 => (10, 15, 3),
        DType::BFloat16 => (7, 127, 2),
        DType::Float32 => (23, 127, 6),
        DType::Float64 => (52, 1023, 15),
        _ => {
            return Err(Error::type_error(format!(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.{dtype}'"
            )));
        }
    };
    let two = |power: i32| 2f64.powi(power);
    let max = (2.0 - two(-fraction)) * two(exponent);
    let smallest: f64 = two(1 - exponent);
    let numbers = [
        ("eps", two(-fraction)),
        ("max", max),
        ("min", -max),
        ("resolution", 10f64.powi(-digits)),
        ("smallest_normal", smallest),
        ("tiny", smallest),
    ];
    let mut all = map_of(numbers.into_iter().map(|(name, value)| (name.into(), value.into())));
    all.insert("bits".into(), (8 * dtype.size() as i64).into());
    all.insert("dtype".into(), dtype.to_string().into());
    Ok(all)
}

/// `torch.iinfo`.
fn limits_of_integers(dtype: DType) -> Result<Map> {
    let range = dtype.whole_range().filter(|_| dtype != DType::Bool);
    let (min, max) = range.ok_or_else(|| {
        Error::type_error(format!(
            "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.{dtype}'"
        ))
    })?;
    let bits = 8 * dtype.size() as i64;
    let numbers = [("bits", bits), ("max", max), ("min", min)];
    let mut all = map_of(numbers.into_iter().map(|(name, value)| (name.into(), value.into())));
    all.insert("dtype".into(), dtype.to_string().into());
    Ok(all)
}
