//! Python's habits: what a line that would run there is here. Asked only where a line has failed.

use super::fault::{Fault, Origin};
use super::help::{names, rows, torch_path};
use crate::op::Form;

/// A line that failed, for whoever looks at it.
struct Failed<'a> {
    fault: &'a Fault,
    line: &'a str,
    /// The line before the place of the error, and from there on.
    before: &'a str,
    after: &'a str,
}

/// Gives the fault of a line that Python would take a hint that names what is written here.
pub(super) fn cure(fault: Fault, origin: &Origin) -> Fault {
    match hint(&fault, origin) {
        Some(hint) => fault.hinted(hint, origin),
        None => fault,
    }
}

fn hint(fault: &Fault, origin: &Origin) -> Option<String> {
    let row = fault.line?.checked_sub(origin.first_line)?;
    let line = origin.code.lines().nth(row as usize)?;
    let column = (fault.column? as usize).checked_sub(1)?;
    let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let (before, after) = (line.get(..at)?, line.get(at..)?);
    let failed = Failed { fault, line, before, after };
    let looks: &[fn(&Failed) -> Option<String>] = match fault.kind.as_str() {
        "SyntaxError" => &[first_word, option, place, text, comment, word, several, map, block],
        "NameError" => &[first_word, help_on, path, constant, function, bound],
        "TypeError" => &[counted, inside, property],
        _ => &[],
    };
    looks.iter().find_map(|look| look(&failed))
}

/// Statements that Python has and that begin with a word of their own.
fn first_word(failed: &Failed) -> Option<String> {
    let statement = failed.line.trim_start().trim_start_matches('}').trim();
    let (word, rest) = statement.split_once([' ', ':']).unwrap_or((statement, ""));
    let blocks = rest.contains('{');
    let rest = rest.trim().trim_end_matches([':', ';']).trim();
    if rest.starts_with('=') {
        // A variable of that name.
        return None;
    }
    Some(match word {
        "import" | "from" => {
            "nothing is imported: `torch.ones` is `ones` here, `torch.nn.Linear` is `nn::Linear`".into()
        }
        "def" => format!("a function is `fn {} {{ … }}`", rest.split("->").next().unwrap_or(rest).trim()),
        "class" => "there are no classes: a module of one's own is `nn::module(#{…}, |self, x| …)`".into(),
        "elif" => format!("`elif` is `else if`: `else if {} {{ … }}`", here(rest)),
        "try" | "except" | "finally" if !blocks => "`try { … } catch (e) { … }` is all there is of it".into(),
        "pass" => "an empty block is `{ }`".into(),
        "del" => format!("`drop({rest})` is Python's `del {rest}`"),
        "assert" => format!("`if !({}) {{ throw \"…\" }}` is Python's `assert`", here(rest)),
        "raise" => "`throw \"…\"` is Python's `raise`".into(),
        "print" if !rest.is_empty() && !statement.starts_with("print(") && !rest.starts_with('(') => {
            format!("`print({})` is a call", here(rest))
        }
        _ if statement.starts_with("%timeit") => "at the prompt it is `:timeit`".into(),
        _ => return None,
    })
}

/// `device="cuda"` among the arguments.
fn option(failed: &Failed) -> Option<String> {
    if !failed.after.starts_with('=') || failed.after.starts_with("==") {
        return None;
    }
    let name = last_name(failed.before.trim_end());
    let inside = failed.before.trim_end().strip_suffix(name)?;
    if name.is_empty() || !inside.trim_end().ends_with(['(', ',']) {
        return None;
    }
    let written = until_closed(failed.after);
    let all = format!("{name}{written}");
    let options: Vec<String> = parts(&all)
        .iter()
        .filter_map(|part| part.split_once('='))
        .map(|(name, value)| format!("{}: {}", name.trim(), here(value)))
        .collect();
    Some(format!("options stand in a map: `#{{{}}}` for `{}`", options.join(", "), all.trim()))
}

/// `x[:, 0]` and `x[0:2]`.
fn place(failed: &Failed) -> Option<String> {
    let open = failed.before.rfind('[').filter(|_| failed.after.starts_with([',', ':']))?;
    let name = last_name(failed.before.get(..open)?);
    let inside = until_closed(failed.line.get(open + 1..)?);
    if name.is_empty() {
        return None;
    }
    let places: Vec<String> = parts(inside).iter().map(|part| one_place(part)).collect();
    Some(match places.as_slice() {
        [one] if one.contains("..") => format!("`{name}[{one}]` is Python's `{name}[{inside}]`"),
        _ => format!("`{name}.at([{}])` is Python's `{name}[{inside}]`", places.join(", ")),
    })
}

fn one_place(part: &str) -> String {
    match part.trim().split_once(':') {
        Some(("", "")) => "()".into(),
        Some((from, to)) => {
            let (from, to) = (from.trim(), to.trim());
            let end = if to.is_empty() { "<the end>" } else { to };
            format!("{}..{end}", if from.is_empty() { "0" } else { from })
        }
        None => here(part),
    }
}

/// `'hello'` and `f"{x}"`.
fn text(failed: &Failed) -> Option<String> {
    let before = failed.before.strip_suffix('f').filter(|rest| last_name(rest).is_empty());
    if before.is_some() && failed.after.starts_with(['"', '\'']) {
        return Some(
            "values stand in a text between back quotes: `` `x is ${x}` `` is Python's `f\"x is {x}\"`"
                .into(),
        );
    }
    let quoted = failed.after.strip_prefix('\'')?;
    let inside = quoted.split('\'').next()?;
    failed
        .fault
        .message
        .starts_with("Invalid character")
        .then(|| format!("a text stands in double quotes: `\"{inside}\"`"))
}

fn comment(failed: &Failed) -> Option<String> {
    let is = failed.after.starts_with('#') && !failed.after.starts_with("#{");
    is.then(|| "a comment begins with `//`".into())
}

/// Words between values: `and`, `not`, `lambda`, `a if c else b`.
fn word(failed: &Failed) -> Option<String> {
    let next = first_name(failed.after);
    let last = last_name(failed.before.trim_end());
    Some(match (last, next) {
        (_, "and") => "`&&` is Python's `and`".into(),
        (_, "or") => "`||` is Python's `or`".into(),
        ("not", _) => "`!` is Python's `not`: `!x`, or `!(…)`".into(),
        ("lambda", _) => {
            let (names, value) = failed.after.split_once(':')?;
            format!("`|{}| {}` is Python's `lambda`", names.trim(), here(value.trim_end_matches(';')))
        }
        (_, "if") if failed.after.contains(" else ") => {
            let (condition, other) = failed.after.strip_prefix("if ")?.split_once(" else ")?;
            let value = failed.before.rsplit(['=', '(', ',']).next()?.trim();
            let other = other.trim_end_matches([';', ')']).trim();
            format!("`if` has a value itself: `if {} {{ {value} }} else {{ {other} }}`", here(condition))
        }
        (_, "for") if failed.before.contains('[') => {
            "a loop fills an array: `let all = []; for i in 0..3 { all.push(i) }`, or `array.map(|x| …)`"
                .into()
        }
        _ => return None,
    })
}

/// `a, b = 1, 2`, and a loop over pairs.
fn several(failed: &Failed) -> Option<String> {
    if !failed.after.starts_with(',') {
        return None;
    }
    if failed.fault.message.contains("iteration variable") {
        let (value, _) = failed.after.strip_prefix(',')?.split_once(" in ")?;
        let count = last_name(failed.before);
        return Some(format!(
            "`for ({}, {count}) in …` counts, with the value first; it needs no `enumerate`",
            value.trim()
        ));
    }
    let statement = failed.line.trim().trim_end_matches(';');
    let (left, right) = statement.strip_prefix("let ").unwrap_or(statement).split_once(" = ")?;
    let (left, right) = (parts(left), parts(right));
    if left.iter().any(|name| first_name(name.trim()) != name.trim()) {
        return None;
    }
    if left.len() == right.len() {
        let each =
            left.iter().zip(&right).map(|(name, value)| format!("let {} = {};", name.trim(), here(value)));
        return Some(format!("one name at a time: `{}`", each.collect::<Vec<_>>().join(" ")));
    }
    let each = left.iter().enumerate().map(|(i, name)| format!("let {} = all[{i}];", name.trim()));
    let each = each.collect::<Vec<_>>().join(" ");
    Some(format!("one name at a time: `let all = {}; {each}`", here(right.join(",").trim())))
}

/// `{"a": 1}`.
fn map(failed: &Failed) -> Option<String> {
    let key = failed.before.trim_end().strip_suffix('"')?.rsplit('"').next()?;
    let is = failed.after.starts_with(':') && failed.before.contains('{');
    is.then(|| format!("a map is `#{{{key}: …}}`"))
}

/// `for i in range(3):` and all else whose block begins with a colon.
fn block(failed: &Failed) -> Option<String> {
    let code = failed.line.split('#').next()?.trim();
    let head = code.strip_suffix(':').filter(|_| failed.after.starts_with(':'))?;
    let words = ["for", "while", "if", "else", "with"];
    words.contains(&first_name(head)).then(|| format!("a block stands in braces: `{} {{ … }}`", here(head)))
}

/// `help(softmax)`.
fn help_on(failed: &Failed) -> Option<String> {
    let asked =
        if failed.before.ends_with("help(") { failed.after } else { failed.after.strip_prefix("help(")? };
    let name = first_name(asked);
    let name = if name.is_empty() { "name" } else { name };
    Some(format!("`?{name}` at the prompt, Alt-h in the lab, `tensorlab docs {name}` elsewhere"))
}

/// `torch.ones`, `nn.Linear`, `np.zeros`.
fn path(failed: &Failed) -> Option<String> {
    let end = failed.after.find(|c: char| !is_name(c) && c != '.').unwrap_or(failed.after.len());
    let written = failed.after.get(..end)?;
    let (root, rest) = written.split_once('.')?;
    let full = match root {
        "torch" => written.to_owned(),
        "np" | "numpy" => format!("torch.{rest}"),
        "F" => format!("torch.nn.functional.{rest}"),
        "nn" | "optim" | "cuda" | "linalg" | "autograd" | "amp" => format!("torch.{written}"),
        _ => return None,
    };
    let last = full.rsplit('.').next()?;
    let mut of = rows().filter(|def| def.name == last);
    let name = match full.contains(".functional.") {
        true => of.find(|def| def.forms.contains(&Form::Functional)).map(|_| format!("F::{last}")),
        false => of
            .find(|def| torch_path(def).as_deref() == Some(&full))
            .and_then(|def| names(def).into_iter().next()),
    };
    Some(match (name, root) {
        (Some(name), "np" | "numpy") => format!("tensors do that here: `{name}` for `{written}`"),
        (Some(name), _) => format!("`{name}` is Python's `{written}`"),
        (None, "torch" | "np" | "numpy") => {
            format!("`{root}` is not imported: its functions have their names alone")
        }
        (None, root) => format!("what a module has follows `::`, as in `{root}::{rest}`"),
    })
}

/// `True` and `None`.
fn constant(failed: &Failed) -> Option<String> {
    let of = match failed.fault.missing.as_deref()? {
        "True" => "true",
        "False" => "false",
        "None" => "()",
        _ => return None,
    };
    Some(format!("`{of}` is Python's `{}`", first_name(failed.after)))
}

/// Functions that Python has built in.
fn function(failed: &Failed) -> Option<String> {
    let (name, inside) = failed.after.split_once('(')?;
    let argument = parts(until_closed(inside)).first().map(|part| here(part)).unwrap_or_default();
    Some(match name {
        "str" => format!("`({argument}).to_string()` is Python's `str`; a text and a value join by `+`"),
        "int" => format!("`({argument}).to_int()` is Python's `int`"),
        "float" => format!("`({argument}).to_float()` is Python's `float`"),
        "isinstance" | "type" => format!("`type_of({argument})` gives the name of its type"),
        "enumerate" => format!("`for (value, i) in {argument}` counts by itself"),
        "help" => return help_on(failed),
        _ => return None,
    })
}

/// `x = ones([3])` where there is no x yet.
fn bound(failed: &Failed) -> Option<String> {
    let name = failed.fault.missing.as_deref()?;
    let rest = failed.after.strip_prefix(name)?.trim_start();
    let begins = failed.before.trim().is_empty() || failed.before.trim_end().ends_with([';', '{', '}']);
    let assigned = rest.strip_prefix('=').filter(|rest| !rest.starts_with('='))?;
    let value = assigned.split(';').next()?.trim();
    begins.then(|| format!("a new variable begins with `let`: `let {name} = {};`", here(value)))
}

/// `range(3)`.
fn counted(failed: &Failed) -> Option<String> {
    let inside =
        failed.after.strip_prefix("range(").or_else(|| failed.after.strip_prefix("(")).map(until_closed)?;
    let is = failed.fault.message.starts_with("range()") && parts(inside).len() == 1;
    is.then(|| format!("`0..{inside}` counts from 0 on: `for i in 0..{inside} {{ … }}`"))
}

/// `Linear(3, 2)` without its module.
fn inside(failed: &Failed) -> Option<String> {
    let name = failed.fault.message.split_once("() does not take")?.0;
    let before = failed.before.strip_suffix(name).unwrap_or(failed.before);
    if before.ends_with("::") || before.ends_with('.') {
        return None;
    }
    let mut of = rows().filter(|def| def.name == name).peekable();
    of.peek()?;
    let of: Vec<_> = of.collect();
    let alone = |form: &Form| matches!(form, Form::Function | Form::Method | Form::Property);
    if of.iter().flat_map(|def| def.forms).any(alone) {
        return None;
    }
    let full = of.into_iter().flat_map(names).find(|full| full.contains("::"))?;
    Some(format!("it stands in a module: `{full}(…)`"))
}

/// `x.shape()`, and `len(x)` of a tensor.
fn property(failed: &Failed) -> Option<String> {
    let (name, given) = failed.fault.message.split_once("() does not take ")?;
    let called = given == "(Tensor)";
    if name == "len" && called {
        return Some("`x.size(0)` is Python's `len(x)` of a tensor; `x.numel()` counts its elements".into());
    }
    let is = |form: &Form| matches!(form, Form::Property);
    let mut of = rows().filter(|def| def.name == name);
    let found = called && of.any(|def| def.forms.iter().all(is));
    found.then(|| format!("it is no function: `.{name}` alone"))
}

/// A piece of Python in the words that are used here, as far as single words go.
fn here(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code.trim();
    while let Some(c) = rest.chars().next() {
        let name = first_name(rest);
        let taken = match (name, c) {
            ("", '\'' | '"') => {
                let inside = rest.get(1..).and_then(|rest| rest.split(c).next()).unwrap_or_default();
                out += &format!("\"{inside}\"");
                inside.len() + 2
            }
            ("", _) => {
                out.push(c);
                c.len_utf8()
            }
            _ => {
                let after = rest.get(name.len()..).unwrap_or_default();
                let (word, taken) = match name {
                    "True" => ("true".into(), name.len()),
                    "False" => ("false".into(), name.len()),
                    "None" => ("()".into(), name.len()),
                    "and" => ("&&".into(), name.len()),
                    "or" => ("||".into(), name.len()),
                    "not" => ("!".into(), name.len() + usize::from(after.starts_with(' '))),
                    "range" if after.starts_with('(') => {
                        let inside = until_closed(after.get(1..).unwrap_or_default());
                        let length = name.len() + inside.len() + 2;
                        match parts(inside).as_slice() {
                            [to] => (format!("0..{}", here(to)), length),
                            [from, to] => (format!("{}..{}", here(from), here(to)), length),
                            _ => (name.to_owned(), name.len()),
                        }
                    }
                    "torch" if after.starts_with('.') => (String::new(), name.len() + 1),
                    _ => (name.to_owned(), name.len()),
                };
                out += &word;
                taken
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name that a text begins with.
fn first_name(text: &str) -> &str {
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    text.get(..end).filter(|name| !name.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
}

/// The name that a text ends with.
fn last_name(text: &str) -> &str {
    let start = text
        .rfind(|c| !is_name(c))
        .map_or(0, |at| at + text.get(at..).map_or(1, |rest| rest.chars().next().map_or(1, char::len_utf8)));
    text.get(start..).unwrap_or_default()
}

/// What stands before the bracket that was open before.
fn until_closed(text: &str) -> &str {
    let mut depth = 0usize;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => return text.get(..at).unwrap_or_default(),
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    text
}

/// What commas divide, outside of brackets and texts.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let mut quote = None;
    text.split(|c: char| {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') => return depth == 0,
            _ => {}
        }
        false
    })
    .collect()
}
