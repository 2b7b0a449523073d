//! Lines that are neither Rhai nor Python, but Python's thought in Rhai's signs: `y[.., 1]`, `` `${loss:.4f}` ``.

use crate::script::fault::Fault;

/// The line as Python has it, where it is such a one.
pub(super) fn as_python(line: &str) -> Option<String> {
    let texts = with_texts(line);
    let places = with_places(texts.as_deref().unwrap_or(line));
    places.or(texts)
}

/// What is told of a block in braces behind Python's colon.
pub(super) fn colon(fault: &Fault) -> Option<String> {
    let line = fault.source_line.as_deref().filter(|_| fault.message.contains("Expecting '{'"))?;
    let at = usize::try_from(fault.column?).ok()?.checked_sub(1)?;
    let (before, behind) = line.split_at_checked(line.char_indices().nth(at)?.0)?;
    let block = behind.strip_prefix(':')?.trim_start();
    block
        .starts_with('{')
        .then(|| format!("the colon falls away before a brace: `{} {block}`", before.trim()))
}

/// What is told of `for [x, y] in loader`.
pub(super) fn several(fault: &Fault) -> Option<String> {
    let line =
        fault.source_line.as_deref().filter(|_| fault.message.starts_with("Expecting name of a variable"))?;
    let names = line.trim_start().strip_prefix("for [")?.split_once(']')?.0;
    let are_names = names.split(',').all(|name| name.trim().chars().all(|c| c.is_alphanumeric() || c == '_'));
    are_names.then(|| format!("names of several values stand in round brackets: `for ({names}) in …`"))
}

/// What is told of a call of what stands in an array or a map.
pub(super) fn item(fault: &Fault) -> Option<String> {
    let line = fault.source_line.as_deref().filter(|_| fault.kind == "SyntaxError")?;
    let at = usize::try_from(fault.column?).ok()?.checked_sub(1)?;
    let (before, behind) = line.split_at_checked(line.char_indices().nth(at)?.0)?;
    if !before.ends_with(']') || !behind.starts_with('(') {
        return None;
    }
    let start =
        before.rfind(|c: char| !(c.is_alphanumeric() || "_[]`\"${}.".contains(c))).map_or(0, |at| at + 1);
    let of = before.get(start..).filter(|of| of.starts_with(char::is_alphabetic))?;
    Some(format!(
        "what stands in an array or a map is called by `{of}.forward(…)` where it is a module, by `{of}.call(…)` where it is a closure"
    ))
}

/// What is told of `x.at([0, 1]) = 4` and of what is asked of a `grad_fn`.
pub(super) fn written(fault: &Fault) -> Option<String> {
    let line = fault.source_line.as_deref()?;
    let at = usize::try_from(fault.column?).ok()?.checked_sub(1)?;
    let before = line.get(..line.char_indices().nth(at)?.0)?;
    let is_text = fault.message.starts_with("'string' object");
    if is_text && (before.ends_with(".grad_fn.") || before.ends_with(".grad_fn")) {
        return Some(
            "`grad_fn` is a text here, the name of the operation: what lies behind it is not shown".into(),
        );
    }
    if !fault.message.contains("cannot be assigned to") {
        return None;
    }
    let sign = assigns(line, before.len())?;
    let target = line.get(..sign)?.trim_end().strip_suffix(')')?;
    let mut open = 1;
    let call = target.rfind(|c: char| {
        open += i32::from(c == ')') - i32::from(c == '(');
        open == 0
    })?;
    let on = target.get(..call)?.strip_suffix(".at")?;
    let on = on.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|on| !on.is_empty())?;
    let places = target.get(call + 1..)?;
    let value = line.get(sign..)?.strip_prefix('=').map(|value| value.trim().trim_end_matches(';'));
    let is_plain = |code: &str| !code.contains([';', '{', '}', '"']);
    let written = match value.filter(|value| is_plain(places) && is_plain(value)) {
        Some(value) => format!("{places}, {value}"),
        None => "places, value".into(),
    };
    Some(format!("`at` reads places, and `put` writes to them: `{on}.put({written})`"))
}

/// Where a line assigns at or behind a byte: a sign that compares is none, and one such as `+=` counts from its first
/// character on.
fn assigns(line: &str, from: usize) -> Option<usize> {
    let sign = |at: usize| line.as_bytes().get(at).copied();
    let equals = line.match_indices('=').map(|(at, _)| at).filter(|at| *at >= from).find(|at| {
        let before = at.checked_sub(1).and_then(sign);
        sign(at + 1) != Some(b'=') && !matches!(before, Some(b'=' | b'!' | b'<' | b'>'))
    })?;
    let joined = equals.checked_sub(1).and_then(sign).is_some_and(|c| b"+-*/%".contains(&c));
    Some(equals - usize::from(joined))
}

/// What is told of a body without braces.
pub(super) fn block(fault: &Fault) -> Option<String> {
    let line = fault.source_line.as_deref().filter(|_| fault.message.contains("Expecting '{'"))?;
    let line = line.split("//").next()?;
    let heads = ["if", "else", "for", "while"];
    let begins = line.trim_start_matches(['}', ' ']).split(|c: char| !c.is_alphanumeric()).next();
    let is_bare =
        !line.contains('{') && (begins.is_some_and(|word| heads.contains(&word)) || line.contains(" if "));
    is_bare.then(|| {
        "what `if`, `else`, `for` and `while` do stands in braces: `if a { 3 } else { 4 }`".to_owned()
    })
}

/// Texts between back quotes that ask for a format as Python's texts do.
fn with_texts(line: &str) -> Option<String> {
    let mut parts: Vec<String> = line.split('`').map(str::to_owned).collect();
    let mut is_changed = false;
    // What is between back quotes stands at every second place.
    for text in parts.iter_mut().skip(1).step_by(2) {
        if text.contains('"') {
            return None;
        }
        let asks = |value: &str| {
            let value = value.split('}').next().unwrap_or_default();
            value.rsplit_once(':').is_some_and(|(_, spec)| is_spec(spec))
        };
        is_changed |= text.split("${").skip(1).any(asks);
        *text = format!("f\"{}\"", text.replace("${", "{"));
    }
    (is_changed && parts.len() % 2 == 1).then(|| parts.concat())
}

/// Whether it is as `.4f`, `>8` or `,` is.
fn is_spec(text: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_digit() || "<>^+-,.%fedgxob ".contains(c);
    text.chars().all(is_sign) && text.contains(|c: char| c.is_ascii_digit() || ",%".contains(c))
}

/// Several places between brackets, one of them a range of Rhai's.
fn with_places(line: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = line;
    let mut is_changed = false;
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open + 1);
        out.push_str(before);
        let end = from.find([']', '[', '"', '`']).unwrap_or(from.len());
        let (inside, behind) = from.split_at(end);
        let is_index =
            before.trim_end_matches('[').ends_with(|c: char| c.is_alphanumeric() || "_)]".contains(c));
        // Python has no range with its end.
        let is_slip = inside.contains("..") && !inside.contains("..=");
        if is_index && behind.starts_with(']') && inside.contains(',') && is_slip {
            is_changed = true;
            let places = inside.split(',').map(|place| place.replace("..", ":"));
            out.push_str(&places.collect::<Vec<_>>().join(","));
        } else {
            out.push_str(inside);
        }
        rest = behind;
    }
    is_changed.then(|| out + rest)
}

#[cfg(test)]
mod tests {
    use super::as_python;
    use crate::script::Limits;
    use crate::script::testing::failed;

    #[test]
    fn what_is_neither_language_is_read_as_python() {
        assert_eq!(as_python("y[.., 1] += k").as_deref(), Some("y[:, 1] += k"));
        assert_eq!(as_python("let z = f(x)[0, 1..3];").as_deref(), Some("let z = f(x)[0, 1:3];"));
        assert_eq!(
            as_python("print(`loss ${l:.4f} of ${n}`)").as_deref(),
            Some("print(f\"loss {l:.4f} of {n}\")")
        );
        for line in [
            "let y = x[1..3];",
            "for i in [0..2, 1..3] { }",
            "print(`a ${b}`)",
            "print(`${#{a: b}}`)",
            "y[.., 0..=3]",
        ] {
            assert_eq!(as_python(line), None, "{line}");
        }
    }

    #[test]
    fn and_told_as_it_is_written_here() {
        let told =
            |code: &str| failed(&["let y = ones(2, 3);", code], &Limits::default()).hint.unwrap_or_default();
        assert!(
            told("let z = y[.., 1];").contains("`let z = y.at([(), 1]);`"),
            "{}",
            told("let z = y[.., 1];")
        );
        let text = told("print(`sum ${y.sum().item():.2f}`);");
        assert!(text.contains("${format(y.sum().item(), \".2f\")}"), "{text}");
    }
}
