//! `finally`: what is done however a block is left, which has no word here.

/// Lines with what comes last before each statement that leaves them: `value` is a name for what a function gives,
/// which Python works out before.
pub(super) fn with_last(lines: Vec<String>, last: &[String], words: &[&str], value: &str) -> Vec<String> {
    let (mut out, mut inside): (Vec<String>, Option<(usize, bool)>) = (Vec::new(), None);
    for line in lines {
        let text = line.trim_start();
        let column = line.len() - text.len();
        inside = inside.filter(|(outer, _)| column > *outer);
        let is_loop = ["for ", "while ", "loop "].iter().any(|head| text.starts_with(head));
        let is_function = text.contains("| {") || text.starts_with("fn ");
        let leaves = |word: &&&str| match inside.or((is_loop || is_function).then_some((column, is_function)))
        {
            Some((_, true)) => false,
            // A loop of the block's own goes on, or ends, inside it.
            Some((_, false)) => matches!(**word, "return" | "throw"),
            None => true,
        };
        let own: Vec<&str> = words.iter().filter(leaves).copied().collect();
        let indent = " ".repeat(column);
        match apart(text) {
            Some(parts) if parts.iter().any(|(_, statement)| leaves_by(statement, &own)) => {
                for (at, (head, statement)) in parts.iter().enumerate() {
                    let close = if at > 0 { "} " } else { "" };
                    out.push(format!("{indent}{close}{head} {{"));
                    push(&mut out, &format!("{indent}    "), statement, (last, &own, value));
                }
                out.push(format!("{indent}}}"));
            }
            _ => push(&mut out, &indent, text, (last, &own, value)),
        }
        if inside.is_none() && text.ends_with('{') && (is_loop || is_function) {
            inside = Some((column, is_function));
        }
    }
    out
}

/// A statement, behind what comes last where it leaves.
fn push(
    out: &mut Vec<String>,
    indent: &str,
    statement: &str,
    (last, words, value): (&[String], &[&str], &str),
) {
    let given = statement.strip_prefix("return ").and_then(|given| given.strip_suffix(';'));
    let is_constant = |given: &str| given.parse::<f64>().is_ok() || matches!(given, "true" | "false" | "()");
    let leaves = leaves_by(statement, words);
    let early = given.filter(|given| leaves && !is_constant(given));
    out.extend(early.map(|given| format!("{indent}let {value} = {given};")));
    out.extend(last.iter().filter(|_| leaves).map(|line| format!("{indent}{line}")));
    out.push(match early {
        Some(_) => format!("{indent}return {value};"),
        None => format!("{indent}{statement}"),
    });
}

fn leaves_by(statement: &str, words: &[&str]) -> bool {
    let word = statement.split([' ', ';']).next().unwrap_or_default();
    words.contains(&word) && statement.ends_with(';')
}

/// The heads and the statements of blocks in one line: `if a { return; } else { b(); }`.
fn apart(line: &str) -> Option<Vec<(&str, &str)>> {
    let (mut parts, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (head, behind) = rest.split_once(" { ")?;
        let (statement, behind) = behind.split_once(" }")?;
        parts.push((head, statement));
        rest = behind.trim_start();
    }
    Some(parts).filter(|parts| !parts.is_empty())
}
