//! `checkpoint(…)` and `checkpoint_sequential(…)`.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use rhai::{Array, Dynamic, EvalAltResult, FnPtr, NativeCallContext};

use crate::base::chain::Link;
use crate::base::{Error, Result};
use crate::checkpoint::{Function, Options, checkpoint, segments, set_early_stop};
use crate::nn::Module;
use crate::nn::backward_hooks::{BackwardStep, GradNotes};
use crate::nn::hooks::LAST_LINE;
use crate::op::params::kind::{Bool, Int};
use crate::op::params::params;
use crate::op::{Family, Form, OpDef, Value};
use crate::script::call::kind::{Given, Rest};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::fault::{RhaiResult, raise};
use crate::script::modules::hook::context;
use crate::script::modules::nn::forward::{call, callback};
use crate::script::modules::own_function;
use crate::script::value::{Callback, to_dynamic, type_name};
use crate::tensor::autograd::Grads;
use crate::tensor::pass::Caller;
use crate::tensor::{Tensor, is_stopped};

params! {
    CheckpointParams {
        function: Given, "a closure or a module; it must do the same each time";
        inputs: Rest, "what it is called with, one after the other";
        preserve_rng_state: Bool = true, "draws random numbers the second time as they were drawn the first";
        use_reentrant: Bool = false, "PyTorch's older variant, which is not there: only false is taken";
        early_stop: Bool = true, "ends the second run with the last tensor that the backward pass asks for";
    }
}

params! {
    CheckpointSequentialParams {
        functions: Given, "an nn::Sequential, or an array of modules and closures";
        segments: Int, "in how many parts they run, from 1 to their number";
        input: Given, "what the first of them is called with";
        preserve_rng_state: Bool = true, "draws random numbers the second time as they were drawn the first";
        use_reentrant: Bool = false, "PyTorch's older variant, which is not there: only false is taken";
    }
}

params! {
    EarlyStopParams {
        enable: Bool, "false has the second run go to its end";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "checkpoint",
            Family::Checkpoint,
            "Runs a function without keeping its activations; the backward pass runs it again to have them.",
            CheckpointParams::LIST,
        )
        .torch("torch.utils.checkpoint.checkpoint")
        .details("Takes less memory and more time.")
        .errors(&[
            "TypeError: the function is neither a closure nor a module",
            "ValueError: use_reentrant is true",
            "RuntimeError, in the backward pass: the second run made other tensors than the first",
        ])
        .example(
            "let x = tensor([2.0], #{requires_grad: true}); checkpoint(|x| x * x, x).backward(); x.grad",
            "tensor([4.])",
        ),
        one,
    ),
    ScriptRow::of(
        OpDef::script(
            "checkpoint_sequential",
            Family::Checkpoint,
            "Runs modules one after the other in `segments` parts, all but the last checkpointed.",
            CheckpointSequentialParams::LIST,
        )
        .torch("torch.utils.checkpoint.checkpoint_sequential")
        .errors(&[
            "ValueError: there are fewer functions than segments",
            "ValueError: use_reentrant is true",
            "Error: whatever a part of it fails with",
        ])
        .example(
            "let net = nn::Sequential(nn::ReLU(), nn::ReLU()); checkpoint_sequential(net, 2, tensor([-1.0, 2.0]))",
            "tensor([0., 2.])",
        ),
        sequential,
    ),
    ScriptRow::of(
        OpDef::script(
            "set_checkpoint_early_stop",
            Family::Checkpoint,
            "Says for all checkpoints inside the block whether their second run may end early.",
            EarlyStopParams::LIST,
        )
        .forms(&[Form::Function, Form::With("")])
        .torch("torch.utils.checkpoint.set_checkpoint_early_stop")
        .example(
            "let x = tensor([2.0], #{requires_grad: true}); \
             with set_checkpoint_early_stop(false) { checkpoint(|x| x * x, x).backward(); } x.grad",
            "tensor([4.])",
        ),
        |call| {
            let on = EarlyStopParams::of(&call.args)?.enable;
            context("set_checkpoint_early_stop", move || Ok(set_early_stop(on)))
        },
    ),
];

/// What a part of a network is made of.
#[derive(Clone)]
enum Step {
    Closure(Callback),
    Module(Module),
}

/// An input as the function is called with it.
#[derive(Clone)]
enum Slot {
    /// The next tensor.
    Tensor,
    Other(Link<Dynamic>),
}

/// Steps one after the other; the first takes all inputs.
#[derive(Clone)]
struct Part {
    steps: Vec<Step>,
    slots: Vec<Slot>,
}

impl Part {
    fn run(&self, context: &NativeCallContext, inputs: &[Tensor]) -> RhaiResult<Dynamic> {
        let mut tensors = inputs.iter();
        let slot = |slot: &Slot| match slot {
            Slot::Tensor => tensors.next().map_or(Dynamic::UNIT, |t| Dynamic::from(t.clone())),
            Slot::Other(value) => Dynamic::clone(value),
        };
        let mut values: Vec<Dynamic> = self.slots.iter().map(slot).collect();
        for step in &self.steps {
            let out = match step {
                Step::Closure(f) => f.call_in_graph(context, values)?,
                Step::Module(m) => call(context, m, &values.iter().collect::<Vec<_>>())?,
            };
            values = vec![out];
        }
        Ok(values.into_iter().next().unwrap_or(Dynamic::UNIT))
    }

    /// Runs now, and again in the backward pass.
    fn checkpointed(
        self,
        context: &NativeCallContext,
        inputs: &[Tensor],
        options: Options,
    ) -> RhaiResult<Dynamic> {
        let part = Arc::new(self);
        let again = Function::Scripted(Arc::clone(&part) as Arc<dyn Any + Send + Sync>);
        checkpoint(inputs, again, options, || part.run(context, inputs))
    }
}

/// Runs checkpointed functions again while a script's call of `backward` is on the stack. A script's error keeps
/// its place.
pub(crate) struct Again<'a, 'b> {
    context: &'a NativeCallContext<'b>,
    failed: RefCell<Option<Box<EvalAltResult>>>,
    /// What hooks of modules wait for; gone with the pass.
    notes: GradNotes,
}

impl<'a, 'b> Again<'a, 'b> {
    pub(super) fn new(context: &'a NativeCallContext<'b>) -> Again<'a, 'b> {
        Again { context, failed: RefCell::default(), notes: GradNotes::default() }
    }

    /// The error to raise for a pass that failed.
    pub(crate) fn raised(&self, error: Error) -> Box<EvalAltResult> {
        self.failed.take().unwrap_or_else(|| raise(error))
    }

    /// Calls a hook of a module with gradients: what it gave, if it gave anything.
    fn hook_of(
        &self,
        hook: &Value,
        (module, inputs, outputs): (&Value, Option<&[Option<Tensor>]>, &[Option<Tensor>]),
    ) -> Result<Option<Vec<Option<Tensor>>>> {
        let Some(hook) = callback(hook) else {
            return Err(Error::runtime("a hook was registered by another script"));
        };
        let shown = |all: &[Option<Tensor>]| {
            Dynamic::from_array(all.iter().map(|t| t.clone().map_or(Dynamic::UNIT, Dynamic::from)).collect())
        };
        let module = to_dynamic(module.clone());
        let args = [module].into_iter().chain(inputs.map(shown)).chain([shown(outputs)]);
        let value =
            hook.call(self.context, args.collect::<Vec<_>>()).map_err(|error| self.failed_by(error))?;
        if value.is_unit() {
            return Ok(None);
        }
        let one = |value: &Dynamic| match value.read_lock::<Tensor>() {
            Some(t) => Ok(Some(t.clone())),
            None if value.is_unit() => Ok(None),
            None => {
                let text = format!("a backward hook of a module gave {}", type_name(value));
                Err(Error::type_error(text).with_hint(LAST_LINE))
            }
        };
        match value.read_lock::<Array>() {
            Some(all) => all.iter().map(one).collect::<Result<_>>().map(Some),
            None => Ok(Some(vec![one(&value)?])),
        }
    }

    /// The error that goes through the pass in the place of a script's.
    fn failed_by(&self, error: Box<EvalAltResult>) -> Error {
        let text = error.to_string();
        self.failed.replace(Some(error));
        Error::runtime(text)
    }
}

impl Caller for Again<'_, '_> {
    fn call(&self, function: &dyn Any, inputs: &[Tensor]) -> Result<()> {
        let Some(part) = function.downcast_ref::<Part>() else {
            return Err(Error::runtime("a checkpointed function was made by another script"));
        };
        match part.run(self.context, inputs) {
            Ok(_) => Ok(()),
            Err(error) => {
                let text = error.to_string();
                if !is_stopped() {
                    self.failed.replace(Some(error));
                }
                Err(Error::runtime(text))
            }
        }
    }

    fn gradient(&self, function: &dyn Any, kept: &[Option<Tensor>], grad: &Tensor) -> Result<Grads> {
        if let Some(step) = BackwardStep::of(function) {
            return step.run(grad, &self.notes, &|hook, module, inputs, outputs| {
                self.hook_of(hook, (module, inputs, outputs))
            });
        }
        own_function::gradient(self.context, function, kept, grad).map_err(|error| self.failed_by(error))
    }

    fn hook(&self, function: &dyn Any, grad: &Tensor) -> Result<Option<(String, Tensor)>> {
        let Some(super::hook::Hook(f)) = function.downcast_ref() else {
            return Err(Error::runtime("a hook was registered by another script"));
        };
        let value = f.call(self.context, (grad.clone(),)).map_err(|error| self.failed_by(error))?;
        let name = match f.function() {
            f if f.is_anonymous() => "<lambda>",
            f => f.fn_name(),
        };
        let next = value.read_lock::<Tensor>().map(|t| t.clone());
        match next {
            Some(next) => Ok(Some((name.to_string(), next))),
            None if value.is_unit() => Ok(None),
            None => Err(Error::type_error(format!(
                "expected Variable, but hook returned '{}'",
                type_name(&value)
            ))
            .with_hint("a hook gives the gradient that goes on, or `()` to leave it as it is")),
        }
    }
}

fn one(call: &mut Call) -> Outcome {
    let given = CheckpointParams::of(&call.args)?;
    let step = step("checkpoint", &given.function)?;
    refuse_reentrant("checkpoint", given.use_reentrant)?;
    let (slots, tensors) = slots(&given.inputs);
    let options = Options { preserve_rng_state: given.preserve_rng_state, early_stop: given.early_stop };
    Ok(Part { steps: vec![step], slots }.checkpointed(call.context, &tensors, options)?)
}

fn sequential(call: &mut Call) -> Outcome {
    let given = CheckpointSequentialParams::of(&call.args)?;
    refuse_reentrant("checkpoint_sequential", given.use_reentrant)?;
    let steps = steps(&given.functions)?;
    let count = usize::try_from(given.segments).ok();
    let Some(count) = count.filter(|n| (1..=steps.len().max(1)).contains(n)) else {
        let text = format!(
            "checkpoint_sequential(): segments must be a number from 1 to that of the functions, {}",
            steps.len()
        );
        return Err(Error::value(text).into());
    };
    let options = Options { preserve_rng_state: given.preserve_rng_state, ..Options::default() };
    let mut parts = segments(steps.len(), count).into_iter().peekable();
    let mut value = given.input;
    while let Some(range) = parts.next() {
        let (slots, tensors) = slots(&[std::mem::take(&mut value)]);
        let part = Part { steps: steps.get(range).unwrap_or(&[]).to_vec(), slots };
        value = if parts.peek().is_some() {
            part.checkpointed(call.context, &tensors, options)?
        } else {
            part.run(call.context, &tensors)?
        };
    }
    Ok(value)
}

fn refuse_reentrant(name: &str, asked: bool) -> Result<()> {
    if !asked {
        return Ok(());
    }
    Err(Error::value(format!("{name}(): only use_reentrant: false is supported"))
        .with_hint("leave the option out: it is PyTorch's recommended variant as well"))
}

/// The functions of a container or an array.
fn steps(functions: &Dynamic) -> Result<Vec<Step>> {
    if let Some(net) = functions.read_lock::<Module>() {
        return Ok(net.children().iter().map(|(_, m)| Step::Module(m.clone())).collect());
    }
    match functions.read_lock::<Array>() {
        Some(items) => items.iter().map(|item| step("checkpoint_sequential", item)).collect(),
        None => Err(Error::type_error(format!(
            "checkpoint_sequential(): functions must be an nn::Sequential or an array, not {}",
            type_name(functions)
        ))),
    }
}

fn step(name: &str, function: &Dynamic) -> Result<Step> {
    if let Some(f) = function.read_lock::<FnPtr>() {
        return Ok(Step::Closure(Callback::new(f.clone())));
    }
    if let Some(m) = function.read_lock::<Module>() {
        return Ok(Step::Module(m.clone()));
    }
    let text = format!("{name}(): a function is a closure or a module, not {}", type_name(function));
    Err(Error::type_error(text).with_hint("`checkpoint(|x| net.forward(x), x)`"))
}

fn slots(inputs: &[Dynamic]) -> (Vec<Slot>, Vec<Tensor>) {
    let mut tensors = Vec::new();
    let slots = inputs.iter().map(|value| match value.read_lock::<Tensor>() {
        Some(t) => {
            tensors.push(t.clone());
            Slot::Tensor
        }
        None => Slot::Other(Link::new(value.clone())),
    });
    (slots.collect(), tensors)
}
