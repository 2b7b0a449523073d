//! Scrolling and selecting.

use crate::lab::layout;
use crate::lab::layout::{doc, glossary, help, inner, whole};
use crate::lab::model::item::ItemState;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Popup, State};
use crate::lab::update::machine;
use crate::lab::update::selecting::select;

/// Where a key leads in what scrolls or is selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Go {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Rows that a turn of the wheel scrolls by.
pub(super) const WHEEL: usize = 3;
/// Rows of context that a page keeps.
const OVERLAP: usize = 2;

/// Scrolls or selects in a popup, a pane or the machine.
pub(super) fn go(state: &mut State, to: Go) {
    match to {
        Go::Up => up(state, 1),
        Go::Down => down(state, 1),
        Go::PageUp => page(state, false),
        Go::PageDown => page(state, true),
        Go::First => first(state),
        Go::Last => last(state),
    }
}

pub(super) fn up(state: &mut State, by: usize) {
    match (state.popup, state.focus) {
        (Some(Popup::Help(top) | Popup::Glossary(top)), _) => {
            help_to(state, usize::from(top).saturating_sub(by))
        }
        (Some(Popup::Doc(top) | Popup::Differences(top)), _) => {
            let (total, rows) = doc::doc_extent(state, whole(state));
            doc_to(state, usize::from(top).min(total.saturating_sub(rows)).saturating_sub(by));
        }
        (Some(Popup::Palette | Popup::Past | Popup::Steps), _) => pick(state, -1),
        (None, _) if machine::has_keys(state) => machine::step(state, false),
        (_, Pane::Lesson) => state.tops.lesson = state.tops.lesson.saturating_sub(by),
        (_, Pane::Cells) => select(state, false),
        (_, Pane::Machine) => {}
    }
}

pub(super) fn down(state: &mut State, by: usize) {
    match (state.popup, state.focus) {
        (Some(Popup::Help(top) | Popup::Glossary(top)), _) => {
            help_to(state, usize::from(top).saturating_add(by))
        }
        (Some(Popup::Doc(top) | Popup::Differences(top)), _) => {
            doc_to(state, usize::from(top).saturating_add(by))
        }
        (Some(Popup::Palette | Popup::Past | Popup::Steps), _) => pick(state, 1),
        (None, _) if machine::has_keys(state) => machine::step(state, true),
        (_, Pane::Lesson) => state.tops.lesson = state.tops.lesson.saturating_add(by),
        (_, Pane::Cells) => select(state, true),
        (_, Pane::Machine) => {}
    }
}

/// Scrolls by a page; the cells pane scrolls without selecting.
fn page(state: &mut State, forward: bool) {
    if state.popup.is_none() && machine::has_keys(state) {
        machine::page(state, forward, false);
        return;
    }
    let pane = layout::screen(state).and_then(|areas| areas.pane(state.focus)).map(inner);
    let rows = pane.map_or(10, |area| usize::from(area.height)).saturating_sub(OVERLAP).max(1);
    match (state.popup.is_none(), state.focus) {
        (true, Pane::Cells) => scroll_cells(state, rows, forward),
        (_, _) if forward => down(state, rows),
        (_, _) => up(state, rows),
    }
}

/// Scrolls the cells pane away from the selection.
pub(crate) fn scroll_cells(state: &mut State, rows: usize, forward: bool) {
    let top = &mut state.tops.cells;
    *top = if forward { top.saturating_add(rows) } else { top.saturating_sub(rows) };
    state.follow = false;
}

fn first(state: &mut State) {
    if popup_to(state, 0) {
        return;
    }
    match state.focus {
        _ if machine::has_keys(state) => machine::page(state, false, true),
        Pane::Lesson => state.tops.lesson = 0,
        Pane::Cells => {
            state.select_first();
            state.follow = true;
        }
        Pane::Machine => {}
    }
}

fn last(state: &mut State) {
    if popup_to(state, usize::MAX) {
        return;
    }
    match state.focus {
        _ if machine::has_keys(state) => machine::page(state, true, true),
        Pane::Lesson => state.tops.lesson = usize::MAX,
        Pane::Cells => {
            let last = state.current_step().and_then(|s| s.items.iter().rposition(ItemState::is_selectable));
            state.selected = last.unwrap_or(0);
            state.follow = true;
        }
        Pane::Machine => {}
    }
}

/// Scrolls a page to read that lies over all else; whether there is one.
fn popup_to(state: &mut State, top: usize) -> bool {
    match state.popup {
        Some(Popup::Help(_) | Popup::Glossary(_)) => help_to(state, top),
        Some(Popup::Doc(_) | Popup::Differences(_)) => doc_to(state, top),
        _ => return false,
    }
    true
}

/// Scrolls the keys or the figures' meanings, no further than to their end.
pub(super) fn help_to(state: &mut State, top: usize) {
    let glossary = matches!(state.popup, Some(Popup::Glossary(_)));
    let (total, rows) = if glossary {
        glossary::extent(whole(state), &state.theme)
    } else {
        help::help_extent(state, whole(state))
    };
    let top = u16::try_from(top.min(total.saturating_sub(rows))).unwrap_or(u16::MAX);
    state.popup = Some(if glossary { Popup::Glossary(top) } else { Popup::Help(top) });
}

fn doc_to(state: &mut State, top: usize) {
    let (total, rows) = doc::doc_extent(state, whole(state));
    let top = u16::try_from(top.min(total.saturating_sub(rows))).unwrap_or(u16::MAX);
    state.popup = Some(if let Some(Popup::Differences(_)) = state.popup {
        Popup::Differences(top)
    } else {
        Popup::Doc(top)
    });
}

fn pick(state: &mut State, by: isize) {
    if let Some(picker) = &mut state.aid.picker {
        picker.go(by);
    }
}
