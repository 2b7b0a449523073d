//! Rhai code in colours. It never fails: what it does not know is plain.

use crate::script::language;

use super::escape::escaped;

/// The code, escaped, with elements around what has a colour.
pub(crate) fn highlighted(code: &str) -> String {
    let mut out = String::with_capacity(code.len() * 2);
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let (length, class) = token(rest, c);
        let (token, after) = rest.split_at(length.clamp(c.len_utf8(), rest.len()));
        match class {
            "" => out += &escaped(token),
            class => out += &format!("<span class=\"{class}\">{}</span>", escaped(token)),
        }
        rest = after;
    }
    out
}

/// The bytes of the token at the beginning, and its class.
fn token(rest: &str, c: char) -> (usize, &'static str) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), "c");
    }
    if rest.starts_with("/*") {
        return (comment(rest), "c");
    }
    match c {
        '"' | '`' | '\'' => (quoted(rest, c), "s"),
        _ if c.is_ascii_digit() => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let whole = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let after = rest.get(whole..).unwrap_or_default();
            // `1.5`, and not the range `1..5`.
            let fraction = after.strip_prefix('.').filter(|f| f.starts_with(|c: char| c.is_ascii_digit()));
            let length = fraction.map_or(0, |f| 1 + f.find(|c| !is_part(c)).unwrap_or(f.len()));
            (whole + length, "n")
        }
        _ if c.is_alphabetic() || c == '_' => {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            let is_call = after.starts_with('(');
            (
                length,
                if language::words().any(|known| known == word) {
                    "k"
                } else if is_call {
                    "f"
                } else {
                    ""
                },
            )
        }
        _ => (c.len_utf8(), ""),
    }
}

/// Where a block comment ends; they nest.
fn comment(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth.saturating_sub(1), at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Where a text ends that begins with a quote: at the next one; one in double quotes at the end of its line, too.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            '\n' if quote != '`' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
