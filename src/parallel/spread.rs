//! Values of a script over several devices: tensors are cut, arrays and maps keep their form, the rest goes to all.

use std::sync::Arc;

use crate::base::{Device, Error, Result};
use crate::device::Context;
use crate::op::{MapValue, Value, map_value};
use crate::tensor::Tensor;

use super::comm::{gather_tensors, scatter_tensor};

/// Cuts every tensor in `value` along `dim` and gives each device its part, as `torch.nn.parallel.scatter`.
///
/// A batch smaller than the number of devices makes fewer parts; of values whose parts differ in number the
/// smallest number counts.
pub fn scatter(value: &Value, devices: &[Arc<Context>], dim: i64) -> Result<Vec<Value>> {
    match value {
        Value::Tensor(t) => Ok(scatter_tensor(t, devices, dim)?.into_iter().map(Value::Tensor).collect()),
        Value::List(items) if !items.is_empty() => {
            Ok(scatter_all(items.iter(), devices, dim)?.into_iter().map(Value::List).collect())
        }
        Value::Map(items) if !items.is_empty() => {
            let names: Vec<&'static str> = items.iter().map(|(name, _)| *name).collect();
            let parts = scatter_all(items.iter().map(|(_, v)| v), devices, dim)?;
            Ok(parts.into_iter().map(|part| Value::Map(names.iter().copied().zip(part).collect())).collect())
        }
        Value::Object(object) => match object.get::<MapValue>().filter(|map| !map.is_empty()) {
            Some(map) => scatter_map(map, devices, dim),
            None => Ok(vec![value.clone(); devices.len()]),
        },
        other => Ok(vec![other.clone(); devices.len()]),
    }
}

/// Brings values of one form back together on `target`, as `torch.nn.parallel.gather`: tensors are joined along
/// `dim`, arrays and maps entry by entry.
///
/// # Errors
/// `ValueError` for maps with different keys, `TypeError` for what can't be joined.
pub fn gather(values: &[Value], target: Device, dim: i64) -> Result<Value> {
    match values.first() {
        None => Err(Error::value("gather expects at least one value")),
        Some(Value::Tensor(_)) => {
            let tensors = values.iter().map(tensor).collect::<Result<Vec<_>>>()?;
            gather_tensors(&tensors, target, dim).map(Value::Tensor)
        }
        Some(Value::None) => Ok(Value::None),
        Some(Value::List(first)) => {
            let lists = values.iter().map(|v| list(v, first.len())).collect::<Result<Vec<_>>>()?;
            let entry = |i: usize| lists.iter().filter_map(|items| items.get(i).cloned()).collect::<Vec<_>>();
            (0..first.len()).map(|i| gather(&entry(i), target, dim)).collect::<Result<_>>().map(Value::List)
        }
        Some(Value::Map(first)) => {
            same_lengths(values, first.len())?;
            let names: Vec<&'static str> = first.iter().map(|(name, _)| *name).collect();
            let gathered =
                names.iter().map(|name| Ok((*name, gather(&entries(values, name)?, target, dim)?)));
            gathered.collect::<Result<_>>().map(Value::Map)
        }
        Some(Value::Object(object)) => match object.get::<MapValue>() {
            Some(first) => {
                same_lengths(values, first.len())?;
                let gathered = first
                    .iter()
                    .map(|(name, _)| Ok((name.clone(), gather(&entries(values, name)?, target, dim)?)));
                gathered.collect::<Result<MapValue>>().map(map_value)
            }
            None => Err(not_gathered(&Value::Object(object.clone()))),
        },
        Some(other) => Err(not_gathered(other)),
    }
}

fn same_lengths(maps: &[Value], length: usize) -> Result<()> {
    if maps.iter().any(|map| map_length(map) != Some(length)) {
        return Err(Error::value("All dicts must have the same number of keys"));
    }
    Ok(())
}

fn scatter_all<'v>(
    items: impl Iterator<Item = &'v Value>,
    devices: &[Arc<Context>],
    dim: i64,
) -> Result<Vec<Vec<Value>>> {
    let columns = items.map(|item| scatter(item, devices, dim)).collect::<Result<Vec<_>>>()?;
    let parts = columns.iter().map(Vec::len).min().unwrap_or(0);
    let part = |i: usize| columns.iter().filter_map(|column| column.get(i).cloned()).collect();
    Ok((0..parts).map(part).collect())
}

fn scatter_map(map: &MapValue, devices: &[Arc<Context>], dim: i64) -> Result<Vec<Value>> {
    let parts = scatter_all(map.iter().map(|(_, v)| v), devices, dim)?;
    let named = |part: Vec<Value>| map.iter().map(|(name, _)| name.clone()).zip(part).collect::<MapValue>();
    Ok(parts.into_iter().map(|part| map_value(named(part))).collect())
}

fn tensor(value: &Value) -> Result<&Tensor> {
    match value {
        Value::Tensor(t) => Ok(t),
        other => Err(different("Tensor", other)),
    }
}

fn list(value: &Value, length: usize) -> Result<&[Value]> {
    match value {
        Value::List(items) if items.len() == length => Ok(items),
        Value::List(items) => {
            let text = format!("arrays to gather must be of one length: {length} and {}", items.len());
            Err(Error::value(text))
        }
        other => Err(different("array", other)),
    }
}

/// What each map holds under a name.
fn entries(values: &[Value], name: &str) -> Result<Vec<Value>> {
    let one = |value: &Value| {
        let found = match value {
            Value::Map(items) => items.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone()),
            Value::Object(object) => object
                .get::<MapValue>()
                .and_then(|map| map.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())),
            other => return Err(different("map", other)),
        };
        found.ok_or_else(|| Error::value(format!("a map to gather has no '{name}', which the first one has")))
    };
    values.iter().map(one).collect()
}

fn map_length(value: &Value) -> Option<usize> {
    match value {
        Value::Object(object) => object.get::<MapValue>().map(Vec::len),
        _ => None,
    }
}

fn different(first: &str, other: &Value) -> Error {
    Error::type_error(format!("values to gather must be of one form: {first} and {}", other.describe()))
}

fn not_gathered(value: &Value) -> Error {
    Error::type_error(format!("'{}' object is not iterable", value.describe()))
        .with_hint("gather joins tensors, and arrays and maps of them: give a number as a tensor")
}
