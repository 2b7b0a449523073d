//! `(a if c else b).append(x)`: what is chosen is a copy here, so the choice stands around the call.

use super::blocks::written;
use super::book::Idiom;
use super::statements::Statements;
use super::tree::Expr;

impl Statements<'_, '_, '_> {
    /// A method of what a condition chooses, called for both in a branch of its own.
    pub(super) fn of_chosen(&mut self, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, given) = value else { return None };
        let Expr::Attr(on, name) = callee.as_ref() else { return None };
        let Expr::Ternary(a, condition, b) = on.as_ref() else { return None };
        self.writer.python.then_some(())?;
        let of = |on: &Expr| Expr::Call(Expr::Attr(on.clone().into(), name.clone()).into(), given.clone());
        self.writer.uses(Idiom::Ternary);
        let condition = self.writer.condition(condition)?;
        let (first, second) = (self.alone(&of(a))?, self.alone(&of(b))?);
        Some(written(&[(format!("if {condition}"), first), ("else".into(), second)]))
    }
}
