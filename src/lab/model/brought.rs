//! What came below the code of the selected cell, and is in view until something is done to the cell.

use crate::lab::model::editor::Pos;
use crate::lab::model::item::CellState;
use crate::lab::model::key::Key;

/// What came below the code of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lab) enum Brought {
    /// What running it has shown: its end.
    Run,
    /// The help that was asked for last.
    Help,
}

/// Where one is in the cells: it changes with every movement and change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CellMoment {
    key: Key,
    cursor: Pos,
    version: u64,
    editing: bool,
    expanded: bool,
}

impl CellMoment {
    pub(super) fn of(cell: &CellState, editing: bool) -> CellMoment {
        let (cursor, version) = (cell.editor.cursor(), cell.version);
        CellMoment { key: cell.key, cursor, version, editing, expanded: cell.expanded }
    }
}
