//! The machine as a screen of its own.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::lab::layout::{self, Areas};
use crate::lab::model::binding::Binding;
use crate::lab::model::bindings::BINDINGS;
use crate::lab::model::context::{ANYWHERE, BROWSE};
use crate::lab::model::message::Effect;
use crate::lab::model::screens::machine::{MACHINE, SHOW};
use crate::lab::model::state::State;
use crate::lab::update::screens::entry::ScreenEntry;
use crate::lab::update::scrolling::{self, WHEEL};
use crate::lab::update::{editing, machine};

pub(super) const ENTRY: ScreenEntry = ScreenEntry {
    lay: layout::machine::lay,
    top: |_, _| 0,
    title: |state| layout::machine::title(state, true),
    show: |state, _| machine::toggle(state),
    offers,
    acts: &[(SHOW, |state, _| machine::toggle(state))],
    go: scrolling::go,
    mouse,
    // The machine has no text of its own.
    typed: |_, _| false,
    paste: editing::paste,
};

/// What its keys do as elsewhere is listed once.
fn offers(state: &State, binding: &Binding) -> bool {
    let elsewhere = |other: &Binding| {
        [&MACHINE, &BROWSE, &ANYWHERE].contains(&other.context) && other.action == binding.action
    };
    state.has_document() && !BINDINGS.iter().any(elsewhere)
}

fn mouse(state: &mut State, areas: &Areas, event: MouseEvent, _: &mut Vec<Effect>) {
    let at = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::ScrollUp => machine::wheel(state, areas, at, WHEEL, false),
        MouseEventKind::ScrollDown => machine::wheel(state, areas, at, WHEEL, true),
        MouseEventKind::Down(MouseButton::Left) => machine::press(state, areas, at),
        _ => {}
    }
}
