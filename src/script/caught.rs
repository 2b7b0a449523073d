//! What `catch (e)` binds where Rhai itself raised the error: the same kind, message and hint that are told of it where
//! nobody catches it.

use std::cell::RefCell;

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, Position, Stmt, StmtBlock};

use crate::base::Error;
use crate::base::error::kind::Kind;

use super::arity::Takes;
use super::custom::custom;
use super::fault::{Fault, KnownNames, RhaiResult, Vocabulary, from_rhai};

/// The key of the block of a `try`: no text of a script is read as this token.
const TRIED: &str = "\u{18}";

/// The key of a whole `try` whose `catch` has a value, and that of the value.
const HANDLED: &str = "\u{18}handled";
const CAUGHT: &str = "\u{18}caught";

thread_local! {
    /// The value of the `catch` that has just run: the interpreter drops it.
    static VALUE: RefCell<Option<Dynamic>> = const { RefCell::new(None) };
}

/// Teaches the engine to evaluate what [`tried`] and [`valued`] make.
pub(super) fn register(engine: &mut Engine, words: Vocabulary) {
    engine.register_custom_syntax_with_state_raw(
        HANDLED,
        |_, _, _| Ok(None),
        true,
        |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| {
            let [whole] = inputs else { return Ok(Dynamic::UNIT) };
            VALUE.set(None);
            let value = context.eval_expression_tree(whole)?;
            Ok(VALUE.take().unwrap_or(value))
        },
    );
    engine.register_custom_syntax_with_state_raw(
        CAUGHT,
        |_, _, _| Ok(None),
        true,
        |context: &mut EvalContext, inputs: &[Expression], _: &Dynamic| {
            let [last] = inputs else { return Ok(Dynamic::UNIT) };
            let value = context.eval_expression_tree(last)?;
            VALUE.set(Some(value));
            Ok(Dynamic::UNIT)
        },
    );
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

/// Has a `try` whose error was caught give the value of its `catch`, as the interpreter gives that of the `try` alone.
pub(super) fn valued(statement: &mut Stmt) {
    let Stmt::TryCatch(flow, at) = statement else { return };
    let at = *at;
    let mut branch = std::mem::take(flow.branch.statements_mut()).into_vec();
    let gives = |last: &Stmt| {
        matches!(last, Stmt::Expr(_) | Stmt::FnCall(..) | Stmt::If(..) | Stmt::Switch(..) | Stmt::Block(_))
    };
    let last = branch.pop_if(|last| gives(last));
    if let Some(last) = last {
        let from = last.position();
        branch.push(whole(CAUGHT, last, from));
        *flow.branch.statements_mut() = branch.into();
        *statement = whole(HANDLED, std::mem::take(statement), at);
    } else {
        *flow.branch.statements_mut() = branch.into();
    }
}

/// A statement as the one input of an expression of ours.
fn whole(key: &str, statement: Stmt, at: Position) -> Stmt {
    let block = Expr::Stmt(Box::new(StmtBlock::new([statement], at, at)));
    Stmt::Expr(Box::new(Expr::Custom(Box::new(custom(key, [block], Dynamic::UNIT)), at)))
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
