//! What a value leads to that code could write to: memory of tensors and variables that closures share, wherever they
//! lie in it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use rhai::{Array, Dynamic, Map};

use crate::device::storage::Storage;
use crate::nn::{Module, Role};

use super::engine::Interpreter;
use super::lender::Lender;
use super::lent::Lent;

/// What values lead to, as it stood when it was looked at.
#[derive(Default)]
pub(crate) struct Reach {
    memory: HashMap<usize, HeldMemory>,
    variables: HashMap<usize, String>,
    /// Of what parts modules are.
    modules: HashMap<usize, String>,
}

struct HeldMemory {
    /// Keeps the address from becoming another's.
    _storage: Weak<Storage>,
    /// How often its values were changed, with and without a version that tells of it.
    changes: (u32, u32),
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
                changes: (storage.version(), storage.unversioned()),
            };
            (Arc::as_ptr(storage).addr(), memory)
        });
        let variables = lender.shared().map(|(place, value)| (place, plain(&value.flatten_clone(), 0)));
        let modules = lender.modules().map(|(id, module)| (id, parts(module)));
        Reach { memory: memory.collect(), variables: variables.collect(), modules: modules.collect() }
    }

    /// Whether all that it led to is as it was, by how it is now.
    pub(crate) fn holds(&self, now: &Reach) -> bool {
        let memory = |(place, was): (&usize, &HeldMemory)| {
            now.memory.get(place).is_some_and(|now| now.changes == was.changes)
        };
        let same = |was: &HashMap<usize, String>, now: &HashMap<usize, String>| {
            was.iter().all(|(place, was)| now.get(place) == Some(was))
        };
        self.memory.iter().all(memory)
            && same(&self.variables, &now.variables)
            && same(&self.modules, &now.modules)
    }
}

/// How a module is printed, and the names of its tensors.
fn parts(module: &Module) -> String {
    let names = [Role::Parameter, Role::Buffer].into_iter().flat_map(|role| module.named(role));
    let names: Vec<String> = names.map(|(name, _)| name).collect();
    format!("{module} {}", names.join(" "))
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
