//! The screens, one file and one entry of the table each: what they show and what keys, mouse and text do there.

pub(crate) mod entry;
pub(crate) mod home;
pub(crate) mod machine;
pub(crate) mod work;

use crossterm::event::{MouseEvent, MouseEventKind};

use crate::lab::layout::{self, Areas, scroll};
use crate::lab::model::actions::OwnAction;
use crate::lab::model::binding::Binding;
use crate::lab::model::context::{ALWAYS, ANYWHERE, Context};
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::Screen;
use crate::lab::model::state::State;
use crate::lab::model::tops::Tops;
use crate::lab::update::screens::entry::ScreenEntry;
use crate::lab::update::scrolling::{self, Go, WHEEL};

/// A screen's entry.
pub(crate) fn entry(screen: Screen) -> &'static ScreenEntry {
    match screen {
        Screen::Work => &work::ENTRY,
        Screen::Machine => &machine::ENTRY,
        Screen::Home => &home::ENTRY,
    }
}

/// The state's scroll positions, brought into range for these rectangles.
pub(crate) fn settled(state: &State, areas: &Areas) -> Tops {
    let mut tops = scroll::settled(state, areas);
    tops.set_screen(state.screen, (entry(state.screen).top)(state, areas));
    tops
}

/// Brings the scroll positions into range and the selection into sight, as the view shows them.
pub(super) fn settle(state: &mut State) {
    if let Some(areas) = layout::screen(state) {
        state.tops = settled(state, &areas);
        if areas.pane(Pane::Lesson).is_some() {
            state.text_at = Some((state.step, state.selected));
        }
    }
}

/// Does what one screen alone knows how to do.
pub(super) fn act(state: &mut State, action: OwnAction, fx: &mut Vec<Effect>) {
    let mut acts = Screen::ALL.into_iter().flat_map(|screen| entry(screen).acts);
    if let Some((_, act)) = acts.find(|(own, _)| *own == action) {
        act(state, fx);
    }
}

pub(super) fn go(state: &mut State, to: Go) {
    let go = if state.popup.is_some() { scrolling::go } else { entry(state.screen).go };
    go(state, to);
}

pub(super) fn mouse(state: &mut State, event: MouseEvent, fx: &mut Vec<Effect>) {
    let Some(areas) = layout::screen(state) else { return };
    match event.kind {
        _ if state.popup.is_none() => (entry(state.screen).mouse)(state, &areas, event, fx),
        MouseEventKind::ScrollUp => scrolling::up(state, WHEEL),
        MouseEventKind::ScrollDown => scrolling::down(state, WHEEL),
        _ => {}
    }
}

/// Takes text from the clipboard, where there is no popup.
pub(super) fn paste(state: &mut State, text: &str) {
    (entry(state.screen).paste)(state, text);
}

/// Whether the list of all actions has a row of the key table.
pub(super) fn is_offered(state: &State, binding: &Binding) -> bool {
    *binding.context == ALWAYS
        || Screen::of(binding.context).is_some_and(|screen| (entry(screen).offers)(state, binding))
}

/// Goes to the screen that a row of the key table is of.
pub(super) fn go_to(state: &mut State, context: &Context, fx: &mut Vec<Effect>) {
    if [ALWAYS, ANYWHERE].contains(context) || state.screen.has(context) {
        return;
    }
    if let Some(screen) = Screen::of(context) {
        (entry(screen).show)(state, fx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::actions::Action;
    use crate::lab::model::bindings::BINDINGS;

    #[test]
    fn every_own_action_is_done_by_one_screen_and_has_a_key() {
        let acts = || Screen::ALL.into_iter().flat_map(|screen| entry(screen).acts).map(|(own, _)| *own);
        let keys: Vec<OwnAction> = BINDINGS
            .iter()
            .filter_map(|binding| match binding.action {
                Action::Own(own) => Some(own),
                _ => None,
            })
            .collect();
        for own in &keys {
            assert_eq!(acts().filter(|act| act == own).count(), 1, "{own:?}");
        }
        assert!(acts().all(|act| keys.contains(&act)));
    }
}
