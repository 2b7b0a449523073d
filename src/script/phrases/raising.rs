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
        let value = self.reader.value()?;
        let value = self.error_of(value)?;
        // What led to it is not told.
        if self.reader.eat("from") {
            self.reader.value()?;
        }
        Some(vec![format!("throw {value};")])
    }
}
