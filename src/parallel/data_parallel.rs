//! A network on several devices at once: `nn::DataParallel`.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::base::{Cause, DType, Device, DeviceCause, Error, Kind, Result, Scalar};
use crate::device::{Context, Machine};
use crate::nn::{Call, Layer, Module, Parts, Role};
use crate::op::Value;
use crate::tensor::Tensor;
use crate::tensor::autograd::grad_enabled;

use super::comm::broadcast_first;
use super::{accelerators, assertion, device_of, on_device, spread};

/// Runs a module's replicas side by side, each on its part of the batch.
pub struct DataParallel {
    /// Empty on a machine without GPUs: the module then runs as it is.
    devices: Vec<Arc<Context>>,
    output: Device,
    dim: i64,
}

/// Runs one replica on its inputs.
pub(crate) type RunReplica<'a> = dyn FnMut(&Module, Vec<Value>) -> Result<Value> + 'a;

impl DataParallel {
    /// Wraps a module. Without `device_ids` all GPUs take part; without `output_device` the outputs come together
    /// on the first of them.
    ///
    /// # Errors
    /// `AssertionError` for an ordinal that there is no device for.
    pub fn wrap(module: &Module, device_ids: &Value, output_device: &Value, dim: i64) -> Result<Module> {
        let machine = Machine::current();
        let devices = match (device_ids, machine.gpus()) {
            (_, []) => Vec::new(),
            (Value::None, all) => all.to_vec(),
            (given, _) => accelerators(given).map_err(unknown_id)?,
        };
        let parts = Parts::new().child("module", module.clone());
        let Some(first) = devices.first() else {
            if !machine.gpus().is_empty() {
                return Err(Error::new(Kind::IndexError, "list index out of range")
                    .with_hint("device_ids is an array of at least one GPU, such as [0, 1]"));
            }
            return Module::new(DataParallel { devices, output: Device::Cpu, dim }, parts);
        };
        let output = match output_device {
            Value::None => first.device,
            given => device_of(given)?,
        };
        machine.context(output).map_err(unknown_id)?;
        if devices.len() == 1 {
            module.to(Some(first.device), None, None)?;
        }
        Module::new(DataParallel { devices, output, dim }, parts)
    }

    /// The layer of a module that [`wrap`](DataParallel::wrap) made.
    pub fn of(module: &Module) -> Option<&DataParallel> {
        module.layer().as_any()?.downcast_ref()
    }

    /// Scatters the inputs, runs each replica on its part with its device as the current one, and gathers what
    /// they give.
    ///
    /// # Errors
    /// `RuntimeError` where a parameter or buffer is not on the first device, and what a replica raises, with
    /// its number.
    pub fn forward(&self, of: &Module, inputs: Vec<Value>, run: &mut RunReplica) -> Result<Value> {
        let module = of.nth(0)?;
        let Some(first) = self.devices.first() else { return run(&module, inputs) };
        self.check_place(&module, first.device)?;
        let parts = match inputs.is_empty() {
            true => vec![Vec::new()],
            false => self.scattered(inputs)?,
        };
        if self.devices.len() == 1 {
            let only = parts.into_iter().next().unwrap_or_default();
            return on_device(first, || run(&module, only));
        }
        let used = self.devices.get(..parts.len()).unwrap_or(&self.devices);
        let replicas = replicate(&module, used, !grad_enabled())?;
        let mut outputs = Vec::new();
        for (i, ((replica, context), part)) in replicas.iter().zip(used).zip(parts).enumerate() {
            let output = on_device(context, || run(replica, part));
            outputs.push(output.map_err(|error| caught(error, i, context.device))?);
        }
        spread::gather(&outputs, self.output, self.dim)
    }

    fn scattered(&self, inputs: Vec<Value>) -> Result<Vec<Vec<Value>>> {
        let parts = spread::scatter(&Value::List(inputs), &self.devices, self.dim)?;
        let list = |part| if let Value::List(items) = part { items } else { vec![part] };
        Ok(parts.into_iter().map(list).collect())
    }

    fn check_place(&self, module: &Module, first: Device) -> Result<()> {
        let all = module.named(Role::Parameter).into_iter().chain(module.named(Role::Buffer));
        for (name, t) in all {
            if t.device() != first {
                let text = format!(
                    "module must have its parameters and buffers on device {first} (device_ids[0]) but found one of \
                     them on device: {}",
                    t.device()
                );
                let hint = format!("it is '{name}'; `net.to(\"{first}\")` moves all of them");
                return Err(Error::runtime(text).with_hint(hint));
            }
        }
        Ok(())
    }
}

impl Layer for DataParallel {
    fn name(&self) -> &str {
        "DataParallel"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let inputs = call.inputs.iter().map(|t| Value::Tensor((*t).clone())).collect();
        let mut run = |module: &Module, part: Vec<Value>| {
            let tensors = part.iter().filter_map(|v| if let Value::Tensor(t) = v { Some(t) } else { None });
            module.forward(&tensors.collect::<Vec<_>>(), call.caller).map(Value::Tensor)
        };
        match self.forward(call.module, inputs, &mut run)? {
            Value::Tensor(t) => Ok(t),
            other => {
                Err(Error::type_error(format!("a module gave {} instead of a Tensor", other.describe())))
            }
        }
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let number = |device: Device| Value::Scalar(Scalar::Int(device.index() as i64));
        match name {
            "device_ids" => Some(Value::List(self.devices.iter().map(|c| number(c.device)).collect())),
            "output_device" if self.output.is_cuda() => Some(number(self.output)),
            "output_device" => Some(Value::Device(self.output.into())),
            "dim" => Some(Value::Scalar(Scalar::Int(self.dim))),
            _ => None,
        }
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// Copies of a network, one on each device, as `torch.nn.parallel.replicate`.
///
/// Parameters of the copies are part of the graph unless `detach`; buffers are not. On the first device, where
/// the network must be, the copies share its memory, so that running statistics are kept.
///
/// # Errors
/// `AssertionError` for a network on the CPU, `RuntimeError` for one on another device.
pub fn replicate(network: &Module, devices: &[Arc<Context>], detach: bool) -> Result<Vec<Module>> {
    let Some(first) = devices.first() else { return Ok(Vec::new()) };
    let (mut tracked, mut others) = (Vec::new(), Vec::new());
    for role in [Role::Parameter, Role::Buffer] {
        for (name, t) in network.named(role) {
            check_first(&name, &t, first.device)?;
            let is_tracked = t.requires_grad() && !detach;
            let all = if is_tracked { &mut tracked } else { &mut others };
            all.push((t.id(), if is_tracked { t } else { t.detach() }));
        }
    }
    let mut copies: HashMap<usize, Vec<Tensor>> = HashMap::new();
    for bucket in buckets(&tracked).into_iter().chain(buckets(&others)) {
        let (ids, tensors): (Vec<usize>, Vec<Tensor>) = bucket.into_iter().unzip();
        copies.extend(ids.into_iter().zip(broadcast_first(&tensors, devices)?));
    }
    let replica = |i: usize| {
        network.replica(&mut |t| copies.get(&t.id()).and_then(|of| of.get(i)).unwrap_or(t).clone())
    };
    Ok((0..devices.len()).map(replica).collect())
}

/// Bytes of a bucket, as PyTorch's replicate() has them.
const BUCKET: usize = 10 << 20;

/// Tensors, each with a number of its own, that go over together: of one dtype, in their order, until they are a bucket.
fn buckets(tensors: &[(usize, Tensor)]) -> Vec<Vec<(usize, Tensor)>> {
    let mut all: Vec<Vec<_>> = Vec::new();
    let mut open: HashMap<DType, (usize, usize)> = HashMap::new();
    for (id, t) in tensors {
        let (at, bytes) =
            *open.get(&t.dtype()).filter(|(_, bytes)| *bytes < BUCKET).unwrap_or(&(all.len(), 0));
        if at == all.len() {
            all.push(Vec::new());
        }
        all.get_mut(at).into_iter().for_each(|bucket| bucket.push((*id, t.clone())));
        open.insert(t.dtype(), (at, bytes + t.nbytes()));
    }
    all
}

fn check_first(name: &str, t: &Tensor, first: Device) -> Result<()> {
    if t.device() == first {
        return Ok(());
    }
    let hint = format!("'{name}' is on {}; `net.to(\"{first}\")` moves the network", t.device());
    if !t.device().is_cuda() {
        return Err(assertion("Broadcast function not implemented for CPU tensors").with_hint(hint));
    }
    Err(Error::runtime(format!("All tensors must be on devices[0]: {}", first.index())).with_hint(hint))
}

/// The error of a replica, with which one it was.
fn caught(error: Error, replica: usize, device: Device) -> Error {
    match error.cause() {
        // These end everything, or keep what the front end reads of them.
        Cause::Interrupted
        | Cause::Timeout { .. }
        | Cause::Device(DeviceCause::OutOfMemory { .. })
        | Cause::Device(DeviceCause::DeviceFault { .. }) => error,
        _ => {
            let text = format!(
                "Caught {} in replica {replica} on device {}.\n{}",
                error.kind(),
                device.index(),
                error.message()
            );
            error.reworded(text)
        }
    }
}

/// Looking at a device that is not there is PyTorch's assertion.
fn unknown_id(error: Error) -> Error {
    match error.cause() {
        Cause::Device(DeviceCause::InvalidOrdinal { .. }) => DeviceCause::InvalidDeviceId.into(),
        _ => error,
    }
}
