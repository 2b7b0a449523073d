//! Changing what a module is made of: its children, parameters and buffers, by name and by number.

use crate::base::{Error, Kind, Result};
use crate::tensor::Tensor;

use super::Module;
use super::module::{ModuleSlot, Role, check_name};

impl Module {
    /// Puts a module under a name: in the place of the child that has it, or behind the others. A parameter or
    /// buffer of that name makes way for it.
    ///
    /// # Errors
    /// A name that no state could hold, and a module that would stand inside itself.
    pub(crate) fn set_child(&self, name: &str, module: Module) -> Result<()> {
        check_name("module", name)?;
        let mut children = self.children().to_vec();
        put(&mut children, name.to_string(), module);
        self.set_children(children)?;
        self.slots_mut().retain(|slot| slot.name != name);
        Ok(())
    }

    /// Takes a child out.
    pub(crate) fn remove_child(&self, name: &str) -> Result<()> {
        let kept = self.children().iter().filter(|(n, _)| n != name).cloned().collect();
        self.set_children(kept)
    }

    /// Has a tensor as a parameter from now on. A child of that name makes way for it.
    ///
    /// # Errors
    /// A tensor that is no leaf: what is trained is computed from nothing.
    pub fn register_parameter(&self, name: &str, tensor: Option<Tensor>) -> Result<()> {
        if let Some(t) = &tensor {
            if !t.is_leaf() {
                let text = format!(
                    "Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created \
                     explicitly. To express '{name}' as a function of another Tensor, compute the value in the \
                     forward() method."
                );
                return Err(Error::value(text));
            }
            // One that was frozen stays so.
            if !t.is_parameter() {
                t.set_requires_grad(true)?;
            }
            t.mark_parameter();
        }
        self.register(ModuleSlot { name: name.to_string(), tensor, role: Role::Parameter, persistent: true })
    }

    /// Has a tensor as a buffer from now on, in the state where it is `persistent`.
    pub fn register_buffer(&self, name: &str, tensor: Option<Tensor>, persistent: bool) -> Result<()> {
        self.register(ModuleSlot { name: name.to_string(), tensor, role: Role::Buffer, persistent })
    }

    fn register(&self, slot: ModuleSlot) -> Result<()> {
        check_name(if slot.role == Role::Parameter { "parameter" } else { "buffer" }, &slot.name)?;
        if self.child(&slot.name).is_some() {
            self.remove_child(&slot.name)?;
        }
        let mut slots = self.slots_mut();
        match slots.iter_mut().find(|s| s.name == slot.name) {
            Some(place) => *place = slot,
            None => slots.push(slot),
        }
        Ok(())
    }

    /// Puts a module into a list before its `at`-th; a negative number counts from the end. Those behind it move on to
    /// the numbers that follow theirs, and what has a name of its own stays where it is, as in PyTorch.
    ///
    /// # Errors
    /// `KeyError` where one that would move on has no number.
    pub fn insert(&self, at: i64, module: Module) -> Result<()> {
        let mut all = self.listed("insert")?;
        let count = all.len();
        let place = if at < 0 { at + count as i64 } else { at };
        let Some(place) = usize::try_from(place).ok().filter(|p| *p <= count) else {
            return Err(Error::new(Kind::IndexError, format!("Index out of range: {at}"))
                .with_hint(format!("{} has {count} modules", self.name())));
        };
        for number in (place..count).rev() {
            let name = number.to_string();
            let Some((_, moved)) = all.iter().find(|(n, _)| *n == name).cloned() else {
                return Err(Error::new(Kind::KeyError, format!("'{name}'")).with_hint(
                    "insert() moves modules on by their numbers, and one of these has a name of its own: append() \
                     and add_module(name, module) put a module behind the others",
                ));
            };
            put(&mut all, (number + 1).to_string(), moved);
        }
        put(&mut all, place.to_string(), module);
        self.set_children(all)
    }

    /// Puts modules at the end of a list, each under the number of those before it.
    pub fn extend(&self, modules: &[Module]) -> Result<()> {
        let mut all = self.listed("append")?;
        let first = all.len();
        for (i, module) in modules.iter().enumerate() {
            // A Sequential counts anew before each, which differs where a name that is a number is taken over.
            let number = if self.layer().counts_children() { first + i } else { all.len() };
            put(&mut all, number.to_string(), module.clone());
        }
        self.set_children(all)
    }

    /// Takes the `i`-th module out of a list; all that are left are counted anew.
    pub fn pop(&self, i: i64) -> Result<Module> {
        let mut all = self.listed("pop")?;
        let (name, module) = self.named_nth(i)?;
        if let Some(at) = self.children().iter().position(|(n, _)| *n == name) {
            all.remove(at);
        }
        self.set_children(all.into_iter().enumerate().map(|(i, (_, m))| (i.to_string(), m)).collect())?;
        Ok(module)
    }

    /// Puts a module in the place of the `i`-th child.
    pub fn replace(&self, i: i64, module: Module) -> Result<()> {
        let (name, before) = self.named_nth(i)?;
        if before.is(&module) {
            return Ok(());
        }
        self.listed("item assignment")?;
        self.set_child(&name, module)
    }

    /// Whether its children are a list: `nn::Sequential` and `nn::ModuleList`.
    pub fn is_list(&self) -> bool {
        self.layer().is_list()
    }

    fn listed(&self, what: &str) -> Result<Vec<(String, Module)>> {
        if self.is_list() {
            return Ok(self.children().to_vec());
        }
        let error = Error::type_error(match what {
            "item assignment" => format!("'{}' object does not support item assignment", self.name()),
            _ => format!("'{}' object has no attribute '{what}'", self.name()),
        });
        Err(error.with_hint("nn::Sequential and nn::ModuleList are lists of modules"))
    }

    /// The module of a dotted path below this one; the empty path is the module itself.
    pub(crate) fn submodule(&self, path: &str) -> Result<Module> {
        let mut at = self.clone();
        if path.is_empty() {
            return Ok(at);
        }
        for name in path.split('.') {
            at = match at.child(name) {
                Some(child) => child,
                None if at.has(name) => {
                    return Err(Error::type_error(format!("`{name}` is not an nn.Module")));
                }
                None => return Err(at.lacks(name)),
            };
        }
        Ok(at)
    }

    /// The parameter or buffer of a dotted path.
    pub(crate) fn tensor_at(&self, path: &str, role: Role) -> Result<Tensor> {
        let (owner, name) = path.rsplit_once('.').unwrap_or(("", path));
        let owner = self.submodule(owner)?;
        match owner.tensor(name) {
            Some(t) if owner.role(name) == Some(role) => Ok(t),
            _ if !owner.has(name) => Err(owner.lacks(name)),
            _ if role == Role::Parameter => {
                Err(Error::type_error(format!("`{name}` is not an nn.Parameter")))
            }
            _ => Err(Error::type_error(format!("`{name}` is not a buffer"))),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.child(name).is_some() || self.role(name).is_some() || self.layer().attribute(name).is_some()
    }

    fn lacks(&self, name: &str) -> Error {
        let error = Error::type_error(format!("{} has no attribute `{name}`", self.name()));
        let (children, slots) = (self.children(), self.slots());
        let known = children.iter().map(|(n, _)| n.as_str()).chain(slots.iter().map(|s| s.name.as_str()));
        error.with_near(name, known)
    }
}

/// In the place of the module that has the name, or behind the others.
fn put(children: &mut Vec<(String, Module)>, name: String, module: Module) {
    match children.iter_mut().find(|(n, _)| *n == name) {
        Some((_, place)) => *place = module,
        None => children.push((name, module)),
    }
}
