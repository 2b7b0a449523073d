//! The last row: the keys that matter now, from the key table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::model::state::State;
use crate::lab::model::{active_keys, text};
use crate::lab::view::paint::put;

pub(crate) fn draw(state: &State, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let mut entries = active_keys::bar(state);
    // Help is always there, so that what does not fit can be found.
    let last = entries.pop_if(|(_, label)| *label == "help");
    let width = |(key, label): &(String, &str)| text::width(key) + text::width(label) + 3;
    let mut room = usize::from(area.width).saturating_sub(1 + last.as_ref().map_or(0, width));
    let mut shown: Vec<(String, &str)> = Vec::new();
    for entry in entries {
        let taken = width(&entry);
        if taken > room {
            break;
        }
        room -= taken;
        shown.push(entry);
    }
    shown.extend(last);
    let mut spans = vec![Span::raw(" ")];
    for (key, label) in shown {
        spans.push(Span::styled(key, theme.accent));
        spans.push(Span::styled(format!(" {label}  "), theme.dim));
    }
    put(buffer, area, 0, &Line::from(spans));
}
