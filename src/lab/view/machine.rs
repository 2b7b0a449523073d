//! The machine as a pane beside the cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::lab::layout::machine::{inside, pane_parts, sections, title};
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
use crate::lab::model::tops::Tops;
use crate::lab::view::paint::{frame, put, put_all};

/// Draws the pane.
pub(crate) fn draw(state: &State, tops: Tops, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let focused = state.focus == Pane::Machine;
    frame(buffer, area, Line::from(title(state, focused)), focused, "", theme);
    let inside = inside(area);
    if state.history.devices().next().is_none() {
        put(buffer, inside, 1, &Line::styled("The devices show here once the session runs.", theme.dim));
        return;
    }
    let parts = pane_parts(state, inside);
    for (area, placed) in sections(state, tops, &parts) {
        put_all(buffer, area, &placed);
    }
}
