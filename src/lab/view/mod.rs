//! Draws the state. Nothing is changed here, and nothing is laid out twice.

pub(super) mod aid;
pub(super) mod cells;
pub(super) mod glossary;
pub(super) mod header;
pub(super) mod key_bar;
pub(super) mod lesson;
pub(super) mod machine;
pub(super) mod overlay;
pub(super) mod paint;
pub(super) mod popup;
pub(super) mod said;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::lab::layout::{MIN_SIZE, areas};
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::{text, theme};
use crate::lab::update::screens;
use crate::lab::view::paint::{put, put_all};

/// Draws the lab into a frame.
pub fn view(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    if let Some(cursor) = draw(state, frame.buffer_mut(), area)
        && area.contains(cursor)
    {
        frame.set_cursor_position(cursor);
    }
}

/// Draws the lab into an area of a buffer; gives the place of the text cursor, where there is one.
pub(super) fn draw(state: &State, buffer: &mut Buffer, area: Rect) -> Option<Position> {
    let area = area.intersection(buffer.area);
    let mut cursor = None;
    match areas(state, area) {
        None => match state.popup {
            Some(shown @ Popup::Confirm(_)) => popup::draw(state, shown, buffer, area),
            _ => too_small(state, buffer, area),
        },
        Some(areas) => {
            header::draw(state, buffer, &areas);
            let tops = screens::settled(state, &areas);
            let body = (screens::entry(state.screen).lay)(state, tops, &areas);
            for (area, placed) in &body.parts {
                put_all(buffer, *area, placed);
            }
            cursor = body.cursor;
            for (pane, rect) in &areas.panes {
                match pane {
                    Pane::Lesson => lesson::draw(state, tops.lesson, buffer, *rect),
                    Pane::Cells => cursor = cells::draw(state, tops.cells, buffer, *rect),
                    Pane::Machine => machine::draw(state, tops, buffer, *rect),
                }
            }
            if let Some(pane) = areas.pane(Pane::Cells) {
                aid::completions(state, tops.cells, buffer, pane, area);
            }
            if let Some(shown) = state.popup {
                popup::draw(state, shown, buffer, area);
                cursor = cursor.filter(|_| shown == Popup::Find);
            }
            said::draw(state, buffer, &areas);
            key_bar::draw(state, buffer, areas.key_bar);
        }
    }
    if state.theme.look.ascii {
        to_ascii(buffer, area);
    }
    cursor
}

fn too_small(state: &State, buffer: &mut Buffer, area: Rect) {
    let message = format!(
        "The lab needs {} x {} characters; this terminal has {} x {}. Make it larger, or press q to quit.",
        MIN_SIZE.0, MIN_SIZE.1, area.width, area.height
    );
    let spans = [ratatui::text::Span::styled(message, state.theme.text)];
    let lines: Vec<Line<'_>> = text::wrap(&spans, usize::from(area.width), text::Break::Words);
    for (y, line) in lines.iter().enumerate() {
        put(buffer, area, y, line);
    }
}

/// Replaces every character beyond ASCII by one of the same width.
fn to_ascii(buffer: &mut Buffer, area: Rect) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y))
                && let Some(stand_in) = theme::ascii(cell.symbol())
            {
                cell.set_symbol(stand_in);
            }
        }
    }
}
