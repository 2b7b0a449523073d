//! `checkpoint(…)` and `checkpoint_sequential(…)`.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, Map, NativeCallContext};

use crate::base::chain::Link;
use crate::base::{Error, Result};
use crate::checkpoint::{Function, Options, checkpoint, segments, set_early_stop};
use crate::device::{Machine, Shared};
use crate::nn::Module;
use crate::script::bind::{FnCallArgs, note_line};
use crate::script::fault::raise;
use crate::script::syntax::ContextManager;
use crate::script::value::{Callback, type_name};
use crate::tensor::Tensor;
use crate::tensor::checkpoint::{Caller, is_stopped};

use super::{RhaiResult, nn, unknown_option};

/// The most inputs that a checkpointed function takes.
const INPUTS: usize = 6;

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    engine.register_fn("set_checkpoint_early_stop", |on: bool| {
        ContextManager::new("set_checkpoint_early_stop", move || Ok(set_early_stop(on)))
    });
    // The function and its inputs, perhaps options.
    for count in 1..=INPUTS + 2 {
        let types = vec![TypeId::of::<Dynamic>(); count];
        let shared = Arc::clone(&machine.shared);
        engine.register_raw_fn("checkpoint", types, move |ctx: NativeCallContext, args: &mut FnCallArgs| {
            one(&shared, &ctx, args)
        });
        let types = vec![TypeId::of::<Dynamic>(); count];
        let shared = Arc::clone(&machine.shared);
        engine.register_raw_fn(
            "checkpoint_sequential",
            types,
            move |ctx: NativeCallContext, args: &mut FnCallArgs| sequential(&shared, &ctx, args),
        );
    }
}

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
                Step::Closure(f) => f.call_within_context::<Dynamic>(context, values)?,
                Step::Module(m) => nn::call(context, m, &values.iter().collect::<Vec<_>>())?,
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
pub struct Again<'a, 'b> {
    context: &'a NativeCallContext<'b>,
    failed: RefCell<Option<Box<EvalAltResult>>>,
}

impl<'a, 'b> Again<'a, 'b> {
    pub fn new(context: &'a NativeCallContext<'b>) -> Again<'a, 'b> {
        Again { context, failed: RefCell::default() }
    }

    /// The error to raise for a pass that failed.
    pub fn raised(&self, error: Error) -> Box<EvalAltResult> {
        self.failed.take().unwrap_or_else(|| raise(error))
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

    fn hook(&self, function: &dyn Any, grad: &Tensor) -> Result<Option<(String, Tensor)>> {
        let Some(super::autograd::Hook(f)) = function.downcast_ref() else {
            return Err(Error::runtime("a hook was registered by another script"));
        };
        let value = f.call_within_context::<Dynamic>(self.context, (grad.clone(),)).map_err(|error| {
            let text = error.to_string();
            self.failed.replace(Some(error));
            Error::runtime(text)
        })?;
        let name = if f.is_anonymous() { "<lambda>" } else { f.fn_name() };
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

/// `checkpoint(function, input, …)`
fn one(shared: &Shared, ctx: &NativeCallContext, args: &FnCallArgs) -> RhaiResult<Dynamic> {
    note_line(shared, ctx);
    let (positional, options) = split("checkpoint", args).map_err(raise)?;
    let Some((function, inputs)) = positional.split_first() else {
        return Err(raise(Error::type_error("checkpoint() missing required argument 'function'")));
    };
    let step = step("checkpoint", function).map_err(raise)?;
    let (slots, tensors) = slots(inputs);
    Part { steps: vec![step], slots }.checkpointed(ctx, &tensors, options)
}

/// `checkpoint_sequential(functions, segments, input)`
fn sequential(shared: &Shared, ctx: &NativeCallContext, args: &FnCallArgs) -> RhaiResult<Dynamic> {
    note_line(shared, ctx);
    let (positional, options) = split("checkpoint_sequential", args).map_err(raise)?;
    let [functions, count, input] = positional.as_slice() else {
        let text = format!(
            "checkpoint_sequential() takes functions, segments and an input, but {} arguments were given",
            positional.len()
        );
        return Err(raise(Error::type_error(text)));
    };
    let steps = steps(functions).map_err(raise)?;
    let count = count.as_int().ok().and_then(|n| usize::try_from(n).ok());
    let Some(count) = count.filter(|n| (1..=steps.len().max(1)).contains(n)) else {
        let text = format!(
            "checkpoint_sequential(): segments must be a number from 1 to that of the functions, {}",
            steps.len()
        );
        return Err(raise(Error::value(text)));
    };
    let mut parts = segments(steps.len(), count).into_iter().peekable();
    let mut value = (*input).clone();
    while let Some(range) = parts.next() {
        let (slots, tensors) = slots(&[std::mem::take(&mut value)]);
        let part = Part { steps: steps.get(range).unwrap_or(&[]).to_vec(), slots };
        value = if parts.peek().is_some() {
            part.checkpointed(ctx, &tensors, options)?
        } else {
            part.run(ctx, &tensors)?
        };
    }
    Ok(value)
}

/// The functions of a container or an array.
fn steps(functions: &Dynamic) -> Result<Vec<Step>> {
    if let Some(net) = functions.read_lock::<Module>() {
        return Ok(net.children().iter().map(|(_, m)| Step::Module(m.clone())).collect());
    }
    match functions.read_lock::<Array>() {
        Some(items) => items.iter().map(|item| step("checkpoint_sequential", item)).collect(),
        None => Err(Error::type_error(format!(
            "checkpoint_sequential(): functions must be an nn::Sequential or an array, not a {}",
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
    let text = format!("{name}(): a function is a closure or a module, not a {}", type_name(function));
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

/// Arguments and options: a map at the end holds options.
fn split(name: &str, args: &FnCallArgs) -> Result<(Vec<Dynamic>, Options)> {
    const NAMES: [&str; 3] = ["preserve_rng_state", "use_reentrant", "early_stop"];
    let mut positional: Vec<Dynamic> = args.iter().map(|d| (**d).clone()).collect();
    let mut options = Options::default();
    let Some(given) = positional.pop_if(|last| last.is::<Map>()) else { return Ok((positional, options)) };
    let Some(map) = given.read_lock::<Map>() else { return Ok((positional, options)) };
    for (key, value) in map.iter() {
        let flag = || {
            value.as_bool().map_err(|_| {
                Error::type_error(format!(
                    "{name}(): '{key}' must be true or false, not {}",
                    type_name(value)
                ))
            })
        };
        match key.as_str() {
            "preserve_rng_state" => options.preserve_rng_state = flag()?,
            // `torch.utils.checkpoint.checkpoint_sequential` has no such option.
            "early_stop" if name == "checkpoint" => options.early_stop = flag()?,
            "use_reentrant" if !flag()? => {}
            "use_reentrant" => {
                return Err(Error::value(format!("{name}(): only use_reentrant: false is supported"))
                    .with_hint("leave the option out: it is PyTorch's recommended variant as well"));
            }
            _ => {
                let known =
                    if name == "checkpoint" { NAMES.as_slice() } else { NAMES.get(..2).unwrap_or(&[]) };
                return Err(unknown_option(name, key, known));
            }
        }
    }
    drop(map);
    Ok((positional, options))
}
