//! What an `except` has caught: Python shows its message where Rhai shows its kind as well.

use super::tree::{Expr, IndexPlace};
use super::writer::Writer;

impl Writer<'_> {
    /// The message of an error that was caught, where the value is such a one or its `args[0]`.
    pub(super) fn message(&self, value: &Expr) -> Option<String> {
        match value {
            Expr::Name(name) if self.caught.contains(name) => Some(format!("{name}.message")),
            Expr::Index(on, places) => match (on.as_ref(), places.as_slice()) {
                (Expr::Attr(error, args), [IndexPlace::One(Expr::Number(first))])
                    if args == "args" && first == "0" =>
                {
                    self.message(error)
                }
                _ => None,
            },
            _ => None,
        }
    }
}
