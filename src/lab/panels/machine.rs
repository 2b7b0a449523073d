//! The machine panel: each device's memory, the tensors that live there, the transfers between them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{frame, memory, put, tensors, transfers};
use crate::lab::figures;
use crate::lab::layout::inner;
use crate::lab::scroll::Tops;
use crate::lab::state::{Pane, SessionStatus, State};
use crate::lab::text;

/// The rows of each part of the panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sections {
    pub devices: Rect,
    pub tensors: Rect,
    pub transfers: Rect,
    /// One row for each device, as there is no room for more.
    pub compact: bool,
}

/// What is within the panel's border and margins.
pub fn inside(area: Rect) -> Rect {
    let inside = inner(area);
    Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside }
}

/// How the panel's inside is shared out.
pub fn sections(state: &State, inside: Rect) -> Sections {
    let devices = || state.history.devices();
    let width = usize::from(inside.width);
    let full: usize = devices().map(|device| memory::height(device, width)).sum();
    let room = usize::from(inside.height);
    let compact = full > room * 6 / 10;
    let wanted = if compact { devices().count() } else { full };
    let wanted = wanted.min(room.saturating_sub(8)).max(1);
    // A free row parts the sections where there is room for it.
    let gap = if room >= 24 { 1 } else { 0 };
    let rest = room.saturating_sub(wanted + 2 * gap);
    let tensors = rest.div_ceil(2);
    let part = |top: usize, height: usize| {
        let top = u16::try_from(top).unwrap_or(u16::MAX).min(inside.height);
        let height = u16::try_from(height).unwrap_or(u16::MAX).min(inside.height - top);
        Rect { y: inside.y.saturating_add(top), height, ..inside }
    };
    Sections {
        devices: part(0, wanted),
        tensors: part(wanted + gap, tensors),
        transfers: part(wanted + tensors + 2 * gap, rest - tensors),
        compact,
    }
}

pub fn draw(state: &State, tops: Tops, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let focused = state.focus == Pane::Machine;
    let style = if focused { theme.accent } else { theme.dim };
    let mut title = vec![Span::styled(" machine ", style)];
    if state.history.any_simulated() {
        title.push(Span::styled("SIM", theme.badge));
        title.push(Span::styled(" simulated, times modelled ", style));
    }
    let known = state.history.devices().next().is_some();
    if known && matches!(state.session.status, SessionStatus::Dead { .. }) {
        title = vec![Span::styled(" machine, as the session left it ", theme.error)];
    }
    let missed = match state.history.missed {
        0 => String::new(),
        n => format!("▲ {} not seen", figures::plural(n, "event", "events")),
    };
    frame(buffer, area, Line::from(title), focused, &missed, theme);
    let inside = inside(area);
    if !known {
        put(buffer, inside, 1, &Line::styled("The devices show here once the session runs.", theme.dim));
        return;
    }
    let sections = sections(state, inside);
    devices(state, buffer, &sections);
    tensors::draw(state, tops.tensors, buffer, sections.tensors);
    transfers::draw(state, tops.transfers, buffer, sections.transfers);
}

fn devices(state: &State, buffer: &mut Buffer, sections: &Sections) {
    let theme = &state.theme;
    let area = sections.devices;
    let width = usize::from(area.width);
    let room = usize::from(area.height);
    let mut lines = Vec::new();
    for device in state.history.devices() {
        if sections.compact {
            lines.push(memory::row(device, width, theme));
        } else {
            lines.extend(memory::block(device, width, state.machine.whole, theme));
        }
    }
    if lines.len() > room {
        let more = (lines.len() - room + 1) as u64;
        lines.truncate(room.saturating_sub(1));
        let text = format!("… {}", figures::plural(more, "more device", "more devices"));
        lines.push(Line::styled(text::clip(&text, width), theme.dim));
    }
    for (y, line) in lines.iter().enumerate() {
        put(buffer, area, y, line);
    }
}

/// The title of a list: whether it is the one that scrolls, its name, and a note at the right.
pub fn list_title(state: &State, transfers: bool, name: &str, note: &str, width: usize) -> Line<'static> {
    let theme = &state.theme;
    let active = state.focus == Pane::Machine && state.machine.transfers == transfers;
    let (mark, style) = if active { ("▸ ", theme.accent) } else { ("  ", theme.strong) };
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
