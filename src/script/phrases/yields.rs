//! Generators, which give all of their values at once here: an array is filled, where nothing tells the difference.

use super::book::Idiom;
use super::lex::TokenKind;
use super::statements::Statements;

impl Statements<'_, '_, '_> {
    /// Whether the block behind a head gives values one by one, and may give them all at once: it ends, and nobody asks it
    /// for one alone.
    pub(super) fn fills_array(&self, column: usize) -> bool {
        let inside = self.inside(column);
        let word = |text: &str| inside.iter().any(|token| token.text == text);
        let endless = inside
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.text == "while" && matches!(b.text, "True" | "1")));
        let alone = |pair: &[&super::lex::Tok]| matches!(pair, [before, own] if own.text == "yield" && before.kind != TokenKind::Line && before.text != ":");
        let asked = self.reader.tokens.windows(2).any(
            |pair| matches!(pair, [a, b] if matches!(a.text, "next" | "islice" | "send") && b.text == "("),
        );
        let is_method = self.writer.within.starts_with('.');
        word("yield")
            && !word("print")
            && !word("def")
            && !endless
            && !asked
            && !is_method
            && !inside.windows(2).any(alone)
    }

    /// `yield x` and `yield from xs`.
    pub(super) fn yields(&mut self) -> Option<Vec<String>> {
        let own = self.writer.filled.clone()?;
        self.reader.at += 1;
        if self.reader.eat("from") {
            let items = self.reader.values()?;
            return Some(vec![format!("{own} += list({});", self.writer.expr(&items)?)]);
        }
        let value = self.reader.values()?;
        Some(vec![format!("{own}.push({});", self.writer.expr(&value)?)])
    }

    /// A function's lines with the array that its values go into.
    pub(super) fn with_filled(&mut self, own: &str, body: Vec<String>) -> Vec<String> {
        self.writer.uses(Idiom::Generator);
        let inside = format!("return {own};");
        let lines = body.into_iter().map(|line| line.replace("return;", &inside));
        [format!("let {own} = [];")].into_iter().chain(lines).chain([own.to_owned()]).collect()
    }
}
