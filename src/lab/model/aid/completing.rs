//! The list of names that could be typed.

use crate::lab::model::editor::Pos;
use crate::script::complete::{Candidate, Known, complete};

/// Rows of the list.
pub(crate) const ROWS: usize = 8;

/// Completions while they are shown. Their place and size are fixed when they open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Completing {
    /// Where the name begins.
    pub start: Pos,
    /// The name's first byte in the code.
    pub byte: usize,
    pub found: Vec<Candidate>,
    pub selected: usize,
    /// Columns of the names, and rows.
    pub columns: usize,
    pub rows: usize,
}

impl Completing {
    /// What fits at a byte of the code; `None` where nothing does.
    pub(crate) fn open(known: &[Known], code: &str, cursor: usize, at: Pos) -> Option<Completing> {
        let (byte, found) = complete(known, code, cursor);
        let typed = code.get(byte..cursor)?.chars().count();
        let widest = found.iter().map(|c| c.text.chars().count()).max()?;
        Some(Completing {
            start: Pos { col: at.col.saturating_sub(typed), ..at },
            byte,
            selected: 0,
            columns: widest.clamp(8, 28),
            rows: found.len().min(ROWS),
            found,
        })
    }

    /// Narrows the list to what is typed now; false where the place was left or nothing fits any more.
    pub(crate) fn narrow(&mut self, known: &[Known], code: &str, cursor: usize) -> bool {
        let (byte, found) = complete(known, code, cursor);
        if byte != self.byte || found.is_empty() {
            return false;
        }
        (self.found, self.selected) = (found, 0);
        true
    }

    pub(crate) fn go(&mut self, forward: bool) {
        let count = self.found.len().max(1);
        let by = if forward { 1 } else { count - 1 };
        self.selected = (self.selected + by) % count;
    }

    pub(crate) fn chosen(&self) -> Option<&Candidate> {
        self.found.get(self.selected)
    }

    /// The first row shown.
    pub(crate) fn top(&self) -> usize {
        (self.selected + 1).saturating_sub(self.rows)
    }

    /// What all names that begin as typed begin with, where that is more.
    pub(crate) fn common(&self, typed: &str) -> Option<String> {
        let first = &self.found.first()?.text;
        let all = self.found.iter().map(|c| &c.text).filter(|text| text.starts_with(typed));
        let shared = all.fold(first.chars().count(), |n, text| {
            first.chars().zip(text.chars()).take(n).take_while(|(a, b)| a == b).count()
        });
        let common: String = first.chars().take(shared).collect();
        (common.len() > typed.len() && common.starts_with(typed)).then_some(common)
    }
}
