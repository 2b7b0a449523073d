//! What helps while typing: completions, help on a name, find, the list of actions, cells run before.

pub(crate) mod fuzzy;

pub(crate) mod completing;
pub(crate) mod picker;

use completing::Completing;
use picker::Picker;

use crate::lab::model::editor::Pos;
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::key::Key;
use crate::lab::model::vi::Vi;
use crate::script::complete::Known;

/// Changes of whole cells that can be undone.
const MAX_ARRANGED: usize = 50;

/// State of what helps.
#[derive(Debug, Default)]
pub(crate) struct Aid {
    /// The variables of the session, as it told them last.
    pub known: Vec<Known>,
    pub completing: Option<Completing>,
    /// What the palette or the search in the history is choosing from.
    pub picker: Option<Picker>,
    pub doc: Option<Doc>,
    pub find: Find,
    pub keys_search: KeysSearch,
    /// The name to save under, as it is typed.
    pub name: String,
    /// The devices to go on with, as they are typed.
    pub devices: String,
    /// Text that was cut or copied.
    pub clip: String,
    /// Code that was run, the newest last.
    pub past: Vec<String>,
    /// What was done to whole cells, the last one last.
    arranged: Vec<Arranged>,
    /// The cell that was cut last, until it is pasted.
    pub cut: Option<Key>,
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

/// What was done to whole cells, with what undoes it.
#[derive(Debug)]
pub(crate) enum Arranged {
    /// Cut or deleted, from this place of a step.
    Taken { step: usize, at: usize, item: ItemState },
    /// From this place of a step.
    Moved { key: Key, step: usize, at: usize },
    /// The text of both, and what each got of it.
    Split { first: Key, second: Key, whole: String, parts: (String, String) },
    /// The first one's text before and after, and the second one with its place.
    Merged { first: Key, before: String, joined: String, step: usize, at: usize, second: ItemState },
}

/// A page of help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Doc {
    pub title: String,
    pub lines: Vec<String>,
}

/// What is looked for in the list of keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct KeysSearch {
    pub text: String,
    /// What is typed goes into it.
    pub typing: bool,
}

/// What is looked for in a cell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Find {
    pub text: String,
    /// The cell and the place where it began.
    pub from: Option<(Key, Pos)>,
}

impl Aid {
    pub(crate) fn remember(&mut self, code: &str) -> bool {
        let code = code.trim_end();
        if code.trim().is_empty() || self.past.last().is_some_and(|last| last == code) {
            return false;
        }
        self.past.push(code.to_owned());
        true
    }

    /// Drops what belongs to the document that was open.
    pub(crate) fn forget_document(&mut self) {
        (self.completing, self.picker, self.doc) = (None, None, None);
        self.arranged.clear();
        self.cut = None;
        (self.first_key, self.pressed) = (None, None);
    }

    /// Keeps what was done to whole cells, to be undone.
    pub(crate) fn arranged(&mut self, done: Arranged) {
        if self.arranged.len() >= MAX_ARRANGED {
            self.arranged.remove(0);
        }
        self.arranged.push(done);
    }

    /// A cell that was taken away, with the step and place where it stood; `None` where it was brought back since.
    pub(crate) fn take_back(&mut self, key: Key) -> Option<(usize, usize, Box<CellState>)> {
        let is_of = |done: &Arranged| matches!(done, Arranged::Taken { item: ItemState::Cell(cell), .. } if cell.key == key);
        let found = self.arranged.iter().rposition(is_of)?;
        match self.arranged.remove(found) {
            Arranged::Taken { step, at, item: ItemState::Cell(cell) } => Some((step, at, cell)),
            _ => None,
        }
    }

    /// Something was done to cells that can be undone.
    pub(in crate::lab) fn has_arranged(&self) -> bool {
        !self.arranged.is_empty()
    }

    pub(crate) fn last_arranged(&mut self) -> Option<Arranged> {
        self.arranged.pop()
    }
}
