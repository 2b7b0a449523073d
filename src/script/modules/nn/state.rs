//! Methods of modules: what they are called with, their state, their modes, where they are.

use rhai::{Array, Dynamic, ImmutableString};

use crate::base::{DType, DeviceSpec, Error, Result};
use crate::device::Machine;
use crate::nn::Module;
use crate::nn::state::Mismatch;
use crate::op::core::format::FormatWord;
use crate::op::def::{FUNCTION, PROPERTY};
use crate::op::params::kind::{Bool, Device};
use crate::op::params::{Maybe, params};
use crate::op::{Family, OpDef, Receiver};
use crate::script::call::kind::{Entries, Given, Rest};
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::maps::map_of;
use crate::script::value::{self, type_name};
use crate::tensor::Tensor;

use crate::script::modules::nn::forward::call as run;
use crate::script::modules::nn::method::method;

params! {
    ForwardParams {
        inputs: Rest, "what the module computes from, one after the other; a map at the end holds the layer's options";
    }
}

params! {
    IsInstanceParams {
        class: Given, "a class, such as nn::Linear, or the name that modules of it are printed with, or an array of them";
    }
}

params! {
    LoadStateDictParams {
        state_dict: Entries, "tensors by name, as `state_dict()` and `load()` give them";
        strict: Bool = true, "makes names that are missing or that are not the module's an error";
    }
}

params! {
    TrainParams {
        mode: Bool = true, "false is what `eval()` sets";
    }
}

params! {
    ZeroGradParams {
        set_to_none: Bool = true, "false fills gradients with zeros in place of dropping them";
    }
}

params! {
    RequiresGradParams {
        requires_grad: Bool = true, "false freezes the parameters";
    }
}

params! {
    ToParams {
        device: Given = (), "where to: a device or its name; a dtype, or a tensor that has both, stands here as well";
        dtype: Given = (), "what floating-point parameters and buffers become";
        memory_format: Maybe<FormatWord>, "how parameters and buffers of four dimensions lie in memory, such as \"channels_last\", or of five; one that a view looks at stays as it lies";
    }
}

params! {
    CudaParams {
        device: Maybe<Device>, "the GPU, as 0, \"cuda:0\" or a device; the current one where it is not given";
    }
}

/// A method that casts every tensor of a module.
const fn cast(
    name: &'static str,
    summary: &'static str,
    example: &'static str,
    shown: &'static str,
) -> OpDef {
    method(name, summary, &[]).example(example, shown)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        method("forward", "The module's output.", ForwardParams::LIST)
            .torch("torch.nn.Module.forward")
            .shapes("what the layer takes -> what it gives, as its own page says")
            .details(
                "Layers such as nn::MultiheadAttention take options: `net.forward(q, k, v, #{attn_mask: mask})`. An \
                 own module may give anything, as what stands behind it in an nn::Sequential takes.",
            )
            .errors(&[
                "TypeError: an input of a layer is no Tensor",
                "TypeError: there are more or fewer inputs than the layer takes",
                "Error: whatever the layer or a function of its own fails with",
            ])
            .example("nn::ReLU().forward(tensor([-1.0, 2.0]))", "tensor([0., 2.])"),
        |call| {
            let inputs = ForwardParams::of(&call.args)?.inputs;
            let inputs: Vec<&Dynamic> = inputs.iter().collect();
            Ok(run(call.context, &call.on()?, &inputs)?)
        },
    ),
    ScriptRow::of(
        method(
            "isinstance",
            "Whether a module is of a class, or of one of several.",
            IsInstanceParams::LIST,
        )
        .forms(FUNCTION)
        .torch("isinstance")
        .details("Modules of your own have the name that they were given: `isinstance(m, \"Block\")`.")
        .errors(&["TypeError: what is given is neither a class nor a name, nor an array of such"])
        .example("isinstance(nn::Linear(2, 1), nn::Linear)", "true"),
        |call| {
            let given = IsInstanceParams::of(&call.args)?.class;
            let module = call.on::<Module>()?;
            let given = given.read_lock::<Array>().map_or_else(|| vec![given.clone()], |all| all.clone());
            let mut fits = false;
            for class in given {
                fits |= is_of(module.name(), &class_name(class)?);
            }
            Ok(fits.into())
        },
    ),
    ScriptRow::of(
        method("_get_name", "The name of the module's class.", &[])
            .torch("torch.nn.Module._get_name")
            .example("nn::Linear(2, 1)._get_name()", "\"Linear\""),
        |call| Ok(call.on::<Module>()?.name().to_string().into()),
    ),
    ScriptRow::of(
        method("state_dict", "Every parameter and buffer by name, sharing memory.", &[])
            .torch("torch.nn.Module.state_dict")
            .details("`save(net.state_dict(), path)` keeps it. Optimisers and schedulers have a state_dict of their own.")
            .example("nn::Linear(2, 1).state_dict().keys()", "[\"bias\", \"weight\"]"),
        |call| {
            let state = call.on::<Module>()?.state_dict();
            Ok(map_of(state.into_iter().map(|(name, t)| (name.into(), Dynamic::from(t)))).into())
        },
    ),
    ScriptRow::of(
        method("load_state_dict", "Copies a state into a module.", LoadStateDictParams::LIST).changing()
            .torch("torch.nn.Module.load_state_dict")
            .details("Gives which names were missing and which were not expected: `missing_keys`, `unexpected_keys`.")
            .errors(&[
                "RuntimeError: names do not fit and strict is true, or a shape does not fit",
                "TypeError: an entry of the state is no Tensor",
            ])
            .example(
                "let net = nn::Linear(1, 1); net.load_state_dict(#{weight: ones([1, 1]), bias: zeros(1)})",
                "<All keys matched successfully>",
            ),
        load_state_dict,
    ),
    ScriptRow::of(
        OpDef::script("missing_keys", Family::Module, "Names of the module that the state did not have.", &[])
            .on(Receiver::Keys)
            .forms(PROPERTY)
            .torch("torch.nn.modules.module._IncompatibleKeys.missing_keys")
            .example(
                "let net = nn::Linear(1, 1); net.load_state_dict(#{bias: zeros(1)}, #{strict: false}).missing_keys",
                "[\"weight\"]",
            ),
        |call| Ok(names(&call.on::<Mismatch>()?.missing)),
    ),
    ScriptRow::of(
        OpDef::script("unexpected_keys", Family::Module, "Names of the state that the module does not have.", &[])
            .on(Receiver::Keys)
            .forms(PROPERTY)
            .torch("torch.nn.modules.module._IncompatibleKeys.unexpected_keys")
            .example(
                "let found = nn::ReLU().load_state_dict(#{bias: zeros(1)}, #{strict: false}); found.unexpected_keys",
                "[\"bias\"]",
            ),
        |call| Ok(names(&call.on::<Mismatch>()?.unexpected)),
    ),
    ScriptRow::of(
        method("train", "Turns training mode on, here and below: dropout, batch statistics.", TrainParams::LIST).changing()
            .torch("torch.nn.Module.train")
            .example("let net = nn::Dropout(0.5); net.train(false); net.forward(ones(3))", "tensor([1., 1., 1.])"),
        |call| {
            let mode = TrainParams::of(&call.args)?.mode;
            call.on::<Module>()?.train(mode);
            itself(call)
        },
    ),
    ScriptRow::of(
        method("eval", "Turns training mode off, here and below: dropout, batch statistics.", &[]).changing()
            .torch("torch.nn.Module.eval")
            .details("Gradients are recorded as before: `with no_grad() { … }` ends that.")
            .example("let net = nn::Dropout(0.5); net.eval(); net.forward(ones(3))", "tensor([1., 1., 1.])"),
        |call| {
            call.on::<Module>()?.train(false);
            itself(call)
        },
    ),
    ScriptRow::of(
        method("training", "Whether the module is in training mode.", &[])
            .forms(PROPERTY)
            .torch("torch.nn.Module.training")
            .example("let net = nn::ReLU(); net.eval(); net.training", "false"),
        |call| Ok(call.on::<Module>()?.training().into()),
    ),
    ScriptRow::of(
        method(
            "flatten_parameters",
            "Does nothing: the weights of an RNN, a GRU or an LSTM lie as they are needed. Programs of PyTorch call it.",
            &[],
        )
        .torch("torch.nn.RNNBase.flatten_parameters")
        .errors(&["TypeError: the module is no recurrent one"])
        .example("let net = nn::LSTM(2, 3); net.flatten_parameters(); net", "LSTM(2, 3)"),
        |call| {
            let net = call.on::<Module>()?;
            if !["RNN", "GRU", "LSTM"].contains(&net.name()) {
                let text = format!("'{}' object has no attribute 'flatten_parameters'", net.name());
                return Err(Error::type_error(text).into());
            }
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method("zero_grad", "Drops the gradients of all parameters.", ZeroGradParams::LIST).changing()
            .torch("torch.nn.Module.zero_grad")
            .example(
                "let net = nn::Linear(1, 1); net.forward(ones(1)).sum().backward(); net.zero_grad(); net.weight.grad == ()",
                "true",
            ),
        |call| {
            call.on::<Module>()?.zero_grad(ZeroGradParams::of(&call.args)?.set_to_none)?;
            Ok(Dynamic::UNIT)
        },
    ),
    ScriptRow::of(
        method("requires_grad_", "Has all parameters require gradients, or not.", RequiresGradParams::LIST).changing()
            .torch("torch.nn.Module.requires_grad_")
            .example("let net = nn::Linear(2, 1); net.requires_grad_(false); net.weight.requires_grad", "false"),
        |call| {
            let on = RequiresGradParams::of(&call.args)?.requires_grad;
            call.on::<Module>()?.requires_grad_(on)?;
            itself(call)
        },
    ),
    ScriptRow::of(
        method(
            "to",
            "Moves parameters and buffers to a device, or casts those of floating point; the module itself changes.",
            ToParams::LIST,
        ).changing()
        .torch("torch.nn.Module.to")
        .details("An optimiser made before goes on with the same parameters.")
        .errors(&[
            "DeviceError: there is no such GPU",
            "OutOfMemoryError: the device has no room",
            "TypeError: the dtype is of integers or bools",
            "RuntimeError: there is no such kind of device",
        ])
        .example("let net = nn::Linear(2, 1); net.to(float64); net.weight.dtype", "torch.float64"),
        to,
    ),
    ScriptRow::of(
        method("cuda", "Moves parameters and buffers to a GPU; the module itself changes.", CudaParams::LIST).changing()
            .torch("torch.nn.Module.cuda")
            .errors(&["DeviceError: there is no such GPU", "OutOfMemoryError: the device has no room"])
            .example(
                "let net = nn::Linear(2, 1); net.cuda(); net.weight.device",
                "device(type='cuda', index=0)",
            ),
        |call| {
            let device = CudaParams::of(&call.args)?.device.unwrap_or(DeviceSpec::Cuda(None));
            moved(call, Some(device), None)
        },
    ),
    ScriptRow::of(
        method("cpu", "Moves parameters and buffers to the CPU; the module itself changes.", &[]).changing()
            .torch("torch.nn.Module.cpu")
            .example(
                "let net = nn::Linear(2, 1).cuda(); net.cpu(); net.weight.device",
                "device(type='cpu')",
            ),
        |call| moved(call, Some(DeviceSpec::Cpu), None),
    ),
    ScriptRow::of(
        cast(
            "half",
            "Casts parameters and buffers of floating point to float16.",
            "let net = nn::Linear(2, 1); net.half(); net.weight.dtype",
            "torch.float16",
        )
        .torch("torch.nn.Module.half").changing(),
        |call| moved(call, None, Some(DType::Float16)),
    ),
    ScriptRow::of(
        cast(
            "float",
            "Casts parameters and buffers of floating point to float32.",
            "let net = nn::Linear(2, 1).half(); net.float(); net.weight.dtype",
            "torch.float32",
        )
        .torch("torch.nn.Module.float").changing(),
        |call| moved(call, None, Some(DType::Float32)),
    ),
    ScriptRow::of(
        cast(
            "double",
            "Casts parameters and buffers of floating point to float64.",
            "let net = nn::Linear(2, 1); net.double(); net.weight.dtype",
            "torch.float64",
        )
        .torch("torch.nn.Module.double").changing(),
        |call| moved(call, None, Some(DType::Float64)),
    ),
    ScriptRow::of(
        cast(
            "bfloat16",
            "Casts parameters and buffers of floating point to bfloat16.",
            "let net = nn::Linear(2, 1); net.bfloat16(); net.weight.dtype",
            "torch.bfloat16",
        )
        .torch("torch.nn.Module.bfloat16").changing(),
        |call| moved(call, None, Some(DType::BFloat16)),
    ),
];

/// What a method is called on, which it gives back.
pub(super) fn itself(call: &Call) -> Outcome {
    Ok(Dynamic::from(call.on::<Module>()?))
}

fn load_state_dict(call: &mut Call) -> Outcome {
    let given = LoadStateDictParams::of(&call.args)?;
    let entry = |(name, value): (&rhai::Identifier, &Dynamic)| match value.read_lock::<Tensor>() {
        Some(t) => Ok((name.to_string(), t.clone())),
        None => {
            let text = format!("load_state_dict(): '{name}' must be a Tensor, not {}", type_name(value));
            Err(Error::type_error(text))
        }
    };
    let state = given.state_dict.iter().map(entry).collect::<Result<Vec<_>>>()?;
    Ok(Dynamic::from(call.on::<Module>()?.load_state_dict(&state, given.strict)?))
}

fn names(all: &[String]) -> Dynamic {
    all.iter().map(|name| name.clone().into()).collect::<Array>().into()
}

fn to(call: &mut Call) -> Outcome {
    let given = ToParams::of(&call.args)?;
    let (device, dtype) = match (given.device.is_unit(), given.dtype.is_unit()) {
        (true, true) if given.memory_format.is_some() => (None, None),
        (true, true) => {
            return Err(Error::type_error("to() missing required argument 'device'")
                .with_hint("`net.to(\"cuda\")` moves a module, `net.to(float64)` casts it")
                .into());
        }
        (_, true) => target(&given.device)?,
        (true, false) => (None, target(&given.dtype)?.1),
        (false, false) => (target(&given.device)?.0, target(&given.dtype)?.1),
    };
    let device = device.map(|s| Machine::current().resolve(s));
    call.on::<Module>()?.to(device, dtype, given.memory_format)?;
    itself(call)
}

fn moved(call: &Call, spec: Option<DeviceSpec>, dtype: Option<DType>) -> Outcome {
    let device = spec.map(|s| Machine::current().resolve(s));
    call.on::<Module>()?.to(device, dtype, None)?;
    itself(call)
}

/// A device, a dtype, or a tensor that has both.
fn target(to: &Dynamic) -> Result<(Option<DeviceSpec>, Option<DType>)> {
    if let Some(dtype) = to.read_lock::<DType>() {
        return Ok((None, Some(*dtype)));
    }
    if let Some(t) = to.read_lock::<Tensor>() {
        return Ok((Some(t.device().into()), Some(t.dtype())));
    }
    match to.read_lock::<ImmutableString>().and_then(|s| DType::parse(&s)) {
        Some(dtype) => Ok((None, Some(dtype))),
        None => Ok((Some(value::device(to)?), None)),
    }
}

/// Whether a module of one class is of another: classes build on others, and all on `Module`.
fn is_of(name: &str, class: &str) -> bool {
    const BASES: [(&str, &str); 2] = [("NonDynamicallyQuantizableLinear", "Linear"), ("ReLU6", "Hardtanh")];
    name == class || class == "Module" || BASES.contains(&(name, class))
}

/// The name of a class without its module.
fn class_name(class: Dynamic) -> Result<ImmutableString> {
    let kind = type_name(&class);
    let name = class.into_immutable_string().map_err(|_| {
        Error::type_error(format!("isinstance() argument 'class' must be a class or its name, not {kind}"))
            .with_hint(
                "`isinstance(m, nn::Linear)`, or `isinstance(m, [\"Linear\", \"Conv2d\"])` for several",
            )
    })?;
    Ok(name.rsplit("::").next().unwrap_or_default().into())
}
