//! Typing in cells, and adding cells.

use crate::lab::model::actions::{Action, Edit, Way};
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::document::Cell;
use crate::lab::model::editor::{Editor, Pos};
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::message::Effect;
use crate::lab::model::state::State;
use crate::lab::update::selecting::{enter, select_next};
use crate::lab::update::{answering, completion, help_pages};
use crate::notebook::new_id;

const PAGE: isize = 10;

/// Types a character into the selected item.
pub(super) fn insert(state: &mut State, c: char) {
    match state.selected_item() {
        Some(ItemState::Predict(_)) => answering::insert(state, c),
        _ => with_editor(state, |editor| editor.insert(c)),
    }
}

pub(super) fn paste(state: &mut State, text: &str) {
    if !state.editing || !state.screen.has_panes() {
        let key = keys_for(state, Action::Enter);
        state.say(format!("{key} begins to type in a cell; then paste"));
        return;
    }
    match state.selected_item() {
        Some(ItemState::Predict(_)) => text.trim().chars().for_each(|c| answering::insert(state, c)),
        _ => with_editor(state, |editor| editor.paste(text)),
    }
}

/// Carries out a change or a movement.
pub(super) fn edit(state: &mut State, edit: Edit, fx: &mut Vec<Effect>) {
    if let (Some(ItemState::Predict(_)), Edit::Backspace) = (state.selected_item(), edit) {
        return answering::shorten(state, false);
    }
    match edit {
        Edit::Newline => with_editor(state, Editor::newline),
        Edit::Tab => tab(state),
        Edit::BackTab => back_tab(state),
        Edit::Comment => with_editor(state, Editor::toggle_comment),
        Edit::Cut => clip(state, true, fx),
        Edit::Copy => clip(state, false, fx),
        Edit::Paste => {
            let clip = state.aid.clip.clone();
            with_editor(state, |editor| editor.paste(&clip));
        }
        Edit::SelectAll => go(state, Editor::select_all),
        Edit::DeleteAll => answering::shorten(state, true),
        Edit::Backspace => with_editor(state, did(Editor::backspace)),
        Edit::Delete => with_editor(state, did(Editor::delete)),
        Edit::DeleteToEnd => with_editor(state, did(Editor::delete_to_end)),
        Edit::DeleteWord => with_editor(state, did(Editor::delete_word_left)),
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
        Edit::Go(way) => go(state, |editor| {
            editor.clear_selection();
            step(editor, way);
        }),
        Edit::Extend(way) => go(state, |editor| {
            editor.begin_selection();
            step(editor, way);
        }),
    }
}

fn step(editor: &mut Editor, way: Way) {
    match way {
        Way::Left => editor.move_left(),
        Way::Right => editor.move_right(),
        Way::WordLeft => editor.word_left(),
        Way::WordRight => editor.word_right(),
        Way::Up => editor.move_rows(-1),
        Way::Down => editor.move_rows(1),
        Way::PageUp => editor.move_rows(-PAGE),
        Way::PageDown => editor.move_rows(PAGE),
        Way::Home => editor.home(),
        Way::End => editor.end(),
        Way::TextStart => editor.set_cursor(Pos::default()),
        Way::TextEnd => editor.set_cursor(editor.end_of_text()),
    }
}

/// True where the cursor stands after nothing but spaces, or lines are selected: Tab is for the indent there.
fn at_indent(state: &State) -> bool {
    let Some(cell) = state.selected_cell() else { return true };
    let at = cell.editor.cursor();
    cell.markdown
        || cell.editor.selection().is_some()
        || cell.editor.line(at.row).chars().take(at.col).all(|c| c == ' ')
}

fn tab(state: &mut State) {
    if at_indent(state) { with_editor(state, Editor::indent) } else { completion::complete(state) }
}

fn back_tab(state: &mut State) {
    if at_indent(state) { with_editor(state, did(Editor::dedent)) } else { help_pages::doc(state) }
}

/// Takes what is selected, or the line, into the clipboard.
fn clip(state: &mut State, cut: bool, fx: &mut Vec<Effect>) {
    let Some(cell) = state.selected_cell() else { return };
    let row = cell.editor.cursor().row;
    let line = (Pos { row, col: 0 }, Pos { row: row + 1, col: 0 });
    let (text, range) = match cell.editor.selected_text() {
        Some(text) => (text, cell.editor.selection().unwrap_or(line)),
        None => (format!("{}\n", cell.editor.line(row)), line),
    };
    let last = cell.editor.end_of_text();
    let (start, end) = range;
    // The last line has no break after it, but one before it.
    let (start, end) = match (end.row > last.row, start.row.checked_sub(1)) {
        (true, Some(above)) => (Pos { row: above, col: cell.editor.length(above) }, last),
        (true, None) => (start, last),
        _ => (start, end),
    };
    state.aid.clip = text.clone();
    fx.push(Effect::Copy(text));
    if cut {
        with_editor(state, |editor| editor.change(start, end, ""));
    }
}

/// Goes on to the item after the selected one; at the end of a notebook's cells, to a new one. There one types, as in
/// the cell before: what is typed next must not be taken for commands. In a lesson one reads unless one was typing.
pub(crate) fn go_on(state: &mut State, typing: bool) {
    let next = select_next(state);
    if !next && state.has_text {
        return;
    }
    if !next {
        add_cell(state, true);
    }
    let code = state.selected_cell().is_some_and(|cell| !cell.rendered);
    if code && (typing || !state.has_text) {
        enter(state);
    }
}

/// Puts the lesson's text back into the selected cell; what was there can be brought back by undoing.
pub(super) fn lesson_text(state: &mut State) {
    // At a prediction it is the cell that it is of.
    if let Some(ItemState::Predict(predict)) = state.selected_item() {
        let of = &predict.question.cell;
        let items = state.current_step().map_or(&[][..], |step| &step.items);
        if let Some(at) =
            items.iter().position(|item| matches!(item, ItemState::Cell(cell) if cell.id == *of))
        {
            state.selected = at;
        }
    }
    let Some(text) = state.lesson_text() else { return state.say("the cell is as the lesson has it") };
    let done = change(state, |editor| {
        editor.select_all();
        editor.paste(&text)
    });
    if done {
        state.say("the lesson's text is back; Ctrl-Z in the cell brings yours");
    }
}

/// Adds an empty cell beside the selected item and selects it.
pub(crate) fn add_cell(state: &mut State, below: bool) {
    let key = state.new_key();
    let mut cell = CellState::new(key, Cell { id: new_id(), ..Cell::default() });
    (cell.own, cell.unsaved) = (true, !state.has_text);
    place_cell(state, Box::new(cell), below);
}

pub(crate) fn place_cell(state: &mut State, cell: Box<CellState>, below: bool) {
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

pub(super) fn change(state: &mut State, make: impl FnOnce(&mut Editor) -> bool) -> bool {
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
