//! `parallel::` and the call of `nn::DataParallel`.

use std::cell::RefCell;
use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult, NativeCallContext};

use crate::base::Error;
use crate::device::Shared;
use crate::nn;
use crate::op::{Form, Value};
use crate::parallel::DataParallel;
use crate::script::bind::register_functional;
use crate::script::call::Spaces;
use crate::script::fault::raise;
use crate::script::value::{from_dynamic, to_dynamic};

use super::RhaiResult;

/// Registers the rows: `nn::DataParallel` in `nn`, the others in a module of their own.
pub(crate) fn register(shared: &Arc<Shared>, spaces: &mut Spaces) {
    for def in crate::parallel::table() {
        for form in def.forms {
            if let Form::Of(space) = form {
                register_functional(spaces.of(space), def, shared);
            }
        }
    }
}

/// Calls a [`DataParallel`] module: inputs and outputs may be arrays and maps of tensors.
pub(super) fn call(
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
