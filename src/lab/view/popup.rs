//! Popups in the middle of the screen: the help, and questions to be answered.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::figures;
use crate::lab::layout::help::{HELP_WIDTH, HelpRow, help_rows};
use crate::lab::layout::{centred, inner, position};
use crate::lab::model::actions::Action;
use crate::lab::model::answers::{Answer, answers};
use crate::lab::model::popups::CONFIRM;
use crate::lab::model::state::{Confirm, Popup, State};
use crate::lab::model::text;
use crate::lab::model::text::Break;
use crate::lab::view::paint::{clear, frame, put};
use crate::lab::view::{aid, glossary};

const CONFIRM_WIDTH: u16 = 56;

pub(crate) fn draw(state: &State, popup: Popup, buffer: &mut Buffer, area: Rect) {
    match popup {
        Popup::Help(top) => help(state, top, buffer, area),
        Popup::Glossary(top) => glossary::draw(state, top, buffer, area),
        Popup::Doc(top) | Popup::Differences(top) => aid::doc(state, top, buffer, area),
        Popup::SaveAs => {
            let told = ".rhai, or .ipynb for Jupyter; a name alone goes beside this notebook";
            typing(state, ("save under another name", &state.aid.name, told), buffer, area);
        }
        Popup::Devices => {
            let told = "cpu, cuda, sim:t4x2, sim:rtx3060@workstation, …; all variables are lost";
            typing(state, ("go on with other devices", &state.aid.devices, told), buffer, area);
        }
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
    clear(buffer, area);
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
    let given = answer_lines(state, question);
    let (title, question) = words(state, question);
    let width = CONFIRM_WIDTH.min(area.width);
    let columns = usize::from(width.saturating_sub(4));
    let mut lines = text::wrap(&[Span::styled(question, theme.text)], columns, Break::Words);
    lines.push(Line::default());
    // The answers are always there to be seen: where room is short, the margins go first, and then what is asked.
    let rows = usize::from(area.height.saturating_sub(2));
    let margin = usize::from(lines.len() + given.len() + 2 <= rows);
    lines.truncate(rows.saturating_sub(given.len()));
    lines.extend(given);
    let height = u16::try_from(lines.len() + 2 * margin + 2).unwrap_or(u16::MAX);
    let area = centred(area, width, height);
    clear(buffer, area);
    frame(buffer, area, Line::styled(format!(" {title} "), theme.accent), true, "", theme);
    let inside = inner(area);
    let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
    for (y, line) in lines.iter().enumerate() {
        put(buffer, inside, y + margin, line);
    }
}

/// Each answer with its keys; Enter gives the first.
fn answer_lines(state: &State, question: Confirm) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let key = |action: Action| {
        let mut rows = state.keymap.rows();
        let row = rows.find(|(binding, _)| *binding.context == CONFIRM && binding.action == action);
        row.and_then(|(_, keys)| keys.first().map(|chord| chord.name())).unwrap_or_default()
    };
    let line = |(i, (action, word)): (usize, &Answer)| {
        let keys = if i == 0 { format!("{}, Enter", key(*action)) } else { key(*action) };
        Line::from(vec![
            Span::styled(text::left(&keys, 10), theme.accent),
            Span::styled(*word, if i == 0 { theme.strong } else { theme.text }),
        ])
    };
    answers(state, question).iter().enumerate().map(line).collect()
}

/// A line that is typed, under what it is for, with what there is to say of it.
fn typing(state: &State, (what, typed, told): (&str, &str, &str), buffer: &mut Buffer, area: Rect) {
    let theme = &state.theme;
    let area = Rect { y: area.y + 1, height: 5.min(area.height), ..centred(area, HELP_WIDTH, 5) };
    clear(buffer, area);
    frame(buffer, area, Line::styled(format!(" {what} "), theme.accent), true, "", theme);
    let inside = inner(area);
    let room = usize::from(inside.width).saturating_sub(5);
    let typed: Vec<char> = typed.chars().collect();
    // The end is where one types.
    let mut seen = typed.len();
    let mut used = 0;
    for c in typed.iter().rev() {
        used += text::char_width(*c);
        if used > room {
            break;
        }
        seen -= 1;
    }
    let typed: String = typed.into_iter().skip(seen).collect();
    let line = Line::from(vec![
        Span::styled(" > ", theme.accent),
        Span::styled(typed, theme.text),
        Span::styled("▏", theme.accent),
    ]);
    put(buffer, inside, 0, &line);
    let told = format!(" {told}");
    put(buffer, inside, 2, &Line::styled(text::clip(&told, usize::from(inside.width)), theme.dim));
}

fn words(state: &State, question: Confirm) -> (&'static str, String) {
    match question {
        Confirm::Quit => ("quit", standing(state).join(" ")),
        Confirm::Open => ("open another", standing(state).join(" ")),
        Confirm::RunAnew => {
            ("run anew", "Restart the session and run all cells? Every variable goes.".into())
        }
        Confirm::Verify => (
            "verify",
            "Restart the session, run all cells, and compare what they give? Every variable goes.".into(),
        ),
        Confirm::Overwrite => (
            "changed outside",
            "Another program has changed the file since it was read. What is here waits beside it until one of them \
             is chosen."
                .into(),
        ),
        Confirm::Replace => ("replace", format!("There is a file {} already.", text::clean_line(&state.aid.name))),
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

/// What ends, and what becomes of what is not saved.
fn standing(state: &State) -> Vec<String> {
    let mut told = Vec::new();
    if state.is_busy() {
        told.push("A cell is running; quitting stops it.".to_owned());
    }
    let unsaved = state.unsaved() as u64;
    if state.unkept {
        told.push("What was answered and run is not kept while another lab has this lesson.".to_owned());
        return told;
    }
    if !state.has_unsaved() {
        return told;
    }
    let what = match unsaved {
        0 => figures::plural(state.file.recovered as u64, "recovered change is", "recovered changes are"),
        _ => {
            figures::plural(unsaved, "cell was changed or run, and is", "cells were changed or run, and are")
        }
    };
    told.push(format!("{what} not saved."));
    told.push(match (state.can_save(), state.file.read_only.is_some()) {
        _ if state.file.unjournaled => "The disk did not take it: it is nowhere but here.".to_owned(),
        (true, false) => "What isn't saved waits beside the file until that is opened again.".to_owned(),
        (true, true) => "This lab only reads the file, and keeps nothing of it.".to_owned(),
        (false, _) => "There is no file that keeps it.".to_owned(),
    });
    told
}
