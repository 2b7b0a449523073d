//! What helps while typing: completions, help on a name, find, the list of actions, cells run before.

pub(crate) mod fuzzy;

pub(crate) mod completing;
pub(crate) mod picker;

use completing::Completing;
use picker::Picker;

use crate::lab::model::editor::Pos;
use crate::lab::model::item::ItemState;
use crate::lab::model::vi::Vi;
use crate::script::complete::Known;

/// Cells taken away that can be brought back.
const MAX_DELETED: usize = 50;

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
    /// Where the cursor stood before.
    pub from: Pos,
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
        self.deleted.clear();
        (self.first_key, self.pressed) = (None, None);
    }

    pub(crate) fn keep_deleted(&mut self, step: usize, at: usize, item: ItemState) {
        if self.deleted.len() >= MAX_DELETED {
            self.deleted.remove(0);
        }
        self.deleted.push((step, at, item));
    }
}
