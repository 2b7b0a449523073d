//! The panels, one file each. A panel draws from the state into a rectangle and changes nothing.

pub mod aid;
pub mod cell;
pub mod cells;
pub mod glossary;
pub mod header;
pub mod home;
pub mod key_bar;
pub mod lesson;
pub mod machine;
pub mod markdown;
pub mod memory;
pub mod overlay;
pub mod picked;
pub mod popup;
pub mod question;
pub mod segments;
pub mod tensors;
pub mod timeline;
pub mod transfers;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text;
use super::theme::Theme;

/// Writes a line at row `row` of an area; nothing outside of it.
pub fn put(buffer: &mut Buffer, area: Rect, row: usize, line: &Line<'_>) {
    put_at(buffer, area, 0, row, line);
}

/// Writes a line from column `column` of row `row` of an area; nothing outside of it.
pub fn put_at(buffer: &mut Buffer, area: Rect, column: usize, row: usize, line: &Line<'_>) {
    let area = area.intersection(buffer.area);
    let (Ok(column), Ok(row)) = (u16::try_from(column), u16::try_from(row)) else { return };
    if row < area.height && column < area.width {
        buffer.set_line(area.x + column, area.y + row, line, area.width - column);
    }
}

/// The border of a pane with its title; thick where it has the focus. `position` is shown at the lower right.
pub fn frame(buffer: &mut Buffer, area: Rect, title: Line<'_>, focused: bool, position: &str, theme: &Theme) {
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

/// `3–20 of 45` where not all of `total` rows fit.
pub fn position(top: usize, height: usize, total: usize) -> String {
    if total <= height || height == 0 {
        return String::new();
    }
    format!("{}–{} of {total}", top + 1, (top + height).min(total))
}

/// Joins parts with ` · ` into lines of at most `columns`, never breaking within a part that fits.
pub fn flow(parts: &[Vec<Span<'static>>], columns: usize, dim: Style) -> Vec<Line<'static>> {
    let mut lines: Vec<Vec<Span<'static>>> = Vec::new();
    let mut used = 0;
    for part in parts {
        let width: usize = part.iter().map(|span| span.width()).sum();
        match lines.last_mut() {
            Some(line) if used + 3 + width <= columns => {
                line.push(Span::styled(" · ", dim));
                line.extend(part.iter().cloned());
                used += 3 + width;
            }
            _ => {
                lines.push(part.clone());
                used = width;
            }
        }
    }
    lines.into_iter().flat_map(|line| text::wrap(&line, columns, text::Break::Words)).collect()
}
