//! The few Python literals that a `.npy` header is made of.

use super::fault::{Fault, Outcome};

/// Reads literals from the start of a text.
pub(crate) struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    pub(super) fn new(text: &'a str) -> Literal<'a> {
        Literal { rest: text }
    }

    /// The next character that is no space.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Takes `c` where it comes next.
    pub(crate) fn accept(&mut self, c: char) -> bool {
        self.peek();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn expect(&mut self, c: char) -> Outcome<()> {
        if self.accept(c) { Ok(()) } else { Err(self.wrong(&format!("'{c}'"))) }
    }

    /// A string in single or double quotes, without escapes.
    pub(super) fn string(&mut self) -> Outcome<String> {
        let quote = match self.peek() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.wrong("a string")),
        };
        let inside = self.rest.strip_prefix(quote).unwrap_or_default();
        match inside.split_once(quote) {
            Some((text, rest)) if !text.contains('\\') => {
                self.rest = rest;
                Ok(text.to_string())
            }
            _ => Err(self.wrong("a plain string")),
        }
    }

    pub(super) fn bool(&mut self) -> Outcome<bool> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    /// A tuple of at most `most` sizes.
    pub(crate) fn tuple(&mut self, most: usize) -> Outcome<Vec<usize>> {
        self.expect('(')?;
        let mut sizes = Vec::new();
        while !self.accept(')') {
            sizes.push(self.size()?);
            if sizes.len() > most {
                return Err(Fault::invalid(format!("its shape has more than {most} dimensions")));
            }
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }

    /// Nothing but space may be left.
    pub(super) fn end(&mut self) -> Outcome<()> {
        if self.peek().is_none() { Ok(()) } else { Err(self.wrong("its end")) }
    }

    fn size(&mut self) -> Outcome<usize> {
        self.peek();
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        let size = number.parse().map_err(|_| self.wrong("a size"))?;
        // Python 2 marked its long integers.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(size)
    }

    fn wrong(&self, wanted: &str) -> Fault {
        let near: String = self.rest.chars().take(20).collect();
        let near = if near.is_empty() { "the end".to_string() } else { format!("{near:?}") };
        Fault::invalid(format!("its header has {near} where {wanted} is expected"))
    }
}
