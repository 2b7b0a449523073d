//! Expressions of our own in a parsed program.

use std::num::NonZeroUsize;

use rhai::{CustomExpr, Dynamic, EvalContext, Expr, Position};

/// The key of an expression whose line is noted before and behind it: no text of a script is read as this token.
pub(super) const NOTED_LINE: &str = "\u{6}";

/// The key of a method's call on a variable, whose last input is the call as it was written.
pub(super) const METHOD: &str = "\u{12}";

/// The key of a call on a variable that may hold an array, whose last input is the call as it was written.
pub(super) const LIST: &str = "\u{1b}";

/// The key of a chain in two parts, of which the first is evaluated before what the other is given.
pub(super) const RECEIVER_FIRST: &str = "\u{11}";

/// The key of a part in brackets, whose first input is what stands before them.
pub(super) const SLICED: &str = "\u{13}";

/// Where an expression begins, a method's call with its variable.
pub(super) fn start_of(expr: &Expr) -> Position {
    match expr {
        Expr::Custom(x, at) => match (x.tokens.first(), x.inputs.last()) {
            (Some(key), Some(whole)) if key == METHOD || key == LIST => start_of(whole),
            (Some(key), _) if key == RECEIVER_FIRST || key == SLICED => {
                x.inputs.first().map_or(*at, start_of)
            }
            _ => *at,
        },
        Expr::Dot(x, ..) | Expr::Index(x, ..) => start_of(&x.lhs),
        _ => expr.start_position(),
    }
}

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

/// The value of a variable where it lies.
#[inline(always)]
pub(super) fn lying<'s>(context: &'s EvalContext, expr: &Expr) -> Option<&'s Dynamic> {
    let (name, index) = match expr {
        Expr::Variable(v, Some(short), _) => (&v.1, usize::from(short.get())),
        Expr::Variable(v, None, _) => (&v.1, v.0.map_or(0, NonZeroUsize::get)),
        _ => return None,
    };
    // The parser counted from the newest entry where it could, and Rhai goes by its count as well.
    let counted = index > 0 && !context.global_runtime_state().always_search_scope;
    let scope = context.scope();
    if counted { Some(scope.iter_raw().nth(index - 1)?.2) } else { scope.get(name) }
}
