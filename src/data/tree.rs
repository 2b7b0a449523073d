//! Nested values: maps and arrays with tensors in them.

use crate::base::Result;
use crate::op::{MapValue, Value, map_value};
use crate::tensor::Tensor;

/// A map's entries, where the value is one.
pub fn entries(value: &Value) -> Option<Vec<(&str, &Value)>> {
    match value {
        Value::Map(items) => Some(items.iter().map(|(k, v)| (*k, v)).collect()),
        Value::Object(object) => {
            let map: &MapValue = object.get()?;
            Some(map.iter().map(|(k, v)| (k.as_str(), v)).collect())
        }
        _ => None,
    }
}

/// The same value with `f` of each tensor in its place.
pub(crate) fn map_tensors(value: &Value, f: &impl Fn(&Tensor) -> Result<Tensor>) -> Result<Value> {
    if let Some(entries) = entries(value) {
        let entry = |(k, v): (&str, &Value)| Ok((k.to_string(), map_tensors(v, f)?));
        return Ok(map_value(entries.into_iter().map(entry).collect::<Result<_>>()?));
    }
    Ok(match value {
        Value::Tensor(t) => Value::Tensor(f(t)?),
        Value::List(items) => Value::List(items.iter().map(|v| map_tensors(v, f)).collect::<Result<_>>()?),
        other => other.clone(),
    })
}
