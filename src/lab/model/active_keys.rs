//! The keys that hold now: what one of them does, and which the key bar shows.

use crossterm::event::KeyEvent;

use crate::lab::model::actions::Action;
use crate::lab::model::binding::Binding;
use crate::lab::model::conditions;
use crate::lab::model::context::{ANYWHERE, BROWSE, Context, Together};
use crate::lab::model::keys::Chord;
use crate::lab::model::pane::Pane;
use crate::lab::model::popups::{COMPLETE, CONFIRM, DIFFERENCES, FIND, HELP, PICKER, SAVE_AS};
use crate::lab::model::screens::machine::MACHINE;
use crate::lab::model::screens::work::{ANSWER, CELLS, EDITOR, LESSON};
use crate::lab::model::state::{Popup, State};

/// The contexts that hold now, the nearest first.
pub(crate) fn contexts(state: &State) -> Together {
    if let (None, Some(contexts)) = (state.popup, state.held.contexts(state.screen)) {
        return contexts;
    }
    match (state.popup, state.editing, state.focus) {
        (Some(Popup::Help(_) | Popup::Glossary(_) | Popup::Doc(_)), ..) => &[&HELP],
        (Some(Popup::Palette | Popup::Past), ..) => &[&PICKER],
        (Some(Popup::Find), ..) => &[&FIND],
        (Some(Popup::SaveAs), ..) => &[&SAVE_AS],
        (Some(Popup::Differences(_)), ..) => &[&DIFFERENCES],
        (Some(Popup::Confirm(_)), ..) => &[&CONFIRM],
        (None, true, _) if state.aid.completing.is_some() => &[&COMPLETE, &EDITOR, &ANYWHERE],
        (None, true, _) if on_cell(state) => &[&EDITOR, &ANYWHERE],
        (None, true, _) => &[&ANSWER, &ANYWHERE],
        (None, false, Pane::Lesson) => &[&LESSON, &BROWSE, &ANYWHERE],
        (None, false, Pane::Cells) => &[&CELLS, &BROWSE, &ANYWHERE],
        (None, false, Pane::Machine) => &[&MACHINE, &BROWSE, &ANYWHERE],
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
        let name = binding.short_name(keys).filter(|_| !hidden(binding, keys))?;
        Some((name, label))
    });
    labelled.collect()
}

fn on_cell(state: &State) -> bool {
    state.selected_cell().is_some()
}
