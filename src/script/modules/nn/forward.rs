//! Calls of modules.

use std::any::Any;
use std::cell::RefCell;

use rhai::{Array, Dynamic, EvalAltResult, Map, NativeCallContext};

use crate::base::{Error, Result};
use crate::distributed::DistributedDataParallel;
use crate::nn::{Call as LayerCall, Caller, Module, containers, hooks};
use crate::op::Value;
use crate::optim::lr_scheduler::Function;
use crate::parallel::DataParallel;
use crate::script::fault::{RhaiResult, raise};
use crate::script::missing::NOTHING;
use crate::script::modules::nn::own::Own;
use crate::script::value::{self, Callback, Held, from_dynamic, given, to_dynamic, type_name};
use crate::tensor::Tensor;

/// What is told where a module that gives several values stands before one that takes a tensor.
const SEVERAL: &str = "of several values one is taken: `out[0]` is the output of an LSTM, and in an nn::Sequential \
                       `nn::module(#{}, |self, out| out[0])` stands between them";

/// Runs script-written modules from inside others. A script's error keeps its place: it is taken out again
/// where the outermost call returns.
pub(crate) struct Running<'a, 'b> {
    context: &'a NativeCallContext<'b>,
    failed: RefCell<Option<Box<EvalAltResult>>>,
}

impl Caller for Running<'_, '_> {
    fn call(&self, function: &dyn Any, module: &Module, inputs: &[&Tensor]) -> Result<Tensor> {
        let Some(function) = function.downcast_ref::<Callback>() else {
            return Err(Error::runtime(format!("{} has no forward function", module.name())));
        };
        let own = std::iter::once(Dynamic::from(module.clone()));
        let args: Vec<Dynamic> = own.chain(inputs.iter().map(|t| Dynamic::from((*t).clone()))).collect();
        match function.call(self.context, args) {
            Ok(out) => tensor(&out).map_err(|_| {
                let text = format!("{} stands inside another module and must give a Tensor", module.name());
                Error::type_error(format!("{text}, not {}", type_name(&out)))
            }),
            Err(error) => {
                let text = error.to_string();
                self.failed.replace(Some(error));
                Err(Error::runtime(text))
            }
        }
    }

    fn hook(
        &self,
        function: &Value,
        module: &Module,
        inputs: &[Value],
        output: Option<&Value>,
    ) -> Result<Option<Value>> {
        let Some(known) = callback(function) else {
            return Err(Error::runtime("a hook was registered by another script"));
        };
        let inputs: Array = inputs.iter().map(released).collect();
        let mut args = vec![Dynamic::from(module.clone()), Dynamic::from_array(inputs)];
        args.extend(output.map(released));
        let answer = known.call(self.context, args).map_err(|error| engine_error(error, &self.failed))?;
        if answer.is_unit() {
            return Ok(None);
        }
        from_dynamic(&answer).map(Some).map_err(|_| {
            let text = format!("a hook of {} gave {}", module.name(), type_name(&answer));
            Error::type_error(text).with_hint(hooks::LAST_LINE)
        })
    }
}

/// A script's function, as hooks are kept.
pub(crate) fn callback(function: &Value) -> Option<&Callback> {
    match function {
        Value::Object(object) => object.get::<Function>().and_then(|f| f.downcast_ref::<Callback>()),
        _ => None,
    }
}

/// Calls a module with what a script gave it, between its hooks.
pub(crate) fn call(context: &NativeCallContext, module: &Module, inputs: &[&Dynamic]) -> RhaiResult<Dynamic> {
    // Other modules have theirs within.
    let is_own = module.is_hooked()
        && (Own::of(module).is_some()
            || containers::is_sequential(module)
            || DataParallel::of(module).is_some()
            || DistributedDataParallel::of(module).is_some());
    if !is_own {
        return called(context, module, inputs);
    }
    let running = Running { context, failed: RefCell::default() };
    let inputs = inputs.iter().map(|input| held((*input).clone())).collect();
    let run = |inputs: &[Value]| {
        let inputs: Vec<Dynamic> = inputs.iter().map(released).collect();
        let output = called(context, module, &inputs.iter().collect::<Vec<_>>());
        output.map(held).map_err(|error| engine_error(error, &running.failed))
    };
    let output = module.between_hooks(inputs, &running, run);
    output.map(|out| released(&out)).map_err(|e| running.failed.take().unwrap_or_else(|| raise(e)))
}

/// Calls the children of a [`containers::sequential`], each with what the one before it gave: an array from an LSTM as well.
fn one_after_other(context: &NativeCallContext, module: &Module, inputs: &[&Dynamic]) -> RhaiResult<Dynamic> {
    let failed: RefCell<Option<Box<EvalAltResult>>> = RefCell::default();
    let through = |name: &str, child: &Module, inputs: &[&Dynamic]| {
        call(context, child, inputs)
            .map_err(|error| engine_error(error, &failed).in_layer(name, child.name()))
            .map_err(|error| failed.take().unwrap_or_else(|| raise(error)))
    };
    let children = module.children();
    let Some(((name, first), rest)) = children.split_first().filter(|_| !is_plain(module)) else {
        // Its own hooks run around this.
        let forward = |tensors: &[&Tensor], running: &Running| {
            module.layer().forward(&LayerCall { module, inputs: tensors, caller: running })
        };
        return tensors_through(context, inputs, forward);
    };
    let mut value = through(name, first, inputs)?;
    for (name, child) in rest {
        value = through(name, child, &[&value])?;
    }
    Ok(value)
}

/// Whether each part of a row takes tensors and gives one, so that the row need not come back to the script in between.
fn is_plain(row: &Module) -> bool {
    row.children().iter().all(|(_, part)| match containers::is_sequential(part) {
        true => !part.is_hooked() && is_plain(part),
        false => part.layer().as_any().is_none() && part.layer().call_row().is_none(),
    })
}

/// A value on its way past hooks, which look for tensors: by itself, or among the values of an array.
fn held(value: Dynamic) -> Value {
    let tensor = |value: &Dynamic| value.read_lock::<Tensor>().map(|t| Value::Tensor(t.clone()));
    let one = |value: &Dynamic| tensor(value).unwrap_or_else(|| Held(value.clone()).into_value());
    let several = value.read_lock::<Array>().filter(|all| all.iter().any(|value| value.is::<Tensor>()));
    let several = several.map(|all| Value::List(all.iter().map(one).collect()));
    several.unwrap_or_else(|| one(&value))
}

/// What [`held`] was given.
pub(crate) fn released(value: &Value) -> Dynamic {
    match value {
        Value::List(all) => Dynamic::from_array(all.iter().map(released).collect()),
        one => given(one),
    }
}

fn called(context: &NativeCallContext, module: &Module, inputs: &[&Dynamic]) -> RhaiResult<Dynamic> {
    if let Some(parallel) = DataParallel::of(module) {
        return replicas(context, parallel, module, inputs);
    }
    if let Some(ranks) = DistributedDataParallel::of(module) {
        return averaged(context, ranks, module, inputs);
    }
    if let Some(own) = Own::of(module) {
        own.check_callable().map_err(raise)?;
        let first = std::iter::once(Dynamic::from(module.clone()));
        let args: Vec<Dynamic> = first.chain(inputs.iter().map(|d| (*d).clone())).collect();
        return own.forward.call(context, args);
    }
    if containers::is_sequential(module) {
        return one_after_other(context, module, inputs);
    }
    if module.layer().call_row().is_some() {
        return respond(context, module, inputs);
    }
    tensors_through(context, inputs, |tensors, running| module.forward(tensors, running))
}

/// Calls what takes tensors and gives one.
fn tensors_through(
    context: &NativeCallContext,
    inputs: &[&Dynamic],
    forward: impl FnOnce(&[&Tensor], &Running) -> Result<Tensor>,
) -> RhaiResult<Dynamic> {
    let tensors = match inputs {
        [only] if only.is_map() => by_names(only),
        all => all.iter().map(|d| tensor(d)).collect::<Result<Vec<_>>>(),
    }
    .map_err(raise)?;
    let running = Running { context, failed: RefCell::default() };
    let all: Vec<&Tensor> = tensors.iter().collect();
    forward(&all, &running).map(Dynamic::from).map_err(|e| running.failed.take().unwrap_or_else(|| raise(e)))
}

/// Calls a module whose forward function has options, such as masks.
pub(crate) fn respond(
    context: &NativeCallContext,
    module: &Module,
    inputs: &[&Dynamic],
) -> RhaiResult<Dynamic> {
    #[expect(clippy::disallowed_methods, reason = "as many as a call has arguments")]
    let (mut positional, mut named) = (Vec::with_capacity(inputs.len()), Vec::new());
    for (i, input) in inputs.iter().enumerate() {
        match input.read_lock::<Map>() {
            Some(map) if i + 1 == inputs.len() => named = value::options(&map).map_err(raise)?,
            _ => positional.push(from_dynamic(input).map_err(raise)?),
        }
    }
    let running = Running { context, failed: RefCell::default() };
    let out = module.respond(positional, named, &running);
    out.map(to_dynamic).map_err(|e| running.failed.take().unwrap_or_else(|| raise(e)))
}

/// The inputs of a module of PyTorch's by the names that they have there, in their order.
fn by_names(options: &Dynamic) -> Result<Vec<Tensor>> {
    const NAMES: [&[&str]; 7] = [
        &["input"],
        &["input", "target"],
        &["input1", "input2"],
        &["x1", "x2"],
        &["input1", "input2", "target"],
        &["anchor", "positive", "negative"],
        &["input", "target", "var"],
    ];
    let Some(map) = options.read_lock::<Map>() else { return Ok(vec![tensor(options)?]) };
    let all_of =
        |names: &&&[&str]| names.len() == map.len() && names.iter().all(|name| map.contains_key(*name));
    match NAMES.iter().find(all_of) {
        Some(names) => names.iter().filter_map(|name| map.get(*name)).map(tensor).collect(),
        None => Ok(vec![tensor(options)?]),
    }
}

pub(crate) fn tensor(value: &Dynamic) -> Result<Tensor> {
    value.read_lock::<Tensor>().map(|t| t.clone()).ok_or_else(|| {
        let error = Error::type_error(format!("a module's input must be a Tensor, not {}", type_name(value)));
        match value {
            several if several.is_array() => error.with_hint(SEVERAL),
            nothing if nothing.is_unit() => error.with_hint(NOTHING),
            _ => error,
        }
    })
}

/// Calls a [`DataParallel`] module: inputs and outputs may be arrays and maps of tensors.
pub(crate) fn replicas(
    context: &NativeCallContext,
    parallel: &DataParallel,
    module: &Module,
    inputs: &[&Dynamic],
) -> RhaiResult<Dynamic> {
    let inputs = inputs.iter().map(|d| from_dynamic(d)).collect::<Result<Vec<_>>>().map_err(raise)?;
    let failed: RefCell<Option<Box<EvalAltResult>>> = RefCell::default();
    let mut run = |replica: &Module, part: Vec<Value>| {
        let part: Vec<Dynamic> = part.into_iter().map(to_dynamic).collect();
        let output = call(context, replica, &part.iter().collect::<Vec<_>>());
        match output {
            Ok(value) => from_dynamic(&value),
            Err(error) => Err(engine_error(error, &failed)),
        }
    };
    let output = parallel.forward(module, inputs, &mut run);
    output.map(to_dynamic).map_err(|e| failed.take().unwrap_or_else(|| raise(e)))
}

/// Calls a [`DistributedDataParallel`] module: inputs and outputs may be arrays and maps of tensors.
fn averaged(
    context: &NativeCallContext,
    ranks: &DistributedDataParallel,
    module: &Module,
    inputs: &[&Dynamic],
) -> RhaiResult<Dynamic> {
    let inputs = inputs.iter().map(|d| from_dynamic(d)).collect::<Result<Vec<_>>>().map_err(raise)?;
    let failed: RefCell<Option<Box<EvalAltResult>>> = RefCell::default();
    let run = |inner: &Module, inputs: Vec<Value>| {
        let inputs: Vec<Dynamic> = inputs.into_iter().map(to_dynamic).collect();
        call(context, inner, &inputs.iter().collect::<Vec<_>>()).map_err(|error| engine_error(error, &failed))
    };
    let output = ranks.forward(module, inputs, run, |output| tensors_in(output, 0));
    output.map_err(|e| failed.take().unwrap_or_else(|| raise(e)))
}

/// The tensors of an output.
fn tensors_in(value: &Dynamic, depth: usize) -> Vec<Tensor> {
    const DEEPEST: usize = 16;
    if let Some(t) = value.read_lock::<Tensor>() {
        return vec![t.clone()];
    }
    let within = |values: &mut dyn Iterator<Item = &Dynamic>| -> Vec<Tensor> {
        values.filter(|_| depth < DEEPEST).flat_map(|v| tensors_in(v, depth + 1)).collect()
    };
    if let Some(items) = value.read_lock::<rhai::Array>() {
        return within(&mut items.iter());
    }
    value.read_lock::<Map>().map(|map| within(&mut map.values())).unwrap_or_default()
}

/// The engine's own error, or a stand-in for one that the script raised and that is kept with its place.
pub(crate) fn engine_error(error: Box<EvalAltResult>, failed: &RefCell<Option<Box<EvalAltResult>>>) -> Error {
    if let EvalAltResult::ErrorRuntime(value, position) = &*error
        && position.is_none()
        && let Some(inner) = value.read_lock::<Error>()
    {
        return inner.clone();
    }
    let text = error.to_string();
    failed.replace(Some(error));
    Error::runtime(text)
}
