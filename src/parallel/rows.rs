//! What scripts call: `parallel::…` and `nn::DataParallel`.

use std::sync::Arc;

use crate::base::{Device, Error, Result};
use crate::device::{Context, Machine};
use crate::nn::Module;
use crate::op::def::DefaultValue;
use crate::op::params::{by_name, kind, kinds, params};
use crate::op::{Args, Family, Form, Gradient, MapValue, OpDef, Param, Value};
use crate::tensor::autograd::grad_enabled;

use super::data_parallel::{DataParallel, replicate};
use super::{accelerators, comm, device_of, spread};

const PARALLEL: &[Form] = &[Form::Of("parallel")];
const NN: &[Form] = &[Form::Of("nn")];

kinds! {
    GpuList(Any) => Vec<Arc<Context>>, |args: &Args, at| accelerators(args.get(at));
    NetworkKind(Any) => Module, |args: &Args, at| module(args.get(at), args.def.name);
    /// The device that a function puts its result on: the current GPU where none is named.
    Destination(Any) => Device, |args: &Args, at| match args.get(at) {
        Value::None => {
            let machine = Machine::current();
            machine.context(Device::Cuda(machine.current_gpu() as u16)).map(|c| c.device)
        }
        given => device_of(given),
    };
    /// A device or several, or (); a map in their place has a key that is no option's name.
    DevicesOrNone(Any) => &'a Value, |args: &'a Args, at| refuse_map(args, at).map(|()| args.get(at));
}

params! {
    ScatterParams {
        inputs: kind::Any, "what is cut: a tensor, or arrays and maps of them";
        target_gpus: GpuList, "the GPUs that get a chunk each, such as [0, 1]";
        dim: kind::Dim = 0, "the dimension along which tensors are cut";
    }
}

params! {
    GatherParams {
        outputs: kind::Any, "what is joined: an array with an entry from each GPU";
        target_device: kind::Any, "where the result comes to lie";
        dim: kind::Dim = 0, "the dimension along which tensors are joined";
    }
}

params! {
    ReplicateParams {
        network: NetworkKind, "the module that is copied";
        devices: GpuList, "the GPUs that get a copy each, such as [0, 1]";
        detach: kind::Bool = false, "whether the copies are no part of the graph";
    }
}

params! {
    BroadcastParams {
        tensor: kind::Tensor, "what is copied";
        devices: GpuList, "the GPUs that get a copy each, such as [0, 1]";
    }
}

params! {
    ReduceAddParams {
        inputs: kind::Tensors, "what is summed up, from several GPUs";
        destination: Destination => DefaultValue::None, "where the sum comes to lie; without it on the current GPU";
    }
}

params! {
    DataParallelParams {
        module: NetworkKind, "the network that runs on every GPU";
        device_ids: DevicesOrNone => DefaultValue::None, "the GPUs that take part; without it all of them";
        output_device: DevicesOrNone => DefaultValue::None, "where the outputs are joined; without it on the first of them";
        dim: kind::Dim = 0, "the dimension along which inputs are cut: that of the batch";
    }
}

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

/// A map in the place of a device has a key that is no option's name.
fn refuse_map(a: &Args, i: usize) -> Result<()> {
    let Value::Object(object) = a.get(i) else { return Ok(()) };
    let Some(map) = object.get::<MapValue>() else { return Ok(()) };
    let known = || a.def.params.iter().skip(1).map(|p| p.name);
    let wrong = map.iter().map(|(name, _)| name.as_str()).find(|name| known().all(|k| k != *name));
    let wrong = wrong.unwrap_or_default();
    let error = Error::type_error(format!("{}() got an unknown option '{wrong}'", a.def.name));
    Err(error
        .with_near(wrong, known())
        .with_hint(format!("options are {}", known().collect::<Vec<_>>().join(", "))))
}

/// The rows of this layer.
pub static ROWS: &[OpDef] = &[
    row(
        "scatter",
        "Cuts tensors into one chunk per GPU and moves each to its own.",
        ScatterParams::LIST,
        by_name!(ScatterParams, |a| spread::scatter(a.inputs, &a.target_gpus, a.dim).map(Value::List)),
    )
    .details(
        "Arrays and maps keep their form, each with its part of every tensor; what is no tensor goes to all. A \
         batch that does not divide leaves the last chunk smaller, or makes fewer chunks than there are GPUs.",
    )
    .shapes("(…, n, …) -> pieces (…, ⌈n / GPUs⌉, …), the last what is left")
    .errors(&[
        "DeviceError: there is no such GPU",
        "AssertionError: an ordinal is negative",
        "RuntimeError: the tensor has no dimension, or there are no devices",
    ])
    .example("parallel::scatter(arange(5), [0, 1]).map(|x| x.shape)", "[[3], [2]]"),
    row(
        "gather",
        "Joins tensors of several GPUs along a dimension on one device.",
        GatherParams::LIST,
        by_name!(GatherParams, |a| match a.outputs {
            Value::List(items) => spread::gather(items, device_of(a.target_device)?, a.dim),
            other => Err(Error::type_error(format!("gather() takes an array, not {}", other.describe()))),
        }),
    )
    .details("Arrays and maps are joined entry by entry; numbers become a vector. The target may be \"cpu\".")
    .shapes("(…, n_1, …), (…, n_2, …), … -> (…, n_1 + n_2 + …, …); k of () -> (k)")
    .errors(&["AssertionError: a tensor is on the CPU", "DeviceError: there is no such GPU"])
    .example("parallel::gather(parallel::scatter(arange(4), [0, 1]), 1)", "tensor([0, 1, 2, 3], device='cuda:1')"),
    row(
        "replicate",
        "Copies of a network, one on each GPU; their gradients reach the network.",
        ReplicateParams::LIST,
        by_name!(ReplicateParams, |a| {
            let replicas = replicate(&a.network, &a.devices, a.detach || !grad_enabled())?;
            Ok(Value::List(replicas.into_iter().map(Module::into_value).collect()))
        }),
    )
    .details(
        "The network must be on the first device; the copy there shares its memory. With `detach` the copies are \
         no part of the graph.",
    )
    .errors(&[
        "DeviceError: there is no such GPU",
        "AssertionError: an ordinal is negative",
        "AssertionError: the module lies on the CPU",
    ])
    .example(
        "parallel::replicate(nn::Linear(2, 1).cuda(), [0, 1]).map(|r| r.weight.device.index)",
        "[0, 1]",
    ),
    row(
        "broadcast",
        "Copies of a tensor, one on each GPU.",
        BroadcastParams::LIST,
        by_name!(BroadcastParams, |a| {
            let copies = comm::broadcast(a.tensor, &a.devices)?;
            Ok(Value::List(copies.into_iter().map(Value::Tensor).collect()))
        }),
    )
    .torch("torch.nn.parallel.comm.broadcast")
    .details("On the tensor's own device it is the tensor itself.")
    .shapes("any -> the same on each device")
    .errors(&["DeviceError: there is no such GPU", "AssertionError: an ordinal is negative"])
    .example("parallel::broadcast(ones([2]), [0, 1]).map(|x| x.device.index)", "[0, 1]"),
    row(
        "reduce_add",
        "The sum of tensors of several GPUs, on one of their devices.",
        ReduceAddParams::LIST,
        by_name!(ReduceAddParams, |a| comm::reduce_add(&a.inputs, a.destination).map(Value::Tensor)),
    )
    .torch("torch.nn.parallel.comm.reduce_add")
    .details("Without a destination it is the current GPU.")
    .shapes("one shape for all -> the same")
    .across()
    .errors(&[
        "ValueError: there are no tensors, or their shapes differ",
        "AssertionError: a tensor lies on the CPU",
    ])
    .example(
        "parallel::reduce_add(parallel::broadcast(tensor([1, 2]), [0, 1]))",
        "tensor([2, 4], device='cuda:0')",
    ),
    OpDef::call(
        "DataParallel",
        Family::Parallel,
        "Runs a network on several GPUs at once, each on its part of the batch.",
        DataParallelParams::LIST,
        by_name!(DataParallelParams, |a| {
            DataParallel::wrap(&a.module, a.device_ids, a.output_device, a.dim).map(Module::into_value)
        }),
    )
    .forms(NN)
    .errors(&[
        "AssertionError: `device_ids` names a GPU that is not there",
        "IndexError: `device_ids` is empty",
        "RuntimeError: in a call, a parameter lies elsewhere than on the first of `device_ids`",
    ])
    .gradient(Gradient::NoGrad("it makes a module; what the module computes has one"))
    .details(
        "Each forward call scatters the inputs along `dim`, copies the parameters to every GPU, runs the copies, \
         and gathers the outputs on `output_device`. Gradients add up in the network's own parameters, which must \
         be on the first of `device_ids`. Without GPUs the network runs as it is.",
    )
    .shapes("what the network takes and gives")
    .example(
        "nn::DataParallel(nn::Linear(8, 2).cuda())",
        "DataParallel(\n  (module): Linear(in_features=8, out_features=2, bias=True)\n)",
    ),
];
