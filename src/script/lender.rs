//! What the learner's code gets while a check calls it: copies of all that it could write to. A rank gets such copies too,
//! and `deepcopy` makes them.
//!
//! One [`Lender`] serves one call. What is one thing to the learner, wherever it lies, has one copy: a parameter is the
//! same tensor to the optimiser, to the closures that captured it and to what the check hands over.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rhai::{Array, Dynamic, FnPtr, Map};

use crate::amp::GradScaler;
use crate::base::chain::Link;
use crate::base::{Device, Error, Layout, Result};
use crate::data::dataset::Function as AnyThreads;
use crate::data::sampler::{Generator, Sampler};
use crate::data::{Data, DataLoader};
use crate::device::Machine;
use crate::device::random::Shared;
use crate::distributed::PendingWork;
use crate::nn::Module;
use crate::nn::packed::Packed;
use crate::op::args::FUNCTION;
use crate::op::{Copies, MapValue, Object, Value, map_value};
use crate::optim::lr_scheduler::Function;
use crate::optim::{Optimizer, Scheduler};
use crate::tensor::Tensor;
use crate::tensor::hooks::Handle;

use super::aside::AsideFunction;
use super::lent::Lent;
use super::modules::cuda::{Captured, Event};
use super::modules::data::Batches;
use super::modules::hook::Hook;
use super::modules::optim::ParamGroup;
use super::modules::own_function::OwnFunction;
use super::value::{Callback, Held, NOT_LENT, from_dynamic, given, to_dynamic, type_name};

/// A learner's function, as a check holds it.
#[derive(Clone)]
pub(super) struct HandedFunction(Link<FnPtr>);

impl HandedFunction {
    pub(super) fn new(function: FnPtr) -> HandedFunction {
        HandedFunction(Link::new(function))
    }
}

/// How far things may lie within each other.
const DEEPEST: usize = 200;

/// Makes the copies of one call.
pub(super) struct Lender {
    lent: Lent,
    /// The generator that the learner's code draws from by itself.
    generator: Shared,
    /// The learner's modules, by the numbers of those that the check has.
    originals: HashMap<usize, usize>,
    /// The modes of modules that are to be other than they are now.
    modes: HashMap<usize, bool>,
    /// Leaves that are to have no gradient.
    bare: HashSet<usize>,
    /// Where tensors lay, by their numbers, and whether copies are to lie there.
    places: HashMap<usize, Device>,
    puts_back: bool,
    /// A tensor was met that lies elsewhere now.
    met_moved: bool,
    /// Functions stay themselves, with what they have captured, and there is no copy of what the graph has computed.
    as_python: bool,
    /// Memory is copied once it is written to, and what has no copy stays itself.
    forks: bool,
    /// Who it is for, and what that can't do with what can't be copied.
    taker: &'static str,
    depth: usize,
    tensors: HashMap<usize, Tensor>,
    /// Copies of memory, as tensors of one dimension.
    storages: HashMap<usize, Tensor>,
    /// Variables that closures share.
    cells: HashMap<usize, Dynamic>,
    objects: HashMap<usize, Value>,
    /// What was in the variables, and the things themselves, where tensors are lent.
    met_cells: Vec<(usize, Dynamic)>,
    met_objects: Vec<(usize, Value)>,
}

impl Lender {
    pub(super) fn new(lent: Lent, generator: &Shared, originals: HashMap<usize, usize>) -> Lender {
        Lender {
            lent,
            generator: generator.clone(),
            originals,
            modes: HashMap::new(),
            bare: HashSet::new(),
            places: HashMap::new(),
            puts_back: false,
            met_moved: false,
            as_python: false,
            forks: false,
            taker: "a check can't call",
            depth: 0,
            tensors: HashMap::new(),
            storages: HashMap::new(),
            cells: HashMap::new(),
            objects: HashMap::new(),
            met_cells: Vec::new(),
            met_objects: Vec::new(),
        }
    }

    /// With modules, by their numbers, in these modes, and without the gradients of leaves.
    pub(super) fn with_given(self, modes: HashMap<usize, bool>, bare: HashSet<usize>) -> Lender {
        Lender { modes, bare, ..self }
    }

    /// With copies where the tensors lay, if so wanted.
    pub(super) fn with_places(self, places: HashMap<usize, Device>, puts_back: bool) -> Lender {
        Lender { places, puts_back, ..self }
    }

    /// Whether a tensor was met that lies elsewhere now.
    pub(super) fn met_moved(&self) -> bool {
        self.met_moved
    }

    /// For a rank, which has copies of all that it is given.
    pub(super) fn for_rank(generator: &Shared) -> Lender {
        Lender { taker: "a rank can't be given", ..Lender::new(Lent::Copies, generator, HashMap::new()) }
    }

    /// For a loader's worker, which has of all things what a forked process has.
    pub(super) fn for_worker(generator: &Shared) -> Lender {
        let lender = Lender::new(Lent::Copies, generator, HashMap::new());
        Lender { taker: "a loader's worker can't be given", forks: true, ..lender }
    }

    /// As Python's `copy.deepcopy`.
    pub(super) fn for_deepcopy(generator: &Shared) -> Lender {
        let lender = Lender::new(Lent::Copies, generator, HashMap::new());
        Lender { taker: "deepcopy can't copy", as_python: true, ..lender }
    }

    /// The tensors that were met.
    pub(super) fn met(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.values()
    }

    /// What was met besides tensors and variables, by its number; modules and optimisers themselves, not their copies.
    pub(super) fn objects(&self) -> impl Iterator<Item = (usize, &Value)> {
        self.met_objects.iter().map(|(id, value)| (*id, value))
    }

    /// The modules among them.
    pub(super) fn modules(&self) -> impl Iterator<Item = (usize, &Module)> {
        self.objects().filter_map(|(id, value)| Some((id, Module::from_value(value)?)))
    }

    /// The variables that were met in closures, by where they lie, with what is in them.
    pub(super) fn shared(&self) -> impl Iterator<Item = (usize, &Dynamic)> {
        self.met_cells.iter().map(|(place, value)| (*place, value))
    }

    /// The copy of a check's value.
    ///
    /// # Errors
    /// It can't be copied, or has a function of the check's own.
    pub(super) fn of_check(&mut self, value: &Dynamic) -> Result<Dynamic> {
        let value = value.flatten_clone();
        if let Some(items) = value.read_lock::<Array>() {
            let copy = |item: &Dynamic| self.deeper(|lender| lender.of_check(item));
            return items.iter().map(copy).collect::<Result<Array>>().map(Dynamic::from_array);
        }
        if let Some(entries) = value.read_lock::<Map>() {
            let mut copy = Map::new();
            for (name, item) in entries.iter() {
                copy.insert(name.clone(), self.deeper(|lender| lender.of_check(item))?);
            }
            return Ok(Dynamic::from_map(copy));
        }
        if value.is::<FnPtr>() {
            return Err(Error::type_error(NOT_LENT));
        }
        self.of_learner(&value)
    }

    /// The copy of what the learner has.
    ///
    /// # Errors
    /// It can't be copied.
    pub(super) fn of_learner(&mut self, value: &Dynamic) -> Result<Dynamic> {
        if value.is_shared() {
            return self.cell(value);
        }
        if let Some(items) = value.read_lock::<Array>() {
            let copy = |item: &Dynamic| self.deeper(|lender| lender.of_learner(item));
            return items.iter().map(copy).collect::<Result<Array>>().map(Dynamic::from_array);
        }
        if let Some(entries) = value.read_lock::<Map>() {
            let mut copy = Map::new();
            for (name, item) in entries.iter() {
                copy.insert(name.clone(), self.deeper(|lender| lender.of_learner(item))?);
            }
            return Ok(Dynamic::from_map(copy));
        }
        if let Some(HandedFunction(function)) = value.read_lock::<HandedFunction>().as_deref() {
            return self.function(function).map(Dynamic::from);
        }
        if let Some(function) = value.read_lock::<FnPtr>() {
            return self.function(&function).map(Dynamic::from);
        }
        self.deeper(|lender| match from_dynamic(value) {
            Ok(known @ (Value::Tensor(_) | Value::Object(_))) => lender.value(&known).map(to_dynamic),
            Ok(_) => Ok(value.clone()),
            Err(_) => lender.of_script(value),
        })
    }

    /// A function with copies of what it has captured.
    pub(super) fn function(&mut self, function: &FnPtr) -> Result<FnPtr> {
        if self.as_python {
            return Ok(function.clone());
        }
        let captured: Vec<Dynamic> =
            function.iter_curry().map(|value| self.deeper(|l| l.of_learner(value))).collect::<Result<_>>()?;
        let mut copy = function.clone();
        copy.set_curry(captured);
        Ok(copy)
    }

    /// A variable that closures share, or share with the learner's cell.
    fn cell(&mut self, value: &Dynamic) -> Result<Dynamic> {
        let place = value.read_lock::<Dynamic>().map(|inside| std::ptr::from_ref::<Dynamic>(&inside).addr());
        let place = place.ok_or_else(|| Error::runtime("a variable is in use"))?;
        if let Some(copy) = self.cells.get(&place) {
            return Ok(copy.clone());
        }
        if self.lent == Lent::OwnTensors {
            self.met_cells.push((place, value.flatten_clone()));
        }
        // What lies in it may lead back to it.
        let mut copy = Dynamic::UNIT.into_shared();
        self.cells.insert(place, copy.clone());
        let inside = self.deeper(|lender| lender.of_learner(&value.flatten_clone()))?.flatten();
        if let Some(mut slot) = copy.write_lock::<Dynamic>() {
            *slot = inside;
        }
        Ok(copy)
    }

    /// A value of a type that the script alone knows.
    fn of_script(&mut self, value: &Dynamic) -> Result<Dynamic> {
        if let Some(group) = value.read_lock::<ParamGroup>() {
            return group.copied_with(self).map(Dynamic::from);
        }
        if let Some(event) = value.read_lock::<Event>() {
            return self.once_held((event.id(), value), |_| Ok(Dynamic::from(event.copied())));
        }
        if let Some(scaler) = value.read_lock::<GradScaler>() {
            return self.once_held((scaler.id(), value), |own| scaler.copied_with(own).map(Dynamic::from));
        }
        if let Some(loader) = value.read_lock::<DataLoader>() {
            return self.once_held((loader.id(), value), |own| loader.copied_with(own).map(Dynamic::from));
        }
        if let Some(f) = value.read_lock::<OwnFunction>() {
            return self.once_held((f.id(), value), |own| f.copied_with(own).map(Dynamic::from));
        }
        let has_no_copy = value.is::<Handle>()
            || value.is::<Batches>()
            || value.is::<Captured>()
            || value.is::<PendingWork>();
        if has_no_copy && !self.forks {
            let what = type_name(value);
            let text = format!("{} what holds a {what}: there is no copy of one", self.taker);
            return Err(Error::type_error(text));
        }
        Ok(value.clone())
    }

    fn object(&mut self, object: &Object) -> Result<Value> {
        let itself = || Value::Object(object.clone());
        if let Some(module) = object.get::<Module>() {
            let id = self.originals.get(&module.id()).copied().unwrap_or(module.id());
            return self.once((id, itself()), |own| {
                let copy = module.copied_with(own)?;
                if let Some(training) = own.modes.get(&id) {
                    copy.set_training(*training);
                }
                Ok(copy.into_value())
            });
        }
        if let Some(optimizer) = object.get::<Optimizer>() {
            return self.once((optimizer.id(), itself()), |own| Ok(optimizer.copied_with(own)?.into_value()));
        }
        if let Some(scheduler) = object.get::<Scheduler>() {
            return self.once((scheduler.id(), itself()), |own| Ok(scheduler.copied_with(own)?.into_value()));
        }
        if let Some(data) = object.get::<Data>() {
            let id = Arc::as_ptr(&data.0).cast::<()>().addr();
            return self.once((id, itself()), |own| Ok(data.0.copied(own)?.into_value()));
        }
        if let Some(sampler) = object.get::<Sampler>() {
            return self.once((sampler.id(), itself()), |own| Ok(sampler.copied_with(own)?.into_value()));
        }
        if let Some(Generator(from)) = object.get::<Generator>() {
            let own = if *from == self.generator { from.clone() } else { from.copied() };
            return self.once((from.id(), itself()), |_| {
                Ok(Value::Object(Object::new("Generator", Generator(own.clone()))))
            });
        }
        self.holder(object)
    }

    /// What is no thing of its own, but has others in it.
    fn holder(&mut self, object: &Object) -> Result<Value> {
        if let Some(Held(value)) = object.get::<Held>() {
            return Ok(Value::Object(Object::new(object.kind, Held(self.of_learner(value)?))));
        }
        if let Some(callback) = object.get::<Function>().and_then(|f| f.downcast_ref::<Callback>()) {
            let copy: Function = Arc::new(callback.copied_with(self)?);
            return Ok(Value::Object(Object::new(FUNCTION, copy)));
        }
        if let Some(function) = object.get::<AnyThreads>() {
            let aside = function.0.as_any().downcast_ref::<AsideFunction>().filter(|_| !self.as_python);
            let copy = aside.map_or_else(|| Ok(function.clone()), |aside| aside.copied_with(self))?;
            return Ok(copy.into_value());
        }
        if let Some(packed) = object.get::<Packed>() {
            let data = self.tensor(&packed.data)?;
            return Ok(
                Packed { data, sizes: packed.sizes.clone(), sorted: packed.sorted.clone() }.into_value()
            );
        }
        if let Some(map) = object.get::<MapValue>() {
            let copy = map.iter().map(|(name, value)| Ok((name.clone(), self.value(value)?)));
            return copy.collect::<Result<_>>().map(map_value);
        }
        Ok(Value::Object(object.clone()))
    }

    /// The one copy of a thing.
    fn once(
        &mut self,
        (id, original): (usize, Value),
        make: impl FnOnce(&mut Lender) -> Result<Value>,
    ) -> Result<Value> {
        if let Some(copy) = self.objects.get(&id) {
            return Ok(copy.clone());
        }
        if self.lent == Lent::OwnTensors {
            self.met_objects.push((id, original));
        }
        let copy = self.deeper(make)?;
        // It may have been met on the way.
        Ok(self.objects.entry(id).or_insert(copy).clone())
    }

    /// The same of what the script alone knows.
    fn once_held(
        &mut self,
        (id, original): (usize, &Dynamic),
        make: impl FnOnce(&mut Lender) -> Result<Dynamic>,
    ) -> Result<Dynamic> {
        let original = Held(original.clone()).into_value();
        self.once((id, original), |lender| Ok(Held(make(lender)?).into_value())).map(|copy| given(&copy))
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Lender) -> Result<T>) -> Result<T> {
        if self.depth >= DEEPEST {
            let text = format!("{} what holds values so deep within each other", self.taker);
            return Err(Error::runtime(text));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    /// The copy of a tensor's whole memory.
    fn memory(&mut self, t: &Tensor) -> Result<Tensor> {
        let id = Arc::as_ptr(t.storage()).addr();
        if let Some(copy) = self.storages.get(&id) {
            return Ok(copy.clone());
        }
        if self.forks {
            // On a device, and page-locked, it is one memory for all processes.
            let copy = t.forked()?.unwrap_or_else(|| t.detach());
            self.storages.insert(id, copy.clone());
            return Ok(copy);
        }
        let whole = t.with_layout(Layout::contiguous(&[t.storage().numel()])?);
        let copy = whole.copied(t.dtype(), "clone")?;
        let copy = if t.is_pinned() { copy.pin_memory()? } else { copy };
        self.storages.insert(id, copy.clone());
        Ok(copy)
    }
}

impl Copies for Lender {
    fn tensor(&mut self, t: &Tensor) -> Result<Tensor> {
        let was = self.places.get(&t.id()).copied().filter(|was| *was != t.device());
        self.met_moved |= was.is_some();
        if self.lent == Lent::OwnTensors {
            return Ok(self.tensors.entry(t.id()).or_insert_with(|| t.clone()).clone());
        }
        if let Some(copy) = self.tensors.get(&t.id()) {
            return Ok(copy.clone());
        }
        if self.as_python && t.requires_grad() && !t.is_leaf() {
            return Err(Error::runtime(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.",
            )
            .with_hint("`x.detach().clone()` is a copy outside the graph, `x.clone()` one in it"));
        }
        let copy = self.memory(t)?.with_layout(t.layout().clone());
        self.tensors.insert(t.id(), copy.clone());
        let is_trained = t.requires_grad() && t.is_leaf();
        if is_trained {
            copy.set_requires_grad(true)?;
        }
        if let Some(grad) = t.grad().filter(|_| !self.bare.contains(&t.id())) {
            let grad = self.deeper(|lender| lender.tensor(&grad))?;
            copy.set_grad(Some(grad))?;
        }
        for hook in t.leaf_functions().into_iter().filter(|_| is_trained) {
            if let Some(Hook(callback)) = hook.downcast_ref::<Hook>() {
                let own = self.deeper(|lender| callback.copied_with(lender))?;
                copy.register_hook(Arc::new(Hook(own)))?;
            }
        }
        if let Some(place) = was.filter(|_| self.puts_back) {
            put(&copy, place)?;
        }
        Ok(copy)
    }

    fn value(&mut self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::Tensor(t) => Value::Tensor(self.tensor(t)?),
            Value::List(items) => {
                let copy = |item: &Value| self.deeper(|lender| lender.value(item));
                Value::List(items.iter().map(copy).collect::<Result<_>>()?)
            }
            Value::Map(entries) => {
                let copy = |(name, item): &(&'static str, Value)| Ok((*name, self.value(item)?));
                Value::Map(entries.iter().map(copy).collect::<Result<_>>()?)
            }
            Value::Object(object) => self.object(object)?,
            plain => plain.clone(),
        })
    }
}

/// Moves a copy to a device, and the gradient that it has.
fn put(copy: &Tensor, place: Device) -> Result<()> {
    let machine = Machine::current();
    let target = machine.context(place)?;
    let grad = copy.grad();
    grad.iter().chain([copy]).try_for_each(|t| t.convert_in_place(target, t.dtype()))
}
