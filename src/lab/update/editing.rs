//! Typing in cells, and adding, cutting and pasting whole cells.

use super::answering;
use crate::lab::document::Cell;
use crate::lab::editor::Editor;
use crate::lab::item::{CellState, Guess, ItemState, PredictState};
use crate::lab::keys::Edit;
use crate::lab::state::{Pane, Screen, State};

const PAGE: isize = 10;

/// Begins to type in the selected item.
pub fn enter(state: &mut State) {
    let can = match state.selected_item_mut() {
        Some(ItemState::Cell(_)) => true,
        Some(ItemState::Predict(predict)) => predict.is_open() || reopen(predict),
        Some(ItemState::Quiz(_) | ItemState::Text(_)) | None => false,
    };
    if can {
        state.focus = Pane::Cells;
        state.editing = true;
        state.follow = true;
    }
}

/// A skipped prediction can still be answered before it is measured.
fn reopen(predict: &mut PredictState) -> bool {
    let can = predict.guess == Guess::Skipped && predict.answer.is_none();
    if can {
        predict.guess = Guess::Open;
        predict.laid.clear();
    }
    can
}

pub fn leave(state: &mut State) {
    state.editing = false;
}

/// Types a character into the selected item.
pub fn insert(state: &mut State, c: char) {
    match state.selected_item() {
        Some(ItemState::Predict(_)) => answering::insert(state, c),
        _ => with_editor(state, |editor| editor.insert(c)),
    }
}

pub fn paste(state: &mut State, text: &str) {
    if state.screen == Screen::Home && state.popup.is_none() {
        text.trim().chars().for_each(|c| super::home::insert(state, c));
        return;
    }
    if state.popup.is_some() || !state.editing || state.screen != Screen::Work {
        state.say("Enter begins to type in a cell; then paste");
        return;
    }
    match state.selected_item() {
        Some(ItemState::Predict(_)) => text.trim().chars().for_each(|c| answering::insert(state, c)),
        _ => with_editor(state, |editor| editor.paste(text)),
    }
}

/// Carries out a change or a movement.
pub fn edit(state: &mut State, edit: Edit) {
    if let (Some(ItemState::Predict(_)), Edit::Backspace) = (state.selected_item(), edit) {
        answering::backspace(state);
        return;
    }
    match edit {
        Edit::Newline => with_editor(state, Editor::newline),
        Edit::Indent => with_editor(state, Editor::indent),
        Edit::Dedent => with_editor(state, did(Editor::dedent)),
        Edit::Backspace => with_editor(state, did(Editor::backspace)),
        Edit::Delete => with_editor(state, did(Editor::delete)),
        Edit::DeleteToEnd => with_editor(state, did(Editor::delete_to_end)),
        Edit::Undo => {
            if !change(state, Editor::undo) {
                state.say("nothing to undo");
            }
        }
        Edit::Redo => {
            if !change(state, Editor::redo) {
                state.say("nothing to redo");
            }
        }
        Edit::Left => go(state, Editor::move_left),
        Edit::Right => go(state, Editor::move_right),
        Edit::WordLeft => go(state, Editor::word_left),
        Edit::WordRight => go(state, Editor::word_right),
        Edit::Up => go(state, |editor| editor.move_rows(-1)),
        Edit::Down => go(state, |editor| editor.move_rows(1)),
        Edit::PageUp => go(state, |editor| editor.move_rows(-PAGE)),
        Edit::PageDown => go(state, |editor| editor.move_rows(PAGE)),
        Edit::Home => go(state, Editor::home),
        Edit::End => go(state, Editor::end),
    }
}

/// Selects the item after the selected one; at the end of a notebook's cells, a new one is added.
pub fn go_on(state: &mut State) {
    if !select_next(state) && !state.has_text {
        add_cell(state, true);
    }
}

/// Selects the item after the selected one, if there is one in the step.
pub fn select_next(state: &mut State) -> bool {
    let after = state.selected.saturating_add(1);
    let next = state.current_step().and_then(|step| {
        let later = step.items.iter().enumerate().skip(after);
        later.filter(|(_, item)| item.is_selectable()).map(|(i, _)| i).next()
    });
    if let Some(next) = next {
        state.selected = next;
        state.follow = true;
    }
    next.is_some()
}

/// Adds an empty cell beside the selected item and selects it.
pub fn add_cell(state: &mut State, below: bool) {
    let key = state.new_key();
    let mut cell = CellState::new(key, Cell { id: format!("own-{}", key.0), ..Cell::default() });
    cell.own = true;
    place_cell(state, Box::new(cell), below);
}

/// Takes away the selected cell, if the learner added it or the document is a notebook.
pub fn cut_cell(state: &mut State) {
    let notebook = !state.has_text;
    let Some(cell) = state.selected_cell() else { return };
    if cell.is_busy() {
        state.say("this cell is running or queued");
        return;
    }
    if !(cell.own || notebook) {
        state.say("this cell belongs to the lesson");
        return;
    }
    let at = state.selected;
    let Some(step) = state.steps.get_mut(state.step) else { return };
    if let ItemState::Cell(cell) = step.items.remove(at) {
        state.clipboard = Some(cell);
    }
    step.text.clear();
    let last = step.items.iter().rposition(ItemState::is_selectable);
    let next = step.items.iter().enumerate().skip(at).find(|(_, item)| item.is_selectable()).map(|(i, _)| i);
    state.selected = next.or(last).unwrap_or(0);
    state.say("cell cut; v pastes it");
}

/// Puts the cell cut last below the selected item.
pub fn paste_cell(state: &mut State) {
    match state.clipboard.take() {
        Some(mut cell) => {
            cell.own = true;
            cell.unsaved = true;
            place_cell(state, cell, true);
        }
        None => state.say("no cell was cut"),
    }
}

fn place_cell(state: &mut State, cell: Box<CellState>, below: bool) {
    let selected = state.selected_item().is_some();
    let Some(step) = state.steps.get_mut(state.step) else { return };
    let at = match (selected, below) {
        (false, _) => step.items.len(),
        (true, true) => state.selected.saturating_add(1),
        (true, false) => state.selected,
    };
    let at = at.min(step.items.len());
    step.items.insert(at, ItemState::Cell(cell));
    step.text.clear();
    state.selected = at;
    state.follow = true;
}

fn did(change: impl FnOnce(&mut Editor)) -> impl FnOnce(&mut Editor) -> bool {
    |editor| {
        change(editor);
        true
    }
}

/// Changes the selected cell's text; says so where the cell is full.
fn with_editor(state: &mut State, make: impl FnOnce(&mut Editor) -> bool) {
    if state.selected_cell().is_some() && !change(state, make) {
        state.say("the cell is full");
    }
}

fn change(state: &mut State, make: impl FnOnce(&mut Editor) -> bool) -> bool {
    state.follow = true;
    let Some(cell) = state.selected_cell_mut() else { return false };
    let done = make(&mut cell.editor);
    if done {
        cell.changed();
        if let Some(step) = state.steps.get(state.step) {
            step.text.clear();
        }
    }
    done
}

fn go(state: &mut State, movement: impl FnOnce(&mut Editor)) {
    state.follow = true;
    if let Some(cell) = state.selected_cell_mut() {
        movement(&mut cell.editor);
    }
}
