//! The machine: each device's memory, the tensors that live there, the transfers between them, what ran when. As a pane
//! beside the cells, and as a screen of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{frame, memory, picked, put, tensors, timeline, transfers};
use crate::base::event::Source;
use crate::lab::figures;
use crate::lab::layout::{Areas, inner};
use crate::lab::machine::Section;
use crate::lab::scroll::Tops;
use crate::lab::state::{Pane, Screen, SessionStatus, State};
use crate::lab::text;

/// From this size on, the screen shows all sections at once.
const GRID: (u16, u16) = (110, 30);
/// Rows that say what is picked and where it comes from.
const PICKED: u16 = 2;

/// The rows of each section; one that is not shown has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// The names of the sections, where not all of them are shown.
    pub tabs: Rect,
    pub memory: Rect,
    pub tensors: Rect,
    pub transfers: Rect,
    pub timeline: Rect,
    pub picked: Rect,
}

impl Parts {
    /// The sections that are shown, with their places.
    pub fn shown(&self) -> impl Iterator<Item = (Section, Rect)> {
        let all = [
            (Section::Memory, self.memory),
            (Section::Tensors, self.tensors),
            (Section::Transfers, self.transfers),
            (Section::Timeline, self.timeline),
        ];
        all.into_iter().filter(|(_, area)| area.height > 0 && area.width > 0)
    }

    pub fn of(&self, section: Section) -> Rect {
        match section {
            Section::Memory => self.memory,
            Section::Tensors => self.tensors,
            Section::Transfers => self.transfers,
            Section::Timeline => self.timeline,
        }
    }
}

/// Where the machine's sections stand; `None` where the machine is not shown.
pub fn parts(state: &State, areas: &Areas) -> Option<Parts> {
    match state.screen {
        Screen::Machine => Some(screen_parts(state, areas.body)),
        Screen::Work => areas.pane(Pane::Machine).map(|pane| pane_parts(state, inside(pane))),
        Screen::Home => None,
    }
}

/// What is within the pane's border and margins.
fn inside(area: Rect) -> Rect {
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

fn rows(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

fn pane_parts(state: &State, mut area: Rect) -> Parts {
    let mut parts = Parts::default();
    if state.machine.pick.is_some() && area.height >= 16 {
        parts.picked = cut_low(&mut area, PICKED);
    }
    let width = usize::from(area.width);
    let room = usize::from(area.height);
    let devices = state.history.devices().count();
    // A free row parts the sections where there is room for it.
    let gap = u16::from(room >= 24);
    let wanted = memory::rows(state, width, memory::detail(state, width, room / 2)).max(devices.min(1));
    parts.memory = cut(&mut area, rows(wanted.min(room.saturating_sub(8)).max(1)));
    cut(&mut area, gap);
    let lanes = timeline::wanted(state);
    if area.height >= 17 && lanes > 0 {
        let most = area.height / 3;
        parts.timeline = cut_low(&mut area, rows(lanes).max(4).min(most));
        cut_low(&mut area, gap);
    }
    let half = area.height.div_ceil(2);
    parts.tensors = cut(&mut area, half);
    cut(&mut area, gap);
    if state.machine.section == Section::Timeline && parts.timeline.height == 0 {
        parts.timeline = area;
    } else {
        parts.transfers = area;
    }
    parts
}

fn screen_parts(state: &State, body: Rect) -> Parts {
    let mut parts = Parts::default();
    let mut area = Rect { x: body.x.saturating_add(1), width: body.width.saturating_sub(2), ..body };
    if body.width < GRID.0 || body.height < GRID.1 {
        parts.tabs = cut(&mut area, 1);
        if state.machine.pick.is_some() {
            parts.picked = cut_low(&mut area, PICKED);
        }
        match state.machine.section {
            Section::Memory => parts.memory = area,
            Section::Tensors => parts.tensors = area,
            Section::Transfers => parts.transfers = area,
            Section::Timeline => parts.timeline = area,
        }
        return parts;
    }
    parts.picked = cut_low(&mut area, PICKED);
    cut_low(&mut area, 1);
    let lanes = rows(timeline::wanted(state)).max(6);
    let most = area.height / 3;
    parts.timeline = cut_low(&mut area, lanes.min(most));
    cut_low(&mut area, 1);
    let left = u16::try_from(u32::from(area.width) * 9 / 20).unwrap_or(area.width);
    parts.memory = Rect { width: left, ..area };
    let mut right = Rect { x: area.x + left + 2, width: area.width.saturating_sub(left + 2), ..area };
    let half = right.height.div_ceil(2);
    parts.tensors = cut(&mut right, half);
    cut(&mut right, 1);
    parts.transfers = right;
    parts
}

/// Draws the pane.
pub fn draw(state: &State, tops: Tops, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let focused = state.focus == Pane::Machine;
    let missed = match state.history.missed {
        0 => String::new(),
        n => format!("▲ {} not seen", figures::plural(n, "event", "events")),
    };
    frame(buffer, area, Line::from(title(state, focused)), focused, &missed, theme);
    let inside = inside(area);
    if state.history.devices().next().is_none() {
        put(buffer, inside, 1, &Line::styled("The devices show here once the session runs.", theme.dim));
        return;
    }
    let parts = pane_parts(state, inside);
    sections(state, tops, buffer, &parts);
}

/// Draws the screen.
pub fn screen(state: &State, tops: Tops, buffer: &mut Buffer, areas: &Areas) {
    let theme = &state.theme;
    let parts = screen_parts(state, areas.body);
    if state.history.devices().next().is_none() {
        let text = "The devices show here once a session runs: open a lesson or a notebook first.";
        put(buffer, areas.body, 1, &Line::styled(format!("  {text}"), theme.dim));
        return;
    }
    if parts.tabs.height > 0 {
        let mut spans = Vec::new();
        for section in Section::ALL {
            let style = if section == state.machine.section { theme.selected } else { theme.dim };
            spans.push(Span::styled(format!(" {} ", section.name()), style));
            spans.push(Span::raw(" "));
        }
        if state.history.missed > 0 {
            let missed = figures::plural(state.history.missed, "event", "events");
            spans.push(Span::styled(format!("▲ {missed} not seen"), theme.warn));
        }
        put(buffer, parts.tabs, 0, &Line::from(spans));
    }
    sections(state, tops, buffer, &parts);
}

fn sections(state: &State, tops: Tops, buffer: &mut Buffer, parts: &Parts) {
    for (section, area) in parts.shown() {
        match section {
            Section::Memory => memory::draw(state, tops.memory, buffer, area),
            Section::Tensors => tensors::draw(state, tops.tensors, buffer, area),
            Section::Transfers => transfers::draw(state, tops.transfers, buffer, area),
            Section::Timeline => timeline::draw(state, tops.timeline, buffer, area),
        }
    }
    picked::draw(state, buffer, parts.picked);
}

/// The machine's name, with what is to be known of it.
pub fn title(state: &State, focused: bool) -> Vec<Span<'static>> {
    let theme = &state.theme;
    let style = if focused { theme.accent } else { theme.dim };
    let known = state.history.devices().next().is_some();
    if known && matches!(state.session.status, SessionStatus::Dead { .. }) {
        return vec![Span::styled(" machine, as the session left it ", theme.error)];
    }
    let mut title = vec![Span::styled(" machine ", style)];
    if state.history.any_simulated() {
        title.push(Span::styled("SIM", theme.badge));
        title.push(Span::styled(" simulated, times modelled ", style));
    }
    title
}

/// True where the section has the keys.
pub fn is_active(state: &State, section: Section) -> bool {
    let here = state.screen == Screen::Machine || state.focus == Pane::Machine;
    here && state.machine.section == section
}

/// The title of a section: whether it is the one that has the keys, its name, and a note at the right.
pub fn list_title(state: &State, section: Section, name: &str, note: &str, width: usize) -> Line<'static> {
    let theme = &state.theme;
    let (mark, style) = if is_active(state, section) { ("▸ ", theme.accent) } else { ("  ", theme.strong) };
    let name = text::clip(name, width.saturating_sub(2));
    let note = text::clip(note, width.saturating_sub(text::width(&name) + 4));
    let note = if note.is_empty() { note } else { format!(" {note}") };
    let used = 2 + text::width(&name) + 1 + text::width(&note);
    Line::from(vec![
        Span::styled(mark, theme.accent),
        Span::styled(name, style),
        Span::styled(format!(" {}", "─".repeat(width.saturating_sub(used))), theme.border),
        Span::styled(note, theme.dim),
    ])
}

/// The mark before a row: what is picked, and what the selected cell caused.
pub fn row_mark(state: &State, picked: bool, source: Source) -> Span<'static> {
    if picked {
        Span::styled("▸", state.theme.selected)
    } else if state.is_of_selected_cell(source) {
        Span::styled("•", state.theme.accent)
    } else {
        Span::raw(" ")
    }
}
