//! Functions that see what goes into a module and what comes out of it, and may put something else in its place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::Result;
use crate::base::chain::drop_linked;
use crate::device::examine::examining;
use crate::op::{Copies, Value};
use crate::tensor::hooks::{Handle, Removes, next_id};

use super::backward_hooks::BackwardHooks;

/// What is told where a hook gave something that goes nowhere.
pub(crate) const LAST_LINE: &str = "a closure gives what its last line gives, with `;` behind it or without: end it with `()` to change nothing";

/// When a hook of a module runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HookTime {
    /// Before the forward function: it sees the inputs.
    Before,
    /// After it: it sees the inputs and the output.
    After,
    /// In a backward pass, before the module's own: it sees the gradients of the outputs.
    BackwardBefore,
    /// In a backward pass, after the module's own: it sees the gradients of the inputs as well.
    Backward,
}

/// The hooks of one module, in the order in which they run.
#[derive(Default)]
pub(super) struct ModuleHooks {
    /// Whether there are any, so that a call without takes no lock.
    any: AtomicBool,
    all: Mutex<Vec<ModuleHook>>,
}

#[derive(Clone)]
struct ModuleHook {
    id: u64,
    time: HookTime,
    function: Value,
}

impl ModuleHooks {
    /// Adds one at the end, or in front.
    pub(super) fn add(self: &Arc<ModuleHooks>, time: HookTime, function: Value, in_front: bool) -> Handle {
        let id = next_id();
        let mut all = self.locked();
        let at = if in_front { 0 } else { all.len() };
        all.insert(at, ModuleHook { id, time, function });
        self.any.store(true, Ordering::Relaxed);
        Handle::new(Arc::downgrade(self) as _, id)
    }

    /// The same functions for another module.
    pub(super) fn shared(&self) -> Arc<ModuleHooks> {
        ModuleHooks::of(self.locked().clone())
    }

    /// Copies of the functions.
    pub(super) fn copied(&self, copies: &mut dyn Copies) -> Result<Arc<ModuleHooks>> {
        let all = self.locked().clone();
        let copy =
            all.into_iter().map(|hook| Ok(ModuleHook { function: copies.value(&hook.function)?, ..hook }));
        Ok(ModuleHooks::of(copy.collect::<Result<_>>()?))
    }

    fn of(all: Vec<ModuleHook>) -> Arc<ModuleHooks> {
        Arc::new(ModuleHooks { any: AtomicBool::new(!all.is_empty()), all: Mutex::new(all) })
    }

    /// Whether a call runs any: none in a check, where the learner's have no say.
    pub(super) fn are_any(&self) -> bool {
        self.any.load(Ordering::Relaxed) && !examining()
    }

    /// Runs what `module` gives by `run` between its hooks, each of which `call` gives the inputs and, behind `run`, the output.
    ///
    /// # Errors
    /// Those of `run`, and those of the hooks.
    pub(super) fn around(
        &self,
        module: impl FnOnce() -> Value,
        inputs: Vec<Value>,
        call: &dyn Fn(&Value, &[Value], Option<&Value>) -> Result<Option<Value>>,
        run: impl FnOnce(&[Value]) -> Result<Value>,
    ) -> Result<Value> {
        let mut inputs = inputs;
        for hook in self.at(HookTime::Before) {
            match call(&hook, &inputs, None)? {
                None => {}
                Some(Value::List(several)) => inputs = several,
                Some(one) => inputs = vec![one],
            }
        }
        let backward =
            BackwardHooks::of(module, self.at(HookTime::BackwardBefore), self.at(HookTime::Backward));
        if let Some(hooks) = &backward {
            hooks.inputs(&mut inputs)?;
        }
        let mut output = run(&inputs)?;
        for hook in self.at(HookTime::After) {
            if let Some(other) = call(&hook, &inputs, Some(&output))? {
                output = other;
            }
        }
        if let Some(hooks) = &backward {
            hooks.outputs(&mut output)?;
        }
        Ok(output)
    }

    fn at(&self, time: HookTime) -> Vec<Value> {
        if !self.are_any() {
            return Vec::new();
        }
        self.locked().iter().filter(|hook| hook.time == time).map(|hook| hook.function.clone()).collect()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<ModuleHook>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ModuleHooks {
    /// What a hook has captured may be a module with hooks of its own.
    fn drop(&mut self) {
        drop_linked(std::mem::take(self.all.get_mut().unwrap_or_else(PoisonError::into_inner)));
    }
}

impl Removes for ModuleHooks {
    fn remove(&self, id: u64) {
        let mut all = self.locked();
        let at = all.iter().position(|hook| hook.id == id);
        // Dropped without the lock: a hook may hold modules with hooks of their own.
        let gone = at.map(|at| all.remove(at));
        self.any.store(!all.is_empty(), Ordering::Relaxed);
        drop(all);
        drop(gone);
    }
}
