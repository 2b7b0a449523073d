//! What of each pane and section is in sight: nothing is scrolled beyond its end, and what is selected or typed in is seen.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::lab::layout::sections::SECTIONS;
use crate::lab::layout::{Areas, cells, inner, lesson, machine, said};
use crate::lab::model::brought::Brought;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::tops::Tops;

/// The state's scroll positions, brought into range for these rectangles.
pub(crate) fn settled(state: &State, areas: &Areas) -> Tops {
    let mut tops = state.tops;
    if let Some(pane) = areas.pane(Pane::Cells) {
        let inside = inner(pane);
        // The lower border may be under a message, but not what one types in.
        let under = said::lay(state, areas).map_or(0, |(area, _)| area.height.saturating_sub(1));
        tops.cells = cells_top(state, Rect { height: inside.height.saturating_sub(under), ..inside });
    }
    if let Some(pane) = areas.pane(Pane::Lesson) {
        let inside = inner(pane);
        if let Some(layout) = lesson::layout(state, inside.width) {
            let rows = usize::from(inside.height);
            if state.text_at != Some((state.step, state.selected)) {
                tops.lesson = text_top(tops.lesson, rows, lesson::around(&layout, state.selected));
            }
            tops.lesson = tops.lesson.min(layout.rows.len().saturating_sub(rows));
        }
    }
    if let Some(parts) = machine::parts(state, areas) {
        for entry in SECTIONS {
            let area = parts.of(entry.section);
            let most = (entry.rows)(state, area).saturating_sub((entry.fitting)(state, area));
            tops.set(entry.section, tops.of(entry.section).min(most));
        }
    }
    tops
}

fn cells_top(state: &State, inside: Rect) -> usize {
    let rows = usize::from(inside.height);
    let extents = cells::extents(state, inside.width);
    let mut top = state.tops.cells;
    if state.follow
        && let Some(extent) = extents.iter().find(|extent| extent.item == state.selected)
    {
        let brought = state.brought();
        let runs = state.selected_cell().is_some_and(|cell| cell.is_busy());
        top = match brought {
            Some(Brought::Help) => show(top, rows, extent.newest_help(), false),
            Some(Brought::Run) => {
                // What was predicted of it is seen with it where there is room.
                let predicted = cells::predicted(state, &extents).map_or(extent.top, |first| first.top);
                let whole = predicted..extent.end_of_run();
                let range = if whole.len() <= rows { whole } else { extent.top..extent.end_of_run() };
                show(top, rows, range, true)
            }
            None if runs => show(top, rows, extent.top..extent.end_of_run(), true),
            None => show(top, rows, extent.top..extent.end(), false),
        };
        if (state.editing || state.popup == Some(Popup::Find))
            && brought.is_none()
            && let Some((row, _)) = cells::cursor(state, &extents)
        {
            top = show(top, rows, row..row + 1, false);
        }
    }
    top.min(cells::height(&extents).saturating_sub(rows))
}

/// Where the text is read from that belongs to an item: what leads to its place is seen, and what follows if there is room.
fn text_top(top: usize, rows: usize, [before, place, behind]: [usize; 3]) -> usize {
    let end = if behind - before <= rows { behind } else { place + 1 };
    show(top, rows, before..end, false)
}

/// The least scrolled position that shows a range; of one that does not fit, its end or its beginning.
fn show(top: usize, rows: usize, range: Range<usize>, prefer_end: bool) -> usize {
    if range.len() > rows {
        return if prefer_end { range.end.saturating_sub(rows) } else { range.start };
    }
    top.clamp(range.end.saturating_sub(rows), range.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_before_an_items_place_is_seen_and_what_follows_where_there_is_room() {
        assert_eq!(text_top(0, 10, [12, 15, 20]), 10);
        assert_eq!(text_top(0, 10, [12, 15, 40]), 6);
        assert_eq!(text_top(0, 10, [12, 30, 40]), 12);
        assert_eq!(text_top(20, 10, [0, 3, 8]), 0);
    }

    #[test]
    fn showing_scrolls_no_more_than_it_must() {
        assert_eq!(show(0, 10, 3..8, false), 0);
        assert_eq!(show(0, 10, 8..14, false), 4);
        assert_eq!(show(9, 10, 3..8, false), 3);
        assert_eq!(show(0, 10, 5..25, false), 5);
        assert_eq!(show(0, 10, 5..25, true), 15);
    }
}
