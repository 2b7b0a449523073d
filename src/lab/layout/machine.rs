//! The machine: each device's memory, the tensors that live there, the transfers between them, what ran when. As a pane
//! beside the cells, and as a screen of its own.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::placed::{Placed, ScreenBody};
use crate::lab::layout::sections::entry::{SectionEntry, SectionPlace};
use crate::lab::layout::sections::{SECTIONS, entry_of};
use crate::lab::layout::{Areas, inner, picked};
use crate::lab::model::machine::Section;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::model::tops::Tops;

/// From this size on, the screen shows all sections at once.
const GRID: (u16, u16) = (110, 30);
/// A list that leaves rows to others does so in steps of so many.
const STEPS: u16 = 8;
/// Rows that say what is picked and where it comes from.
const PICKED: u16 = 2;

/// The rows of each section; one that is not shown has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Parts {
    /// The names of the sections, where not all of them are shown.
    pub tabs: Rect,
    areas: [Rect; Section::ALL.len()],
    pub picked: Rect,
}

impl Parts {
    /// The sections that are shown, with their places.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (Section, Rect)> {
        let all = Section::ALL.map(|section| (section, self.of(section)));
        all.into_iter().filter(|(_, area)| area.height > 0 && area.width > 0)
    }

    pub(crate) fn of(&self, section: Section) -> Rect {
        self.areas.get(section as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, section: Section, area: Rect) {
        if let Some(place) = self.areas.get_mut(section as usize) {
            *place = area;
        }
    }
}

/// Where the machine's sections stand; `None` where the machine is not shown.
pub(crate) fn parts(state: &State, areas: &Areas) -> Option<Parts> {
    if state.machine_fills() {
        return Some(screen_parts(state, areas.body));
    }
    areas.pane(Pane::Machine).map(|pane| pane_parts(state, inside(pane)))
}

/// What is within the pane's border and margins.
pub(crate) fn inside(area: Rect) -> Rect {
    let inside = inner(area);
    Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside }
}

/// Cuts rows off an area, from the top.
fn cut(area: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(area.height);
    let top = Rect { height, ..*area };
    area.y = area.y.saturating_add(height);
    area.height -= height;
    top
}

/// Cuts rows off an area, from the bottom.
fn cut_low(area: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(area.height);
    area.height -= height;
    Rect { y: area.y.saturating_add(area.height), height, ..*area }
}

/// Cuts a column off an area, from the left.
fn cut_left(area: &mut Rect) -> Rect {
    let width = u16::try_from(u32::from(area.width) * 9 / 20).unwrap_or(area.width);
    let left = Rect { width, ..*area };
    *area = Rect { x: area.x + width + 2, width: area.width.saturating_sub(width + 2), ..*area };
    left
}

fn rows(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

pub(crate) fn pane_parts(state: &State, mut area: Rect) -> Parts {
    let mut parts = Parts::default();
    if state.machine.pick.is_some() && area.height >= 16 {
        parts.picked = cut_low(&mut area, PICKED);
    }
    // A free row parts the sections where there is room for it.
    let gap = u16::from(area.height >= 24);
    fill(&mut parts, state, area, gap, |entry| entry.in_pane);
    parts
}

pub(crate) fn screen_parts(state: &State, body: Rect) -> Parts {
    let mut parts = Parts::default();
    let mut area = Rect { x: body.x.saturating_add(1), width: body.width.saturating_sub(2), ..body };
    if body.width < GRID.0 || body.height < GRID.1 {
        parts.tabs = cut(&mut area, 1);
        if state.machine.pick.is_some() {
            parts.picked = cut_low(&mut area, PICKED);
        }
        parts.set(state.machine.section, area);
        return parts;
    }
    parts.picked = cut_low(&mut area, PICKED);
    cut_low(&mut area, 1);
    fill(&mut parts, state, area, 1, |entry| entry.on_screen);
    parts
}

/// Gives each section its place in an area, `gap` rows between them.
fn fill(
    parts: &mut Parts,
    state: &State,
    mut area: Rect,
    gap: u16,
    place: fn(&SectionEntry) -> SectionPlace,
) {
    for entry in SECTIONS {
        match place(entry) {
            SectionPlace::Top(wanted) => {
                let wanted = rows(wanted(state, area));
                parts.set(entry.section, cut(&mut area, wanted));
                cut(&mut area, gap);
            }
            SectionPlace::Bottom(wanted) => {
                let wanted = rows(wanted(state, area)).min(area.height / 3);
                if wanted > 0 {
                    parts.set(entry.section, cut_low(&mut area, wanted));
                    cut_low(&mut area, gap);
                }
            }
            SectionPlace::Left | SectionPlace::List => {}
        }
    }
    for entry in SECTIONS.iter().filter(|entry| matches!(place(entry), SectionPlace::Left)) {
        parts.set(entry.section, cut_left(&mut area));
    }
    let lists = SECTIONS.iter().filter(|entry| matches!(place(entry), SectionPlace::List));
    let mut left = rows(lists.clone().count());
    let needs: Vec<u16> = lists.clone().map(|entry| rows((entry.needs)(state, area))).collect();
    for (i, entry) in lists.enumerate() {
        if left > 1 {
            let own = needs.get(i).copied().unwrap_or(u16::MAX);
            let others = needs.iter().skip(i + 1).fold(0u16, |sum, need| sum.saturating_add(*need));
            let height = share(area.height, left, gap, own, others);
            parts.set(entry.section, cut(&mut area, height));
            cut(&mut area, gap);
        } else {
            // A section that has the keys and no place of its own takes that of the last list.
            let active = state.machine.section;
            parts.set(if parts.of(active).height == 0 { active } else { entry.section }, area);
        }
        left -= 1;
    }
}

/// Rows of a list that needs `own` beside `others`. Each has its part; what one can't use is for those that lack it.
fn share(height: u16, lists: u16, gap: u16, own: u16, others: u16) -> u16 {
    let fair = height.div_ceil(lists);
    let rest = height.saturating_sub(fair).saturating_sub(gap);
    if own > fair && others < rest {
        return own.min(height.saturating_sub(others.saturating_add(gap)));
    }
    if own < fair && others > rest {
        // In steps: tensors that come and go must not move what stands below them.
        return own.next_multiple_of(STEPS).min(fair);
    }
    fair
}

/// The sections that are shown, and what is picked.
pub(crate) fn sections(state: &State, tops: Tops, parts: &Parts) -> Vec<(Rect, Placed)> {
    let shown = parts.shown();
    let lay = |(section, area)| (area, (entry_of(section).lay)(state, tops.of(section), area));
    shown.map(lay).chain([(parts.picked, picked::lay(state, parts.picked))]).collect()
}

/// The machine as a screen of its own.
pub(crate) fn lay(state: &State, tops: Tops, areas: &Areas) -> ScreenBody {
    let theme = &state.theme;
    if state.history.devices().next().is_none() {
        let text = "The devices show here once a session runs: open a lesson or a notebook first.";
        let mut placed = Placed::default();
        placed.put(1, Line::styled(format!("  {text}"), theme.dim));
        return ScreenBody { parts: vec![(areas.body, placed)], cursor: None };
    }
    let parts = screen_parts(state, areas.body);
    let mut tabs = Placed::default();
    if parts.tabs.height > 0 {
        let mut spans = Vec::new();
        for section in Section::ALL {
            let style = if section == state.machine.section { theme.selected } else { theme.dim };
            spans.push(Span::styled(format!(" {} ", section.name()), style));
            spans.push(Span::raw(" "));
        }
        tabs.put(0, Line::from(spans));
    }
    let mut all = vec![(parts.tabs, tabs)];
    all.extend(sections(state, tops, &parts));
    ScreenBody { parts: all, cursor: None }
}

/// The machine's name, with what is to be known of it.
pub(crate) fn title(state: &State, focused: bool) -> Vec<Span<'static>> {
    let theme = &state.theme;
    let style = if focused { theme.accent } else { theme.dim };
    let known = state.history.devices().next().is_some();
    if known && matches!(state.session.status, SessionStatus::Dead { .. }) {
        return vec![Span::styled(" machine, as the session left it ", theme.error)];
    }
    let mut title = vec![Span::styled(" machine ", style)];
    if state.history.any_simulated() {
        title.push(Span::styled("SIM", theme.badge));
        let times = match state.history.has_measured_host() {
            true => " simulated, times modelled, the host's measured ",
            false => " simulated, times modelled ",
        };
        title.push(Span::styled(times, style));
    }
    title
}
