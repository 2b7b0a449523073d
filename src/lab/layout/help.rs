//! The help: which keys it lists, and its rows.

use ratatui::layout::Rect;

use crate::lab::layout::{centred, inner};
use crate::lab::model::actions::Context;
use crate::lab::model::bindings::BINDINGS;

pub(crate) const HELP_WIDTH: u16 = 76;

/// Rows of the help, and how many of them are seen at once on a screen of this size.
pub(crate) fn help_extent(area: Rect) -> (usize, usize) {
    let inside = inner(centred(area, HELP_WIDTH, area.height.saturating_sub(2)));
    (help_rows(), usize::from(inside.height))
}

pub(crate) const SECTIONS: [(Context, &str); 13] = [
    (Context::Anywhere, "Anywhere"),
    (Context::Browse, "While not typing"),
    (Context::Cells, "Cells"),
    (Context::Lesson, "Lesson"),
    (Context::Machine, "Machine"),
    (Context::MachineScreen, "Machine, full-screen"),
    (Context::Home, "Home"),
    (Context::Prompt, "Typing a path"),
    (Context::Editor, "Typing in a cell"),
    (Context::Complete, "While names are offered"),
    (Context::Find, "Finding in a cell"),
    (Context::Picker, "In a list of actions or cells"),
    (Context::Answer, "Typing a number"),
];

pub(crate) fn help_rows() -> usize {
    let listed = BINDINGS.iter().filter(|b| SECTIONS.iter().any(|(context, _)| *context == b.context));
    listed.count() + 2 * SECTIONS.len() - 1
}
