//! `nn::`: modules as a script builds, calls and changes them.

mod containers;
mod contents;
pub(crate) mod forward;
mod hooks;
pub(crate) mod method;
pub(crate) mod own;
mod packed;
pub(super) mod parts;
mod state;

use std::any::TypeId;
use std::sync::{Arc, Mutex};

use rhai::{Dynamic, Engine, FnPtr, Map};

use crate::base::chain::Link;
use crate::base::{Error, Result};
use crate::device::Machine;
use crate::device::examine::Maker;
use crate::nn::state::Mismatch;
use crate::nn::{Module, Parts};
use crate::op::params::{kind, params};
use crate::op::{Args, Family, Form, Forward, OpDef, Value, shapes};
use crate::script::bind::{FnCallArgs, register_functional, register_raw};
use crate::script::call::kind::Given;
use crate::script::call::{self, Call, Outcome, ScriptRow, Spaces};
use crate::script::fault::raise;
use crate::script::modules::nn::own::{Own, check_hidden};
use crate::script::value::{Callback, from_dynamic, to_dynamic, type_name};
use crate::tensor::Tensor;

params! {
    ModuleParams {
        name: Given, "the class name that is printed; it may be left out";
        parts: Given, "its parts by name: modules, tensors and other values";
        forward: Given = (), "what it computes, from the module itself and its inputs";
    }
}

params! {
    ParameterParams {
        data: kind::Tensor, "the values, which are shared";
        requires_grad: kind::Bool = true, "without it the parameter is frozen: a part of the network that is not trained";
    }
}

static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script(
            "module",
            Family::Module,
            "A module of one's own: its parts by name, and what it computes from itself and its inputs.",
            ModuleParams::LIST,
        )
        .forms(&[Form::Of("nn")])
        .torch("torch.nn.Module")
        .details(
            "`nn::module(#{fc: nn::Linear(100, 10)}, |self, x| self.fc.forward(x))`: modules, tensors that require \
             gradients (nn::Parameter(t) makes them) and other tensors become children, parameters and buffers; other \
             values are kept as they are. A name before the parts is the class name that is printed. \
             `net.fc = nn::Linear(100, 5)` puts another child in a place, or a first one there; what is assigned later \
             becomes a parameter where it is a leaf that requires gradients, and stays a plain value otherwise.",
        )
        .errors(&[
            "TypeError: an array among the parts holds modules, which nn::ModuleList([…]) would",
            "Error: whatever its function fails with",
        ])
        .example(
            "let net = nn::module(\"Twice\", #{act: nn::ReLU()}, |self, x| self.act.forward(x) * 2); net.forward(tensor([-1.0, 2.0]))",
            "tensor([0., 4.])",
        ),
        module,
    ),
    ScriptRow::of(
        OpDef::script(
            "Parameter",
            Family::Module,
            "A leaf with the values of a tensor that requires gradients: as a part of nn::module it is trained.",
            ParameterParams::LIST,
        )
        .forms(&[Form::Of("nn")])
        .torch("torch.nn.Parameter")
        .shapes(shapes::SAME)
        .errors(&["RuntimeError: the tensor is of integers"])
        .example("nn::Parameter(ones(2))", "tensor([1., 1.], requires_grad=True)"),
        |call| {
            let given = ParameterParams::of(&call.args)?;
            let leaf = given.data.detach();
            leaf.set_requires_grad(given.requires_grad)?;
            leaf.mark_parameter();
            Ok(Dynamic::from(leaf))
        },
    ),
];

/// Every row, file by file.
pub(super) static FILES: [&[ScriptRow]; 6] =
    call::documented([ROWS, state::ROWS, contents::ROWS, containers::ROWS, packed::ROWS, hooks::ROWS]);

/// The most modules that a container takes one by one; more go in an array.
const SPREAD: usize = 16;

pub(crate) fn register(engine: &mut Engine, machine: &Arc<Machine>, spaces: &mut Spaces) {
    for def in crate::nn::table() {
        let [Form::Of(space)] = def.forms else { continue };
        register_functional(spaces.of(space), def, &machine.shared);
        if def.params.first().is_some_and(|p| p.name == "modules") {
            register_spread(spaces.of(space), def);
        }
    }
    packed::register(engine);
    engine.register_type_with_name::<Module>("Module");
    engine.register_fn("to_string", |m: &mut Module| m.to_string());
    engine.register_fn("to_debug", |m: &mut Module| m.to_string());
    engine.register_fn("is", |a: &mut Module, b: Module| a.is(&b));
    engine.register_type_with_name::<Mismatch>("IncompatibleKeys");
    engine.register_fn("to_string", |m: &mut Mismatch| m.to_string());
    engine.register_fn("to_debug", |m: &mut Mismatch| m.to_string());
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

fn module(call: &mut Call) -> Outcome {
    let given = ModuleParams::of(&call.args)?;
    let (name, parts, forward) = match given.forward.is_unit() {
        true => ("Module".into(), given.name, given.parts),
        false => (given.name.to_string(), given.parts, given.forward),
    };
    let wrong = |name: &str, want: &str, got: &Dynamic| {
        Error::type_error(format!("module(): argument '{name}' must be {want}, not {}", type_name(got)))
            .with_hint("`nn::module(#{fc: nn::Linear(4, 2)}, |self, x| self.fc.forward(x))`")
    };
    let map = parts.read_lock::<Map>().map(|map| map.clone());
    let map = map.ok_or_else(|| wrong("parts", "a map", &parts))?;
    let function = forward.read_lock::<FnPtr>().map(|f| f.clone());
    let function = function.ok_or_else(|| wrong("forward", "a function", &forward))?;
    Ok(Dynamic::from(own_module(&name, map, function)?))
}

fn own_module(name: &str, given: Map, forward: FnPtr) -> Result<Module> {
    let mut parts = Parts::new();
    let mut values = Map::new();
    // A map has its names in their own order; `parameters()` and what is drawn go by the order in which parts were made.
    let mut given: Vec<(rhai::Identifier, Dynamic)> = given.into_iter().collect();
    given.sort_by_key(|(_, item)| item.read_lock::<Module>().map(|m| m.number()));
    for (key, item) in given {
        let as_tensor = item.read_lock::<Tensor>().map(|t| t.clone());
        let as_module = item.read_lock::<Module>().map(|m| m.clone());
        parts = match (as_tensor, as_module) {
            (Some(t), _) if t.requires_grad() || t.is_parameter() => parts.parameter(key.as_str(), Some(t)),
            (Some(t), _) => parts.buffer(key.as_str(), Some(t)),
            (None, Some(m)) => parts.child(key.as_str(), m),
            (None, None) => {
                check_hidden(&key, &item)?;
                values.insert(key, item);
                parts
            }
        };
    }
    let layer = Own {
        name: name.into(),
        forward: Callback::new(forward),
        maker: Maker::of_now(),
        values: Mutex::new(Link::new(values)),
    };
    Module::new(layer, parts)
}
