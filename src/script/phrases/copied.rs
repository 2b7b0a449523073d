//! Lists, dictionaries and objects that are put into something else or copied without what they hold: where Python has the
//! same one in both, a change of one is marked.

use super::changes::changes;
use super::functions::Parameter;
use super::kinds::place;
use super::objects::Object;
use super::statements::Statements;
use super::tree::{Expr, IndexPlace};
use super::writer::{Holds, Writer};

impl Writer<'_> {
    /// Notes the lists and dictionaries that are put into something else by their names.
    pub(super) fn hand_lists(&mut self, value: &Expr) {
        match value {
            Expr::Name(name) if name != "None" && self.python => {
                let is_list = matches!(self.noted(name), Some(Holds::Array | Holds::Map | Holds::Set));
                if is_list && !self.handed.contains(name) {
                    self.handed.push(name.clone());
                }
            }
            Expr::List(items) | Expr::Tuple(items) => items.iter().for_each(|item| self.hand_lists(item)),
            Expr::Dict(pairs) => pairs.iter().for_each(|(_, item)| self.hand_lists(item)),
            Expr::Binary("*", items, _) if matches!(items.as_ref(), Expr::List(_)) => self.hand_lists(items),
            _ => {}
        }
    }
}

/// What a value copies, but not what that holds: `a` of `a[:]`, `list(a)` and `a.copy()`.
fn copied(value: &Expr) -> Option<&Expr> {
    match value {
        Expr::Index(on, places) if matches!(places.as_slice(), [IndexPlace::Slice(..)]) => Some(on),
        Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
            (Expr::Name(name), [of]) if matches!(name.as_str(), "list" | "dict" | "copy") => Some(&of.value),
            (Expr::Attr(_, name), [of]) if name == "copy" => Some(&of.value),
            (Expr::Attr(on, name), []) if name == "copy" => Some(on),
            _ => None,
        },
        _ => None,
    }
}

impl Statements<'_, '_, '_> {
    /// Notes what an assignment puts into something else, and marks a copy whose lists are changed by one of both names.
    pub(super) fn mark_copied(&mut self, target: &Expr, value: &Expr) {
        if !matches!(target, Expr::Name(_)) || !matches!(value, Expr::Name(_)) {
            self.writer.hand_lists(value);
        }
        let (Some(own), Some(other)) = (place(target), copied(value).and_then(place)) else { return };
        let holds_lists = self.writer.arrays.contains(&format!("{other}[]"));
        if self.writer.python && holds_lists && own != other && self.is_changed_within([&own, &other]) {
            self.writer.mark(&format!(
                "`{own}` has copies of the lists in `{other}`: a change of one isn't seen in the other"
            ));
        }
    }

    /// Says of parameters whose lists Python makes once that each call has its own here.
    pub(super) fn mark_defaults(&mut self, params: &[Parameter], body: &mut Vec<String>) {
        let is_list = |default: &Option<String>| {
            default.as_deref().is_some_and(|default| default.starts_with('[') || default.starts_with("#{"))
        };
        let is_marked = body.iter().any(|line| line.contains("is a copy: what changes in it here"));
        let mut own = params.iter().filter(|(name, default)| is_list(default) && changes(body, name));
        let Some((name, _)) = own.next().filter(|_| self.writer.python && !is_marked) else { return };
        self.writer.uses(super::book::Idiom::Unknown);
        body.insert(0, format!("// ? `{name}` begins anew with each call: Python keeps one for all of them"));
    }
}

impl Object {
    /// What is said of lists that a class keeps itself and its methods change.
    pub(super) fn shared_lists(&self) -> Vec<String> {
        let field = |line: &String| {
            let (name, value) = line.strip_prefix("made.")?.split_once(" = ")?;
            (value.starts_with('[') || value.starts_with("#{")).then(|| name.to_owned())
        };
        let is_own =
            |name: &String| self.made.iter().any(|line| line.starts_with(&format!("made.{name} = ")));
        let is_changed =
            |name: &String| self.methods.iter().any(|(.., body)| changes(body, &format!("this.{name}")));
        let all = self.fields.iter().filter_map(field).filter(|name| !is_own(name) && is_changed(name));
        all.map(|name| {
            format!("// ? each object has `{name}` of its own: in Python it is one for all of them")
        })
        .collect()
    }
}
