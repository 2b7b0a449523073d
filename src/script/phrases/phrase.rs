//! A row of the phrase book.

use super::idiom::Idiom;

/// A line of Python's and what stands for it here.
#[derive(Clone, Copy)]
pub struct Phrase {
    pub idiom: Idiom,
    /// What is told of it; empty where the row above says it.
    pub note: &'static str,
    /// What is there before the line.
    pub given: &'static str,
    pub python: &'static str,
    /// The line here, or a line of those that stand for it; empty where nothing does.
    pub rhai: &'static str,
}

pub(super) const fn phrase(
    idiom: Idiom,
    note: &'static str,
    given: &'static str,
    python: &'static str,
    rhai: &'static str,
) -> Phrase {
    Phrase { idiom, note, given, python, rhai }
}
