//! What is open: a lesson or a notebook with its panes.

use crate::lab::layout::placed::ScreenBody;
use crate::lab::model::actions::Action;
use crate::lab::model::screens::Screen;
use crate::lab::model::state::State;
use crate::lab::update::screens::entry::ScreenEntry;
use crate::lab::update::{answering, completion, editing, mouse, scrolling};

pub(super) const ENTRY: ScreenEntry = ScreenEntry {
    // Its panes are drawn one by one.
    lay: |_, _, _| ScreenBody::default(),
    top: |_, _| 0,
    title: |_| Vec::new(),
    show: |state, _| {
        if state.has_document() {
            state.screen = Screen::Work;
        }
    },
    // Without a document there is nothing that the others could be done to.
    offers: |state, binding| state.has_document() || matches!(binding.action, Action::Quit | Action::Help),
    acts: &[],
    go: scrolling::go,
    mouse: mouse::mouse,
    typed,
    paste: editing::paste,
};

fn typed(state: &mut State, c: char) -> bool {
    if !state.editing {
        return answering::begin_with(state, c);
    }
    editing::insert(state, c);
    completion::narrow(state);
    true
}
