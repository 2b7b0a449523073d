//! The keys of what is open: its panes, and typing in it.

use crossterm::event::{KeyCode, KeyModifiers};

use KeyCode::{
    BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, Home, Insert, Left, PageDown, PageUp, Right,
    Tab, Up,
};

use crate::lab::model::actions::{Action as A, CellAction as Cell, Edit, MachineAction as Machine, Way};
use crate::lab::model::binding::Bar::{Always, ByItem, Never, When};
use crate::lab::model::binding::{Binding, CTRL_SHIFT, Condition, alt, row, shift};
use crate::lab::model::context::{ANYWHERE, BROWSE, Context};
use crate::lab::model::keys::{Chord, c, ctrl, f, key};
use crate::lab::model::pane::Pane;
use crate::lab::model::popups::COMPLETE;
use crate::lab::model::screens::keys::ScreenKeys;
use crate::lab::model::screens::machine::MACHINE;

pub(crate) const LESSON: Context = Context {
    name: Some("lesson"),
    heading: Some("Lesson"),
    section: Some("lesson"),
    pane: Some(Pane::Lesson),
    ..Context::new("Lesson")
};

pub(crate) const CELLS: Context = Context {
    name: Some("cells"),
    heading: Some("Cells"),
    section: Some("cells"),
    pane: Some(Pane::Cells),
    ..Context::new("Cells")
};

/// While typing in a cell.
pub(crate) const EDITOR: Context = Context {
    name: Some("editor"),
    heading: Some("Typing in a cell"),
    section: Some("edit"),
    typed: true,
    ..Context::new("Editor")
};

/// While typing a prediction.
pub(crate) const ANSWER: Context =
    Context { name: Some("answer"), heading: Some("Typing a number"), typed: true, ..Context::new("Answer") };

pub(super) const KEYS: ScreenKeys = ScreenKeys {
    contexts: &[&ANYWHERE, &BROWSE, &CELLS, &LESSON],
    together: &[
        &[&LESSON, &BROWSE, &ANYWHERE],
        &[&CELLS, &BROWSE, &ANYWHERE],
        &[&MACHINE, &BROWSE, &ANYWHERE],
        &[&EDITOR, &ANYWHERE],
        &[&ANSWER, &ANYWHERE],
        &[&COMPLETE, &ANYWHERE],
    ],
    rows: FIRST,
    ways: WAYS,
};

/// Those of other screens stand behind them.
const FIRST: &[Binding] = &[
    row(
        &ANYWHERE,
        &[ctrl(Char('c'))],
        A::Interrupt,
        When(Condition::Busy, "interrupt"),
        "interrupt (twice: restart); copy the selection",
    ),
    row(
        &BROWSE,
        &[c('r')],
        A::Restart,
        When(Condition::Dead, "restart"),
        "restart the session (text and outputs stay)",
    ),
    row(&CELLS, &[key(Enter)], A::Enter, ByItem, "edit the cell, or answer the question"),
    row(
        &CELLS,
        &[c('1'), c('2'), c('3'), c('4'), c('5'), c('6'), c('7'), c('8'), c('9')],
        A::Choose,
        When(Condition::Quiz, "choose"),
        "choose an answer of a quiz",
    ),
    row(&CELLS, &[c('s')], A::Skip, When(Condition::Prediction, "skip"), "skip a prediction"),
    row(&CELLS, &[c('h')], A::Hint, When(Condition::Hint, "hint"), "show the next hint"),
    row(&EDITOR, &[key(Esc)], A::Leave, Always("leave"), "leave the cell"),
    row(&ANSWER, &[key(Enter)], A::Commit, Always("commit"), "commit the number"),
    row(&ANSWER, &[key(Esc)], A::Leave, Always("leave"), "leave the question"),
    row(&ANSWER, &[key(Backspace)], A::Edit(Edit::Backspace), Never, "delete the last character"),
    row(
        &ANYWHERE,
        &[f(5), Chord(Enter, KeyModifiers::CONTROL)],
        A::Run,
        When(Condition::Cell, "run"),
        "run the cell",
    ),
    row(
        &ANYWHERE,
        &[Chord(Enter, KeyModifiers::SHIFT), Chord(Enter, KeyModifiers::ALT)],
        A::RunAndGo,
        Never,
        "run the cell and go to the next",
    ),
    row(&EDITOR, &[ctrl(Char('z'))], A::Edit(Edit::Undo), Always("undo"), "undo"),
    row(&EDITOR, &[ctrl(Char('y'))], A::Edit(Edit::Redo), Never, "redo"),
    row(&EDITOR, &[key(Enter)], A::Edit(Edit::Newline), Never, "new line, indented"),
    row(&EDITOR, &[key(Tab)], A::Edit(Edit::Tab), Always("complete"), "complete the name, or indent"),
    row(&EDITOR, &[key(BackTab)], A::Edit(Edit::BackTab), Never, "help on the name, or indent less"),
    row(&EDITOR, &[ctrl(Char(' '))], A::Complete, Never, "complete the name"),
    row(
        &EDITOR,
        &[ctrl(Char('/')), ctrl(Char('7')), ctrl(Char('_'))],
        A::Edit(Edit::Comment),
        Never,
        "make a comment of the lines, or code again",
    ),
    row(&EDITOR, &[ctrl(Char('f'))], A::Find, Never, "find in all cells"),
    row(&EDITOR, &[alt('x')], A::Cell(Cell::Split), Never, "split the cell at the cursor"),
    row(&EDITOR, &[alt('j')], A::Cell(Cell::Merge), Never, "merge the cell with the one below"),
    row(&EDITOR, &[Chord(Up, KeyModifiers::ALT)], A::Cell(Cell::MoveUp), Never, "move the cell up"),
    row(&EDITOR, &[Chord(Down, KeyModifiers::ALT)], A::Cell(Cell::MoveDown), Never, "move the cell down"),
    row(&EDITOR, &[ctrl(Char('x'))], A::Edit(Edit::Cut), Never, "cut what is selected, or the line"),
    row(&EDITOR, &[alt('w'), ctrl(Insert)], A::Edit(Edit::Copy), Never, "copy what is selected, or the line"),
    row(&EDITOR, &[ctrl(Char('v'))], A::Edit(Edit::Paste), Never, "paste what was cut or copied here"),
    row(&EDITOR, &[alt('a')], A::Edit(Edit::SelectAll), Never, "select all of the cell"),
    row(&EDITOR, &[key(Backspace)], A::Edit(Edit::Backspace), Never, "delete before the cursor"),
    row(&EDITOR, &[key(Delete), ctrl(Char('d'))], A::Edit(Edit::Delete), Never, "delete after the cursor"),
    row(&EDITOR, &[ctrl(Char('k'))], A::Edit(Edit::DeleteToEnd), Never, "delete to the line's end"),
    row(
        &EDITOR,
        &[ctrl(Char('w')), ctrl(Backspace), Chord(Backspace, KeyModifiers::ALT)],
        A::Edit(Edit::DeleteWord),
        Never,
        "delete back to the word's start",
    ),
    row(&EDITOR, &[key(Left)], A::Edit(Edit::Go(Way::Left)), Never, "left"),
    row(&EDITOR, &[key(Right)], A::Edit(Edit::Go(Way::Right)), Never, "right"),
    row(&EDITOR, &[ctrl(Left)], A::Edit(Edit::Go(Way::WordLeft)), Never, "a word left"),
    row(&EDITOR, &[ctrl(Right)], A::Edit(Edit::Go(Way::WordRight)), Never, "a word right"),
    row(&EDITOR, &[key(Up)], A::Edit(Edit::Go(Way::Up)), Never, "up"),
    row(&EDITOR, &[key(Down)], A::Edit(Edit::Go(Way::Down)), Never, "down"),
    row(&EDITOR, &[key(PageUp)], A::Edit(Edit::Go(Way::PageUp)), Never, "ten lines up"),
    row(&EDITOR, &[key(PageDown)], A::Edit(Edit::Go(Way::PageDown)), Never, "ten lines down"),
    row(&EDITOR, &[key(Home), ctrl(Char('a'))], A::Edit(Edit::Go(Way::Home)), Never, "start of the line"),
    row(&EDITOR, &[key(End), ctrl(Char('e'))], A::Edit(Edit::Go(Way::End)), Never, "end of the line"),
    row(&EDITOR, &[ctrl(Home)], A::Edit(Edit::Go(Way::TextStart)), Never, "start of the cell"),
    row(&EDITOR, &[ctrl(End)], A::Edit(Edit::Go(Way::TextEnd)), Never, "end of the cell"),
    row(&EDITOR, &[shift(Left)], A::Edit(Edit::Extend(Way::Left)), Never, "select: left"),
    row(&EDITOR, &[shift(Right)], A::Edit(Edit::Extend(Way::Right)), Never, "select: right"),
    row(
        &EDITOR,
        &[Chord(Left, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::WordLeft)),
        Never,
        "select: a word left",
    ),
    row(
        &EDITOR,
        &[Chord(Right, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::WordRight)),
        Never,
        "select: a word right",
    ),
    row(&EDITOR, &[shift(Up)], A::Edit(Edit::Extend(Way::Up)), Never, "select: up"),
    row(&EDITOR, &[shift(Down)], A::Edit(Edit::Extend(Way::Down)), Never, "select: down"),
    row(&EDITOR, &[shift(PageUp)], A::Edit(Edit::Extend(Way::PageUp)), Never, "select: ten lines up"),
    row(&EDITOR, &[shift(PageDown)], A::Edit(Edit::Extend(Way::PageDown)), Never, "select: ten lines down"),
    row(&EDITOR, &[shift(Home)], A::Edit(Edit::Extend(Way::Home)), Never, "select: start of the line"),
    row(&EDITOR, &[shift(End)], A::Edit(Edit::Extend(Way::End)), Never, "select: end of the line"),
    row(
        &EDITOR,
        &[Chord(Home, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::TextStart)),
        Never,
        "select: start of the cell",
    ),
    row(
        &EDITOR,
        &[Chord(End, CTRL_SHIFT)],
        A::Edit(Edit::Extend(Way::TextEnd)),
        Never,
        "select: end of the cell",
    ),
    row(&CELLS, &[key(Up), c('k')], A::Up, Never, "select the item above"),
    row(&CELLS, &[key(Down), c('j')], A::Down, Never, "select the item below"),
    row(&CELLS, &[key(PageUp)], A::PageUp, Never, "scroll up"),
    row(&CELLS, &[key(PageDown)], A::PageDown, Never, "scroll down"),
    row(&CELLS, &[key(Home), c('g')], A::First, Never, "select the first item"),
    row(&CELLS, &[key(End), c('G')], A::Last, Never, "select the last item"),
    row(&CELLS, &[c('U')], A::RunAbove, Never, "run all cells above"),
    row(&CELLS, &[c('S')], A::RunStale, When(Condition::Stale, "run stale"), "run what is stale"),
    row(&CELLS, &[c('A')], A::RunAnew, Never, "restart the session and run all cells"),
    row(&CELLS, &[c('V')], A::Verify, Never, "restart, run all, and compare the outputs"),
    row(
        &CELLS,
        &[c('o')],
        A::Cell(Cell::WholeOutput),
        When(Condition::LongOutput, "all output"),
        "show all of the output, or its ends",
    ),
    row(&CELLS, &[c('b')], A::Cell(Cell::AddBelow), Never, "add a cell below"),
    row(&CELLS, &[c('a')], A::Cell(Cell::AddAbove), Never, "add a cell above"),
    row(&CELLS, &[c('x')], A::Cell(Cell::CutCell), Never, "cut a cell that you added"),
    row(&CELLS, &[c('c')], A::Cell(Cell::CopyCell), Never, "copy the cell"),
    row(&CELLS, &[c('v')], A::Cell(Cell::PasteCell), Never, "paste the cell cut or copied last"),
    row(&CELLS, &[c('d')], A::Cell(Cell::DeleteCell), Never, "twice: delete a cell that you added"),
    row(&CELLS, &[c('z')], A::Cell(Cell::UndoCells), Never, "undo a cut, delete, move, split or merge"),
    row(&CELLS, &[c('K'), Chord(Up, KeyModifiers::ALT)], A::Cell(Cell::MoveUp), Never, "move the cell up"),
    row(
        &CELLS,
        &[c('J'), Chord(Down, KeyModifiers::ALT)],
        A::Cell(Cell::MoveDown),
        Never,
        "move the cell down",
    ),
    row(&CELLS, &[alt('x')], A::Cell(Cell::Split), Never, "split the cell at the cursor"),
    row(&CELLS, &[c('M'), alt('j')], A::Cell(Cell::Merge), Never, "merge the cell with the one below"),
    row(&CELLS, &[c('/'), ctrl(Char('f'))], A::Find, Never, "find in all cells"),
    row(&CELLS, &[c('m')], A::Cell(Cell::Markdown), Never, "make text of the cell"),
    row(&CELLS, &[c('y')], A::Cell(Cell::Code), Never, "make code of the cell"),
    row(&LESSON, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up"),
    row(&LESSON, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(&LESSON, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(&LESSON, &[key(PageDown), c(' ')], A::PageDown, Never, "a page down"),
    row(&LESSON, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(&LESSON, &[key(End), c('G')], A::Last, Never, "to the end"),
];

/// Those that lead to other screens stand behind them.
const WAYS: &[Binding] = &[
    row(&ANYWHERE, &[ctrl(Char('p'))], A::Palette, Never, "every action, by its name"),
    row(&ANYWHERE, &[ctrl(Char('r'))], A::Past, Never, "search the cells run before"),
    row(&ANYWHERE, &[alt('p')], A::Python, Never, "the same code in Python beside it"),
    row(
        &ANYWHERE,
        &[alt('e')],
        A::Machine(Machine::EventsOfLine),
        Never,
        "the machine's events of the line at the cursor",
    ),
    row(&ANYWHERE, &[alt('h')], A::Doc, Never, "help on the name at the cursor"),
    row(&BROWSE, &[c('n')], A::NextStep, When(Condition::NextStep, "next step"), "next step"),
    row(&BROWSE, &[c('p')], A::PreviousStep, When(Condition::PreviousStep, "previous"), "previous step"),
    row(&BROWSE, &[key(Tab)], A::NextPane, Always("pane"), "next pane"),
    row(&BROWSE, &[key(BackTab)], A::PreviousPane, Never, "previous pane"),
    row(&BROWSE, &[c('R')], A::RunAll, When(Condition::Idle, "run all"), "run all cells of the step"),
    row(&ANYWHERE, &[f(1)], A::Show(Pane::Lesson), Never, "the lesson"),
    row(&ANYWHERE, &[f(2)], A::Show(Pane::Cells), Never, "the cells"),
    row(&ANYWHERE, &[f(3)], A::Show(Pane::Machine), Never, "the machine"),
    row(&ANYWHERE, &[f(4)], A::Maximise, Never, "this pane alone, or all again"),
];

/// What is wanted least, behind the ways to all screens.
pub(in crate::lab::model) const LAST: &[Binding] = &[
    row(&BROWSE, &[c('>')], A::Wider, Never, "make the pane wider"),
    row(&BROWSE, &[c('<')], A::Narrower, Never, "make the pane narrower"),
    row(&ANYWHERE, &[ctrl(Char('s'))], A::Save, When(Condition::Unsaved, "save"), "save"),
    row(&ANYWHERE, &[alt('s')], A::SaveAs, Never, "save under another name"),
    row(&ANYWHERE, &[alt('r')], A::Differences, Never, "how the file differs; reload it"),
    row(&ANYWHERE, &[f(8)], A::Messages, Never, "all messages"),
    row(&BROWSE, &[c('q')], A::Quit, Always("quit"), "quit"),
    row(&ANYWHERE, &[ctrl(Char('q'))], A::Quit, Never, "quit"),
    row(&BROWSE, &[c('?')], A::Help, Always("help"), "this help; on the machine, its figures"),
];
