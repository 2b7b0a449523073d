//! Constants of earlier code, as `global::NAME` in functions.
//!
//! Rhai knows there the constants that the same evaluation has defined; a cell's function is called from others as well.
//! A statement put before the others gives it those of the scope.

use std::collections::BTreeMap;

use rhai::{AST, Dynamic, Engine, EvalContext, Expr, Expression, Locked, Position, Scope, Shared, Stmt};

use crate::script::custom::custom;

/// The key of the statement: no text of a script is read as this token.
const KNOWN: &str = "\u{7}";

/// Teaches the engine to evaluate what [`known`] makes.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_custom_syntax_with_state_raw(
        KNOWN,
        |_, _, _| Ok(None),
        false,
        |context: &mut EvalContext, _: &[Expression], _: &Dynamic| {
            let constants = context.scope().iter_raw().filter(|(_, constant, _)| *constant);
            // Later ones of a name take the place of earlier ones.
            let all: BTreeMap<_, _> =
                constants.map(|(name, _, value)| (name.into(), value.flatten_clone())).collect();
            context.global_runtime_state_mut().constants = Some(Shared::new(Locked::new(all)));
            Ok(Dynamic::UNIT)
        },
    );
}

/// The program, with the statement before the others.
pub(super) fn before(program: &AST, scope: &Scope<'_>) -> AST {
    let statements: Vec<Stmt> = known(scope).into_iter().chain(program.statements().to_vec()).collect();
    AST::new(statements, Shared::clone(program.shared_lib()))
}

/// The statement, where the scope has constants.
pub(super) fn known(scope: &Scope<'_>) -> Option<Stmt> {
    scope.iter_raw().any(|(_, constant, _)| constant).then(|| {
        Stmt::Expr(Box::new(Expr::Custom(Box::new(custom(KNOWN, [], Dynamic::UNIT)), Position::NONE)))
    })
}
