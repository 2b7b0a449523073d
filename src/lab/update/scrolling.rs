//! Scrolling and selecting.

use ratatui::layout::Rect;

use crate::lab::item::ItemState;
use crate::lab::layout::{Areas, areas, inner};
use crate::lab::panels::popup;
use crate::lab::scroll;
use crate::lab::state::{Pane, Popup, State};

/// Rows of context that a page keeps.
const OVERLAP: usize = 2;

/// The rectangles of the whole screen, where it is large enough.
pub fn screen(state: &State) -> Option<Areas> {
    areas(state, whole(state))
}

fn whole(state: &State) -> Rect {
    // Terminals are never larger; a rectangle's area must fit its type.
    Rect::new(0, 0, state.size.0.min(2000), state.size.1.min(2000))
}

pub fn up(state: &mut State, by: usize) {
    match (state.popup, state.focus) {
        (Some(Popup::Help(top)), _) => help_to(state, usize::from(top).saturating_sub(by)),
        (Some(Popup::Doc(top)), _) => doc_to(state, usize::from(top).saturating_sub(by)),
        (Some(Popup::Palette | Popup::Past), _) => pick(state, -1),
        (_, Pane::Lesson) => state.tops.lesson = state.tops.lesson.saturating_sub(by),
        (_, Pane::Cells) => select(state, false),
        (_, Pane::Machine) => list_by(state, |top| top.saturating_sub(by)),
    }
}

pub fn down(state: &mut State, by: usize) {
    match (state.popup, state.focus) {
        (Some(Popup::Help(top)), _) => help_to(state, usize::from(top).saturating_add(by)),
        (Some(Popup::Doc(top)), _) => doc_to(state, usize::from(top).saturating_add(by)),
        (Some(Popup::Palette | Popup::Past), _) => pick(state, 1),
        (_, Pane::Lesson) => state.tops.lesson = state.tops.lesson.saturating_add(by),
        (_, Pane::Cells) => select(state, true),
        (_, Pane::Machine) => list_by(state, |top| top.saturating_add(by)),
    }
}

/// Scrolls by a page; the cells pane scrolls without selecting.
pub fn page(state: &mut State, forward: bool) {
    let pane = screen(state).and_then(|areas| areas.pane(state.focus)).map(inner);
    let rows = pane.map_or(10, |area| usize::from(area.height)).saturating_sub(OVERLAP).max(1);
    match (state.popup.is_none(), state.focus) {
        (true, Pane::Cells) => scroll_cells(state, rows, forward),
        (_, _) if forward => down(state, rows),
        (_, _) => up(state, rows),
    }
}

/// Scrolls the cells pane away from the selection.
pub fn scroll_cells(state: &mut State, rows: usize, forward: bool) {
    let top = &mut state.tops.cells;
    *top = if forward { top.saturating_add(rows) } else { top.saturating_sub(rows) };
    state.follow = false;
}

pub fn first(state: &mut State) {
    match state.focus {
        Pane::Lesson => state.tops.lesson = 0,
        Pane::Cells => {
            state.select_first();
            state.follow = true;
        }
        Pane::Machine => list_by(state, |_| 0),
    }
}

pub fn last(state: &mut State) {
    match state.focus {
        Pane::Lesson => state.tops.lesson = usize::MAX,
        Pane::Cells => {
            let last = state.current_step().and_then(|s| s.items.iter().rposition(ItemState::is_selectable));
            state.selected = last.unwrap_or(0);
            state.follow = true;
        }
        Pane::Machine => list_by(state, |_| usize::MAX),
    }
}

/// Brings the scroll positions into range and the selection into sight, as the view shows them.
pub fn settle(state: &mut State) {
    if let Some(areas) = screen(state) {
        state.tops = scroll::settled(state, &areas);
    }
}

fn select(state: &mut State, forward: bool) {
    let selected = state.selected;
    let Some(step) = state.current_step() else { return };
    let found = if forward {
        let later = step.items.iter().enumerate().skip(selected + 1);
        later.filter(|(_, item)| item.is_selectable()).map(|(i, _)| i).next()
    } else {
        step.items.iter().take(selected).rposition(ItemState::is_selectable)
    };
    if let Some(found) = found {
        state.selected = found;
    }
    state.follow = true;
}

fn list_by(state: &mut State, change: impl FnOnce(usize) -> usize) {
    let tops = &mut state.tops;
    let top = if state.machine.transfers { &mut tops.transfers } else { &mut tops.tensors };
    *top = change(*top);
}

fn help_to(state: &mut State, top: usize) {
    let (total, rows) = popup::help_extent(whole(state));
    let top = top.min(total.saturating_sub(rows));
    state.popup = Some(Popup::Help(u16::try_from(top).unwrap_or(u16::MAX)));
}

fn doc_to(state: &mut State, top: usize) {
    let (total, rows) = popup::doc_extent(state, whole(state));
    let top = top.min(total.saturating_sub(rows));
    state.popup = Some(Popup::Doc(u16::try_from(top).unwrap_or(u16::MAX)));
}

fn pick(state: &mut State, by: isize) {
    if let Some(picker) = &mut state.aid.picker {
        picker.go(by);
    }
}
