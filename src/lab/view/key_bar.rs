//! The last row: the keys that matter now, from the key table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::key_bar;
use crate::lab::model::state::State;
use crate::lab::view::paint::put_at;

pub(crate) fn draw(state: &State, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    for (x, entry) in key_bar::entries(state, usize::from(area.width)) {
        let key = Span::styled(entry.name, theme.accent);
        put_at(
            buffer,
            area,
            x,
            0,
            &Line::from(vec![key, Span::styled(format!(" {}", entry.label), theme.dim)]),
        );
    }
}
