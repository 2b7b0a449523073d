//! What scripts call: `parallel::…` and `nn::DataParallel`.

use crate::base::near::nearest;
use crate::base::{Device, Error, Result};
use crate::device::Machine;
use crate::nn::Module;
use crate::op::def::DefaultValue;
use crate::op::{Args, Family, Form, Gradient, MapValue, OpDef, Param, ParamKind, Value};
use crate::tensor::autograd::grad_enabled;

use super::data_parallel::{DataParallel, replicate};
use super::{accelerators, comm, device_of, spread};

const PARALLEL: &[Form] = &[Form::Of("parallel")];
const NN: &[Form] = &[Form::Of("nn")];
const DIM: Param = Param::optional("dim", ParamKind::Int, DefaultValue::Int(0));

/// A function of `parallel::`.
const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Parallel, summary, params, run).forms(PARALLEL)
}

fn module(value: &Value, function: &str) -> Result<Module> {
    Module::from_value(value)
        .cloned()
        .ok_or_else(|| Error::type_error(format!("{function}() takes a module, not {}", value.describe())))
}

/// The device that a function puts its result on: the current GPU where none is named.
fn target(value: &Value) -> Result<Device> {
    match value {
        Value::None => {
            let machine = Machine::current();
            machine.context(Device::Cuda(machine.current_gpu() as u16)).map(|c| c.device)
        }
        given => device_of(given),
    }
}

fn make_data_parallel(a: &Args) -> Result<Value> {
    let net = module(a.get(0), "DataParallel")?;
    for i in 1..=2 {
        refuse_map(a, i)?;
    }
    DataParallel::wrap(&net, a.get(1), a.get(2), a.int(3)?).map(Module::into_value)
}

/// A map in the place of a device has a key that is no option's name.
fn refuse_map(a: &Args, i: usize) -> Result<()> {
    let Value::Object(object) = a.get(i) else { return Ok(()) };
    let Some(map) = object.get::<MapValue>() else { return Ok(()) };
    let known = || a.def.params.iter().skip(1).map(|p| p.name);
    let wrong = map.iter().map(|(name, _)| name.as_str()).find(|name| known().all(|k| k != *name));
    let wrong = wrong.unwrap_or_default();
    let error = Error::type_error(format!("{}() got an unknown option '{wrong}'", a.def.name));
    Err(match nearest(wrong, known()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("options are {}", known().collect::<Vec<_>>().join(", "))),
    })
}

fn make_replicas(a: &Args) -> Result<Value> {
    let net = module(a.get(0), "replicate")?;
    let detach = a.bool(2)? || !grad_enabled();
    let replicas = replicate(&net, &accelerators(a.get(1))?, detach)?;
    Ok(Value::List(replicas.into_iter().map(Module::into_value).collect()))
}

/// The rows of this layer.
pub static ROWS: &[&OpDef] = &[
    &row(
        "scatter",
        "Cuts tensors into one chunk per GPU and moves each to its own.",
        &[
            Param::required("inputs", ParamKind::Any),
            Param::required("target_gpus", ParamKind::Any),
            DIM,
        ],
        |a| Ok(Value::List(spread::scatter(a.get(0), &accelerators(a.get(1))?, a.int(2)?)?)),
    )
    .details(
        "Arrays and maps keep their form, each with its part of every tensor; what is no tensor goes to all. A \
         batch that does not divide leaves the last chunk smaller, or makes fewer chunks than there are GPUs.",
    )
    .example("parallel::scatter(arange(5), [0, 1]).map(|x| x.shape)", "[[3], [2]]"),
    &row(
        "gather",
        "Joins tensors of several GPUs along a dimension on one device.",
        &[
            Param::required("outputs", ParamKind::Any),
            Param::required("target_device", ParamKind::Any),
            DIM,
        ],
        |a| match a.get(0) {
            Value::List(items) => spread::gather(items, device_of(a.get(1))?, a.int(2)?),
            other => Err(Error::type_error(format!("gather() takes an array, not {}", other.describe()))),
        },
    )
    .details("Arrays and maps are joined entry by entry; numbers become a vector. The target may be \"cpu\".")
    .example("parallel::gather(parallel::scatter(arange(4), [0, 1]), 1)", "tensor([0, 1, 2, 3], device='cuda:1')"),
    &row(
        "replicate",
        "Copies of a network, one on each GPU; their gradients reach the network.",
        &[
            Param::required("network", ParamKind::Any),
            Param::required("devices", ParamKind::Any),
            Param::optional("detach", ParamKind::Bool, DefaultValue::Bool(false)),
        ],
        make_replicas,
    )
    .details(
        "The network must be on the first device; the copy there shares its memory. With `detach` the copies are \
         no part of the graph.",
    )
    .example(
        "parallel::replicate(nn::Linear(2, 1).cuda(), [0, 1]).map(|r| r.weight.device.index)",
        "[0, 1]",
    ),
    &row(
        "broadcast",
        "Copies of a tensor, one on each GPU.",
        &[Param::required("tensor", ParamKind::Tensor), Param::required("devices", ParamKind::Any)],
        |a| {
            let copies = comm::broadcast(a.tensor(0)?, &accelerators(a.get(1))?)?;
            Ok(Value::List(copies.into_iter().map(Value::Tensor).collect()))
        },
    )
    .details("On the tensor's own device it is the tensor itself.")
    .example("parallel::broadcast(ones([2]), [0, 1]).map(|x| x.device.index)", "[0, 1]"),
    &row(
        "reduce_add",
        "The sum of tensors of several GPUs, on one of their devices.",
        &[
            Param::required("inputs", ParamKind::Tensors),
            Param::optional("destination", ParamKind::Any, DefaultValue::None),
        ],
        |a| comm::reduce_add(&a.tensors(0)?, target(a.get(1))?).map(Value::Tensor),
    )
    .details("Without a destination it is the current GPU.")
    .example(
        "parallel::reduce_add(parallel::broadcast(tensor([1, 2]), [0, 1]))",
        "tensor([2, 4], device='cuda:0')",
    ),
    &OpDef::call(
        "DataParallel",
        Family::Parallel,
        "Runs a network on several GPUs at once, each on its part of the batch.",
        &[
            Param::required("module", ParamKind::Any),
            Param::optional("device_ids", ParamKind::Any, DefaultValue::None),
            Param::optional("output_device", ParamKind::Any, DefaultValue::None),
            DIM,
        ],
        make_data_parallel,
    )
    .forms(NN)
    .gradient(Gradient::NoGrad("it makes a module; what the module computes has one"))
    .details(
        "Each forward call scatters the inputs along `dim`, copies the parameters to every GPU, runs the copies, \
         and gathers the outputs on `output_device`. Gradients add up in the network's own parameters, which must \
         be on the first of `device_ids`. Without GPUs the network runs as it is.",
    )
    .example(
        "nn::DataParallel(nn::Linear(8, 2).cuda())",
        "DataParallel(\n  (module): Linear(in_features=8, out_features=2, bias=True)\n)",
    ),
];
