//! Titles and marks that the sections of the machine share.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::event::{Doer, Source};
use crate::base::figures;
use crate::lab::model::machine::Section;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
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
    // A note is whole or not there.
    let note = if text::width(&name) + text::width(note) + 4 <= width { note } else { "" };
    let note = if note.is_empty() { String::new() } else { format!(" {note}") };
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

/// What a list shows, as its title has it: `3 transfers`, `26 of 1,356 transfers shown` where it has not all of them,
/// shortened until it fits `width`.
pub(crate) fn counted(shown: u64, all: u64, (one, many): (&str, &str), width: usize) -> String {
    if shown >= all {
        return figures::plural(all, one, many);
    }
    let (count, short) = (figures::count, figures::short);
    let forms = [
        format!("{} of {} {many} shown", count(shown), count(all)),
        format!("{} of {} shown", count(shown), count(all)),
    ];
    let last = format!("{}/{} shown", short(shown), short(all));
    forms.into_iter().find(|form| text::width(form) + 2 <= width).unwrap_or(last)
}

/// Glyphs in a line, one style each.
pub(crate) fn joined(cells: &[(&'static str, Style)]) -> Line<'static> {
    let spans = cells.chunk_by(|a, b| a == b).filter_map(|run| {
        let (glyph, style) = run.first()?;
        Some(Span::styled(glyph.repeat(run.len()), *style))
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// ` at In [3]:4`: the cell and line of a source, after `lead`, and `from 9` where line 9 called the function that it
/// stands in; empty where they are unknown. What a lesson does by itself has a name of its own.
pub(crate) fn place(lead: &str, source: Source) -> String {
    let from = if source.caller == 0 { String::new() } else { format!(" from {}", source.caller) };
    let line = if source.line == 0 { String::new() } else { format!(":{}{from}", source.line) };
    match source.doer() {
        Doer::Learner => match source {
            Source { cell: 0, line: 0, .. } => String::new(),
            Source { cell: 0, line, .. } => format!("{lead}line {line}{from}"),
            Source { cell, .. } => format!("{lead}In [{cell}]{line}"),
        },
        Doer::SetUp => format!("{lead}the set-up"),
        Doer::Check(cell) => format!("{lead}check of In [{cell}]{line}"),
        Doer::Answer(cell) => format!("{lead}prediction of In [{cell}]"),
    }
}
