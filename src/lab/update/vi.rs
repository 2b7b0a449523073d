//! Vi's keys while a cell is edited, where they are wanted.

use crossterm::event::KeyEvent;

use crate::lab::model::keys::Chord;
use crate::lab::model::state::State;
use crate::lab::model::vi::After;
use crate::lab::update::{finding, selecting};

/// Takes a key; false where it is not vi's.
pub(super) fn key(state: &mut State, event: KeyEvent) -> bool {
    if !state.editing || state.popup.is_some() || state.aid.completing.is_some() {
        return false;
    }
    let Some(mut vi) = state.aid.vi.take() else { return false };
    let after = match state.selected_cell_mut() {
        Some(cell) => {
            let after = vi.key(&mut cell.editor, Chord::from(event));
            if after == After::Changed {
                cell.changed();
            }
            after
        }
        None => After::Pass,
    };
    state.aid.vi = Some(vi);
    match after {
        After::Pass => return false,
        After::Changed => state.text_changed(),
        After::Moved => state.follow = true,
        After::Leave => selecting::leave(state),
        After::Search => finding::find(state),
        After::Next(forward) => {
            finding::seek(state, forward, true);
            if let Some(cell) = state.selected_cell_mut() {
                cell.editor.clear_selection();
            }
        }
    }
    true
}
