//! `parallel::` and the call of `nn::DataParallel`.

use std::sync::Arc;

use rhai::{Array, Dynamic};

use crate::base::{Error, Result};
use crate::device::Shared;
use crate::nn::Module;
use crate::op::params::params;
use crate::op::{Family, Form, OpDef};
use crate::parallel;
use crate::script::bind::register_functional;
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow, Spaces};
use crate::script::modules::nn::forward;
use crate::script::value::{from_dynamic, type_name};
use crate::tensor::Tensor;

params! {
    ParallelApplyParams {
        modules: Given, "an array of modules, one for each input, such as `replicate` gives";
        inputs: Given, "an array: what each module is called with, a tensor or an array of arguments";
        kwargs_tup: Given = (), "options of each call; only () is taken";
        devices: Given = (), "the current GPU of each call; without it that of its first tensor";
    }
}

pub(super) static ROWS: &[ScriptRow] = &[ScriptRow::of(
    OpDef::script(
        "parallel_apply",
        Family::Parallel,
        "Calls each module with its input, and gives what they give: the middle step of `nn::DataParallel`.",
        ParallelApplyParams::LIST,
    )
    .forms(&[Form::Of("parallel")])
    .torch("torch.nn.parallel.parallel_apply")
    .details("The calls are made one after the other; what they launch runs side by side, for nothing waits between.")
    .errors(&[
        "ValueError: there are not as many inputs, or devices, as modules",
        "TypeError: something else than a module stands among them",
        "Error: whatever a module fails with",
    ])
    .example("let net = nn::ReLU(); parallel::parallel_apply([net, net], [tensor([-1.0]), tensor([2.0])])", "[tensor([0.]), tensor([2.])]"),
    apply,
)];

/// Registers the rows: `nn::DataParallel` in `nn`, the others in a module of their own.
pub(crate) fn register(shared: &Arc<Shared>, spaces: &mut Spaces) {
    for def in parallel::table() {
        for form in def.forms {
            if let Form::Of(space) = form {
                register_functional(spaces.of(space), def, shared);
            }
        }
    }
}

fn apply(call: &mut Call) -> Outcome {
    let given = ParallelApplyParams::of(&call.args)?;
    let (modules, inputs) = (array("modules", &given.modules)?, array("inputs", &given.inputs)?);
    if !given.kwargs_tup.is_unit() {
        let text = "parallel_apply(): kwargs_tup is not taken here";
        return Err(Error::value(text).with_hint("call the modules in a loop, with their options").into());
    }
    let devices = if given.devices.is_unit() { None } else { Some(array("devices", &given.devices)?) };
    for (name, count) in
        [("inputs", inputs.len()), ("devices", devices.as_ref().map_or(modules.len(), Array::len))]
    {
        if count != modules.len() {
            let text = format!("parallel_apply(): there are {} modules, and {count} {name}", modules.len());
            return Err(Error::value(text).into());
        }
    }
    let machine = Arc::clone(call.machine());
    let before = machine.current_gpu();
    let mut out = Array::new();
    for (i, (module, input)) in modules.iter().zip(&inputs).enumerate() {
        let Some(module) = module.read_lock::<Module>().map(|module| module.clone()) else {
            let text = format!("parallel_apply(): modules[{i}] is {}, and no module", type_name(module));
            return Err(Error::type_error(text).into());
        };
        let arguments = input.read_lock::<Array>().map_or_else(|| vec![input.clone()], |all| all.clone());
        let named = devices.as_ref().and_then(|all| all.get(i));
        let device = match named {
            Some(named) => Some(parallel::device_of(&from_dynamic(named)?)?),
            None => arguments.iter().find_map(|of| of.read_lock::<Tensor>().map(|tensor| tensor.device())),
        };
        let device = device.filter(|device| device.is_cuda());
        if let Some(device) = device {
            machine.set_current_gpu(device.index())?;
        }
        let given = forward::call(call.context, &module, &arguments.iter().collect::<Vec<_>>());
        if device.is_some() {
            machine.set_current_gpu(before)?;
        }
        out.push(given?);
    }
    Ok(out.into())
}

fn array(name: &str, given: &Dynamic) -> Result<Array> {
    let all = given.read_lock::<Array>().map(|all| all.clone());
    all.ok_or_else(|| {
        Error::type_error(format!("parallel_apply(): {name} is an array, not {}", type_name(given)))
    })
}
