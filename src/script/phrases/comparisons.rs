//! Comparisons: chained ones, those of a type, and what is in a map by a number.

use super::book::Idiom;
use super::tree::Expr;
use super::writer::{ATOM, Holds, UNARY, Writer, binds};

impl Writer<'_> {
    pub(super) fn comparison(&mut self, first: &Expr, rest: &[(&'static str, Expr)]) -> Option<(String, u8)> {
        let none = |value: &Expr| matches!(value, Expr::Name(name) if name == "None");
        let equal = |sign: &str| matches!(sign, "==" | "!=");
        if rest.iter().any(|(sign, _)| equal(sign)) && rest.iter().any(|(sign, _)| !equal(sign)) {
            // `1 < x == true` is Rhai's.
            let mut text = self.bound(first, 90)?;
            for (sign, right) in rest {
                text += &format!(" {sign} {}", self.bound(right, 91)?);
            }
            return Some((text, 90));
        }
        if let [(sign, right)] = rest
            && let Some(found) = self.of_sign(sign, first, right).or_else(|| self.of_sets(sign, first, right))
        {
            return Some((found, ATOM));
        }
        if let (Expr::Call(asks, of), [(sign @ ("is" | "is not" | "==" | "!=" | "in"), class)]) =
            (first, rest)
            && matches!(asks.as_ref(), Expr::Name(name) if name == "type")
            && let Some((one, class)) = self.classes(class)
        {
            self.uses(Idiom::Type);
            let sign = match *sign {
                _ if one == "in" => "in",
                "is not" | "!=" => "!=",
                _ => "==",
            };
            let [of] = of.as_slice() else { return None };
            return Some((format!("{} {sign} {class}", self.type_of(&of.value)?), 90));
        }
        let mut left = first;
        let mut all = Vec::new();
        for (sign, right) in rest {
            let sign = match *sign {
                "is" if none(right) => "==",
                "is not" if none(right) => "!=",
                sign => sign,
            };
            let in_map = matches!(sign, "in" | "!in") && self.kind(right) == Holds::Map;
            all.push(if in_map {
                let on = self.on(right)?;
                format!("{} {sign} {on}", self.key_of(&on, left)?)
            } else if sign == "is not" {
                self.uses(Idiom::IsNot);
                format!("!({} is {})", self.bound(left, 90)?, self.bound(right, 91)?)
            } else {
                let level = binds(sign);
                format!("{} {sign} {}", self.bound(left, level)?, self.bound(right, level + 1)?)
            });
            left = right;
        }
        match rest {
            [(sign, _)] => Some((all.concat(), if *sign == "is not" { UNARY } else { binds(sign) })),
            _ => {
                self.uses(Idiom::Chained);
                Some((all.join(" && "), 60))
            }
        }
    }
}
