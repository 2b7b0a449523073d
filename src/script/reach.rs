//! What a value leads to that code could write to: memory of tensors and variables that closures share, wherever they
//! lie in it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use rhai::{Array, Dynamic, Map};

use crate::device::storage::Storage;
use crate::nn::Module;
use crate::op::Value;
use crate::tensor::Tensor;

use super::engine::Interpreter;
use super::lender::Lender;
use super::lent::Lent;
use super::value::from_dynamic;

/// What values lead to, as it stood when it was looked at.
#[derive(Default)]
pub(crate) struct Reach {
    memory: HashMap<usize, HeldMemory>,
    variables: HashMap<usize, String>,
}

struct HeldMemory {
    /// Keeps the address from becoming another's.
    _storage: Weak<Storage>,
    version: u32,
    trained: bool,
}

/// What of a [`Reach`] may change.
#[derive(Default)]
pub(crate) struct Freed {
    memory: HashSet<usize>,
    variables: HashSet<usize>,
}

impl Reach {
    /// Of a value. What can't be gone through ends the walk.
    pub(crate) fn of(interpreter: &Interpreter, value: &Dynamic) -> Reach {
        let mut lender = Lender::new(Lent::OwnTensors, &interpreter.machine().generator, HashMap::new());
        // A part that has no copy leads to nothing that a check could see.
        let _ = lender.of_learner(value);
        let memory = lender.met().map(|t| {
            let storage = t.storage();
            let memory = HeldMemory {
                _storage: Arc::downgrade(storage),
                version: t.version(),
                trained: t.requires_grad(),
            };
            (Arc::as_ptr(storage).addr(), memory)
        });
        let variables = lender.shared().map(|(place, value)| (place, plain(&value.flatten_clone(), 0)));
        Reach { memory: memory.collect(), variables: variables.collect() }
    }

    /// Whether all that it led to and may not change is as it was, by how it is now.
    pub(crate) fn holds(&self, now: &Reach, freed: &Freed, trains: bool) -> bool {
        let memory = self.memory.iter().all(|(place, was)| {
            let is_free = freed.memory.contains(place) || trains && was.trained;
            is_free || now.memory.get(place).is_some_and(|now| now.version == was.version)
        });
        let variable = |(place, was): (&usize, &String)| {
            freed.variables.contains(place) || now.variables.get(place) == Some(was)
        };
        memory && self.variables.iter().all(variable)
    }
}

impl Freed {
    /// What code that uses a value may change without writing it down: what a function or a dataset holds, the buffers
    /// of a module in training mode, and, where the code trains, the parameters of modules and optimisers.
    pub(crate) fn add(&mut self, interpreter: &Interpreter, value: &Dynamic, trains: bool) {
        if let Some(items) = value.read_lock::<Array>() {
            return items.iter().for_each(|item| self.add(interpreter, item, trains));
        }
        if let Some(entries) = value.read_lock::<Map>() {
            return entries.values().for_each(|item| self.add(interpreter, item, trains));
        }
        if value.is::<Tensor>() || !is_holder(value) {
            return;
        }
        let module = value.read_lock::<Module>().map(|module| module.training());
        let reach = Reach::of(interpreter, value);
        let is_freed = |memory: &HeldMemory| match module {
            Some(training) => trains || training && !memory.trained,
            None => true,
        };
        let memory = reach.memory.iter().filter(|(_, memory)| is_freed(memory));
        self.memory.extend(memory.map(|(place, _)| *place));
        self.variables.extend(reach.variables.keys());
    }
}

/// Whether a value may hold others.
fn is_holder(value: &Dynamic) -> bool {
    value.is_fnptr() || from_dynamic(value).map_or(true, |known| matches!(known, Value::Object(_)))
}

/// How far values in arrays and maps are looked at.
const DEEPEST: usize = 8;

/// Plain values, and those in arrays and maps, by how they are written.
fn plain(value: &Dynamic, depth: usize) -> String {
    if depth > DEEPEST {
        return String::new();
    }
    if let Some(items) = value.read_lock::<Array>() {
        let items: Vec<String> = items.iter().map(|item| plain(item, depth + 1)).collect();
        return format!("[{}]", items.join(","));
    }
    if let Some(entries) = value.read_lock::<Map>() {
        let entry =
            |(name, item): (&rhai::Identifier, &Dynamic)| format!("{name}:{}", plain(item, depth + 1));
        return format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","));
    }
    let is_plain =
        value.is_int() || value.is_float() || value.is_bool() || value.is_string() || value.is_char();
    if is_plain { format!("{value:?}") } else { value.type_name().to_owned() }
}
