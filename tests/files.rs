//! Tensors in files: what NumPy and the safetensors package wrote, what is written here, and what no file may do.

mod checkpoints;
mod fuzz;
mod golden;
mod hostile;
mod targets;

use std::path::PathBuf;

use serde_json::Value as Json;
use tensorlab::base::Scalar;
use tensorlab::data::tree::entries;
use tensorlab::op::Value;
use tensorlab::tensor::Tensor;

/// A folder of its own, removed afterwards.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tensorlab-files-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A path as a script writes it.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    /// What lies in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut all: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The tensors of a flat value by name; a tensor alone has the empty name.
pub fn tensors(value: &Value) -> Vec<(String, Tensor)> {
    if let Value::Tensor(t) = value {
        return vec![(String::new(), t.clone())];
    }
    let entry = |(name, v): (&str, &Value)| match v {
        Value::Tensor(t) => (name.to_string(), t.clone()),
        other => panic!("{name} is no tensor: {other:?}"),
    };
    entries(value).unwrap().into_iter().map(entry).collect()
}

/// A tensor as `scripts/record_files.py` records one.
pub fn recorded(t: &Tensor) -> Json {
    let values: Vec<Json> = t.to_scalars("test").unwrap().into_iter().map(number).collect();
    serde_json::json!({"dtype": t.dtype().name(), "shape": t.shape(), "data": values})
}

fn number(s: Scalar) -> Json {
    match s {
        Scalar::Bool(b) => b.into(),
        Scalar::Int(i) => i.into(),
        Scalar::Float(f) if f.is_finite() => f.into(),
        Scalar::Float(f) => f.to_string().to_lowercase().into(),
    }
}
