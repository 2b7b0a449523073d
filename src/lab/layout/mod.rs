//! Where everything stands on the screen. A function of the state and the size, for drawing and the mouse alike.

pub(super) mod cell;
pub(super) mod cells;
pub(super) mod chosen;
pub(super) mod doc;
pub(super) mod glossary;
pub(super) mod help;
pub(super) mod highlight;
pub(super) mod home;
mod inline;
pub(super) mod key_bar;
pub(super) mod lesson;
pub(super) mod machine;
pub(super) mod markdown;
pub(super) mod names;
mod numbers;
mod output;
pub(super) mod picked;
pub(super) mod placed;
pub(super) mod question;
pub(super) mod report;
pub(super) mod said;
pub(super) mod scroll;
pub(super) mod sections;
mod table;
pub(super) mod tabs;

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::lab::model::item::ItemState;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
use crate::lab::model::text;

/// Below this nothing useful can be shown.
pub(crate) const MIN_SIZE: (u16, u16) = (60, 20);
/// From these widths on, two and three panes stand side by side.
const TWO_PANES: u16 = 100;
const THREE_PANES: u16 = 120;
/// Columns that a pane keeps, whatever its share.
const MIN_PANE: u16 = 26;
const MIN_CELLS: u16 = 36;
/// The cells of a step that has none.
const NO_CELLS: u16 = 20;

/// Rectangles of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Areas {
    pub header: Rect,
    /// Present where not every pane is shown.
    pub tabs: Option<Rect>,
    /// The panes shown, from left to right, borders included.
    pub panes: Vec<(Pane, Rect)>,
    /// Between the header and the key bar, for what fills the terminal.
    pub body: Rect,
    pub key_bar: Rect,
}

/// The rectangles for an area; `None` where it is too small.
pub(super) fn areas(state: &State, area: Rect) -> Option<Areas> {
    if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
        return None;
    }
    let alone = !state.screen.has_panes();
    let shown = if alone { Vec::new() } else { shown(state, area.width) };
    let tabbed = !alone && shown.len() < state.panes().len();
    let top = if tabbed { 2 } else { 1 };
    let line = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    let body = Rect { y: area.y + top, height: area.height - top - 1, ..area };
    Some(Areas {
        header: line(0),
        tabs: tabbed.then(|| line(1)),
        panes: if alone { Vec::new() } else { split(state, &shown, body) },
        body,
        key_bar: line(area.height - 1),
    })
}

impl Areas {
    /// A pane's rectangle, borders included, where it is shown.
    pub(super) fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes.iter().find(|(which, _)| *which == pane).map(|(_, rect)| *rect)
    }
}

/// What is within a pane's border.
pub(super) fn inner(pane: Rect) -> Rect {
    Rect {
        x: pane.x.saturating_add(1),
        y: pane.y.saturating_add(1),
        width: pane.width.saturating_sub(2),
        height: pane.height.saturating_sub(2),
    }
}

fn shown(state: &State, width: u16) -> Vec<Pane> {
    let all = state.panes();
    if state.maximised || width < TWO_PANES {
        vec![state.focus]
    } else if width >= THREE_PANES || all.len() == 2 {
        all.to_vec()
    } else {
        all.iter().copied().filter(|pane| *pane == Pane::Cells || *pane == state.side).collect()
    }
}

fn split(state: &State, shown: &[Pane], body: Rect) -> Vec<(Pane, Rect)> {
    // Two panes share what three would have had.
    let scale = if shown.len() == 2 { 14 } else { 10 };
    let share = |pane: Pane| match pane {
        Pane::Lesson => state.shares.lesson,
        Pane::Machine => state.shares.machine,
        Pane::Cells => 0,
    };
    let side = |pane: Pane| {
        let wanted = u32::from(body.width) * u32::from(share(pane)) * scale / 1000;
        u16::try_from(wanted).unwrap_or(body.width).max(MIN_PANE)
    };
    let mut widths: Vec<u16> = match shown {
        [_] => vec![body.width],
        _ => shown.iter().map(|pane| if *pane == Pane::Cells { 0 } else { side(*pane) }).collect(),
    };
    // Text is given what cells do not need: a step that has none, and not the least of room.
    if !has_items(state)
        && let Some((at, _)) = shown.iter().enumerate().find(|(_, pane)| **pane == Pane::Lesson)
    {
        let spare = body.width.saturating_sub(widths.iter().sum::<u16>()).saturating_sub(NO_CELLS);
        widths.iter_mut().skip(at).take(1).for_each(|width| *width += spare);
    }
    // The cells keep their minimum; the sides give way evenly.
    let sides = widths.iter().filter(|w| **w > 0).count().max(1) as u16;
    let least = if has_items(state) { MIN_CELLS } else { NO_CELLS };
    let room = body.width.saturating_sub(least);
    if shown.len() > 1 && widths.iter().sum::<u16>() > room {
        for width in widths.iter_mut().filter(|w| **w > 0) {
            *width = (*width).min(room / sides);
        }
    }
    let rest = body.width.saturating_sub(widths.iter().sum());
    let mut x = body.x;
    shown
        .iter()
        .zip(widths)
        .map(|(pane, width)| {
            let width = if width == 0 { rest } else { width };
            let rect = Rect { x, width, ..body };
            x += width;
            (*pane, rect)
        })
        .collect()
}

/// The step has cells or questions.
fn has_items(state: &State) -> bool {
    state.current_step().is_none_or(|step| step.items.iter().any(ItemState::is_selectable))
}

/// `3–20 of 45` where not all of `total` rows fit.
pub(super) fn position(top: usize, height: usize, total: usize) -> String {
    if total <= height || height == 0 {
        return String::new();
    }
    format!("{}–{} of {total}", top + 1, (top + height).min(total))
}

/// Joins parts with ` · ` into lines of at most `columns`, never breaking within a part that fits.
pub(super) fn flow(parts: &[Vec<Span<'static>>], columns: usize, dim: Style) -> Vec<Line<'static>> {
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

/// A rectangle of at most this size in the middle of another.
pub(crate) fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// The rectangles of the whole screen, where it is large enough.
pub(super) fn screen(state: &State) -> Option<Areas> {
    areas(state, whole(state))
}

pub(super) fn whole(state: &State) -> Rect {
    // Terminals are never larger; a rectangle's area must fit its type.
    Rect::new(0, 0, state.size.0.min(2000), state.size.1.min(2000))
}
