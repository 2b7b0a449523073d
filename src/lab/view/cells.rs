//! The cells panel: the items of a step, one below the other.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::lab::layout::cells::{BAR, Extent, columns, cursor, extents, height, predicted};
use crate::lab::layout::{cell, inner, position, question};
use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::brought::Brought;
use crate::lab::model::item::ItemState;
use crate::lab::model::laid::RowPart;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::lab::model::vi::Vi;
use crate::lab::view::paint::{frame, put, put_at};
use crate::lab::view::{aid, overlay};

/// Draws the panel from row `top` of the step; gives the place of the cursor while a learner types.
pub(crate) fn draw(state: &State, top: usize, buffer: &mut Buffer, area: Rect) -> Option<Position> {
    let focused = state.focus == Pane::Cells;
    let inside = inner(area);
    let all = extents(state, inside.width);
    let rows = usize::from(inside.height);
    let total = height(&all);
    let where_ = position(top, rows, total.saturating_sub(1));
    frame(buffer, area, title(state, focused, top, &all), focused, &where_, &state.theme);
    if all.is_empty() {
        let theme = &state.theme;
        put(buffer, inside, 1, &Line::styled("  Nothing to run.", theme.dim));
        return None;
    }
    for extent in all.iter().filter(|e| e.top + e.height() > top && e.top < top + rows) {
        item(state, buffer, inside, extent, top);
        if extent.item == state.selected || state.popup == Some(Popup::Find) {
            overlay::draw(state, buffer, inside, extent, top, BAR);
        }
    }
    if focused && (state.editing || state.popup == Some(Popup::Find)) {
        let taken = if where_.is_empty() { 4 } else { text::width(&where_) + 7 };
        aid::foot(state, buffer, area, usize::from(area.width).saturating_sub(taken));
    }
    let (row, column) = cursor(state, &all).filter(|_| state.editing)?;
    let row = row.checked_sub(top).filter(|row| *row < rows)?;
    let column = column.min(usize::from(inside.width).saturating_sub(1));
    Some(Position::new(inside.x + u16::try_from(column).ok()?, inside.y + u16::try_from(row).ok()?))
}

/// The panel's name; and where the answer to a prediction is, when a long output has pushed it out of sight.
fn title(state: &State, focused: bool, top: usize, all: &[Extent]) -> Line<'static> {
    let mut title = Line::styled(" cells ", title_style(state, focused));
    let hidden = predicted(state, all).is_some_and(|first| first.top < top);
    if hidden && state.brought() == Some(Brought::Run) {
        let key = keys_for(state, Action::PageUp);
        title.push_span(Span::styled(format!(" what you predicted: {key} "), state.theme.accent));
    }
    title
}

fn title_style(state: &State, focused: bool) -> ratatui::style::Style {
    if focused { state.theme.accent } else { state.theme.dim }
}

fn item(state: &State, buffer: &mut Buffer, inside: Rect, extent: &Extent, top: usize) {
    let selected = extent.item == state.selected;
    let theme = &state.theme;
    let bar = match (selected, state.editing) {
        (true, true) => Span::styled("┃", theme.ok),
        (true, false) => Span::styled("▌", theme.accent),
        (false, _) => Span::raw(" "),
    };
    let bar = Line::from(bar);
    let columns = usize::from(columns(inside.width));
    for (i, row) in extent.layout.rows.iter().enumerate().skip(top.saturating_sub(extent.top)) {
        let Some(y) = (extent.top + i).checked_sub(top) else { continue };
        if y >= usize::from(inside.height) {
            return;
        }
        match row.part {
            RowPart::Head => {
                put_at(buffer, inside, usize::from(BAR), y, &head(state, extent.item, columns, selected))
            }
            RowPart::Picture { slot, row: of, indent } => {
                put_at(buffer, inside, usize::from(BAR), y, &row.line);
                picture(state, buffer, inside, (extent.item, slot, of), (usize::from(BAR) + indent, y));
            }
            _ => put_at(buffer, inside, usize::from(BAR), y, &row.line),
        }
        if let RowPart::Code { line, .. } = row.part
            && is_picked(state, extent.item, line)
        {
            point_at(state, buffer, inside, y);
        }
        if row.part != RowPart::Gap {
            put(buffer, inside, y, &bar);
        }
    }
}

/// True for the line that caused what is picked on the machine.
fn is_picked(state: &State, item: usize, line: usize) -> bool {
    let Some(source) = state.picked_source() else { return false };
    let cell = match state.current_step().and_then(|step| step.items.get(item)) {
        Some(ItemState::Cell(cell)) => cell,
        _ => return false,
    };
    cell.number == Some(source.cell) && !cell.earlier && u32::try_from(line + 1) == Ok(source.line)
}

/// Marks a row of code: an arrow before it, and all of it underlined.
fn point_at(state: &State, buffer: &mut Buffer, inside: Rect, y: usize) {
    let Ok(row) = u16::try_from(y) else { return };
    let line =
        Rect { x: inside.x + BAR, y: inside.y + row, width: inside.width.saturating_sub(BAR), height: 1 };
    buffer.set_style(line.intersection(buffer.area), state.theme.pointed);
    put_at(buffer, inside, usize::from(BAR), y, &Line::styled("▶", state.theme.accent));
}

/// Puts a row of a picture over the characters that stand for it. Under a question there are characters alone: what is
/// written over a picture would stay when it goes.
fn picture(
    state: &State,
    buffer: &mut Buffer,
    inside: Rect,
    (item, slot, row): (usize, u64, u16),
    (x, y): (usize, usize),
) {
    let Some(ItemState::Cell(cell)) = state.current_step().and_then(|step| step.items.get(item)) else {
        return;
    };
    let shown = cell.output.shown().find(|shown| shown.slot == slot);
    let Some(drawing) = shown.and_then(|shown| shown.drawing.as_ref()) else { return };
    let inside = inside.intersection(buffer.area);
    let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return };
    if let Some(art) =
        drawing.art.as_ref().filter(|_| state.popup.is_none() && x < inside.width && y < inside.height)
    {
        art.put(buffer, (inside.x + x, inside.y + y), row, drawing.size, inside.width - x);
    }
}

fn head(state: &State, item: usize, columns: usize, selected: bool) -> Line<'static> {
    let theme = &state.theme;
    let editing = selected && state.editing;
    match state.current_step().and_then(|step| step.items.get(item)) {
        Some(ItemState::Cell(cell)) => {
            let mode = editing.then(|| state.aid.vi.as_ref().map_or_else(|| "editing".into(), Vi::label));
            cell::head(cell, columns, selected, mode.as_deref(), state.now, theme)
        }
        Some(ItemState::Predict(predict)) => question::predict_head(predict, columns, selected, theme),
        Some(ItemState::Quiz(quiz)) => question::quiz_head(quiz, columns, selected, theme),
        Some(ItemState::Text(_)) | None => Line::default(),
    }
}
