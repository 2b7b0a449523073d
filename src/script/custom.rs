//! Expressions of our own in a parsed program.

use rhai::{CustomExpr, Dynamic, Expr};

/// The key of an expression whose line is noted before and behind it: no text of a script is read as this token.
pub(super) const NOTED_LINE: &str = "\u{6}";

/// An expression that the function registered under `key` evaluates.
pub(crate) fn custom(key: &str, inputs: impl IntoIterator<Item = Expr>, state: Dynamic) -> CustomExpr {
    CustomExpr {
        inputs: inputs.into_iter().collect(),
        tokens: [key.into()].into_iter().collect(),
        state,
        scope_may_be_changed: false,
        self_terminated: false,
    }
}
