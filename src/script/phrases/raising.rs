//! What raises errors: `raise` and `assert`.

use super::book::Idiom;
use super::lex::TokenKind;
use super::statements::Statements;
use super::tree::Expr;
use super::writer::Holds;

impl Statements<'_, '_, '_> {
    pub(super) fn assert(&mut self) -> Option<Vec<String>> {
        // In brackets it is the call that it is here.
        match self.reader.nth(1) {
            "(" => self.reader.at += 1,
            _ => {
                self.word(Idiom::Assert, Vec::new())?;
            }
        }
        let condition = self.reader.value()?;
        if let Expr::Tuple(all) = &condition {
            let all: Option<Vec<String>> = all.iter().map(|value| self.writer.expr(value)).collect();
            return Some(vec![format!("assert({});", all?.join(", "))]);
        }
        let condition = self.writer.expr(&condition)?;
        if !self.reader.eat(",") {
            return Some(vec![format!("assert({condition});")]);
        }
        let message = self.reader.value()?;
        let text = self.writer.expr(&message)?;
        let is_text = self.writer.kind(&message) == Holds::Text || text.starts_with(['"', '`']);
        let text = if is_text { text } else { format!("`${{{text}}}`") };
        Some(vec![format!("assert({condition}, {text});")])
    }

    pub(super) fn raise(&mut self) -> Option<Vec<String>> {
        self.word(Idiom::Raise, Vec::new())?;
        if self.reader.peek().is_none_or(|t| t.kind == TokenKind::Line) {
            let error = self.caught.as_deref().unwrap_or("\"No active exception to reraise\"");
            return Some(vec![format!("throw {error};")]);
        }
        let value = match self.reader.value()? {
            Expr::Call(kind, arguments) if is_kind(&kind) => {
                format!("{}({})", self.writer.expr(&kind)?, self.writer.arguments(&arguments)?)
            }
            // A class of another name is an error all the same, with a message.
            Expr::Call(_, arguments) if !arguments.is_empty() => {
                format!("RuntimeError({})", self.writer.expr(&arguments.first()?.value)?)
            }
            kind if is_kind(&kind) => format!("{}()", self.writer.expr(&kind)?),
            Expr::Call(name, _) => format!("\"{}\"", self.writer.expr(&name)?),
            // What was caught, or a class of another name.
            Expr::Name(name) if self.writer.holds(&name).is_some() => name,
            name => format!("\"{}\"", self.writer.expr(&name)?),
        };
        Some(vec![format!("throw {value};")])
    }
}

/// Whether there is such a class of errors here.
fn is_kind(class: &Expr) -> bool {
    let known = ["RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError"];
    matches!(class, Expr::Name(name) if known.contains(&name.as_str()))
}
