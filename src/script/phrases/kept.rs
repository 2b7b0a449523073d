//! What a loop changes of the items that it goes through: a variable has a copy of each here.

use super::book::Idiom;
use super::changes::{adds, changes, grows};
use super::kinds::place;
use super::lex::has_word;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::Holds;

/// What leaves a round of a loop before its end.
pub(super) const LEAVES: [&str; 3] = ["continue", "break", "return"];

impl Statements<'_, '_, '_> {
    /// Has a loop write each item that it changes where it comes from, or says that the change is lost.
    pub(super) fn written_back(
        &mut self,
        (head, names): (String, &[String]),
        items: &Expr,
        body: &mut Vec<String>,
    ) -> String {
        let by_object = |name: &str| self.writer.changes_object(body, name) || self.gets_back(body, name);
        let changed = |name: &&String| changes(body, name) || by_object(name);
        let (true, Some(name)) = (self.writer.python, names.iter().find(changed).cloned()) else {
            return head;
        };
        // What an optimizer has is its own.
        let is_own = matches!(items, Expr::Attr(_, name) if name == "param_groups");
        if names.len() == 1 && (is_own || self.writer.kind(items) == Holds::Tensor) {
            return head;
        }
        // A name that is given another value is no item any more.
        let got_back = &self.writer.got_back;
        let own = |line: &str| got_back.iter().any(|(_, own)| line.trim_end_matches(';') == own);
        if body
            .iter()
            .any(|line| line.trim_start().starts_with(&format!("{name} = ")) && !own(line.trim_start()))
        {
            return head;
        }
        // The item is written back behind all of it.
        let skips = body.iter().any(|line| LEAVES.iter().any(|word| has_word(line, word)));
        if let (Some((head, target)), false) = (self.source(&head, names, items, &name), skips) {
            self.writer.uses(Idiom::Copied);
            body.push(format!("{target} = {name};"));
            return head;
        }
        // What a loader gives may be given another value: it is nobody else's.
        if grows(body, &name) || adds(body, &name) || by_object(&name) {
            self.writer.uses(Idiom::Unknown);
            body.push(format!("// ? `{name}` is a copy: what changes in it here is lost"));
        }
        head
    }

    /// The loop's head with a name for the place of an item, and that place.
    fn source(&self, head: &str, names: &[String], items: &Expr, name: &str) -> Option<(String, String)> {
        let called = match items {
            Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
                (Expr::Attr(on, method), []) => Some((method.as_str(), on.as_ref())),
                (Expr::Name(function), [Arg { value, name: None, spread: false }]) => {
                    Some((function.as_str(), value))
                }
                _ => None,
            },
            _ => None,
        };
        let at = |wanted: &str| self.writer.free_name(wanted);
        Some(match (called, names) {
            // A loader or a tensor has no places that an item could be put back to.
            (None, [_]) if self.writer.kind(items) == Holds::Array => {
                let (of, at) = (place(items)?, at("at"));
                head.ends_with(&format!(" in {of}")).then_some(())?;
                (format!("for ({at}, {name}) in enumerate({of})"), format!("{of}[{at}]"))
            }
            (Some(("values", of)), [_]) => {
                let (of, at) = (place(of)?, at("key"));
                (format!("for ({at}, {name}) in {of}.items()"), format!("{of}[{at}]"))
            }
            (Some((way @ ("items" | "enumerate"), of)), [key, value])
                if value == name && (way == "items" || self.writer.kind(of) == Holds::Array) =>
            {
                head.starts_with(&format!("for ({key}, {value}) ")).then_some(())?;
                (head.to_owned(), format!("{}[{key}]", place(of)?))
            }
            _ => return None,
        })
    }
}
