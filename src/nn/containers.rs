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

/// Whether a module hands its input through its children, one after the other.
pub(crate) fn is_sequential(module: &Module) -> bool {
    module.layer().is_list() && !module.layer().counts_children()
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

/// The names and values of an array of pairs, as Python's ordered maps are written: the last value of a name, where the
/// name stood first.
pub(crate) fn pairs(value: &Value) -> Option<Vec<(String, Value)>> {
    let Value::List(items) = value else { return None };
    let mut all: Vec<(String, Value)> = Vec::new();
    for item in items {
        let Value::List(pair) = item else { return None };
        let [Value::Str(name), value] = pair.as_slice() else { return None };
        match all.iter_mut().find(|(known, _)| known == &**name) {
            Some((_, known)) => *known = value.clone(),
            None => all.push((name.to_string(), value.clone())),
        }
    }
    Some(all)
}

kinds! {
    /// Modules as [`Modules`] are, or in an array of pairs of a name and a module.
    NamedModules(Any) => Parts, named_modules;
}

params! {
    SequentialParams {
        modules: NamedModules => DefaultValue::None, "what it holds, one by one or in an array, or an array of pairs of a name and a module";
    }
}

fn named_modules(a: &Args, at: usize) -> Result<Parts> {
    let Some(all) = pairs(a.get(at)).filter(|all| !all.is_empty()) else {
        return modules(a, at).map(|all| numbered(&all));
    };
    all.into_iter().try_fold(Parts::new(), |parts, (name, value)| match Module::from_value(&value) {
        Some(module) => Ok(parts.child(name, module.clone())),
        None => Err(Error::type_error(format!("{} is not a Module subclass", value.describe()))
            .with_hint("a pair is `[\"name\", module]`")),
    })
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
                .with_hint(match (v.describe().as_str(), a.def.name) {
                    ("map", "Sequential") => {
                        "names are given in pairs, which have an order: `nn::Sequential([[\"fc1\", nn::Linear(2, 2)], …])`"
                            .to_owned()
                    }
                    (_, name) => format!("{name}() takes modules, or an array of them"),
                })
        })
    };
    items.iter().map(one).collect()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Sequential",
        "Modules that run one after the other.",
        SequentialParams::LIST,
        by_name!(SequentialParams, |a| Module::new(Sequential, a.modules).map(Module::into_value)),
    )
    .details(
        "It takes modules one by one or in an array; `net[0]` is the first, `net[0..2]` a part, and `net[0] = module` puts \
         another in its place. `append`, `extend`, `insert` and `pop` change the row. \
         `nn::Sequential([[\"conv\", a], [\"act\", b]])` gives names: what a Python `OrderedDict` does. Each is given what the \
         one before it gave, an array from an LSTM as well.",
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
