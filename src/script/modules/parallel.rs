//! `parallel::` and the call of `nn::DataParallel`.

use std::cell::RefCell;
use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, Module, NativeCallContext};

use crate::base::Error;
use crate::device::Shared;
use crate::nn;
use crate::op::{Form, Value};
use crate::parallel::DataParallel;
use crate::script::bind::register_functional;
use crate::script::fault::raise;
use crate::script::value::{from_dynamic, to_dynamic};

use super::RhaiResult;

pub const NAMES: &[&str] = &["parallel"];

/// Registers the rows: `nn::DataParallel` in `nn`, the others in a module of their own.
pub fn register(engine: &mut Engine, nn: &mut Module, shared: &Arc<Shared>) {
    let mut module = Module::new();
    for def in crate::parallel::table() {
        match def.forms {
            [Form::Of("nn")] => register_functional(nn, def, shared),
            _ => register_functional(&mut module, def, shared),
        }
    }
    engine.register_static_module("parallel", module.into());
}

/// Calls a [`DataParallel`] module: inputs and outputs may be arrays and maps of tensors.
pub fn call(
    context: &NativeCallContext,
    parallel: &DataParallel,
    module: &nn::Module,
    inputs: &[&Dynamic],
) -> RhaiResult<Dynamic> {
    let inputs = inputs.iter().map(|d| from_dynamic(d)).collect::<Result<Vec<_>, _>>().map_err(raise)?;
    let failed: RefCell<Option<Box<EvalAltResult>>> = RefCell::default();
    let mut run = |replica: &nn::Module, part: Vec<Value>| {
        let part: Vec<Dynamic> = part.into_iter().map(to_dynamic).collect();
        let output = super::nn::call(context, replica, &part.iter().collect::<Vec<_>>());
        match output {
            Ok(value) => from_dynamic(&value),
            Err(error) => Err(engine_error(error, &failed)),
        }
    };
    let output = parallel.forward(module, inputs, &mut run);
    output.map(to_dynamic).map_err(|e| failed.take().unwrap_or_else(|| raise(e)))
}

/// The engine's own error, or a stand-in for one that the script raised and that is kept with its place.
fn engine_error(error: Box<EvalAltResult>, failed: &RefCell<Option<Box<EvalAltResult>>>) -> Error {
    if let EvalAltResult::ErrorRuntime(value, position) = &*error
        && position.is_none()
        && let Some(inner) = value.read_lock::<Error>()
    {
        return inner.clone();
    }
    let text = error.to_string();
    failed.replace(Some(error));
    Error::runtime(text)
}
