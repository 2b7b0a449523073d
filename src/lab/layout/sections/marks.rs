//! Titles and marks that the sections of the machine share.

use ratatui::text::{Line, Span};

use crate::base::event::Source;
use crate::lab::model::machine::Section;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{SET_UP, State};
use crate::lab::model::text;

/// True where the section has the keys.
pub(crate) fn is_active(state: &State, section: Section) -> bool {
    let here = state.machine_fills() || state.focus == Pane::Machine;
    here && state.machine.section == section
}

/// The title of a section: whether it is the one that has the keys, its name, and a note at the right.
pub(crate) fn list_title(
    state: &State,
    section: Section,
    name: &str,
    note: &str,
    width: usize,
) -> Line<'static> {
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
pub(crate) fn row_mark(state: &State, picked: bool, source: Source) -> Span<'static> {
    if picked {
        Span::styled("▸", state.theme.selected)
    } else if state.is_of_selected_cell(source) {
        Span::styled("•", state.theme.accent)
    } else {
        Span::raw(" ")
    }
}

/// ` at In [3]:4`: the cell and line of a source, after `lead`; empty where they are unknown.
pub(crate) fn place(lead: &str, source: Source) -> String {
    match source {
        Source { cell: 0, line: 0 } => String::new(),
        Source { cell: SET_UP.., .. } => format!("{lead}the set-up"),
        Source { cell: 0, line } => format!("{lead}line {line}"),
        Source { cell, line: 0 } => format!("{lead}In [{cell}]"),
        Source { cell, line } => format!("{lead}In [{cell}]:{line}"),
    }
}
