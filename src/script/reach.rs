//! What a value leads to that code could write to: memory of tensors and variables that closures share, wherever they
//! lie in it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use rhai::{Array, Dynamic, FnPtr, Map};

use crate::amp::GradScaler;
use crate::base::Device;
use crate::data::Data;
use crate::device::storage::Storage;
use crate::nn::{Module, Role};
use crate::op::Value;
use crate::optim::{Optimizer, Scheduler};
use crate::tensor::Tensor;

use super::engine::Interpreter;
use super::lender::Lender;
use super::lent::Lent;
use super::modules::nn::own::Own;
use super::value::{from_dynamic, given};

/// What values lead to, as it stood when it was looked at.
#[derive(Default)]
pub(crate) struct Reach {
    memory: HashMap<usize, HeldMemory>,
    variables: HashMap<usize, String>,
    /// Leaves that require a gradient, with the one that they had.
    leaves: HashMap<usize, HeldLeaf>,
    /// Of what parts modules are, and what optimisers and the like are set to.
    objects: HashMap<usize, String>,
    modules: HashMap<usize, bool>,
    /// Where tensors lay, by their numbers.
    places: HashMap<usize, Device>,
    /// Memory of modules' buffers, such as a normalisation's statistics.
    buffers: HashSet<usize>,
}

/// A leaf that requires a gradient: the one that it had, and how many functions get those that come.
struct HeldLeaf {
    grad: Option<HeldMemory>,
    hooks: usize,
}

impl HeldLeaf {
    /// A gradient where there was none is what a backward pass is for.
    fn is(&self, now: &HeldLeaf) -> bool {
        let same = |was: &HeldMemory| now.grad.as_ref().is_some_and(|now| was.is(now));
        self.hooks == now.hooks && self.grad.as_ref().is_none_or(same)
    }
}

struct HeldMemory {
    /// Keeps the address from becoming another's.
    _storage: Weak<Storage>,
    place: usize,
    /// How often its values were changed, with and without a version that tells of it.
    changes: (u32, u32),
}

impl HeldMemory {
    fn of(t: &Tensor) -> HeldMemory {
        let storage = t.storage();
        HeldMemory {
            _storage: Arc::downgrade(storage),
            place: Arc::as_ptr(storage).addr(),
            changes: (storage.version(), storage.unversioned()),
        }
    }

    fn is(&self, now: &HeldMemory) -> bool {
        (self.place, self.changes) == (now.place, now.changes)
    }
}

/// What of all that a value leads to is another than it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Changed {
    Nothing,
    /// Values of tensors.
    Memory,
    /// Values of modules' buffers, and no others.
    Buffers,
    /// Anything else.
    State,
}

impl Reach {
    /// Of a value. What can't be gone through ends the walk.
    pub(crate) fn of(interpreter: &Interpreter, value: &Dynamic) -> Reach {
        let mut lender = Lender::new(Lent::OwnTensors, &interpreter.machine().generator, HashMap::new());
        // A part that has no copy leads to nothing that a check could see.
        let _ = lender.of_learner(value);
        let memory = lender.met().map(HeldMemory::of).map(|memory| (memory.place, memory));
        let leaves = lender.met().filter(|t| t.is_leaf() && t.requires_grad());
        let leaf = |t: &Tensor| HeldLeaf {
            grad: t.grad().as_ref().map(HeldMemory::of),
            hooks: t.leaf_functions().len(),
        };
        let leaves = leaves.map(|t| (t.id(), leaf(t)));
        let variables = lender.shared().map(|(place, value)| (place, plain(&value.flatten_clone(), 0)));
        let objects = lender.objects().filter_map(|(id, object)| Some((id, state(object)?)));
        Reach {
            memory: memory.collect(),
            leaves: leaves.collect(),
            variables: variables.collect(),
            objects: objects.collect(),
            modules: lender.modules().map(|(id, module)| (id, module.training())).collect(),
            places: lender.met().map(|t| (t.id(), t.device())).collect(),
            buffers: lender.modules().flat_map(|(_, module)| buffers(module)).collect(),
        }
    }

    /// What has changed of all that it led to, by how it is now.
    pub(crate) fn changed(&self, now: &Reach) -> Changed {
        let is_other =
            |(place, was): &(&usize, &HeldMemory)| now.memory.get(place).is_none_or(|now| !was.is(now));
        let mut others = self.memory.iter().filter(is_other).map(|(place, _)| place).peekable();
        let same = |was: &HashMap<usize, String>, now: &HashMap<usize, String>| {
            was.iter().all(|(place, was)| now.get(place) == Some(was))
        };
        let leaf = |(id, was): (&usize, &HeldLeaf)| now.leaves.get(id).is_some_and(|now| was.is(now));
        match others.peek().is_none() {
            false if others.all(|place| self.buffers.contains(place)) => Changed::Buffers,
            false => Changed::Memory,
            _ if !self.leaves.iter().all(leaf)
                || !same(&self.variables, &now.variables)
                || !same(&self.objects, &now.objects) =>
            {
                Changed::State
            }
            true => Changed::Nothing,
        }
    }

    /// The leaves that it led to which had no gradient.
    pub(crate) fn bare(&self) -> impl Iterator<Item = usize> {
        self.leaves.iter().filter(|(_, leaf)| leaf.grad.is_none()).map(|(id, _)| *id)
    }

    /// The modules that it led to, by their numbers, and whether they were in training.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (usize, bool)> {
        self.modules.iter().map(|(id, training)| (*id, *training))
    }

    /// Where the tensors lay that it led to, by their numbers.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, Device)> {
        self.places.iter().map(|(id, device)| (*id, *device))
    }
}

fn buffers(module: &Module) -> impl Iterator<Item = usize> {
    module.named(Role::Buffer).into_iter().map(|(_, t)| HeldMemory::of(&t).place)
}

/// What a thing is set to, beside its tensors, where that can be told.
fn state(object: &Value) -> Option<String> {
    if let Some(module) = Module::from_value(object) {
        return Some(parts(module));
    }
    if let Value::Object(object) = object {
        if let Some(optimizer) = object.get::<Optimizer>() {
            return Some(optimizer.settings());
        }
        if let Some(scheduler) = object.get::<Scheduler>() {
            return Some(schedule(scheduler));
        }
    }
    let held = given(object);
    let scaler = held.read_lock::<GradScaler>()?;
    Some(format!("{:?} {:?}", scaler.options(), scaler.get_scale().ok()))
}

/// Of a combined schedule, of each of its parts.
fn schedule(scheduler: &Scheduler) -> String {
    let (entries, _) = scheduler.state_dict();
    let parts: Vec<String> = scheduler.parts().iter().map(schedule).collect();
    format!("{entries:?} {}", parts.join(" "))
}

/// How a module is printed, its tensors' names, which of them are trained, and the plain values of its own.
fn parts(module: &Module) -> String {
    let tensors = [Role::Parameter, Role::Buffer].into_iter().flat_map(|role| module.named(role));
    let tensors: Vec<String> = tensors.map(|(name, t)| format!("{name} {}", t.requires_grad())).collect();
    let mut values = Vec::new();
    module.each(&mut |path, part| {
        values.extend(
            Own::of(part).map(|own| format!("{path} {}", plain(&Map::clone(&own.values()).into(), 0))),
        );
    });
    format!("{module} {} {}", tensors.join(" "), values.join(" "))
}

/// Whether two values are written alike, and hold the same things.
pub(crate) fn are_alike(a: &Dynamic, b: &Dynamic) -> bool {
    plain(a, 0) == plain(b, 0)
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
    if let Some(function) = value.read_lock::<FnPtr>() {
        let held: Vec<String> = function.iter_curry().map(|item| plain(item, depth + 1)).collect();
        return format!("{}({})", function.fn_name(), held.join(","));
    }
    let is_plain =
        value.is_int() || value.is_float() || value.is_bool() || value.is_string() || value.is_char();
    if is_plain { format!("{value:?}") } else { thing(value) }
}

/// Which thing a value is, where it is one that others hold as well.
fn thing(value: &Dynamic) -> String {
    let id = match from_dynamic(value) {
        Ok(Value::Tensor(t)) => Some(t.id()),
        Ok(Value::Object(object)) => {
            let module = object.get::<Module>().map(Module::id);
            let optimizer = || object.get::<Optimizer>().map(Optimizer::id);
            let data = || object.get::<Data>().map(|data| Arc::as_ptr(&data.0).cast::<()>().addr());
            module.or_else(optimizer).or_else(data)
        }
        _ => None,
    };
    format!("{} {id:?}", value.type_name())
}
