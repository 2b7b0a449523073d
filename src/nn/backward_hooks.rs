//! Hooks of modules on the backward pass: the gradients of a call's outputs and inputs, all of them at once.
//!
//! Each input and each output of a hooked call passes through a node that notes its gradient. Those nodes hang on one more,
//! the joint, which is older than they are, so that a pass comes to it once all gradients that there are have been noted.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::{DType, Error, Result};
use crate::op::Value;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, grad_enabled, set_grad_mode};
use crate::tensor::own_gradient::OwnGradient;

/// Gradients by the places of what they are of.
type GradPlaces = Vec<Option<Tensor>>;

/// Has a hook called with its module, the gradients of the inputs where they are known, and those of the outputs: what goes on
/// in their place, if the hook gave anything.
pub(crate) type CallHook<'a> =
    dyn Fn(&Value, &Value, Option<&[Option<Tensor>]>, &[Option<Tensor>]) -> Result<Option<GradPlaces>> + 'a;

/// The hooks of one call of a module.
pub(super) struct BackwardHooks {
    /// As whoever calls the hooks knows it.
    module: Value,
    /// Those that see the gradients of the outputs alone.
    before: Vec<Value>,
    after: Vec<Value>,
    /// Whether an input has a gradient.
    has_inputs: Mutex<bool>,
    inputs: Mutex<GradPlaces>,
    outputs: Mutex<GradPlaces>,
}

#[derive(Clone, Copy, PartialEq)]
enum HookSide {
    Inputs,
    Outputs,
}

/// What the nodes of a hooked call do in a backward pass.
pub(crate) struct BackwardStep {
    hooks: Arc<BackwardHooks>,
    side: HookSide,
    /// What the node notes the gradient of; the joint notes none.
    place: Option<usize>,
    /// GradPlaces of the tensors that the joint hands gradients to.
    tensors: Vec<usize>,
}

impl BackwardHooks {
    /// Those of a call of what `module` gives; none where nothing is recorded.
    pub(super) fn of(
        module: impl FnOnce() -> Value,
        before: Vec<Value>,
        after: Vec<Value>,
    ) -> Option<Arc<BackwardHooks>> {
        if before.is_empty() && after.is_empty() || !grad_enabled() {
            return None;
        }
        Some(Arc::new(BackwardHooks {
            module: module(),
            before,
            after,
            has_inputs: Mutex::default(),
            inputs: Mutex::default(),
            outputs: Mutex::default(),
        }))
    }

    /// The inputs, with their gradients noted.
    ///
    /// # Errors
    /// The device is full.
    pub(super) fn inputs(self: &Arc<Self>, inputs: &mut [Value]) -> Result<()> {
        *locked(&self.inputs) = vec![None; inputs.len()];
        // Hooks that see outputs alone need no more.
        if !self.after.is_empty() {
            *locked(&self.has_inputs) = self.through(HookSide::Inputs, inputs)?;
        }
        Ok(())
    }

    /// The output, or the outputs of an array, with their gradients noted.
    ///
    /// # Errors
    /// The device is full.
    pub(super) fn outputs(self: &Arc<Self>, output: &mut Value) -> Result<()> {
        let outputs = match output {
            Value::List(all) => all.as_mut_slice(),
            one => std::slice::from_mut(one),
        };
        *locked(&self.outputs) = vec![None; outputs.len()];
        self.through(HookSide::Outputs, outputs).map(|_| ())
    }

    /// Puts nodes behind all tensors among `values`, and says whether one of them has a gradient.
    fn through(self: &Arc<Self>, side: HookSide, values: &mut [Value]) -> Result<bool> {
        static RULE: &str = "BackwardHookFunctionBackward";
        let tensors: Vec<(usize, Tensor)> = (0..)
            .zip(values.iter())
            .filter_map(|(at, value)| if let Value::Tensor(t) = value { Some((at, t.clone())) } else { None })
            .filter(|(_, t)| t.requires_grad())
            .collect();
        let Some((_, first)) = tensors.first() else { return Ok(false) };
        let step = |place: Option<usize>| {
            let tensors = tensors.iter().map(|(at, _)| *at).collect();
            Arc::new(BackwardStep { hooks: Arc::clone(self), side, place, tensors })
        };
        let rule = OwnGradient::named(RULE);
        let joint = Tensor::empty(&[0], DType::Float32, &first.context(), "empty")?;
        let all: Vec<&Tensor> = tensors.iter().map(|(_, t)| t).collect();
        rule.join(&all, &joint, &[], step(None));
        for (at, t) in &tensors {
            let behind = {
                let _off = set_grad_mode(false);
                t.with_layout(t.layout().clone()).view_of(t)
            };
            rule.join(&[&joint], &behind, &[], step(Some(*at)));
            if let Some(value) = values.get_mut(*at) {
                *value = Value::Tensor(behind);
            }
        }
        Ok(true)
    }

    fn noted(&self, side: HookSide) -> MutexGuard<'_, GradPlaces> {
        locked(if side == HookSide::Inputs { &self.inputs } else { &self.outputs })
    }
}

impl BackwardStep {
    /// The step that a node holds; none of another kind of function.
    pub(crate) fn of(function: &dyn Any) -> Option<&BackwardStep> {
        function.downcast_ref()
    }

    /// Notes a gradient, or, once all are noted, has the hooks called and hands the gradients on.
    ///
    /// # Errors
    /// Those of the hooks.
    pub(crate) fn run(&self, grad: &Tensor, call: &CallHook) -> Result<Grads> {
        let hooks = &self.hooks;
        if let Some(place) = self.place {
            if let Some(slot) = hooks.noted(self.side).get_mut(place) {
                *slot = Some(grad.clone());
            }
            let none = Tensor::empty(&[0], DType::Float32, &grad.context(), "empty")?;
            return Ok([Some(none)].into_iter().collect());
        }
        let mut grads = hooks.noted(self.side).clone();
        let count = grads.len();
        if self.side == HookSide::Outputs {
            for hook in &hooks.before {
                if let Some(other) = call(hook, &hooks.module, None, &grads)? {
                    grads = self.replaced(other, count)?;
                }
            }
            hooks.noted(HookSide::Outputs).clone_from(&grads);
        }
        if self.side == HookSide::Inputs || !*locked(&hooks.has_inputs) {
            let outputs = std::mem::take(&mut *hooks.noted(HookSide::Outputs));
            let mut inputs = hooks.noted(HookSide::Inputs).clone();
            let count = inputs.len();
            for hook in &hooks.after {
                if let Some(other) = call(hook, &hooks.module, Some(&inputs), &outputs)? {
                    inputs = self.replaced(other, count)?;
                }
            }
            *hooks.noted(HookSide::Outputs) = vec![None; outputs.len()];
            *hooks.noted(HookSide::Inputs) = vec![None; count];
            if self.side == HookSide::Inputs {
                grads = inputs;
            }
        }
        Ok(self.tensors.iter().map(|&at| grads.get(at).cloned().flatten()).collect())
    }

    fn replaced(&self, other: GradPlaces, wanted: usize) -> Result<GradPlaces> {
        if other.len() == wanted {
            return Ok(other);
        }
        let text = format!(
            "Backward hook returned an invalid number of grad_input, got {}, but expected {wanted}",
            other.len()
        );
        Err(Error::runtime(text)
            .with_hint("a hook gives as many gradients as it is given, or `()` to change nothing"))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
