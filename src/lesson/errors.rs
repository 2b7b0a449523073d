//! The errors of one file, as its readers find them.

use std::collections::BTreeSet;

use crate::lesson::error::{LessonError, MAX_ERRORS};
use crate::lesson::source::Source;

/// Collects the errors of one file; every reader of a lesson reports here and goes on. Those that come first in the
/// file are kept and the others counted, so that a file of errors takes no memory and no time of its own.
pub(in crate::lesson) struct Errors<'s> {
    pub source: &'s Source,
    first: BTreeSet<LessonError>,
    hidden: usize,
}

impl<'s> Errors<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        Errors { source, first: BTreeSet::new(), hidden: 0 }
    }

    /// Reports a fault at a line and column of the file, both from 1.
    pub(super) fn at(
        &mut self,
        line: usize,
        column: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.at_with(line, column, || (message.into(), hint.into()));
    }

    /// As [`Errors::at`]; message and hint are made only where they will be listed.
    pub(crate) fn at_with(&mut self, line: usize, column: usize, say: impl FnOnce() -> (String, String)) {
        let place = (line.max(1), column.max(1));
        let full = self.first.len() >= MAX_ERRORS;
        if full && self.first.last().is_some_and(|last| place > (last.line, last.column)) {
            self.hidden += 1;
            return;
        }
        let (message, hint) = say();
        self.insert(self.source.error(line, column, message, hint));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Takes over errors of the same file, and how many more there were.
    pub(super) fn extend(&mut self, more: Vec<LessonError>, hidden: usize) {
        self.hidden += hidden;
        more.into_iter().for_each(|error| self.insert(error));
    }

    fn insert(&mut self, error: LessonError) {
        self.first.insert(error);
        if self.first.len() > MAX_ERRORS {
            self.first.pop_last();
            self.hidden += 1;
        }
    }

    /// All errors in the order of the file, the list cut at a length that a person reads.
    pub(crate) fn into_sorted(self) -> Vec<LessonError> {
        let hidden = self.hidden;
        let mut list: Vec<LessonError> = self.first.into_iter().collect();
        if let Some(last) = list.last().filter(|_| hidden > 0) {
            let rest = LessonError {
                message: format!("{hidden} further errors are not listed"),
                hint: Some("mend the first ones and check again".to_owned()),
                ..last.clone()
            };
            list.push(rest);
        }
        list
    }
}
