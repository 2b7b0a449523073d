//! What Python takes as true: a condition is true or false here, and no number, text or array.

use super::book::Idiom;
use super::tree::Expr;
use super::writer::{ATOM, Holds, LOOSE, UNARY, Writer, binds};

/// What asks whether a value is true to Python, and whether it is not, each with how tightly it binds.
type Both = [(String, u8); 2];

/// What Python takes as false.
const NOTHING: &str = "[0, \"\", false, (), [], #{}]";

/// Whether a value may be anything: what compares or is called for it is true or false as it stands.
fn is_unknown(value: &Expr) -> bool {
    match value {
        Expr::Name(name) => !matches!(name.as_str(), "True" | "False"),
        Expr::Index(..) => true,
        Expr::Call(callee, _) => matches!(callee.as_ref(), Expr::Attr(_, name) if name == "get"),
        _ => false,
    }
}

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

    /// Whether Python takes a value as true, even one of which nothing is known.
    pub(super) fn chosen(&mut self, value: &Expr) -> Option<(String, u8)> {
        let around = std::mem::replace(&mut self.chooses, true);
        let text = self.truth(value);
        self.chooses = around;
        text
    }

    /// Whether `a or b` is one of both values, and not true or false.
    pub(super) fn gives_value(&self, a: &Expr, b: &Expr) -> bool {
        let is_value = |value: &Expr| {
            matches!(
                self.kind(value),
                Holds::Array | Holds::Map | Holds::Text | Holds::Int | Holds::Negative | Holds::Float
            ) && !matches!(value, Expr::Compare(..) | Expr::Unary("!", _))
        };
        is_value(a) || self.may_be_none(a) || is_value(b)
    }

    /// `a or b` and `a and b` as the value that Python gives.
    pub(super) fn one_of(&mut self, sign: &str, a: &Expr, b: &Expr) -> Option<(String, u8)> {
        self.uses(Idiom::Truth);
        let (test, a, b) = (self.chosen(a)?.0, self.expr(a)?, self.expr(b)?);
        let (yes, no) = if sign == "||" { (a, b) } else { (b, a) };
        Some((format!("if {test} {{ {yes} }} else {{ {no} }}"), LOOSE))
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

    /// Whether a value is asked what it is: one of which nothing is known, such as a parameter.
    fn asks(&self, value: &Expr) -> bool {
        let is_param = || matches!(value, Expr::Name(name) if self.unclear.contains(name));
        is_unknown(value) && (self.chooses || self.python && is_param())
    }

    /// What asks whether a value is true to Python, and whether it is not; none where that is the value itself.
    fn test(&mut self, value: &Expr) -> Option<Option<Both>> {
        let kind = match self.kind(value) {
            Holds::Other if self.asks(value) => match self.said.no_bool.as_deref() {
                Some("array" | "map") => Holds::Array,
                Some("int") => Holds::Int,
                Some("float") => Holds::Float,
                Some("string") => Holds::Text,
                _ => Holds::Other,
            },
            kind => kind,
        };
        let zero = match kind {
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
            _ if self.may_be_none(value) && !self.chooses => "()",
            Holds::Other if self.asks(value) => {
                self.uses(Idiom::Truth);
                let text = self.bound(value, 111)?;
                return Some(Some(["!in", "in"].map(|sign| (format!("{text} {sign} {NOTHING}"), 110))));
            }
            _ if self.may_be_none(value) => "()",
            _ => return Some(None),
        };
        self.uses(Idiom::Truth);
        let text = self.bound(value, 91)?;
        Some(Some(["!=", "=="].map(|sign| (format!("{text} {sign} {zero}"), 90))))
    }
}
