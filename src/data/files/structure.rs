//! Nested values as named tensors: a checkpoint of maps, arrays and numbers in a `.safetensors` file.
//!
//! A map of tensors is a file's tensors and nothing else, so that every reader of the format sees it as it is. Of
//! any other value the tensors are named by their path, joined with dots, and the rest stands as JSON in the
//! metadata: `{"tensor": NAME}`, `{"map": {…}}`, `{"list": […]}`, `{"float": "inf"}`, or the bare value.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use crate::base::{Error, Scalar, sorted};
use crate::op::{Value, map_value};
use crate::tensor::Tensor;

use super::fault::{Fault, Outcome};
use crate::data::tree::entries;

/// The key of the metadata that holds the structure.
pub(crate) const KEY: &str = "tensorlab.structure";
/// The deepest value that is saved.
const DEEPEST: usize = 32;
/// The name of a tensor that is saved alone.
const ALONE: &str = "tensor";

/// The tensors of a value, and the structure around them where it is more than a map of tensors.
pub(crate) fn take_apart(value: &Value) -> Outcome<(Vec<(String, Tensor)>, Option<String>)> {
    if let Some(entries) = entries(value)
        && entries.iter().all(|(_, v)| matches!(v, Value::Tensor(_)))
    {
        let tensors = entries.iter().filter_map(|(name, v)| match v {
            Value::Tensor(t) => Some(((*name).to_string(), t.clone())),
            _ => None,
        });
        return Ok((tensors.collect(), None));
    }
    let mut parts = StructureParts::default();
    let tree = parts.tree(value, "", 0)?;
    Ok((parts.tensors, Some(tree.to_string())))
}

/// The value that [`take_apart`] took apart.
pub(crate) fn put_together(mut tensors: Vec<(String, Tensor)>, structure: Option<&str>) -> Outcome<Value> {
    let Some(text) = structure else {
        let entries = tensors.into_iter().map(|(name, t)| (name, Value::Tensor(t))).collect();
        return Ok(map_value(entries));
    };
    let tree: Json = serde_json::from_str(text).map_err(|e| Fault::invalid(format!("its structure: {e}")))?;
    sorted::sort_by(&mut tensors, |(a, _), (b, _)| a.cmp(b));
    value(&tree, &tensors)
}

#[derive(Default)]
struct StructureParts {
    tensors: Vec<(String, Tensor)>,
    names: HashSet<String>,
}

impl StructureParts {
    fn tree(&mut self, value: &Value, path: &str, depth: usize) -> Outcome<Json> {
        if depth > DEEPEST {
            return Err(Error::value(format!("maps and arrays are nested more than {DEEPEST} deep")).into());
        }
        let joined = |part: &str| if path.is_empty() { part.into() } else { format!("{path}.{part}") };
        if let Some(entries) = entries(value) {
            let mut map = Map::new();
            for (key, item) in entries {
                map.insert(key.into(), self.tree(item, &joined(key), depth + 1)?);
            }
            return Ok(json!({ "map": map }));
        }
        Ok(match value {
            Value::None => Json::Null,
            Value::Scalar(Scalar::Bool(b)) => json!(b),
            Value::Scalar(Scalar::Int(i)) => json!(i),
            Value::Scalar(Scalar::Float(f)) if f.is_finite() => json!(f),
            Value::Scalar(Scalar::Float(f)) => json!({ "float": f.to_string() }),
            Value::Str(s) => json!(s),
            Value::Tensor(t) => json!({ "tensor": self.add(path, t) }),
            Value::List(items) => {
                let items = items.iter().enumerate();
                let list = items.map(|(i, v)| self.tree(v, &joined(&i.to_string()), depth + 1));
                json!({ "list": list.collect::<Outcome<Vec<Json>>>()? })
            }
            other => {
                let place = if path.is_empty() { String::new() } else { format!(" (at '{path}')") };
                let text = format!("a {} cannot be saved{place}", other.describe());
                let hint = "tensors, numbers, strings, and maps and arrays of them can; of a module or an optimizer \
                            save its `state_dict()`";
                return Err(Error::type_error(text).with_hint(hint).into());
            }
        })
    }

    /// Keeps a tensor under its path, or a name near it that is free.
    fn add(&mut self, path: &str, tensor: &Tensor) -> String {
        let wanted = if path.is_empty() { ALONE } else { path };
        let mut name = wanted.to_string();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{wanted}#{count}");
        }
        self.tensors.push((name.clone(), tensor.clone()));
        name
    }
}

/// A tree's value; JSON was read with a limit on its depth, so this ends.
fn value(tree: &Json, tensors: &[(String, Tensor)]) -> Outcome<Value> {
    let unknown = || Fault::invalid("its structure names something unknown");
    Ok(match tree {
        Json::Null => Value::None,
        Json::Bool(b) => Value::Scalar((*b).into()),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(i), _) => Value::Scalar(i.into()),
            (None, Some(f)) => Value::Scalar(f.into()),
            _ => return Err(unknown()),
        },
        Json::String(s) => Value::Str(s.clone()),
        Json::Array(_) => return Err(unknown()),
        Json::Object(map) => match map.iter().next() {
            Some((key, Json::String(name))) if key == "tensor" => {
                let at = tensors.binary_search_by(|(n, _)| n.as_str().cmp(name));
                let found = at.ok().and_then(|i| tensors.get(i));
                let (_, tensor) = found.ok_or_else(|| {
                    Fault::invalid(format!("its structure names the tensor '{name}', which is not there"))
                })?;
                Value::Tensor(tensor.clone())
            }
            Some((key, Json::String(text))) if key == "float" => {
                let number: f64 = text.parse().map_err(|_| unknown())?;
                Value::Scalar(number.into())
            }
            Some((key, Json::Array(items))) if key == "list" => {
                Value::List(items.iter().map(|item| value(item, tensors)).collect::<Outcome<_>>()?)
            }
            Some((key, Json::Object(items))) if key == "map" => {
                let entry = |(k, v): (&String, &Json)| Ok((k.clone(), value(v, tensors)?));
                map_value(items.iter().map(entry).collect::<Outcome<_>>()?)
            }
            _ => return Err(unknown()),
        },
    })
}
