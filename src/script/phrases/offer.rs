//! Statements as they are written and as they should be.

use crate::script::whole::{self, Wholeness};

use super::book::Idiom;

/// A statement of the code, and what stands for it.
pub(super) struct Offer<'c> {
    /// From and up to which line, from 0.
    pub lines: (usize, usize),
    /// Where its first token begins, in bytes.
    pub start: usize,
    pub written: &'c str,
    /// The lines in its place; none where it can't be read.
    pub rewritten: Option<Vec<String>>,
    pub used: Vec<Idiom>,
    /// Whether values in it are written otherwise, such as numbers with the point that they have in Python.
    pub pointed: bool,
    /// The line at which reading it has ended, from 0.
    pub stuck: Option<usize>,
    /// Whether the code is Python's throughout: what of it can't be read is no Rhai.
    pub python: bool,
}

impl Offer<'_> {
    pub(super) fn is_changed(&self) -> bool {
        self.rewritten.is_some() && !self.used.is_empty()
    }

    /// The statement as it should be.
    pub(super) fn text(&self) -> String {
        match &self.rewritten {
            Some(lines) if self.is_changed() || self.pointed => lines.join("\n"),
            None if self.is_unknown() => {
                let told = |(at, line): (usize, &str)| match self.stuck {
                    Some(stuck) if stuck == self.lines.0 + at => format!("// ? {line}  <- not known"),
                    _ => format!("// ? {line}"),
                };
                self.written.lines().enumerate().map(told).collect::<Vec<_>>().join("\n")
            }
            _ => self.written.to_owned(),
        }
    }

    /// Which of its lines it is that can't be read.
    pub(super) fn told_line(&self) -> String {
        let line = self.stuck.and_then(|stuck| self.written.lines().nth(stuck.checked_sub(self.lines.0)?));
        line.map_or(String::new(), |line| format!("; `{}` is the line that isn't known", line.trim()))
    }

    /// Whether it is neither read nor Rhai's.
    pub(super) fn is_unknown(&self) -> bool {
        self.python
            && self.rewritten.is_none()
            && (!self.used.is_empty() || whole::wholeness(self.written) != Wholeness::Whole)
    }
}
