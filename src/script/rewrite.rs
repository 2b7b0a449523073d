//! What a script writes in one way and Rhai must be told in another. Each stays as long as it was but at the end of a
//! line, so that every place in the code stays where it is.
//!
//! - `opt.step(|| …)` becomes `step(opt,|| …)`: a method holds its variable while it runs, and the closure could not
//!   use the optimiser that it captured. So do `net.apply(|m| …)` and `x.register_hook(|g| …)`, and the same with the name
//!   of a closure of this code.
//! - `drop(y)` becomes `{y=()} `: a function gets a copy of a variable that a closure captured, and an assignment
//!   reaches the variable.
//! - `_`, a session's last value, becomes `$`, which the parser takes for a variable of that name; in a `switch` it stays
//!   what it is.
//! - A `with` block that begins a statement ends it, as an `if` block does, where the next line begins with what could go
//!   on with its value: a `;` stands behind it.
//! - The sign of an assignment to what a call gives becomes an operator: see [`assigned`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use rhai::{Engine, Position, Token};

use crate::op::{OpDef, ParamKind, Receiver};
use crate::script::syntax::LAST;

use super::{assigned, lexer, modules};

/// Methods that call a closure, which may use what the method was called on.
static CALLING: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let calls = |def: &&OpDef| def.params.iter().any(|param| param.kind == ParamKind::Function);
    let methods = modules::rows().map(|row| &row.def).filter(|def| def.receiver != Receiver::None);
    methods.filter(calls).map(|def| def.name).collect()
});

/// The code as Rhai is told it.
pub(super) fn prepared<'c>(engine: &Engine, code: &'c str) -> Cow<'c, str> {
    let calls = CALLING.iter().any(|name| code.contains(&format!(".{name}(")));
    let reaches = code.contains(").") || code.contains(")[");
    let enters = code.contains("with");
    if !calls && !reaches && !enters && !code.contains("drop(") && !code.contains('_') {
        return Cow::Borrowed(code);
    }
    let tokens = lexer::tokens(engine, code);
    let lines: Vec<usize> = std::iter::once(0).chain(code.match_indices('\n').map(|(i, _)| i + 1)).collect();
    let defines_drop = tokens.windows(2).any(|pair| match pair {
        [(Token::Fn, _), (Token::Identifier(name), _)] => name.as_str() == "drop",
        _ => false,
    });
    let closures: HashSet<&str> = tokens.windows(4).filter_map(closure).collect();
    let mut out = code.to_string();
    for (i, at) in tokens.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| tokens.get(i)).map(|(token, _)| token);
        if matches!(
            before,
            Some(Token::Period | Token::Elvis | Token::DoubleColon | Token::Fn | Token::Let | Token::Const)
        ) {
            continue;
        }
        let told = || assigned::told(&tokens, i).map(|(sign, told)| (sign.to_owned(), told.to_owned()));
        let replaced = tokens.get(i..).and_then(|rest| replaced(rest, defines_drop, &closures)).or_else(told);
        let Some((old, new)) = replaced else { continue };
        let Some(range) = place(code, &lines, at.1, old.len()) else { continue };
        // Written in several lines, it stays as it is.
        if code.get(range.clone()) == Some(old.as_str()) {
            out.replace_range(range, &new);
        }
    }
    let ends = (0..tokens.len()).filter_map(|i| place(code, &lines, end_of_with(&tokens, i)?, 1));
    let mut ends: Vec<usize> = ends.map(|brace| brace.end).collect();
    ends.sort_unstable();
    // The last first, so that the places before it stay.
    for end in ends.into_iter().rev() {
        let has_room = out.get(end..).is_some_and(|behind| behind.starts_with(' '));
        out.replace_range(end..end + usize::from(has_room), ";");
    }
    Cow::Owned(out)
}

/// Where the block of a `with` ends that stands at the beginning of a statement, where what follows would be read as
/// going on with its value.
fn end_of_with(tokens: &[(Token, Position)], i: usize) -> Option<Position> {
    let (Token::Custom(word) | Token::Identifier(word) | Token::Reserved(word), _) = tokens.get(i)? else {
        return None;
    };
    let before = i.checked_sub(1).and_then(|i| tokens.get(i)).map(|(token, _)| token);
    let begins = matches!(before, None | Some(Token::SemiColon | Token::LeftBrace | Token::RightBrace));
    if word.as_str() != "with" || !begins {
        return None;
    }
    let (mut open, mut in_block) = (Vec::new(), false);
    for (at, (token, place)) in tokens.iter().enumerate().skip(i + 1) {
        match token {
            Token::LeftParen | Token::LeftBracket | Token::MapStart => open.push(token),
            Token::LeftBrace => {
                in_block |= open.is_empty();
                open.push(token);
            }
            Token::RightParen | Token::RightBracket | Token::RightBrace => {
                open.pop();
                if open.is_empty() && in_block {
                    let (next, next_place) = tokens.get(at + 1)?;
                    let goes_on = matches!(
                        next,
                        Token::Minus
                            | Token::UnaryMinus
                            | Token::Plus
                            | Token::UnaryPlus
                            | Token::LeftBracket
                    );
                    return (goes_on && next_place.line() > place.line()).then_some(*place);
                }
            }
            _ => {}
        }
    }
    None
}

/// The name that a closure is given: `let f = |x| …`.
fn closure(tokens: &[(Token, Position)]) -> Option<&str> {
    match tokens {
        [(Token::Let, _), (Token::Identifier(name), _), (Token::Equals, _), (Token::Or | Token::Pipe, _)] => {
            Some(name.as_str())
        }
        _ => None,
    }
}

/// What stands at the start of some tokens, and what is told instead.
fn replaced(
    tokens: &[(Token, Position)],
    defines_drop: bool,
    closures: &HashSet<&str>,
) -> Option<(String, String)> {
    let token = |i: usize| tokens.get(i).map(|(token, _)| token);
    let name = |i: usize| match token(i) {
        Some(Token::Identifier(name)) => Some(name.as_str()),
        _ => None,
    };
    if token(0) == Some(&Token::Underscore) {
        let in_switch = matches!(token(1), Some(Token::DoubleArrow | Token::If | Token::Pipe));
        return (!in_switch).then(|| ("_".into(), LAST.into()));
    }
    let first = name(0)?;
    if let (Some(Token::Period), Some(method), Some(Token::LeftParen), Some(given)) =
        (token(1), name(2), token(3), token(4))
    {
        let is_closure = match given {
            Token::Or | Token::Pipe => true,
            Token::Identifier(name) => {
                closures.contains(name.as_str()) && token(5) == Some(&Token::RightParen)
            }
            _ => false,
        };
        return (is_closure && CALLING.contains(&method))
            .then(|| (format!("{first}.{method}("), format!("{method}({first},")));
    }
    match (first, token(1), name(2), token(3)) {
        ("drop", Some(Token::LeftParen), Some(name), Some(Token::RightParen)) if !defines_drop => {
            Some((format!("drop({name})"), format!("{{{name}=()}} ")))
        }
        _ => None,
    }
}

/// The bytes of `length` from a place on.
fn place(code: &str, lines: &[usize], at: Position, length: usize) -> Option<Range<usize>> {
    let start = *lines.get(at.line()?.checked_sub(1)?)?;
    let column = at.position()?.checked_sub(1)?;
    let offset = code.get(start..)?.char_indices().nth(column)?.0;
    Some(start + offset..start + offset + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: &str) -> String {
        prepared(&Engine::new(), code).into_owned()
    }

    #[test]
    fn each_call_keeps_its_length_and_its_place() {
        for (code, want) in [
            ("drop(y)", "{y=()} "),
            ("\"ä\"; drop(a);\n drop(b)", "\"ä\"; {a=()} ;\n {b=()} "),
            ("opt.step(|| opt.zero_grad())", "step(opt,|| opt.zero_grad())"),
            ("x.register_hook(|g| g * x)", "register_hook(x,|g| g * x)"),
            ("let f = || 1; opt.step(f)", "let f = || 1; step(opt,f)"),
            ("net.apply(|m| drop(m))", "apply(net,|m| {m=()} )"),
            ("let s = `a ${ drop(b) } drop(c)`; drop(d)", "let s = `a ${ {b=()}  } drop(c)`; {d=()} "),
            ("`${ #{a: 1}.a } drop(c)`; drop(d)", "`${ #{a: 1}.a } drop(c)`; {d=()} "),
            ("_ + f(_, 1)", "$ + f($, 1)"),
            ("with a(#{}) { x }\n-y", "with a(#{}) { x };\n-y"),
            ("f(); with a { {1} } \n[y]", "f(); with a { {1} };\n[y]"),
            ("with a { with b { x }\n-z }\n+y", "with a { with b { x };\n-z };\n+y"),
            ("switch _ { 1 => _, _ if x => 2, _ => 3 }", "switch $ { 1 => $, _ if x => 2, _ => 3 }"),
        ] {
            assert_eq!(told(code), want);
        }
    }

    #[test]
    fn other_calls_of_these_names_stay() {
        for code in [
            "\"drop(y)\" // drop(y)",
            "a.drop(y)",
            "drop(a.b)",
            "drop (y)",
            "x::drop(y)",
            "fn drop(y) { } drop(z)",
            "a.opt.step(|| 1)",
            "opt.step(closure)",
            "opt\n.step(|| 1)",
            "sched.step(1.0)",
            "let z = with a { x }\n-y",
            "with a { x }\ny",
            "with a { x } - y",
        ] {
            assert_eq!(told(code), code);
        }
    }
}
