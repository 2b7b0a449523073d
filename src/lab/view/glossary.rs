//! What the machine's figures mean, over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::lab::layout::glossary::{columns, lines, place};
use crate::lab::layout::{inner, position};
use crate::lab::model::state::State;
use crate::lab::view::paint::{clear, frame, put};

pub(crate) fn draw(state: &State, top: u16, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let place = place(area);
    clear(buffer, place);
    let inside = inner(place);
    let rows = usize::from(inside.height);
    let lines = lines(columns(place), theme);
    let top = usize::from(top).min(lines.len().saturating_sub(rows));
    let title = Line::styled(" what the machine's figures mean ", theme.accent);
    frame(buffer, place, title, true, &position(top, rows, lines.len()), theme);
    let inside = Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside };
    for (y, line) in lines.iter().skip(top).take(rows).enumerate() {
        put(buffer, inside, y, line);
    }
}
