//! What panels are drawn with: lines at their places, and the frame of a pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use crate::lab::layout::placed::Placed;
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// Writes a line at row `row` of an area; nothing outside of it.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    put_at(buffer, area, 0, row, line);
}

/// Writes a line from column `column` of row `row` of an area; nothing outside of it.
pub(crate) fn put_at(buffer: &mut Buffer, area: Rect, column: usize, row: usize, line: &Line<'_>) {
    let area = area.intersection(buffer.area);
    let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row)) else { return };
    if row < area.height && column < area.width {
        buffer.set_line(area.x + column, area.y + row, line, area.width - column);
    }
}

/// Empties an area for what is drawn over the rest. Of a character of two columns that lies half in it nothing stays.
pub(crate) fn clear(buffer: &mut Buffer, area: Rect) {
    let area = area.intersection(buffer.area);
    Clear.render(area, buffer);
    let Some(column) = area.x.checked_sub(1).filter(|column| *column >= buffer.area.x) else { return };
    for row in area.y..area.bottom() {
        if let Some(cell) = buffer.cell_mut((column, row))
            && text::width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
}

/// Writes lines at their places in an area.
pub(crate) fn put_all(buffer: &mut Buffer, area: Rect, placed: &Placed) {
    for (column, row, line) in &placed.lines {
        put_at(buffer, area, *column, *row, line);
    }
}

/// The border of a pane with its title; thick where it has the focus. `position` is shown at the lower right.
pub(crate) fn frame(
    buffer: &mut Buffer,
    area: Rect,
    title: Line<'_>,
    focused: bool,
    position: &str,
    theme: &Theme,
) {
    let area = area.intersection(buffer.area);
    if area.width < 2 || area.height < 2 {
        return;
    }
    let style = if focused { theme.border_focus } else { theme.border };
    let [across, down, corners @ ..] = if focused {
        ["━", "┃", "┏", "┓", "┗", "┛"]
    } else {
        ["─", "│", "┌", "┐", "└", "┘"]
    };
    let width = usize::from(area.width) - 2;
    let [top_left, top_right, low_left, low_right] = corners;
    let horizontal = across.repeat(width);
    put(buffer, area, 0, &Line::styled(format!("{top_left}{horizontal}{top_right}"), style));
    let last = usize::from(area.height) - 1;
    for row in 1..last {
        put(buffer, area, row, &Line::styled(down, style));
        put_at(buffer, area, width + 1, row, &Line::styled(down, style));
    }
    put(buffer, area, last, &Line::styled(format!("{low_left}{horizontal}{low_right}"), style));
    let room = Rect { width: area.width - 2, ..area };
    put_at(buffer, room, 2, 0, &title);
    if !position.is_empty() {
        let text = format!(" {position} ");
        let column = (width + 1).saturating_sub(text::width(&text) + 1);
        put_at(buffer, area, column, last, &Line::styled(text, theme.dim));
    }
}
