//! Whether code is whole: what a prompt asks before it runs a line.

use std::sync::OnceLock;

use rhai::{Engine, OptimizationLevel, ParseErrorType, Position};

use super::lexer::{Kind, Piece, read, unclosed};
use super::{rewrite, syntax};

/// Whether code can be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wholeness {
    Whole,
    /// More is to come: why.
    Incomplete(String),
    /// More would not help: the line, from 1, and what is wrong.
    Wrong(Option<usize>, String),
}

/// The engine that parses code which is not run.
fn parser() -> &'static Engine {
    static PARSER: OnceLock<Engine> = OnceLock::new();
    PARSER.get_or_init(|| {
        let mut engine = Engine::new_raw();
        engine.set_optimization_level(OptimizationLevel::None);
        engine.set_max_expr_depths(256, 128);
        syntax::register(&mut engine);
        engine.disable_symbol("eval");
        engine
    })
}

/// Whether some code is whole, as Rhai's parser has it. What is wrong however it goes on is not incomplete.
pub(crate) fn wholeness(code: &str) -> Wholeness {
    let (pieces, open) = read(code);
    // A text in double quotes goes on in the next line only after a backslash.
    let goes_on = || {
        let last = pieces.iter().rev().find(|piece| piece.kind == Kind::Text);
        let quoted =
            last.is_some_and(|p| code.get(p.range.clone()).is_some_and(|text| text.starts_with('"')));
        !quoted || code.trim_end().ends_with('\\')
    };
    if open.comment || open.string && goes_on() {
        let what = if open.string { "a string" } else { "a comment" };
        return Wholeness::Incomplete(format!("{what} is not closed"));
    }
    let error = match parser().compile(rewrite::prepared(parser(), code)) {
        Ok(_) => return Wholeness::Whole,
        Err(error) => error,
    };
    let wrong = || Wholeness::Wrong(error.position().line(), error.err_type().to_string());
    if open.string
        || *error.err_type() == ParseErrorType::ExprTooDeep
        || !is_at_end(error.position(), code, &pieces)
    {
        return wrong();
    }
    if let Some(at) = unclosed(code, &pieces).last() {
        let bracket = code.get(*at..).and_then(|rest| rest.chars().next()).unwrap_or('(');
        let line = 1 + code.get(..*at).unwrap_or_default().matches('\n').count();
        return Wholeness::Incomplete(format!("`{bracket}` of line {line} is not closed"));
    }
    match error.err_type() {
        ParseErrorType::UnexpectedEOF => Wholeness::Incomplete("the last expression is not whole".into()),
        kind => Wholeness::Incomplete(kind.to_string()),
    }
}

/// Whether a bracket is open that begins no block, or a text in three quotes: what is wrong in Rhai may be Python that
/// goes on in the next line.
pub(crate) fn is_value_open(code: &str) -> bool {
    if [r#"""""#, "'''"].iter().any(|quotes| code.matches(quotes).count() % 2 == 1) {
        return true;
    }
    let (pieces, open) = read(code);
    let first = unclosed(code, &pieces).first().and_then(|at| code.split_at_checked(*at));
    !open.string
        && first.is_some_and(|(before, rest)| {
            !rest.starts_with('{') || before.trim_end().ends_with(['=', '(', '[', ',', ':'])
        })
}

/// Whether a place comes after the last character that is code.
fn is_at_end(place: Position, code: &str, pieces: &[Piece]) -> bool {
    let Some(line) = place.line() else { return true };
    let Some(last) = pieces.iter().rev().find(|piece| piece.kind != Kind::Comment) else { return true };
    let before = code.get(..last.range.end).unwrap_or(code);
    let end = (1 + before.matches('\n').count(), before.rsplit('\n').next().map_or(0, |l| l.chars().count()));
    (line, place.position().unwrap_or(usize::MAX)) > end
}
