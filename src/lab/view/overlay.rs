//! What lies over the code of the cell being edited: the selection, the bracket that belongs to the one at the cursor,
//! the places of what is looked for.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::lab::layout::cells::Extent;
use crate::lab::model::editor::bytes::{cursor_byte, place_of};
use crate::lab::model::editor::find::matches;
use crate::lab::model::editor::{Editor, Pos};
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::laid::RowPart;
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::lab::model::vi::Mode;
use crate::script::lexer;

/// Code longer than this has no brackets marked: looking through it takes time with each key.
const MAX_CODE: usize = 1 << 16;

/// Marks places of a cell's code; the first row in sight is `top`.
pub(crate) fn draw(state: &State, buffer: &mut Buffer, inside: Rect, extent: &Extent, top: usize, bar: u16) {
    let finding = state.popup == Some(Popup::Find);
    let item = state.current_step().and_then(|step| step.items.get(extent.item));
    let Some(ItemState::Cell(cell)) = item.filter(|_| state.editing || finding) else { return };
    let marks = marks(state, cell, extent.item == state.selected);
    if marks.is_empty() {
        return;
    }
    for (i, row) in extent.layout.rows.iter().enumerate() {
        let RowPart::Code { line, from, length, indent } = row.part else { continue };
        let Some(y) = (extent.top + i).checked_sub(top).filter(|y| *y < usize::from(inside.height)) else {
            continue;
        };
        let mut x = usize::from(bar) + indent;
        let code = cell.editor.line(line);
        // The end of a line is marked as well where the selection goes over it.
        let chars = code.chars().skip(from).take(length).map(Some);
        let last = from + length == code.chars().count();
        for (col, c) in chars.chain(last.then_some(None)).enumerate() {
            let at = Pos { row: line, col: from + col };
            let width = c.map_or(1, text::char_width);
            for (start, end, style) in &marks {
                if at >= *start && at < *end {
                    patch(buffer, inside, x, y, width, *style);
                }
            }
            x += width;
        }
    }
}

fn patch(buffer: &mut Buffer, inside: Rect, x: usize, y: usize, width: usize, style: Style) {
    for x in x..x + width {
        let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return };
        if x < inside.width
            && let Some(cell) = buffer.cell_mut((inside.x + x, inside.y + y))
        {
            cell.set_style(style);
        }
    }
}

/// Start, end and style of what is marked; what comes later lies above.
fn marks(state: &State, cell: &CellState, selected: bool) -> Vec<(Pos, Pos, Style)> {
    let editor = &cell.editor;
    let mut marks = Vec::new();
    let underlined = state.theme.accent.add_modifier(Modifier::UNDERLINED);
    let found = &state.aid.find.text;
    if state.popup == Some(Popup::Find) && !found.is_empty() {
        let length = found.chars().count();
        for (row, line) in editor.lines().iter().enumerate() {
            let place = |col| (Pos { row, col }, Pos { row, col: col + length }, underlined);
            marks.extend(matches(line, found).into_iter().map(place));
        }
    }
    if !selected {
        return marks;
    }
    if let Some((start, end)) = selection(state, editor) {
        marks.push((start, end, Style::new().add_modifier(Modifier::REVERSED)));
    } else if !cell.markdown {
        marks.extend(
            brackets(editor).into_iter().flatten().map(|at| (at, Pos { col: at.col + 1, ..at }, underlined)),
        );
    }
    marks
}

/// Vi's selections hold the character at the cursor, and whole lines where they are of lines.
fn selection(state: &State, editor: &Editor) -> Option<(Pos, Pos)> {
    let mode = state.aid.vi.as_ref().map(|vi| vi.mode);
    let at = editor.cursor();
    match (editor.selection(), mode) {
        (Some((start, end)), Some(Mode::Visual)) => Some((start, editor.after(end))),
        (None, Some(Mode::Visual)) => Some((at, editor.after(at))),
        (selected, Some(Mode::VisualLine)) => {
            let (start, end) = selected.unwrap_or((at, at));
            Some((Pos { col: 0, ..start }, Pos { row: end.row, col: usize::MAX }))
        }
        (selected, _) => selected,
    }
}

fn brackets(editor: &Editor) -> Option<[Pos; 2]> {
    let code = editor.text();
    if code.len() > MAX_CODE {
        return None;
    }
    let pieces = lexer::pieces(&code);
    let (open, close) = lexer::partners(&code, &pieces, cursor_byte(editor))?;
    Some([place_of(editor.lines(), open), place_of(editor.lines(), close)])
}
