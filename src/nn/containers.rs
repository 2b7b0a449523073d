//! Modules of modules.

use crate::base::{Error, Kind, Result};
use crate::op::def::DefaultValue;
use crate::op::params::{by_name, kinds, params};
use crate::op::{Args, OpDef, Value};
use crate::tensor::Tensor;

use super::module::{Call, Layer, Module, Parts};
use crate::nn::made::constructor;

struct Sequential;

impl Layer for Sequential {
    fn name(&self) -> &str {
        "Sequential"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let children = call.module.children();
        let Some(((name, first), rest)) = children.split_first() else {
            return call.only().cloned();
        };
        let through = |name: &str, module: &Module, inputs: &[&Tensor]| {
            module.forward(inputs, call.caller).map_err(|error| error.in_layer(name, module.name()))
        };
        let mut x = through(name, first, call.inputs)?;
        for (name, module) in rest {
            x = through(name, module, &[&x])?;
        }
        Ok(x)
    }

    fn is_list(&self) -> bool {
        true
    }
}

struct ModuleList;

impl Layer for ModuleList {
    fn name(&self) -> &str {
        "ModuleList"
    }

    fn forward(&self, _: &Call) -> Result<Tensor> {
        Err(no_forward("ModuleList")
            .with_hint("go through it with `for layer in list { … }`, or use nn::Sequential"))
    }

    fn counts_children(&self) -> bool {
        true
    }

    fn is_list(&self) -> bool {
        true
    }
}

/// The error of calling a container as a whole.
pub(crate) fn no_forward(name: &str) -> Error {
    let text = format!("Module [{name}] is missing the required \"forward\" function");
    Error::new(Kind::NotImplementedError, text)
}

/// Modules that run one after the other.
pub(crate) fn sequential(modules: &[Module]) -> Result<Module> {
    Module::new(Sequential, numbered(modules))
}

/// A list of modules without a forward function of its own.
pub(crate) fn module_list(modules: &[Module]) -> Result<Module> {
    Module::new(ModuleList, numbered(modules))
}

/// Modules in a new container of the kind of another.
pub fn alike(of: &Module, modules: &[Module]) -> Result<Module> {
    if of.layer().counts_children() { module_list(modules) } else { sequential(modules) }
}

/// Some of the children of a container, in a new one of its kind. As in PyTorch a list counts them anew, and others
/// keep their names.
pub fn part(of: &Module, children: &[(String, Module)]) -> Result<Module> {
    if of.layer().counts_children() {
        return module_list(&children.iter().map(|(_, m)| m.clone()).collect::<Vec<_>>());
    }
    let named = children.iter().fold(Parts::new(), |parts, (name, m)| parts.child(name, m.clone()));
    Module::new(Sequential, named)
}

fn numbered(modules: &[Module]) -> Parts {
    modules.iter().enumerate().fold(Parts::new(), |parts, (i, m)| parts.child(i.to_string(), m.clone()))
}

kinds! {
    /// Modules given one by one or in an array.
    Modules(Any) => Vec<Module>, modules;
}

params! {
    ContainerParams {
        modules: Modules => DefaultValue::None, "what it holds, one by one or in an array";
    }
}

fn modules(a: &Args, at: usize) -> Result<Vec<Module>> {
    let items = match a.get(at) {
        Value::List(items) => items.as_slice(),
        Value::None => &[],
        other => std::slice::from_ref(other),
    };
    let one = |v: &Value| {
        Module::from_value(v).cloned().ok_or_else(|| {
            Error::type_error(format!("{} is not a Module subclass", v.describe()))
                .with_hint(format!("{}() takes modules, or an array of them", a.def.name))
        })
    };
    items.iter().map(one).collect()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Sequential",
        "Modules that run one after the other.",
        ContainerParams::LIST,
        by_name!(ContainerParams, |a| sequential(&a.modules).map(Module::into_value)),
    )
    .details(
        "It takes modules one by one or in an array; `net[0]` is the first, `net[0..2]` a part, and `net[0] = module` puts \
         another in its place. `append`, `extend`, `insert` and `pop` change the row.",
    )
    .shapes("what the first module takes -> what the last gives; without modules the same")
    .errors(&["TypeError: a part is no Module", "Error: whatever a part of it fails with"])
    .example(
        "nn::Sequential(nn::Linear(2, 3), nn::ReLU())",
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)",
    ),
    constructor(
        "ModuleList",
        "A list of modules, which one goes through oneself.",
        ContainerParams::LIST,
        by_name!(ContainerParams, |a| module_list(&a.modules).map(Module::into_value)),
    )
    .details(
        "`list[0] = module` puts another in a place; `append`, `extend`, `insert` and `pop` change the list. Each is found \
         by parameters(), state_dict() and to().",
    )
    .shapes("none: it has no forward")
    .errors(&["NotImplementedError: it is called itself"])
    .example("nn::ModuleList([nn::ReLU(), nn::ReLU()])", "ModuleList(\n  (0-1): 2 x ReLU()\n)"),
];
