//! `xs, ys = zip(*batch)`: what takes a batch of pairs apart.

use super::book::Idiom;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::Holds;

impl Statements<'_, '_, '_> {
    /// One array for each name, where the value is `zip(*rows)`.
    pub(super) fn unzipped(&mut self, targets: &[Expr], value: &Expr) -> Option<Option<Vec<String>>> {
        let Expr::Call(callee, given) = value else { return None };
        let ([Arg { spread: true, value: rows, name: None }], Expr::Name(zip)) =
            (given.as_slice(), callee.as_ref())
        else {
            return None;
        };
        let named = |target: &Expr| matches!(target, Expr::Name(_));
        (zip == "zip" && targets.iter().all(named)).then_some(())?;
        self.writer.uses(Idiom::Zip);
        Some(self.columns(targets, rows))
    }

    fn columns(&mut self, targets: &[Expr], rows: &Expr) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        let of = self.writer.expr(rows)?;
        // What is no name is computed once, and what gets another value on the way is kept.
        let kept = targets.iter().any(|target| matches!(target, Expr::Name(name) if *name == of));
        let is_name = of.chars().all(|c| c.is_alphanumeric() || c == '_');
        let of = match is_name && !kept {
            true => of,
            false => {
                let rows = self.writer.free_name("rows");
                lines.push(format!("let {rows} = {of};"));
                rows
            }
        };
        let row = self.writer.free_name("row");
        for (at, target) in targets.iter().enumerate() {
            if !matches!(target, Expr::Name(name) if name == "_") {
                lines.push(self.one(target, &format!("{of}.map(|{row}| {row}[{at}])"), Holds::Array)?);
            }
        }
        Some(lines)
    }
}
