//! Movements over words.

use crate::lab::model::editor::{Editor, Pos};

/// What a character is to a movement over words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Space,
    Word,
    Sign,
}

impl Class {
    pub(crate) fn of(c: char) -> Class {
        if c.is_whitespace() {
            Class::Space
        } else if c.is_alphanumeric() || c == '_' {
            Class::Word
        } else {
            Class::Sign
        }
    }
}

impl Editor {
    /// What stands at a place; the end of a line is space.
    pub(crate) fn class(&self, at: Pos) -> Class {
        self.char_at(at).map_or(Class::Space, Class::of)
    }

    pub(crate) fn char_at(&self, at: Pos) -> Option<char> {
        self.line(at.row).chars().nth(at.col)
    }

    /// To the start of the word before the cursor.
    pub(crate) fn word_left(&mut self) {
        let mut at = self.before(self.cursor);
        let starts_word = |at: Pos| self.in_word(at) && (at.col == 0 || !self.in_word(self.before(at)));
        while at > Pos::default() && !starts_word(at) {
            at = self.before(at);
        }
        self.set_cursor(at);
    }

    /// To the end of the word after the cursor.
    pub(crate) fn word_right(&mut self) {
        let last = self.end_of_text();
        let mut at = self.after(self.cursor);
        let ends_word = |at: Pos| !self.in_word(at) && at.col > 0 && self.in_word(self.before(at));
        while at < last && !ends_word(at) {
            at = self.after(at);
        }
        self.set_cursor(at);
    }

    /// Deletes back to the start of the word before the cursor.
    pub(crate) fn delete_word_left(&mut self) {
        if self.remove_selection() {
            return;
        }
        let end = self.cursor;
        self.word_left();
        let start = self.cursor;
        self.change(start, end, "");
    }

    fn in_word(&self, at: Pos) -> bool {
        self.class(at) == Class::Word
    }
}
