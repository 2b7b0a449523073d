//! Arrays and maps that are changed where they are a copy: Python has the same one there.

use super::book::Idiom;
use super::statements::Statements;
use super::tree::Expr;
use super::writer::Holds;

/// Methods that change an array or a map.
const METHODS: [&str; 7] = ["push", "append", "insert", "remove", "pop", "clear", "mixin"];

/// Whether lines change the array or the map that a variable has.
pub(super) fn changes(lines: &[String], name: &str) -> bool {
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    lines.iter().any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, from) = line.split_at(at);
            let behind = from.get(name.len()..).unwrap_or_default();
            let method = || {
                let call =
                    behind.strip_prefix('.').and_then(|rest| rest.split_once('(')).map(|(name, _)| name);
                call.is_some_and(|call| METHODS.contains(&call))
            };
            let written = || {
                behind.starts_with('[')
                    && behind.split_once("] ").is_some_and(|(_, rest)| {
                        ["= ", "+= ", "-= ", "*= "].iter().any(|sign| rest.starts_with(sign))
                    })
            };
            let begins = before.trim_end().is_empty() || before.trim_end().ends_with(['{', ';']);
            !before.ends_with(belongs) && (method() || begins && written())
        })
    })
}

impl Statements<'_, '_, '_> {
    /// Has a function give back the one parameter that it changes, where it gives nothing else.
    pub(super) fn gives_back(
        &mut self,
        name: &str,
        params: &[(String, Option<String>)],
        body: &mut Vec<String>,
    ) {
        let gets_back = |body: &[String], param: &str| {
            let start = format!("{param} = ");
            body.iter()
                .filter_map(|line| line.trim_start().strip_prefix(&start))
                .any(|line| self.writer.gives_back.keys().any(|other| line.starts_with(&format!("{other}("))))
        };
        let changed = |param: &str| changes(body, param) || gets_back(body, param);
        let all: Vec<usize> =
            params.iter().enumerate().filter(|(_, (param, _))| changed(param)).map(|(at, _)| at).collect();
        let Some(first) = all.first() else { return };
        self.writer.uses(Idiom::Copied);
        let gives = body.iter().any(|line| super::lex::has_word(line, "return"));
        if let ([_], false, Some((param, _))) = (all.as_slice(), gives, params.get(*first)) {
            body.push(param.clone());
            self.writer.gives_back.insert(name.to_owned(), *first);
        }
    }

    /// Notes whether a variable is a copy of an array or a map, or of what lies in one.
    pub(super) fn note_copy(&mut self, target: &Expr, value: &Expr) {
        let Expr::Name(name) = target else { return };
        let of = match value {
            Expr::Index(on, _) => on,
            value => value,
        };
        let is_copy = matches!(value, Expr::Name(_) | Expr::Index(..))
            && matches!(self.writer.kind(of), Holds::Array | Holds::Map);
        match is_copy {
            true => self.writer.copies.insert(name.clone()),
            false => self.writer.copies.remove(name),
        };
    }
}
