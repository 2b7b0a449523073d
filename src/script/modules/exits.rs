//! How a script ends its run.

use std::sync::Arc;

use rhai::{Dynamic, Engine, EvalAltResult, INT, Position};

use crate::script::host::Host;

/// `exit(3)` gives 3, and has the process of `tensorlab run` end with it, as Python's `sys.exit(3)` does.
pub(super) fn register(engine: &mut Engine, host: &Arc<dyn Host>) {
    let host = Arc::clone(host);
    engine.register_fn("exit", move |status: INT| -> Result<Dynamic, Box<EvalAltResult>> {
        // As the system has it.
        host.ends_with(status.rem_euclid(256) as u8);
        Err(EvalAltResult::Exit(status.into(), Position::NONE).into())
    });
}
