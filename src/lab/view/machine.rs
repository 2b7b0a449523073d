//! The machine, as a pane beside the cells and as a screen of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::figures;
use crate::lab::layout::Areas;
use crate::lab::layout::machine::{Parts, inside, pane_parts, screen_parts};
use crate::lab::layout::sections::entry_of;
use crate::lab::model::machine::Section;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::model::tops::Tops;
use crate::lab::view::paint::{frame, put, put_at};
use crate::lab::view::picked;

/// Draws the pane.
pub(crate) fn draw(state: &State, tops: Tops, buffer: &mut Buffer, area: Rect) {
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
pub(crate) fn screen(state: &State, tops: Tops, buffer: &mut Buffer, areas: &Areas) {
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
        let placed = (entry_of(section).lay)(state, tops.of(section), area);
        for (column, row, line) in &placed.lines {
            put_at(buffer, area, *column, *row, line);
        }
    }
    picked::draw(state, buffer, parts.picked);
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
        title.push(Span::styled(" simulated, times modelled ", style));
    }
    title
}
