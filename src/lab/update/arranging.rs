//! Cells moved, split and merged, and each of these undone.

use crate::lab::model::actions::{Action, CellAction};
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::aid::Arranged;
use crate::lab::model::document::Cell;
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::key::Key;
use crate::lab::model::state::State;
use crate::lab::update::selecting;
use crate::notebook::new_id;
use crate::script::parse::Parser;

/// Why the selected cell stays as it is; it is said.
fn is_fixed(state: &mut State) -> bool {
    let notebook = !state.has_text;
    let why = match state.selected_cell() {
        None => "select a cell first",
        Some(cell) if cell.is_busy() => "this cell is running or queued",
        Some(cell) if !(cell.own || notebook) => "this cell belongs to the lesson",
        Some(_) => return false,
    };
    state.say(why);
    true
}

/// Moves the selected cell above the item before it, or below the one after it.
pub(super) fn shift(state: &mut State, down: bool) {
    if is_fixed(state) {
        return;
    }
    let (step, from) = (state.step, state.selected);
    let Some(items) = state.steps.get_mut(step).map(|step| &mut step.items) else { return };
    let other = if down {
        items.iter().enumerate().skip(from + 1).find(|(_, item)| item.is_selectable()).map(|(at, _)| at)
    } else {
        items.iter().take(from).rposition(ItemState::is_selectable)
    };
    let Some(to) = other else {
        return state.say(if down { "this is the last cell" } else { "this is the first cell" });
    };
    let Some(key) = items.get(from).and_then(ItemState::key) else { return };
    let item = items.remove(from);
    items.insert(to, item);
    state.aid.arranged(Arranged::Moved { key, step, at: from });
    put(state, step, to);
    let (way, key) = (if down { "down" } else { "up" }, undo_key(state));
    state.say(format!("cell moved {way}; {key} moves it back"));
}

/// Makes two cells of the selected one, at the cursor.
pub(super) fn split(state: &mut State) {
    if is_fixed(state) {
        return;
    }
    let Some(cell) = state.selected_cell() else { return };
    let (at, end) = (cell.editor.cursor(), cell.editor.end_of_text());
    let (whole, markdown, raw, first) = (cell.editor.text(), cell.markdown, cell.raw, cell.key);
    let above = cell.editor.slice(Default::default(), at);
    let below = cell.editor.slice(at, end);
    let (above, below) = (above.trim_end_matches('\n'), below.strip_prefix('\n').unwrap_or(&below));
    if above.trim().is_empty() || below.trim().is_empty() {
        return state.say("put the cursor where the second cell is to begin");
    }
    let parts = (above.to_owned(), below.to_owned());
    let second = state.new_key();
    let code = parts.1.clone();
    let mut new = CellState::new(second, Cell { id: new_id(), code, markdown, raw, ..Cell::default() });
    (new.own, new.unsaved) = (true, true);
    if let Some(cell) = state.selected_cell_mut() {
        cell.set_text(&parts.0);
    }
    let (step, at) = (state.step, state.selected + 1);
    let editing = state.editing;
    selecting::leave(state);
    if let Some(step) = state.steps.get_mut(step) {
        step.items.insert(at.min(step.items.len()), ItemState::Cell(Box::new(new)));
    }
    state.aid.arranged(Arranged::Split { first, second, whole, parts });
    put(state, step, at);
    if editing {
        selecting::enter(state);
    }
    let key = undo_key(state);
    state.say(format!("cell split; {key} in the cells makes one of them again"));
}

/// Makes one cell of the selected one and the one below it.
pub(super) fn merge(state: &mut State) {
    if is_fixed(state) {
        return;
    }
    let (step, at) = (state.step, state.selected);
    let editing = state.editing;
    let notebook = !state.has_text;
    let Some(items) = state.steps.get(step).map(|step| &step.items) else { return };
    let below = items.iter().enumerate().skip(at + 1).find(|(_, item)| item.is_selectable());
    let (Some(ItemState::Cell(first)), Some((below, ItemState::Cell(second)))) = (items.get(at), below)
    else {
        return state.say("there is no cell below to merge with");
    };
    if second.is_busy() || !(second.own || notebook) {
        return state.say("the cell below is running, or belongs to the lesson");
    }
    if first.markdown && second.markdown && first.raw != second.raw {
        return state.say("one of them is raw text and the other Markdown");
    }
    if first.markdown != second.markdown {
        let [text, code] =
            [CellAction::Markdown, CellAction::Code].map(|kind| keys_for(state, Action::Cell(kind)));
        return state
            .say(format!("one of them is text and the other code: {text} and {code} make them alike"));
    }
    let before = first.editor.text();
    let (key, joined) = (first.key, joined(&before, &second.editor.text(), first.markdown));
    selecting::leave(state);
    let Some(items) = state.steps.get_mut(step).map(|step| &mut step.items) else { return };
    let second = items.remove(below);
    state.aid.arranged(Arranged::Merged {
        first: key,
        before,
        joined: joined.clone(),
        step,
        at: below,
        second,
    });
    if let Some(cell) = state.cell_mut(key) {
        cell.set_text(&joined);
    }
    state.removed_unsaved |= notebook;
    put(state, step, at);
    if editing {
        selecting::enter(state);
    }
    let key = undo_key(state);
    state.say(format!("cells merged; {key} in the cells makes two of them again"));
}

/// The texts of two cells as one. What a cell ends with may need a semicolon before more code.
fn joined(above: &str, below: &str, markdown: bool) -> String {
    if markdown {
        return format!("{}\n\n{}", above.trim_end(), below);
    }
    let plain = format!("{}\n{}", above.trim_end(), below);
    let parser = Parser::default();
    if above.trim().is_empty() || parser.tree(&plain).is_ok() {
        return plain;
    }
    let ended = format!("{};\n{}", above.trim_end(), below);
    if parser.tree(&ended).is_ok() { ended } else { plain }
}

/// The key that undoes what was done to whole cells.
pub(super) fn undo_key(state: &State) -> String {
    keys_for(state, Action::Cell(CellAction::UndoCells))
}

/// Undoes what was done to whole cells last.
pub(super) fn undo(state: &mut State) {
    let Some(done) = state.aid.last_arranged() else {
        return state.say("nothing was done to whole cells that could be undone");
    };
    if is_of_busy_cell(state, &done) {
        // It can be undone later.
        state.aid.arranged(done);
        return state.say("that cell is running or queued: interrupt it first");
    }
    match done {
        Arranged::Taken { step, at, item } => insert(state, step, at, item),
        Arranged::Moved { key, step, at } => move_back(state, key, step, at),
        Arranged::Split { first, second, whole, parts } => unsplit(state, (first, second), whole, &parts),
        Arranged::Merged { first, before, joined, step, at, second } => {
            let same = state.cell_mut(first).filter(|cell| cell.editor.text() == joined);
            let Some(cell) = same else {
                return state.say("the merged cell was changed since: the two can't be told apart any more");
            };
            cell.set_text(&before);
            insert(state, step, at, second);
        }
    }
}

/// What was done was done to a cell that runs now, or is to run.
fn is_of_busy_cell(state: &State, done: &Arranged) -> bool {
    let of: &[Key] = match done {
        Arranged::Taken { .. } => &[],
        Arranged::Moved { key, .. } => &[*key],
        Arranged::Split { first, second, .. } => &[*first, *second],
        Arranged::Merged { first, .. } => &[*first],
    };
    let mut cells = state.cells().filter(|cell| of.contains(&cell.key));
    cells.any(CellState::is_busy)
}

fn insert(state: &mut State, step: usize, at: usize, item: ItemState) {
    let Some(items) = state.steps.get_mut(step).map(|step| &mut step.items) else { return };
    let at = at.min(items.len());
    items.insert(at, item);
    put(state, step, at);
}

/// Puts a cell back where it stood, which may be in another step.
fn move_back(state: &mut State, key: Key, step: usize, to: usize) {
    let Some((here, from)) = state.place(key).filter(|_| step < state.steps.len()) else {
        return state.say("the cell that was moved is gone");
    };
    if let Some(left) = state.steps.get_mut(here) {
        let item = left.items.remove(from);
        left.text.clear();
        insert(state, step, to, item);
    }
}

fn unsplit(state: &mut State, (first, second): (Key, Key), whole: String, parts: &(String, String)) {
    let (Some((step, at)), Some((_, below))) = (state.place(first), state.place(second)) else {
        return state.say("one of the two cells is gone");
    };
    let text = |key: Key| state.cells().find(|cell| cell.key == key).map(|cell| cell.editor.text());
    let (above, under) = (text(first).unwrap_or_default(), text(second).unwrap_or_default());
    let text = if above == parts.0 && under == parts.1 { whole } else { format!("{above}\n{under}") };
    if let Some(step) = state.steps.get_mut(step) {
        step.items.remove(below);
    }
    if let Some(cell) = state.cell_mut(first) {
        cell.set_text(&text);
    }
    put(state, step, at);
}

/// Selects the cell at a place, which is not saved as it is.
fn put(state: &mut State, step: usize, at: usize) {
    if let Some(step) = state.steps.get(step) {
        step.text.clear();
    }
    (state.step, state.selected, state.follow) = (step, at, true);
    if let Some(cell) = state.selected_cell_mut() {
        cell.unsaved = true;
    }
}
