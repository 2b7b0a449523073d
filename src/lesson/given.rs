//! What an exercise's check reads of what the lesson gave, by the texts of its check and its solution.

use std::collections::BTreeSet;

use crate::script::lexer::{self, Kind, Piece};
use crate::session::protocol::{GivenName, GivenNames};

use rhai::Token;

/// The names that a check reads and that are not the learner's to change: those that the solution does not bind. What
/// the solution may write to in another way has to be the same tensor, and not to hold the same values.
pub(crate) fn given(check: &str, solution: &str) -> GivenNames {
    let own: BTreeSet<String> = lexer::bound(check).into_iter().collect();
    let bound: BTreeSet<String> = lexer::bound(solution).into_iter().chain(assigned(solution)).collect();
    let written = written(solution);
    let read: BTreeSet<String> = lexer::names(check).into_iter().chain(called(check)).collect();
    let read = read.into_iter().filter(|name| !own.contains(name) && !bound.contains(name));
    let names = read.map(|name| GivenName { fixed: !written.contains(&name), name });
    let used: BTreeSet<String> = lexer::names(solution).into_iter().chain(called(solution)).collect();
    GivenNames { names: names.collect(), used: used.into_iter().collect(), trains: trains(solution) }
}

/// Whether code may write to parameters that it does not name: with an optimiser, with a state that it loads, in place.
fn trains(code: &str) -> bool {
    let pieces = words(code);
    (0..pieces.len()).any(|at| {
        let is_call = matches!(token(&pieces, at + 1), Some(Token::LeftParen | Token::Unit));
        let writes = |name: &str| {
            matches!(name, "step" | "load_state_dict") || name.ends_with('_') && name != "requires_grad_"
        };
        is_call && named(&pieces, at).is_some_and(writes)
    })
}

/// Functions that a check calls by their names in quotes.
fn called(check: &str) -> Vec<String> {
    let pieces = words(check);
    // The word is none that Rhai takes for a name.
    let text =
        |at: usize| pieces.get(at).and_then(|piece| check.get(piece.range.clone())).unwrap_or_default();
    let quoted = (0..pieces.len()).filter(|at| text(*at) == "call" && text(at + 1) == "(");
    let names = quoted.filter_map(|at| text(at + 2).strip_prefix('"')?.strip_suffix('"').map(str::to_owned));
    names.collect()
}

/// Names that code assigns to, or gives up.
fn assigned(code: &str) -> Vec<String> {
    let pieces = words(code);
    let dropped = |at: usize| {
        at >= 2 && token(&pieces, at - 1) == Some(&Token::LeftParen) && named(&pieces, at - 2) == Some("drop")
    };
    let is_assigned = |at: usize| {
        token(&pieces, at + 1).is_some_and(|next| *next == Token::Equals || next.is_op_assignment())
    };
    names_where(&pieces, |at| is_assigned(at) || dropped(at))
}

/// Names whose values code may write to: with a method that changes in place, through an index or a field, or by handing
/// them to a function that is no operation of the language's.
fn written(code: &str) -> BTreeSet<String> {
    let pieces = words(code);
    let reaches = |at: usize| {
        let next = token(&pieces, at + 1);
        let in_place = next == Some(&Token::Period)
            && named(&pieces, at + 2).is_some_and(|method| method.ends_with('_') || !is_known(method));
        let within = next == Some(&Token::LeftBracket) || next == Some(&Token::Period);
        in_place || within && is_target(&pieces, at) || is_handed_over(&pieces, at)
    };
    names_where(&pieces, reaches).into_iter().collect()
}

/// Whether what begins at a name is assigned to before its statement ends.
fn is_target(pieces: &[Piece], at: usize) -> bool {
    let rest = pieces.iter().skip(at).map(|piece| &piece.token);
    let mut rest = rest.take_while(|token| !matches!(token, Token::SemiColon | Token::LeftBrace));
    rest.any(|token| *token == Token::Equals || token.is_op_assignment())
}

/// Whether a name is an argument of its own of a function that may write to it.
fn is_handed_over(pieces: &[Piece], at: usize) -> bool {
    let alone = |token: Option<&Token>| matches!(token, Some(Token::Comma | Token::RightParen));
    if !alone(token(pieces, at + 1)) {
        return false;
    }
    let mut depth = 0usize;
    for before in (0..at).rev() {
        match token(pieces, before) {
            Some(Token::RightParen | Token::RightBracket | Token::RightBrace) => depth += 1,
            Some(Token::LeftParen) if depth == 0 => {
                let function = before.checked_sub(1).and_then(|at| named(pieces, at));
                return function.is_some_and(|name| name.ends_with('_') || !is_known(name));
            }
            Some(Token::LeftParen | Token::LeftBracket | Token::LeftBrace) => depth = depth.saturating_sub(1),
            Some(Token::SemiColon) => return false,
            _ => {}
        }
    }
    false
}

/// Whether it is an operation, or a method, that the language has.
fn is_known(name: &str) -> bool {
    crate::script::help::rows().any(|def| def.name == name)
}

fn words(code: &str) -> Vec<Piece> {
    lexer::pieces(code).into_iter().filter(|piece| piece.kind != Kind::Comment).collect()
}

fn token(pieces: &[Piece], at: usize) -> Option<&Token> {
    pieces.get(at).map(|piece| &piece.token)
}

fn named(pieces: &[Piece], at: usize) -> Option<&str> {
    match token(pieces, at) {
        Some(Token::Identifier(name)) => Some(name.as_str()),
        _ => None,
    }
}

/// The names of variables at which something holds.
fn names_where(pieces: &[Piece], holds: impl Fn(usize) -> bool) -> Vec<String> {
    let is_member = |at: usize| {
        at.checked_sub(1).is_some_and(|before| matches!(token(pieces, before), Some(Token::Period)))
    };
    let found = (0..pieces.len()).filter(|at| !is_member(*at) && holds(*at));
    found.filter_map(|at| named(pieces, at).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(check: &str, solution: &str) -> Vec<(String, bool)> {
        given(check, solution).names.into_iter().map(|given| (given.name, given.fixed)).collect()
    }

    #[test]
    fn what_the_solution_leaves_as_it_is_is_given() {
        let check = "let want = x * 2.0; expect_close(y, want);";
        let fixed = |name: &str, fixed| {
            let found = told(check, "let y = x.to(\"cuda\") * 2.0;");
            assert!(found.contains(&(name.to_owned(), fixed)), "{found:?}");
        };
        fixed("x", true);
        let names =
            |solution: &str| told(check, solution).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert!(!names("let y = x * 2.0;").contains(&"y".into()));
        assert!(!names("let y = x * 2.0;").contains(&"want".into()));
        let quoted = |solution: &str| told("call(\"f\", [1])", solution).iter().any(|(name, _)| name == "f");
        assert!(quoted("let y = 1;") && !quoted("fn f(x) { x }"));
        for bound in
            ["x = x.to(\"cuda\"); let y = x;", "let x = 3;", "x += 1; let y = x;", "drop(x); let y = 1;"]
        {
            assert!(!names(bound).contains(&"x".into()), "{bound}");
        }
        for written in [
            "x.add_(1.0);",
            "x[0] = 1.0;",
            "x.grad = y;",
            "change(x, 1);",
            "nn::init::zeros_(x);",
            "x.own_method();",
        ] {
            assert!(told(check, written).contains(&("x".into(), false)), "{written}");
        }
        for read in
            ["let y = ones_like(x);", "let y = x[0] + 1; let z = 3;", "let y = x.clone();", "let y = x == x;"]
        {
            assert!(told(check, read).contains(&("x".into(), true)), "{read}");
        }
        let used = |solution: &str| given(check, solution).used;
        assert_eq!(used("let y = net(x); call(\"fit\", [x])"), ["fit", "net", "x", "y"]);
        for (solution, is_training) in
            [("opt.step();", true), ("nn::init::zeros_(w);", true), ("net(x).sum().backward();", false)]
        {
            assert_eq!(given(check, solution).trains, is_training, "{solution}");
        }
    }
}
