//! A network on every rank, whose gradients are averaged: `nn::parallel::DistributedDataParallel`.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use crate::base::{Error, Result, Scalar};
use crate::device::Context;
use crate::nn::{Call, Layer, Module, Parts, Role};
use crate::op::core::convert::to_device;
use crate::op::{Copies, Value};
use crate::tensor::Tensor;
use crate::tensor::autograd::grad_enabled;

use super::buckets::{BucketLimits, Reducer};
use super::calls::PendingWork;
use super::group::{CollectiveKind, RankPart, current};

/// DdpOptions of [`DistributedDataParallel::wrap`].
pub struct DdpOptions {
    pub bucket_cap_mb: Option<usize>,
    pub find_unused_parameters: bool,
}

/// Runs a module, and averages its gradients over the ranks during the backward pass.
pub struct DistributedDataParallel {
    reducer: Arc<Reducer>,
    /// Where inputs are moved to.
    device: Option<Arc<Context>>,
    syncing: Arc<AtomicBool>,
}

/// While it lives, gradients stay with their ranks.
#[must_use = "gradients are averaged again when it is dropped"]
pub struct NoSync {
    syncing: Arc<AtomicBool>,
    before: bool,
}

impl Drop for NoSync {
    fn drop(&mut self) {
        self.syncing.store(self.before, Ordering::Relaxed);
    }
}

impl DistributedDataParallel {
    /// Wraps the calling rank's module, which becomes that of rank 0. `devices` is the GPU that the module is on.
    ///
    /// # Errors
    /// There is no group; the module has nothing to train; it is not on the one device that is given.
    pub fn wrap(module: &Module, devices: Option<Vec<Arc<Context>>>, options: &DdpOptions) -> Result<Module> {
        let group = current()?;
        let params: Vec<Tensor> = module.parameters().into_iter().filter(Tensor::requires_grad).collect();
        if params.is_empty() {
            return Err(Error::runtime(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.",
            ));
        }
        let device = devices.map(|devices| only(module, devices)).transpose()?;
        let state = state(module);
        PendingWork::begin(
            Arc::clone(&group),
            RankPart::new(CollectiveKind::Broadcast { src: 0 }, state, Vec::new()),
        )?
        .wait()?;
        let limits = BucketLimits::of(options.bucket_cap_mb);
        let reducer = Arc::new(Reducer::new(group, params.clone(), limits, options.find_unused_parameters)?);
        for (at, param) in params.iter().enumerate() {
            let weak: Weak<Reducer> = Arc::downgrade(&reducer);
            param.after_accumulation(Arc::new(move || {
                weak.upgrade().map_or(Ok(()), |reducer| reducer.ready(at))
            }))?;
        }
        let layer = DistributedDataParallel { reducer, device, syncing: Arc::new(AtomicBool::new(true)) };
        Module::new(layer, Parts::new().child("module", module.clone()))
    }

    /// The layer of a module that [`wrap`](DistributedDataParallel::wrap) made.
    pub fn of(module: &Module) -> Option<&DistributedDataParallel> {
        module.layer().as_any()?.downcast_ref()
    }

    /// Leaves gradients where they are until what is given is dropped.
    pub fn no_sync(&self) -> NoSync {
        NoSync { before: self.syncing.swap(false, Ordering::Relaxed), syncing: Arc::clone(&self.syncing) }
    }

    /// Runs `run` on the module and the inputs, which come to lie on its GPU.
    ///
    /// # Errors
    /// What `run` raises; the last backward pass left parameters without a gradient.
    pub fn forward<T>(
        &self,
        of: &Module,
        inputs: Vec<Value>,
        run: impl FnOnce(&Module, Vec<Value>) -> Result<T>,
        tensors: impl FnOnce(&T) -> Vec<Tensor>,
    ) -> Result<T> {
        let module = of.nth(0)?;
        let syncing = self.syncing.load(Ordering::Relaxed);
        if syncing && grad_enabled() {
            self.reducer.before_forward()?;
        }
        let buffers: Vec<Tensor> = module.named(Role::Buffer).into_iter().map(|(_, t)| t).collect();
        if syncing && !buffers.is_empty() {
            let part = RankPart::new(CollectiveKind::Broadcast { src: 0 }, buffers, Vec::new());
            PendingWork::begin(Arc::clone(self.reducer.group()), part)?.wait()?;
        }
        let moved = |value: Value| match (value, &self.device) {
            (Value::Tensor(t), Some(context)) => to_device(&t, context.device, true).map(Value::Tensor),
            (other, _) => Ok(other),
        };
        let output = run(&module, inputs.into_iter().map(moved).collect::<Result<_>>()?)?;
        if syncing && grad_enabled() {
            let all = tensors(&output);
            self.reducer.expect(&all.iter().collect::<Vec<_>>())?;
        }
        Ok(output)
    }
}

/// The one GPU that is given, where the whole module is.
fn only(module: &Module, devices: Vec<Arc<Context>>) -> Result<Arc<Context>> {
    let mut devices = devices.into_iter();
    let (Some(device), None) = (devices.next(), devices.next()) else {
        return Err(Error::value("device_ids can only be None or contain a single element."));
    };
    if let Some((name, t)) =
        module.named(Role::Parameter).into_iter().find(|(_, t)| t.device() != device.device)
    {
        let text = format!(
            "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device \
             GPU modules or CPU modules, but got device_ids [{}], output_device None, and module parameters {{{}}}.",
            device.device.index(),
            t.device()
        );
        let hint =
            format!("'{name}' is on {}; `net.to(\"{}\")` moves the network", t.device(), device.device);
        return Err(Error::value(text).with_hint(hint));
    }
    Ok(device)
}

/// Parameters and buffers.
fn state(module: &Module) -> Vec<Tensor> {
    let all = module.named(Role::Parameter).into_iter().chain(module.named(Role::Buffer));
    all.map(|(_, t)| t).collect()
}

impl Layer for DistributedDataParallel {
    fn name(&self) -> &str {
        "DistributedDataParallel"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let inputs = call.inputs.iter().map(|t| Value::Tensor((*t).clone())).collect();
        let run = |module: &Module, inputs: Vec<Value>| {
            let tensors = inputs.iter().filter_map(|v| if let Value::Tensor(t) = v { Some(t) } else { None });
            module.forward(&tensors.collect::<Vec<_>>(), call.caller)
        };
        self.forward(call.module, inputs, run, |t| vec![t.clone()])
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let id = |context: &Arc<Context>| Value::Scalar(Scalar::Int(context.device.index() as i64));
        (name == "device_ids")
            .then(|| self.device.as_ref().map_or(Value::None, |context| Value::List(vec![id(context)])))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn copied(&self, _: &mut dyn Copies) -> Result<Option<Arc<dyn Layer>>> {
        Err(Error::type_error("there is no copy of a DistributedDataParallel: it belongs to its rank"))
    }
}
