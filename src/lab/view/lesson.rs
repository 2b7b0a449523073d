//! The lesson panel: a step's text, with a mark where each of its cells and questions belongs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::lesson::{MARGIN, layout};
use crate::lab::layout::question::predict_stands;
use crate::lab::layout::{inner, position};
use crate::lab::model::item::{CellState, Guess, ItemState, Status};
use crate::lab::model::laid::RowPart;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::view::paint::{frame, put_at};

pub(crate) fn draw(state: &State, top: usize, buffer: &mut Buffer, area: Rect) {
    let focused = state.focus == Pane::Lesson;
    let inside = inner(area);
    let theme = &state.theme;
    let Some(layout) = layout(state, inside.width) else { return };
    let rows = usize::from(inside.height);
    let total = layout.rows.len();
    let style = if focused { theme.accent } else { theme.dim };
    frame(buffer, area, Line::styled(" lesson ", style), focused, &position(top, rows, total), theme);
    let columns = usize::from(inside.width.saturating_sub(2 * MARGIN));
    for (y, row) in layout.rows.iter().skip(top).take(rows).enumerate() {
        match row.part {
            RowPart::Anchor(item) => {
                let line = anchor(state, item, columns);
                put_at(buffer, inside, usize::from(MARGIN), y, &line);
            }
            _ => put_at(buffer, inside, usize::from(MARGIN), y, &row.line),
        }
    }
}

/// `▷ In [2] ✓` where a cell belongs.
fn anchor(state: &State, item: usize, columns: usize) -> Line<'static> {
    let theme = &state.theme;
    let Some(item_state) = state.current_step().and_then(|step| step.items.get(item)) else {
        return Line::default();
    };
    let done = |done: bool| done.then_some(("✓", theme.ok));
    let (what, stands) = match item_state {
        ItemState::Cell(cell) => {
            let (what, is_done) = cell_anchor(cell);
            (what, done(is_done))
        }
        ItemState::Predict(predict) => {
            let made = matches!(predict.guess, Guess::Made(_));
            ("predict".into(), made.then(|| predict_stands(predict, theme)))
        }
        ItemState::Quiz(quiz) => ("quiz".into(), done(quiz.solved)),
        ItemState::Text(_) => return Line::default(),
    };
    let selected = item == state.selected;
    let mark = if selected { "▶ " } else { "▷ " };
    let style = if selected { theme.accent } else { theme.dim };
    let mut spans =
        vec![Span::styled(mark, style), Span::styled(text::clip(&what, columns.saturating_sub(4)), style)];
    if let Some((word, style)) = stands {
        spans.push(Span::styled(format!(" {word}"), style));
    }
    Line::from(spans)
}

fn cell_anchor(cell: &CellState) -> (String, bool) {
    let kind = if cell.exercise.is_some() { "exercise" } else { "cell" };
    let first = cell.editor.lines().iter().map(|line| line.trim()).find(|line| !line.is_empty());
    let done = if cell.own { cell.status == Status::Ok } else { cell.done };
    (format!("{kind}: {}", first.unwrap_or("…")), done)
}
