//! `nn::`: modules as a script builds, calls and changes them.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Array, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, Map, NativeCallContext};

use crate::base::chain::Link;
use crate::base::near::nearest;
use crate::base::{DType, DeviceSpec, Error, Result};
use crate::device::{Machine, Shared};
use crate::nn::state::Mismatch;
use crate::nn::{Call, Caller, Layer, Module, Parts};
use crate::op::{Args, Form, Forward, OpDef, Value};
use crate::parallel::DataParallel;
use crate::script::bind::{FnCallArgs, note_line, register_functional, register_raw};
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::script::syntax::EVAL;
use crate::script::value::{self, Callback, from_dynamic, to_dynamic, type_name};
use crate::tensor::Tensor;

use super::{RhaiResult, parts};

pub const NAMES: &[&str] = &[
    "nn",
    "utils",
    "init",
    "module",
    "Parameter",
    "forward",
    "parameters",
    "named_parameters",
    "buffers",
    "named_buffers",
    "children",
    "named_children",
    "modules",
    "state_dict",
    "load_state_dict",
    "train",
    "eval",
    "zero_grad",
    "requires_grad_",
    "apply",
    "isinstance",
    "training",
    "append",
    "extend",
    "insert",
    "pop",
    "add_module",
    "register_module",
    "register_parameter",
    "register_buffer",
    "get_submodule",
    "get_parameter",
    "get_buffer",
];

const fn page(name: &'static str, call: &'static str, text: &'static str) -> Page {
    Page { name, call, text }
}

pub const PAGES: &[Page] = &[
    page(
        "nn::module",
        "nn::module(#{fc: nn::Linear(100, 10)}, |self, x| self.fc.forward(x))",
        "A module of one's own: its parts by name, and what it computes from itself and its inputs. Modules, tensors \
         that require gradients (nn::Parameter(t) makes them) and other tensors become children, parameters and \
         buffers; other values are kept as they are. A name before the parts is the class name that is printed. \
         `net.fc = nn::Linear(100, 5)` puts another child in a place, or a first one there; what is assigned later \
         becomes a parameter where it is a leaf that requires gradients, and stays a plain value otherwise.",
    ),
    page(
        "nn::Parameter",
        "nn::Parameter(t)",
        "A leaf with the values of t that requires gradients: as a part of nn::module it is trained.",
    ),
    page(
        "forward",
        "net.forward(x)",
        "The module's output. Layers such as nn::MultiheadAttention take options: net.forward(q, k, v, #{attn_mask}).",
    ),
    page(
        "parameters",
        "net.parameters(), net.named_parameters()",
        "The trained tensors of a module and of all below it, each once; named_parameters gives [name, tensor].",
    ),
    page("buffers", "net.buffers(), net.named_buffers()", "Tensors of the state that are not trained."),
    page("children", "net.children(), net.named_children()", "The modules directly below."),
    page(
        "modules",
        "net.modules(), net.named_modules()",
        "The module itself and all below it, parents first.",
    ),
    page(
        "append",
        "net.append(module)",
        "Puts a module at the end of an nn::Sequential or nn::ModuleList. `net.extend([a, b])` puts several there, \
         `net.insert(0, module)` one before another, `net.pop(1)` takes one out and gives it; those behind it are \
         counted anew. An optimiser made before does not know the new parameters: `add_param_group` tells it.",
    ),
    page(
        "add_module",
        "net.add_module(\"fc\", module)",
        "Puts a module under a name, as `net.fc = module` does. `register_module` is the same.",
    ),
    page(
        "register_parameter",
        "net.register_parameter(\"scale\", tensor)",
        "Has a leaf as a parameter, which is made to require gradients; () keeps the name without one.",
    ),
    page(
        "register_buffer",
        "net.register_buffer(\"mean\", tensor, #{persistent: true})",
        "Has a tensor as a part of the state that is not trained. One that is not persistent moves with the module \
         and stays out of its state_dict.",
    ),
    page(
        "get_submodule",
        "net.get_submodule(\"0.fc\"), net.get_parameter(\"0.fc.weight\"), net.get_buffer(\"1.running_mean\")",
        "What stands at a dotted path below a module.",
    ),
    page(
        "state_dict",
        "net.state_dict()",
        "Every parameter and buffer by name, sharing memory. `save(net.state_dict(), path)` keeps it; optimisers and \
         schedulers have a state_dict of their own.",
    ),
    page(
        "load_state_dict",
        "net.load_state_dict(state, #{strict: true})",
        "Copies a state into a module. Shapes must fit, and names as well unless strict is false.",
    ),
    page(
        "train",
        "net.train(), net.eval()",
        "Turns training mode on or off, here and below: dropout, batch statistics.",
    ),
    page("zero_grad", "net.zero_grad(), opt.zero_grad()", "Drops the gradients of all parameters."),
    page(
        "apply",
        "net.apply(|m| …)",
        "Calls a function with every module below and then with the module itself; `isinstance(m, \"Linear\")` asks \
         what it is.",
    ),
    page(
        "isinstance",
        "isinstance(m, \"Linear\")",
        "Whether a module is of a class, by the name that it is printed with.",
    ),
];

/// The most modules that a container takes one by one; more go in an array.
const SPREAD: usize = 16;

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let shared = &machine.shared;
    let (mut nn, mut utils, mut init) = (rhai::Module::new(), rhai::Module::new(), rhai::Module::new());
    let mut transformer = rhai::Module::new();
    let mut rnn = rhai::Module::new();
    for def in crate::nn::table() {
        match def.forms {
            [Form::Of("nn::utils::rnn")] => register_functional(&mut rnn, def, shared),
            [Form::Of("nn::utils")] => register_functional(&mut utils, def, shared),
            [Form::Of("nn::Transformer")] => register_functional(&mut transformer, def, shared),
            [Form::Of("nn::init")] => register_functional(&mut init, def, shared),
            _ => register_functional(&mut nn, def, shared),
        }
        if def.params.first().is_some_and(|p| p.name == "modules") {
            register_spread(&mut nn, def);
        }
    }
    super::parallel::register(engine, &mut nn, shared);
    own(&mut nn);
    utils.set_sub_module("rnn", rnn);
    nn.set_sub_module("utils", utils);
    nn.set_sub_module("init", init);
    nn.set_sub_module("Transformer", transformer);
    engine.register_static_module("nn", nn.into());
    super::packed::register(engine);
    engine.register_type_with_name::<Module>("Module");
    engine.register_fn("to_string", |m: &mut Module| m.to_string());
    engine.register_fn("to_debug", |m: &mut Module| m.to_string());
    engine.register_fn("is", |a: &mut Module, b: Module| a.is(&b));
    let class = |m: &mut Module, name: &str| m.name() == name.rsplit("::").next().unwrap_or(name);
    engine.register_fn("isinstance", class);
    engine.register_fn("_get_name", |m: &mut Module| m.name().to_string());
    forward(engine, shared);
    parts::register(engine);
    state(engine);
    mismatch(engine);
    modes(engine);
    moves(engine);
}

/// Registers a container for modules given one by one.
fn register_spread(module: &mut rhai::Module, def: &'static OpDef) {
    let Forward::Call(run) = def.forward else { return };
    for count in 2..=SPREAD {
        let types = vec![TypeId::of::<Dynamic>(); count];
        register_raw(module, def.name, types, move |_, args: &mut FnCallArgs| {
            let items = args.iter().map(|a| from_dynamic(a)).collect::<Result<Vec<_>>>().map_err(raise)?;
            let all = Args::bind(def, vec![Value::List(items)], Vec::new()).map_err(raise)?;
            run(&all).map(to_dynamic).map_err(raise)
        });
    }
}

/// A module written in a script: its parts by name, and a closure of itself and its inputs.
pub struct Own {
    name: String,
    forward: Callback,
    /// What is neither tensor nor module.
    values: Mutex<Link<Map>>,
}

impl Own {
    pub fn values(&self) -> MutexGuard<'_, Link<Map>> {
        self.values.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn of(module: &Module) -> Option<&Own> {
        module.layer().as_any()?.downcast_ref()
    }
}

impl Layer for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
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
        Some(Arc::new(Own { name: self.name.clone(), forward: self.forward.clone(), values }))
    }
}

/// Runs script-written modules from inside others. A script's error keeps its place: it is taken out again
/// where the outermost call returns.
struct Running<'a, 'b> {
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
        match function.call_within_context::<Dynamic>(self.context, args) {
            Ok(out) => tensor(&out).map_err(|_| {
                let text = format!("{} stands inside another module and must give a Tensor", module.name());
                Error::type_error(format!("{text}, not a {}", type_name(&out)))
            }),
            Err(error) => {
                let text = error.to_string();
                self.failed.replace(Some(error));
                Err(Error::runtime(text))
            }
        }
    }
}

/// Calls a module with what a script gave it.
pub fn call(context: &NativeCallContext, module: &Module, inputs: &[&Dynamic]) -> RhaiResult<Dynamic> {
    if let Some(parallel) = DataParallel::of(module) {
        return super::parallel::call(context, parallel, module, inputs);
    }
    if let Some(own) = Own::of(module) {
        let first = std::iter::once(Dynamic::from(module.clone()));
        let args: Vec<Dynamic> = first.chain(inputs.iter().map(|d| (*d).clone())).collect();
        return own.forward.call_within_context(context, args);
    }
    if module.layer().call_row().is_some() {
        return respond(context, module, inputs);
    }
    let tensors = inputs.iter().map(|d| tensor(d)).collect::<Result<Vec<_>>>().map_err(raise)?;
    let running = Running { context, failed: RefCell::default() };
    let all: Vec<&Tensor> = tensors.iter().collect();
    module
        .forward(&all, &running)
        .map(Dynamic::from)
        .map_err(|e| running.failed.take().unwrap_or_else(|| raise(e)))
}

/// Calls a module whose forward function has options, such as masks.
fn respond(context: &NativeCallContext, module: &Module, inputs: &[&Dynamic]) -> RhaiResult<Dynamic> {
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

fn tensor(value: &Dynamic) -> Result<Tensor> {
    value.read_lock::<Tensor>().map(|t| t.clone()).ok_or_else(|| {
        Error::type_error(format!("a module's input must be a Tensor, not a {}", type_name(value)))
    })
}

fn forward(engine: &mut Engine, shared: &Arc<Shared>) {
    for inputs in 0..=9 {
        let mut types = vec![TypeId::of::<Dynamic>(); inputs + 1];
        if let Some(first) = types.first_mut() {
            *first = TypeId::of::<Module>();
        }
        let here = Arc::clone(shared);
        engine.register_raw_fn("forward", types, move |ctx: NativeCallContext, args: &mut FnCallArgs| {
            note_line(&here, &ctx);
            let Some((first, rest)) = args.split_first() else { return Ok(Dynamic::UNIT) };
            let module = first.read_lock::<Module>().map(|m| m.clone());
            let Some(module) = module else { return Ok(Dynamic::UNIT) };
            let inputs: Vec<&Dynamic> = rest.iter().map(|d| &**d).collect();
            call(&ctx, &module, &inputs)
        });
    }
}

/// `nn::module(#{…}, |self, x| …)` and `nn::Parameter(t)`.
fn own(nn: &mut rhai::Module) {
    nn.set_native_fn("module", |parts: Map, forward: FnPtr| own_module("Module", parts, forward));
    nn.set_native_fn("module", |name: &str, parts: Map, forward: FnPtr| own_module(name, parts, forward));
    nn.set_native_fn("Parameter", |t: Tensor| -> RhaiResult<Tensor> {
        let leaf = t.detach();
        leaf.set_requires_grad(true).map_err(raise)?;
        Ok(leaf)
    });
}

/// Fails on an array of modules, whose parameters nothing would find.
pub fn check_hidden(name: &str, value: &Dynamic) -> Result<()> {
    if value.read_lock::<Array>().is_some_and(|a| a.iter().any(|d| d.is::<Module>())) {
        let text = format!("the modules in the array '{name}' would not be found by parameters()");
        return Err(Error::type_error(text).with_hint(format!("nn::ModuleList([…]) as '{name}' keeps them")));
    }
    Ok(())
}

fn own_module(name: &str, given: Map, forward: FnPtr) -> RhaiResult<Module> {
    let mut parts = Parts::new();
    let mut values = Map::new();
    for (key, item) in given {
        let as_tensor = item.read_lock::<Tensor>().map(|t| t.clone());
        let as_module = item.read_lock::<Module>().map(|m| m.clone());
        parts = match (as_tensor, as_module) {
            (Some(t), _) if t.requires_grad() => parts.parameter(key.as_str(), Some(t)),
            (Some(t), _) => parts.buffer(key.as_str(), Some(t)),
            (None, Some(m)) => parts.child(key.as_str(), m),
            (None, None) => {
                check_hidden(&key, &item).map_err(raise)?;
                values.insert(key, item);
                parts
            }
        };
    }
    let layer =
        Own { name: name.into(), forward: Callback::new(forward), values: Mutex::new(Link::new(values)) };
    Module::new(layer, parts).map_err(raise)
}

fn state(engine: &mut Engine) {
    engine.register_fn("state_dict", |m: &mut Module| -> Map {
        m.state_dict().into_iter().map(|(name, t)| (name.into(), Dynamic::from(t))).collect()
    });
    engine.register_fn("load_state_dict", |m: &mut Module, given: Map| load(m, &given, true));
    engine.register_fn(
        "load_state_dict",
        |m: &mut Module, given: Map, options: Map| -> RhaiResult<Mismatch> {
            let mut strict = true;
            for (name, value) in &options {
                match (name.as_str(), value.as_bool()) {
                    ("strict", Ok(on)) => strict = on,
                    _ => return Err(raise(unknown_option("load_state_dict", name, &["strict"]))),
                }
            }
            load(m, &given, strict)
        },
    );
}

fn load(module: &Module, given: &Map, strict: bool) -> RhaiResult<Mismatch> {
    let entry = |(name, value): (&rhai::Identifier, &Dynamic)| match value.read_lock::<Tensor>() {
        Some(t) => Ok((name.to_string(), t.clone())),
        None => {
            let text = format!("load_state_dict(): '{name}' must be a Tensor, not a {}", type_name(value));
            Err(Error::type_error(text))
        }
    };
    let state = given.iter().map(entry).collect::<Result<Vec<_>>>().map_err(raise)?;
    module.load_state_dict(&state, strict).map_err(raise)
}

/// What `load_state_dict` gives: `missing_keys` and `unexpected_keys`.
fn mismatch(engine: &mut Engine) {
    fn names(all: &[String]) -> Array {
        all.iter().map(|n| n.clone().into()).collect()
    }
    engine.register_type_with_name::<Mismatch>("IncompatibleKeys");
    engine.register_get("missing_keys", |m: &mut Mismatch| names(&m.missing));
    engine.register_get("unexpected_keys", |m: &mut Mismatch| names(&m.unexpected));
    engine.register_fn("to_string", |m: &mut Mismatch| m.to_string());
    engine.register_fn("to_debug", |m: &mut Mismatch| m.to_string());
}

fn modes(engine: &mut Engine) {
    let set = |m: &mut Module, on: bool| {
        m.train(on);
        m.clone()
    };
    engine.register_fn("train", move |m: &mut Module| set(m, true));
    engine.register_fn("train", set);
    engine.register_fn(EVAL, move |m: &mut Module| set(m, false));
    engine.register_get("training", |m: &mut Module| m.training());
    engine.register_fn("zero_grad", |m: &mut Module| m.zero_grad());
    let require = |m: &mut Module, on: bool| -> RhaiResult<Module> {
        m.requires_grad_(on).map_err(raise)?;
        Ok(m.clone())
    };
    engine.register_fn("requires_grad_", move |m: &mut Module| require(m, true));
    engine.register_fn("requires_grad_", require);
}

fn moves(engine: &mut Engine) {
    fn moved(m: &Module, spec: Option<DeviceSpec>, dtype: Option<DType>) -> RhaiResult<Module> {
        let device = spec.map(|s| Machine::current().resolve(s));
        m.to(device, dtype).map_err(raise)?;
        Ok(m.clone())
    }
    engine.register_fn("to", |m: &mut Module, to: Dynamic| -> RhaiResult<Module> {
        let (device, dtype) = target(&to).map_err(raise)?;
        moved(m, device, dtype)
    });
    engine.register_fn("to", |m: &mut Module, device: Dynamic, dtype: Dynamic| -> RhaiResult<Module> {
        let ((device, _), (_, dtype)) = (target(&device).map_err(raise)?, target(&dtype).map_err(raise)?);
        moved(m, device, dtype)
    });
    engine.register_fn("cuda", |m: &mut Module| moved(m, Some(DeviceSpec::Cuda(None)), None));
    engine.register_fn("cuda", |m: &mut Module, device: Dynamic| -> RhaiResult<Module> {
        moved(m, Some(value::device(&device).map_err(raise)?), None)
    });
    engine.register_fn("cpu", |m: &mut Module| moved(m, Some(DeviceSpec::Cpu), None));
    let casts = [
        ("half", DType::Float16),
        ("float", DType::Float32),
        ("double", DType::Float64),
        ("bfloat16", DType::BFloat16),
    ];
    for (name, dtype) in casts {
        engine.register_fn(name, move |m: &mut Module| moved(m, None, Some(dtype)));
    }
}

/// A device, a dtype, a tensor that has both, or a map of them.
fn target(to: &Dynamic) -> Result<(Option<DeviceSpec>, Option<DType>)> {
    if let Some(dtype) = to.read_lock::<DType>() {
        return Ok((None, Some(*dtype)));
    }
    if let Some(t) = to.read_lock::<Tensor>() {
        return Ok((Some(t.device().into()), Some(t.dtype())));
    }
    if let Some(options) = to.read_lock::<Map>() {
        let mut found = (None, None);
        for (name, item) in options.iter() {
            match name.as_str() {
                "device" => found.0 = target(item)?.0,
                "dtype" => found.1 = target(item)?.1,
                _ => return Err(unknown_option("to", name, &["device", "dtype"])),
            }
        }
        return Ok(found);
    }
    match to.read_lock::<ImmutableString>().and_then(|s| DType::parse(&s)) {
        Some(dtype) => Ok((None, Some(dtype))),
        None => Ok((Some(value::device(to)?), None)),
    }
}

pub fn unknown_option(function: &str, name: &str, known: &[&str]) -> Error {
    let error = Error::type_error(format!("{function}() cannot use option '{name}'"));
    match nearest(name, known.iter().copied()) {
        Some(near) if near != name => error.with_hint(format!("did you mean `{near}`?")),
        _ => error.with_hint(format!("options are {}", known.join(", "))),
    }
}
