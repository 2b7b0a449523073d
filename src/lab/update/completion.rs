//! Completing names.

use crate::lab::model::actions::Choice;
use crate::lab::model::aid::completing::Completing;
use crate::lab::model::editor::Pos;
use crate::lab::model::editor::bytes::cursor_byte;
use crate::lab::model::state::State;

pub(super) const PAGE: usize = 8;
/// Bytes of code that is completed in; a longer cell would make typing slow.
const MAX_CODE: usize = 1 << 18;

/// Opens the list of names for what is before the cursor. Where only one fits it is taken at once.
pub(super) fn complete(state: &mut State) {
    let Some(cell) = state.selected_cell().filter(|cell| !cell.markdown) else { return };
    let code = cell.editor.text();
    if code.len() > MAX_CODE {
        return state.say("this cell is too long for completion");
    }
    let (byte, at) = (cursor_byte(&cell.editor), cell.editor.cursor());
    let opened = Completing::open(&state.aid.known, &code, byte, at);
    let Some(completing) = opened else { return state.say("no name fits here") };
    let typed = code.get(completing.byte..byte).unwrap_or_default().to_owned();
    let begins = completing.found.iter().filter(|c| !typed.is_empty() && c.text.starts_with(&typed)).count();
    let alone = completing.found.len() == 1 || begins == 1;
    let common = completing.common(&typed);
    state.aid.completing = Some(completing);
    if alone {
        accept(state);
    } else if let Some(common) = common
        && let Some(cell) = state.selected_cell_mut()
    {
        let start = Pos { col: at.col.saturating_sub(typed.chars().count()), ..at };
        cell.editor.change(start, at, &common);
        cell.changed();
        narrow(state);
    }
}

/// Narrows the list of names to what is typed now.
pub(super) fn narrow(state: &mut State) {
    let Some(mut completing) = state.aid.completing.take() else { return };
    let Some(cell) = state.selected_cell() else { return };
    let (code, byte) = (cell.editor.text(), cursor_byte(&cell.editor));
    if byte >= completing.byte && completing.narrow(&state.aid.known, &code, byte) {
        state.aid.completing = Some(completing);
    }
}

/// Types the name at a place of the list.
pub(super) fn take(state: &mut State, at: usize) {
    if let Some(completing) = &mut state.aid.completing {
        completing.selected = at;
        accept(state);
    }
}

/// Types what is chosen of the names.
fn accept(state: &mut State) {
    let Some(completing) = state.aid.completing.take() else { return };
    let Some(chosen) = completing.chosen().map(|c| c.text.clone()) else { return };
    if let Some(cell) = state.selected_cell_mut() {
        let at = cell.editor.cursor();
        cell.editor.change(completing.start, at, &chosen);
        cell.changed();
        state.follow = true;
    }
}

pub(crate) fn offered(state: &mut State, choice: Choice) {
    let Some(completing) = &mut state.aid.completing else { return };
    match choice {
        Choice::Next => completing.go(true),
        Choice::Previous => completing.go(false),
        Choice::PageNext => {
            completing.selected = (completing.selected + PAGE).min(completing.found.len().saturating_sub(1));
        }
        Choice::PagePrevious => completing.selected = completing.selected.saturating_sub(PAGE),
        Choice::Accept => accept(state),
        Choice::Erase | Choice::EraseAll | Choice::Close => state.aid.completing = None,
    }
}
