//! Where lists stand that one chooses from: names that could be typed, actions, cells run before.

use ratatui::layout::{Position, Rect};

use crate::lab::layout::{Areas, cells, inner};
use crate::lab::model::aid::completing::Completing;
use crate::lab::model::aid::picker::Picker;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;

/// Rows that the list of names has at least, so that what is told beside it has room.
const LEAST: usize = 5;
/// Columns and rows of a list to choose from.
const LIST: (u16, u16) = (76, 18);

/// The list of names, below the name that is typed or above it.
pub(crate) fn names(
    state: &State,
    completing: &Completing,
    top: usize,
    pane: Rect,
    area: Rect,
) -> Option<Rect> {
    let (x, y) = cells::on_screen(state, inner(pane), top, completing.start)?;
    let rows = completing.rows.max(LEAST);
    let width = (completing.columns + 3).min(usize::from(area.width));
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX);
    let below = y + 1 + height < area.bottom();
    let y = if below { y + 1 } else { y.saturating_sub(height).max(area.y) };
    let x = x.saturating_sub(2).min(area.right().saturating_sub(width as u16)).max(area.x);
    Some(Rect { x, y, width: width as u16, height }.intersection(area))
}

/// The name at a place of the screen, by its place in the list.
pub(crate) fn name_at(state: &State, areas: &Areas, at: Position) -> Option<usize> {
    let completing = state.aid.completing.as_ref()?;
    let pane = areas.pane(Pane::Cells)?;
    let area = areas.header.union(areas.key_bar);
    let list = inner(names(state, completing, state.tops.cells, pane, area)?);
    let row = list.contains(at).then(|| usize::from(at.y - list.y))?;
    Some(completing.top() + row).filter(|i| row < completing.rows && *i < completing.found.len())
}

/// The list of actions or of cells run before: at one place, however much fits, so that it does not move while one
/// types.
pub(crate) fn list(area: Rect) -> Rect {
    let (width, height) = (LIST.0.min(area.width), LIST.1.min(area.height.saturating_sub(2)));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + 1, width, height }
}

/// The first entry in sight, and how many there is room for below what is typed.
pub(crate) fn in_sight(picker: &Picker, area: Rect) -> (usize, usize) {
    let rows = usize::from(inner(list(area)).height).saturating_sub(1);
    ((picker.selected + 1).saturating_sub(rows), rows)
}

/// The entry at a place of the screen, by its place among those that fit.
pub(crate) fn entry_at(picker: &Picker, area: Rect, at: Position) -> Option<usize> {
    let inside = inner(list(area));
    let row = inside.contains(at).then(|| usize::from(at.y - inside.y))?.checked_sub(1)?;
    let (top, rows) = in_sight(picker, area);
    Some(top + row).filter(|i| row < rows && *i < picker.len())
}
