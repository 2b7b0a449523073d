//! Dictionaries go through their keys as these were put in, maps through them in alphabetical order.

use super::statements::Statements;
use super::texts::taken_apart;
use super::tree::Expr;
use super::writer::{Holds, Writer};

/// What is said where the order shows.
const MARK: &str = "a map goes through its names in alphabetical order";

impl Statements<'_, '_, '_> {
    /// Marks a loop through a dictionary whose keys may have another order, where its lines show that order.
    pub(super) fn mark_order(&mut self, items: &Expr, body: &[String]) {
        let shows =
            |line: &String| ["print(", ".push(", " += \"", " += `"].iter().any(|word| line.contains(word));
        if self.writer.python && self.writer.is_unordered(items) && body.iter().any(shows) {
            self.writer.mark(MARK);
        }
    }

    /// Notes whether the keys that a dictionary is made with are in alphabetical order.
    pub(super) fn note_order(&mut self, own: &str, value: &Expr) {
        let is_ordered = match value {
            Expr::Dict(pairs) => in_order(pairs),
            Expr::Name(other) => self.writer.ordered.contains(other),
            _ => false,
        };
        match is_ordered {
            true => self.writer.ordered.insert(own.to_owned()),
            false => self.writer.ordered.remove(own),
        };
    }
}

impl Writer<'_> {
    /// Marks what shows all of a dictionary at once.
    pub(super) fn mark_shown(&mut self, value: &Expr) {
        if self.python && self.is_unordered(value) {
            self.mark(MARK);
        }
    }

    /// Whether a value is a dictionary, or its keys, values or pairs, whose order may be another one.
    fn is_unordered(&self, value: &Expr) -> bool {
        match value {
            Expr::Call(callee, given) => match (callee.as_ref(), given.as_slice()) {
                (Expr::Attr(on, name), []) if matches!(name.as_str(), "items" | "keys" | "values") => {
                    // What is not known is a dictionary as well where it is asked for pairs.
                    let may_be = name == "items"
                        && self.kind(on) == Holds::Other
                        && matches!(on.as_ref(), Expr::Name(_));
                    may_be || self.is_unordered(on)
                }
                (Expr::Name(name), [of, ..]) if matches!(name.as_str(), "list" | "enumerate" | "tuple") => {
                    self.is_unordered(&of.value)
                }
                (Expr::Name(name), _) if name == "dict" => true,
                _ => false,
            },
            Expr::Dict(pairs) => !in_order(pairs),
            value if self.kind(value) == Holds::Map => match super::kinds::place(value) {
                Some(own) => !self.ordered.contains(&own),
                None => matches!(value, Expr::Comprehension(..)),
            },
            _ => false,
        }
    }
}

/// Whether keys are texts in alphabetical order.
fn in_order(pairs: &[(Expr, Expr)]) -> bool {
    let text = |key: &Expr| match key {
        Expr::Text(raw) => taken_apart(raw).map(|(_, _, inside)| inside),
        Expr::Number(number) => Some(number.clone()),
        _ => None,
    };
    let keys: Option<Vec<String>> = pairs.iter().map(|(key, _)| text(key)).collect();
    keys.is_some_and(|keys| keys.is_sorted() && !pairs.is_empty())
}
