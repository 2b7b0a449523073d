//! What helps while typing: the list of names, how the open call is written, lists to choose from, pages of help.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::figures::plural;
use crate::lab::layout::doc::{doc_area, doc_lines};
use crate::lab::layout::{chosen, highlight, inner, position};
use crate::lab::model::aid::completing::Completing;
use crate::lab::model::aid::picker::Picker;
use crate::lab::model::editor::bytes::cursor_byte;
use crate::lab::model::editor::find::matches;
use crate::lab::model::item::CellState;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::view::paint::{clear, frame, put, put_at};
use crate::script::complete;

/// Columns of what is told beside the list of names.
const BESIDE: usize = 44;

/// The list of names, below the name that is typed or above it, with what is known of the one chosen beside it.
pub(crate) fn completions(state: &State, top: usize, buffer: &mut Buffer, pane: Rect, area: Rect) {
    let Some(completing) = &state.aid.completing else { return };
    let Some(list) = chosen::names(state, completing, top, pane, area) else { return };
    names(state, completing, buffer, list);
    let room = usize::from(area.right().saturating_sub(list.right()));
    let beside = if room >= 24 {
        Rect { x: list.right(), width: room.min(BESIDE) as u16, ..list }
    } else {
        let width = usize::from(list.x.saturating_sub(area.x)).min(BESIDE) as u16;
        Rect { x: list.x - width, width, ..list }
    };
    if beside.width >= 20 {
        told(state, completing, buffer, beside);
    }
}

fn names(state: &State, completing: &Completing, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    clear(buffer, area);
    let shown = position(completing.top(), completing.rows, completing.found.len());
    let shown = shown.rsplit(' ').next().filter(|count| !count.is_empty()).unwrap_or_default().to_owned();
    frame(buffer, area, Line::default(), false, &shown, theme);
    let inside = inner(area);
    let columns = usize::from(inside.width);
    for (row, (i, found)) in
        completing.found.iter().enumerate().skip(completing.top()).take(completing.rows).enumerate()
    {
        let style = if i == completing.selected { theme.selected } else { theme.text };
        let mark = if i == completing.selected { "▸" } else { " " };
        put(buffer, inside, row, &Line::styled(text::left(&format!("{mark}{}", found.text), columns), style));
    }
}

fn told(state: &State, completing: &Completing, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let Some(chosen) = completing.chosen() else { return };
    clear(buffer, area);
    frame(buffer, area, Line::default(), false, "", theme);
    let inside = inner(area);
    let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    let columns = usize::from(inside.width);
    let mut lines =
        text::wrap(&[Span::styled(chosen.signature.clone(), theme.strong)], columns, Break::Words);
    if !chosen.summary.is_empty() {
        lines.extend(text::wrap(&[Span::styled(chosen.summary.clone(), theme.text)], columns, Break::Words));
    }
    for (row, line) in lines.iter().take(usize::from(inside.height)).enumerate() {
        put(buffer, inside, row, line);
    }
}

/// What stands in the lower border of the cells while typing: what is looked for, or how the open call is written.
pub(crate) fn foot(state: &State, buffer: &mut Buffer, area: Rect, room: usize) {
    let theme = &state.theme;
    let row = usize::from(area.height).saturating_sub(1);
    let line = if state.popup == Some(Popup::Find) {
        let in_cell = |cell: &CellState| -> usize {
            let lines = cell.editor.lines().iter();
            lines.map(|line| matches(line, &state.aid.find.text).len()).sum()
        };
        let all: Vec<usize> = state.cells().map(in_cell).filter(|places| *places > 0).collect();
        let mut count = plural(all.iter().sum::<usize>() as u64, "place", "places");
        if all.len() > 1 {
            count += &format!(" in {} cells", all.len());
        }
        vec![
            Span::styled(" find: ", theme.accent),
            Span::styled(format!("{}▏", state.aid.find.text), theme.text),
            Span::styled(format!(" {count} "), theme.dim),
        ]
    } else {
        let Some(hint) = hint(state) else { return };
        let part = |range: std::ops::Range<usize>, style| {
            Span::styled(hint.text.get(range).unwrap_or_default().to_owned(), style)
        };
        let due = hint.due.clone().unwrap_or(0..0);
        // Where not all of it fits, parameters before the one that is due give way.
        let before = match hint.text.find('(').filter(|_| due.end + 2 > room) {
            Some(open) if open + 1 < due.start => {
                Span::styled(format!("{}…, ", hint.text.get(..=open).unwrap_or_default()), theme.dim)
            }
            _ => part(0..due.start, theme.dim),
        };
        vec![
            Span::raw(" "),
            before,
            part(due.clone(), theme.selected),
            part(due.end..hint.text.len(), theme.dim),
            Span::raw(" "),
        ]
    };
    let chars: Vec<_> = line.iter().flat_map(|s| s.content.chars().map(move |c| (c, s.style))).collect();
    let mut shown = text::break_anywhere(&chars, room).first().copied().unwrap_or_default().to_vec();
    if shown.len() < chars.len() {
        // What goes on says so.
        shown.pop();
        shown.push(('…', theme.dim));
    }
    let shown = text::line(&shown);
    put_at(buffer, area, 2, row, &shown);
}

fn hint(state: &State) -> Option<complete::Hint> {
    let cell = state.selected_cell().filter(|cell| state.editing && !cell.markdown)?;
    let at = cell.editor.cursor();
    // A call is looked for in the lines around the cursor, so that a long cell is no slower to type in.
    let first = at.row.saturating_sub(40);
    let lines = cell.editor.lines().get(first..=at.row)?;
    let code = lines.join("\n");
    let before: usize = cell.editor.lines().iter().take(first).map(|line| line.len() + 1).sum();
    complete::hint(&code, cursor_byte(&cell.editor).checked_sub(before)?)
}

/// The list of actions, or of cells run before.
pub(crate) fn picker(state: &State, title: &str, buffer: &mut Buffer, area: Rect) {
    let Some(picker) = &state.aid.picker else { return };
    let theme = &state.theme;
    let (top, rows) = chosen::in_sight(picker, area);
    let area = chosen::list(area);
    clear(buffer, area);
    let inside = inner(area);
    let shown = position(top, rows, picker.len());
    frame(buffer, area, Line::styled(format!(" {title} "), theme.accent), true, &shown, theme);
    let typed = Line::from(vec![
        Span::styled(" > ", theme.accent),
        Span::styled(picker.typed.clone(), theme.text),
        Span::styled("▏", theme.accent),
    ]);
    put(buffer, inside, 0, &typed);
    for (row, (i, entry)) in picker.entries().enumerate().skip(top).take(rows).enumerate() {
        let columns = usize::from(inside.width);
        let note = if entry.note.is_empty() { String::new() } else { format!(" {} ", entry.note) };
        let room = columns.saturating_sub(text::width(&note) + 2);
        let words = text::left(&entry.text.replace('\n', " ↵ "), room);
        let mark = if i == picker.selected { " ▸" } else { "  " };
        let style = if i == picker.selected { theme.selected } else { theme.text };
        let line =
            Line::from(vec![Span::styled(format!("{mark}{words}"), style), Span::styled(note, theme.accent)]);
        put(buffer, inside, row + 1, &line);
    }
    if picker.len() == 0 {
        put(buffer, inside, 1, &Line::styled("   nothing fits", theme.dim));
    }
    preview(state, picker, buffer, area);
}

/// Below the list of cells run before, the chosen one in full, as far as there is room.
fn preview(state: &State, picker: &Picker, buffer: &mut Buffer, list: Rect) {
    let Some(chosen) = picker.chosen().filter(|entry| entry.note.is_empty() && entry.text.contains('\n'))
    else {
        return;
    };
    let rows = buffer.area.bottom().saturating_sub(list.bottom() + 1);
    let area = Rect { y: list.bottom(), height: rows.min(12), ..list };
    if area.height < 4 {
        return;
    }
    clear(buffer, area);
    frame(buffer, area, Line::default(), false, "", &state.theme);
    let inside = inner(area);
    let lines: Vec<String> = chosen.text.lines().take(usize::from(inside.height)).map(text::clean).collect();
    for (row, chars) in highlight::styled(&lines, &state.theme).iter().enumerate() {
        put_at(buffer, inside, 1, row, &text::line(chars));
    }
}

/// A page of help on a name.
pub(crate) fn doc(state: &State, top: u16, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let area = doc_area(area);
    clear(buffer, area);
    let inside = inner(area);
    let rows = usize::from(inside.height);
    let lines = doc_lines(state, usize::from(inside.width).saturating_sub(2));
    let top = usize::from(top).min(lines.len().saturating_sub(rows));
    let title = state.aid.doc.as_ref().map(|doc| format!(" {} ", doc.title)).unwrap_or_default();
    frame(buffer, area, Line::styled(title, theme.accent), true, &position(top, rows, lines.len()), theme);
    for (row, line) in lines.iter().skip(top).take(rows).enumerate() {
        put_at(buffer, inside, 1, row, line);
    }
}
