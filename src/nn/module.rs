//! A module: a layer's options and forward function, its tensors and its children.

mod copies;
mod hooked;

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use crate::base::{Error, Kind, Result};
use crate::op::{Args, Copies, Family, Object, OpDef, Param, Value};
use crate::tensor::Tensor;

use super::hooks::ModuleHooks;

/// What a kind of module is: its options and how it computes. Tensors and children are the module's.
pub trait Layer: Send + Sync + 'static {
    /// PyTorch's class name, such as `Linear`.
    fn name(&self) -> &str;

    /// What stands between the parentheses of the printed form.
    fn options(&self, module: &Module) -> String {
        let _ = module;
        String::new()
    }

    fn forward(&self, call: &Call) -> Result<Tensor>;

    /// The arguments of a call, for layers that take more than tensors, such as masks and flags.
    fn call_row(&self) -> Option<&'static OpDef> {
        None
    }

    /// A call with the arguments of [`Layer::call_row`]; it may give several values.
    fn respond(&self, call: &Call, args: &Args) -> Result<Value> {
        let _ = args;
        self.forward(call).map(Value::Tensor)
    }

    /// A value that a script may read, such as `in_features`.
    fn attribute(&self, name: &str) -> Option<Value> {
        let _ = name;
        None
    }

    /// The printed form counts equal children together, as `ModuleList` does.
    fn counts_children(&self) -> bool {
        false
    }

    /// Its children are numbered, as those of `Sequential`, and may be appended, inserted and taken out.
    fn is_list(&self) -> bool {
        false
    }

    /// Its children are a map that grows and shrinks, as those of `ModuleDict`.
    fn is_dict(&self) -> bool {
        false
    }

    /// For layers of higher layers, which look for their own.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// A copy for a module that stands in for this one elsewhere; none where one layer can serve both.
    fn replica(&self) -> Option<Arc<dyn Layer>> {
        None
    }

    /// A copy with copies of what it holds; none where it holds nothing that changes.
    ///
    /// # Errors
    /// It holds what can't be copied.
    fn copied(&self, copies: &mut dyn Copies) -> Result<Option<Arc<dyn Layer>>> {
        let _ = copies;
        Ok(None)
    }
}

/// Runs what was written in a script, while a script's call is on the stack.
pub trait Caller {
    /// Calls a function that a script-defined layer holds with the module and its inputs.
    fn call(&self, function: &dyn Any, module: &Module, inputs: &[&Tensor]) -> Result<Tensor>;

    /// Calls a hook of a module with the module, its inputs and, behind the forward function, its output: what it gave,
    /// if it gave anything.
    fn hook(
        &self,
        function: &Value,
        module: &Module,
        inputs: &[Value],
        output: Option<&Value>,
    ) -> Result<Option<Value>>;
}

/// One call of a module's forward function.
pub struct Call<'a> {
    pub module: &'a Module,
    pub inputs: &'a [&'a Tensor],
    pub caller: &'a dyn Caller,
}

impl Call<'_> {
    /// The `i`-th input, or an error that counts them.
    pub fn input(&self, i: usize) -> Result<&Tensor> {
        self.inputs.get(i).copied().ok_or_else(|| {
            let (name, given) = (self.module.name(), self.inputs.len());
            Error::type_error(format!("{name}.forward() takes more than {given} inputs"))
        })
    }

    /// What a layer with a [`Layer::call_row`] gives for these inputs; of several values the first.
    pub(crate) fn responded(&self) -> Result<Tensor> {
        let inputs = self.inputs.iter().map(|t| Value::Tensor((*t).clone())).collect();
        match self.module.respond(inputs, Vec::new(), self.caller)? {
            Value::Tensor(t) => Ok(t),
            Value::List(items) => match items.into_iter().next() {
                Some(Value::Tensor(t)) => Ok(t),
                _ => Err(Error::runtime(format!("{} gave no tensor", self.module.name()))),
            },
            _ => Err(Error::runtime(format!("{} gave no tensor", self.module.name()))),
        }
    }

    /// The only input.
    pub fn only(&self) -> Result<&Tensor> {
        match self.inputs {
            [x] => Ok(x),
            many => {
                let text = format!("{}.forward() takes 1 input, not {}", self.module.name(), many.len());
                Err(Error::type_error(text))
            }
        }
    }
}

/// Fails on a name that no part of a module can have.
pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::value(format!("{what} name can't be empty string \"\"")));
    }
    if name.contains('.') {
        return Err(Error::value(format!("{what} name can't contain \".\", got: {name}")));
    }
    Ok(())
}

/// What a tensor is to its module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Trained: optimisers change it.
    Parameter,
    /// Part of the state, not trained, such as running statistics.
    Buffer,
}

/// Tensors and children of a module to be.
#[derive(Default)]
pub struct Parts {
    slots: Vec<ModuleSlot>,
    children: Vec<(String, Module)>,
}

pub(super) struct ModuleSlot {
    pub(super) name: String,
    pub(super) tensor: Option<Tensor>,
    pub(super) role: Role,
    /// Part of the state.
    pub(super) persistent: bool,
}

/// Modules directly below another, by name and in order. A copy stays as it is while the module changes.
pub(crate) type Children = Arc<Vec<(String, Module)>>;

/// A network or a part of one. Cloning gives the same module.
#[derive(Clone)]
pub struct Module(Arc<ModuleInner>);

struct ModuleInner {
    layer: Arc<dyn Layer>,
    training: AtomicBool,
    slots: RwLock<Vec<ModuleSlot>>,
    children: RwLock<Children>,
    /// Who holds this as a child: with it, a change keeps networks free of cycles and below the greatest height.
    parents: Mutex<Vec<Weak<ModuleInner>>>,
    hooks: Arc<ModuleHooks>,
    /// Counts modules in the order in which they were made.
    number: u64,
}

/// The tallest module that may be built.
const MAX_HEIGHT: usize = 100;

impl Parts {
    /// Of a module that holds nothing.
    pub fn new() -> Parts {
        Parts::default()
    }

    /// A parameter; an absent one (`bias=False`) keeps its name.
    pub fn parameter(self, name: impl Into<String>, tensor: Option<Tensor>) -> Parts {
        self.slot(name.into(), tensor, Role::Parameter)
    }

    /// With a buffer, which is saved but not trained.
    pub fn buffer(self, name: impl Into<String>, tensor: Option<Tensor>) -> Parts {
        self.slot(name.into(), tensor, Role::Buffer)
    }

    /// With a child under its name.
    pub fn child(mut self, name: impl Into<String>, module: Module) -> Parts {
        self.children.push((name.into(), module));
        self
    }

    fn slot(mut self, name: String, tensor: Option<Tensor>, role: Role) -> Parts {
        self.slots.push(ModuleSlot { name, tensor, role, persistent: true });
        self
    }
}

impl Module {
    /// A module in training mode. Parameters are made to require grad.
    pub fn new(layer: impl Layer, parts: Parts) -> Result<Module> {
        for slot in parts.slots.iter().filter(|s| s.role == Role::Parameter) {
            if let Some(t) = &slot.tensor
                && t.is_leaf()
                && !t.requires_grad()
                && !t.is_parameter()
            {
                t.set_requires_grad(true)?;
            }
        }
        parts.children.iter().try_for_each(|(name, _)| check_name("module", name))?;
        let mut known = HashMap::new();
        let height = parts.children.iter().map(|(_, m)| m.height(&mut known)).max().unwrap_or(0);
        check_height(1 + height)?;
        Ok(Module::joined_up(Arc::new(layer), true, parts.slots, parts.children, Arc::default()))
    }

    /// A module whose children know it as a parent.
    fn joined_up(
        layer: Arc<dyn Layer>,
        training: bool,
        slots: Vec<ModuleSlot>,
        children: Vec<(String, Module)>,
        hooks: Arc<ModuleHooks>,
    ) -> Module {
        let trained = slots.iter().filter(|s| s.role == Role::Parameter);
        trained.filter_map(|s| s.tensor.as_ref()).for_each(Tensor::mark_parameter);
        static MADE: AtomicU64 = AtomicU64::new(0);
        let module = Module(Arc::new(ModuleInner {
            layer,
            training: AtomicBool::new(training),
            slots: RwLock::new(slots),
            children: RwLock::new(Arc::new(children)),
            parents: Mutex::default(),
            hooks,
            number: MADE.fetch_add(1, Ordering::Relaxed),
        }));
        module.children().iter().for_each(|(_, child)| child.adopt(&module));
        module
    }

    /// Notes a parent, and forgets those that are gone.
    fn adopt(&self, parent: &Module) {
        let mut parents = self.0.parents.lock().unwrap_or_else(PoisonError::into_inner);
        parents.retain(|p| p.strong_count() > 0);
        parents.push(Arc::downgrade(&parent.0));
    }

    /// The longest chain of modules from here down.
    fn height(&self, known: &mut HashMap<usize, usize>) -> usize {
        let id = self.id();
        if let Some(height) = known.get(&id) {
            return *height;
        }
        let height = 1 + self.children().iter().map(|(_, m)| m.height(known)).max().unwrap_or(0);
        known.insert(id, height);
        height
    }

    /// The longest chain of modules above this one.
    fn depth(&self, known: &mut HashMap<usize, usize>) -> usize {
        let id = self.id();
        if let Some(depth) = known.get(&id) {
            return *depth;
        }
        let parents = self.0.parents.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let above = parents.iter().filter_map(Weak::upgrade).map(Module);
        let depth = above.map(|m| 1 + m.depth(known)).max().unwrap_or(0);
        known.insert(id, depth);
        depth
    }

    /// Has other modules directly below.
    ///
    /// # Errors
    /// `ValueError` where a module would stand inside itself, or too deep.
    pub(super) fn set_children(&self, children: Vec<(String, Module)>) -> Result<()> {
        let before = self.children();
        let held = |all: &[(String, Module)], m: &Module| all.iter().any(|(_, c)| c.is(m));
        let new: Vec<&Module> = children.iter().map(|(_, m)| m).filter(|m| !held(&before, m)).collect();
        let depth = if new.is_empty() { 0 } else { self.depth(&mut HashMap::new()) };
        let mut known = HashMap::new();
        for module in &new {
            let mut inside = false;
            module.each(&mut |_, m| inside |= m.is(self));
            if inside {
                let text = format!("a {} cannot hold itself as a child", self.name());
                return Err(Error::value(text).with_hint("put a copy there, or another module"));
            }
            check_height(depth + 1 + module.height(&mut known))?;
        }
        new.iter().for_each(|m| m.adopt(self));
        for (_, child) in before.iter().filter(|(_, c)| !held(&children, c)) {
            let mut parents = child.0.parents.lock().unwrap_or_else(PoisonError::into_inner);
            parents.retain(|p| !std::ptr::eq(p.as_ptr(), Arc::as_ptr(&self.0)));
        }
        *self.0.children.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(children);
        Ok(())
    }

    /// A number that tells modules apart while they live.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The module that a value holds.
    pub(crate) fn from_value(value: &Value) -> Option<&Module> {
        match value {
            Value::Object(o) => o.get(),
            _ => None,
        }
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("Module", self))
    }

    /// PyTorch's name of the class, such as `Linear`.
    pub fn name(&self) -> &str {
        self.0.layer.name()
    }

    /// What it computes.
    pub fn layer(&self) -> &dyn Layer {
        self.0.layer.as_ref()
    }

    /// Its number among all modules, which grows in the order in which they are made.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Whether two handles are the same module.
    pub fn is(&self, other: &Module) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Computes the module's output, between its hooks. `caller` runs script-written modules inside.
    pub fn forward(&self, inputs: &[&Tensor], caller: &dyn Caller) -> Result<Tensor> {
        let run = |inputs: &[&Tensor]| self.0.layer.forward(&Call { module: self, inputs, caller });
        // Layers with arguments of their own come by `respond`.
        if !self.is_hooked() || self.layer().call_row().is_some() {
            return run(inputs);
        }
        self.tensors_between_hooks(inputs, caller, run)
    }

    /// Computes the output of a layer that has a [`Layer::call_row`], from positional arguments and options.
    pub(crate) fn respond(
        &self,
        positional: Vec<Value>,
        options: Vec<(String, Value)>,
        caller: &dyn Caller,
    ) -> Result<Value> {
        let Some(row) = self.layer().call_row() else {
            return Err(Error::type_error(format!("{}.forward() takes tensors alone", self.name())));
        };
        let run = |positional: Vec<Value>| {
            let args = Args::bind(row, positional, options)?;
            self.layer().respond(&Call { module: self, inputs: &[], caller }, &args)
        };
        if !self.is_hooked() {
            return run(positional);
        }
        self.between_hooks(positional, caller, |positional| run(positional.to_vec()))
    }

    /// Whether dropout drops and batch statistics are taken.
    pub fn training(&self) -> bool {
        self.0.training.load(Ordering::Relaxed)
    }

    /// Sets training mode here, and not in the children.
    pub(crate) fn set_training(&self, on: bool) {
        self.0.training.store(on, Ordering::Relaxed);
    }

    /// Sets training mode here and in every child.
    pub fn train(&self, on: bool) {
        self.each(&mut |_, m| m.set_training(on));
    }

    /// A tensor of this module itself, if it has one of that name.
    pub fn tensor(&self, name: &str) -> Option<Tensor> {
        self.slots().iter().find(|s| s.name == name).and_then(|s| s.tensor.clone())
    }

    /// A tensor that a layer was built with.
    pub fn needed(&self, name: &str) -> Result<Tensor> {
        self.tensor(name).ok_or_else(|| self.missing(name))
    }

    /// The role of a name among this module's tensors, present or absent.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.slots().iter().find(|s| s.name == name).map(|s| s.role)
    }

    /// Puts another tensor in a slot, as in sharing a weight between two layers. Whether it is a parameter where one
    /// stands has been asked.
    pub(crate) fn set_tensor(&self, name: &str, tensor: Option<Tensor>) -> Result<()> {
        let mut slots = self.slots_mut();
        let Some(at) = slots.iter().position(|s| s.name == name) else { return Err(self.missing(name)) };
        // As in PyTorch, a parameter that takes the place of a buffer is one, and the last.
        if tensor.as_ref().is_some_and(Tensor::is_parameter)
            && slots.get(at).is_some_and(|slot| slot.role != Role::Parameter)
        {
            let slot = slots.remove(at);
            slots.push(ModuleSlot { tensor, role: Role::Parameter, ..slot });
            return Ok(());
        }
        let Some(slot) = slots.get_mut(at) else { return Err(self.missing(name)) };
        // A method called on a module's tensor in a script hands the tensor back.
        if let (Some(new), Some(old)) = (&tensor, &slot.tensor)
            && new.is(old)
        {
            return Ok(());
        }
        if let (Role::Parameter, Some(tensor)) = (slot.role, &tensor) {
            tensor.mark_parameter();
        }
        slot.tensor = tensor;
        Ok(())
    }

    /// This module's own tensors in order, absent ones left out.
    pub(crate) fn own_tensors(&self) -> Vec<(String, Tensor, Role)> {
        let present = |s: &ModuleSlot| s.tensor.as_ref().map(|t| (s.name.clone(), t.clone(), s.role));
        self.slots().iter().filter_map(present).collect()
    }

    /// The modules directly below, in order.
    pub fn children(&self) -> Children {
        Arc::clone(&self.0.children.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The module directly below of a name.
    pub fn child(&self, name: &str) -> Option<Module> {
        self.children().iter().find(|(n, _)| n == name).map(|(_, m)| m.clone())
    }

    /// The `i`-th module directly below; a negative number counts from the end.
    pub fn nth(&self, i: i64) -> Result<Module> {
        self.named_nth(i).map(|(_, m)| m)
    }

    /// [`nth`](Module::nth) with its name.
    pub(super) fn named_nth(&self, i: i64) -> Result<(String, Module)> {
        let children = self.children();
        let count = children.len() as i64;
        let at = if i < 0 { i + count } else { i };
        let found = usize::try_from(at).ok().and_then(|at| children.get(at));
        found.cloned().ok_or_else(|| {
            Error::new(Kind::IndexError, format!("index {i} is out of range"))
                .with_hint(format!("{} has {count} modules", self.name()))
        })
    }

    /// Visits this module and all below it, each once, parents first, with dotted paths.
    pub fn each(&self, visit: &mut dyn FnMut(&str, &Module)) {
        fn walk(m: &Module, path: &str, seen: &mut HashSet<usize>, visit: &mut dyn FnMut(&str, &Module)) {
            if !seen.insert(m.id()) {
                return;
            }
            visit(path, m);
            for (name, child) in m.children().iter() {
                walk(child, &joined(path, name), seen, visit);
            }
        }
        walk(self, "", &mut HashSet::new(), visit);
    }

    /// Tensors of a role here and below, each once, with dotted names.
    pub fn named(&self, role: Role) -> Vec<(String, Tensor)> {
        let mut all = Vec::new();
        let mut seen = HashSet::new();
        self.each(&mut |path, m| {
            for slot in m.slots().iter().filter(|s| s.role == role) {
                if let Some(t) = slot.tensor.as_ref().filter(|t| seen.insert(t.id())) {
                    all.push((joined(path, &slot.name), t.clone()));
                }
            }
        });
        all
    }

    /// A handle of each tensor here and below for each that a module has, where none of the modules has another owner:
    /// what would be gone with this one.
    pub fn gone_with_it(&self) -> Option<Vec<Tensor>> {
        let (mut tensors, mut alone) = (Vec::new(), true);
        self.each(&mut |_, m| {
            alone &= Arc::strong_count(&m.0) == 1;
            tensors.extend(m.slots().iter().filter_map(|slot| slot.tensor.clone()));
        });
        alone.then_some(tensors)
    }

    /// The trained tensors here and below, each once.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.named(Role::Parameter).into_iter().map(|(_, t)| t).collect()
    }

    /// Drops the gradients of all parameters, or fills them with zeros where `set_to_none` is off.
    ///
    /// # Errors
    /// A check runs, and the parameters are the learner's.
    pub fn zero_grad(&self, set_to_none: bool) -> Result<()> {
        self.parameters().iter().try_for_each(|p| p.reset_grad(set_to_none))
    }

    /// Asks for gradients of all parameters, or gives them up.
    pub fn requires_grad_(&self, on: bool) -> Result<()> {
        self.parameters().iter().try_for_each(|p| p.set_requires_grad(on))
    }

    fn missing(&self, name: &str) -> Error {
        let names: Vec<String> = self.slots().iter().map(|s| s.name.clone()).collect();
        let error = Error::new(Kind::TypeError, format!("'{}' object has no tensor '{name}'", self.name()));
        error.with_near(name, names.iter().map(String::as_str))
    }

    pub(super) fn slots(&self) -> RwLockReadGuard<'_, Vec<ModuleSlot>> {
        self.0.slots.read().unwrap_or_else(|e| e.into_inner())
    }

    pub(super) fn slots_mut(&self) -> RwLockWriteGuard<'_, Vec<ModuleSlot>> {
        self.0.slots.write().unwrap_or_else(|e| e.into_inner())
    }
}

fn check_height(height: usize) -> Result<()> {
    if height > MAX_HEIGHT {
        return Err(Error::value(format!("modules are nested more than {MAX_HEIGHT} deep")));
    }
    Ok(())
}

/// `0.weight`; a path at the top is the name alone.
pub fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}

/// The arguments of a layer's forward function. The row is bound to, never run: the layer needs its module.
pub(crate) const fn call_row(name: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::call(name, Family::Module, "The forward function of a module.", params, |a| {
        Err(Error::type_error(format!("{}() is called on a module", a.def.name)))
    })
}
