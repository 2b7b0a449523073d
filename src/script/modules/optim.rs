//! `optim::`: optimisers as a script makes and steps them.

use rhai::{Array, Dynamic, Engine, FnPtr, INT, ImmutableString, Map};

use crate::base::figures::word;
use crate::base::{Error, Result};
use crate::op::def::PROPERTY;
use crate::op::params::kind::Bool;
use crate::op::params::{Maybe, params};
use crate::op::{Copies, Family, Form, OpDef, Param, Receiver, Value};
use crate::optim::{Optimizer, StateDict, group};
use crate::script::bind::{note_line, register_functional};
use crate::script::call::kind::{Entries, Function};
use crate::script::call::{Call, Here, Outcome, ScriptRow, Spaces};
use crate::script::fault::raise;
use crate::script::maps::map_of;
use crate::script::value::{from_dynamic, to_dynamic};
use crate::tensor::Tensor;
use crate::tensor::autograd::set_grad_mode;

params! {
    StepParams {
        closure: Maybe<Function>, "computes the loss, calls `backward()` and gives the loss; it runs with gradients on";
    }
}

params! {
    ZeroGradParams {
        set_to_none: Bool = true, "false fills gradients with zeros in place of dropping them";
    }
}

params! {
    AddParamGroupParams {
        param_group: Entries, "`params` and options of their own; those left out are the first group's";
    }
}

params! {
    LoadStateDictParams {
        state_dict: Entries, "what `state_dict()` gave: #{state, param_groups}";
    }
}

/// A method of optimisers.
const fn method(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Optimise, summary, params).on(Receiver::Optimizer)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        method("step", "Changes every parameter that has a gradient by the optimiser's rule.", StepParams::LIST).changing()
            .torch("torch.optim.Optimizer.step")
            .details(
                "`opt.step(|| { opt.zero_grad(); let loss = …; loss.backward(); loss })` first calls the closure, with \
                 gradients on, and gives what it gave. LBFGS needs it and calls it as often as its search asks for.",
            )
            .errors(&["TypeError: the closure of LBFGS gives no number"])
            .example(
                "let w = ones(2, #{requires_grad: true}); let opt = optim::SGD([w], 0.5); w.sum().backward(); opt.step(); w.tolist()",
                "[0.5, 0.5]",
            ),
        step,
    ),
    ScriptRow::of(
        method("zero_grad", "Drops the gradients of all parameters.", ZeroGradParams::LIST).changing()
            .torch("torch.optim.Optimizer.zero_grad")
            .example(
                "let w = ones(1, #{requires_grad: true}); let opt = optim::SGD([w], 0.5); w.sum().backward(); \
                 opt.zero_grad(); w.grad == ()",
                "true",
            ),
        |call| {
            let set_to_none = ZeroGradParams::of(&call.args)?.set_to_none;
            call.on::<Optimizer>()?.zero_grad(set_to_none)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method(
            "add_param_group",
            "Has an optimiser change more parameters, with options of their own.",
            AddParamGroupParams::LIST,
        ).changing()
        .torch("torch.optim.Optimizer.add_param_group")
        .details("Options that it does not name are those that the optimiser was made with, whatever was changed since.")
        .errors(&["ValueError: a parameter is in a group already", "TypeError: there is no such option"])
        .example(
            "let opt = optim::SGD([nn::Parameter(ones(2))], 0.1); opt.add_param_group(#{params: [nn::Parameter(ones(3))], lr: 0.5}); \
             opt.param_groups[1].lr",
            "0.5",
        ),
        |call| {
            let given = AddParamGroupParams::of(&call.args)?.param_group;
            call.on::<Optimizer>()?.add_group_with(group::parsed(&from_dynamic(&given.into())?)?)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method("param_groups", "The groups of parameters with their options.", &[])
            .forms(PROPERTY)
            .torch("torch.optim.Optimizer.param_groups")
            .details("`opt.param_groups[0].lr = 0.1` changes an option; `add_param_group` adds a group.")
            .errors(&["TypeError: the groups themselves are replaced"])
            .example(
                "let opt = optim::SGD([nn::Parameter(ones(2))], 0.1); opt.param_groups[0].lr = 0.2; opt.param_groups[0].lr",
                "0.2",
            ),
        |call| {
            let of = call.on::<Optimizer>()?;
            let group = |index| Dynamic::from(ParamGroup { of: of.clone(), index });
            Ok((0..of.group_count()).map(group).collect::<Array>().into())
        },
    )
    .set(set_groups),
    ScriptRow::of(
        OpDef::script("keys", Family::Optimise, "What a group of parameters has: `params` and its options.", &[])
            .on(Receiver::ParamGroup)
            .torch("torch.optim.Optimizer.param_groups")
            .example("optim::SGD([nn::Parameter(ones(2))], 0.1).param_groups[0].keys()[0]", "\"params\""),
        |call| {
            let group = call.on::<ParamGroup>()?;
            let names = group.of.option_names(group.index).into_iter().map(Dynamic::from);
            Ok(std::iter::once("params".into()).chain(names).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        method("state_dict", "What an optimiser keeps from step to step, and its groups' options.", &[])
            .torch("torch.optim.Optimizer.state_dict")
            .details("Tensors share memory; `save(opt.state_dict(), path)` keeps them. Parameters stand in it by number.")
            .example("optim::SGD([nn::Parameter(ones(2))], 0.1).state_dict().keys()", "[\"param_groups\", \"state\"]"),
        |call| Ok(state_map(&call.on::<Optimizer>()?.state_dict()).into()),
    ),
    ScriptRow::of(
        method("load_state_dict", "Goes on from a state.", LoadStateDictParams::LIST).changing()
            .torch("torch.optim.Optimizer.load_state_dict")
            .errors(&["ValueError: the groups have other sizes", "TypeError: it is no state of an optimiser"])
            .example(
                "let w = nn::Parameter(ones(2)); let old = optim::SGD([w], 0.1); let opt = optim::SGD([w], 0.5); \
                 opt.load_state_dict(old.state_dict()); opt.param_groups[0].lr",
                "0.1",
            ),
        |call| {
            let state = state_of(&LoadStateDictParams::of(&call.args)?.state_dict)?;
            call.on::<Optimizer>()?.load_state_dict(&state)?;
            Ok(Dynamic::UNIT)
        },
    ),
];

/// One parameter group of an optimiser: `opt.param_groups[0].lr = 0.1` reaches the optimiser itself.
#[derive(Clone)]
pub struct ParamGroup {
    of: Optimizer,
    index: usize,
}

pub(crate) fn register(engine: &mut Engine, here: &Here, spaces: &mut Spaces) {
    for def in crate::optim::table().filter(|d| d.forms == [Form::Of("optim")]) {
        register_functional(spaces.of("optim"), def, &here.machine.shared);
    }
    engine.register_type_with_name::<Optimizer>("Optimizer");
    engine.register_fn("to_string", |o: &mut Optimizer| o.to_string());
    engine.register_fn("to_debug", |o: &mut Optimizer| o.to_string());
    engine.register_fn("is", |a: &mut Optimizer, b: Optimizer| a.is(&b));
    engine.register_type_with_name::<ParamGroup>("ParamGroup");
    engine.register_indexer_get(|g: &mut ParamGroup, name: ImmutableString| g.get(&name).map_err(raise));
    engine.register_indexer_set(|g: &mut ParamGroup, name: ImmutableString, value: Dynamic| {
        g.set(&name, &value).map_err(raise)
    });
    engine.register_fn("to_string", |g: &mut ParamGroup| g.shown());
    engine.register_fn("to_debug", |g: &mut ParamGroup| g.shown());
}

fn step(call: &mut Call) -> Outcome {
    let optimizer = call.on::<Optimizer>()?;
    let Some(closure) = StepParams::of(&call.args)?.closure else {
        optimizer.step()?;
        return Ok(Dynamic::UNIT);
    };
    if optimizer.searches() {
        return searched(call, &optimizer, &closure);
    }
    let loss = {
        let _on = set_grad_mode(true);
        call.run(&closure, ())?
    };
    note_line(&call.machine().shared, call.context);
    optimizer.step()?;
    Ok(loss)
}

/// A step that calls its closure as often as it needs to; gives what the closure gave first.
fn searched(call: &Call, o: &Optimizer, closure: &FnPtr) -> Outcome {
    let (mut first, mut failed) = (None, None);
    let result = o.minimise(&mut || {
        let _on = set_grad_mode(true);
        let value = call.run(closure, ()).map_err(|raised| {
            let text = raised.to_string();
            failed = Some(raised);
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
        (_, Some(raised)) => Err(raised),
        (Err(error), None) => Err(error.into()),
        (Ok(()), None) => Ok(first.unwrap_or(Dynamic::UNIT)),
    }
}

/// Writing to a group's option hands the array back; the groups themselves have seen the change.
fn set_groups(call: &mut Call, back: &Dynamic) -> Result<()> {
    let of = call.on::<Optimizer>()?;
    let own = |d: &Dynamic| d.read_lock::<ParamGroup>().is_some_and(|g| g.of.is(&of));
    if back.read_lock::<Array>().is_some_and(|back| back.iter().all(own) && back.len() == of.group_count()) {
        return Ok(());
    }
    Err(Error::type_error("param_groups cannot be replaced")
        .with_hint("`opt.param_groups[0].lr = …` changes an option, `add_param_group` adds a group"))
}

impl ParamGroup {
    /// The same group of an optimiser's copy.
    pub(crate) fn copied_with(&self, copies: &mut dyn Copies) -> Result<ParamGroup> {
        let of = match copies.value(&self.of.clone().into_value())? {
            Value::Object(copy) => copy.get::<Optimizer>().unwrap_or(&self.of).clone(),
            _ => self.of.clone(),
        };
        Ok(ParamGroup { of, index: self.index })
    }

    fn get(&self, name: &str) -> Result<Dynamic> {
        if name == "params" {
            let tensors = self.of.parameters(self.index).into_iter().map(Dynamic::from).collect();
            return Ok(Dynamic::from_array(tensors));
        }
        self.of.option(self.index, name).map(to_dynamic).ok_or_else(|| {
            let names = self.of.option_names(self.index);
            let error = Error::type_error(format!("{} has no option '{name}'", self.of.name()));
            error
                .with_near(name, names.iter().copied())
                .with_hint(format!("options are params, {}", names.join(", ")))
        })
    }

    fn set(&self, name: &str, value: &Dynamic) -> Result<()> {
        if name != "params" {
            let value = from_dynamic(value)?;
            // A method called on an option hands it back.
            let same = |now: Value| is_same(&now, &value);
            if self.of.option(self.index, name).is_some_and(same) {
                return Ok(());
            }
            return self.of.set_option(self.index, name, value);
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
        let options = self.of.option_names(self.index).into_iter().filter_map(|name| {
            let value = self.of.option(self.index, name)?;
            Some(match value {
                Value::None => format!("{name}: ()"),
                value => format!("{name}: {}", to_dynamic(value)),
            })
        });
        let params = self.of.parameters(self.index).len();
        let params = format!("params: {params} {}", word(params as u64, "tensor", "tensors"));
        format!("#{{{}}}", std::iter::once(params).chain(options).collect::<Vec<_>>().join(", "))
    }
}

/// Whether two options are the same number, word or list of them.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::None, Value::None) => true,
        (Value::Scalar(a), Value::Scalar(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        _ => false,
    }
}

fn state_map(state: &StateDict) -> Map {
    let mut moments = Map::new();
    for (number, step, tensors) in &state.moments {
        let mut one = map_of(tensors.iter().map(|(n, value)| (n.into(), to_dynamic(value.clone()))));
        if *step > 0 {
            one.insert("step".into(), Dynamic::from(*step as INT));
        }
        moments.insert(number.to_string().into(), one.into());
    }
    let group = |(options, numbers): &(Vec<(String, Value)>, Vec<usize>)| {
        let mut map = map_of(options.iter().map(|(n, v)| (n.into(), to_dynamic(v.clone()))));
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
            match name.as_str() {
                "step" => step = value.as_int().ok().and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
                // What PyTorch's LBFGS computes anew in each step.
                "al" => {}
                name => tensors.push((name.to_string(), from_dynamic(value)?)),
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
