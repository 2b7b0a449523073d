//! How a script ends its run.

use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, Position};

use crate::base::error::Exit;
use crate::device::shared::ASIDE;
use crate::distributed::spawned_rank;
use crate::script::host::Host;

/// `exit(3)` gives 3, and has the process of `tensorlab run` end with it, as Python's `sys.exit(3)` does. What is no number
/// is told of a failure.
pub(super) fn register(engine: &mut Engine, host: &Arc<dyn Host>) {
    let host = Arc::clone(host);
    engine.register_fn("exit", move |value: Dynamic| -> Result<Dynamic, Box<EvalAltResult>> {
        let value = value.flatten();
        // A rank or a worker ends as a process of its own would.
        if ASIDE.get() == 0 && spawned_rank().is_none() {
            host.ends_with(given(&value));
        }
        Err(EvalAltResult::Exit(value, Position::NONE).into())
    });
}

/// What it was given.
pub(crate) fn given(value: &Dynamic) -> Exit {
    match value.as_int().or_else(|_| value.as_bool().map(i64::from)) {
        Ok(status) => Exit::Status(status),
        Err(_) if value.is_unit() => Exit::Fine,
        // What is no value of the language's own is told by its type.
        Err(_) if value.is_variant() => {
            Exit::Text(value.type_name().rsplit("::").next().unwrap_or_default().to_owned())
        }
        Err(_) => Exit::Text(value.to_string()),
    }
}

/// It goes on ending what called the function.
pub(crate) fn again(exit: &Exit) -> Box<EvalAltResult> {
    let value = match exit {
        Exit::Fine => Dynamic::UNIT,
        Exit::Status(status) => (*status).into(),
        Exit::Text(text) => text.into(),
    };
    EvalAltResult::Exit(value, Position::NONE).into()
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
