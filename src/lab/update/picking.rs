//! Lists that one chooses from by typing: every action, and the cells run before.

use ratatui::layout::Position;

use crate::base::sorted;
use crate::lab::layout::{chosen, whole};
use crate::lab::model::actions::{Action, Choice};
use crate::lab::model::active_keys::beneath;
use crate::lab::model::aid::picker::{Picker, PickerEntry};
use crate::lab::model::binding::Binding;
use crate::lab::model::bindings::BINDINGS;
use crate::lab::model::keys::names;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::Screen;
use crate::lab::model::screens::work::EDITOR;
use crate::lab::model::state::{Popup, State, StepState};
use crate::lab::model::summary;
use crate::lab::model::text;
use crate::lab::update::completion::PAGE;
use crate::lab::update::{completion, editing, finding, keys_search, naming, placing, screens, selecting};

/// A movement in whatever list there is. Gives the action that was chosen by its name, which is to be done next.
pub(super) fn choice(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) -> Option<Action> {
    match state.popup {
        Some(Popup::Find) => finding::find_choice(state, choice),
        Some(Popup::Help(_)) => keys_search::choice(state, choice),
        Some(Popup::SaveAs) => naming::choice(state, choice, fx),
        Some(Popup::Devices) => placing::choice(state, choice, fx),
        Some(Popup::Palette | Popup::Past | Popup::Steps) => return pick(state, choice, fx),
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
        Choice::EraseAll => picker.clear(),
        Choice::Close => close(state),
        Choice::Accept => {
            let id = picker.chosen().map(|entry| entry.id)?;
            let which = state.popup;
            close(state);
            match which {
                Some(Popup::Palette) => return go_and_do(state, id, fx),
                Some(Popup::Steps) => selecting::go_to_step(state, id),
                _ => recall(state, id),
            }
        }
    }
    None
}

/// Whether an entry of the list stands at a place of the screen, which is then chosen.
pub(super) fn press(state: &mut State, at: Position) -> bool {
    let area = whole(state);
    let Some(picker) = &mut state.aid.picker else { return false };
    let Some(entry) = chosen::entry_at(picker, area, at) else { return false };
    picker.selected = entry;
    true
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
        (Some(Popup::Palette | Popup::Past | Popup::Steps), Some(picker)) => picker.push(c),
        (Some(Popup::Help(_)), _) => keys_search::typed(state, c),
        (Some(Popup::SaveAs), _) => naming::typed(state, c),
        (Some(Popup::Devices), _) => state.aid.devices.push(c),
        (Some(Popup::Find), _) => {
            state.aid.find.text.push(c);
            finding::seek(state, true, false);
        }
        _ => {}
    }
}

/// Opens the list of all actions.
pub(super) fn palette(state: &mut State) {
    let is_action = |action: Action| !action.is_movement() && action != Action::Palette;
    let offered = |binding: &Binding| is_action(binding.action) && screens::is_offered(state, binding);
    let mut entries: Vec<(Action, PickerEntry)> = Vec::new();
    let rows = state.keymap.rows().enumerate().filter(|(_, (binding, _))| offered(binding));
    // What several places have is listed once: as it is here, if it is.
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        rows.partition(|(_, (binding, _))| beneath(state).contains(&binding.context));
    let here = here.into_iter().map(|row| (row, true));
    for ((id, (binding, keys)), holds) in here.chain(elsewhere.into_iter().map(|row| (row, false))) {
        let Some(section) = binding.context.section else { continue };
        let note = names(keys.get(..2).unwrap_or(keys));
        let same = |(action, entry): &&mut (Action, PickerEntry)| {
            // Help is another page on the machine.
            *action == binding.action
                && (binding.action != Action::Help || entry.text.ends_with(binding.help))
        };
        match entries.iter_mut().find(same) {
            Some((_, listed)) if holds && !note.is_empty() => {
                listed.note = format!("{}, {note}", listed.note)
            }
            Some(_) => {}
            None => {
                let text = format!("{section}: {}", binding.help);
                entries.push((binding.action, PickerEntry { text, note, id }));
            }
        }
    }
    let mut entries: Vec<PickerEntry> = entries.into_iter().map(|(_, entry)| entry).collect();
    sorted::sort_by_key(&mut entries, |entry| entry.id);
    state.aid.picker = Some(Picker::new(entries, false));
    state.popup = Some(Popup::Palette);
}

/// Goes to where a row of the key table is done; gives what it does.
fn go_and_do(state: &mut State, row: usize, fx: &mut Vec<Effect>) -> Option<Action> {
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

/// Opens the list of the lesson's steps, with what is done of each.
pub(super) fn steps(state: &mut State) {
    if state.steps.len() < 2 {
        return state.say("this document has no steps");
    }
    let entry = |(id, step): (usize, &StepState)| PickerEntry {
        text: format!("{:>2}  {}", id + 1, step.title),
        note: summary::mark(step),
        id,
    };
    let entries = state.steps.iter().enumerate().map(entry).collect();
    let mut picker = Picker::new(entries, false);
    picker.go(isize::try_from(state.step).unwrap_or(0));
    state.aid.picker = Some(picker);
    state.popup = Some(Popup::Steps);
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
