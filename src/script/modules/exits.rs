//! How a script ends its run.

use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, Position};

use crate::script::host::Host;

/// `exit(3)` gives 3, and has the process of `tensorlab run` end with it, as Python's `sys.exit(3)` does. What is no number
/// is told of a failure.
pub(super) fn register(engine: &mut Engine, host: &Arc<dyn Host>) {
    let host = Arc::clone(host);
    engine.register_fn("exit", move |value: Dynamic| -> Result<Dynamic, Box<EvalAltResult>> {
        let value = value.flatten();
        let number = value.as_int().or_else(|_| value.as_bool().map(i64::from));
        match number {
            Ok(status) => host.ends_with(Ok(status)),
            Err(_) if value.is_unit() => {}
            Err(_) => host.ends_with(Err(value.to_string())),
        }
        Err(EvalAltResult::Exit(value, Position::NONE).into())
    });
}

/// What `exit` has ended within a function that another one calls, such as that of `map`.
///
/// # Errors
/// Another one.
pub(crate) fn ended(error: Box<EvalAltResult>) -> Result<Dynamic, Box<EvalAltResult>> {
    let mut inner = &*error;
    while let EvalAltResult::ErrorInFunctionCall(.., within, _) = inner {
        inner = within;
    }
    match inner {
        EvalAltResult::Exit(value, _) => Ok(value.clone()),
        _ => Err(error),
    }
}
