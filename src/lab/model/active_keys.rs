//! The keys that hold now: what one of them does, and which the key bar shows.

use crossterm::event::KeyEvent;

use crate::base::sorted;
use crate::lab::model::actions::Action;
use crate::lab::model::binding::Binding;
use crate::lab::model::conditions;
use crate::lab::model::context::{ALWAYS, ANYWHERE, BROWSE, Context, Together};
use crate::lab::model::item::ItemState;
use crate::lab::model::keys::{Chord, names};
use crate::lab::model::pane::Pane;
use crate::lab::model::popups::{
    COMPLETE, CONFIRM, DEVICES, DIFFERENCES, FIND, HELP, PICKER, SAVE_AS, SEARCH,
};
use crate::lab::model::screens::machine::MACHINE;
use crate::lab::model::screens::work::{ANSWER, CELLS, EDITOR, LESSON};
use crate::lab::model::state::{Popup, State};

/// The contexts that hold now, the nearest first.
pub(crate) fn contexts(state: &State) -> Together {
    match state.popup {
        None => beneath(state),
        Some(Popup::Help(_)) if state.aid.keys_search.typing => &[&SEARCH],
        Some(Popup::Help(_) | Popup::Glossary(_) | Popup::Doc(_)) => &[&HELP],
        Some(Popup::Palette | Popup::Past | Popup::Steps) => &[&PICKER],
        Some(Popup::Find) => &[&FIND],
        Some(Popup::SaveAs) => &[&SAVE_AS],
        Some(Popup::Devices) => &[&DEVICES],
        Some(Popup::Differences(_)) => &[&DIFFERENCES],
        Some(Popup::Confirm(_)) => &[&CONFIRM],
    }
}

/// Those that would hold if no popup stood over them.
pub(crate) fn beneath(state: &State) -> Together {
    if let Some(contexts) = state.held.contexts(state.screen) {
        return contexts;
    }
    match (state.editing, state.focus) {
        (true, _) if state.aid.completing.is_some() => &[&COMPLETE, &EDITOR, &ANYWHERE],
        (true, _) if on_cell(state) => &[&EDITOR, &ANYWHERE],
        (true, _) => &[&ANSWER, &ANYWHERE],
        (false, Pane::Lesson) => &[&LESSON, &BROWSE, &ANYWHERE],
        (false, Pane::Cells) => &[&CELLS, &BROWSE, &ANYWHERE],
        (false, Pane::Machine) => &[&MACHINE, &BROWSE, &ANYWHERE],
    }
}

/// What a key does now.
pub(crate) fn find(state: &State, event: KeyEvent) -> Option<Action> {
    let chord = Chord::from(event);
    contexts(state).iter().chain([&&ALWAYS]).find_map(|context| {
        let mut here = state.keymap.rows().filter(|(binding, _)| binding.context == *context);
        here.find(|(_, keys)| keys.contains(&chord)).map(|(binding, _)| binding.action)
    })
}

/// What is pressed for an action where one is: while typing, many a key alone would be typed.
pub(crate) fn keys_for(state: &State, action: Action) -> String {
    let contexts = beneath(state);
    let near = state.keymap.rows().filter(|(binding, _)| binding.action == action);
    let here = near.filter(|(binding, _)| contexts.contains(&binding.context));
    let here = here.filter_map(|(binding, keys)| binding.short_name(keys)).next();
    match here {
        Some(key) => key,
        None if state.editing => {
            let [leave, key] = [Action::Leave, action].map(|action| state.keymap.name_of(action));
            format!("{leave} and then {key}")
        }
        None => state.keymap.name_of(action),
    }
}

/// A key as the key bar has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BarEntry {
    pub name: String,
    pub label: &'static str,
    /// What is pressed where it is clicked; none where one of several keys is to be chosen.
    pub chord: Option<Chord>,
    pub action: Action,
}

/// What the key bar shows now, what is wanted most first; of several keys that do the same the one that is.
pub(crate) fn bar(state: &State) -> Vec<BarEntry> {
    let contexts = contexts(state);
    let shown = state.keymap.rows().filter(|(binding, _)| contexts.contains(&binding.context));
    // A key that a nearer context takes is none of the farther one's.
    let place = |context: &Context| contexts.iter().position(|c| *c == context);
    let hidden = |binding: &Binding, keys: &[Chord]| {
        let mut nearer =
            state.keymap.rows().filter(|(other, _)| place(other.context) < place(binding.context));
        nearer.any(|(other, theirs)| {
            contexts.contains(&other.context) && keys.first().is_some_and(|first| theirs.contains(first))
        })
    };
    // Few rows stand in the bar: only those are looked for in nearer contexts.
    let labelled = shown.filter_map(|(binding, keys)| {
        let label = conditions::label(state, binding)?;
        let name = match (binding.action, state.selected_item()) {
            (Action::Choose, Some(ItemState::Quiz(quiz))) => {
                names(keys.get(..quiz.order.len()).unwrap_or(keys))
            }
            (Action::Leave, _) if conditions::is_done_with(state) => {
                format!("{}, then {}", binding.short_name(keys)?, state.keymap.name_of(Action::NextStep))
            }
            _ => binding.short_name(keys)?,
        };
        let name = Some(name).filter(|_| !hidden(binding, keys))?;
        let chord = keys.first().copied().filter(|_| binding.action != Action::Choose);
        let entry = BarEntry { name, label, chord, action: binding.action };
        Some((conditions::weight(state, binding), entry))
    });
    let mut weighed: Vec<(u8, BarEntry)> = labelled.collect();
    sorted::sort_by_key(&mut weighed, |(weight, _)| std::cmp::Reverse(*weight));
    let mut entries: Vec<BarEntry> = Vec::with_capacity(weighed.len());
    for (_, entry) in weighed {
        if entries.iter().all(|other| other.action != entry.action) {
            entries.push(entry);
        }
    }
    entries
}

fn on_cell(state: &State) -> bool {
    state.selected_cell().is_some()
}
