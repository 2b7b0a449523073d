//! A notebook: cells in order, and the changes that can be made to it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::session::protocol::Usage;

use super::cell::{Cell, Kind};
use super::hash::Hash;
use super::output::{Fields, Output};

/// Cells and what is said of all of them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Notebook {
    /// Their ids are unique; [`Notebook::insert`] sees to it.
    pub cells: Vec<Cell>,
    pub metadata: Fields,
    /// Fields of an `.ipynb` that are not known here.
    pub extra: Fields,
    /// Lines of the `.rhai` file end in `\r\n`.
    pub(super) crlf: bool,
    /// The `.rhai` file begins with a byte order mark.
    pub(super) bom: bool,
}

/// One change. Whoever edits makes one, applies it, and records it in the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// `removed` bytes of the source give way to a text, `at` bytes from its beginning.
    Source {
        id: String,
        at: usize,
        removed: usize,
        inserted: String,
    },
    Kind {
        id: String,
        kind: Kind,
    },
    Metadata {
        id: String,
        metadata: Fields,
    },
    Insert {
        at: usize,
        cell: Box<Cell>,
    },
    Remove {
        id: String,
    },
    /// To a place among the other cells.
    Move {
        id: String,
        to: usize,
    },
    /// A cell has run: the content that ran and what it gave.
    Ran {
        id: String,
        hash: Hash,
        execution_count: Option<u64>,
        outputs: Vec<Output>,
        usage: Option<Box<Usage>>,
    },
    ClearOutputs {
        id: String,
    },
}

impl Notebook {
    /// A notebook of these cells, with ids for those that have none.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Notebook {
        let mut notebook = Notebook { cells: cells.into_iter().collect(), ..Notebook::default() };
        notebook.identify();
        notebook
    }

    /// The language of the code cells, `rhai` where nothing says otherwise.
    pub fn language(&self) -> &str {
        let said = |object: &str, field: &str| self.metadata.get(object)?.get(field)?.as_str();
        said("language_info", "name").or_else(|| said("kernelspec", "language")).unwrap_or("rhai")
    }

    /// Where a cell stands, from 0.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.cells.iter().position(|cell| cell.id == id)
    }

    /// The cell of an id.
    pub fn cell(&self, id: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    pub(crate) fn cell_mut(&mut self, id: &str) -> Option<&mut Cell> {
        self.cells.iter_mut().find(|cell| cell.id == id)
    }

    /// Puts a cell at a place, at the end where the place is beyond it. Gives the cell's id: its own where that is
    /// free, else a new one.
    pub fn insert(&mut self, at: usize, mut cell: Cell) -> String {
        if !is_id(&cell.id) || self.cell(&cell.id).is_some() {
            cell.id = self.free_id();
        }
        let id = cell.id.clone();
        self.cells.insert(at.min(self.cells.len()), cell);
        id
    }

    /// Makes a change; false where it does not fit, and nothing is done.
    pub fn apply(&mut self, change: &Change) -> bool {
        match change {
            Change::Source { id, at, removed, inserted } => {
                let Some(cell) = self.cell_mut(id) else { return false };
                let Some(end) = at.checked_add(*removed) else { return false };
                if cell.source.get(*at..end).is_none() {
                    return false;
                }
                cell.source.replace_range(*at..end, inserted);
                true
            }
            Change::Insert { at, cell } => {
                self.insert(*at, (**cell).clone());
                true
            }
            Change::Remove { id } => match self.position(id) {
                Some(at) => {
                    self.cells.remove(at);
                    true
                }
                None => false,
            },
            Change::Move { id, to } => match self.position(id) {
                Some(at) => {
                    let cell = self.cells.remove(at);
                    self.cells.insert((*to).min(self.cells.len()), cell);
                    true
                }
                None => false,
            },
            Change::Kind { id, .. }
            | Change::Metadata { id, .. }
            | Change::Ran { id, .. }
            | Change::ClearOutputs { id } => {
                self.cell_mut(id).map(|cell| change_cell(cell, change)).is_some()
            }
        }
    }

    /// Gives every cell a valid id that no other has: by its content, so that the same file gives the same ids.
    /// The number of cells whose own id could not stay.
    pub(super) fn identify(&mut self) -> usize {
        let mut taken = HashSet::new();
        let mut replaced = 0;
        for cell in &mut self.cells {
            if is_id(&cell.id) && taken.insert(cell.id.clone()) {
                continue;
            }
            replaced += usize::from(!cell.id.is_empty());
            cell.id.clear();
        }
        // Where the search for the next cell of the same content goes on, so that many equal ones take no longer.
        let mut next: HashMap<Hash, Hash> = HashMap::new();
        for cell in self.cells.iter_mut().filter(|cell| cell.id.is_empty()) {
            let hash = next.entry(cell.hash()).or_insert_with_key(|content| *content);
            let free = loop {
                let id: String = hash.to_string().chars().skip(24).collect();
                *hash = hash.and(b"+");
                if taken.insert(id.clone()) {
                    break id;
                }
            };
            cell.id = free;
        }
        replaced
    }

    fn free_id(&self) -> String {
        loop {
            let id = new_id();
            if self.cell(&id).is_none() {
                return id;
            }
        }
    }
}

/// An id for a new cell, which no other cell made on this machine has.
pub(crate) fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hash = Hash::of(&now.to_le_bytes()).and(&std::process::id().to_le_bytes()).and(&count.to_le_bytes());
    hash.to_string().chars().skip(24).collect()
}

impl Change {
    /// The change that gives a cell another source; nothing where it is the same.
    pub fn source(cell: &Cell, new: &str) -> Option<Change> {
        let old = cell.source.as_str();
        if old == new {
            return None;
        }
        let same = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let mut head = same(old, new);
        while !(old.is_char_boundary(head) && new.is_char_boundary(head)) {
            head -= 1;
        }
        let (a, b) = (old.get(head..)?, new.get(head..)?);
        let mut tail = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
        while !(a.is_char_boundary(a.len() - tail) && b.is_char_boundary(b.len() - tail)) {
            tail -= 1;
        }
        let inserted = b.get(..b.len() - tail)?.to_string();
        Some(Change::Source { id: cell.id.clone(), at: head, removed: a.len() - tail, inserted })
    }
}

fn change_cell(cell: &mut Cell, change: &Change) {
    match change {
        Change::Kind { kind, .. } => {
            cell.kind = *kind;
            if *kind != Kind::Code {
                cell.clear_outputs();
            }
        }
        Change::Metadata { metadata, .. } => cell.metadata = metadata.clone(),
        Change::Ran { hash, execution_count, outputs, usage, .. } => {
            cell.ran = Some(*hash);
            cell.execution_count = *execution_count;
            cell.outputs.clone_from(outputs);
            cell.usage = usage.as_deref().cloned();
        }
        Change::ClearOutputs { .. } => cell.clear_outputs(),
        Change::Source { .. } | Change::Insert { .. } | Change::Remove { .. } | Change::Move { .. } => {}
    }
}

/// As nbformat 4.5 has it.
fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_unique_valid_and_the_same_each_time() {
        let named = |id: &str| Cell { id: id.into(), ..Cell::code("x") };
        let cells = || [named("a"), named("a"), named("no good"), Cell::code("x"), named("")];
        let notebook = Notebook::new(cells());
        let ids: HashSet<&str> = notebook.cells.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids.len(), 5);
        assert!(ids.iter().all(|id| is_id(id)) && ids.contains("a"));
        assert_eq!(notebook, Notebook::new(cells()));
        let mut other = notebook.clone();
        let id = other.insert(99, named("a"));
        assert!(id != "a" && other.cells[5].id == id && is_id(&id));
        assert_eq!(other.insert(0, named("b")), "b");
    }

    #[test]
    fn changes_do_what_they_say_and_those_that_do_not_fit_nothing() {
        let mut notebook = Notebook::new([Cell::code("let x = 1;"), Cell::code("x")]);
        let (a, b) = (notebook.cells[0].id.clone(), notebook.cells[1].id.clone());
        let change = Change::source(&notebook.cells[0], "let x = 12;").unwrap();
        assert_eq!(change, Change::Source { id: a.clone(), at: 9, removed: 0, inserted: "2".into() });
        assert!(notebook.apply(&change));
        assert_eq!(notebook.cells[0].source, "let x = 12;");
        assert!(notebook.apply(&Change::Move { id: b.clone(), to: 0 }));
        assert_eq!(notebook.position(&b), Some(0));
        assert!(notebook.apply(&Change::Kind { id: b.clone(), kind: Kind::Markdown }));
        assert!(notebook.apply(&Change::Remove { id: a.clone() }));
        assert_eq!(notebook.cells.len(), 1);
        let before = notebook.clone();
        for wrong in [
            Change::Remove { id: a.clone() },
            Change::Move { id: a.clone(), to: 0 },
            Change::ClearOutputs { id: a },
            Change::Source { id: b.clone(), at: 9, removed: 1, inserted: String::new() },
            Change::Source { id: b, at: 1, removed: usize::MAX, inserted: String::new() },
        ] {
            assert!(!notebook.apply(&wrong), "{wrong:?}");
        }
        assert_eq!(notebook, before);
    }

    #[test]
    fn outputs_are_current_until_the_source_changes() {
        let mut notebook = Notebook::new([Cell::code("1 + 1")]);
        let cell = &notebook.cells[0];
        let outputs = vec![Output::result("2", 1)];
        let (id, hash) = (cell.id.clone(), cell.hash());
        let ran = Change::Ran { id, hash, execution_count: Some(1), outputs, usage: None };
        notebook.apply(&ran);
        assert!(notebook.cells[0].is_current());
        notebook.cells[0].source = "1 + 2".into();
        assert!(!notebook.cells[0].is_current());
        notebook.cells[0].source = "1 + 1\n\n".into();
        assert!(notebook.cells[0].is_current());
    }

    proptest! {
        #[test]
        fn a_difference_turns_one_source_into_the_other(old in "[aä€\n]{0,9}", new in "[aä€\n]{0,9}") {
            let mut notebook = Notebook::new([Cell::code(&*old)]);
            let change = Change::source(&notebook.cells[0], &new);
            prop_assert_eq!(change.is_none(), old == new);
            prop_assert!(change.is_none_or(|change| notebook.apply(&change)));
            prop_assert_eq!(&notebook.cells[0].source, &new);
        }
    }
}
