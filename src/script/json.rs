//! Script values as JSON.

use rhai::{Array, Dynamic, ImmutableString, Map};
use serde_json::{Value, json};

use crate::base::{DType, DeviceSpec, Error, Result, Scalar};
use crate::script::maps::map_of;
use crate::tensor::Tensor;

/// A value as one JSON document. Tensors are `{"shape", "dtype", "device", "data"}` with nested data; what
/// has no JSON form is its printed text, which `show` gives.
pub fn document(value: &Dynamic, show: &dyn Fn(&Dynamic) -> String) -> Result<Value> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return tensor(&t);
    }
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().map(|item| document(item, show)).collect::<Result<Vec<_>>>().map(Value::from);
    }
    if let Some(map) = value.read_lock::<Map>() {
        let mut fields = serde_json::Map::new();
        for (name, value) in map.iter() {
            fields.insert(name.to_string(), document(value, show)?);
        }
        return Ok(fields.into());
    }
    Ok(plain(value, show))
}

/// What a JSON text stands for: objects are maps, `null` is `()`, and whole numbers beyond 64 bits are floats.
///
/// # Errors
/// The text is no JSON, or is nested deeper than 127 levels.
pub fn parse(text: &str) -> Result<Dynamic> {
    let value =
        serde_json::from_str(text).map_err(|e| Error::value(format!("parse_json(): no JSON: {e}")))?;
    Ok(dynamic(value))
}

/// What a JSON value stands for.
pub(super) fn dynamic(value: Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(b) => b.into(),
        Value::Number(n) => match n.as_i64() {
            Some(i) => i.into(),
            None => n.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(s) => s.into(),
        Value::Array(items) => items.into_iter().map(dynamic).collect::<Array>().into(),
        Value::Object(fields) => {
            map_of(fields.into_iter().map(|(name, value)| (name.into(), dynamic(value)))).into()
        }
    }
}

fn plain(value: &Dynamic, show: &dyn Fn(&Dynamic) -> String) -> Value {
    if value.is_unit() {
        return Value::Null;
    }
    if let Ok(b) = value.as_bool() {
        return b.into();
    }
    if let Ok(i) = value.as_int() {
        return i.into();
    }
    if let Ok(f) = value.as_float() {
        return number(f);
    }
    if let Some(s) = value.read_lock::<ImmutableString>() {
        return s.as_str().into();
    }
    if let Some(d) = value.read_lock::<DType>() {
        return d.name().into();
    }
    match value.read_lock::<DeviceSpec>() {
        Some(d) => d.to_string().into(),
        None => show(value).into(),
    }
}

fn tensor(t: &Tensor) -> Result<Value> {
    let values: Vec<Value> = t
        .to_scalars("json")?
        .into_iter()
        .map(|s| match s {
            Scalar::Bool(b) => b.into(),
            Scalar::Int(i) => i.into(),
            Scalar::Float(f) => number(f),
        })
        .collect();
    let data = nest(&mut values.into_iter(), t.shape());
    Ok(json!({"shape": t.shape(), "dtype": t.dtype().name(), "device": t.device().to_string(), "data": data}))
}

fn nest(values: &mut impl Iterator<Item = Value>, shape: &[usize]) -> Value {
    match shape.split_first() {
        None => values.next().unwrap_or(Value::Null),
        Some((&size, rest)) => (0..size).map(|_| nest(values, rest)).collect(),
    }
}

/// JSON has no NaN and no infinities: they are strings.
fn number(f: f64) -> Value {
    match serde_json::Number::from_f64(f) {
        Some(n) => Value::Number(n),
        None if f.is_nan() => "NaN".into(),
        None if f > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_the_values_they_stand_for() {
        let text = r#"{"a": [1, 2.5, null, true], "s": "é", "big": 18446744073709551615}"#;
        let map = parse(text).unwrap().cast::<Map>();
        let items = map["a"].clone().cast::<Array>();
        assert_eq!((items[0].as_int(), items[1].as_float()), (Ok(1), Ok(2.5)));
        assert!(items[2].is_unit() && items[3].as_bool() == Ok(true));
        assert_eq!(map["s"].clone().into_string().unwrap(), "é");
        assert_eq!(map["big"].as_float(), Ok(18446744073709551615.0));
        for wrong in ["", "{", "{LONG: 1}", "\0", "[1,]", &"[".repeat(1000)] {
            let error = parse(wrong).unwrap_err().message();
            assert!(error.starts_with("parse_json(): no JSON: ") && error.contains("line 1"), "{error}");
        }
    }
}
