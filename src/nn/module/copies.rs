//! Copies of modules: with other tensors, and of all that they hold.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::Result;
use crate::op::Copies;
use crate::tensor::Tensor;

use super::{Module, ModuleSlot, Role};

impl Module {
    /// The same network with other tensors: every tensor here and below has the stand-in that `replace` gives.
    /// A module that stands in several places has one copy, as a shared tensor has.
    pub fn replica(&self, replace: &mut dyn FnMut(&Tensor) -> Tensor) -> Module {
        self.copied(replace, &mut HashMap::new())
    }

    /// The same, with the copies that were made before.
    pub(crate) fn copied(
        &self,
        replace: &mut dyn FnMut(&Tensor) -> Tensor,
        made: &mut HashMap<usize, Module>,
    ) -> Module {
        let id = self.id();
        if let Some(copy) = made.get(&id) {
            return copy.clone();
        }
        let tensors = |slot: &ModuleSlot| ModuleSlot {
            name: slot.name.clone(),
            tensor: slot.tensor.as_ref().map(&mut *replace),
            role: slot.role,
            persistent: slot.persistent,
        };
        let slots: Vec<ModuleSlot> = self.slots().iter().map(tensors).collect();
        let children =
            self.children().iter().map(|(name, m)| (name.clone(), m.copied(replace, made))).collect();
        let layer = self.0.layer.replica().unwrap_or_else(|| Arc::clone(&self.0.layer));
        let copy = Module::joined_up(layer, self.training(), slots, children, self.0.hooks.shared());
        made.insert(id, copy.clone());
        copy
    }

    /// A copy of copies of its parts. It does not ask whether there is one already.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<Module> {
        let slots: Vec<_> =
            self.slots().iter().map(|s| (s.name.clone(), s.tensor.clone(), s.role, s.persistent)).collect();
        let slot = |(name, tensor, role, persistent): (String, Option<Tensor>, Role, bool)| {
            let tensor = tensor.map(|t| copies.tensor(&t)).transpose()?;
            Ok(ModuleSlot { name, tensor, role, persistent })
        };
        let slots = slots.into_iter().map(slot).collect::<Result<Vec<_>>>()?;
        let mut children = Vec::new();
        for (name, child) in self.children().iter() {
            let copy = copies.value(&child.clone().into_value())?;
            children.extend(Module::from_value(&copy).map(|copy| (name.clone(), copy.clone())));
        }
        let layer = self.0.layer.copied(copies)?.unwrap_or_else(|| Arc::clone(&self.0.layer));
        let hooks = self.0.hooks.copied(copies)?;
        Ok(Module::joined_up(layer, self.training(), slots, children, hooks))
    }
}
