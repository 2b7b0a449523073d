//! Methods of `nn::Sequential`, `nn::ModuleList` and `nn::ModuleDict`.

use rhai::{Array, Dynamic, INT};

use crate::base::{Error, Result};
use crate::nn::Module;
use crate::op::OpDef;
use crate::op::params::kind::{Int, Str};
use crate::op::params::params;
use crate::script::call::kind::{Entries, Given};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::modules::nn::method::method;
use crate::script::modules::nn::own::{several, subclass};
use crate::script::value::type_name;

use super::contents::named;
use super::state::itself;

params! {
    AppendParams {
        module: Given, "what comes to the end";
    }
}

params! {
    ExtendParams {
        modules: Given, "what comes to the end: an array of modules, or a container";
    }
}

params! {
    InsertParams {
        index: Int, "the place that it takes; what stands there and behind moves on";
        module: Given, "what stands there from now on";
    }
}

params! {
    PopParams {
        key: Given, "which one: its place, or its name in an nn::ModuleDict";
    }
}

params! {
    ContainsParams {
        key: Str, "what a module may be called there";
    }
}

params! {
    UpdateParams {
        modules: Entries, "modules by name; of a name that is there the module is replaced";
    }
}

const LATER: &str = "An optimiser made before does not know the new parameters: `add_param_group` tells it.";
const LIST: &str =
    "TypeError: the module is no nn::Sequential or nn::ModuleList, or what is put there is no module";
const DICT: &[&str] = &["TypeError: the module is no nn::ModuleDict"];

/// A method of an `nn::ModuleDict`.
const fn dict(name: &'static str, summary: &'static str) -> OpDef {
    method(name, summary, &[]).errors(DICT)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        method(
            "append",
            "Puts a module at the end of an nn::Sequential or nn::ModuleList.",
            AppendParams::LIST,
        )
        .changing()
        .torch("torch.nn.ModuleList.append")
        .details(LATER)
        .errors(&[LIST])
        .example("let net = nn::Sequential(nn::ReLU()); net.append(nn::Tanh()); net[1]", "Tanh()"),
        |call| {
            let child = subclass(&AppendParams::of(&call.args)?.module)?;
            call.on::<Module>()?.extend(&[child])?;
            itself(call)
        },
    ),
    ScriptRow::of(
        method(
            "extend",
            "Puts several modules at the end of an nn::Sequential or nn::ModuleList.",
            ExtendParams::LIST,
        )
        .changing()
        .torch("torch.nn.ModuleList.extend")
        .details(LATER)
        .errors(&[LIST])
        .example(
            "let net = nn::Sequential(nn::ReLU()); net.extend([nn::Tanh(), nn::ReLU()]); net.len()",
            "3",
        ),
        |call| {
            let more = several(&ExtendParams::of(&call.args)?.modules)?;
            call.on::<Module>()?.extend(&more)?;
            itself(call)
        },
    ),
    ScriptRow::of(
        method(
            "insert",
            "Puts a module before another; those behind it move on by one number.",
            InsertParams::LIST,
        )
        .changing()
        .torch("torch.nn.ModuleList.insert")
        .details(LATER)
        .errors(&[
            LIST,
            "IndexError: there is no such place",
            "KeyError: one that would move on has a name and no number",
        ])
        .example("let net = nn::Sequential(nn::ReLU()); net.insert(0, nn::Tanh()); net[0]", "Tanh()"),
        |call| {
            let given = InsertParams::of(&call.args)?;
            call.on::<Module>()?.insert(given.index, subclass(&given.module)?)?;
            itself(call)
        },
    ),
    ScriptRow::of(
        method(
            "pop",
            "Takes a module out of a container and gives it; the others of a list are counted anew.",
            PopParams::LIST,
        )
        .changing()
        .torch("torch.nn.ModuleList.pop")
        .errors(&["IndexError: there is no such place", "TypeError: an nn::ModuleDict has no such name"])
        .example("let net = nn::Sequential(nn::ReLU(), nn::Tanh()); net.pop(0)", "ReLU()"),
        pop,
    ),
    ScriptRow::of(
        method("len", "How many modules stand directly below.", &[])
            .torch("len")
            .example("nn::Sequential(nn::ReLU(), nn::Tanh()).len()", "2"),
        |call| Ok((call.on::<Module>()?.children().len() as INT).into()),
    ),
    ScriptRow::of(
        dict("keys", "The names in an nn::ModuleDict.")
            .torch("torch.nn.ModuleDict.keys")
            .example("nn::ModuleDict(#{act: nn::ReLU()}).keys()", "[\"act\"]"),
        |call| {
            let all = children(call)?;
            Ok(all.iter().map(|(name, _)| name.into()).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        dict("values", "The modules in an nn::ModuleDict.")
            .torch("torch.nn.ModuleDict.values")
            .example("nn::ModuleDict(#{act: nn::ReLU()}).values()", "[ReLU()]"),
        |call| {
            let all = children(call)?;
            Ok(all.into_iter().map(|(_, m)| Dynamic::from(m)).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        dict("items", "The modules in an nn::ModuleDict, each as [name, module].")
            .torch("torch.nn.ModuleDict.items")
            .example("nn::ModuleDict(#{act: nn::ReLU()}).items()", "[[\"act\", ReLU()]]"),
        |call| Ok(named(&children(call)?)),
    ),
    ScriptRow::of(
        method("contains", "Whether an nn::ModuleDict has a module of a name.", ContainsParams::LIST)
            .torch("in")
            .errors(DICT)
            .example("nn::ModuleDict(#{act: nn::ReLU()}).contains(\"act\")", "true"),
        |call| {
            let key = ContainsParams::of(&call.args)?.key;
            Ok(own_dict(call)?.child(key).is_some().into())
        },
    ),
    ScriptRow::of(
        method("update", "Puts modules into an nn::ModuleDict.", UpdateParams::LIST)
            .changing()
            .torch("torch.nn.ModuleDict.update")
            .errors(DICT)
            .example("let d = nn::ModuleDict(#{}); d.update(#{act: nn::ReLU()}); d[\"act\"]", "ReLU()"),
        |call| {
            let m = own_dict(call)?;
            let more = UpdateParams::of(&call.args)?.modules;
            let all = more.iter().map(|(name, value)| Ok((name, subclass(value)?)));
            let all = all.collect::<Result<Vec<_>>>()?;
            all.into_iter().try_for_each(|(name, child)| m.set_child(name, child))?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        dict("clear", "Takes every module out of an nn::ModuleDict.")
            .changing()
            .torch("torch.nn.ModuleDict.clear")
            .example("let d = nn::ModuleDict(#{act: nn::ReLU()}); d.clear(); d.len()", "0"),
        |call| {
            let m = own_dict(call)?;
            m.children().iter().try_for_each(|(name, _)| m.remove_child(name))?;
            Ok(Dynamic::UNIT)
        },
    ),
];

fn pop(call: &mut Call) -> Outcome {
    let key = PopParams::of(&call.args)?.key;
    if let Ok(place) = key.as_int() {
        return Ok(Dynamic::from(call.on::<Module>()?.pop(place)?));
    }
    let Ok(name) = key.as_immutable_string_ref().map(|name| name.to_string()) else {
        let text = format!("pop(): argument 'key' must be a place or a name, not {}", type_name(&key));
        return Err(Error::type_error(text).into());
    };
    let m = own_dict(call)?;
    let module = m.submodule(&name)?;
    m.remove_child(&name)?;
    Ok(Dynamic::from(module))
}

fn children(call: &Call) -> Result<Vec<(String, Module)>> {
    Ok(own_dict(call)?.children().to_vec())
}

/// What the method is called on, which must be an `nn::ModuleDict`.
fn own_dict(call: &Call) -> Result<Module> {
    let m = call.on::<Module>()?;
    if m.layer().is_dict() {
        return Ok(m);
    }
    let error = Error::type_error(format!("'{}' object has no attribute '{}'", m.name(), call.args.def.name));
    Err(error.with_hint("an nn::ModuleDict has it; `named_children()` lists any module's children"))
}
