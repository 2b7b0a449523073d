//! Finding text in all cells.

use crate::lab::model::actions::Choice;
use crate::lab::model::aid::Find;
use crate::lab::model::editor::Pos;
use crate::lab::model::item::CellState;
use crate::lab::model::key::Key;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Popup, State};
use crate::lab::update::selecting;

/// Asks for what to look for. Where no cell is selected, it begins with the first.
pub(super) fn find(state: &mut State) {
    if state.selected_cell().is_none() {
        let Some(first) = state.cells().next().map(|cell| cell.key) else { return };
        go_to(state, first);
    }
    // What is typed is shown in their border.
    selecting::show(state, Pane::Cells);
    let Some(cell) = state.selected_cell() else { return };
    let at = cell.editor.selection().map_or(cell.editor.cursor(), |(start, _)| start);
    let from = Some((cell.key, at));
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
        Choice::EraseAll => {
            state.aid.find.text.clear();
            seek(state, true, false);
        }
        Choice::Close => {
            state.popup = None;
            if !state.editing {
                selecting::leave(state);
            }
        }
    }
}

/// Selects the next place of what is looked for, in this cell or in another one; from where the search began, unless it
/// goes `on`.
pub(crate) fn seek(state: &mut State, forward: bool, on: bool) {
    let Find { text, from } = state.aid.find.clone();
    if let (false, Some((key, _))) = (on, from) {
        go_to(state, key);
    }
    let Some(cell) = state.selected_cell_mut() else { return };
    let (key, editor) = (cell.key, &mut cell.editor);
    let selected = editor.selection().map_or(editor.cursor(), |(start, _)| start);
    let at = match (on, forward) {
        (false, _) => from.map_or(selected, |(_, at)| at),
        (true, true) => editor.after(selected),
        (true, false) => selected,
    };
    editor.clear_selection();
    state.follow = true;
    if text.is_empty() {
        return;
    }
    let Some((key, found)) = place(state, &text, (key, at), forward) else {
        return state.say(format!("`{text}` is in no cell"));
    };
    go_to(state, key);
    if let Some(cell) = state.selected_cell_mut() {
        cell.editor.select(Pos { col: found.col + text.chars().count(), ..found }, found);
    }
}

/// The cell and place where a text stands next; it goes round at the ends.
fn place(state: &State, text: &str, (key, at): (Key, Pos), forward: bool) -> Option<(Key, Pos)> {
    let cells: Vec<&CellState> = state.cells().collect();
    let here = cells.iter().position(|cell| cell.key == key)?;
    let (before, after) = cells.split_at(here);
    let (start, end) = (Pos::default(), Pos { row: usize::MAX, col: 0 });
    let within = |cell: &CellState, from: Pos| {
        let found = cell.editor.find(text, from, forward)?;
        // What the search in one cell finds by going round comes after all others.
        (if forward { found >= from } else { found < from }).then_some((cell.key, found))
    };
    let others: Vec<&CellState> = after.iter().skip(1).chain(before).copied().collect();
    let mut others: Box<dyn Iterator<Item = &CellState>> =
        if forward { Box::new(others.into_iter()) } else { Box::new(others.into_iter().rev()) };
    let first = cells.get(here).and_then(|cell| within(cell, at));
    let edge = if forward { start } else { end };
    first
        .or_else(|| others.find_map(|cell| within(cell, edge)))
        .or_else(|| cells.get(here).and_then(|cell| within(cell, edge)))
}

/// Selects a cell, in its step; text in Markdown is shown as it is written.
fn go_to(state: &mut State, key: Key) {
    let Some((step, item)) = state.place(key) else { return };
    if (step, item) != (state.step, state.selected) {
        let editing = state.editing;
        selecting::leave(state);
        selecting::go_to_item(state, step, item);
        state.editing = editing;
    }
    if let Some(cell) = state.selected_cell_mut().filter(|cell| cell.rendered) {
        cell.rendered = false;
        cell.laid.clear();
    }
}
