//! Finding text in a cell.

use crate::lab::model::actions::Choice;
use crate::lab::model::aid::Find;
use crate::lab::model::editor::Pos;
use crate::lab::model::state::{Popup, State};

/// Asks for what to look for in the cell.
pub(super) fn find(state: &mut State) {
    let Some(cell) = state.selected_cell() else { return };
    let from = cell.editor.selection().map_or(cell.editor.cursor(), |(start, _)| start);
    let one_line = |text: &String| !text.contains('\n');
    let text = cell.editor.selected_text().filter(one_line).unwrap_or_default();
    state.aid.find = Find { text, from };
    state.popup = Some(Popup::Find);
}

pub(crate) fn find_choice(state: &mut State, choice: Choice) {
    match choice {
        Choice::Next | Choice::PageNext | Choice::Accept => seek(state, true, true),
        Choice::Previous | Choice::PagePrevious => seek(state, false, true),
        Choice::Erase => {
            state.aid.find.text.pop();
            seek(state, true, false);
        }
        Choice::Close => state.popup = None,
    }
}

/// Selects the next place of what is looked for; from where the search began, unless it goes `on`.
pub(crate) fn seek(state: &mut State, forward: bool, on: bool) {
    let Find { text, from } = state.aid.find.clone();
    let Some(cell) = state.selected_cell_mut() else { return };
    let editor = &mut cell.editor;
    let at = match (on, forward) {
        (false, _) => from,
        (true, true) => editor.after(editor.selection().map_or(editor.cursor(), |(start, _)| start)),
        (true, false) => editor.selection().map_or(editor.cursor(), |(start, _)| start),
    };
    match editor.find(&text, at, forward).filter(|_| !text.is_empty()) {
        Some(found) => editor.select(Pos { col: found.col + text.chars().count(), ..found }, found),
        None => {
            editor.clear_selection();
            if !text.is_empty() {
                state.say(format!("`{text}` is not in this cell"));
            }
        }
    }
    state.follow = true;
}
