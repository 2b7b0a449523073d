//! Whole cells: cut, copied, pasted, deleted, made text or code.

use crate::base::figures;
use crate::lab::model::actions::{Action, CellAction};
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::aid::Arranged;
use crate::lab::model::document::Cell;
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::message::Effect;
use crate::lab::model::state::State;
use crate::lab::update::arranging::undo_key;
use crate::lab::update::editing::place_cell;
use crate::lab::update::selecting;
use crate::notebook::new_id;

/// Takes away the selected cell into the clipboard, if the learner added it or the document is a notebook.
pub(super) fn cut(state: &mut State) {
    if let Some(cell) = take_away(state) {
        put_in_clipboard(state, &cell);
        state.aid.cut = Some(cell.key);
        taken(state, cell);
        let (paste, undo) = (paste_key(state), undo_key(state));
        state.say(format!("cell cut; {paste} pastes it, {undo} brings it back"));
    }
}

/// Takes away the selected cell.
pub(super) fn delete(state: &mut State) {
    if let Some(cell) = take_away(state) {
        taken(state, cell);
        let undo = undo_key(state);
        state.say(format!("cell deleted; {undo} brings it back"));
    }
}

/// Copies the text of the selected cell as a cell.
pub(super) fn copy(state: &mut State, fx: &mut Vec<Effect>) {
    let Some(cell) = state.selected_cell() else { return };
    let copied = as_new(cell);
    fx.push(Effect::Copy(copied.code.clone()));
    let key = state.new_key();
    (state.clipboard, state.aid.cut) = (Some(Box::new(CellState::new(key, copied))), None);
    let paste = paste_key(state);
    state.say(format!("cell copied; {paste} pastes it"));
}

/// Gives the terminal's clipboard the text that a cell has shown, as far as it is kept.
pub(super) fn copy_output(state: &mut State, fx: &mut Vec<Effect>) {
    let Some(cell) = state.selected_cell().filter(|cell| !cell.output.is_empty()) else { return };
    let text = cell.output.text();
    if text.is_empty() {
        return state.say("there is no text for a clipboard in what the cell has shown");
    }
    let count = text.split('\n').count();
    let last = if count < cell.output.total() { "the last " } else { "" };
    let lines = figures::plural(count as u64, "line", "lines");
    fx.push(Effect::Copy(text));
    state.say(format!("{last}{lines} copied for the terminal's clipboard"));
}

fn paste_key(state: &State) -> String {
    keys_for(state, Action::Cell(CellAction::PasteCell))
}

/// Puts the cell cut or copied last below the selected item. The first time, a cell that was cut is itself what is put
/// there, with what it has shown.
pub(super) fn paste(state: &mut State) {
    let cut = state.aid.cut.take().and_then(|key| state.aid.take_back(key));
    if let Some((step, at, mut cell)) = cut {
        let key = cell.key;
        (cell.own, cell.unsaved) = (true, true);
        place_cell(state, cell, true);
        return state.aid.arranged(Arranged::Moved { key, step, at });
    }
    let Some(cell) = state.clipboard.take() else { return state.say("no cell was cut or copied") };
    // It can be pasted again, as another cell.
    put_in_clipboard(state, &cell);
    let mut cell = cell;
    (cell.own, cell.unsaved) = (true, true);
    place_cell(state, cell, true);
}

/// Makes text in Markdown of the selected cell, or code.
pub(crate) fn set_markdown(state: &mut State, markdown: bool) {
    let notebook = !state.has_text;
    let editing = state.editing;
    let Some(cell) = state.selected_cell_mut() else { return };
    if !(cell.own || notebook) {
        return state.say("this cell belongs to the lesson");
    }
    if cell.is_busy() || cell.markdown == markdown {
        return;
    }
    (cell.markdown, cell.raw) = (markdown, false);
    if markdown {
        cell.forget_run();
    }
    cell.rendered = markdown && !editing && !cell.editor.text().trim().is_empty();
    cell.unsaved = true;
    cell.laid.clear();
}

/// The cell's text as a cell that never ran.
fn as_new(cell: &CellState) -> Cell {
    let (markdown, raw) = (cell.markdown, cell.raw);
    Cell { id: new_id(), code: cell.editor.text(), markdown, raw, ..Cell::default() }
}

fn put_in_clipboard(state: &mut State, cell: &CellState) {
    let copy = as_new(cell);
    let key = state.new_key();
    state.clipboard = Some(Box::new(CellState::new(key, copy)));
}

/// Keeps a cell that was taken away, to be brought back.
fn taken(state: &mut State, cell: Box<CellState>) {
    let (step, at) = (state.step, state.aid.first_place);
    state.aid.arranged(Arranged::Taken { step, at, item: ItemState::Cell(cell) });
}

fn take_away(state: &mut State) -> Option<Box<CellState>> {
    let notebook = !state.has_text;
    let cell = state.selected_cell()?;
    if cell.is_busy() {
        state.say("this cell is running or queued");
        return None;
    }
    if !(cell.own || notebook) {
        state.say("this cell belongs to the lesson");
        return None;
    }
    selecting::leave(state);
    let at = state.selected;
    let step = state.steps.get_mut(state.step)?;
    let ItemState::Cell(cell) = step.items.remove(at) else { return None };
    step.text.clear();
    let last = step.items.iter().rposition(ItemState::is_selectable);
    let next = step.items.iter().enumerate().skip(at).find(|(_, item)| item.is_selectable()).map(|(i, _)| i);
    state.selected = next.or(last).unwrap_or(0);
    state.aid.first_place = at;
    state.removed_unsaved |= notebook;
    Some(cell)
}
