//! The home screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::lab::layout::home::{LEAD, place, rows, shown_path};
use crate::lab::layout::position;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::view::paint::{put, put_at};

/// Draws the screen; gives the place of the text cursor while a path is typed.
pub(crate) fn draw(state: &State, top: usize, buffer: &mut Buffer, body: Rect) -> Option<Position> {
    let area = place(body);
    let width = usize::from(area.width);
    let rows = rows(state, width);
    let room = usize::from(area.height);
    for (y, row) in rows.iter().skip(top).take(room).enumerate() {
        put(buffer, area, y, &row.line);
    }
    let note = position(top, room, rows.len());
    let column = width.saturating_sub(text::width(&note));
    put_at(buffer, area, column, room.saturating_sub(1), &Line::styled(note, state.theme.dim));
    let path = state.home.prompt.as_ref()?;
    let row = rows.iter().position(|row| row.entry == Some(state.home.selected))?.checked_sub(top)?;
    let column = (2 + LEAD.len() + text::width(&shown_path(path, width))).min(width.saturating_sub(1));
    let (column, row) = (u16::try_from(column).ok()?, u16::try_from(row).ok()?);
    (row < area.height).then(|| Position::new(area.x + column, area.y + row))
}
