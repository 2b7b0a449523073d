//! What follows the cursor: the parameters of the call that is being typed.

use crate::script::{help, lexer};

/// The parameters that are still to come, where a call has just been opened or a comma was typed.
pub(super) fn parameters(text: &str) -> Option<String> {
    if !text.ends_with(['(', ',', ' ']) {
        return None;
    }
    let open = lexer::call_at(text, text.len()).filter(|call| !call.options)?;
    let page = help::page(&if open.method { format!("x.{}", open.name) } else { open.name })?;
    let call = page.lines().next()?;
    let (_, inside) = call.split_once('(')?;
    let inside = inside.strip_suffix(')')?;
    let given = usize::from(open.method) + open.argument;
    let rest: Vec<&str> = split(inside).into_iter().skip(given).collect();
    let rest = rest.join(", ");
    match (text.ends_with(['(', ' ']), rest.is_empty()) {
        (_, true) => Some(")".into()),
        (true, false) => Some(format!("{rest})")),
        (false, false) => Some(format!(" {rest})")),
    }
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
