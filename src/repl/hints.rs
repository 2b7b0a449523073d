//! What follows the cursor: the parameters of the call that is being typed.

use crate::script::help;
use crate::script::tokens::{Token, tokens};

/// The parameters that are still to come, where a call has just been opened or a comma was typed.
pub fn parameters(text: &str) -> Option<String> {
    if !text.ends_with(['(', ',', ' ']) {
        return None;
    }
    let (name, given) = open_call(text)?;
    let page = help::page(&name)?;
    let call = page.lines().next()?;
    let (_, inside) = call.split_once('(')?;
    let inside = inside.strip_suffix(')')?;
    let method = name.contains('.');
    let rest: Vec<&str> = split(inside).into_iter().skip(usize::from(method) + given).collect();
    let rest = rest.join(", ");
    match (text.ends_with(['(', ' ']), rest.is_empty()) {
        (_, true) => Some(")".into()),
        (true, false) => Some(format!("{rest})")),
        (false, false) => Some(format!(" {rest})")),
    }
}

/// The call that is open at the end of a text, as it is written, and how many arguments are whole.
fn open_call(text: &str) -> Option<(String, usize)> {
    let lines = tokens(text.split('\n')).0;
    let chars: Vec<(char, Token)> =
        lines.into_iter().flat_map(|line| line.into_iter().chain([('\n', Token::Plain)])).collect();
    let mut open: Vec<(usize, char, usize)> = Vec::new();
    for (i, (c, token)) in chars.iter().enumerate() {
        if matches!(token, Token::Text | Token::Comment) {
            continue;
        }
        match c {
            '(' | '[' | '{' => open.push((i, *c, 0)),
            ')' | ']' | '}' => drop(open.pop()),
            ',' => {
                if let Some(last) = open.last_mut() {
                    last.2 += 1;
                }
            }
            _ => {}
        }
    }
    let (at, bracket, given) = open.pop()?;
    if bracket != '(' {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    let before = chars.get(..at)?.iter().rev().take_while(|(c, _)| is_name(*c));
    let name: String = before.map(|(c, _)| *c).collect::<Vec<_>>().into_iter().rev().collect();
    // A method of a call's result: `f(x).relu(`.
    let name = if name.starts_with('.') { format!("x{name}") } else { name };
    (!name.is_empty()).then_some((name, given))
}

/// Parameters at their commas, which may stand in brackets as well.
fn split(inside: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let at_comma = |c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    inside.split(at_comma).map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_after_the_cursor() {
        for (text, want) in [
            ("matmul(", Some("input, other)")),
            ("let y = x.matmul(", Some("other)")),
            ("f(x).matmul(", Some("other)")),
            ("matmul(a,", Some(" other)")),
            ("matmul(a, ", Some("other)")),
            ("matmul(a, b, ", Some(")")),
            ("matmul(f(1, 2), ", Some("other)")),
            ("matmul(a", None),
            ("matmul(\"(\", ", Some("other)")),
            ("no_such_function(", None),
            ("(", None),
            ("[1, ", None),
            ("x ", None),
            ("", None),
        ] {
            assert_eq!(parameters(text).as_deref(), want, "{text:?}");
        }
    }
}
