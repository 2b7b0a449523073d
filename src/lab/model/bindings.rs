//! The table of keys, and when its rows stand in the key bar.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::lab::model::actions::{
    Action, Action as A, CellAction as Cell, Choice, Context, Context as C, Edit, MachineAction as Machine,
    Way,
};
use crate::lab::model::bindings::Bar::{Always, By, Never, When};
use crate::lab::model::export_kind::What;
use crate::lab::model::item::{CellState, ItemState};
use crate::lab::model::keys::{Chord, Keymap, c, ctrl, f, key, names};
use crate::lab::model::machine::Section;
use crate::lab::model::output::SHORT_OUTPUT;
use crate::lab::model::state::{Pane, Popup, SessionStatus, State};

use KeyCode::{BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right};
use KeyCode::{Insert, Tab, Up};

/// When a binding stands in the key bar.
#[derive(Clone, Copy)]
pub enum Bar {
    Never,
    Always(&'static str),
    When(fn(&State) -> bool, &'static str),
    /// With a label that depends on what is selected.
    By(fn(&State) -> Option<&'static str>),
}

/// A row of the table.
pub struct Binding {
    pub context: Context,
    pub keys: &'static [Chord],
    pub action: Action,
    pub bar: Bar,
    pub help: &'static str,
}

/// Every key of the lab, the most wanted first in each context.
pub const BINDINGS: &[Binding] = &[
    row(C::Confirm, &[c('y'), key(Enter)], A::Yes, Always("yes"), "yes"),
    row(C::Confirm, &[c('n'), key(Esc), c('q')], A::No, Always("no"), "no"),
    row(C::Help, &[key(Esc), c('?'), c('q'), key(Enter)], A::Leave, Always("close"), "close this help"),
    row(
        C::Help,
        &[key(Tab)],
        A::OtherHelp,
        When(has_other_help, "keys or figures"),
        "the keys, or what the figures mean",
    ),
    row(C::Help, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(C::Help, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(C::Help, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(C::Help, &[key(PageDown)], A::PageDown, Never, "a page down"),
    row(C::Complete, &[key(Tab), key(Enter)], A::Choice(Choice::Accept), Always("take"), "take the name"),
    row(C::Complete, &[key(Down)], A::Choice(Choice::Next), Always("next"), "the next name"),
    row(C::Complete, &[key(Up)], A::Choice(Choice::Previous), Never, "the name before"),
    row(C::Complete, &[key(PageDown)], A::Choice(Choice::PageNext), Never, "further names"),
    row(C::Complete, &[key(PageUp)], A::Choice(Choice::PagePrevious), Never, "earlier names"),
    row(C::Complete, &[key(Esc)], A::Choice(Choice::Close), Always("close"), "close the list of names"),
    row(C::Picker, &[key(Enter), key(Tab)], A::Choice(Choice::Accept), Always("take"), "take what is chosen"),
    row(
        C::Picker,
        &[key(Down), ctrl(Char('n')), ctrl(Char('r'))],
        A::Choice(Choice::Next),
        Always("next"),
        "the next one",
    ),
    row(C::Picker, &[key(Up), ctrl(Char('p'))], A::Choice(Choice::Previous), Never, "the one before"),
    row(C::Picker, &[key(PageDown)], A::Choice(Choice::PageNext), Never, "a page further"),
    row(C::Picker, &[key(PageUp)], A::Choice(Choice::PagePrevious), Never, "a page back"),
    row(C::Picker, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of the search"),
    row(C::Picker, &[key(Esc), ctrl(Char('c'))], A::Choice(Choice::Close), Always("close"), "close the list"),
    row(
        C::Find,
        &[key(Enter), key(Down), ctrl(Char('f'))],
        A::Choice(Choice::Next),
        Always("next"),
        "the next place",
    ),
    row(C::Find, &[key(Up)], A::Choice(Choice::Previous), Always("before"), "the place before"),
    row(C::Find, &[key(Backspace)], A::Choice(Choice::Erase), Never, "take back a letter of what to find"),
    row(C::Find, &[key(Esc), key(Tab)], A::Choice(Choice::Close), Always("close"), "stay here and close"),
    row(
        C::Anywhere,
        &[ctrl(Char('c'))],
        A::Interrupt,
        When(State::is_busy, "interrupt"),
        "interrupt (twice: restart); copy the selection",
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
    row(C::Editor, &[ctrl(Char('y'))], A::Edit(Edit::Redo), Never, "redo"),
    row(C::Editor, &[key(Enter)], A::Edit(Edit::Newline), Never, "new line, indented"),
    row(C::Editor, &[key(Tab)], A::Edit(Edit::Tab), Always("complete"), "complete the name, or indent"),
    row(C::Editor, &[key(BackTab)], A::Edit(Edit::BackTab), Never, "help on the name, or indent less"),
    row(C::Editor, &[ctrl(Char(' '))], A::Complete, Never, "complete the name"),
    row(
        C::Editor,
        &[ctrl(Char('/')), ctrl(Char('7')), ctrl(Char('_'))],
        A::Edit(Edit::Comment),
        Never,
        "make a comment of the lines, or code again",
    ),
    row(C::Editor, &[ctrl(Char('f'))], A::Find, Never, "find in the cell"),
    row(C::Editor, &[ctrl(Char('x'))], A::Edit(Edit::Cut), Never, "cut what is selected, or the line"),
    row(
        C::Editor,
        &[alt('w'), ctrl(Insert)],
        A::Edit(Edit::Copy),
        Never,
        "copy what is selected, or the line",
    ),
    row(C::Editor, &[ctrl(Char('v'))], A::Edit(Edit::Paste), Never, "paste what was cut or copied here"),
    row(C::Editor, &[alt('a')], A::Edit(Edit::SelectAll), Never, "select all of the cell"),
    row(C::Editor, &[key(Backspace)], A::Edit(Edit::Backspace), Never, "delete before the cursor"),
    row(C::Editor, &[key(Delete), ctrl(Char('d'))], A::Edit(Edit::Delete), Never, "delete after the cursor"),
    row(C::Editor, &[ctrl(Char('k'))], A::Edit(Edit::DeleteToEnd), Never, "delete to the line's end"),
    row(
        C::Editor,
        &[ctrl(Char('w')), ctrl(Backspace), Chord(Backspace, KeyModifiers::ALT)],
        A::Edit(Edit::DeleteWord),
        Never,
        "delete back to the word's start",
    ),
    row(C::Editor, &[key(Left)], A::Edit(Edit::Go(Way::Left)), Never, "left"),
    row(C::Editor, &[key(Right)], A::Edit(Edit::Go(Way::Right)), Never, "right"),
    row(C::Editor, &[ctrl(Left)], A::Edit(Edit::Go(Way::WordLeft)), Never, "a word left"),
    row(C::Editor, &[ctrl(Right)], A::Edit(Edit::Go(Way::WordRight)), Never, "a word right"),
    row(C::Editor, &[key(Up)], A::Edit(Edit::Go(Way::Up)), Never, "up"),
    row(C::Editor, &[key(Down)], A::Edit(Edit::Go(Way::Down)), Never, "down"),
    row(C::Editor, &[key(PageUp)], A::Edit(Edit::Go(Way::PageUp)), Never, "ten lines up"),
    row(C::Editor, &[key(PageDown)], A::Edit(Edit::Go(Way::PageDown)), Never, "ten lines down"),
    row(C::Editor, &[key(Home), ctrl(Char('a'))], A::Edit(Edit::Go(Way::Home)), Never, "start of the line"),
    row(C::Editor, &[key(End), ctrl(Char('e'))], A::Edit(Edit::Go(Way::End)), Never, "end of the line"),
    row(C::Editor, &[ctrl(Home)], A::Edit(Edit::Go(Way::TextStart)), Never, "start of the cell"),
    row(C::Editor, &[ctrl(End)], A::Edit(Edit::Go(Way::TextEnd)), Never, "end of the cell"),
    row(C::Editor, &[shift(Left)], A::Edit(Edit::Extend(Way::Left)), Never, "select: left"),
    row(C::Editor, &[shift(Right)], A::Edit(Edit::Extend(Way::Right)), Never, "select: right"),
    row(
        C::Editor,
        &[Chord(Left, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::WordLeft)),
        Never,
        "select: a word left",
    ),
    row(
        C::Editor,
        &[Chord(Right, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::WordRight)),
        Never,
        "select: a word right",
    ),
    row(C::Editor, &[shift(Up)], A::Edit(Edit::Extend(Way::Up)), Never, "select: up"),
    row(C::Editor, &[shift(Down)], A::Edit(Edit::Extend(Way::Down)), Never, "select: down"),
    row(C::Editor, &[shift(PageUp)], A::Edit(Edit::Extend(Way::PageUp)), Never, "select: ten lines up"),
    row(C::Editor, &[shift(PageDown)], A::Edit(Edit::Extend(Way::PageDown)), Never, "select: ten lines down"),
    row(C::Editor, &[shift(Home)], A::Edit(Edit::Extend(Way::Home)), Never, "select: start of the line"),
    row(C::Editor, &[shift(End)], A::Edit(Edit::Extend(Way::End)), Never, "select: end of the line"),
    row(
        C::Editor,
        &[Chord(Home, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::TextStart)),
        Never,
        "select: start of the cell",
    ),
    row(
        C::Editor,
        &[Chord(End, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::TextEnd)),
        Never,
        "select: end of the cell",
    ),
    row(C::Cells, &[key(Up), c('k')], A::Up, Never, "select the item above"),
    row(C::Cells, &[key(Down), c('j')], A::Down, Never, "select the item below"),
    row(C::Cells, &[key(PageUp)], A::PageUp, Never, "scroll up"),
    row(C::Cells, &[key(PageDown)], A::PageDown, Never, "scroll down"),
    row(C::Cells, &[key(Home), c('g')], A::First, Never, "select the first item"),
    row(C::Cells, &[key(End), c('G')], A::Last, Never, "select the last item"),
    row(C::Cells, &[c('U')], A::RunAbove, Never, "run all cells above"),
    row(C::Cells, &[c('S')], A::RunStale, When(has_stale, "run stale"), "run what is stale"),
    row(C::Cells, &[c('A')], A::RunAnew, Never, "restart the session and run all cells"),
    row(C::Cells, &[c('V')], A::Verify, Never, "restart, run all, and compare the outputs"),
    row(
        C::Cells,
        &[c('o')],
        A::Cell(Cell::WholeOutput),
        When(has_long_output, "all output"),
        "show all of the output, or its ends",
    ),
    row(C::Cells, &[c('b')], A::Cell(Cell::AddBelow), Never, "add a cell below"),
    row(C::Cells, &[c('a')], A::Cell(Cell::AddAbove), Never, "add a cell above"),
    row(C::Cells, &[c('x')], A::Cell(Cell::CutCell), Never, "cut a cell that you added"),
    row(C::Cells, &[c('c')], A::Cell(Cell::CopyCell), Never, "copy the cell"),
    row(C::Cells, &[c('v')], A::Cell(Cell::PasteCell), Never, "paste the cell cut or copied last"),
    row(C::Cells, &[c('d')], A::Cell(Cell::DeleteCell), Never, "twice: delete a cell that you added"),
    row(C::Cells, &[c('z')], A::Cell(Cell::RestoreCell), Never, "bring back the cell deleted or cut last"),
    row(C::Cells, &[c('m')], A::Cell(Cell::Markdown), Never, "make text of the cell"),
    row(C::Cells, &[c('y')], A::Cell(Cell::Code), Never, "make code of the cell"),
    row(C::Lesson, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(C::Lesson, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(C::Lesson, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(C::Lesson, &[key(PageDown), c(' ')], A::PageDown, Never, "a page down"),
    row(C::Lesson, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(C::Lesson, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(C::MachineScreen, &[key(Esc)], A::MachineScreen, Always("back"), "back to the cells"),
    row(C::Machine, &[key(Right)], A::Machine(Machine::NextSection), Always("section"), "the next section"),
    row(C::Machine, &[key(Left)], A::Machine(Machine::PreviousSection), Never, "the section before"),
    row(C::Machine, &[key(Up), c('k')], A::Up, Always("pick"), "pick the row above"),
    row(C::Machine, &[key(Down), c('j')], A::Down, Never, "pick the row below"),
    row(
        C::Machine,
        &[key(Enter)],
        A::Machine(Machine::GoToLine),
        When(is_picked, "its line"),
        "go to the line that caused it",
    ),
    row(
        C::Machine,
        &[c('.')],
        A::Machine(Machine::NextEvent),
        When(on_timeline, "event"),
        "pick the next event of the lane",
    ),
    row(C::Machine, &[c(',')], A::Machine(Machine::PreviousEvent), Never, "pick the event before"),
    row(
        C::Machine,
        &[c('+'), c('=')],
        A::Machine(Machine::ZoomIn),
        When(on_timeline, "zoom"),
        "show half as much time",
    ),
    row(C::Machine, &[c('-')], A::Machine(Machine::ZoomOut), Never, "show twice as much time"),
    row(
        C::Machine,
        &[Chord(Right, KeyModifiers::SHIFT), c('L')],
        A::Machine(Machine::PanRight),
        Never,
        "later times",
    ),
    row(
        C::Machine,
        &[Chord(Left, KeyModifiers::SHIFT), c('H')],
        A::Machine(Machine::PanLeft),
        Never,
        "earlier times",
    ),
    row(
        C::Machine,
        &[c('f')],
        A::Machine(Machine::Fit),
        When(on_timeline, "fit"),
        "show what the last cell did",
    ),
    row(C::Machine, &[c('F')], A::Machine(Machine::FitAll), Never, "show all the time that is kept"),
    row(
        C::Machine,
        &[c('s')],
        A::Machine(Machine::Sort),
        When(on_tensors, "sort"),
        "sort the tensors by another column",
    ),
    row(
        C::Machine,
        &[c('z')],
        A::Machine(Machine::Scale),
        Always("scale"),
        "bars of the whole memory, or of the part in use",
    ),
    row(C::Machine, &[c('u')], A::Machine(Machine::Unpick), Never, "pick nothing"),
    row(C::Machine, &[c('t')], A::Export(What::Trace), Never, "write a Chrome trace (opens in Perfetto)"),
    row(C::Machine, &[c('e')], A::Export(What::Lines), Never, "write all events as JSON lines"),
    row(
        C::Machine,
        &[c('m')],
        A::Export(What::Snapshot),
        Never,
        "write a snapshot for PyTorch's memory viewer",
    ),
    row(C::Machine, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(C::Machine, &[key(PageDown)], A::PageDown, Never, "a page down"),
    row(C::Machine, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(C::Machine, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(
        C::MachineScreen,
        &[c(']')],
        A::Machine(Machine::NextCell),
        When(has_cells, "cell"),
        "select the next cell: its events are marked",
    ),
    row(C::MachineScreen, &[c('[')], A::Machine(Machine::PreviousCell), Never, "select the cell before"),
    row(C::MachineScreen, &[key(Tab)], A::Machine(Machine::NextSection), Never, "the next section"),
    row(C::MachineScreen, &[key(BackTab)], A::Machine(Machine::PreviousSection), Never, "the section before"),
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
    row(C::Home, &[ctrl(Char('p'))], A::Palette, Never, "every action, by its name"),
    row(C::Home, &[c('?')], A::Help, Always("help"), "this help"),
    row(C::Prompt, &[key(Enter)], A::CommitPath, Always("open"), "open the file, or begin it"),
    row(C::Prompt, &[key(Esc)], A::Leave, Always("leave"), "leave the path"),
    row(C::Prompt, &[key(Backspace)], A::PathBackspace, Never, "delete the last character"),
    row(C::Anywhere, &[ctrl(Char('p'))], A::Palette, Never, "every action, by its name"),
    row(C::Anywhere, &[ctrl(Char('r'))], A::Past, Never, "search the cells run before"),
    row(C::Anywhere, &[alt('p')], A::Python, Never, "the same code in Python beside it"),
    row(C::Anywhere, &[alt('h')], A::Doc, Never, "help on the name at the cursor"),
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

impl Keymap {
    /// Each row of the table with its keys.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Binding, &[Chord])> {
        let rows = BINDINGS.iter().enumerate();
        rows.map(|(row, binding)| (binding, self.set.get(&row).map_or(binding.keys, Vec::as_slice)))
    }

    /// Gives a row other keys.
    pub fn set(&mut self, row: usize, keys: Vec<Chord>) {
        if BINDINGS.get(row).is_some_and(|binding| binding.keys == keys) {
            self.set.remove(&row);
        } else {
            self.set.insert(row, keys);
        }
    }
}

impl Binding {
    /// Its first key, as the key bar has it; `None` where it has none.
    pub(crate) fn short_name(&self, keys: &[Chord]) -> Option<String> {
        let first = keys.first()?;
        Some(match self.action {
            A::Up if *first == key(Up) => "↑↓".into(),
            A::Machine(Machine::NextSection) if *first == key(Right) => "←→".into(),
            A::Machine(Machine::NextEvent) if *first == c('.') => ", .".into(),
            A::Machine(Machine::ZoomIn) if *first == c('+') => "+ -".into(),
            A::Machine(Machine::NextCell) if *first == c(']') => "[ ]".into(),
            A::Choose => names(keys),
            _ => first.name(),
        })
    }
}

fn has_other_help(state: &State) -> bool {
    matches!(state.popup, Some(Popup::Help(_) | Popup::Glossary(_)))
}

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

fn has_stale(state: &State) -> bool {
    state.cells().any(|cell| cell.stale.is_some())
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
    state.selected_cell().is_some_and(|cell| cell.output.total() > SHORT_OUTPUT)
}

fn has_next_step(state: &State) -> bool {
    state.step + 1 < state.steps.len()
}

fn has_previous_step(state: &State) -> bool {
    state.step > 0 && state.steps.len() > 1
}

const CTRL_SHIFT: KeyModifiers = KeyModifiers::CONTROL.union(KeyModifiers::SHIFT);

const fn shift(code: KeyCode) -> Chord {
    Chord(code, KeyModifiers::SHIFT)
}

const fn alt(letter: char) -> Chord {
    Chord(Char(letter), KeyModifiers::ALT)
}

const fn row(context: C, keys: &'static [Chord], action: A, bar: Bar, help: &'static str) -> Binding {
    Binding { context, keys, action, bar, help }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::actions::TOGETHER;

    #[test]
    fn no_key_means_two_things_at_once() {
        for contexts in TOGETHER {
            let mut seen = std::collections::HashMap::new();
            for binding in BINDINGS.iter().filter(|b| contexts.contains(&b.context)) {
                for chord in binding.keys {
                    if let Some(other) = seen.insert(chord.name(), binding.help) {
                        panic!("{} is both {other:?} and {:?} in {contexts:?}", chord.name(), binding.help);
                    }
                }
            }
        }
    }

    #[test]
    fn typing_keys_stay_free_for_typing() {
        for binding in
            BINDINGS.iter().filter(|b| matches!(b.context, C::Editor | C::Answer | C::Prompt | C::Anywhere))
        {
            for Chord(code, modifiers) in binding.keys {
                assert!(!matches!(code, Char(_)) || !modifiers.is_empty(), "{}", binding.help);
            }
        }
    }
}
