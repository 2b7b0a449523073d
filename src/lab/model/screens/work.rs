//! The keys of what is open: its panes, and typing in it.

use crossterm::event::{KeyCode, KeyModifiers};

use KeyCode::{
    BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, Home, Insert, Left, PageDown, PageUp, Right,
    Tab, Up,
};

use crate::lab::model::actions::{Action as A, CellAction as Cell, Edit, MachineAction as Machine, Way};
use crate::lab::model::binding::Bar::{Always, ByItem, Never, When};
use crate::lab::model::binding::{Binding, CTRL_SHIFT, Condition, alt, row, shift};
use crate::lab::model::context::{ALWAYS, ANYWHERE, BROWSE, Context};
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
    contexts: &[&ANYWHERE, &BROWSE, &CELLS, &LESSON, &ALWAYS],
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

/// They choose among the answers of a quiz.
const DIGITS: [Chord; 9] = [c('1'), c('2'), c('3'), c('4'), c('5'), c('6'), c('7'), c('8'), c('9')];

/// Those of other screens stand behind them.
const FIRST: &[Binding] = &[
    row(
        &ANYWHERE,
        &[ctrl(Char('c'))],
        A::Interrupt,
        When(Condition::Busy, "interrupt"),
        "interrupt (twice: restart); copy the selection",
    )
    .weighs(98),
    row(
        &BROWSE,
        &[c('r')],
        A::Restart,
        When(Condition::Dead, "restart"),
        "restart the session (text and outputs stay)",
    )
    .weighs(97),
    row(&CELLS, &[key(Enter)], A::Enter, ByItem, "edit the cell, or answer the question").weighs(96),
    row(&CELLS, &DIGITS, A::Choose, When(Condition::Quiz, "choose"), "choose an answer of a quiz").weighs(96),
    row(
        &CELLS,
        &[c('s')],
        A::Skip,
        When(Condition::Skippable, "skip"),
        "skip a prediction, a quiz or an exercise",
    )
    .weighs(90),
    row(
        &CELLS,
        &[c('B')],
        A::LessonText,
        When(Condition::Changed, "lesson's text"),
        "put the lesson's text back",
    )
    .weighs(92),
    row(&CELLS, &[c('h')], A::Hint, ByItem, "show the next hint, then a solution").weighs(93),
    row(&EDITOR, &[key(Esc)], A::Leave, Always("leave"), "leave the cell").weighs(90),
    row(&ANSWER, &[key(Enter)], A::Commit, Always("commit"), "commit the number").weighs(97),
    row(&ANSWER, &[key(Esc)], A::Leave, Always("leave"), "leave the question").weighs(96),
    row(&ANSWER, &[key(Backspace)], A::Edit(Edit::Backspace), Never, "delete the last character"),
    row(&ANSWER, &[ctrl(Char('u'))], A::Edit(Edit::DeleteAll), Never, "begin the number anew"),
    row(
        &ANYWHERE,
        &[f(5), Chord(Enter, KeyModifiers::CONTROL)],
        A::Run,
        When(Condition::Code, "run"),
        "run the cell",
    )
    .weighs(95),
    row(
        &ANYWHERE,
        &[Chord(Enter, KeyModifiers::SHIFT), Chord(Enter, KeyModifiers::ALT)],
        A::RunAndGo,
        When(Condition::Cell, "run, go on"),
        "run the cell and go to the next",
    )
    .weighs(46),
    row(&EDITOR, &[ctrl(Char('z'))], A::Edit(Edit::Undo), Always("undo"), "undo").weighs(60),
    row(&EDITOR, &[ctrl(Char('y'))], A::Edit(Edit::Redo), Never, "redo"),
    row(&EDITOR, &[key(Enter)], A::Edit(Edit::Newline), Never, "new line, indented"),
    row(&EDITOR, &[key(Tab)], A::Edit(Edit::Tab), Always("complete"), "complete the name, or indent")
        .weighs(80),
    row(&EDITOR, &[key(BackTab)], A::Edit(Edit::BackTab), Never, "help on the name, or indent less"),
    row(&EDITOR, &[ctrl(Char(' '))], A::Complete, Never, "complete the name"),
    row(
        &EDITOR,
        &[ctrl(Char('/')), ctrl(Char('7')), ctrl(Char('_'))],
        A::Edit(Edit::Comment),
        Always("comment"),
        "make a comment of the lines, or code again",
    )
    .weighs(48),
    row(&EDITOR, &[ctrl(Char('f'))], A::Find, Always("find"), "find in all cells").weighs(58),
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
    row(&CELLS, &[c('U')], A::RunAbove, When(Condition::Cell, "run above"), "run all cells above").weighs(30),
    row(&CELLS, &[c('S')], A::RunStale, When(Condition::Stale, "run stale"), "run what is stale").weighs(84),
    row(
        &CELLS,
        &[c('A')],
        A::RunAnew,
        When(Condition::Idle, "run anew"),
        "restart the session and run all cells",
    )
    .weighs(34),
    row(
        &CELLS,
        &[c('V')],
        A::Verify,
        When(Condition::Idle, "verify"),
        "restart, run all, and compare the outputs",
    )
    .weighs(36),
    row(
        &CELLS,
        &[c('o')],
        A::Cell(Cell::WholeOutput),
        When(Condition::LongOutput, "all output"),
        "show all of the output, or its ends",
    )
    .weighs(82),
    row(&CELLS, &[c('b')], A::Cell(Cell::AddBelow), Always("add below"), "add a cell below").weighs(92),
    row(&CELLS, &[c('a')], A::Cell(Cell::AddAbove), Always("add above"), "add a cell above").weighs(40),
    row(
        &CELLS,
        &[c('x')],
        A::Cell(Cell::CutCell),
        When(Condition::OwnCell, "cut"),
        "cut a cell that you added",
    )
    .weighs(37),
    row(&CELLS, &[c('c')], A::Cell(Cell::CopyCell), When(Condition::Cell, "copy"), "copy the cell")
        .weighs(35),
    row(
        &CELLS,
        &[c('C')],
        A::Cell(Cell::CopyOutput),
        When(Condition::Output, "copy output"),
        "copy what the cell has shown",
    )
    .weighs(34),
    row(
        &CELLS,
        &[c('v')],
        A::Cell(Cell::PasteCell),
        When(Condition::Clipboard, "paste"),
        "paste the cell cut or copied last",
    )
    .weighs(33),
    row(
        &CELLS,
        &[c('d')],
        A::Cell(Cell::DeleteCell),
        When(Condition::OwnCell, "delete"),
        "twice: delete a cell that you added",
    )
    .weighs(44),
    row(
        &CELLS,
        &[c('z')],
        A::Cell(Cell::UndoCells),
        When(Condition::TakenAway, "undo"),
        "undo a cut, delete, move, split or merge",
    )
    .weighs(57),
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
    row(&CELLS, &[c('/'), ctrl(Char('f'))], A::Find, Always("find"), "find in all cells").weighs(47),
    row(
        &CELLS,
        &[c('m')],
        A::Cell(Cell::Markdown),
        When(Condition::OwnCell, "to text"),
        "make text of the cell",
    )
    .weighs(32),
    row(&CELLS, &[c('y')], A::Cell(Cell::Code), Never, "make code of the cell"),
    row(&LESSON, &[key(Enter)], A::Enter, ByItem, "edit the cell, or answer the question").weighs(96),
    row(&LESSON, &DIGITS, A::Choose, When(Condition::Quiz, "choose"), "choose an answer of a quiz")
        .weighs(96),
    row(
        &LESSON,
        &[c('s')],
        A::Skip,
        When(Condition::Skippable, "skip"),
        "skip a prediction, a quiz or an exercise",
    )
    .weighs(90),
    row(&LESSON, &[c('h')], A::Hint, ByItem, "show the next hint, then a solution").weighs(93),
    row(&LESSON, &[key(Up), c('k')], A::Up, Always("scroll"), "scroll up").weighs(91),
    row(&LESSON, &[key(Down), c('j')], A::Down, Never, "scroll down"),
    row(&LESSON, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(&LESSON, &[key(PageDown), c(' ')], A::PageDown, Always("page"), "a page down").weighs(56),
    row(&LESSON, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(&LESSON, &[key(End), c('G')], A::Last, Never, "to the end"),
];

/// Those that lead to other screens stand behind them.
const WAYS: &[Binding] = &[
    row(&ANYWHERE, &[ctrl(Char('p'))], A::Palette, Always("actions"), "every action, by its name").weighs(80),
    row(&ANYWHERE, &[ctrl(Char('r'))], A::Past, Always("history"), "search the cells run before").weighs(42),
    row(&ANYWHERE, &[alt('p')], A::Python, Always("Python"), "the same code in Python beside it").weighs(41),
    row(
        &ANYWHERE,
        &[alt('e')],
        A::Machine(Machine::EventsOfLine),
        Never,
        "the machine's events of the line at the cursor",
    ),
    row(
        &ANYWHERE,
        &[alt('h')],
        A::Doc,
        When(Condition::Typing, "about a name"),
        "help on the name at the cursor",
    )
    .weighs(54),
    row(
        &BROWSE,
        &[c('n')],
        A::NextStep,
        When(Condition::NextStep, "next step"),
        "next step, or behind the last the next lesson",
    )
    .weighs(94),
    row(&BROWSE, &[c('p')], A::PreviousStep, When(Condition::PreviousStep, "previous"), "previous step")
        .weighs(58),
    row(&BROWSE, &[c('T')], A::Steps, When(Condition::Steps, "steps"), "list the steps of the lesson")
        .weighs(56),
    row(&BROWSE, &[key(Tab)], A::NextPane, Always("pane"), "next pane").weighs(64),
    row(&BROWSE, &[key(BackTab)], A::PreviousPane, Never, "previous pane"),
    row(&BROWSE, &[c('R')], A::RunAll, When(Condition::Idle, "run all"), "run all cells of the step")
        .weighs(72),
    row(&ANYWHERE, &[f(1)], A::Show(Pane::Lesson), Never, "the lesson"),
    row(&ANYWHERE, &[f(2)], A::Show(Pane::Cells), Never, "the cells"),
    row(&ANYWHERE, &[f(3)], A::Show(Pane::Machine), Never, "the machine"),
    row(&ANYWHERE, &[f(4)], A::Maximise, Always("one pane"), "this pane alone, or all again").weighs(39),
];

/// What is wanted least, behind the ways to all screens.
pub(in crate::lab::model) const LAST: &[Binding] = &[
    row(&BROWSE, &[c('>')], A::Wider, Never, "make the pane wider"),
    row(&BROWSE, &[c('<')], A::Narrower, Never, "make the pane narrower"),
    row(&ANYWHERE, &[ctrl(Char('s'))], A::Save, When(Condition::File, "save"), "save").weighs(66),
    row(&ANYWHERE, &[alt('s')], A::SaveAs, Never, "save under another name"),
    row(&ANYWHERE, &[alt('d')], A::OtherDevices, Never, "go on with other devices"),
    row(&ANYWHERE, &[alt('r')], A::Differences, Never, "how the file differs; reload it"),
    row(&ANYWHERE, &[f(8)], A::Messages, Never, "all messages"),
    row(&ALWAYS, &[ctrl(Char('l'))], A::Redraw, Never, "draw the whole screen again"),
    row(&BROWSE, &[c('q')], A::Quit, Always("quit"), "quit").weighs(75),
    row(&ANYWHERE, &[ctrl(Char('q'))], A::Quit, Always("quit"), "quit").weighs(52),
    row(&BROWSE, &[c('?')], A::Help, Always("help"), "this help; on the machine, its figures"),
    row(&ANYWHERE, &[f(12)], A::Help, Always("keys"), "the same, while typing as well"),
];
