//! What is still to be read: above the key bar, at full width.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::Areas;
use crate::lab::model::actions::Action;
use crate::lab::model::state::State;
use crate::lab::model::text::{self, Break};

/// Before the first row of each message, and before those that follow it.
const MARK: &str = " ▸ ";
const INDENT: &str = "   ";

/// The messages, wrapped, and where they stand; `None` where all is read.
pub(crate) fn lay(state: &State, areas: &Areas) -> Option<(Rect, Vec<Line<'static>>)> {
    let theme = &state.theme;
    let columns = usize::from(areas.key_bar.width).saturating_sub(text::width(MARK) + 1).max(1);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for note in state.said.unread() {
        let rows = text::wrap(&[Span::styled(note.text.clone(), theme.warn)], columns, Break::Words);
        for (i, mut row) in rows.into_iter().enumerate() {
            row.spans.insert(0, Span::styled(if i == 0 { MARK } else { INDENT }, theme.accent));
            lines.push(row);
        }
    }
    let most = usize::from(areas.body.height / 2).max(1);
    if lines.len() > most {
        let key = state.keymap.name_of(Action::Messages);
        lines.truncate(most - 1);
        lines.push(Line::styled(format!("{INDENT}… {key} shows all messages"), theme.dim));
    }
    let height = u16::try_from(lines.len()).ok().filter(|height| *height > 0)?;
    let area = Rect { y: areas.key_bar.y.saturating_sub(height), height, ..areas.key_bar };
    Some((area, lines))
}
