//! The table of keys, and when its rows stand in the key bar.

use crossterm::event::{KeyCode, KeyModifiers};

use super::item::{CellState, ItemState};
use super::keys::Bar::{Always, By, Never, When};
use super::keys::{Action as A, Bar, Binding, Chord, Context as C, Edit, c, ctrl, f, key};
use super::machine::Section;
use super::state::{Pane, SessionStatus, State};

use KeyCode::{BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right};
use KeyCode::{Tab, Up};

/// Every key of the lab, the most wanted first in each context.
pub const BINDINGS: &[Binding] = &[
    row(C::Confirm, &[c('y'), key(Enter)], A::Yes, Always("yes"), "yes"),
    row(C::Confirm, &[c('n'), key(Esc), c('q')], A::No, Always("no"), "no"),
    row(C::Help, &[key(Esc), c('?'), c('q'), key(Enter)], A::Leave, Always("close"), "close this help"),
    row(C::Help, &[key(Tab)], A::OtherHelp, Always("keys or figures"), "the keys, or what the figures mean"),
    row(C::Help, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(C::Help, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(C::Help, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(C::Help, &[key(PageDown)], A::PageDown, Never, "a page down"),
    row(
        C::Anywhere,
        &[ctrl(Char('c'))],
        A::Interrupt,
        When(State::is_busy, "interrupt"),
        "interrupt what runs; twice within 2 s: restart",
    ),
    row(
        C::Browse,
        &[c('r')],
        A::Restart,
        When(is_dead, "restart"),
        "restart the session (text and outputs stay)",
    ),
    row(C::Cells, &[key(Enter)], A::Enter, By(enter_label), "edit the cell, or answer the question"),
    row(
        C::Cells,
        &[c('1'), c('2'), c('3'), c('4'), c('5'), c('6'), c('7'), c('8'), c('9')],
        A::Choose,
        When(on_quiz, "choose"),
        "choose an answer of a quiz",
    ),
    row(C::Cells, &[c('s')], A::Skip, When(on_open_prediction, "skip"), "skip a prediction"),
    row(C::Cells, &[c('h')], A::Hint, When(has_hint, "hint"), "show the next hint"),
    row(C::Editor, &[key(Esc)], A::Leave, Always("leave"), "leave the cell"),
    row(C::Answer, &[key(Enter)], A::Commit, Always("commit"), "commit the number"),
    row(C::Answer, &[key(Esc)], A::Leave, Always("leave"), "leave the question"),
    row(C::Answer, &[key(Backspace)], A::Edit(Edit::Backspace), Never, "delete the last character"),
    row(
        C::Anywhere,
        &[f(5), Chord(Enter, KeyModifiers::CONTROL)],
        A::Run,
        When(on_cell, "run"),
        "run the cell",
    ),
    row(
        C::Anywhere,
        &[Chord(Enter, KeyModifiers::SHIFT), Chord(Enter, KeyModifiers::ALT)],
        A::RunAndGo,
        Never,
        "run the cell and go to the next",
    ),
    row(C::Editor, &[ctrl(Char('z'))], A::Edit(Edit::Undo), Always("undo"), "undo"),
    row(C::Editor, &[ctrl(Char('y')), ctrl(Char('r'))], A::Edit(Edit::Redo), Never, "redo"),
    row(C::Editor, &[key(Enter)], A::Edit(Edit::Newline), Never, "new line, indented"),
    row(C::Editor, &[key(Tab)], A::Edit(Edit::Indent), Never, "indent"),
    row(C::Editor, &[key(BackTab)], A::Edit(Edit::Dedent), Never, "indent less"),
    row(C::Editor, &[key(Backspace)], A::Edit(Edit::Backspace), Never, "delete before the cursor"),
    row(C::Editor, &[key(Delete), ctrl(Char('d'))], A::Edit(Edit::Delete), Never, "delete after the cursor"),
    row(C::Editor, &[ctrl(Char('k'))], A::Edit(Edit::DeleteToEnd), Never, "delete to the line's end"),
    row(C::Editor, &[key(Left)], A::Edit(Edit::Left), Never, "left"),
    row(C::Editor, &[key(Right)], A::Edit(Edit::Right), Never, "right"),
    row(C::Editor, &[ctrl(Left)], A::Edit(Edit::WordLeft), Never, "a word left"),
    row(C::Editor, &[ctrl(Right)], A::Edit(Edit::WordRight), Never, "a word right"),
    row(C::Editor, &[key(Up)], A::Edit(Edit::Up), Never, "up"),
    row(C::Editor, &[key(Down)], A::Edit(Edit::Down), Never, "down"),
    row(C::Editor, &[key(PageUp)], A::Edit(Edit::PageUp), Never, "ten lines up"),
    row(C::Editor, &[key(PageDown)], A::Edit(Edit::PageDown), Never, "ten lines down"),
    row(C::Editor, &[key(Home), ctrl(Char('a'))], A::Edit(Edit::Home), Never, "start of the line"),
    row(C::Editor, &[key(End), ctrl(Char('e'))], A::Edit(Edit::End), Never, "end of the line"),
    row(C::Cells, &[key(Up), c('k')], A::Up, Never, "select the item above"),
    row(C::Cells, &[key(Down), c('j')], A::Down, Never, "select the item below"),
    row(C::Cells, &[key(PageUp)], A::PageUp, Never, "scroll up"),
    row(C::Cells, &[key(PageDown)], A::PageDown, Never, "scroll down"),
    row(C::Cells, &[key(Home), c('g')], A::First, Never, "select the first item"),
    row(C::Cells, &[key(End), c('G')], A::Last, Never, "select the last item"),
    row(C::Cells, &[c('U')], A::RunAbove, Never, "run all cells above"),
    row(
        C::Cells,
        &[c('o')],
        A::WholeOutput,
        When(has_long_output, "all output"),
        "show all of the output, or its ends",
    ),
    row(C::Cells, &[c('b')], A::AddBelow, Never, "add a cell below"),
    row(C::Cells, &[c('a')], A::AddAbove, Never, "add a cell above"),
    row(C::Cells, &[c('x')], A::CutCell, Never, "cut a cell that you added"),
    row(C::Cells, &[c('v')], A::PasteCell, Never, "paste the cell cut last"),
    row(C::Lesson, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(C::Lesson, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(C::Lesson, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(C::Lesson, &[key(PageDown), c(' ')], A::PageDown, Never, "a page down"),
    row(C::Lesson, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(C::Lesson, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(C::MachineScreen, &[key(Esc)], A::MachineScreen, Always("back"), "back to the cells"),
    row(C::Machine, &[key(Right)], A::NextSection, Always("section"), "the next section"),
    row(C::Machine, &[key(Left)], A::PreviousSection, Never, "the section before"),
    row(C::Machine, &[key(Up), c('k')], A::Up, Always("pick"), "pick the row above"),
    row(C::Machine, &[key(Down), c('j')], A::Down, Never, "pick the row below"),
    row(C::Machine, &[key(Enter)], A::GoToLine, When(is_picked, "its line"), "go to the line that caused it"),
    row(C::Machine, &[c('.')], A::NextEvent, When(on_timeline, "event"), "pick the next event of the lane"),
    row(C::Machine, &[c(',')], A::PreviousEvent, Never, "pick the event before"),
    row(C::Machine, &[c('+'), c('=')], A::ZoomIn, When(on_timeline, "zoom"), "show half as much time"),
    row(C::Machine, &[c('-')], A::ZoomOut, Never, "show twice as much time"),
    row(C::Machine, &[Chord(Right, KeyModifiers::SHIFT), c('L')], A::PanRight, Never, "later times"),
    row(C::Machine, &[Chord(Left, KeyModifiers::SHIFT), c('H')], A::PanLeft, Never, "earlier times"),
    row(C::Machine, &[c('f')], A::Fit, When(on_timeline, "fit"), "show what the last cell did"),
    row(C::Machine, &[c('F')], A::FitAll, Never, "show all the time that is kept"),
    row(C::Machine, &[c('s')], A::Sort, When(on_tensors, "sort"), "sort the tensors by another column"),
    row(C::Machine, &[c('z')], A::Scale, Always("scale"), "bars of the whole memory, or of the part in use"),
    row(C::Machine, &[c('u')], A::Unpick, Never, "pick nothing"),
    row(C::Machine, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(C::Machine, &[key(PageDown)], A::PageDown, Never, "a page down"),
    row(C::Machine, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(C::Machine, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(
        C::MachineScreen,
        &[c(']')],
        A::NextCell,
        When(has_cells, "cell"),
        "select the next cell: its events are marked",
    ),
    row(C::MachineScreen, &[c('[')], A::PreviousCell, Never, "select the cell before"),
    row(C::MachineScreen, &[key(Tab)], A::NextSection, Never, "the next section"),
    row(C::MachineScreen, &[key(BackTab)], A::PreviousSection, Never, "the section before"),
    row(C::MachineScreen, &[c('r')], A::Restart, When(is_dead, "restart"), "restart the session"),
    row(C::MachineScreen, &[c('q')], A::Quit, Never, "quit"),
    row(C::MachineScreen, &[c('?')], A::Help, Always("help"), "what the figures mean"),
    row(C::Home, &[key(Enter)], A::Open, Always("open"), "open what is selected"),
    row(C::Home, &[c('c')], A::Continue, When(can_continue, "continue"), "continue where you left off"),
    row(C::Home, &[c('o'), c('n')], A::OpenPath, Always("notebook"), "open or create a notebook by its path"),
    row(C::Home, &[key(Up), c('k')], A::Up, Always("select"), "select the entry above"),
    row(C::Home, &[key(Down), c('j')], A::Down, Never, "select the entry below"),
    row(C::Home, &[key(PageUp)], A::PageUp, Never, "ten entries up"),
    row(C::Home, &[key(PageDown)], A::PageDown, Never, "ten entries down"),
    row(C::Home, &[key(KeyCode::Home), c('g')], A::First, Never, "select the first entry"),
    row(C::Home, &[key(End), c('G')], A::Last, Never, "select the last entry"),
    row(C::Home, &[key(Esc), f(7)], A::Home, When(has_document, "back"), "back to what is open"),
    row(C::Home, &[c('q'), ctrl(Char('q'))], A::Quit, Always("quit"), "quit"),
    row(C::Home, &[c('?')], A::Help, Always("help"), "this help"),
    row(C::Prompt, &[key(Enter)], A::CommitPath, Always("open"), "open the file, or begin it"),
    row(C::Prompt, &[key(Esc)], A::Leave, Always("leave"), "leave the path"),
    row(C::Prompt, &[key(Backspace)], A::PathBackspace, Never, "delete the last character"),
    row(C::Browse, &[c('n')], A::NextStep, When(has_next_step, "next step"), "next step"),
    row(C::Browse, &[c('p')], A::PreviousStep, When(has_previous_step, "previous"), "previous step"),
    row(C::Browse, &[key(Tab)], A::NextPane, Always("pane"), "next pane"),
    row(C::Browse, &[key(BackTab)], A::PreviousPane, Never, "previous pane"),
    row(C::Browse, &[c('R')], A::RunAll, When(is_idle, "run all"), "run all cells of the step"),
    row(C::Anywhere, &[f(1)], A::Show(Pane::Lesson), Never, "the lesson"),
    row(C::Anywhere, &[f(2)], A::Show(Pane::Cells), Never, "the cells"),
    row(C::Anywhere, &[f(3)], A::Show(Pane::Machine), Never, "the machine"),
    row(C::Anywhere, &[f(4)], A::Maximise, Never, "this pane alone, or all again"),
    row(C::Anywhere, &[f(6)], A::MachineScreen, Never, "the machine, full-screen, or back"),
    row(C::Anywhere, &[f(7)], A::Home, Never, "home: lessons, notebooks and devices"),
    row(C::Browse, &[c('>')], A::Wider, Never, "make the pane wider"),
    row(C::Browse, &[c('<')], A::Narrower, Never, "make the pane narrower"),
    row(C::Anywhere, &[ctrl(Char('s'))], A::Save, When(can_save, "save"), "save"),
    row(C::Browse, &[c('q')], A::Quit, Always("quit"), "quit"),
    row(C::Anywhere, &[ctrl(Char('q'))], A::Quit, Never, "quit"),
    row(C::Browse, &[c('?')], A::Help, Always("help"), "this help; on the machine, its figures"),
];

fn is_dead(state: &State) -> bool {
    matches!(state.session.status, SessionStatus::Dead { .. })
}

fn is_picked(state: &State) -> bool {
    state.machine.pick.is_some()
}

fn on_timeline(state: &State) -> bool {
    state.machine.section == Section::Timeline
}

fn on_tensors(state: &State) -> bool {
    state.machine.section == Section::Tensors
}

fn has_cells(state: &State) -> bool {
    state.cells().next().is_some()
}

fn can_continue(state: &State) -> bool {
    state.home.listing.resume.is_some()
}

fn has_document(state: &State) -> bool {
    state.has_document()
}

fn is_idle(state: &State) -> bool {
    !state.is_busy() && !is_dead(state)
}

fn can_save(state: &State) -> bool {
    state.can_save && state.unsaved() > 0
}

fn enter_label(state: &State) -> Option<&'static str> {
    match state.selected_item()? {
        ItemState::Cell(_) => Some("edit"),
        ItemState::Predict(predict) => predict.is_open().then_some("answer"),
        ItemState::Quiz(quiz) => (quiz.question.takes_several() && !quiz.solved).then_some("commit"),
        ItemState::Text(_) => None,
    }
}

fn on_cell(state: &State) -> bool {
    state.selected_cell().is_some()
}

fn on_quiz(state: &State) -> bool {
    matches!(state.selected_item(), Some(ItemState::Quiz(quiz)) if !quiz.solved)
}

fn on_open_prediction(state: &State) -> bool {
    matches!(state.selected_item(), Some(ItemState::Predict(predict)) if predict.is_open())
}

fn has_hint(state: &State) -> bool {
    let hints = |cell: &CellState| cell.exercise.as_ref().map_or(0, |exercise| exercise.hints.len());
    state.selected_cell().is_some_and(|cell| hints(cell) > cell.hints_shown)
}

fn has_long_output(state: &State) -> bool {
    state.selected_cell().is_some_and(|cell| cell.output.total() > super::panels::cells::SHORT_OUTPUT)
}

fn has_next_step(state: &State) -> bool {
    state.step + 1 < state.steps.len()
}

fn has_previous_step(state: &State) -> bool {
    state.step > 0 && state.steps.len() > 1
}

const fn row(context: C, keys: &'static [Chord], action: A, bar: Bar, help: &'static str) -> Binding {
    Binding { context, keys, action, bar, help }
}
