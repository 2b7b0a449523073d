//! What Python takes as true: a condition is true or false here, and no number, text or array.

use super::book::Idiom;
use super::tree::Expr;
use super::writer::{ATOM, Holds, UNARY, Writer, binds};

/// What asks whether a value is true to Python, and whether it is not, each with how tightly it binds.
type Both = [(String, u8); 2];

impl Writer<'_> {
    /// What a condition is.
    pub(super) fn condition(&mut self, value: &Expr) -> Option<String> {
        match value {
            Expr::Number(one) if one == "1" => Some("true".into()),
            value => Some(self.truth(value)?.0),
        }
    }

    /// Whether Python takes a value as true.
    pub(super) fn truth(&mut self, value: &Expr) -> Option<(String, u8)> {
        match value {
            Expr::Unary("!", of) => match self.test(of)? {
                Some([_, no]) => Some(no),
                None => Some((format!("!{}", self.bound(of, UNARY)?), UNARY)),
            },
            Expr::Binary(sign @ ("&&" | "||"), a, b) => {
                let level = binds(sign);
                let mut side = |side: &Expr, least: u8| {
                    let (text, power) = self.truth(side)?;
                    Some(if power < least { format!("({text})") } else { text })
                };
                Some((format!("{} {sign} {}", side(a, level)?, side(b, level + 1)?), level))
            }
            value => match self.test(value)? {
                Some([yes, _]) => Some(yes),
                None => self.written(value),
            },
        }
    }

    /// Whether a value is a parameter whose default is None, or a field that keeps one.
    pub(super) fn may_be_none(&self, value: &Expr) -> bool {
        match value {
            Expr::Name(name) => self.optional.contains(name),
            Expr::Attr(on, name) => {
                matches!(on.as_ref(), Expr::Name(on) if on == "self")
                    && self.optional.contains(&format!("self.{name}"))
            }
            _ => false,
        }
    }

    /// What asks whether a value is true to Python, and whether it is not; none where that is the value itself.
    fn test(&mut self, value: &Expr) -> Option<Option<Both>> {
        let zero = match self.kind(value) {
            Holds::Array | Holds::Map => {
                self.uses(Idiom::Truth);
                let on = self.on(value)?;
                return Some(Some([
                    (format!("!{on}.is_empty()"), UNARY),
                    (format!("{on}.is_empty()"), ATOM),
                ]));
            }
            Holds::Text => "\"\"",
            Holds::Float => "0.0",
            Holds::Int => "0",
            Holds::Other if matches!(value, Expr::Binary("%", ..)) => "0",
            _ if self.may_be_none(value) => "()",
            _ => return Some(None),
        };
        self.uses(Idiom::Truth);
        let text = self.bound(value, 91)?;
        Some(Some(["!=", "=="].map(|sign| (format!("{text} {sign} {zero}"), 90))))
    }
}
