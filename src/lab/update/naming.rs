//! Saving under another name, and saving before something else is done.

use std::path::Path;

use crate::lab::model::actions::Choice;
use crate::lab::model::message::Effect;
use crate::lab::model::state::{Confirm, Popup, State};
use crate::lab::model::{text, typed_path};

/// Asks for the name to save under.
pub(super) fn ask(state: &mut State) {
    if !state.can_save() {
        state.popup = None;
        return state.say("only a notebook can be saved under another name");
    }
    if let Some(Popup::Confirm(question @ (Confirm::Quit | Confirm::Open))) = state.popup {
        state.after_save = Some(question);
    }
    state.aid.name.clone_from(&state.title);
    state.popup = Some(Popup::SaveAs);
}

/// A key while the name is typed.
pub(super) fn choice(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) {
    match choice {
        Choice::Accept => accept(state, false, fx),
        Choice::Erase => {
            state.aid.name.pop();
        }
        Choice::EraseAll => state.aid.name.clear(),
        Choice::Close => (state.popup, state.after_save) = (None, None),
        Choice::Next | Choice::Previous | Choice::PageNext | Choice::PagePrevious => {}
    }
}

/// A character of the name.
pub(super) fn typed(state: &mut State, c: char) {
    typed_path::push(&mut state.aid.name, c);
}

/// Saves under the name that another file has.
pub(super) fn replace(state: &mut State, fx: &mut Vec<Effect>) {
    accept(state, true, fx);
}

fn accept(state: &mut State, over: bool, fx: &mut Vec<Effect>) {
    let Some(path) = typed_path::notebook(&state.aid.name) else {
        return state.say("type a name, such as work/second.rhai");
    };
    if !typed_path::is_notebook(&path) {
        return state.say("a notebook's name ends in .rhai or .ipynb");
    }
    state.popup = None;
    fx.push(Effect::SaveAs { path, over });
}

/// The notebook is in that file now.
pub(super) fn saved(state: &mut State, path: &Path, notes: &[String], fx: &mut Vec<Effect>) {
    state.title = text::clean_line(&path.display().to_string());
    is_saved(state, notes, fx);
}

/// Nothing is unsaved: it is said, and what waited for it is done.
pub(super) fn is_saved(state: &mut State, notes: &[String], fx: &mut Vec<Effect>) {
    state.cells_mut().for_each(|cell| cell.unsaved = false);
    state.removed_unsaved = false;
    state.said.withdraw("not saved: ");
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    state.say(text::clean_line(&format!("saved{notes}")));
    match state.after_save.take() {
        Some(Confirm::Quit) => fx.push(Effect::Quit),
        Some(Confirm::Open) => fx.extend(state.held.home.wanted.take().map(Effect::Open)),
        _ => {}
    }
}

/// Saves, and does afterwards what the question is about.
pub(super) fn save_first(state: &mut State, fx: &mut Vec<Effect>) {
    if let Some(Popup::Confirm(question)) = state.popup.take() {
        state.after_save = Some(question);
        fx.push(Effect::Save { over: false });
    }
}
