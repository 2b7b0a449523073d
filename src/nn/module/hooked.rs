//! Calls of a module between its hooks.

use crate::base::{Error, Result};
use crate::op::Value;
use crate::tensor::Tensor;
use crate::tensor::hooks::Handle;

use super::super::hooks::{HookTime, LAST_LINE};
use super::{Caller, Module};

impl Module {
    /// Has a function run in every call of the module, after those that are there or before them.
    pub(crate) fn register_hook(&self, time: HookTime, function: Value, in_front: bool) -> Handle {
        self.0.hooks.add(time, function, in_front)
    }

    /// Whether a call of the module runs hooks.
    pub(crate) fn is_hooked(&self) -> bool {
        self.0.hooks.are_any()
    }

    /// Runs the module by `run` between its hooks.
    ///
    /// # Errors
    /// Those of `run`, and those of the hooks.
    pub(crate) fn between_hooks(
        &self,
        inputs: Vec<Value>,
        caller: &dyn Caller,
        run: impl FnOnce(&[Value]) -> Result<Value>,
    ) -> Result<Value> {
        let call =
            |hook: &Value, inputs: &[Value], output: Option<&Value>| caller.hook(hook, self, inputs, output);
        self.0.hooks.around(|| self.clone().into_value(), inputs, &call, run)
    }

    /// The same of a module whose inputs and output are tensors.
    pub(super) fn tensors_between_hooks(
        &self,
        inputs: &[&Tensor],
        caller: &dyn Caller,
        run: impl FnOnce(&[&Tensor]) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let given = inputs.iter().map(|t| Value::Tensor((*t).clone())).collect();
        let output = self.between_hooks(given, caller, |inputs| {
            let tensors =
                inputs.iter().map(|input| self.tensor_of(input, "input")).collect::<Result<Vec<_>>>()?;
            run(&tensors).map(Value::Tensor)
        })?;
        self.tensor_of(&output, "output").cloned()
    }

    fn tensor_of<'v>(&self, value: &'v Value, what: &str) -> Result<&'v Tensor> {
        let Value::Tensor(t) = value else {
            let (name, given) = (self.name(), value.describe());
            let text = format!("a hook of {name} gave {given} as its {what}, which must be a Tensor");
            return Err(Error::type_error(text).with_hint(LAST_LINE));
        };
        Ok(t)
    }
}
