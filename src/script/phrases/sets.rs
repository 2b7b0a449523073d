//! Sets, which are arrays here without an item twice.

use super::book::Idiom;
use super::tree::{Arg, Expr};
use super::writer::{Holds, Writer};

/// The method that does what a sign does.
const SIGNS: [(&str, &str); 8] = [
    ("|", "union"),
    ("&", "intersection"),
    ("-", "difference"),
    ("^", "symmetric_difference"),
    ("<=", "issubset"),
    (">=", "issuperset"),
    ("==", "="),
    ("!=", "!="),
];

impl Writer<'_> {
    /// `a | b`, `a <= b` and `a == b` of sets.
    pub(super) fn of_sets(&mut self, sign: &str, a: &Expr, b: &Expr) -> Option<String> {
        let (_, method) = SIGNS.iter().find(|(own, _)| *own == sign)?;
        (self.is_set(a) && self.is_set(b)).then_some(())?;
        self.uses(Idiom::Set);
        if let "=" | "!=" = *method {
            let (left, right) = (self.on(a)?, self.on(b)?);
            let x = self.free_name("x");
            let text = format!("({left}.len() == {right}.len() && {left}.all(|{x}| {x} in {right}))");
            let text = self.captured(text);
            return Some(if *method == "=" { text } else { format!("!{text}") });
        }
        let on = self.on(a)?;
        let other = Arg { name: None, spread: false, value: b.clone() };
        self.of_set(&on, method, &[other])
    }

    /// A method of a set.
    pub(super) fn of_set(&mut self, on: &str, name: &str, arguments: &[Arg]) -> Option<String> {
        let text = self.method_by_template((on, Holds::Set), name, arguments)?;
        self.uses(Idiom::Set);
        Some(if text.contains('|') { self.captured(text) } else { text })
    }

    /// `{a, b}`, whose items may be equal.
    pub(super) fn set_of(&mut self, items: &[Expr]) -> Option<String> {
        self.uses(Idiom::Set);
        let all = self.each(items)?;
        let are_plain = items.iter().all(|item| matches!(item, Expr::Number(_) | Expr::Text(_)));
        let text = |item: &Expr| match item {
            Expr::Number(text) | Expr::Text(text) => text.clone(),
            _ => String::new(),
        };
        let twice = items
            .iter()
            .enumerate()
            .any(|(at, item)| items.iter().skip(at + 1).any(|other| text(item) == text(other)));
        Some(match items.len() > 1 && (!are_plain || twice) {
            true => format!("[{all}].reduce(|all, x| if x in all {{ all }} else {{ all + [x] }}, [])"),
            false => format!("[{all}]"),
        })
    }
}
