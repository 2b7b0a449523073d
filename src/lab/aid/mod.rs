//! What helps while typing: completions, help on a name, find, the list of actions, cells run before.

pub mod fuzzy;

mod completing;
mod picker;

pub use completing::Completing;
pub use picker::{Entry, Picker};

use super::editor::{Editor, Pos};
use super::item::ItemState;
use super::vi::Vi;
use crate::script::complete::Known;

/// Cells taken away that can be brought back.
const MAX_DELETED: usize = 50;

/// State of what helps.
#[derive(Debug, Default)]
pub struct Aid {
    /// The variables of the session, as it told them last.
    pub known: Vec<Known>,
    pub completing: Option<Completing>,
    /// What the palette or the search in the history is choosing from.
    pub picker: Option<Picker>,
    pub doc: Option<Doc>,
    pub find: Find,
    /// Text that was cut or copied.
    pub clip: String,
    /// Code that was run, the newest last.
    pub past: Vec<String>,
    /// Cells that were taken away, the last one last, with their steps and places.
    pub deleted: Vec<(usize, usize, ItemState)>,
    /// Where the cell stood that was taken away last.
    pub first_place: usize,
    /// The first of two keys was pressed.
    pub first_key: Option<char>,
    /// The Python beside the code is shown.
    pub python: bool,
    /// Where the mouse began to select.
    pub pressed: Option<Pos>,
    /// Vi keys, where they are wanted.
    pub vi: Option<Vi>,
}

/// A page of help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Doc {
    pub title: String,
    pub lines: Vec<String>,
}

/// What is looked for in a cell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Find {
    pub text: String,
    /// Where the cursor stood before.
    pub from: Pos,
}

impl Aid {
    pub fn remember(&mut self, code: &str) -> bool {
        let code = code.trim_end();
        if code.trim().is_empty() || self.past.last().is_some_and(|last| last == code) {
            return false;
        }
        self.past.push(code.to_owned());
        true
    }

    /// Drops what belongs to the document that was open.
    pub fn forget_document(&mut self) {
        (self.completing, self.picker, self.doc) = (None, None, None);
        self.deleted.clear();
        (self.first_key, self.pressed) = (None, None);
    }

    pub fn keep_deleted(&mut self, step: usize, at: usize, item: ItemState) {
        if self.deleted.len() >= MAX_DELETED {
            self.deleted.remove(0);
        }
        self.deleted.push((step, at, item));
    }
}

/// The byte of the text at the cursor.
pub fn cursor_byte(editor: &Editor) -> usize {
    byte_of(editor.lines(), editor.cursor())
}

/// The byte of a place in some lines.
pub fn byte_of(lines: &[String], at: Pos) -> usize {
    let before: usize = lines.iter().take(at.row).map(|line| line.len() + 1).sum();
    let line = lines.get(at.row).map(String::as_str).unwrap_or_default();
    before + line.char_indices().nth(at.col).map_or(line.len(), |(byte, _)| byte)
}

/// The place of a byte of some lines.
pub fn place_of(lines: &[String], byte: usize) -> Pos {
    let mut rest = byte;
    for (row, line) in lines.iter().enumerate() {
        if rest <= line.len() {
            return Pos { row, col: line.get(..rest).map_or(0, |head| head.chars().count()) };
        }
        rest -= line.len() + 1;
    }
    Pos { row: lines.len().saturating_sub(1), col: usize::MAX }
}
