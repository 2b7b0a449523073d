//! What a module is made of, as a script reads and changes it: children, tensors, values, by name and by number.

use rhai::{Dynamic, Engine, INT, ImmutableString};

use crate::base::{Device, Error, Result};
use crate::nn::{Module, Role, containers};
use crate::op::Receiver;
use crate::script::fault::{RhaiResult, raise};
use crate::script::modules::nn::own::{Own, check_hidden, found, several, subclass};
use crate::script::syntax::EVAL;
use crate::script::value::{to_dynamic, type_name};
use crate::tensor::Tensor;

pub(in crate::script::modules) fn register(engine: &mut Engine) {
    attributes(engine);
    indexing(engine);
}

/// What `layer.weight` gives.
fn attribute(module: &Module, name: &str) -> Result<Dynamic> {
    found(module, name).ok_or_else(|| unknown_attribute(module, name))
}

/// `layer.weight`, `layer.in_features`, `net.fc`, and assignment.
fn attributes(engine: &mut Engine) {
    engine.register_indexer_get(|m: &mut Module, name: ImmutableString| attribute(m, &name).map_err(raise));
    engine.register_indexer_set(|m: &mut Module, name: ImmutableString, value: Dynamic| {
        set_attribute(m, &name, value).map_err(raise)
    });
}

fn set_attribute(module: &Module, name: &str, value: Dynamic) -> Result<()> {
    let given = value.read_lock::<Module>().map(|m| m.clone());
    let own = Own::of(module);
    if let Some(child) = given {
        // A method called on a child hands it back.
        if module.child(name).is_some_and(|c| c.is(&child)) {
            return Ok(());
        }
        if module.role(name) == Some(Role::Parameter) {
            return Err(refused(module, name, &value));
        }
        module.set_child(name, child)?;
        own.map(|own| own.values().remove(name));
        return Ok(());
    }
    if let ("training", Ok(on)) = (name, value.as_bool()) {
        module.set_training(on);
        return Ok(());
    }
    let tensor = value.read_lock::<Tensor>().map(|t| t.clone());
    if module.child(name).is_some() {
        if let Some(parameter) = tensor.filter(Tensor::is_parameter) {
            return module.register_parameter(name, Some(parameter));
        }
        if let (Some(own), true) = (own, value.is_unit()) {
            module.remove_child(name)?;
            own.values().insert(name.into(), value);
            return Ok(());
        }
        return Err(refused(module, name, &value));
    }
    if let Some(role) = module.role(name) {
        let fits = match &tensor {
            // A method called on a tensor of the module's hands it back.
            Some(t) => {
                role == Role::Buffer || t.is_parameter() || module.tensor(name).is_some_and(|own| own.is(t))
            }
            None => value.is_unit(),
        };
        if !fits {
            return Err(refused(module, name, &value));
        }
        return module.set_tensor(name, tensor);
    }
    if let Some(own) = own {
        return set_value(module, own, name, value, tensor);
    }
    // A method called on an attribute hands the unchanged value back.
    match module.layer().attribute(name) {
        Some(kept) if to_dynamic(kept.clone()).to_string() == value.to_string() => Ok(()),
        Some(_) => {
            Err(Error::type_error(format!("'{name}' of a {} is fixed once it is made", module.name()))
                .with_hint("build a new one with other options"))
        }
        None => Err(unknown_attribute(module, name)),
    }
}

/// PyTorch's error where what is assigned is of another kind than what has the name.
fn refused(module: &Module, name: &str, value: &Dynamic) -> Error {
    let given = match value.read_lock::<Tensor>() {
        Some(t) => legacy_type(&t),
        None => match value.read_lock::<Module>() {
            Some(child) => child.name().to_owned(),
            None => type_name(value),
        },
    };
    let (what, expected) = match module.role(name) {
        Some(Role::Parameter) => ("parameter", "torch.nn.Parameter or None"),
        Some(Role::Buffer) => ("buffer", "torch.nn.Buffer, torch.Tensor or None"),
        None => ("child module", "torch.nn.Module or None"),
    };
    let error =
        Error::type_error(format!("cannot assign '{given}' as {what} '{name}' ({expected} expected)"));
    if what != "parameter" || !value.is::<Tensor>() {
        return error;
    }
    error.with_hint(format!(
        "`nn::Parameter(t)` makes a parameter of a tensor; `with no_grad() {{ net.{name}.copy_(t); }}` writes its values \
         into the one that is there"
    ))
}

/// What PyTorch called tensors by their dtypes, such as `torch.cuda.FloatTensor`.
fn legacy_type(t: &Tensor) -> String {
    let place = if t.device() == Device::Cpu { "" } else { "cuda." };
    format!("torch.{place}{}Tensor", t.dtype().type_name())
}

/// A value of an own module's; a leaf that requires gradients, or did as a parameter, becomes one.
fn set_value(module: &Module, own: &Own, name: &str, value: Dynamic, tensor: Option<Tensor>) -> Result<()> {
    check_hidden(name, &value)?;
    if let Some(t) = tensor.filter(Tensor::is_parameter) {
        let before = own.values().get(name).and_then(|d| d.read_lock::<Tensor>().map(|b| b.is(&t)));
        // A method called on a plain value hands it back.
        if before != Some(true) {
            own.values().remove(name);
            return module.register_parameter(name, Some(t));
        }
    }
    own.values().insert(name.into(), value);
    Ok(())
}

fn unknown_attribute(module: &Module, name: &str) -> Error {
    // Rhai keeps the word for itself, and is told another.
    let name = if name == EVAL { "eval" } else { name };
    let error = Error::type_error(format!("'{}' object has no attribute '{name}'", module.name()));
    if methods().any(|method| method == name) {
        return error.with_hint(format!("it is a function of modules: `.{name}(…)` calls it"));
    }
    let own = module.own_tensors();
    let tensors = own.iter().map(|(n, _, _)| n.as_str());
    let children = module.children();
    let parts: Vec<&str> = tensors.chain(children.iter().map(|(n, _)| n.as_str())).collect();
    let made = crate::nn::table().filter(|def| def.name == module.name()).flat_map(|def| def.params);
    let options = made.map(|param| param.name).filter(|option| module.layer().attribute(option).is_some());
    let error = error.with_near(name, parts.iter().copied().chain(options).chain(methods()));
    let is_number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    match parts.get(..parts.len().min(8)) {
        Some(some) if !some.is_empty() && some.iter().all(is_number) => {
            error.with_hint("its parts have numbers: `net[0]` is the first")
        }
        Some(some) if !some.is_empty() => {
            let more = if some.len() < parts.len() { ", …" } else { "" };
            error.with_hint(format!("its parts are `{}`{more}", some.join("`, `")))
        }
        _ => error,
    }
}

/// What every module can do.
fn methods<'a>() -> impl Iterator<Item = &'a str> {
    super::FILES
        .into_iter()
        .flatten()
        .filter(|row| row.def.receiver == Receiver::Module)
        .map(|row| row.def.name)
}

fn indexing(engine: &mut Engine) {
    engine.register_indexer_get(|m: &mut Module, i: INT| m.nth(i).map_err(raise));
    engine.register_indexer_set(|m: &mut Module, i: INT, value: Dynamic| -> RhaiResult<()> {
        subclass(&value).and_then(|child| m.replace(i, child)).map_err(raise)
    });
    let part = |m: &Module, start: INT, end: INT| -> RhaiResult<Module> {
        let children = m.children();
        let at = |i: INT| usize::try_from(i).unwrap_or(0).min(children.len());
        let (start, end) = (at(start), at(end));
        containers::part(m, children.get(start..end).unwrap_or(&[])).map_err(raise)
    };
    engine.register_indexer_get(move |m: &mut Module, r: std::ops::Range<INT>| part(m, r.start, r.end));
    engine.register_indexer_get(move |m: &mut Module, r: std::ops::RangeInclusive<INT>| {
        part(m, *r.start(), r.end().saturating_add(1))
    });
    engine.register_fn("+", |a: Module, b: Module| -> RhaiResult<Module> {
        let both = [several(&Dynamic::from(a.clone())), several(&Dynamic::from(b))];
        let all = both.into_iter().collect::<Result<Vec<_>>>().map_err(raise)?.concat();
        containers::alike(&a, &all).map_err(raise)
    });
    engine.register_iterator::<Module>();
}

impl IntoIterator for Module {
    type Item = Dynamic;
    type IntoIter = std::vec::IntoIter<Dynamic>;

    /// The modules directly below, in order.
    fn into_iter(self) -> Self::IntoIter {
        self.children().iter().map(|(_, c)| Dynamic::from(c.clone())).collect::<Vec<_>>().into_iter()
    }
}
