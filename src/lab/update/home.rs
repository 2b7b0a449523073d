//! The home screen: choosing what to open.

use std::path::PathBuf;

use ratatui::layout::Position;

use crate::lab::layout::{Areas, home};
use crate::lab::model::document::Document;
use crate::lab::model::home::{Listing, Target};
use crate::lab::model::item::ItemState;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Confirm, Popup, Screen, State};
use crate::lab::model::text;
use crate::lab::update::{restarting, selecting};

/// Characters of a path.
const MAX_PATH: usize = 1000;

/// Shows the home screen, as it is now, or goes back to what is open.
pub(crate) fn toggle(state: &mut State, fx: &mut Vec<Effect>) {
    if state.screen == Screen::Home {
        if state.has_document() {
            state.screen = Screen::Work;
        }
    } else if state.home.is_there {
        selecting::leave(state);
        state.screen = Screen::Home;
        fx.push(Effect::List);
    } else {
        state.say("only this document was opened; `tensorlab` opens the home screen");
    }
}

/// Takes what there is to open.
pub(super) fn listed(state: &mut State, listing: Listing) {
    state.home.is_there = true;
    state.home.listing = listing;
    select(state, 0);
}

pub(super) fn select(state: &mut State, by: isize) {
    let last = state.home.entries().len().saturating_sub(1);
    state.home.selected = state.home.selected.saturating_add_signed(by).min(last);
}

/// Opens the selected entry; for a path, it is asked for.
pub(crate) fn open_selected(state: &mut State, fx: &mut Vec<Effect>) {
    match state.home.target() {
        Some(target) => open(state, target, fx),
        None => prompt(state),
    }
}

/// Continues where the learner left off.
pub(super) fn resume(state: &mut State, fx: &mut Vec<Effect>) {
    match state.home.listing.resume.clone() {
        Some((target, _)) => open(state, target, fx),
        None => state.say("there is nothing to continue"),
    }
}

/// Asks for a notebook's path.
pub(crate) fn prompt(state: &mut State) {
    state.home.selected = state.home.entries().len().saturating_sub(1);
    state.home.prompt = Some(String::new());
}

pub(super) fn insert(state: &mut State, c: char) {
    if let Some(path) = &mut state.home.prompt
        && path.len() < MAX_PATH
        && text::printable(c)
    {
        path.push(c);
    }
}

pub(crate) fn backspace(state: &mut State) {
    if let Some(path) = &mut state.home.prompt {
        path.pop();
    }
}

pub(crate) fn commit(state: &mut State, fx: &mut Vec<Effect>) {
    let Some(path) = state.home.prompt.as_ref().map(|path| path.trim().to_owned()) else { return };
    if path.is_empty() {
        state.say("type a path, such as work/first.rhai");
        return;
    }
    let mut path = PathBuf::from(path);
    if path.extension().is_none() {
        path.set_extension("rhai");
    }
    state.home.prompt = None;
    open(state, Target::Notebook(path), fx);
}

fn open(state: &mut State, target: Target, fx: &mut Vec<Effect>) {
    let lost = state.is_busy() || state.unsaved() > 0;
    if state.has_document() && lost {
        state.home.wanted = Some(target);
        state.popup = Some(Popup::Confirm(Confirm::Open));
        return;
    }
    fx.push(Effect::Open(target));
}

/// It was asked whether what is open may go, and it may.
pub(super) fn yes(state: &mut State, fx: &mut Vec<Effect>) {
    if let Some(target) = state.home.wanted.take() {
        fx.push(Effect::Open(target));
    }
}

/// Takes a document in place of the one that was open. Its session is started next.
pub(super) fn opened(state: &mut State, document: Document, at: Option<&str>, can_save: bool) {
    restarting::forget_session(state);
    state.take_document(document);
    state.can_save = can_save;
    state.screen = Screen::Work;
    let place = at.and_then(|id| {
        state.steps.iter().enumerate().find_map(|(s, step)| {
            let found = step.items.iter().position(|item| item_id(item) == Some(id));
            found.map(|item| (s, item))
        })
    });
    if let Some((step, item)) = place {
        state.step = step;
        state.selected = item;
        state.focus = Pane::Cells;
        state.say("here you left off");
    }
}

fn item_id(item: &ItemState) -> Option<&str> {
    match item {
        ItemState::Text(_) => None,
        ItemState::Cell(cell) => Some(&cell.id),
        ItemState::Predict(predict) => Some(&predict.id),
        ItemState::Quiz(quiz) => Some(&quiz.id),
    }
}

/// A press of the mouse selects an entry; on the selected one, it opens it.
pub(crate) fn press(state: &mut State, areas: &Areas, at: Position, fx: &mut Vec<Effect>) {
    let Some(entry) = home::entry_at(state, state.tops.home, areas.body, at) else { return };
    if state.home.prompt.is_some() {
        return;
    }
    if entry == state.home.selected {
        open_selected(state, fx);
    } else {
        state.home.selected = entry;
    }
}
