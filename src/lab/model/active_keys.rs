//! The keys that hold now: what one of them does, and which the key bar shows.

use crossterm::event::KeyEvent;

use crate::lab::model::actions::{Action, Context, Context as C};
use crate::lab::model::bindings::Bar::{Always, By, Never, When};
use crate::lab::model::bindings::Binding;
use crate::lab::model::keys::Chord;
use crate::lab::model::state::{Pane, Popup, Screen, State};

/// The contexts that hold now, the nearest first.
pub(crate) fn contexts(state: &State) -> &'static [Context] {
    match (state.popup, state.screen) {
        (None, Screen::Machine) => return &[C::MachineScreen, C::Machine, C::Anywhere],
        (None, Screen::Home) if state.home.prompt.is_some() => return &[C::Prompt],
        (None, Screen::Home) => return &[C::Home],
        _ => {}
    }
    match (state.popup, state.editing, state.focus) {
        (Some(Popup::Help(_) | Popup::Glossary(_) | Popup::Doc(_)), ..) => &[C::Help],
        (Some(Popup::Palette | Popup::Past), ..) => &[C::Picker],
        (Some(Popup::Find), ..) => &[C::Find],
        (Some(Popup::Confirm(_)), ..) => &[C::Confirm],
        (None, true, _) if state.aid.completing.is_some() => &[C::Complete, C::Editor, C::Anywhere],
        (None, true, _) if on_cell(state) => &[C::Editor, C::Anywhere],
        (None, true, _) => &[C::Answer, C::Anywhere],
        (None, false, Pane::Lesson) => &[C::Lesson, C::Browse, C::Anywhere],
        (None, false, Pane::Cells) => &[C::Cells, C::Browse, C::Anywhere],
        (None, false, Pane::Machine) => &[C::Machine, C::Browse, C::Anywhere],
    }
}

/// What a key does now.
pub(crate) fn find(state: &State, event: KeyEvent) -> Option<Action> {
    let chord = Chord::from(event);
    contexts(state).iter().find_map(|context| {
        let mut here = state.keymap.rows().filter(|(binding, _)| binding.context == *context);
        here.find(|(_, keys)| keys.contains(&chord)).map(|(binding, _)| binding.action)
    })
}

/// What the key bar shows now: keys and labels, the most wanted first.
pub(crate) fn bar(state: &State) -> Vec<(String, &'static str)> {
    let contexts = contexts(state);
    let shown = state.keymap.rows().filter(|(binding, _)| contexts.contains(&binding.context));
    // A key that a nearer context takes is none of the farther one's.
    let place = |context: Context| contexts.iter().position(|c| *c == context);
    let hidden = |binding: &Binding, keys: &[Chord]| {
        let mut nearer =
            state.keymap.rows().filter(|(other, _)| place(other.context) < place(binding.context));
        nearer.any(|(other, theirs)| {
            contexts.contains(&other.context) && keys.first().is_some_and(|first| theirs.contains(first))
        })
    };
    shown
        .filter(|(binding, keys)| !hidden(binding, keys))
        .filter_map(|(binding, keys)| {
            let label = match binding.bar {
                Never => return None,
                Always(label) => label,
                When(condition, label) => condition(state).then_some(label)?,
                By(label) => label(state)?,
            };
            Some((binding.short_name(keys)?, label))
        })
        .collect()
}

fn on_cell(state: &State) -> bool {
    state.selected_cell().is_some()
}
