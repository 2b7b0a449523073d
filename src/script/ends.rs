//! When a value ends that nobody holds.
//!
//! Rhai keeps the value of a statement until the next one has run, and a variable that another of its name hides until
//! the block ends; on a device, both are memory that PyTorch would have free. A statement that does nothing, put behind
//! one with a value, takes the value's place; behind the definition of a name that hides another, the other's value is
//! let go.

use rhai::{Dynamic, Engine, EvalContext, Expr, Expression, ImmutableString, Stmt};

use crate::script::custom::custom;

/// The key of what lets a hidden variable's value go: no text of a script is read as this token.
const HIDDEN: &str = "\u{3}";

/// Teaches the engine to evaluate what [`told`] makes.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        HIDDEN,
        |_, _, _| Ok(None),
        true,
        |context: &mut EvalContext, _: &[Expression], state: &Dynamic| {
            if let Some(name) = state.read_lock::<ImmutableString>() {
                let_go(context, &name);
            }
            Ok(Dynamic::UNIT)
        },
    );
}

/// The statements of a block with an end behind each value. `hidden` are the names around it that nothing can reach
/// once the block defines them.
pub(super) fn told(statements: Vec<Stmt>, hidden: &[&str]) -> Vec<Stmt> {
    let before = statements.len();
    let mut out = Vec::new();
    for (i, statement) in statements.into_iter().enumerate() {
        let position = statement.position();
        // The last value is the block's.
        let ends = i + 1 < before && has_value(&statement);
        let hides = match &statement {
            Stmt::Var(x, ..) if x.2.is_none() && hidden.contains(&x.0.name.as_str()) => {
                Some(x.0.name.clone())
            }
            _ => None,
        };
        out.push(statement);
        if ends {
            out.push(Stmt::Noop(position));
        }
        if let Some(name) = hides {
            let go = Expr::Custom(Box::new(custom(HIDDEN, [], name.into())), position);
            out.push(Stmt::Expr(Box::new(go)));
        }
    }
    out
}

fn has_value(statement: &Stmt) -> bool {
    matches!(
        statement,
        Stmt::Expr(_)
            | Stmt::FnCall(..)
            | Stmt::Block(_)
            | Stmt::If(..)
            | Stmt::Switch(..)
            | Stmt::While(..)
            | Stmt::Do(..)
            | Stmt::For(..)
            | Stmt::TryCatch(..)
    )
}

/// Empties the variable that the newest one, of the same name, hides. A closure that captured it keeps its value.
fn let_go(context: &mut EvalContext, name: &str) {
    let scope = context.scope_mut();
    let newest = scope.iter_raw().next().is_some_and(|(newest, ..)| newest == name);
    let Some(value) = scope.get_mut(name).filter(|_| newest).map(std::mem::take) else { return };
    scope.pop();
    if let Some(older) = scope.get_mut(name) {
        *older = Dynamic::UNIT;
    }
    scope.push_dynamic(name, value);
}
