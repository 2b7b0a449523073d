//! The keys of the machine, as a pane and as a screen of its own.

use crossterm::event::{KeyCode, KeyModifiers};

use KeyCode::{BackTab, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

use crate::lab::model::actions::{Action as A, MachineAction as Machine, OwnAction};
use crate::lab::model::binding::Bar::{Always, Never, When};
use crate::lab::model::binding::{Binding, Condition, row};
use crate::lab::model::context::{ANYWHERE, Context, Together};
use crate::lab::model::export_kind::What;
use crate::lab::model::keys::{Chord, c, f, key};
use crate::lab::model::machine::Section;
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::keys::ScreenKeys;

/// In the pane and on the screen.
pub(crate) const MACHINE: Context = Context {
    name: Some("machine"),
    heading: Some("Machine"),
    section: Some("machine"),
    pane: Some(Pane::Machine),
    ..Context::new("Machine")
};

/// While the machine fills the terminal.
pub(crate) const MACHINE_SCREEN: Context = Context {
    name: Some("machine-screen"),
    heading: Some("Machine, full-screen"),
    section: Some("machine, full-screen"),
    ..Context::new("MachineScreen")
};

/// This screen, or back.
pub(crate) const SHOW: OwnAction = OwnAction("machine-screen");

/// The contexts that hold on the screen.
pub(super) const HOLDING: Together = &[&MACHINE_SCREEN, &MACHINE, &ANYWHERE];

pub(super) const KEYS: ScreenKeys =
    ScreenKeys { contexts: &[&MACHINE, &MACHINE_SCREEN], together: &[HOLDING], rows: ROWS, ways: WAYS };

const WAYS: &[Binding] =
    &[row(&ANYWHERE, &[f(6)], A::Own(SHOW), Always("machine"), "the machine, full-screen, or back")
        .weighs(68)];

const ROWS: &[Binding] = &[
    row(&MACHINE_SCREEN, &[key(Esc)], A::Own(SHOW), Always("back"), "back to the cells").weighs(95),
    row(&MACHINE, &[key(Right)], A::Machine(Machine::NextSection), Always("section"), "the next section")
        .weighs(90),
    row(&MACHINE, &[key(Left)], A::Machine(Machine::PreviousSection), Never, "the section before"),
    row(&MACHINE, &[key(Up), c('k')], A::Up, Always("pick"), "pick the row above").weighs(84),
    row(&MACHINE, &[key(Down), c('j')], A::Down, Never, "pick the row below"),
    row(
        &MACHINE,
        &[key(Enter)],
        A::Machine(Machine::GoToLine),
        When(Condition::Picked, "its line"),
        "go to the line that caused it",
    )
    .weighs(93),
    row(
        &MACHINE,
        &[c('.')],
        A::Machine(Machine::NextEvent),
        When(Condition::Section(Section::Timeline), "event"),
        "pick the next event of the lane",
    )
    .weighs(82),
    row(&MACHINE, &[c(',')], A::Machine(Machine::PreviousEvent), Never, "pick the event before"),
    row(
        &MACHINE,
        &[c('+'), c('=')],
        A::Machine(Machine::ZoomIn),
        When(Condition::Section(Section::Timeline), "zoom"),
        "show half as much time",
    )
    .weighs(80),
    row(&MACHINE, &[c('-')], A::Machine(Machine::ZoomOut), Never, "show twice as much time"),
    row(
        &MACHINE,
        &[Chord(Right, KeyModifiers::SHIFT), c('L')],
        A::Machine(Machine::PanRight),
        Never,
        "later times",
    ),
    row(
        &MACHINE,
        &[Chord(Left, KeyModifiers::SHIFT), c('H')],
        A::Machine(Machine::PanLeft),
        Never,
        "earlier times",
    ),
    row(
        &MACHINE,
        &[c('f')],
        A::Machine(Machine::Fit),
        When(Condition::Section(Section::Timeline), "fit"),
        "show what the selected cell did, or the last",
    )
    .weighs(78),
    row(&MACHINE, &[c('F')], A::Machine(Machine::FitAll), Never, "show all the time that is kept"),
    row(
        &MACHINE,
        &[c('s')],
        A::Machine(Machine::Sort),
        When(Condition::Section(Section::Tensors), "sort"),
        "sort the tensors by another column",
    )
    .weighs(82),
    row(
        &MACHINE,
        &[c('z')],
        A::Machine(Machine::Scale),
        Always("scale"),
        "bars of the whole memory, or of the part in use",
    )
    .weighs(76),
    row(
        &MACHINE,
        &[c('l')],
        A::Machine(Machine::Lesson),
        When(Condition::LessonWork, "lesson's own"),
        "what the lesson did by itself, or your work",
    )
    .weighs(83),
    row(&MACHINE, &[c('u')], A::Machine(Machine::Unpick), When(Condition::Picked, "unpick"), "pick nothing")
        .weighs(62),
    row(
        &MACHINE,
        &[c('t')],
        A::Export(What::Trace),
        Always("trace"),
        "write a Chrome trace (opens in Perfetto)",
    )
    .weighs(45),
    row(
        &MACHINE,
        &[c('e')],
        A::Export(What::Lines),
        Always("events to a file"),
        "write all events as JSON lines",
    )
    .weighs(43),
    row(
        &MACHINE,
        &[c('m')],
        A::Export(What::Snapshot),
        Always("snapshot"),
        "write a snapshot for PyTorch's memory viewer",
    )
    .weighs(41),
    row(&MACHINE, &[key(PageUp)], A::PageUp, Never, "a page up"),
    row(&MACHINE, &[key(PageDown)], A::PageDown, Never, "a page down"),
    row(&MACHINE, &[key(Home), c('g')], A::First, Never, "to the beginning"),
    row(&MACHINE, &[key(End), c('G')], A::Last, Never, "to the end"),
    row(
        &MACHINE_SCREEN,
        &[c(']')],
        A::Machine(Machine::NextCell),
        When(Condition::Cells, "cell"),
        "select the next cell: its events are marked",
    )
    .weighs(74),
    row(&MACHINE_SCREEN, &[c('[')], A::Machine(Machine::PreviousCell), Never, "select the cell before"),
    row(&MACHINE_SCREEN, &[key(Tab)], A::Machine(Machine::NextSection), Never, "the next section"),
    row(&MACHINE_SCREEN, &[key(BackTab)], A::Machine(Machine::PreviousSection), Never, "the section before"),
    row(&MACHINE_SCREEN, &[c('r')], A::Restart, When(Condition::Dead, "restart"), "restart the session")
        .weighs(97),
    row(&MACHINE_SCREEN, &[c('q')], A::Quit, Always("quit"), "quit").weighs(70),
    row(&MACHINE_SCREEN, &[c('?')], A::Help, Always("help"), "what the figures mean"),
];
