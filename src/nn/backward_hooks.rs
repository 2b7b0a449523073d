//! Hooks of modules on the backward pass: the gradients of a call's outputs and inputs, all of them at once.
//!
//! Each input and each output of a hooked call passes through a node that notes its gradient. Those nodes hang on one more,
//! the joint, which is older than they are, so that a pass comes to it once all gradients that there are have been noted.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::base::{DType, Error, Result};
use crate::device::Context;
use crate::op::Value;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, grad_enabled, set_grad_mode};
use crate::tensor::own_gradient::{OwnGradient, OwnSaved};

/// Gradients by the places of what they are of.
type GradPlaces = Vec<Option<Tensor>>;

/// Has a hook called with its module, the gradients of the inputs where they are known, and those of the outputs: what goes on
/// in their place, if the hook gave anything.
pub(crate) type CallHook<'a> =
    dyn Fn(&Value, &Value, Option<&[Option<Tensor>]>, &[Option<Tensor>]) -> Result<Option<GradPlaces>> + 'a;

/// Gradients that a backward pass has noted so far, by the calls whose hooks wait for them.
#[derive(Default)]
pub(crate) struct GradNotes(RefCell<HashMap<u64, [GradPlaces; 2]>>);

/// The hooks of one call of a module.
pub(super) struct BackwardHooks {
    id: u64,
    /// As whoever calls the hooks knows it.
    module: Value,
    /// Those that see the gradients of the outputs alone.
    before: Vec<Value>,
    after: Vec<Value>,
    /// Whether an input has a gradient.
    has_inputs: AtomicBool,
    /// How many inputs and outputs there are.
    counts: [AtomicUsize; 2],
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
    /// Where the tensors stand that the joint hands gradients to.
    tensors: Vec<usize>,
    /// Where the joint lies.
    context: Arc<Context>,
}

impl BackwardHooks {
    /// Those of a call of what `module` gives; none where nothing is recorded.
    pub(super) fn of(
        module: impl FnOnce() -> Value,
        before: Vec<Value>,
        after: Vec<Value>,
    ) -> Option<Arc<BackwardHooks>> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        if before.is_empty() && after.is_empty() || !grad_enabled() {
            return None;
        }
        Some(Arc::new(BackwardHooks {
            id: CALLS.fetch_add(1, Ordering::Relaxed),
            module: module(),
            before,
            after,
            has_inputs: AtomicBool::new(false),
            counts: Default::default(),
        }))
    }

    /// The inputs, with their gradients noted.
    ///
    /// # Errors
    /// The device is full.
    pub(super) fn inputs(self: &Arc<Self>, inputs: &mut [Value]) -> Result<()> {
        // Hooks that see outputs alone need no more.
        let through = if self.after.is_empty() {
            self.counted(HookSide::Inputs, inputs)
        } else {
            self.through(HookSide::Inputs, inputs)?
        };
        self.has_inputs.store(through, Ordering::Relaxed);
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
        self.through(HookSide::Outputs, outputs).map(|_| ())
    }

    fn counted(&self, side: HookSide, values: &[Value]) -> bool {
        let [inputs, outputs] = &self.counts;
        let count = if side == HookSide::Inputs { inputs } else { outputs };
        count.store(values.len(), Ordering::Relaxed);
        false
    }

    /// Puts nodes behind all tensors among `values`, and says whether one of them has a gradient.
    fn through(self: &Arc<Self>, side: HookSide, values: &mut [Value]) -> Result<bool> {
        self.counted(side, values);
        let tensors: Vec<(usize, Tensor)> = (0..)
            .zip(values.iter())
            .filter_map(|(at, value)| if let Value::Tensor(t) = value { Some((at, t.clone())) } else { None })
            .filter(|(_, t)| t.requires_grad())
            .collect();
        let Some((_, first)) = tensors.first() else { return Ok(false) };
        let context = first.context();
        let step = |place: Option<usize>| {
            let tensors = tensors.iter().map(|(at, _)| *at).collect();
            Arc::new(BackwardStep {
                hooks: Arc::clone(self),
                side,
                place,
                tensors,
                context: Arc::clone(&context),
            })
        };
        let rule = OwnGradient::named("BackwardHookFunctionBackward");
        let joint = nothing(&context)?;
        let all: Vec<&Tensor> = tensors.iter().map(|(_, t)| t).collect();
        rule.join(&all, &joint, OwnSaved::default(), step(None));
        for (at, t) in &tensors {
            let behind = {
                let _off = set_grad_mode(false);
                t.with_layout(t.layout().clone()).view_of(t)
            };
            rule.join(&[&joint], &behind, OwnSaved::default(), step(Some(*at)));
            if let Some(value) = values.get_mut(*at) {
                *value = Value::Tensor(behind);
            }
        }
        Ok(true)
    }

    /// Places for gradients, none of which are known.
    fn places(&self) -> [GradPlaces; 2] {
        self.counts.each_ref().map(|count| vec![None; count.load(Ordering::Relaxed)])
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
    pub(crate) fn run(&self, grad: &Tensor, notes: &GradNotes, call: &CallHook) -> Result<Grads> {
        let hooks = &self.hooks;
        if let Some(place) = self.place {
            let mut all = notes.0.borrow_mut();
            let [inputs, outputs] = all.entry(hooks.id).or_insert_with(|| hooks.places());
            let of = if self.side == HookSide::Inputs { inputs } else { outputs };
            if let Some(slot) = of.get_mut(place) {
                *slot = Some(grad.clone());
            }
            return Ok([Some(nothing(&self.context)?)].into_iter().collect());
        }
        let noted = notes.0.borrow_mut().remove(&hooks.id);
        let [mut inputs, mut outputs] = noted.unwrap_or_else(|| hooks.places());
        let is_last = self.side == HookSide::Inputs || !hooks.has_inputs.load(Ordering::Relaxed);
        if self.side == HookSide::Outputs {
            for hook in &hooks.before {
                if let Some(other) = call(hook, &hooks.module, None, &outputs)? {
                    outputs =
                        replaced(other, outputs.len(), "pre hook returned an invalid number of grad_output")?;
                }
            }
        }
        if is_last {
            for hook in &hooks.after {
                if let Some(other) = call(hook, &hooks.module, Some(&inputs), &outputs)? {
                    inputs = replaced(other, inputs.len(), "hook returned an invalid number of grad_input")?;
                }
            }
        }
        let grads = if self.side == HookSide::Inputs { inputs } else { outputs.clone() };
        if !is_last {
            let [none, _] = hooks.places();
            notes.0.borrow_mut().insert(hooks.id, [none, outputs]);
        }
        Ok(self.tensors.iter().map(|&at| grads.get(at).cloned().flatten()).collect())
    }
}

fn replaced(other: GradPlaces, wanted: usize, what: &str) -> Result<GradPlaces> {
    if other.len() == wanted {
        return Ok(other);
    }
    let text = format!("Backward {what}, got {}, but expected {wanted}", other.len());
    Err(Error::runtime(text)
        .with_hint("a hook gives as many gradients as it is given, or `()` to change nothing"))
}

/// A tensor of no elements: what hangs on the joint has no gradient of its own.
fn nothing(context: &Arc<Context>) -> Result<Tensor> {
    Tensor::empty(&[0], DType::Float32, context, "empty")
}
