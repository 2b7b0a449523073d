//! The cells panel: the items of a step, one below the other.

use std::ops::Range;
use std::rc::Rc;

use ratatui::layout::Rect;

use crate::lab::layout::{cell, question};
use crate::lab::model::editor::Pos;
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::laid::{LaidRow, Layout, RowPart};
use crate::lab::model::state::State;
use crate::lab::model::text;

/// Columns before an item: the selection's bar.
pub(crate) const BAR: u16 = 1;
/// Columns left free after an item.
const MARGIN: u16 = 1;

/// An item's place in the panel, in rows from the top of the step.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    /// The item's place in the step.
    pub item: usize,
    pub top: usize,
    pub layout: Rc<Layout>,
}

impl Extent {
    pub(crate) fn height(&self) -> usize {
        self.layout.rows.len()
    }

    /// The row behind the last that is to be seen: the empty one after the item need not be.
    pub(crate) fn end(&self) -> usize {
        self.top + self.height().saturating_sub(1)
    }

    /// The row behind what running it has shown, up to the verdict: hints stand below that.
    pub(crate) fn end_of_run(&self) -> usize {
        self.layout.help.as_ref().map_or(self.end(), |help| self.top + help.start)
    }

    /// The rows of the help that was asked for last; where there is none, all.
    pub(crate) fn newest_help(&self) -> Range<usize> {
        let from = self.layout.help.as_ref().map_or(0, |help| help.end);
        self.top + from..self.end()
    }
}

/// The items that the panel shows, laid out for the width within its border.
pub(crate) fn extents(state: &State, width: u16) -> Vec<Extent> {
    let columns = columns(width);
    let mut top = 0;
    let mut all = Vec::new();
    for (item, content) in
        state.current_step().map(|s| s.items.as_slice()).unwrap_or_default().iter().enumerate()
    {
        let theme = &state.theme;
        let layout = match content {
            ItemState::Text(_) => continue,
            ItemState::Cell(cell) => {
                let python = state.aid.python;
                cell.laid
                    .get(columns, || cell::lay(cell, &state.places, columns, (theme, &state.keymap), python))
            }
            ItemState::Predict(predict) => {
                predict.laid.get(columns, || question::lay_predict(predict, columns, theme))
            }
            ItemState::Quiz(quiz) => quiz.laid.get(columns, || question::lay_quiz(quiz, columns, theme)),
        };
        let extent = Extent { item, top, layout };
        top += extent.height();
        all.push(extent);
    }
    all
}

/// The first of the predictions right before the selected cell, which running it has decided.
pub(crate) fn predicted<'e>(state: &State, extents: &'e [Extent]) -> Option<&'e Extent> {
    let items = &state.current_step()?.items;
    let decided = |extent: &&Extent| matches!(items.get(extent.item), Some(ItemState::Predict(predict)) if predict.is_settled());
    let before = extents.iter().rev().skip_while(|extent| extent.item != state.selected).skip(1);
    before.take_while(decided).last()
}

/// What an item has of the width within the border.
pub(crate) fn columns(width: u16) -> u16 {
    width.saturating_sub(BAR + MARGIN).max(1)
}

/// Rows of all extents.
pub(crate) fn height(extents: &[Extent]) -> usize {
    extents.last().map_or(0, |last| last.top + last.height())
}

/// The row within the step, and the column within the panel, where the cursor of the edited item stands.
pub(crate) fn cursor(state: &State, extents: &[Extent]) -> Option<(usize, usize)> {
    let extent = extents.iter().find(|extent| extent.item == state.selected)?;
    let place = |row: usize, column: usize| Some((extent.top + row, usize::from(BAR) + column));
    match state.selected_item()? {
        ItemState::Cell(cell) => {
            let (row, column) = code_place(extent, cell, cell.editor.cursor())?;
            place(row, column)
        }
        ItemState::Predict(_) => extent.layout.rows.iter().enumerate().find_map(|(i, row)| match row.part {
            RowPart::Input { column } => place(i, column),
            _ => None,
        }),
        ItemState::Quiz(_) | ItemState::Text(_) => None,
    }
}

/// The row and column within an item where a place of its code stands.
fn code_place(extent: &Extent, cell: &CellState, at: Pos) -> Option<(usize, usize)> {
    let (row, from, indent) =
        extent.layout.rows.iter().enumerate().rev().find_map(|(i, row)| match row.part {
            RowPart::Code { line, from, indent, .. } if line == at.row && from <= at.col => {
                Some((i, from, indent))
            }
            _ => None,
        })?;
    let code = cell.editor.lines().get(at.row)?;
    let before: usize = code.chars().take(at.col).skip(from).map(text::char_width).sum();
    Some((row, indent + before))
}

/// The column and row on the screen of a place of the edited cell's code, where it is in sight.
pub(crate) fn on_screen(state: &State, inside: Rect, top: usize, at: Pos) -> Option<(u16, u16)> {
    let all = extents(state, inside.width);
    let extent = all.iter().find(|extent| extent.item == state.selected)?;
    let (row, column) = code_place(extent, state.selected_cell()?, at)?;
    let y = (extent.top + row).checked_sub(top).filter(|y| *y < usize::from(inside.height))?;
    let x = (column + usize::from(BAR)).min(usize::from(inside.width));
    Some((inside.x + u16::try_from(x).ok()?, inside.y + u16::try_from(y).ok()?))
}

/// The item and row at a row of the step.
pub(crate) fn row_at(extents: &[Extent], row: usize) -> Option<(&Extent, &LaidRow)> {
    let extent = extents.iter().find(|extent| row >= extent.top && row < extent.top + extent.height())?;
    extent.layout.rows.get(row - extent.top).map(|found| (extent, found))
}
