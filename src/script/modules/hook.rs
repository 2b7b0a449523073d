//! What hooks and blocks of a script's are made of.

use rhai::Dynamic;

use crate::base::Result;
use crate::script::call::Outcome;
use crate::script::syntax::ContextManager;
use crate::script::value::Callback;

/// A closure that sees gradients.
pub(crate) struct Hook(pub Callback);

/// A value that `with` enters.
pub(crate) fn context<G: std::any::Any>(
    name: &'static str,
    enter: impl Fn() -> Result<G> + Send + Sync + 'static,
) -> Outcome {
    Ok(Dynamic::from(ContextManager::new(name, enter)))
}
