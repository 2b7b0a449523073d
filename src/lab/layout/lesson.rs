//! The lesson panel: a step's text, with a mark where each of its cells and questions belongs.

use std::rc::Rc;

use ratatui::text::Line;

use crate::lab::layout::markdown;
use crate::lab::model::item::ItemState;
use crate::lab::model::laid::{Layout, RowPart};
use crate::lab::model::state::{State, StepState};
use crate::lab::model::theme::Theme;

/// Columns left free at each side.
pub(crate) const MARGIN: u16 = 1;

/// The step's text for the width within the panel's border.
pub(crate) fn layout(state: &State, width: u16) -> Option<Rc<Layout>> {
    let columns = width.saturating_sub(2 * MARGIN).max(1);
    let step = state.current_step()?;
    Some(step.text.get(columns, || lay(step, usize::from(columns), &state.theme)))
}

/// The rows from the place of the item before to that of the one behind, around an item's own.
pub(crate) fn around(layout: &Layout, item: usize) -> [usize; 3] {
    let places: Vec<(usize, usize)> = layout
        .rows
        .iter()
        .enumerate()
        .filter_map(|(row, laid)| match laid.part {
            RowPart::Anchor(item) => Some((item, row)),
            _ => None,
        })
        .collect();
    let before = places.iter().rev().find(|(other, _)| *other < item).map_or(0, |(_, row)| row + 1);
    let own = places.iter().find(|(other, _)| *other == item).map_or(before, |(_, row)| *row);
    let behind = places.iter().find(|(other, _)| *other > item).map_or(layout.rows.len(), |(_, row)| *row);
    [before, own, behind.max(own)]
}

fn lay(step: &StepState, columns: usize, theme: &Theme) -> Layout {
    let mut layout = Layout::default();
    for (i, item) in step.items.iter().enumerate() {
        match item {
            ItemState::Text(blocks) => layout.plain(markdown::lay(blocks, columns, theme)),
            _ => layout.push(Line::default(), RowPart::Anchor(i)),
        }
        layout.push(Line::default(), RowPart::Gap);
    }
    layout.rows.pop();
    layout
}
