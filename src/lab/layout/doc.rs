//! A page of help on a name.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::lab::layout::{highlight, inner};
use crate::lab::model::state::{Popup, State};
use crate::lab::model::text;
use crate::lab::model::text::Break;

const DOC_WIDTH: u16 = 76;

pub(crate) fn doc_area(area: Rect) -> Rect {
    let width = DOC_WIDTH.min(area.width);
    let height = area.height.saturating_sub(2);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + 1, width, height }
}

pub(crate) fn doc_lines(state: &State, columns: usize) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let differs = matches!(state.popup, Some(Popup::Differences(_)));
    let lines = state.aid.doc.iter().flat_map(|doc| &doc.lines);
    let laid = lines.flat_map(|line| match line.strip_prefix("> ").filter(|_| !differs) {
        // The example is code.
        Some(code) => {
            let chars = highlight::styled(&[code.to_owned()], theme);
            let mut row = vec![('>', theme.dim), (' ', theme.dim)];
            row.extend(chars.into_iter().flatten());
            text::break_code(&row, columns).into_iter().map(text::line).collect()
        }
        None => {
            let style = match line.get(..2).filter(|_| differs) {
                Some("+ ") => theme.ok,
                Some("- ") => theme.warn,
                Some("# ") => theme.accent,
                _ => theme.text,
            };
            let at = if differs { Break::Anywhere } else { Break::Words };
            text::wrap(&[Span::styled(line.clone(), style)], columns, at)
        }
    });
    laid.collect()
}

/// Rows of the page of help, and how many of them are seen at once.
pub(crate) fn doc_extent(state: &State, area: Rect) -> (usize, usize) {
    let inside = inner(doc_area(area));
    (doc_lines(state, usize::from(inside.width).saturating_sub(2)).len(), usize::from(inside.height))
}
