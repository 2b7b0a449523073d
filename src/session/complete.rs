//! Completions from the op table, the modules and the scope; nothing is evaluated.

use crate::op::args::signature;
use crate::op::{Form, OpDef};
use crate::script::{Interpreter, help};

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
    } else if let Some(space) = module(head) {
        members(space, prefix)
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

/// The module that the text before a name ends in: `nn::utils` of `x + nn::utils::`.
fn module(head: &str) -> Option<&str> {
    let path = head.strip_suffix("::")?;
    let start = path.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').map_or(0, |i| i + 1);
    path.get(start..).filter(|space| !space.is_empty())
}

/// What a module has: rows of the tables, and functions that have only a page. Of a module that neither knows, any
/// name.
fn members(space: &str, prefix: &str) -> Vec<Completion> {
    let within = |d: &&OpDef| d.forms.iter().any(|f| matches!(f, Form::Of(s) if *s == space));
    let row =
        |d: &OpDef| Completion { text: d.name.into(), signature: signature(d), summary: d.summary.into() };
    let page = |page: &help::Page| {
        let name = page.name.strip_prefix(space)?.strip_prefix("::").filter(|name| !name.contains("::"))?;
        let signature = page.call.strip_prefix(space)?.strip_prefix("::")?;
        Some(Completion { text: name.into(), signature: signature.into(), summary: page.text.into() })
    };
    let mut all: Vec<Completion> = help::rows().filter(within).map(row).collect();
    all.extend(help::pages().filter_map(page));
    if all.is_empty() {
        all = crate::script::modules::names().into_iter().map(plain).collect();
    }
    all.retain(|item| item.text.starts_with(prefix));
    all
}

fn scope(interpreter: &Interpreter, prefix: &str) -> Vec<Completion> {
    let names = interpreter.scope().iter_raw().map(|(name, _, _)| name);
    names.filter(|n| n.starts_with(prefix)).map(plain).collect()
}

fn plain(name: &str) -> Completion {
    Completion { text: name.into(), signature: String::new(), summary: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_has_its_own_names() {
        assert_eq!(module("x + nn::utils::"), Some("nn::utils"));
        assert_eq!((module("x."), module("::")), (None, None));
        let names = |space, prefix| -> Vec<String> {
            members(space, prefix).into_iter().map(|item| item.signature).collect()
        };
        let linear = names("nn", "Line");
        assert!(linear.iter().any(|call| call.starts_with("Linear(in_features")), "{linear:?}");
        assert!(names("plot", "hea")[0].starts_with("heatmap("));
        assert!(names("optim", "Line").is_empty());
    }
}
