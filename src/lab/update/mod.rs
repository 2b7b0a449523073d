//! How the state changes: one message in, what is to be done about it out.

mod actions;
mod answering;
mod arranging;
mod asking;
mod attempting;
mod book;
mod cells;
mod completion;
mod editing;
mod finding;
mod foreign;
mod help_pages;
mod keys_search;
mod machine;
mod messages;
mod mouse;
mod naming;
mod picking;
mod pictures;
mod placing;
mod reloading;
mod restarting;
mod running;
pub(super) mod screens;
mod scrolling;
mod selecting;
mod unbound;
mod variables;
mod verifying;
mod vi;
mod whereabouts;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::base::text::line_feeds;
use crate::lab::layout;
use crate::lab::layout::key_bar;
use crate::lab::model::actions::{Action, CellAction, Choice, Edit};
use crate::lab::model::keys::Chord;
use crate::lab::model::message::{Effect, Msg};
use crate::lab::model::state::{Popup, State};
use crate::lab::model::{active_keys, text};
use crate::lab::update::screens::home;
use crate::session::client::FromSession;

pub(in crate::lab) use selecting::continue_at;

/// Takes a message. The effects are to be carried out in order.
pub fn update(state: &mut State, msg: Msg) -> Vec<Effect> {
    let mut effects = Vec::new();
    let fx = &mut effects;
    state.said.answering = match msg {
        Msg::Key(_) | Msg::Mouse(_) | Msg::Paste(_) => true,
        // What a key has asked for comes after it.
        Msg::File { .. } | Msg::Saved(_) | Msg::SavedAs { .. } => state.said.answering,
        Msg::Placed { .. } | Msg::NotPlaced(_) => state.said.answering,
        Msg::Compared(_) | Msg::Reloaded(_) | Msg::PathCompleted { .. } => state.said.answering,
        _ => false,
    };
    match msg {
        Msg::Tick(now) => return tick(state, now),
        Msg::Key(event) => settled(state, |state| key(state, event, fx)),
        Msg::Mouse(event) => {
            if let MouseEventKind::Down(_) = event.kind {
                state.said.read(state.now);
            }
            settled(state, |state| mouse(state, event, fx));
        }
        Msg::Paste(text) => settled(state, |state| paste(state, &line_feeds(&text))),
        Msg::Resize(columns, rows) => settled(state, |state| state.size = (columns, rows)),
        Msg::Session(FromSession::Message(message)) => {
            if !messages::message(state, message, fx) {
                return effects;
            }
        }
        Msg::Session(FromSession::Died { reason }) => {
            messages::died(state, (&reason.to_string(), reason.is_from_outside()), fx)
        }
        Msg::Saved(saved) => book::saved(state, saved, fx),
        Msg::SavedAs { path, notes } => naming::saved(state, &path, &notes, fx),
        Msg::File { facts, keeping } => book::file(state, facts, keeping, fx),
        Msg::Placed { is_reopened } => placing::placed(state, is_reopened, fx),
        Msg::NotPlaced(reason) => placing::not_placed(state, &reason),
        Msg::Compared(lines) => reloading::compared(state, lines),
        Msg::Reloaded(document) => settled(state, |state| reloading::reloaded(state, document, fx)),
        Msg::Drawn { cell, slot, drawing } => pictures::drawn(state, cell, slot, drawing),
        Msg::Note(text) => state.say(text::clean_line(&text)),
        Msg::Lasting(text) => help_pages::lasting(state, &text),
        Msg::Listed(listing) => settled(state, |state| home::listed(state, *listing)),
        Msg::Found(devices) => state.held.home.found = Some(devices),
        Msg::PathCompleted { typed, completed } => home::completed(state, &typed, completed),
        Msg::Opened { document, at, keeping } => {
            settled(state, |state| home::opened(state, document, at.as_deref(), keeping))
        }
        Msg::NotOpened(target) => home::not_opened(state, &target),
    }
    book::follow(state, fx);
    whereabouts::follow(state, fx);
    pictures::ask(state, fx);
    state.touch();
    effects
}

/// Changes what may be scrolled: from where the view is now, to where it can be afterwards. A session's messages
/// are not worth it, as there may be many in a frame; the view settles by itself.
fn settled(state: &mut State, change: impl FnOnce(&mut State)) {
    screens::settle(state);
    change(state);
    machine::look(state);
    screens::settle(state);
}

/// Time passes: what moves by itself moves on, ten times a second.
fn tick(state: &mut State, now: std::time::Duration) -> Vec<Effect> {
    let before = state.now.as_millis() / 100;
    state.now = state.now.max(now);
    if state.work.current.is_some() && state.now.as_millis() / 100 != before {
        state.touch();
    }
    Vec::new()
}

/// A click on the key bar is the key, wherever one is; one on an entry of a list takes it.
fn mouse(state: &mut State, event: MouseEvent, fx: &mut Vec<Effect>) {
    let at = Position::new(event.column, event.row);
    let pressed = event.kind == MouseEventKind::Down(MouseButton::Left);
    let bar = layout::screen(state).map(|areas| areas.key_bar).filter(|_| pressed);
    if let Some(Chord(code, modifiers)) = bar.and_then(|bar| key_bar::key_at(state, bar, at)) {
        return key(state, KeyEvent::new(code, modifiers), fx);
    }
    if pressed && picking::press(state, at) {
        return actions::act(
            state,
            Action::Choice(Choice::Accept),
            KeyEvent::new(KeyCode::Null, KeyModifiers::NONE),
            fx,
        );
    }
    screens::mouse(state, event, fx);
}

/// Whether nothing is shown, for want of room, but that there is none.
fn is_hidden(state: &State) -> bool {
    layout::screen(state).is_none() && !matches!(state.popup, Some(Popup::Confirm(_)))
}

/// What is not seen is not written to: keys quit and interrupt.
fn hidden_key(state: &mut State, event: KeyEvent, fx: &mut Vec<Effect>) {
    let quits = event.code == KeyCode::Char('q') && event.modifiers.is_empty();
    let action = if quits { Some(Action::Quit) } else { active_keys::find(state, event) };
    if let Some(action @ (Action::Quit | Action::Interrupt)) = action {
        actions::act(state, action, event, fx);
    }
}

/// What is typed into a popup is one line.
fn paste(state: &mut State, text: &str) {
    if is_hidden(state) {
        return;
    }
    match state.popup {
        Some(_) => text.lines().next().unwrap_or_default().chars().for_each(|c| picking::typed(state, c)),
        None => screens::paste(state, text),
    }
}

fn key(state: &mut State, event: KeyEvent, fx: &mut Vec<Effect>) {
    // What was said has been read, or is answered by this key.
    state.said.read(state.now);
    let first_key = state.aid.first_key.take();
    if is_hidden(state) {
        return hidden_key(state, event, fx);
    }
    if vi::key(state, event) {
        return;
    }
    let plain = !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    if let Some(action) = active_keys::find(state, event) {
        if action == Action::Cell(CellAction::DeleteCell) && first_key != Some('d') {
            state.aid.first_key = Some('d');
            return;
        }
        actions::act(state, action, event, fx);
        match action {
            Action::Choice(_) | Action::Complete | Action::Edit(Edit::Tab) => {}
            Action::Edit(Edit::Backspace) => completion::narrow(state),
            _ => state.aid.completing = None,
        }
    } else if let KeyCode::Char(c) = event.code
        && plain
    {
        match state.popup {
            Some(Popup::Confirm(question)) => unbound::answer(state, question, c),
            Some(_) => picking::typed(state, c),
            None => {
                if !(screens::entry(state.screen).typed)(state, c) {
                    unbound::key(state, c);
                }
            }
        }
    }
}
