//! Lists that one chooses from by typing: every action, and the cells run before.

use crate::lab::model::actions::{Action, Choice};
use crate::lab::model::aid::picker::{Picker, PickerEntry};
use crate::lab::model::bindings::BINDINGS;
use crate::lab::model::keys::names;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::Screen;
use crate::lab::model::screens::work::EDITOR;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::lab::update::completion::PAGE;
use crate::lab::update::{completion, editing, finding, naming, screens, selecting};

/// A movement in whatever list there is. Gives the action that was chosen by its name, which is to be done next.
pub(super) fn choice(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) -> Option<Action> {
    match state.popup {
        Some(Popup::Find) => finding::find_choice(state, choice),
        Some(Popup::SaveAs) => naming::choice(state, choice, fx),
        Some(Popup::Palette | Popup::Past) => return pick(state, choice, fx),
        _ => completion::offered(state, choice),
    }
    None
}

fn pick(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) -> Option<Action> {
    let picker = state.aid.picker.as_mut()?;
    match choice {
        Choice::Next => picker.go(1),
        Choice::Previous => picker.go(-1),
        Choice::PageNext => picker.go(PAGE as isize),
        Choice::PagePrevious => picker.go(-(PAGE as isize)),
        Choice::Erase => picker.pop(),
        Choice::Close => close(state),
        Choice::Accept => {
            let id = picker.chosen().map(|entry| entry.id)?;
            let which = state.popup;
            close(state);
            match which {
                Some(Popup::Palette) => return chosen(state, id, fx),
                _ => recall(state, id),
            }
        }
    }
    None
}

fn close(state: &mut State) {
    state.popup = None;
    state.aid.picker = None;
}

/// A character typed into a list or into what to find.
pub(super) fn typed(state: &mut State, c: char) {
    if !text::printable(c) {
        return;
    }
    match (state.popup, &mut state.aid.picker) {
        (Some(Popup::Palette | Popup::Past), Some(picker)) => picker.push(c),
        (Some(Popup::SaveAs), _) => naming::typed(state, c),
        (Some(Popup::Find), _) => {
            state.aid.find.text.push(c);
            finding::seek(state, true, false);
        }
        _ => {}
    }
}

/// Opens the list of all actions.
pub(super) fn palette(state: &mut State) {
    let rows = state.keymap.rows().enumerate();
    let entries = rows.filter_map(|(id, (binding, keys))| {
        if matches!(binding.action, Action::Choose | Action::Palette) || !screens::is_offered(state, binding)
        {
            return None;
        }
        let text = format!("{}: {}", binding.context.section?, binding.help);
        Some(PickerEntry { text, note: names(keys.get(..2).unwrap_or(keys)), id })
    });
    state.aid.picker = Some(Picker::new(entries.collect(), false));
    state.popup = Some(Popup::Palette);
}

/// Goes to where a row of the key table is done; gives what it does.
fn chosen(state: &mut State, row: usize, fx: &mut Vec<Effect>) -> Option<Action> {
    let binding = BINDINGS.get(row)?;
    screens::go_to(state, binding.context, fx);
    if let Some(pane) = binding.context.pane.filter(|_| state.screen.has_panes()) {
        if pane == Pane::Cells {
            selecting::leave(state);
        }
        selecting::show(state, pane);
    }
    if *binding.context == EDITOR && state.selected_cell().is_some() && !state.editing {
        selecting::enter(state);
    }
    Some(binding.action)
}

/// Opens the search in the cells run before.
pub(super) fn past(state: &mut State) {
    if state.aid.past.is_empty() {
        return state.say("no cell was run yet");
    }
    let entry = |(id, code): (usize, &String)| PickerEntry { text: code.clone(), note: String::new(), id };
    let entries = state.aid.past.iter().enumerate().map(entry).collect();
    state.aid.picker = Some(Picker::new(entries, true));
    state.popup = Some(Popup::Past);
}

/// Puts code that was run before at the cursor, or into a cell of its own.
fn recall(state: &mut State, id: usize) {
    let Some(code) = state.aid.past.get(id).cloned() else { return };
    state.screen = Screen::Work;
    if !state.editing || state.selected_cell().is_none() {
        selecting::leave(state);
        editing::add_cell(state, true);
        selecting::enter(state);
    }
    editing::paste(state, &code);
}
