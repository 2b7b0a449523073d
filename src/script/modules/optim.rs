//! `optim::`: optimisers as a script makes and steps them.

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, FnPtr, INT, ImmutableString, Map, NativeCallContext};

use crate::base::near::nearest;
use crate::base::{Error, Result};
use crate::device::Machine;
use crate::op::{Form, Value};
use crate::optim::{Optimizer, StateDict, group};
use crate::script::bind::{note_line, register_functional};
use crate::script::engine::Host;
use crate::script::fault::raise;
use crate::script::help::Page;
use crate::script::value::{from_dynamic, to_dynamic, type_name};
use crate::tensor::Tensor;
use crate::tensor::autograd::set_grad_mode;

use super::RhaiResult;

pub const NAMES: &[&str] =
    &["optim", "step", "zero_grad", "param_groups", "state_dict", "load_state_dict", "add_param_group"];

pub const PAGES: &[Page] = &[
    Page {
        name: "step",
        call: "opt.step()",
        text: "Changes every parameter that has a gradient by the optimiser's rule. `opt.step(|| { opt.zero_grad(); let \
               loss = …; loss.backward(); loss })` first calls the closure, with gradients on, and gives what it gave.",
    },
    Page {
        name: "add_param_group",
        call: "opt.add_param_group(#{params: layer.parameters(), lr: 0.01})",
        text: "Has an optimiser change more parameters, with options of their own; those left out are the first group's.",
    },
];

/// One parameter group of an optimiser: `opt.param_groups[0].lr = 0.1` reaches the optimiser itself.
#[derive(Clone)]
struct ParamGroup {
    of: Optimizer,
    index: usize,
}

/// A step that calls its closure as often as it needs to; gives what the closure gave first.
fn searched(ctx: &NativeCallContext, o: &Optimizer, closure: &FnPtr) -> RhaiResult<Dynamic> {
    let (mut first, mut failed) = (None, None);
    let result = o.minimise(&mut || {
        let _on = set_grad_mode(true);
        let value = closure.call_within_context::<Dynamic>(ctx, ()).map_err(|e| {
            let text = e.to_string();
            failed = Some(e);
            Error::runtime(text)
        })?;
        let loss = match from_dynamic(&value)? {
            Value::Tensor(loss) => loss.item()?.as_f64(),
            Value::Scalar(loss) => loss.as_f64(),
            other => {
                let text = format!("the closure of a step must give the loss, and gave {}", other.describe());
                return Err(Error::type_error(text).with_hint("its last line is `loss`"));
            }
        };
        first.get_or_insert(value);
        Ok(loss)
    });
    match (result, failed) {
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(raise(error)),
        (Ok(()), None) => Ok(first.unwrap_or(Dynamic::UNIT)),
    }
}

pub fn register(engine: &mut Engine, machine: &Arc<Machine>, host: &Arc<dyn Host>) {
    let mut module = rhai::Module::new();
    for def in crate::optim::table().filter(|d| d.forms == [Form::Of("optim")]) {
        register_functional(&mut module, def, &machine.shared);
    }
    super::scheduler::register(engine, &mut module, &machine.shared, host);
    engine.register_static_module("optim", module.into());
    engine.register_type_with_name::<Optimizer>("Optimizer");
    engine.register_fn("to_string", |o: &mut Optimizer| o.to_string());
    engine.register_fn("to_debug", |o: &mut Optimizer| o.to_string());
    engine.register_fn("is", |a: &mut Optimizer, b: Optimizer| a.is(&b));
    let shared = Arc::clone(&machine.shared);
    engine.register_fn("step", move |ctx: NativeCallContext, o: &mut Optimizer| {
        note_line(&shared, &ctx);
        o.step().map_err(raise)
    });
    let shared = Arc::clone(&machine.shared);
    let again = move |ctx: NativeCallContext, o: &mut Optimizer, closure: FnPtr| -> RhaiResult<Dynamic> {
        if o.searches() {
            return searched(&ctx, o, &closure);
        }
        let loss = {
            let _on = set_grad_mode(true);
            closure.call_within_context::<Dynamic>(&ctx, ())?
        };
        note_line(&shared, &ctx);
        o.step().map_err(raise)?;
        Ok(loss)
    };
    engine.register_fn("step", again);
    engine.register_fn("zero_grad", |o: &mut Optimizer| o.zero_grad(true).map_err(raise));
    engine.register_fn("zero_grad", |o: &mut Optimizer, options: Map| -> RhaiResult<()> {
        let mut set_to_none = true;
        for (name, value) in &options {
            match (name.as_str(), value.as_bool()) {
                ("set_to_none", Ok(on)) => set_to_none = on,
                _ => {
                    let error = Error::type_error(format!("zero_grad() cannot use option '{name}'"));
                    return Err(raise(error.with_hint("the option is set_to_none, true or false")));
                }
            }
        }
        o.zero_grad(set_to_none).map_err(raise)
    });
    engine.register_fn("add_param_group", |o: &mut Optimizer, given: Map| -> RhaiResult<()> {
        add_group(o, given).map_err(raise)
    });
    engine.register_fn("state_dict", |o: &mut Optimizer| state_map(&o.state_dict()));
    engine.register_fn("load_state_dict", |o: &mut Optimizer, given: Map| -> RhaiResult<()> {
        state_of(&given).and_then(|s| o.load_state_dict(&s)).map_err(raise)
    });
    groups(engine);
}

fn add_group(optimizer: &Optimizer, given: Map) -> Result<()> {
    let (parameters, options) = group::parsed(&from_dynamic(&given.into())?)?;
    optimizer.add_group_with(parameters, options)
}

fn groups(engine: &mut Engine) {
    engine.register_type_with_name::<ParamGroup>("ParamGroup");
    engine.register_get("param_groups", |o: &mut Optimizer| -> Array {
        (0..o.group_count()).map(|index| Dynamic::from(ParamGroup { of: o.clone(), index })).collect()
    });
    // Writing to a group's option hands the array back; the groups themselves have seen the change.
    engine.register_set("param_groups", |o: &mut Optimizer, back: Array| -> RhaiResult<()> {
        let own = |d: &Dynamic| d.read_lock::<ParamGroup>().is_some_and(|g| g.of.is(o));
        if back.iter().all(own) && back.len() == o.group_count() {
            return Ok(());
        }
        let error = Error::type_error("param_groups cannot be replaced");
        Err(raise(
            error.with_hint("`opt.param_groups[0].lr = …` changes an option, `add_param_group` adds a group"),
        ))
    });
    engine.register_indexer_get(|g: &mut ParamGroup, name: ImmutableString| g.get(&name).map_err(raise));
    engine.register_indexer_set(|g: &mut ParamGroup, name: ImmutableString, value: Dynamic| {
        g.set(&name, &value).map_err(raise)
    });
    engine.register_fn("keys", |g: &mut ParamGroup| -> Array {
        let names = g.of.option_names().into_iter().map(Dynamic::from);
        std::iter::once("params".into()).chain(names).collect()
    });
    engine.register_fn("to_string", |g: &mut ParamGroup| g.shown());
    engine.register_fn("to_debug", |g: &mut ParamGroup| g.shown());
}

impl ParamGroup {
    fn get(&self, name: &str) -> Result<Dynamic> {
        if name == "params" {
            let tensors = self.of.parameters(self.index).into_iter().map(Dynamic::from).collect();
            return Ok(Dynamic::from_array(tensors));
        }
        self.of.option(self.index, name).map(to_dynamic).ok_or_else(|| {
            let names = self.of.option_names();
            let error = Error::type_error(format!("{} has no option '{name}'", self.of.name()));
            match nearest(name, names.iter().copied()) {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error.with_hint(format!("options are params, {}", names.join(", "))),
            }
        })
    }

    fn set(&self, name: &str, value: &Dynamic) -> Result<()> {
        if name != "params" {
            return self.of.set_option(self.index, name, from_dynamic(value)?);
        }
        // A method called on the array hands it back.
        let own = self.of.parameters(self.index);
        let same = value.read_lock::<Array>().is_some_and(|items| {
            let is = |(d, t): (&Dynamic, &Tensor)| d.read_lock::<Tensor>().is_some_and(|d| d.is(t));
            items.len() == own.len() && items.iter().zip(&own).all(is)
        });
        if same {
            return Ok(());
        }
        Err(Error::type_error("the parameters of a group are fixed")
            .with_hint("`add_param_group` adds a group"))
    }

    fn shown(&self) -> String {
        let options = self.of.option_names().into_iter().filter_map(|name| {
            let value = self.of.option(self.index, name)?;
            Some(format!("{name}: {}", to_dynamic(value)))
        });
        let params = format!("params: {} tensors", self.of.parameters(self.index).len());
        format!("#{{{}}}", std::iter::once(params).chain(options).collect::<Vec<_>>().join(", "))
    }
}

fn state_map(state: &StateDict) -> Map {
    let mut moments = Map::new();
    for (number, step, tensors) in &state.moments {
        let mut one: Map = tensors.iter().map(|(n, t)| (n.into(), Dynamic::from(t.clone()))).collect();
        one.insert("step".into(), Dynamic::from(*step as INT));
        moments.insert(number.to_string().into(), one.into());
    }
    let group = |(options, numbers): &(Vec<(String, Value)>, Vec<usize>)| {
        let mut map: Map = options.iter().map(|(n, v)| (n.into(), to_dynamic(v.clone()))).collect();
        let numbers = numbers.iter().map(|&n| Dynamic::from(n as INT)).collect();
        map.insert("params".into(), Dynamic::from_array(numbers));
        Dynamic::from_map(map)
    };
    let mut out = Map::new();
    out.insert("state".into(), moments.into());
    out.insert("param_groups".into(), Dynamic::from_array(state.groups.iter().map(group).collect()));
    out
}

fn state_of(given: &Map) -> Result<StateDict> {
    let wrong = |what: &str| {
        Error::type_error(format!("load_state_dict(): {what}"))
            .with_hint("it takes what state_dict() gave: #{state, param_groups}")
    };
    let groups = given.get("param_groups").and_then(|d| d.read_lock::<Array>().map(|a| a.clone()));
    let moments = given.get("state").and_then(|d| d.read_lock::<Map>().map(|m| m.clone()));
    let (Some(groups), Some(moments)) = (groups, moments) else {
        return Err(wrong("'state' or 'param_groups' is missing"));
    };
    let mut state = StateDict::default();
    for group in &groups {
        let map = group.read_lock::<Map>().ok_or_else(|| wrong("a group is no map"))?;
        let mut options = crate::script::value::options(&map)?;
        let numbers = match options.iter().position(|(n, _)| n == "params").map(|i| options.remove(i).1) {
            Some(Value::List(items)) => items.iter().map(number).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        state.groups.push((options, numbers.ok_or_else(|| wrong("a group has no parameter numbers"))?));
    }
    for (name, value) in &moments {
        let number = name.parse().map_err(|_| wrong("a key of 'state' is no number"))?;
        let map = value.read_lock::<Map>().ok_or_else(|| wrong("a parameter's state is no map"))?;
        let (mut step, mut tensors) = (0, Vec::new());
        for (name, value) in map.iter() {
            match (name.as_str(), value.read_lock::<Tensor>()) {
                ("step", _) => step = value.as_int().ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
                (_, Some(t)) => tensors.push((name.to_string(), t.clone())),
                _ => return Err(wrong(&format!("'{name}' must be a Tensor, not a {}", type_name(value)))),
            }
        }
        state.moments.push((number, step, tensors));
    }
    Ok(state)
}

fn number(value: &Value) -> Option<usize> {
    match value {
        Value::Scalar(s) => usize::try_from(s.as_i64()).ok(),
        _ => None,
    }
}
