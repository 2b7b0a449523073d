//! Figures: which are to be drawn, and at what size; what was drawn.

use ratatui::layout::Rect;

use crate::lab::layout::{areas, cell, cells, inner};
use crate::lab::model::item::ItemState;
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::picture::Drawing;
use crate::lab::model::state::State;

/// Asks for the drawings that the cells in sight lack.
pub(super) fn ask(state: &mut State, fx: &mut Vec<Effect>) {
    let shows =
        |item: &ItemState| matches!(item, ItemState::Cell(cell) if cell.output.shown().next().is_some());
    if !state.current_step().is_some_and(|step| step.items.iter().any(shows)) {
        return;
    }
    let (width, height) = state.size;
    let pane = areas(state, Rect::new(0, 0, width, height)).and_then(|areas| areas.pane(Pane::Cells));
    let Some(columns) = pane.map(|pane| usize::from(cells::columns(inner(pane).width))) else { return };
    let (canvas, theme) = (state.canvas, state.theme);
    let Some(step) = state.steps.get_mut(state.step) else { return };
    for item in &mut step.items {
        let ItemState::Cell(cell) = item else { continue };
        let room = u16::try_from(columns.saturating_sub(cell::gutter(cell))).unwrap_or(u16::MAX);
        let key = cell.key;
        let jobs = cell.output.shown_mut().filter_map(|shown| shown.job(key, room, canvas, theme));
        fx.extend(jobs.map(|job| Effect::Draw(Box::new(job))));
    }
}

/// Takes a drawing to its place, if that is still there.
pub(super) fn drawn(state: &mut State, cell: Key, slot: u64, drawing: Drawing) {
    let Some(cell) = state.cell_mut(cell) else { return };
    if let Some(shown) = cell.output.shown_mut().find(|shown| shown.slot == slot) {
        shown.drawn(drawing);
        cell.laid.clear();
    }
}
