//! What a lesson gave before an exercise: a check reads it as it was given, whatever the learner's code does with its
//! name.

use std::collections::HashMap;

use rhai::{Array, Dynamic, Map};

use crate::script::{Interpreter, lexer};
use crate::tensor::Tensor;

use super::protocol::GivenName;

/// Values and functions from before a cell that its check reads.
#[derive(Default)]
pub(super) struct Given {
    values: HashMap<String, GivenValue>,
    functions: Vec<String>,
    /// The first function among them that the cell has defined anew.
    redefined: Option<String>,
}

struct GivenValue {
    value: Dynamic,
    /// The versions of tensors in it that are to stay as they are.
    versions: Vec<u32>,
    fixed: bool,
}

impl Given {
    /// What there is of these names now.
    pub(super) fn of(interpreter: &Interpreter, names: &[GivenName]) -> Given {
        let find = |name: &str| names.iter().find(|given| given.name == name);
        let values = interpreter.newest().into_iter().filter_map(|(name, _, value)| {
            let given = find(name)?;
            let fixed = given.fixed;
            let versions = if fixed { versions(&value) } else { Vec::new() };
            Some((name.to_owned(), GivenValue { value, versions, fixed }))
        });
        let values = values.collect();
        let (_, library) = interpreter.parts();
        let functions = library.iter_functions().filter(|function| find(function.name).is_some());
        let functions = functions.map(|function| function.name.to_owned()).collect();
        Given { values, functions, redefined: None }
    }

    /// The cell's code is about to run.
    pub(super) fn note_code(&mut self, code: &str) {
        let defined = lexer::functions(code);
        self.redefined = self.functions.iter().find(|name| defined.contains(name)).cloned();
    }

    /// The value as it was given.
    pub(super) fn value(&self, name: &str) -> Option<Dynamic> {
        self.values.get(name).map(|given| given.value.clone())
    }

    /// Why a check can't tell any more, where the cell has changed what it reads.
    pub(super) fn why_lost(&self) -> Option<String> {
        if let Some(name) = &self.redefined {
            return Some(format!("`{name}` is a function of the lesson's: give yours another name"));
        }
        let is_changed = |given: &GivenValue| given.fixed && versions(&given.value) != given.versions;
        let mut changed: Vec<&String> =
            self.values.iter().filter(|(_, given)| is_changed(given)).map(|(name, _)| name).collect();
        changed.sort();
        let name = changed.first()?;
        Some(format!(
            "your code writes into `{name}`, which the lesson gives: work on a copy, `{name}.clone()`"
        ))
    }
}

/// The versions of the tensors in a value that only code writes to: optimisers write to those that require grad.
fn versions(value: &Dynamic) -> Vec<u32> {
    if let Some(tensor) = value.read_lock::<Tensor>() {
        return if tensor.requires_grad() { Vec::new() } else { vec![tensor.version()] };
    }
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().flat_map(versions).collect();
    }
    value.read_lock::<Map>().map(|map| map.values().flat_map(versions).collect()).unwrap_or_default()
}
