//! Marks: lines that say what is lost in the statement that they stand before.

use super::book::Idiom;
use super::tree::{Expr, IndexPlace};
use super::writer::Writer;

impl Writer<'_> {
    /// Has a line stand before the statement that says what is not done here as it is in Python.
    pub(super) fn mark(&mut self, what: &str) {
        self.uses(Idiom::Unknown);
        let line = format!("// ? {what}");
        if !self.marks.contains(&line) {
            self.marks.push(line);
        }
    }
}

/// Whether a value is a variable or stands in one: what is written there stays, and it may be read twice.
pub(super) fn is_place(value: &Expr) -> bool {
    match value {
        Expr::Name(_) => true,
        Expr::Attr(on, _) => is_place(on),
        Expr::Index(on, places) => {
            let is_plain = |place: &IndexPlace| match place {
                IndexPlace::One(at) => matches!(at, Expr::Number(_) | Expr::Text(_)) || is_place(at),
                _ => false,
            };
            is_place(on) && places.iter().all(is_plain)
        }
        _ => false,
    }
}
