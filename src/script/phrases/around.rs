//! Variables that code does not see, though they are there: outside of its function, or in braces that have ended.

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

/// What is told of a variable of braces that have ended before it is read.
pub(super) fn outlived(fault: &Fault, origin: &Origin, name: &str) -> Option<String> {
    fault.message.ends_with("is not defined").then_some(())?;
    let row = fault.line?.checked_sub(origin.first_line)? as usize;
    let (tokens, end) = (lex::tokens(origin.code)?, place(origin.code, row, fault.column? as usize));
    let mut blocks = vec![Braces::default()];
    let mut before = [""; 2];
    let mut is_function = false;
    for token in tokens.iter().take_while(|token| token.range.start + 1 < end) {
        let here = blocks.last_mut()?;
        match token.text {
            "fn" => is_function = true,
            "{" | "#{" => {
                let own = std::mem::take(&mut is_function) || before[1].ends_with('|');
                blocks.push(Braces { is_function: own, ..Braces::default() });
            }
            "}" => {
                let ended = blocks.pop()?;
                let around = blocks.last_mut()?;
                around.ended |= !ended.is_function && (ended.binds || ended.ended);
            }
            text if text == name && matches!(before[1], "let" | "const") => here.binds = true,
            _ => {}
        }
        before = [before[1], token.text];
    }
    let own = blocks.iter().rposition(|block| block.is_function).unwrap_or(0);
    blocks.get(own..)?.iter().any(|block| block.ended).then(|| {
        format!(
            "`let {name}` ends with the braces that it stands in: make it before them, `let {name} = ();`, and write \
             `{name} = …` within"
        )
    })
}

/// Braces, as far as a variable is concerned.
#[derive(Default)]
struct Braces {
    is_function: bool,
    /// They have a variable of the name, or braces in them had one that have ended.
    binds: bool,
    ended: bool,
}

/// The byte, counted from 1, of a place in code.
fn place(code: &str, row: usize, column: usize) -> usize {
    code.split_inclusive('\n').take(row).map(str::len).sum::<usize>() + column
}

/// The function with its parameters in which a place lies, if any.
fn function_at(code: &str, row: usize, column: usize) -> Option<(String, Vec<String>)> {
    let tokens = lex::tokens(code)?;
    let end = place(code, row, column);
    let (mut open, mut head) = (Vec::new(), None);
    for (at, token) in tokens.iter().enumerate() {
        if token.range.start + 1 >= end {
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
