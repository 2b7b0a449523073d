//! Modules written in a script, and what modules hold.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Array, Dynamic, Map};

use crate::base::chain::Link;
use crate::base::{Error, Result};
use crate::device::examine::Maker;
use crate::nn::{Call as LayerCall, Layer, Module};
use crate::op::{Copies, Value};
use crate::script::lent::learners;
use crate::script::value::{Callback, Held, NOT_BY_ITSELF, from_dynamic, given, to_dynamic, type_name};
use crate::tensor::Tensor;

/// A module written in a script: its parts by name, and a closure of itself and its inputs.
pub(crate) struct Own {
    pub(super) name: String,
    pub(super) forward: Callback,
    pub(super) maker: Maker,
    /// What is neither tensor nor module.
    pub(super) values: Mutex<Link<Map>>,
}

impl Own {
    pub(crate) fn values(&self) -> MutexGuard<'_, Link<Map>> {
        self.values.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A check has the learner's function run by `call` alone.
    pub(super) fn check_callable(&self) -> Result<()> {
        let told = |_| {
            let text = format!("{NOT_BY_ITSELF} {}", self.name);
            Error::runtime(text).with_hint("`call(net, [x])` does")
        };
        self.maker.check_own().map_err(told)
    }

    /// A value of its own, as whoever asks gets it.
    fn shown(&self, name: &str) -> Option<Dynamic> {
        let value = self.values().get(name).cloned()?;
        Some(match learners().filter(|_| self.maker.check_own().is_err()) {
            Some(learners) => learners.hand(&value),
            None => value,
        })
    }

    pub(crate) fn of(module: &Module) -> Option<&Own> {
        module.layer().as_any()?.downcast_ref()
    }
}

impl Layer for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn forward(&self, call: &LayerCall) -> Result<Tensor> {
        self.check_callable()?;
        call.caller.call(&self.forward, call.module, call.inputs)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        self.values().get(name).map(|value| from_dynamic(value).unwrap_or(Value::None))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    /// Values are copied, so that what a replica changes is lost, as in PyTorch.
    fn replica(&self) -> Option<Arc<dyn Layer>> {
        let values = Mutex::new(self.values().clone());
        let (name, forward, maker) = (self.name.clone(), self.forward.clone(), self.maker);
        Some(Arc::new(Own { name, forward, maker, values }))
    }

    fn copied(&self, copies: &mut dyn Copies) -> Result<Option<Arc<dyn Layer>>> {
        let forward = self.forward.copied_with(copies)?;
        let mut values = Map::clone(&self.values());
        for value in values.values_mut() {
            *value = given(&copies.value(&Held(std::mem::take(value)).into_value())?);
        }
        let (name, maker) = (self.name.clone(), Maker::of_now());
        Ok(Some(Arc::new(Own { name, forward, maker, values: Mutex::new(Link::new(values)) })))
    }
}

/// Fails on an array of modules, whose parameters nothing would find.
pub(crate) fn check_hidden(name: &str, value: &Dynamic) -> Result<()> {
    if value.read_lock::<Array>().is_some_and(|a| a.iter().any(|d| d.is::<Module>())) {
        let text = format!("the modules in the array '{name}' would not be found by parameters()");
        return Err(Error::type_error(text).with_hint(format!("nn::ModuleList([…]) as '{name}' keeps them")));
    }
    Ok(())
}

/// A child, a tensor or a value of a module's.
pub(crate) fn found(module: &Module, name: &str) -> Option<Dynamic> {
    if let Some(child) = module.child(name) {
        return Some(Dynamic::from(child));
    }
    if let Some(t) = module.tensor(name) {
        return Some(Dynamic::from(t));
    }
    if module.role(name).is_some() {
        return Some(Dynamic::UNIT);
    }
    let own = Own::of(module).and_then(|own| own.shown(name));
    own.or_else(|| module.layer().attribute(name).map(to_dynamic))
}

/// A module, or PyTorch's error for what is none.
pub(crate) fn subclass(value: &Dynamic) -> Result<Module> {
    value.read_lock::<Module>().map(|m| m.clone()).ok_or_else(|| {
        Error::type_error(format!("{} is not a Module subclass", type_name(value)))
            .with_hint("a module such as nn::Linear(4, 2) stands there")
    })
}

/// The modules of an array or of a container.
pub(crate) fn several(value: &Dynamic) -> Result<Vec<Module>> {
    if let Some(container) = value.read_lock::<Module>() {
        return Ok(container.children().iter().map(|(_, m)| m.clone()).collect());
    }
    match value.read_lock::<Array>() {
        Some(items) => items.iter().map(subclass).collect(),
        None => {
            let text =
                format!("extend() should be called with an array of modules, but got {}", type_name(value));
            Err(Error::type_error(text))
        }
    }
}
