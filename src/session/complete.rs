//! Completions from the op table, the modules and the scope; nothing is evaluated.

use crate::op::args::signature;
use crate::op::{Form, OpDef};
use crate::script::Interpreter;

use super::protocol::Completion;

/// At most this many are given.
const MOST: usize = 200;

/// Completions of the name before byte `cursor`, and the byte where that name starts.
pub fn complete(interpreter: &Interpreter, code: &str, cursor: usize) -> (usize, Vec<Completion>) {
    let before = code.get(..cursor).unwrap_or(code);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let start =
        before.rfind(|c| !is_name(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
    let prefix = before.get(start..).unwrap_or("");
    let head = before.get(..start).unwrap_or("");
    let mut items: Vec<Completion> = if head.ends_with('.') {
        rows(prefix, |f| matches!(f, Form::Method | Form::Property))
    } else if head.ends_with("F::") {
        rows(prefix, |f| matches!(f, Form::Functional))
    } else {
        let mut all = scope(interpreter, prefix);
        all.extend(rows(prefix, |f| matches!(f, Form::Function)));
        let known = crate::script::modules::names();
        all.extend(known.into_iter().filter(|n| n.starts_with(prefix)).map(plain));
        all
    };
    let mut seen = std::collections::HashSet::new();
    items.retain(|i| seen.insert(i.text.clone()));
    items.truncate(MOST);
    (start, items)
}

fn rows(prefix: &str, called: impl Fn(&Form) -> bool) -> Vec<Completion> {
    let fits = |d: &&OpDef| d.name.starts_with(prefix) && d.forms.iter().any(&called);
    crate::op::table()
        .filter(fits)
        .map(|d| Completion { text: d.name.into(), signature: signature(d), summary: d.summary.into() })
        .collect()
}

fn scope(interpreter: &Interpreter, prefix: &str) -> Vec<Completion> {
    let names = interpreter.scope().iter_raw().map(|(name, _, _)| name);
    names.filter(|n| n.starts_with(prefix)).map(plain).collect()
}

fn plain(name: &str) -> Completion {
    Completion { text: name.into(), signature: String::new(), summary: String::new() }
}
