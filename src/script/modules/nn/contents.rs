//! Methods of modules: what they are made of, by name and all at once.

use rhai::{Array, Dynamic, FnPtr};

use crate::base::{Error, Result};
use crate::nn::{Module, Role};
use crate::op::params::kind::{Bool, Str};
use crate::op::params::params;
use crate::script::call::kind::{Function, Given};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::modules::nn::method::method;
use crate::script::modules::nn::own::{found, subclass};
use crate::script::value::type_name;
use crate::tensor::Tensor;

use super::state::itself;

params! {
    ApplyParams {
        closure: Function, "is called with every module below, children first, and then with the module itself";
    }
}

params! {
    AddModuleParams {
        name: Str, "what it is called in the module, without a point";
        module: Given, "what stands there from now on";
    }
}

params! {
    RegisterParameterParams {
        name: Str, "what it is called in the module, without a point";
        param: Given, "a leaf, which is made to require gradients; () keeps the name without one";
    }
}

params! {
    RegisterBufferParams {
        name: Str, "what it is called in the module, without a point";
        tensor: Given, "moves with the module and is not trained; () keeps the name without one";
        persistent: Bool = true, "false keeps it out of the state_dict";
    }
}

params! {
    TensorsParams {
        recurse: Bool = true, "false leaves out those of the modules below";
    }
}

params! {
    NamedTensorsParams {
        prefix: Str = "", "stands before every name, with a point behind it";
        recurse: Bool = true, "false leaves out those of the modules below";
    }
}

params! {
    GetSubmoduleParams {
        target: Str, "names with points between them, such as \"0.fc\"; \"\" is the module itself";
    }
}

params! {
    GetTensorParams {
        target: Str, "names with points between them, such as \"0.fc.weight\"";
    }
}

const PATH: &[&str] = &["TypeError: nothing stands there, or something of another kind"];
const NO_NAME: &str = "ValueError: the name has a point or is empty, or something of another kind has it";
const TAKEN: &[&str] = &[NO_NAME];
const NO_PARAMETER: &[&str] =
    &[NO_NAME, "ValueError: the tensor is no leaf", "RuntimeError: the tensor holds integers or bools"];

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        method("parameters", "The trained tensors of a module and of all below it, each once.", TensorsParams::LIST)
            .torch("torch.nn.Module.parameters")
            .example("nn::Linear(2, 1).parameters().len()", "2"),
        |call| Ok(tensors(&call.on()?, Role::Parameter, TensorsParams::of(&call.args)?)),
    ),
    ScriptRow::of(
        method("named_parameters", "The trained tensors of a module and of all below it, each as [name, tensor].", NamedTensorsParams::LIST)
            .torch("torch.nn.Module.named_parameters")
            .example("nn::Linear(2, 1).named_parameters().map(|pair| pair[0])", "[\"weight\", \"bias\"]"),
        |call| Ok(pairs(&call.on()?, Role::Parameter, NamedTensorsParams::of(&call.args)?)),
    ),
    ScriptRow::of(
        method("buffers", "Tensors of the state that are not trained.", TensorsParams::LIST)
            .torch("torch.nn.Module.buffers")
            .example("nn::BatchNorm1d(2).buffers()[0]", "tensor([0., 0.])"),
        |call| Ok(tensors(&call.on()?, Role::Buffer, TensorsParams::of(&call.args)?)),
    ),
    ScriptRow::of(
        method("named_buffers", "Tensors of the state that are not trained, each as [name, tensor].", NamedTensorsParams::LIST)
            .torch("torch.nn.Module.named_buffers")
            .example("nn::BatchNorm1d(2).named_buffers()[1][0]", "\"running_var\""),
        |call| Ok(pairs(&call.on()?, Role::Buffer, NamedTensorsParams::of(&call.args)?)),
    ),
    ScriptRow::of(
        method("children", "The modules directly below.", &[])
            .torch("torch.nn.Module.children")
            .example("nn::Sequential(nn::ReLU(), nn::Tanh()).children()", "[ReLU(), Tanh()]"),
        |call| Ok(call.on::<Module>()?.into_iter().collect::<Array>().into()),
    ),
    ScriptRow::of(
        method("named_children", "The modules directly below, each as [name, module].", &[])
            .torch("torch.nn.Module.named_children")
            .example("nn::Sequential(nn::ReLU(), nn::Tanh()).named_children()[1]", "[\"1\", Tanh()]"),
        |call| Ok(named(&call.on::<Module>()?.children())),
    ),
    ScriptRow::of(
        method("modules", "The module itself and all below it, parents first.", &[])
            .torch("torch.nn.Module.modules")
            .example("nn::Sequential(nn::ReLU(), nn::Tanh()).modules().len()", "3"),
        |call| {
            let all = modules(&call.on()?);
            Ok(all.into_iter().map(|(_, m)| Dynamic::from(m)).collect::<Array>().into())
        },
    ),
    ScriptRow::of(
        method("named_modules", "The module itself and all below it as [path, module], parents first.", &[])
            .torch("torch.nn.Module.named_modules")
            .example("nn::Sequential(nn::ReLU()).named_modules().map(|pair| pair[0])", "[\"\", \"0\"]"),
        |call| Ok(named(&modules(&call.on()?))),
    ),
    ScriptRow::of(
        method(
            "apply",
            "Calls a function with every module below and then with the module itself.",
            ApplyParams::LIST,
        ).changing()
        .torch("torch.nn.Module.apply")
        .details("`isinstance(m, \"Linear\")` asks in it what a module is.")
        .errors(&["Error: whatever the function fails with"])
        .example("let n = 0; nn::Sequential(nn::ReLU(), nn::Tanh()).apply(|m| n += 1); n", "3"),
        |call| {
            apply(call, &call.on()?, &ApplyParams::of(&call.args)?.closure)?;
            itself(call)
        },
    ),
    ScriptRow::of(
        method("add_module", "Puts a module under a name, as `net.fc = module` does.", AddModuleParams::LIST).changing()
            .torch("torch.nn.Module.add_module")
            .errors(TAKEN)
            .example(
                "let net = nn::module(\"Net\", #{}, |self, x| self.act.forward(x)); net.add_module(\"act\", nn::ReLU()); net.act",
                "ReLU()",
            ),
        add_module,
    ),
    ScriptRow::of(
        method("register_module", "Puts a module under a name: another name of add_module.", AddModuleParams::LIST).changing()
            .torch("torch.nn.Module.register_module")
            .errors(TAKEN)
            .example(
                "let net = nn::module(\"Net\", #{}, |self, x| self.act.forward(x)); net.register_module(\"act\", nn::ReLU()); \
                 net.act",
                "ReLU()",
            ),
        add_module,
    ),
    ScriptRow::of(
        method("register_parameter", "Has a leaf as a parameter, which is trained.", RegisterParameterParams::LIST).changing()
            .torch("torch.nn.Module.register_parameter")
            .errors(NO_PARAMETER)
            .example(
                "let net = nn::ReLU(); net.register_parameter(\"scale\", ones(1)); net.parameters()",
                "[tensor([1.], requires_grad=True)]",
            ),
        |call| {
            let given = RegisterParameterParams::of(&call.args)?;
            let m = call.on::<Module>()?;
            let t = optional_tensor(&given.param, "parameter", given.name)?;
            check_free(&m, given.name, m.role(given.name) == Some(Role::Parameter))?;
            m.register_parameter(given.name, t)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method(
            "register_buffer",
            "Has a tensor as a part of the state that is not trained.",
            RegisterBufferParams::LIST,
        ).changing()
        .torch("torch.nn.Module.register_buffer")
        .errors(TAKEN)
        .example("let net = nn::ReLU(); net.register_buffer(\"mean\", zeros(2)); net.mean", "tensor([0., 0.])"),
        |call| {
            let given = RegisterBufferParams::of(&call.args)?;
            let m = call.on::<Module>()?;
            let t = optional_tensor(&given.tensor, "buffer", given.name)?;
            check_free(&m, given.name, m.role(given.name) == Some(Role::Buffer))?;
            m.register_buffer(given.name, t, given.persistent)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method("get_submodule", "The module at a path below.", GetSubmoduleParams::LIST)
            .torch("torch.nn.Module.get_submodule")
            .errors(PATH)
            .example("nn::Sequential(nn::ReLU(), nn::Tanh()).get_submodule(\"1\")", "Tanh()"),
        |call| {
            let path = GetSubmoduleParams::of(&call.args)?.target;
            Ok(Dynamic::from(call.on::<Module>()?.submodule(path)?))
        },
    ),
    ScriptRow::of(
        method("get_parameter", "The parameter at a path below.", GetTensorParams::LIST)
            .torch("torch.nn.Module.get_parameter")
            .errors(PATH)
            .example("nn::Sequential(nn::Linear(2, 1)).get_parameter(\"0.weight\").shape", "[1, 2]"),
        |call| tensor_at(call, Role::Parameter),
    ),
    ScriptRow::of(
        method("get_buffer", "The buffer at a path below.", GetTensorParams::LIST)
            .torch("torch.nn.Module.get_buffer")
            .errors(PATH)
            .example("nn::Sequential(nn::BatchNorm1d(2)).get_buffer(\"0.running_mean\")", "tensor([0., 0.])"),
        |call| tensor_at(call, Role::Buffer),
    ),
];

fn tensors(m: &Module, role: Role, a: TensorsParams) -> Dynamic {
    held(m, role, a.recurse).map(|(_, t)| Dynamic::from(t)).collect::<Array>().into()
}

fn pairs(m: &Module, role: Role, a: NamedTensorsParams) -> Dynamic {
    let pair = |(name, t): (String, Tensor)| {
        let name = if a.prefix.is_empty() { name } else { format!("{}.{name}", a.prefix) };
        Dynamic::from_array(vec![name.into(), Dynamic::from(t)])
    };
    held(m, role, a.recurse).map(pair).collect::<Array>().into()
}

/// The tensors of a module, and of all below it where they are asked for.
fn held(m: &Module, role: Role, recurse: bool) -> impl Iterator<Item = (String, Tensor)> {
    m.named(role).into_iter().filter(move |(name, _)| recurse || !name.contains('.'))
}

fn modules(m: &Module) -> Vec<(String, Module)> {
    let mut all = Vec::new();
    m.each(&mut |path, m| all.push((path.to_string(), m.clone())));
    all
}

/// Modules with their names.
pub(super) fn named(all: &[(String, Module)]) -> Dynamic {
    let pair =
        |(name, m): &(String, Module)| Dynamic::from_array(vec![name.into(), Dynamic::from(m.clone())]);
    all.iter().map(pair).collect::<Array>().into()
}

/// Children first, as PyTorch's `Module.apply`.
fn apply(call: &Call, module: &Module, f: &FnPtr) -> Outcome<()> {
    for (_, child) in module.children().iter() {
        apply(call, child, f)?;
    }
    call.run(f, (module.clone(),)).map(|_| ())
}

fn add_module(call: &mut Call) -> Outcome {
    let given = AddModuleParams::of(&call.args)?;
    let m = call.on::<Module>()?;
    let child = subclass(&given.module)?;
    check_free(&m, given.name, m.child(given.name).is_some())?;
    m.set_child(given.name, child)?;
    Ok(Dynamic::UNIT)
}

fn tensor_at(call: &Call, role: Role) -> Outcome {
    let path = GetTensorParams::of(&call.args)?.target;
    Ok(Dynamic::from(call.on::<Module>()?.tensor_at(path, role)?))
}

/// A name that is taken by something of another kind is an error; `same` says that it is not.
fn check_free(m: &Module, name: &str, same: bool) -> Result<()> {
    if !same && found(m, name).is_some() {
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
