//! Popups in the middle of the screen: the help, and questions to be answered.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::base::figures;
use crate::lab::layout::help::{HELP_WIDTH, HelpRow, help_rows};
use crate::lab::layout::{centred, inner, position};
use crate::lab::model::state::{Confirm, Popup, State};
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::view::paint::{frame, put};
use crate::lab::view::{aid, glossary};

const CONFIRM_WIDTH: u16 = 56;

pub(crate) fn draw(state: &State, popup: Popup, buffer: &mut Buffer, area: Rect) {
    match popup {
        Popup::Help(top) => help(state, top, buffer, area),
        Popup::Glossary(top) => glossary::draw(state, top, buffer, area),
        Popup::Doc(top) => aid::doc(state, top, buffer, area),
        Popup::Palette => aid::picker(state, "actions", buffer, area),
        Popup::Past => aid::picker(state, "cells run before", buffer, area),
        Popup::Steps => aid::picker(state, "steps", buffer, area),
        // It stands in the border of the cells.
        Popup::Find => {}
        Popup::Confirm(question) => confirm(state, question, buffer, area),
    }
}

fn help(state: &State, top: u16, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let area = centred(area, HELP_WIDTH, area.height.saturating_sub(2));
    Clear.render(area.intersection(buffer.area), buffer);
    let inside = inner(area);
    let rows = usize::from(inside.height);
    let columns = usize::from(inside.width).saturating_sub(27);
    let lines = help_rows(state);
    let top = usize::from(top).min(lines.len().saturating_sub(rows));
    let mut title = vec![Span::styled(" keys ", theme.accent)];
    let search = &state.aid.keys_search;
    if search.typing || !search.text.is_empty() {
        title.push(Span::styled(format!("with {}", search.text), theme.text));
        title.push(Span::styled(if search.typing { "▏" } else { " " }, theme.accent));
    }
    frame(buffer, area, Line::from(title), true, &position(top, rows, lines.len()), theme);
    for (y, row) in lines.iter().skip(top).take(rows).enumerate() {
        let line = match row {
            HelpRow::Gap => Line::default(),
            HelpRow::Heading(heading) => Line::styled(format!(" {heading}"), theme.accent),
            HelpRow::Key { keys, help } => Line::from(vec![
                Span::styled(format!("   {} ", text::left(keys, 22)), theme.strong),
                Span::styled(text::clip(help, columns), theme.text),
            ]),
        };
        put(buffer, inside, y, &line);
    }
    if lines.is_empty() {
        put(buffer, inside, 0, &Line::styled("   no key fits", theme.dim));
    }
}

fn confirm(state: &State, question: Confirm, buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let (title, question) = words(state, question);
    let width = CONFIRM_WIDTH.min(area.width);
    let columns = usize::from(width.saturating_sub(4));
    let mut lines = text::wrap(&[Span::styled(question, theme.text)], columns, Break::Words);
    lines.push(Line::default());
    lines.push(Line::from(vec![
        Span::styled("y", theme.accent),
        Span::styled(" yes    ", theme.text),
        Span::styled("n", theme.accent),
        Span::styled(" no", theme.text),
    ]));
    let height = u16::try_from(lines.len() + 4).unwrap_or(u16::MAX);
    let area = centred(area, width, height);
    Clear.render(area.intersection(buffer.area), buffer);
    frame(buffer, area, Line::styled(format!(" {title} "), theme.accent), true, "", theme);
    let inside = inner(area);
    let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
    for (y, line) in lines.iter().enumerate() {
        put(buffer, inside, y + 1, line);
    }
}

fn words(state: &State, question: Confirm) -> (&'static str, String) {
    match question {
        Confirm::Quit => {
            let mut why = Vec::new();
            if state.is_busy() {
                why.push("A cell is running.".to_owned());
            }
            let unsaved = state.unsaved() as u64;
            if unsaved > 0 {
                why.push(format!("{} not saved.", figures::plural(unsaved, "changed cell is", "changed cells are")));
            }
            if unsaved > 0 && state.can_save() {
                why.push("What is not saved waits beside the file until it is opened again.".to_owned());
            }
            ("quit", format!("{} Quit all the same?", why.join(" ")))
        }
        Confirm::Open if state.can_save() => (
            "open another",
            "What runs is stopped; changes that were not saved wait beside the file. Open it all the same?".into(),
        ),
        Confirm::Open => (
            "open another",
            "What runs is stopped, and changes that were not saved are lost. Open it all the same?".into(),
        ),
        Confirm::RunAnew => {
            ("run anew", "Restart the session and run all cells? Every variable goes.".into())
        }
        Confirm::Verify => (
            "verify",
            "Restart the session, run all cells, and compare what they give? Every variable goes.".into(),
        ),
        Confirm::Overwrite => (
            "changed outside",
            "Another program has changed the file since it was read. Write over it what is here? With no, the file \
             stays as it is, and what is here waits beside it."
                .into(),
        ),
        Confirm::Restart => {
            ("restart", "Restart the session? Every variable goes; cells, outputs and text stay.".into())
        }
        Confirm::RestartStuck => (
            "still running",
            "The cell has not stopped yet. Restart the session? Every variable goes; cells, outputs and text stay."
                .into(),
        ),
    }
}
