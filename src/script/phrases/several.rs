//! Several names on the left of an assignment.

use super::book::Idiom;
use super::statements::Statements;
use super::tree::{self, Expr};
use super::writer::Holds;

impl Statements<'_, '_, '_> {
    /// `a, b = 1, 2`
    pub(super) fn several(&mut self, targets: &[Expr], value: &Expr) -> Option<Vec<String>> {
        self.writer.uses(Idiom::Several);
        let named = |target: &Expr| matches!(target, Expr::Name(name) if name != "_");
        let mut lines = Vec::new();
        let plain = !targets.iter().any(|target| matches!(target, Expr::Unary("*", _)));
        if let Expr::Tuple(values) | Expr::List(values) = value
            && values.len() == targets.len()
            && plain
        {
            let is_simple = |value: &Expr| matches!(value, Expr::Number(_) | Expr::Text(_));
            if values.iter().all(is_simple)
                || targets.iter().all(|target| matches!(target, Expr::Name(name) if !self.is_own(name)))
            {
                for (target, value) in targets.iter().zip(values) {
                    // Nobody asks for it.
                    if matches!(target, Expr::Name(name) if name == "_") {
                        let text = self.writer.expr(value)?;
                        lines.extend((!is_simple(value)).then(|| format!("{text};")));
                        continue;
                    }
                    let (holds, text) = (self.writer.kept(value), self.writer.expr(value)?);
                    lines.push(self.one(target, &text, holds)?);
                    let own = self.writer.expr(target)?;
                    self.note_class(&own, value);
                }
                return Some(lines);
            }
        }
        if let Some(lines) = self.unzipped(targets, value) {
            return lines;
        }
        let all = self.writer.free_name("parts");
        let text = match value {
            Expr::Tuple(values) => format!("[{}]", self.writer.each(values)?),
            value => self.writer.expr(value)?,
        };
        lines.push(format!("let {all} = {text};"));
        let own = |name: &String| self.writer.functions.contains_key(name);
        let is_own = matches!(value, Expr::Call(callee, _) if matches!(callee.as_ref(), Expr::Name(name) if own(name)));
        let names = tree::named_parts(value).filter(|_| !is_own);
        // Imported from `torch.linalg`, it has the name alone.
        let of_linalg = text.starts_with("linalg::svd");
        let names = names.map(|names| if of_linalg { &["U", "S", "Vh"] } else { names });
        // Sizes are integers.
        let holds = if tree::is_sizes(value) { Holds::Int } else { Holds::Other };
        let starred = targets.iter().position(|target| matches!(target, Expr::Unary("*", _)));
        for (at, target) in targets.iter().enumerate() {
            let behind = targets.len() - 1 - at;
            let target = match target {
                Expr::Unary("*", target) => target,
                target => target,
            };
            let part = match names.and_then(|names| names.get(at)) {
                _ if starred == Some(at) && behind == 0 => format!("{all}.extract({at}..)"),
                _ if starred == Some(at) => format!("{all}.extract({at}..{all}.len() - {behind})"),
                _ if starred.is_some_and(|star| star < at) => format!("{all}[-{}]", behind + 1),
                Some(name) => format!("{all}.{name}"),
                None => format!("{all}[{at}]"),
            };
            if let Expr::Tuple(inner) | Expr::List(inner) = target {
                for (at, target) in inner.iter().enumerate() {
                    lines.push(self.one(target, &format!("{part}[{at}]"), Holds::Other)?);
                }
                continue;
            }
            if named(target) || !matches!(target, Expr::Name(_)) {
                let holds = match holds {
                    _ if starred == Some(at) => Holds::Array,
                    Holds::Other if starred.is_none() => self.writer.kind_of_part(value, at),
                    holds => holds,
                };
                lines.push(self.one(target, &part, holds)?);
            }
        }
        Some(lines)
    }
}
