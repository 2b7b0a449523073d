//! The tabs of panes, where not every pane is shown.

use ratatui::layout::{Position, Rect};

use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
use crate::lab::model::text;

/// A tab with its first column.
pub(crate) struct Tab {
    pub x: usize,
    pub pane: Pane,
    pub words: &'static str,
}

pub(crate) fn tabs(state: &State) -> Vec<Tab> {
    let mut x = 1;
    let tab = |pane: &Pane| {
        let words = match pane {
            Pane::Lesson => " F1 lesson ",
            Pane::Cells => " F2 cells ",
            Pane::Machine => " F3 machine ",
        };
        let tab = Tab { x, pane: *pane, words };
        x += text::width(words) + 1;
        tab
    };
    state.panes().iter().map(tab).collect()
}

/// The pane whose tab is at a place of the screen.
pub(crate) fn tab_at(state: &State, area: Rect, at: Position) -> Option<Pane> {
    if !area.contains(at) {
        return None;
    }
    let column = usize::from(at.x - area.x);
    tabs(state)
        .iter()
        .find(|tab| column >= tab.x && column < tab.x + text::width(tab.words))
        .map(|tab| tab.pane)
}
