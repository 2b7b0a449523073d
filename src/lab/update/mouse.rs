//! The mouse on the panes: scroll, click to select, drag a divider.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::lab::layout::{Areas, cells, chosen, inner, tabs};
use crate::lab::model::editor::Pos;
use crate::lab::model::laid::{LaidRow, RowPart};
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::update::scrolling::WHEEL;
use crate::lab::update::{answering, completion, machine, scrolling, selecting};

pub(super) fn mouse(state: &mut State, areas: &Areas, event: MouseEvent, fx: &mut Vec<Effect>) {
    let at = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::ScrollUp => wheel(state, areas, at, false),
        MouseEventKind::ScrollDown => wheel(state, areas, at, true),
        MouseEventKind::Down(MouseButton::Left) => press(state, areas, at, fx),
        MouseEventKind::Drag(MouseButton::Left) if state.aid.pressed.is_some() => select(state, areas, at),
        MouseEventKind::Drag(MouseButton::Left) => drag(state, areas, at),
        MouseEventKind::Up(_) => {
            state.dragged = None;
            state.aid.pressed = None;
        }
        _ => {}
    }
}

fn wheel(state: &mut State, areas: &Areas, at: Position, forward: bool) {
    let Some((pane, _)) = areas.panes.iter().find(|(_, rect)| rect.contains(at)) else { return };
    if *pane == Pane::Machine {
        machine::wheel(state, areas, at, WHEEL, forward);
        return;
    }
    if *pane == Pane::Cells {
        scrolling::scroll_cells(state, WHEEL, forward);
        return;
    }
    // The pane under the mouse scrolls, whichever has the focus.
    let focus = std::mem::replace(&mut state.focus, *pane);
    if forward {
        scrolling::down(state, WHEEL)
    } else {
        scrolling::up(state, WHEEL)
    }
    state.focus = focus;
}

fn press(state: &mut State, areas: &Areas, at: Position, fx: &mut Vec<Effect>) {
    if let Some(tabs) = areas.tabs.filter(|tabs| tabs.contains(at)) {
        if let Some(pane) = tabs::tab_at(state, tabs, at) {
            selecting::show(state, pane);
        }
        return;
    }
    if let Some(name) = chosen::name_at(state, areas, at) {
        completion::take(state, name);
        return;
    }
    state.dragged = divider(areas, at.x).filter(|_| areas.panes.iter().any(|(_, rect)| rect.contains(at)));
    if state.dragged.is_some() {
        return;
    }
    let Some(&(pane, rect)) = areas.panes.iter().find(|(_, rect)| rect.contains(at)) else { return };
    if pane != state.focus {
        selecting::show(state, pane);
    }
    if pane == Pane::Machine {
        machine::press(state, areas, at);
    }
    if pane == Pane::Cells && inner(rect).contains(at) {
        click_cells(state, inner(rect), at, fx);
    }
}

/// The pane whose share a press at this column would drag.
fn divider(areas: &Areas, x: u16) -> Option<Pane> {
    areas.panes.iter().zip(areas.panes.iter().skip(1)).find_map(|((left, rect), (right, _))| {
        let edge = rect.right();
        let side = if *left == Pane::Lesson { *left } else { *right };
        (x == edge || x + 1 == edge).then_some(side)
    })
}

fn drag(state: &mut State, areas: &Areas, at: Position) {
    let Some(pane) = state.dragged else { return };
    let total = u32::from(areas.header.width.max(1));
    let width = match pane {
        Pane::Lesson => at.x,
        Pane::Machine | Pane::Cells => areas.header.width.saturating_sub(at.x),
    };
    // Where two panes stand, a share counts for more; see the layout.
    let scale = if areas.panes.len() == 2 { 14 } else { 10 };
    let share = (u32::from(width) * 1000 / total / scale).clamp(16, 60) as u16;
    match pane {
        Pane::Lesson => state.shares.lesson = share,
        Pane::Machine | Pane::Cells => state.shares.machine = share,
    }
}

fn click_cells(state: &mut State, inside: Rect, at: Position, fx: &mut Vec<Effect>) {
    let extents = cells::extents(state, inside.width);
    let row = state.tops.cells + usize::from(at.y - inside.y);
    let Some((extent, row)) = cells::row_at(&extents, row) else { return };
    let (item, row) = (extent.item, row.clone());
    state.aid.completing = None;
    let code = matches!(row.part, RowPart::Code { .. });
    if item == state.selected && code && !state.editing && state.selected_cell().is_some() {
        // A second click on code begins to type there.
        selecting::enter(state);
        state.follow = false;
    }
    if item != state.selected {
        selecting::leave(state);
        state.selected = item;
        // The view stays where it is: what was clicked is in sight.
        state.follow = false;
    }
    match row.part {
        RowPart::Choice(choice) => answering::choose_at(state, choice, fx),
        RowPart::Code { .. } => place_cursor(state, &row, usize::from(at.x - inside.x).saturating_sub(1)),
        _ => {}
    }
}

/// Puts the text cursor where a row of code was clicked, if the cell is being edited; a selection begins there.
fn place_cursor(state: &mut State, row: &LaidRow, column: usize) {
    if !state.editing {
        return;
    }
    let Some(at) = place_at(state, row, column) else { return };
    state.aid.pressed = Some(at);
    if let Some(cell) = state.selected_cell_mut() {
        cell.editor.clear_selection();
        cell.editor.set_cursor(at);
    }
}

/// The place in the code at a column of a row.
fn place_at(state: &State, row: &LaidRow, column: usize) -> Option<Pos> {
    let RowPart::Code { line, from, length, indent } = row.part else { return None };
    let cell = state.selected_cell()?;
    let mut used = indent;
    let before = cell.editor.line(line).chars().skip(from).take(length).take_while(|c| {
        used += text::char_width(*c);
        used <= column
    });
    Some(Pos { row: line, col: from + before.count() })
}

/// Selects from where the button was pressed to here.
fn select(state: &mut State, areas: &Areas, at: Position) {
    let (Some(from), Some(pane)) = (state.aid.pressed, areas.pane(Pane::Cells)) else { return };
    let inside = inner(pane);
    let y = at.y.clamp(inside.y, inside.bottom().saturating_sub(1));
    let row = state.tops.cells + usize::from(y - inside.y);
    let extents = cells::extents(state, inside.width);
    let Some((extent, row)) = cells::row_at(&extents, row) else { return };
    if extent.item != state.selected {
        return;
    }
    let column = usize::from(at.x.saturating_sub(inside.x)).saturating_sub(1);
    let (row, to) = (row.clone(), place_at(state, row, column));
    if let (Some(to), RowPart::Code { .. }) = (to, row.part)
        && let Some(cell) = state.selected_cell_mut()
    {
        cell.editor.select(from, to);
    }
}
