//! What each section of the machine is to the others: an entry of their table.

use ratatui::layout::{Position, Rect};

use crate::lab::layout::placed::Placed;
use crate::lab::model::history::timeline::LaneId;
use crate::lab::model::machine::{Pick, Section};
use crate::lab::model::state::State;

/// A row of the table of sections.
pub(crate) struct SectionEntry {
    pub section: Section,
    /// All that scrolls, in rows or in what takes several.
    pub rows: fn(&State, Rect) -> usize,
    /// How much of that an area shows at once.
    pub fitting: fn(&State, Rect) -> usize,
    /// Rows of an area in which all of it is seen.
    pub needs: fn(&State, Rect) -> usize,
    /// The section in an area, from the first row in sight.
    pub lay: fn(&State, usize, Rect) -> Placed,
    /// What a press at a place is on; `None` for nothing.
    pub hit: fn(&State, Rect, Position) -> Option<Hit>,
    /// Where the keys for up and down lead.
    pub step: fn(&State, Rect, bool) -> Option<Step>,
    /// Its place in the pane, and on the screen where that shows all sections at once.
    pub in_pane: SectionPlace,
    pub on_screen: SectionPlace,
    /// Whether the pane's keys come to it: there is something to pick.
    pub picked_in_pane: bool,
    /// What its figures mean.
    pub terms: &'static [Term],
}

/// How a section comes to its rows among the others. Those at the top and the bottom take theirs first, in the order of
/// the table.
#[derive(Clone, Copy)]
pub(crate) enum SectionPlace {
    /// So many rows of what is left, at the top.
    Top(fn(&State, Rect) -> usize),
    /// So many at the bottom, but no more than a third. With none, it is shown while it has the keys.
    Bottom(fn(&State, Rect) -> usize),
    /// A column of its own, left of the lists.
    Left,
    /// As much as each of the other lists.
    List,
}

/// What stands at a place of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hit {
    Pick(Pick),
    /// A lane at a moment, and what happened there.
    Lane(LaneId, u64, Option<Pick>),
}

/// What a step up or down changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Step {
    pub pick: Option<Pick>,
    pub lane: Option<LaneId>,
    /// The first row in sight.
    pub top: usize,
}

/// A figure or a word of the machine, and what it means.
pub(crate) struct Term {
    pub name: &'static str,
    pub means: &'static str,
}

/// The first row in sight after scrolling.
pub(crate) fn scrolled(top: usize, rows: usize, forward: bool) -> usize {
    if forward { top.saturating_add(rows) } else { top.saturating_sub(rows) }
}

/// The entry beside the picked one, and the first row in sight that shows it. Without one in sight, the first entry.
pub(crate) fn beside(
    list: impl Fn(usize) -> Vec<Pick>,
    now: Option<Pick>,
    mut top: usize,
    last: usize,
    forward: bool,
) -> Option<Step> {
    // A heading may stand between two entries.
    for _ in 0..4 {
        let all = list(top);
        let at = now.and_then(|now| all.iter().position(|pick| *pick == now));
        let next = match at {
            None => all.first(),
            Some(at) if forward => all.get(at + 1),
            Some(at) => at.checked_sub(1).and_then(|at| all.get(at)),
        };
        if let Some(next) = next {
            return Some(Step { pick: Some(*next), top, ..Step::default() });
        }
        let scrolled = if forward { (top + 1).min(last) } else { top.saturating_sub(1) };
        if scrolled == top {
            return None;
        }
        top = scrolled;
    }
    None
}
