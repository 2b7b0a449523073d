//! Variables of Python's that outlive the block that binds them: they are made before it.

use super::blocks::Lines;
use super::book::Idiom;
use super::lex::{Tok, TokenKind};
use super::statements::Statements;
use super::texts;
use super::writer::Holds;

/// Blocks in each other.
const DEEPEST: usize = 8;

impl Statements<'_, '_, '_> {
    /// A variable that a block binds and that is read behind it is made before it.
    pub(super) fn hoisted(&mut self, read: fn(&mut Self) -> Lines) -> Lines {
        if self.depth >= DEEPEST {
            return None;
        }
        let before = self.clone();
        self.ended.clear();
        self.depth += 1;
        let lines = read(self);
        self.depth -= 1;
        let lines = lines?;
        // What a block around has made already stays its own.
        let needed =
            |(name, turns): &&(String, bool)| !self.lifted.contains(name) && self.is_needed(name, *turns);
        let mut bound: Vec<(String, bool)> = Vec::new();
        for (name, turns) in self.ended.iter().filter(needed) {
            match bound.iter_mut().find(|(known, _)| known == name) {
                Some((_, both)) => *both |= turns,
                None => bound.push((name.clone(), *turns)),
            }
        }
        if bound.is_empty() {
            self.ended.extend(before.ended);
            return Some(lines);
        }
        let around = before.lifted.clone();
        *self = before;
        self.writer.uses(Idiom::Hoisted);
        bound.iter().for_each(|(name, _)| self.writer.bind(name, Holds::Other));
        let mut lines: Vec<String> = bound.iter().map(|(name, _)| format!("let {name} = ();")).collect();
        self.lifted.extend(bound.into_iter().filter(|(_, turns)| *turns).map(|(name, _)| name));
        self.depth += 1;
        let rest = read(self);
        self.depth -= 1;
        self.lifted = around;
        lines.extend(rest?);
        Some(lines)
    }

    /// The names that a loop counts with, and what gives their values to variables that outlive it.
    pub(super) fn lifted_turns(&self, names: &[String]) -> (Vec<String>, Vec<String>) {
        let lifted = |name: &&String| self.lifted.contains(name);
        let turn = |name: &String| if lifted(&name) { format!("{name}_") } else { name.clone() };
        let given = names.iter().filter(lifted).map(|name| format!("{name} = {name}_;"));
        (names.iter().map(turn).collect(), given.collect())
    }

    /// Whether what follows in the function around reads a variable; of a loop's (`turns`), before it has another value.
    fn is_needed(&self, name: &str, turns: bool) -> bool {
        let later = self.reader.tokens.get(self.reader.at..).unwrap_or_default();
        let inside = |token: &&Tok| token.kind == TokenKind::Line || token.column >= self.inside;
        let named = |token: &&Tok| match token.kind {
            TokenKind::Name => token.text == name,
            TokenKind::Text => texts::reads(token.text, name),
            _ => false,
        };
        let first = later.iter().take_while(inside).find(named);
        first.is_some_and(|token| !turns || !self.is_bound(name, token.line))
    }

    /// Whether a line gives a name a value or has one of its own.
    fn is_bound(&self, name: &str, line: usize) -> bool {
        let line: Vec<&Tok> = self.reader.tokens.iter().filter(|token| token.line == line).collect();
        let binds = |token: &&&Tok| matches!(token.text, "for" | "def" | "fn" | "lambda" | "|" | "import");
        let assigned =
            |pair: &[&Tok]| matches!(pair, [a, b] if a.text == name && matches!(b.text, "=" | "," | ":"));
        line.iter().any(|token| binds(&token))
            || line.first().is_some_and(|first| first.text == name) && line.windows(2).any(assigned)
    }
}
