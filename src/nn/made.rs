//! What constructors of modules share.

use crate::base::{DType, Result};
use crate::device::Machine;
use crate::nn::module::Module;
use crate::op::params::{Maybe, kind, params};
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, Value};

params! {
    /// What the tensors of a new module are: the last parameters of most constructors.
    pub(crate) group Made {
        device: Maybe<kind::Device>, "where the module's tensors are made; without it on the default device";
        dtype: Maybe<kind::DType>, "what the module's tensors hold; without it float32";
    }
}

impl Made<'_> {
    pub(crate) fn dtype(&self) -> DType {
        self.dtype.unwrap_or(DType::Float32)
    }

    /// A new module in its place, as a script gets it.
    pub(crate) fn place(&self, module: Module) -> Result<Value> {
        module.placed(self.device).map(Module::into_value)
    }
}

/// Runs a constructor so that its tensors are made where its option `device` says, by that device's generator.
///
/// # Errors
/// Those of the constructor, and of a device that is not there.
pub(crate) fn construct(args: &Args, run: fn(&Args) -> Result<Value>) -> Result<Value> {
    let at = args.def.params.iter().position(|param| param.name == "device");
    let Some(device) = at.and_then(|at| args.device(at)) else { return run(args) };
    let machine = Machine::current();
    machine.context(machine.resolve(device))?;
    let _there = machine.with_default_device(device);
    run(args)
}

/// A constructor's row.
pub(crate) const fn constructor(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Module, summary, params, run)
        .forms(NN)
        .gradient(Gradient::NoGrad("it makes a module; what the module computes has one"))
}

/// `nn::name(…)`
pub(crate) const NN: &[Form] = &[Form::Of("nn")];
