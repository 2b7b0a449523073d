//! Scrolling and selecting. After every message the view is settled: nothing is scrolled beyond its end, and
//! what is selected or typed in stays in sight.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::lab::item::ItemState;
use crate::lab::layout::{Areas, areas, inner};
use crate::lab::panels::{cells, lesson, machine, popup, tensors, transfers};
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
        (_, Pane::Lesson) => state.scroll.lesson = state.scroll.lesson.saturating_sub(by),
        (_, Pane::Cells) => select(state, false),
        (_, Pane::Machine) => list_by(state, |top| top.saturating_sub(by)),
    }
}

pub fn down(state: &mut State, by: usize) {
    match (state.popup, state.focus) {
        (Some(Popup::Help(top)), _) => help_to(state, usize::from(top).saturating_add(by)),
        (_, Pane::Lesson) => state.scroll.lesson = state.scroll.lesson.saturating_add(by),
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
    let top = &mut state.scroll.cells;
    *top = if forward { top.saturating_add(rows) } else { top.saturating_sub(rows) };
    state.scroll.follow = false;
}

pub fn first(state: &mut State) {
    match state.focus {
        Pane::Lesson => state.scroll.lesson = 0,
        Pane::Cells => {
            state.select_first();
            state.scroll.follow = true;
        }
        Pane::Machine => list_by(state, |_| 0),
    }
}

pub fn last(state: &mut State) {
    match state.focus {
        Pane::Lesson => state.scroll.lesson = usize::MAX,
        Pane::Cells => {
            let last = state.current_step().and_then(|s| s.items.iter().rposition(ItemState::is_selectable));
            state.selected = last.unwrap_or(0);
            state.scroll.follow = true;
        }
        Pane::Machine => list_by(state, |_| usize::MAX),
    }
}

/// Brings the scroll positions into range and the selection into sight.
pub fn settle(state: &mut State) {
    let Some(areas) = screen(state) else { return };
    if let Some(pane) = areas.pane(Pane::Cells) {
        settle_cells(state, inner(pane));
    }
    if let Some(pane) = areas.pane(Pane::Lesson) {
        let inside = inner(pane);
        let rows = lesson::layout(state, inside.width).map_or(0, |layout| layout.rows.len());
        state.scroll.lesson = state.scroll.lesson.min(rows.saturating_sub(usize::from(inside.height)));
    }
    if let Some(pane) = areas.pane(Pane::Machine) {
        let sections = machine::sections(state, machine::inside(pane));
        let room = usize::from(sections.tensors.height).saturating_sub(1);
        let rows = tensors::rows(state);
        let log = state.history.transfers().len();
        let fitting = transfers::fitting(sections.transfers);
        let view = &mut state.machine;
        view.tensors_top = view.tensors_top.min(rows.saturating_sub(room));
        view.transfers_top = view.transfers_top.min(log.saturating_sub(fitting));
    }
}

fn settle_cells(state: &mut State, inside: Rect) {
    let rows = usize::from(inside.height);
    let extents = cells::extents(state, inside.width);
    let total = cells::height(&extents);
    let mut top = state.scroll.cells;
    if state.scroll.follow
        && let Some(extent) = extents.iter().find(|extent| extent.item == state.selected)
    {
        // The empty row after the item need not be seen.
        let end = extent.top + extent.height().saturating_sub(1);
        let running = state.selected_cell().is_some_and(|cell| cell.is_busy());
        top = show(top, rows, extent.top..end, running);
        if state.editing
            && let Some((row, _)) = cells::cursor(state, &extents)
        {
            top = show(top, rows, row..row + 1, false);
        }
    }
    state.scroll.cells = top.min(total.saturating_sub(rows));
}

/// The least scrolled position that shows a range; of one that does not fit, its end or its beginning.
fn show(top: usize, rows: usize, range: Range<usize>, prefer_end: bool) -> usize {
    if range.len() > rows {
        return if prefer_end { range.end.saturating_sub(rows) } else { range.start };
    }
    top.clamp(range.end.saturating_sub(rows), range.start)
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
    state.scroll.follow = true;
}

fn list_by(state: &mut State, change: impl FnOnce(usize) -> usize) {
    let view = &mut state.machine;
    let top = if view.transfers { &mut view.transfers_top } else { &mut view.tensors_top };
    *top = change(*top);
}

fn help_to(state: &mut State, top: usize) {
    let (total, rows) = popup::help_extent(whole(state));
    let top = top.min(total.saturating_sub(rows));
    state.popup = Some(Popup::Help(u16::try_from(top).unwrap_or(u16::MAX)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn showing_scrolls_no_more_than_it_must() {
        assert_eq!(show(0, 10, 3..8, false), 0);
        assert_eq!(show(0, 10, 8..14, false), 4);
        assert_eq!(show(9, 10, 3..8, false), 3);
        assert_eq!(show(0, 10, 5..25, false), 5);
        assert_eq!(show(0, 10, 5..25, true), 15);
    }
}
