//! Variables that a function does not see, though they are there.

use crate::script::fault::{Fault, Origin};
use crate::script::lexer;

use super::lex::{self, TokenKind};
use super::writer::Holds;

/// What is told of a variable around the function in which it is missing.
pub(super) fn unseen(
    fault: &Fault,
    origin: &Origin,
    name: &str,
    variables: &[(String, Holds)],
) -> Option<String> {
    let is_there = variables.iter().any(|(variable, _)| variable == name)
        || lexer::bound(origin.code).iter().any(|bound| bound == name);
    (is_there && fault.message.ends_with("is not defined")).then_some(())?;
    let row = fault.line?.checked_sub(origin.first_line)? as usize;
    let (function, params) = function_at(origin.code, row, fault.column? as usize)?;
    let given: Vec<&str> = params.iter().map(String::as_str).chain([name]).collect();
    Some(format!(
        "a function sees no variables around it: `fn {function}({})` is given this one, and a closure sees it: \
         `let {function} = |{}| …;`, which `{function}.call({})` calls",
        given.join(", "),
        params.join(", "),
        params.join(", "),
    ))
}

/// The function with its parameters in which a place lies, if any.
fn function_at(code: &str, row: usize, column: usize) -> Option<(String, Vec<String>)> {
    let tokens = lex::tokens(code)?;
    let start: usize = code.split_inclusive('\n').take(row).map(str::len).sum();
    let (mut open, mut head) = (Vec::new(), None);
    for (at, token) in tokens.iter().enumerate() {
        if token.range.start + 1 >= start + column {
            break;
        }
        match token.text {
            "fn" => head = Some(at),
            "{" | "#{" => open.push(head.take()),
            "}" => drop(open.pop()),
            _ => {}
        }
    }
    let head = open.into_iter().flatten().next_back()?;
    let mut names = tokens.get(head + 1..)?.iter();
    let name = names.next()?.text.to_owned();
    let params = names.take_while(|token| token.text != "{").filter(|token| token.kind == TokenKind::Name);
    Some((name, params.map(|token| token.text.to_owned()).collect()))
}
