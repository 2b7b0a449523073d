//! What `catch (e)` binds where Rhai itself raised the error: the same kind, message and hint that are told of it where
//! nobody catches it.

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, Position, Stmt, StmtBlock};

use crate::base::Error;
use crate::base::error::kind::Kind;

use super::arity::Takes;
use super::custom::custom;
use super::fault::{Fault, KnownNames, RhaiResult, Vocabulary, from_rhai};

/// The key of the block of a `try`: no text of a script is read as this token.
const TRIED: &str = "\u{18}";

/// Teaches the engine to evaluate what [`tried`] makes.
pub(super) fn register(engine: &mut Engine, words: Vocabulary) {
    engine.register_custom_syntax_with_state_raw(
        TRIED,
        |_, _, _| Ok(None),
        true,
        move |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| match inputs {
            [block] => evaluate(context, block, words),
            _ => Ok(Dynamic::UNIT),
        },
    );
}

#[allow(deprecated, reason = "marked so only because its form may change between versions, which are pinned")]
fn evaluate(context: &mut EvalContext, block: &Expression, words: Vocabulary) -> RhaiResult<Dynamic> {
    context.eval_expression_tree_raw(block, false).map_err(|mut error| {
        let variables: Vec<String> = context.scope().iter_raw().map(|(name, ..)| name.to_owned()).collect();
        reworded(&mut error, &variables, words);
        error
    })
}

/// The statements of a `try` so that an error of Rhai's leaves them as one of ours.
pub(super) fn tried(statements: Vec<Stmt>) -> Vec<Stmt> {
    let Some(first) = statements.first() else { return statements };
    let (from, to) = (first.position(), statements.last().map_or(Position::NONE, Stmt::position));
    let block = Expr::Stmt(Box::new(StmtBlock::new(statements, from, to)));
    vec![Stmt::Expr(Box::new(Expr::Custom(Box::new(custom(TRIED, [block], Dynamic::UNIT)), from)))]
}

/// Where it happened stays what it is.
fn reworded(error: &mut EvalAltResult, variables: &[String], words: Vocabulary) {
    match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) | EvalAltResult::ErrorInModule(_, inner, _) => {
            reworded(inner, variables, words);
        }
        EvalAltResult::ErrorRuntime(..) => {}
        other if other.is_catchable() && !other.is_pseudo_error() => {
            let position = other.position();
            *other = EvalAltResult::ErrorRuntime(
                Dynamic::from(of_rhai(other, variables, words, &|_| None)),
                position,
            );
        }
        _ => {}
    }
}

/// An error that Rhai itself raises as one of ours. `variables` could be meant by a misspelt name.
pub(super) fn of_rhai(
    error: &EvalAltResult,
    variables: &[String],
    words: Vocabulary,
    takes: &dyn Fn(&str) -> Option<Takes>,
) -> Error {
    let mut names = (words.names)();
    names.extend(variables.iter().map(String::as_str));
    let known = KnownNames { names: &names, members: words.members, written: words.written, takes };
    let Fault { kind, message, hint, .. } = from_rhai(error, &known);
    let error = Error::new(Kind::of_language(&kind).unwrap_or(Kind::RuntimeError), message);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
