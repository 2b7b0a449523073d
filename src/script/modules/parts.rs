//! What a module is made of, as a script reads and changes it: children, tensors, values, by name and by number.

use rhai::{Array, Dynamic, Engine, FnPtr, INT, ImmutableString, Map, NativeCallContext};

use crate::base::near::nearest;
use crate::base::{Error, Result};
use crate::nn::{Module, Role, containers};
use crate::script::fault::raise;
use crate::script::value::{to_dynamic, type_name};
use crate::tensor::Tensor;

use super::RhaiResult;
use super::nn::{NAMES, Own, check_hidden, unknown_option};

pub fn register(engine: &mut Engine) {
    contents(engine);
    attributes(engine);
    indexing(engine);
    lists(engine);
    dicts(engine);
    by_name(engine);
}

fn contents(engine: &mut Engine) {
    fn pairs(named: Vec<(String, Tensor)>) -> Array {
        named.into_iter().map(|(n, t)| Dynamic::from_array(vec![n.into(), Dynamic::from(t)])).collect()
    }
    fn modules(m: &Module) -> Vec<(String, Module)> {
        let mut all = Vec::new();
        m.each(&mut |path, m| all.push((path.to_string(), m.clone())));
        all
    }
    let tensors =
        |m: &Module, role| m.named(role).into_iter().map(|(_, t)| Dynamic::from(t)).collect::<Array>();
    engine.register_fn("parameters", move |m: &mut Module| tensors(m, Role::Parameter));
    engine.register_fn("buffers", move |m: &mut Module| tensors(m, Role::Buffer));
    engine.register_fn("named_parameters", |m: &mut Module| pairs(m.named(Role::Parameter)));
    engine.register_fn("named_buffers", |m: &mut Module| pairs(m.named(Role::Buffer)));
    engine.register_fn("children", |m: &mut Module| -> Array {
        m.children().iter().map(|(_, c)| Dynamic::from(c.clone())).collect()
    });
    let named = |all: &[(String, Module)]| -> Array {
        all.iter().map(|(n, c)| Dynamic::from_array(vec![n.into(), Dynamic::from(c.clone())])).collect()
    };
    engine.register_fn("named_children", move |m: &mut Module| named(&m.children()));
    engine.register_fn("modules", |m: &mut Module| -> Array {
        modules(m).into_iter().map(|(_, m)| Dynamic::from(m)).collect()
    });
    engine.register_fn("named_modules", move |m: &mut Module| named(&modules(m)));
    engine.register_fn("apply", |ctx: NativeCallContext, m: &mut Module, f: FnPtr| -> RhaiResult<Module> {
        apply(&ctx, m, &f)?;
        Ok(m.clone())
    });
}

/// Children first, as PyTorch's `Module.apply`.
fn apply(ctx: &NativeCallContext, module: &Module, f: &FnPtr) -> RhaiResult<()> {
    for (_, child) in module.children().iter() {
        apply(ctx, child, f)?;
    }
    f.call_within_context::<Dynamic>(ctx, (module.clone(),)).map(|_| ())
}

/// `layer.weight`, `layer.in_features`, `net.fc`, and assignment.
fn attributes(engine: &mut Engine) {
    engine.register_indexer_get(|m: &mut Module, name: ImmutableString| attribute(m, &name).map_err(raise));
    engine.register_indexer_set(|m: &mut Module, name: ImmutableString, value: Dynamic| {
        set_attribute(m, &name, value).map_err(raise)
    });
}

fn attribute(module: &Module, name: &str) -> Result<Dynamic> {
    if let Some(child) = module.child(name) {
        return Ok(Dynamic::from(child));
    }
    if let Some(t) = module.tensor(name) {
        return Ok(Dynamic::from(t));
    }
    if module.role(name).is_some() {
        return Ok(Dynamic::UNIT);
    }
    if let Some(value) = Own::of(module).and_then(|own| own.values().get(name).cloned()) {
        return Ok(value);
    }
    module.layer().attribute(name).map(to_dynamic).ok_or_else(|| unknown_attribute(module, name))
}

fn set_attribute(module: &Module, name: &str, value: Dynamic) -> Result<()> {
    let given = value.read_lock::<Module>().map(|m| m.clone());
    let own = Own::of(module);
    if let Some(child) = given {
        // A method called on a child hands it back.
        if module.child(name).is_some_and(|c| c.is(&child)) {
            return Ok(());
        }
        module.set_child(name, child)?;
        own.map(|own| own.values().remove(name));
        return Ok(());
    }
    if module.child(name).is_some() {
        if let (Some(own), true) = (own, value.is_unit()) {
            module.remove_child(name)?;
            own.values().insert(name.into(), value);
            return Ok(());
        }
        let text = format!(
            "cannot assign '{}' as child module '{name}' (torch.nn.Module or None expected)",
            type_name(&value)
        );
        return Err(Error::type_error(text));
    }
    let tensor = value.read_lock::<Tensor>().map(|t| t.clone());
    if let Some(role) = module.role(name) {
        if tensor.is_none() && !value.is_unit() {
            let what = match role {
                Role::Parameter => "parameter",
                Role::Buffer => "buffer",
            };
            let text = format!("cannot assign '{}' as {what} '{name}'", type_name(&value));
            return Err(Error::type_error(format!("{text} (a Tensor or () expected)")));
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

/// A value of an own module's; a leaf that requires gradients becomes a parameter.
fn set_value(module: &Module, own: &Own, name: &str, value: Dynamic, tensor: Option<Tensor>) -> Result<()> {
    check_hidden(name, &value)?;
    if let Some(t) = tensor.filter(|t| t.is_leaf() && t.requires_grad()) {
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
    let error = Error::type_error(format!("'{}' object has no attribute '{name}'", module.name()));
    if NAMES.contains(&name) {
        return error.with_hint(format!("it is a function of modules: `.{name}(…)` calls it"));
    }
    let own = module.own_tensors();
    let tensors = own.iter().map(|(n, _, _)| n.as_str());
    let children = module.children();
    let known = tensors.chain(children.iter().map(|(n, _)| n.as_str())).chain(NAMES.iter().copied());
    match nearest(name, known) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

fn indexing(engine: &mut Engine) {
    engine.register_fn("len", |m: &mut Module| m.children().len() as INT);
    engine.register_indexer_get(|m: &mut Module, i: INT| m.nth(i).map_err(raise));
    engine.register_indexer_set(|m: &mut Module, i: INT, value: Dynamic| -> RhaiResult<()> {
        subclass(&value).and_then(|child| m.replace(i, child)).map_err(raise)
    });
    let part = |m: &Module, start: INT, end: INT| -> RhaiResult<Module> {
        let children = m.children();
        let at = |i: INT| usize::try_from(i).unwrap_or(0).min(children.len());
        let kept: Vec<Module> =
            children.iter().take(at(end)).skip(at(start)).map(|(_, c)| c.clone()).collect();
        containers::part(m, &kept).map_err(raise)
    };
    engine.register_indexer_get(move |m: &mut Module, r: std::ops::Range<INT>| part(m, r.start, r.end));
    engine.register_indexer_get(move |m: &mut Module, r: std::ops::RangeInclusive<INT>| {
        part(m, *r.start(), r.end().saturating_add(1))
    });
    engine.register_iterator::<Module>();
}

/// A module, or PyTorch's error for what is none.
fn subclass(value: &Dynamic) -> Result<Module> {
    value.read_lock::<Module>().map(|m| m.clone()).ok_or_else(|| {
        Error::type_error(format!("{} is not a Module subclass", type_name(value)))
            .with_hint("a module such as nn::Linear(4, 2) stands there")
    })
}

/// The modules of an array or of a container.
fn several(value: &Dynamic) -> Result<Vec<Module>> {
    if let Some(container) = value.read_lock::<Module>() {
        return Ok(container.children().iter().map(|(_, m)| m.clone()).collect());
    }
    match value.read_lock::<Array>() {
        Some(items) => items.iter().map(subclass).collect(),
        None => {
            let text =
                format!("extend() should be called with an array of modules, but got {}", type_name(value));
            Err(Error::type_error(text))
        }
    }
}

/// `append`, `extend`, `insert`, `pop`, `+`.
fn lists(engine: &mut Engine) {
    engine.register_fn("append", |m: &mut Module, child: Dynamic| -> RhaiResult<Module> {
        subclass(&child).and_then(|child| m.extend(&[child])).map_err(raise)?;
        Ok(m.clone())
    });
    engine.register_fn("extend", |m: &mut Module, more: Dynamic| -> RhaiResult<Module> {
        several(&more).and_then(|more| m.extend(&more)).map_err(raise)?;
        Ok(m.clone())
    });
    engine.register_fn("insert", |m: &mut Module, at: INT, child: Dynamic| -> RhaiResult<Module> {
        subclass(&child).and_then(|child| m.insert(at, &[child])).map_err(raise)?;
        Ok(m.clone())
    });
    engine.register_fn("pop", |m: &mut Module, i: INT| m.pop(i).map_err(raise));
    engine.register_fn("+", |a: Module, b: Module| -> RhaiResult<Module> {
        let both = [several(&Dynamic::from(a.clone())), several(&Dynamic::from(b))];
        let all = both.into_iter().collect::<Result<Vec<_>>>().map_err(raise)?.concat();
        containers::part(&a, &all).map_err(raise)
    });
}

/// What an `nn::ModuleDict` can do beside `dict["name"]`.
fn dicts(engine: &mut Engine) {
    fn dict(m: &Module, what: &str) -> RhaiResult<()> {
        if m.layer().is_dict() {
            return Ok(());
        }
        let error = Error::type_error(format!("'{}' object has no attribute '{what}'", m.name()));
        Err(raise(
            error.with_hint("an nn::ModuleDict has it; `named_children()` lists any module's children"),
        ))
    }
    fn pair((name, module): &(String, Module)) -> Dynamic {
        Dynamic::from_array(vec![name.into(), Dynamic::from(module.clone())])
    }
    engine.register_fn("keys", |m: &mut Module| -> RhaiResult<Array> {
        dict(m, "keys")?;
        Ok(m.children().iter().map(|(name, _)| name.into()).collect())
    });
    engine.register_fn("values", |m: &mut Module| -> RhaiResult<Array> {
        dict(m, "values")?;
        Ok(m.children().iter().map(|(_, c)| Dynamic::from(c.clone())).collect())
    });
    engine.register_fn("items", |m: &mut Module| -> RhaiResult<Array> {
        dict(m, "items")?;
        Ok(m.children().iter().map(pair).collect())
    });
    engine.register_fn("contains", |m: &mut Module, name: &str| -> RhaiResult<bool> {
        dict(m, "contains")?;
        Ok(m.child(name).is_some())
    });
    engine.register_fn("pop", |m: &mut Module, name: &str| -> RhaiResult<Module> {
        dict(m, "pop")?;
        let module = m.submodule(name).map_err(raise)?;
        m.remove_child(name).map_err(raise)?;
        Ok(module)
    });
    engine.register_fn("update", |m: &mut Module, more: Map| -> RhaiResult<()> {
        dict(m, "update")?;
        let all = more.iter().map(|(name, value)| Ok((name, subclass(value)?)));
        let all = all.collect::<Result<Vec<_>>>().map_err(raise)?;
        all.into_iter().try_for_each(|(name, child)| m.set_child(name, child)).map_err(raise)
    });
    engine.register_fn("clear", |m: &mut Module| -> RhaiResult<()> {
        dict(m, "clear")?;
        m.children().iter().try_for_each(|(name, _)| m.remove_child(name)).map_err(raise)
    });
}

/// What is put or found under a name that a string holds.
fn by_name(engine: &mut Engine) {
    for function in ["add_module", "register_module"] {
        engine.register_fn(function, |m: &mut Module, name: &str, child: Dynamic| -> RhaiResult<()> {
            let child = subclass(&child).map_err(raise)?;
            check_free(m, name, m.child(name).is_some()).map_err(raise)?;
            m.set_child(name, child).map_err(raise)
        });
    }
    engine.register_fn("register_parameter", |m: &mut Module, name: &str, t: Dynamic| -> RhaiResult<()> {
        let t = optional_tensor(&t, "parameter", name).map_err(raise)?;
        check_free(m, name, m.role(name) == Some(Role::Parameter)).map_err(raise)?;
        m.register_parameter(name, t).map_err(raise)
    });
    engine.register_fn("register_buffer", |m: &mut Module, name: &str, t: Dynamic| {
        register_buffer(m, name, &t, true).map_err(raise)
    });
    engine.register_fn("register_buffer", |m: &mut Module, name: &str, t: Dynamic, options: Map| {
        let mut persistent = true;
        for (key, value) in &options {
            match (key.as_str(), value.as_bool()) {
                ("persistent", Ok(on)) => persistent = on,
                _ => return Err(raise(unknown_option("register_buffer", key, &["persistent"]))),
            }
        }
        register_buffer(m, name, &t, persistent).map_err(raise)
    });
    engine.register_fn("register_buffer", |m: &mut Module, name: &str, t: Dynamic, persistent: bool| {
        register_buffer(m, name, &t, persistent).map_err(raise)
    });
    engine.register_fn("get_submodule", |m: &mut Module, path: &str| m.submodule(path).map_err(raise));
    engine.register_fn("get_parameter", |m: &mut Module, path: &str| {
        m.tensor_at(path, Role::Parameter).map_err(raise)
    });
    engine.register_fn("get_buffer", |m: &mut Module, path: &str| {
        m.tensor_at(path, Role::Buffer).map_err(raise)
    });
}

fn register_buffer(m: &Module, name: &str, t: &Dynamic, persistent: bool) -> Result<()> {
    let t = optional_tensor(t, "buffer", name)?;
    check_free(m, name, m.role(name) == Some(Role::Buffer))?;
    m.register_buffer(name, t, persistent)
}

/// A name that is taken by something of another kind is an error; `same` says that it is not.
fn check_free(m: &Module, name: &str, same: bool) -> Result<()> {
    if !same && attribute(m, name).is_ok() {
        return Err(Error::value(format!("attribute '{name}' already exists")));
    }
    Ok(())
}

fn optional_tensor(value: &Dynamic, what: &str, name: &str) -> Result<Option<Tensor>> {
    if value.is_unit() {
        return Ok(None);
    }
    value.read_lock::<Tensor>().map(|t| Some(t.clone())).ok_or_else(|| {
        Error::type_error(format!(
            "cannot assign '{}' object to {what} '{name}' (torch Tensor or None required)",
            type_name(value)
        ))
    })
}

impl IntoIterator for Module {
    type Item = Dynamic;
    type IntoIter = std::vec::IntoIter<Dynamic>;

    /// The modules directly below, in order.
    fn into_iter(self) -> Self::IntoIter {
        self.children().iter().map(|(_, c)| Dynamic::from(c.clone())).collect::<Vec<_>>().into_iter()
    }
}
