//! The home screen: choosing what to open.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::lab::layout::{Areas, home};
use crate::lab::model::book_change::Keeping;
use crate::lab::model::document::Document;
use crate::lab::model::message::Effect;
use crate::lab::model::screens::Screen;
use crate::lab::model::screens::home::{
    BACKSPACE, CLEAR, COMMIT_PATH, COMPLETE_PATH, CONTINUE, Completed, LEAVE_PATH, Listing, OPEN, OPEN_PATH,
    SHOW, Target,
};
use crate::lab::model::state::{Confirm, Popup, State};
use crate::lab::model::theme::Look;
use crate::lab::model::{text, typed_path};
use crate::lab::update::screens::entry::ScreenEntry;
use crate::lab::update::scrolling::Go;
use crate::lab::update::{restarting, selecting};

pub(super) const ENTRY: ScreenEntry = ScreenEntry {
    lay: home::lay,
    top: home::top,
    title: |_| Vec::new(),
    show: toggle,
    offers: |state, _| state.held.home.is_there,
    acts: &[
        (SHOW, toggle),
        (OPEN, open_selected),
        (OPEN_PATH, |state, _| prompt(state)),
        (CONTINUE, resume),
        (COMMIT_PATH, commit),
        (LEAVE_PATH, |state, _| state.held.home.prompt = None),
        (COMPLETE_PATH, complete),
        (BACKSPACE, |state, _| backspace(state)),
        (CLEAR, |state, _| clear(state)),
    ],
    go,
    mouse,
    typed: insert,
    paste: |state, text| text.trim().chars().for_each(|c| _ = insert(state, c)),
};

/// Names that a path may be completed to and that are told.
const NAMES: usize = 12;

impl State {
    /// Whether devices that are chosen now are for the open lesson alone: other lessons have their own.
    pub(in crate::lab) fn chooses_for_lesson(&self) -> bool {
        self.lesson.is_some() && self.screen != Screen::Home
    }

    /// The home screen, before it is known what there is to open.
    pub fn at_home(look: Look) -> State {
        let mut state = State::new(Document::default(), look);
        state.screen = Screen::Home;
        state.held.home.is_there = true;
        state
    }
}

/// Shows the home screen, as it is now, or goes back to what is open.
fn toggle(state: &mut State, fx: &mut Vec<Effect>) {
    if state.screen == Screen::Home {
        if state.has_document() {
            state.screen = Screen::Work;
        }
    } else if state.held.home.is_there {
        selecting::leave(state);
        state.screen = Screen::Home;
        fx.push(Effect::List);
    } else {
        state.say("only this document was opened; `tensorlab` opens the home screen");
    }
}

/// Takes what there is to open.
pub(crate) fn listed(state: &mut State, listing: Listing) {
    state.held.home.is_there = true;
    state.held.home.listing = listing;
    select(state, 0);
}

fn select(state: &mut State, by: isize) {
    let last = state.held.home.entries().len().saturating_sub(1);
    state.held.home.selected = state.held.home.selected.saturating_add_signed(by).min(last);
}

/// Opens the selected entry; for a path, it is asked for.
fn open_selected(state: &mut State, fx: &mut Vec<Effect>) {
    match state.held.home.target() {
        Some(target) => open(state, target, fx),
        None => prompt(state),
    }
}

/// Continues where the learner left off.
fn resume(state: &mut State, fx: &mut Vec<Effect>) {
    match state.held.home.listing.resume.clone() {
        Some((target, _)) => open(state, target, fx),
        None => state.say("there is nothing to continue"),
    }
}

/// Asks for a notebook's path.
fn prompt(state: &mut State) {
    state.held.home.selected = state.held.home.entries().len().saturating_sub(1);
    state.held.home.prompt = Some(String::new());
}

fn insert(state: &mut State, c: char) -> bool {
    let prompt = state.held.home.prompt.as_mut();
    prompt.map(|path| typed_path::push(path, c)).is_some()
}

fn backspace(state: &mut State) {
    if let Some(path) = &mut state.held.home.prompt {
        path.pop();
    }
}

fn clear(state: &mut State) {
    if let Some(path) = &mut state.held.home.prompt {
        path.clear();
    }
}

/// Asks what the typed path may become.
fn complete(state: &mut State, fx: &mut Vec<Effect>) {
    fx.extend(state.held.home.prompt.clone().map(Effect::CompletePath));
}

/// Takes what a path was completed to, if it is still the one that is typed.
pub(crate) fn completed(state: &mut State, typed: &str, completed: Completed) {
    let Some(path) = state.held.home.prompt.as_mut().filter(|path| *path == typed) else { return };
    let Completed { text, names } = completed;
    if text.len() < typed_path::MAX_PATH {
        *path = text;
    }
    match names.as_slice() {
        [] => state.say("no folder and no notebook begins so"),
        [_] => {}
        several => {
            let shown = several.iter().take(NAMES).cloned().collect::<Vec<_>>().join("  ");
            let more = several.len().saturating_sub(NAMES);
            let rest = if more > 0 { format!("  and {more} more") } else { String::new() };
            state.say(text::clean_line(&format!("{shown}{rest}")));
        }
    }
}

fn commit(state: &mut State, fx: &mut Vec<Effect>) {
    let Some(typed) = &state.held.home.prompt else { return };
    let Some(path) = typed_path::notebook(typed) else {
        return state.say("type a path, such as work/first.rhai");
    };
    if typed.trim_end().ends_with('/') {
        return state.say("that is a folder: type the name of a notebook in it as well");
    }
    if !typed_path::is_notebook(&path) {
        return state.say("a notebook's name ends in .rhai or .ipynb");
    }
    state.held.home.prompt = None;
    open(state, Target::Notebook(path), fx);
}

/// Opens something in place of what is open, or asks first where something would be lost.
pub(crate) fn open(state: &mut State, target: Target, fx: &mut Vec<Effect>) {
    let lost = state.is_busy() || state.has_unsaved();
    if state.has_document() && lost {
        state.held.home.wanted = Some(target);
        state.popup = Some(Popup::Confirm(Confirm::Open));
        return;
    }
    fx.push(Effect::Open(target));
}

/// It was asked whether what is open may go, and it may.
pub(crate) fn yes(state: &mut State, fx: &mut Vec<Effect>) {
    if let Some(target) = state.held.home.wanted.take() {
        fx.push(Effect::Open(target));
    }
}

/// Takes a document in place of the one that was open. Its session is started next.
pub(crate) fn opened(state: &mut State, document: Document, at: Option<&str>, keeping: Keeping) {
    restarting::forget_session(state);
    state.take_document(document);
    state.keeping = keeping;
    state.screen = Screen::Work;
    if let Some(id) = at {
        selecting::continue_at(state, id);
    }
}

/// A path that was typed can be mended.
pub(crate) fn not_opened(state: &mut State, target: &Target) {
    let home = &mut state.held.home;
    if let (Target::Notebook(path), None, Screen::Home) = (target, home.target(), state.screen) {
        home.prompt = Some(path.display().to_string());
    }
}

fn go(state: &mut State, to: Go) {
    let by = match to {
        Go::Up => -1,
        Go::Down => 1,
        Go::PageUp => -10,
        Go::PageDown => 10,
        Go::First => isize::MIN,
        Go::Last => isize::MAX,
    };
    select(state, by);
}

fn mouse(state: &mut State, areas: &Areas, event: MouseEvent, fx: &mut Vec<Effect>) {
    match event.kind {
        MouseEventKind::ScrollUp => select(state, -1),
        MouseEventKind::ScrollDown => select(state, 1),
        MouseEventKind::Down(MouseButton::Left) => {
            press(state, areas, Position::new(event.column, event.row), fx);
        }
        _ => {}
    }
}

/// A press of the mouse selects an entry; on the selected one, it opens it.
fn press(state: &mut State, areas: &Areas, at: Position, fx: &mut Vec<Effect>) {
    let Some(entry) = home::entry_at(state, state.tops.of_screen(Screen::Home), areas.body, at) else {
        return;
    };
    if state.held.home.prompt.is_some() {
        return;
    }
    if entry == state.held.home.selected {
        open_selected(state, fx);
    } else {
        state.held.home.selected = entry;
    }
}
