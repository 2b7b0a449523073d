//! Completion, help on a name, find, the list of actions, and cells run before.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::lab::model::actions::{Action, Choice, Context};
use crate::lab::model::aid::completing::Completing;
use crate::lab::model::aid::picker::{Entry, Picker};
use crate::lab::model::aid::{Doc, Find};
use crate::lab::model::bindings::{BINDINGS, Binding};
use crate::lab::model::editor::Pos;
use crate::lab::model::editor::bytes::cursor_byte;
use crate::lab::model::keys::names;
use crate::lab::model::message::Effect;
use crate::lab::model::state::{Pane, Popup, Screen, State};
use crate::lab::model::text;
use crate::lab::update::{actions, editing, home, machine, selecting};
use crate::script::{help, lexer};

const PAGE: usize = 8;
/// Bytes of code that is completed in; a longer cell would make typing slow.
const MAX_CODE: usize = 1 << 18;

/// Opens the list of names for what is before the cursor. Where only one fits it is taken at once.
pub fn complete(state: &mut State) {
    let Some(cell) = state.selected_cell().filter(|cell| !cell.markdown) else { return };
    let code = cell.editor.text();
    if code.len() > MAX_CODE {
        return state.say("this cell is too long for completion");
    }
    let (byte, at) = (cursor_byte(&cell.editor), cell.editor.cursor());
    let opened = Completing::open(&state.aid.known, &code, byte, at);
    let Some(completing) = opened else { return state.say("no name fits here") };
    let typed = code.get(completing.byte..byte).unwrap_or_default().to_owned();
    let begins = completing.found.iter().filter(|c| !typed.is_empty() && c.text.starts_with(&typed)).count();
    let alone = completing.found.len() == 1 || begins == 1;
    let common = completing.common(&typed);
    state.aid.completing = Some(completing);
    if alone {
        accept(state);
    } else if let Some(common) = common
        && let Some(cell) = state.selected_cell_mut()
    {
        let start = Pos { col: at.col.saturating_sub(typed.chars().count()), ..at };
        cell.editor.change(start, at, &common);
        cell.changed();
        narrow(state);
    }
}

/// Narrows the list of names to what is typed now.
pub fn narrow(state: &mut State) {
    let Some(mut completing) = state.aid.completing.take() else { return };
    let Some(cell) = state.selected_cell() else { return };
    let (code, byte) = (cell.editor.text(), cursor_byte(&cell.editor));
    if byte >= completing.byte && completing.narrow(&state.aid.known, &code, byte) {
        state.aid.completing = Some(completing);
    }
}

/// Types what is chosen of the names.
fn accept(state: &mut State) {
    let Some(completing) = state.aid.completing.take() else { return };
    let Some(chosen) = completing.chosen().map(|c| c.text.clone()) else { return };
    if let Some(cell) = state.selected_cell_mut() {
        let at = cell.editor.cursor();
        cell.editor.change(completing.start, at, &chosen);
        cell.changed();
        state.follow = true;
    }
}

/// A movement in whatever list there is.
pub fn choice(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) {
    match state.popup {
        Some(Popup::Find) => find_choice(state, choice),
        Some(Popup::Palette | Popup::Past) => pick(state, choice, fx),
        _ => offered(state, choice),
    }
}

fn offered(state: &mut State, choice: Choice) {
    let Some(completing) = &mut state.aid.completing else { return };
    match choice {
        Choice::Next => completing.go(true),
        Choice::Previous => completing.go(false),
        Choice::PageNext => {
            completing.selected = (completing.selected + PAGE).min(completing.found.len().saturating_sub(1));
        }
        Choice::PagePrevious => completing.selected = completing.selected.saturating_sub(PAGE),
        Choice::Accept => accept(state),
        Choice::Erase | Choice::Close => state.aid.completing = None,
    }
}

fn pick(state: &mut State, choice: Choice, fx: &mut Vec<Effect>) {
    let Some(picker) = &mut state.aid.picker else { return };
    match choice {
        Choice::Next => picker.go(1),
        Choice::Previous => picker.go(-1),
        Choice::PageNext => picker.go(PAGE as isize),
        Choice::PagePrevious => picker.go(-(PAGE as isize)),
        Choice::Erase => picker.pop(),
        Choice::Close => close(state),
        Choice::Accept => {
            let Some(id) = picker.chosen().map(|entry| entry.id) else { return };
            let which = state.popup;
            close(state);
            match which {
                Some(Popup::Palette) => act_by_name(state, id, fx),
                _ => recall(state, id),
            }
        }
    }
}

fn close(state: &mut State) {
    state.popup = None;
    state.aid.picker = None;
}

/// A character typed into a list or into what to find.
pub fn typed(state: &mut State, c: char) {
    if !text::printable(c) {
        return;
    }
    match (state.popup, &mut state.aid.picker) {
        (Some(Popup::Palette | Popup::Past), Some(picker)) => picker.push(c),
        (Some(Popup::Find), _) => {
            state.aid.find.text.push(c);
            seek(state, true, false);
        }
        _ => {}
    }
}

/// The name of a part of the key table, in a list of actions.
pub fn section(context: Context) -> Option<&'static str> {
    Some(match context {
        Context::Anywhere | Context::Browse => "lab",
        Context::Lesson => "lesson",
        Context::Cells => "cells",
        Context::Machine => "machine",
        Context::MachineScreen => "machine, full-screen",
        Context::Home => "home",
        Context::Editor => "edit",
        Context::Answer
        | Context::Prompt
        | Context::Complete
        | Context::Picker
        | Context::Find
        | Context::Help
        | Context::Confirm => {
            return None;
        }
    })
}

/// Opens the list of all actions.
pub fn palette(state: &mut State) {
    let rows = state.keymap.rows().enumerate();
    let entries = rows.filter_map(|(id, (binding, keys))| {
        if matches!(binding.action, Action::Choose | Action::Palette) || !is_offered(state, binding) {
            return None;
        }
        let text = format!("{}: {}", section(binding.context)?, binding.help);
        Some(Entry { text, note: names(keys.get(..2).unwrap_or(keys)), id })
    });
    state.aid.picker = Some(Picker::new(entries.collect(), false));
    state.popup = Some(Popup::Palette);
}

/// Without a document there is only the home screen, and without that only the document; what the machine's keys do
/// full-screen as elsewhere is listed once.
fn is_offered(state: &State, binding: &Binding) -> bool {
    let elsewhere = |other: &Binding| {
        matches!(other.context, Context::Machine | Context::Browse | Context::Anywhere)
            && other.action == binding.action
    };
    match binding.context {
        Context::Home => state.home.is_there,
        Context::MachineScreen => state.has_document() && !BINDINGS.iter().any(elsewhere),
        _ => state.has_document() || matches!(binding.action, Action::Quit | Action::Help),
    }
}

/// Goes to the screen that a row of the key table is of.
fn go_to_screen(state: &mut State, context: Context, fx: &mut Vec<Effect>) {
    match (context, state.screen) {
        (Context::Home, Screen::Home)
        | (Context::Anywhere, _)
        | (Context::Machine | Context::MachineScreen, Screen::Machine) => {}
        (Context::Home, _) => home::toggle(state, fx),
        (Context::MachineScreen, _) => machine::toggle(state),
        _ if state.has_document() => state.screen = Screen::Work,
        _ => {}
    }
}

/// Does what a row of the key table does, where it would be done.
fn act_by_name(state: &mut State, row: usize, fx: &mut Vec<Effect>) {
    let Some(binding) = BINDINGS.get(row) else { return };
    go_to_screen(state, binding.context, fx);
    match binding.context {
        Context::Lesson => selecting::show(state, Pane::Lesson),
        Context::Machine if state.screen == Screen::Work => selecting::show(state, Pane::Machine),
        Context::Cells => {
            selecting::leave(state);
            selecting::show(state, Pane::Cells);
        }
        Context::Editor if state.selected_cell().is_some() && !state.editing => selecting::enter(state),
        _ => {}
    }
    actions::act(state, binding.action, KeyEvent::new(KeyCode::Null, KeyModifiers::NONE), fx);
}

/// Opens the search in the cells run before.
pub fn past(state: &mut State) {
    if state.aid.past.is_empty() {
        return state.say("no cell was run yet");
    }
    let entry = |(id, code): (usize, &String)| Entry { text: code.clone(), note: String::new(), id };
    let entries = state.aid.past.iter().enumerate().map(entry).collect();
    state.aid.picker = Some(Picker::new(entries, true));
    state.popup = Some(Popup::Past);
}

/// Puts code that was run before at the cursor, or into a cell of its own.
fn recall(state: &mut State, id: usize) {
    let Some(code) = state.aid.past.get(id).cloned() else { return };
    state.screen = Screen::Work;
    if !state.editing || state.selected_cell().is_none() {
        selecting::leave(state);
        editing::add_cell(state, true);
        selecting::enter(state);
    }
    editing::paste(state, &code);
}

/// Tells of the name at the cursor.
pub fn doc(state: &mut State) {
    let Some(cell) = state.selected_cell() else { return state.say("select a cell first") };
    let (code, byte) = (cell.editor.text(), cursor_byte(&cell.editor));
    let called = || lexer::call_at(&code, byte).map(|call| call.name);
    let Some(name) = lexer::name_at(&code, byte).or_else(called) else {
        return state.say("no name stands at the cursor");
    };
    show_doc(state, &name);
}

fn show_doc(state: &mut State, name: &str) {
    let known = state.aid.known.iter().find(|known| known.name == name);
    let page = help::page(name).or_else(|| help::page(name.rsplit("::").next().unwrap_or(name)));
    let mut lines = Vec::new();
    if let Some(known) = known {
        lines.push(format!("{name}: {} {}", known.type_name, known.summary));
    }
    match page {
        Some(page) => lines.extend(page.lines().map(text::clean)),
        None if known.is_none() => {
            let near = help::suggestions(name).first().map(|n| format!("; did you mean `{n}`?"));
            return state.say(format!("there is no help on `{name}`{}", near.unwrap_or_default()));
        }
        None => {}
    }
    state.aid.doc = Some(Doc { title: name.to_owned(), lines });
    state.popup = Some(Popup::Doc(0));
}

/// Asks for what to look for in the cell.
pub fn find(state: &mut State) {
    let Some(cell) = state.selected_cell() else { return };
    let from = cell.editor.selection().map_or(cell.editor.cursor(), |(start, _)| start);
    let one_line = |text: &String| !text.contains('\n');
    let text = cell.editor.selected_text().filter(one_line).unwrap_or_default();
    state.aid.find = Find { text, from };
    state.popup = Some(Popup::Find);
}

fn find_choice(state: &mut State, choice: Choice) {
    match choice {
        Choice::Next | Choice::PageNext | Choice::Accept => seek(state, true, true),
        Choice::Previous | Choice::PagePrevious => seek(state, false, true),
        Choice::Erase => {
            state.aid.find.text.pop();
            seek(state, true, false);
        }
        Choice::Close => state.popup = None,
    }
}

/// Selects the next place of what is looked for; from where the search began, unless it goes `on`.
pub fn seek(state: &mut State, forward: bool, on: bool) {
    let Find { text, from } = state.aid.find.clone();
    let Some(cell) = state.selected_cell_mut() else { return };
    let editor = &mut cell.editor;
    let at = match (on, forward) {
        (false, _) => from,
        (true, true) => editor.after(editor.selection().map_or(editor.cursor(), |(start, _)| start)),
        (true, false) => editor.selection().map_or(editor.cursor(), |(start, _)| start),
    };
    match editor.find(&text, at, forward).filter(|_| !text.is_empty()) {
        Some(found) => editor.select(Pos { col: found.col + text.chars().count(), ..found }, found),
        None => {
            editor.clear_selection();
            if !text.is_empty() {
                state.say(format!("`{text}` is not in this cell"));
            }
        }
    }
    state.follow = true;
}
